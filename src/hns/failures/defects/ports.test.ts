// Defects of ports, flows and the wire (dataplane.md §9): without each one it is good, with it as users met it.
import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { createLoadBalancer, modifyEndpointPolicies } from "#contracts/hcn/operations.ts";
import { fork } from "#core/base/fork.ts";
import { UdpProbe } from "#dataplane/host/probes/probe.ts";
import type { TcpConnection, TcpCloseReason, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";

const A = "10.0.0.50";
const B = "10.0.0.51";
const X = "203.0.113.10";
const NAT: PolicyDocument = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/24"] } };

let world: DriverWorld;
let a: DriverPod;
let b: DriverPod;

async function boot(profile = "ws2022"): Promise<void> {
  world = new DriverWorld({ profile });
  const network = await world.network("L2Bridge", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
  a = await world.pod("A", network, { IpConfigurations: [{ IpAddress: A }], Policies: [NAT] });
  b = await world.pod("B", network, { IpConfigurations: [{ IpAddress: B }], Policies: [NAT] });
  for (const pod of [a, b]) world.serve(pod.compartment, "tcp", 80);
  for (const protocol of ["tcp", "udp"] as const) world.x.serve(protocol, 80);
}

beforeEach(async () => boot());

function set(name: QuirkName, setting: QuirkSetting = "on"): void {
  world.service.setQuirk(name, setting);
}

function outcome(from: DriverPod, to: string, protocol: "tcp" | "udp" = "tcp"): string {
  return world.ask(from.compartment, protocol, to, 80).outcome;
}

function portOf(address: string): SwitchPort {
  return world.datapath.listSwitches()[0]!.tables.findPortByIp(ip(address))!;
}

/** Keeps a connection open and notes its end. */
class Client implements TcpOwner {
  isOpen = false;
  readonly received: number[] = [];
  closed: TcpCloseReason | undefined;

  tcpConnected(): void {
    this.isOpen = true;
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.received.push(bytes.length);
  }

  tcpPeerFinished(): void {}

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.closed = reason;
  }
}

function connect(
  from: DriverPod,
  to: string,
): { readonly client: Client; readonly connection: TcpConnection } {
  const client = new Client();
  const connection = from.compartment.tcp.connect({ destination: ip(to), port: 80, owner: client });
  if (typeof connection === "string") throw new Error(connection);
  world.run(1_000);
  expect(client.isOpen).toBe(true);
  return { client, connection };
}

/** Asks for the name of the server, a line as its protocol has it. */
function askOn(connection: TcpConnection): void {
  connection.send(new TextEncoder().encode("hello\n"));
  world.run(120_000);
}

describe("flows", () => {
  it("F-01 idle-flows-forgotten, on every build: a connection that idled 240 s is dead silently", async () => {
    const { client, connection } = connect(a, X);
    world.run(239_000);
    askOn(connection);
    expect(client.received.length).toBe(1);
    const idle = connect(a, X);
    world.run(241_000);
    askOn(idle.connection);
    expect(idle.client.received).toEqual([]);
    await boot("ws2025");
    set("idle-flows-forgotten", "off");
    const kept = connect(a, X);
    world.run(3_600_000);
    askOn(kept.connection);
    expect(kept.client.received.length).toBe(1);
  });

  it("F-02 acl-change-resets-flows: a connection through source NAT ends when an ACL comes", async () => {
    const allow = (RemoteAddresses: string): PolicyDocument => ({
      Type: "ACL",
      Settings: { Action: "Allow", Direction: "Out", RemoteAddresses, Priority: 100 },
    });
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [allow("")]);
    const kept = connect(a, X);
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [allow("192.0.2.1")]);
    askOn(kept.connection);
    expect(kept.client.received.length).toBe(1);
    set("acl-change-resets-flows");
    const ended = connect(a, X);
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [allow("192.0.2.2")]);
    askOn(ended.connection);
    expect(ended.client.received).toEqual([]);
    expect(ended.client.closed).toBe("reset");
    expect(outcome(a, X)).toBe("answered");
  });

  /** How many of a hundred datagrams of two fragments arrive. */
  function fragmentsThatArrive(): number {
    const from = a.compartment;
    const owner = { udpReceived() {}, udpFailed() {} };
    const socket = from.udp.bind({ owner });
    if (typeof socket === "string") throw new Error(socket);
    const before = portOf(A).vfp.drops.get("fragment-cache-collision") ?? 0;
    for (let sent = 0; sent < 100; sent++) {
      socket.send({ destination: ip(B), port: 9, bytes: new Uint8Array(2_000) });
      world.run(10);
    }
    socket.close();
    return 100 - ((portOf(A).vfp.drops.get("fragment-cache-collision") ?? 0) - before);
  }

  it("F-04 fragment-collisions: later fragments are lost at the rate, the same ones for the same seed", async () => {
    outcome(a, B);
    expect(fragmentsThatArrive()).toBe(100);
    const counts: number[] = [];
    for (const seed of ["1", "1", "2"]) {
      await boot();
      outcome(a, B);
      set("fragment-collisions", { rate: 0.3, seed });
      counts.push(fragmentsThatArrive());
    }
    expect(counts[0]).toBe(counts[1]);
    expect(counts[0]).not.toBe(counts[2]);
    expect(counts[0]).toBeGreaterThan(50);
    expect(counts[0]).toBeLessThan(85);
    // As met: one in a hundred.
    set("fragment-collisions");
    expect(portOf(A).vfp.fragmentCollisions?.rate).toBe(0.01);
  });
});

describe("large datagrams", () => {
  it("F-32 large-udp-dropped: a datagram in fragments is dropped on the pod's port, a small one passes", () => {
    const heard = (bytes: number): number => {
      let count = 0;
      const server = b.compartment.udp.bind({
        port: 9_000,
        owner: { udpReceived: () => void count++, udpFailed() {} },
      });
      const client = a.compartment.udp.bind({ owner: { udpReceived() {}, udpFailed() {} } });
      if (typeof server === "string" || typeof client === "string") throw new Error("no socket");
      client.send({ destination: ip(B), port: 9_000, bytes: new Uint8Array(bytes) });
      world.run(1_000);
      server.close();
      client.close();
      return count;
    };
    expect([heard(100), heard(3_000)]).toEqual([1, 1]);
    set("large-udp-dropped");
    expect([heard(100), heard(3_000)]).toEqual([1, 0]);
    expect(portOf(A).vfp.drops.get("large-udp-dropped")).toBe(3);
  });
});

describe("ports of source NAT", () => {
  /** How many source ports X sees of ten connections, each long after the one before. */
  function portsSeen(): number {
    const ports = Array.from({ length: 10 }, () => {
      const result = world.ask(a.compartment, "tcp", X, 80);
      world.run(300_000);
      return /:(\d+)/.exec(result.outcome === "answered" ? result.answer : "")?.[1];
    });
    expect(ports).not.toContain(undefined);
    return new Set(ports).size;
  }

  it("F-12 nat-ports-reused: a later connection has the port of one before", async () => {
    expect(portsSeen()).toBe(10);
    await boot();
    set("nat-ports-reused");
    expect(portsSeen()).toBe(1);
  });

  it("F-12 nat-ports-reused: 64 connections at once and no more", () => {
    const owner = { udpReceived() {}, udpFailed() {} };
    const flowsOf = (): number => {
      for (let port = 20_000; port < 20_100; port++) {
        const socket = a.compartment.udp.bind({ owner, port });
        if (typeof socket !== "string")
          socket.send({ destination: ip(X), port: 80, bytes: Uint8Array.of(1) });
      }
      world.run(100);
      return portOf(A)
        .vfp.listNatPools()
        .reduce((sum, pool) => sum + pool.usedCount, 0);
    };
    set("nat-ports-reused");
    expect(flowsOf()).toBe(64);
  });

  it("F-13 nat-ports-exhausted: no pod gets a port; neighbours are reached", () => {
    expect(outcome(a, X, "udp")).toBe("answered");
    world.run(600_000);
    set("nat-ports-exhausted");
    expect(outcome(b, X, "udp")).toBe("timed-out");
    expect(portOf(B).vfp.drops.get("nat-port-pool-exhausted")).toBeGreaterThan(0);
    expect(outcome(b, A)).toBe("answered");
    set("nat-ports-exhausted", "off");
    expect(outcome(b, X, "udp")).toBe("answered");
  });
});

describe("what comes late", () => {
  it("F-30 acl-applied-late: a pod is blocked a minute after the ACL", async () => {
    const block = { Type: "ACL", Settings: { Action: "Block", Direction: "Out", Priority: 100 } };
    set("acl-applied-late");
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [block]);
    expect(outcome(a, B)).toBe("answered");
    world.run(60_000);
    expect(outcome(a, B)).toBe("timed-out");
    await modifyEndpointPolicies(world.client, b.endpoint, "Add", [block]);
    set("acl-applied-late", "off");
    await modifyEndpointPolicies(world.client, b.endpoint, "Remove", [block]);
    expect(outcome(b, A)).toBe("answered");
  });

  it("F-39 load-balancer-rules-late: a new Service is there half a minute later", async () => {
    set("l2bridge-dsr-kb5005619", "off");
    set("load-balancer-rules-late");
    await createLoadBalancer(world.client, {
      HostComputeEndpoints: [b.endpoint],
      FrontendVIPs: ["10.96.0.50"],
      PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 80 }],
      Flags: 1,
      SchemaVersion: { Major: 2, Minor: 0 },
    });
    expect(outcome(a, "10.96.0.50")).not.toBe("answered");
    world.run(30_000);
    expect(outcome(a, "10.96.0.50")).toBe("answered");
  });

  it("what is to come is part of a fork", async () => {
    set("acl-applied-late");
    const block = { Type: "ACL", Settings: { Action: "Block", Direction: "Out", Priority: 100 } };
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [block]);
    const copy = fork({ clock: world.clock, datapath: world.datapath });
    copy.clock.runUntil(copy.clock.nowMs + 60_000);
    const first = (datapath: typeof world.datapath): string =>
      datapath.listSwitches()[0]!.tables.findPortByIp(ip(A))!.vfp.getLayer("ACL_ENDPOINT_LAYER")!.groups[0]!
        .rules[0]!.action.type;
    expect([first(world.datapath), first(copy.datapath)]).toEqual(["allow", "block"]);
  });
});

describe("the switch and the wire", () => {
  it("F-28 receive-coalescing-slow: TCP comes at 100 KiB/s, UDP as before", () => {
    const receivedIn = (ms: number, port: number): number => {
      let bytes = 0;
      const owner = {
        tcpConnected() {},
        tcpData: (_: TcpConnection, data: Uint8Array) => void (bytes += data.length),
        tcpPeerFinished() {},
        tcpClosed() {},
      };
      const acceptor = { tcpAccepted: () => owner };
      const listener = b.compartment.tcp.listen({ port, acceptor });
      if (typeof listener === "string") throw new Error(listener);
      const client = new Client();
      const connection = a.compartment.tcp.connect({ destination: ip(B), port, owner: client });
      if (typeof connection === "string") throw new Error(connection);
      world.run(1_000);
      connection.send(new Uint8Array(1_000_000));
      world.run(ms);
      connection.abort();
      return bytes;
    };
    expect(receivedIn(2_000, 5_000)).toBe(1_000_000);
    set("receive-coalescing-slow");
    const slow = receivedIn(2_000, 5_001);
    expect(slow).toBeGreaterThan(50_000);
    expect(slow).toBeLessThanOrEqual(2 * 102_400);
    expect(outcome(a, X, "udp")).toBe("answered");
  });

  it("F-54 udp-port-65330-taken: a datagram with that source port is lost, others are answered", () => {
    const from = (sourcePort: number): string => {
      const probe = new UdpProbe({
        compartment: world.node.root,
        destination: ip(X),
        port: 80,
        sourcePort,
      });
      probe.start();
      world.run(10_000);
      return probe.result!.outcome;
    };
    expect([from(65_330), from(65_331)]).toEqual(["answered", "answered"]);
    set("udp-port-65330-taken");
    expect([from(65_330), from(65_331)]).toEqual(["timed-out", "answered"]);
    expect(world.dropsOf("udp-port-65330-taken")).toBeGreaterThan(0);
  });

  it("F-55 l2bridge-unstable: the node's network works for five seconds and fails for five", () => {
    const pattern = (): string => {
      let text = "";
      for (let second = 0; second < 40; second++) {
        const startMs = world.clock.nowMs;
        const probe = new UdpProbe({
          compartment: world.node.root,
          destination: ip(X),
          port: 80,
          timeoutMs: 500,
        });
        probe.start();
        world.clock.runUntil(startMs + 1_000);
        text += probe.result!.outcome === "answered" ? "+" : "-";
      }
      return text;
    };
    expect(pattern()).toBe("+".repeat(40));
    set("l2bridge-unstable");
    expect(pattern()).toMatch(/^[+-]{0,5}?(?:\+{5}-{5}|-{5}\+{5}){3}[+-]*$/);
    expect(world.dropsOf("l2bridge-unstable")).toBeGreaterThan(0);
  });

  it("F-55 a switch of another kind of network is not concerned", async () => {
    world = new DriverWorld({ profile: "ws2022" });
    set("l2bridge-unstable");
    await world.network("Transparent", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
    world.run(30_000);
    expect(world.ask(world.node.root, "icmp", X).outcome).toBe("answered");
    expect(world.dropsOf("l2bridge-unstable")).toBe(0);
  });
});
