/** What leaves a pod of an L2Bridge node, with which source, and what comes back (rows of dataplane.md §10). */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { createEndpoint } from "#contracts/hcn/operations.ts";
import { HOST_ATTACH, attachHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { formatIp } from "#core/net/ip.ts";
import { formatMac, parseMac } from "#core/net/mac.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { Headers, sourceIp } from "#core/wire/headers.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { readU48 } from "#core/base/bytes.ts";
import type { Mac } from "#core/net/mac.ts";

const CLUSTER = ["10.244.0.0/16", "10.96.0.0/12"];

function nat(...Exceptions: string[]): PolicyDocument {
  return { Type: "OutBoundNAT", Settings: { Exceptions } };
}

interface Bridge {
  readonly world: DriverWorld;
  readonly network: string;
  readonly a: DriverPod;
}

/** Pods in a range of their own, 10.244.1.0/24, routed by the host (flannel host-gw). */
async function ownSubnet(...policies: PolicyDocument[]): Promise<Bridge> {
  const world = new DriverWorld();
  const network = await world.network("L2Bridge", { prefix: "10.244.1.0/24", gateway: "10.244.1.1" });
  const leg = await createEndpoint(world.client, network, {
    Name: "cbr0_ep",
    IpConfigurations: [{ IpAddress: "10.244.1.2" }],
  });
  await attachHnsEndpoint(world.client, leg.ID ?? "", HOST_ATTACH);
  for (const each of world.node.root.listInterfaces()) each.isForwarding = true;
  const a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "10.244.1.10" }],
    Routes: [{ NextHop: "10.244.1.2", DestinationPrefix: "0.0.0.0/0" }],
    Policies: policies,
  });
  return { world, network, a };
}

/** Pods with addresses of the node's own subnet, which the fabric knows (Azure CNI). */
async function nodeSubnet(...policies: PolicyDocument[]): Promise<Bridge> {
  const world = new DriverWorld();
  const network = await world.network("L2Bridge", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
  const a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.50" }],
    Policies: policies,
  });
  return { world, network, a };
}

/** IP packets that leave the node meanwhile. */
function packets(world: DriverWorld, work: () => unknown): readonly string[] {
  return world.uplinkRows(work).filter((row) => row.includes(" | "));
}

/** Which address the server saw. */
function seen(world: DriverWorld, a: DriverPod, protocol: "tcp" | "udp", to: string, port: number): string {
  const result = world.ask(a.compartment, protocol, to, port);
  return result.outcome === "answered" ? (/ saw ([\d.]+):/.exec(result.answer)?.[1] ?? "") : result.outcome;
}

describe("OutBoundNAT", () => {
  it("DT-130: towards the pod range the source stays A", async () => {
    const { world, a } = await ownSubnet(nat(...CLUSTER));
    const rows = packets(world, () => {
      world.ask(a.compartment, "tcp", "10.244.2.10", 8080);
    });
    expect(rows.filter((row) => row.includes("8080")).map((row) => row.split(" | ")[1])).toContain(
      "A→10.244.2.10",
    );
    expect(rows.some((row) => row.includes("W1→10.244.2.10"))).toBe(false);
  });

  it("DT-131: without the management subnet among the exceptions, a node sees the node's address", async () => {
    const { world, a } = await nodeSubnet(nat(...CLUSTER));
    world.serve(world.neighbour.root, "tcp", 10_250);
    expect(seen(world, a, "tcp", "10.0.0.12", 10_250)).toBe("10.0.0.11");
    const excepted = await nodeSubnet(nat(...CLUSTER, "10.0.0.0/24"));
    excepted.world.serve(excepted.world.neighbour.root, "tcp", 10_250);
    expect(seen(excepted.world, excepted.a, "tcp", "10.0.0.12", 10_250)).toBe("10.0.0.50");
  });

  it("DT-132: a DNS question to a server outside takes a port of the UDP pool", async () => {
    const { world, a } = await ownSubnet(nat(...CLUSTER));
    world.x.serve("udp", 53);
    expect(seen(world, a, "udp", "203.0.113.10", 53)).toBe("10.0.0.11");
    const pools = world.datapath.listPortPools().map(({ protocol, ip: of }) => [protocol, formatIp(of)]);
    expect(pools).toEqual([[17, "10.0.0.11"]]);
  });

  it("DT-133: ping keeps the source A, and nobody outside knows the way back", async () => {
    const { world, a } = await ownSubnet(nat(...CLUSTER));
    world.ask(a.compartment, "icmp", "203.0.113.10");
    const rows = packets(world, () => {
      expect(world.ask(a.compartment, "icmp", "203.0.113.10")).toMatchObject({ outcome: "timed-out" });
    });
    expect(rows.every((row) => row.includes("A→X | icmp"))).toBe(true);
    expect(rows.length).toBeGreaterThan(0);
  });

  it("DT-134: where the network outside knows the pod's address, the same ping is answered", async () => {
    const { world, a } = await nodeSubnet(nat(...CLUSTER));
    expect(world.ask(a.compartment, "icmp", "203.0.113.10")).toMatchObject({ outcome: "answered" });
  });

  it("DT-137: E connects to A:80 directly: the answer leaves as W1:q, and E resets it", async () => {
    const { world, a } = await nodeSubnet(nat(...CLUSTER));
    world.serve(a.compartment, "tcp", 80);
    const rows = packets(world, () => {
      expect(world.ask(world.e.compartment, "tcp", "10.0.0.50", 80).outcome).not.toBe("answered");
    });
    expect(rows[0]).toMatch(/^W1m→Rm \| W1→E \| p→p \| 128$/);
    expect(rows.some((row) => row.includes("| A→E |"))).toBe(false);
    const excepted = await nodeSubnet(nat(...CLUSTER, "198.51.100.0/24"));
    excepted.world.serve(excepted.a.compartment, "tcp", 80);
    const result = excepted.world.ask(excepted.world.e.compartment, "tcp", "10.0.0.50", 80);
    expect(result.outcome).toBe("answered");
  });

  it("DT-139: with 0.0.0.0/0 among the exceptions nothing is ever translated", async () => {
    const { world, a } = await nodeSubnet(nat("0.0.0.0/0"));
    world.x.serve("tcp", 443);
    world.x.serve("udp", 53);
    expect(seen(world, a, "tcp", "203.0.113.10", 443)).toBe("10.0.0.50");
    expect(seen(world, a, "udp", "203.0.113.10", 53)).toBe("10.0.0.50");
    expect(world.datapath.listPortPools()).toEqual([]);
  });
});

describe("ACL", () => {
  const rule = (Settings: PolicyDocument["Settings"]): PolicyDocument => ({
    Type: "ACL",
    Settings: { RuleType: "Switch", Protocols: "256", ...Settings },
  });

  it("DT-145: a stateful Allow Out lets the answer in, although everything is blocked on the way in", async () => {
    const { world, a } = await nodeSubnet(
      rule({ Action: "Allow", Direction: "Out", Priority: 1_000 }),
      rule({ Action: "Block", Direction: "In", Priority: 1_000 }),
    );
    world.x.serve("tcp", 443);
    expect(seen(world, a, "tcp", "203.0.113.10", 443)).toBe("10.0.0.50");
    world.serve(a.compartment, "tcp", 80);
    expect(world.follow(world.e.compartment, "tcp", "10.0.0.50", 80).codes).toEqual(["acl-rule-blocked"]);
  });

  it("DT-154: NPM's rule for the wire server: 168.63.129.16, TCP port 80, is dropped; another port is not", async () => {
    const { world, a } = await nodeSubnet(
      rule({
        Id: "azure-npm-block-wireserver",
        Action: "Block",
        Direction: "Out",
        Protocols: "6",
        RemoteAddresses: "168.63.129.16/32",
        RemotePorts: "80",
        Priority: 200,
      }),
      rule({ Action: "Allow", Direction: "In", Priority: 65_499 }),
      rule({ Action: "Allow", Direction: "Out", Priority: 65_499 }),
    );
    expect(world.follow(a.compartment, "tcp", "168.63.129.16", 80).codes[0]).toBe("acl-rule-blocked");
    expect(world.follow(a.compartment, "tcp", "168.63.129.16", 32_526).codes).not.toContain(
      "acl-rule-blocked",
    );
  });
});

describe("IPv6", () => {
  it("DT-169: A6 → X6 keeps its source, OutBoundNAT or not: there is none for IPv6", async () => {
    const world = new DriverWorld({ profile: "ws2022" });
    const subnet = (prefix: string, gateway: string): object => ({
      IpAddressPrefix: prefix,
      Routes: [{ NextHop: gateway, DestinationPrefix: prefix.includes(":") ? "::/0" : "0.0.0.0/0" }],
    });
    const network = await world.network("L2Bridge", undefined, {
      Ipams: [
        {
          Type: "Static",
          Subnets: [subnet("10.0.0.0/24", "10.0.0.1"), subnet("fd00:10::/64", "fd00:10::1")],
        },
      ],
    });
    await world.pod("A", network, {
      IpConfigurations: [{ IpAddress: "10.0.0.50" }, { IpAddress: "fd00:10::50" }],
      Policies: [nat(...CLUSTER), { Type: "OutBoundNAT", Settings: { Flags: 2 } }],
    });
    const port = world.datapath.listSwitches()[0]!.tables.findPortByIp(ip("fd00:10::50"))!;
    const packet = buildTcpFrame({
      link: { sourceMac: port.mac, destinationMac: parseMac("12-34-56-78-9A-BC")! },
      ip: {
        source: ip("fd00:10::50"),
        destination: ip("2001:db8::10"),
        ttl: 128,
        identification: 0,
        isDontFragment: false,
      },
      tcp: {
        sourcePort: 50_000,
        destinationPort: 443,
        sequence: 1,
        acknowledgment: 0,
        flags: TcpFlag.syn,
        window: 65_535,
      },
    });
    const headers = new Headers();
    expect(headers.parse(packet)).toBeUndefined();
    expect(port.vfp.process("out", packet, headers, 0)).toBe("pass");
    expect(formatIp(sourceIp(packet.bytes, headers))).toBe("fd00:10::50");
    // On the wire with the host's MAC, as walk 6-2 has it.
    expect(formatMac(readU48(packet.bytes, packet.start + 6) as Mac)).toBe("00-22-48-00-00-11");
  });
});
