/** The Transparent driver, as a packet sees it (dataplane.md §2.6, walks T-1 to T-9, rows of §10). */
import { describe, expect, it } from "vitest";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import { DhcpServer } from "#dataplane/fabric/dhcp-server.ts";
import { outsideIpv6 } from "#dataplane/fabric/underlay.ts";
import { type Ipv4, formatIp, prefixContains, prefixOf } from "#core/net/ip.ts";
import {
  type DriverPod,
  DriverWorld,
  type DriverWorldOptions,
  ip,
} from "#test/support/dataplane/driver-world.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import { buildNdFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { parseDhcp } from "#core/wire/dhcp.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import type { FrameFilter } from "#dataplane/fabric/learning-switch.ts";
import { parseMac } from "#core/net/mac.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import { ND_HOP_LIMIT } from "#core/wire/icmpv6/nd.ts";

const STATIC = (address: string) => ({
  IpConfigurations: [{ IpAddress: address, PrefixLength: 24 }],
  Routes: [{ NextHop: "10.0.0.1", DestinationPrefix: "0.0.0.0/0" }],
});

async function plainWorld(
  options: DriverWorldOptions = {},
  fields: HostComputeNetwork = {},
): Promise<{ world: DriverWorld; network: string; a: DriverPod; b: DriverPod }> {
  const world = new DriverWorld(options);
  const network = await world.network("Transparent", undefined, fields);
  const a = await world.pod("A", network, STATIC("10.0.0.50"));
  const b = await world.pod("B", network, STATIC("10.0.0.51"));
  return { world, network, a, b };
}

describe("unicast", () => {
  it("WALK-T-1: pod to pod on the same node", async () => {
    const { world, a, b } = await plainWorld();
    world.serve(b.compartment, "tcp", 8080);
    expect(world.walk(a.compartment, "tcp", "10.0.0.51", 8080)).toEqual([
      "send A | Am→Bm | A→B | p→8080 | 128",
      "deliver B | Am→Bm | A→B | p→8080 | 128",
      "reply send B | Bm→Am | B→A | 8080→p | 128",
      "reply deliver A | Bm→Am | B→A | 8080→p | 128",
    ]);
  });

  it("WALK-T-2 WALK-T-3 DT-070: the pod's own MAC and TTL 128 on the wire, and back untouched", async () => {
    const { world, a } = await plainWorld();
    world.x.serve("tcp", 443);
    const rows = world.walk(a.compartment, "tcp", "203.0.113.10", 443);
    expect(rows.slice(0, 2)).toEqual([
      "send A | Am→Rm | A→X | p→443 | 128",
      "wire | Am→Rm | A→X | p→443 | 128",
    ]);
    expect(rows.slice(-2)).toEqual([
      "reply wire | Rm→Am | X→A | 443→p | 63",
      "reply deliver A | Rm→Am | X→A | 443→p | 63",
    ]);
  });

  it("WALK-T-8: an echo to the outside works without NAT", async () => {
    const { world, a } = await plainWorld();
    expect(world.walk(a.compartment, "icmp", "203.0.113.10")[1]).toBe("wire | Am→Rm | A→X | icmp | 128");
    expect(world.ask(a.compartment, "icmp", "203.0.113.10")).toMatchObject({ outcome: "answered" });
  });

  it("WALK-T-9: node and pod on the same switch", async () => {
    const { world, a } = await plainWorld();
    world.serve(a.compartment, "udp", 80);
    expect(world.walk(world.node.root, "udp", "10.0.0.50", 80)).toEqual([
      "send W1 | W1m→Am | W1→A | p→80 | 128",
      "deliver A | W1m→Am | W1→A | p→80 | 128",
      "reply send A | Am→W1m | A→W1 | 80→p | 128",
      "reply deliver W1 | Am→W1m | A→W1 | 80→p | 128",
    ]);
  });

  it("DT-074: nobody balances for a ClusterIP: unanswered", async () => {
    const { world, a } = await plainWorld();
    expect(world.ask(a.compartment, "tcp", "10.96.0.50", 80).outcome).not.toBe("answered");
  });
});

/** Every frame on the segment. */
class Wire implements FrameFilter {
  readonly frames: Packet[] = [];

  filterFrame(_from: string, packet: Packet): readonly Packet[] {
    this.frames.push(packet.copy());
    return [packet];
  }
}

/** Notes who speaks. */
class Listener implements UdpOwner {
  readonly heard: string[] = [];

  udpReceived(_socket: UdpSocket, { source }: UdpDatagram): void {
    this.heard.push(formatIp(source));
  }

  udpFailed(): void {}
}

function listen(compartment: Compartment): Listener {
  const owner = new Listener();
  const socket = compartment.udp.bind({ owner, port: 9 });
  if (typeof socket === "string") throw new Error(socket);
  return owner;
}

function broadcast(from: Compartment): void {
  const socket = from.udp.bind({ owner: new Listener() });
  if (typeof socket === "string") throw new Error(socket);
  socket.send({ destination: ip("10.0.0.255"), port: 9, bytes: Uint8Array.of(1) });
}

describe("groups", () => {
  it("WALK-T-6: a broadcast of a pod reaches the pods, the node and the wire", async () => {
    const { world, a, b } = await plainWorld();
    const ears = [b.compartment, world.node.root, world.neighbour.root].map(listen);
    broadcast(a.compartment);
    world.run();
    expect(ears.map(({ heard }) => heard)).toEqual([["10.0.0.50"], ["10.0.0.50"], ["10.0.0.50"]]);
  });

  it("WALK-T-6: one from the wire reaches the node and every pod", async () => {
    const { world, a, b } = await plainWorld();
    const ears = [a.compartment, b.compartment, world.node.root].map(listen);
    broadcast(world.neighbour.root);
    world.run();
    expect(ears.map(({ heard }) => heard)).toEqual([["10.0.0.12"], ["10.0.0.12"], ["10.0.0.12"]]);
  });
});

describe("MAC spoofing of the fabric's port", () => {
  it("DT-071: off: the pod is lost, the node is not, and the fabric counts it", async () => {
    const { world, a, b } = await plainWorld({ macSpoofing: "off" });
    world.x.serve("udp", 53);
    world.serve(b.compartment, "udp", 53);
    expect(world.ask(a.compartment, "udp", "203.0.113.10", 53)).toMatchObject({ outcome: "unreachable" });
    expect(world.underlay.segment.drops.get("mac-spoofing-refused")).toBeGreaterThan(0);
    expect(world.ask(world.node.root, "udp", "203.0.113.10", 53)).toMatchObject({ outcome: "answered" });
    expect(world.ask(a.compartment, "udp", "10.0.0.51", 53)).toMatchObject({ outcome: "answered" });
  });

  it("L2Bridge does not need it: its pods share the node's MAC", async () => {
    const world = new DriverWorld({ macSpoofing: "off" });
    const network = await world.network("L2Bridge", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
    const pod = await world.pod("A", network, { IpConfigurations: [{ IpAddress: "10.0.0.50" }] });
    expect(world.ask(pod.compartment, "icmp", "10.0.0.12")).toMatchObject({ outcome: "answered" });
    expect(world.underlay.segment.drops.get("mac-spoofing-refused")).toBe(0);
  });
});

describe("a network in VLAN 7", () => {
  const VLAN: HostComputeNetwork = {
    Ipams: [{ Type: "Dhcp", Subnets: [{ Policies: [{ Type: "VLAN", Settings: { IsolationId: 7 } }] }] }],
  };

  it("WALK-T-7 DT-072: tag 7 on the uplink, none at the pod", async () => {
    const { world, a, b } = await plainWorld({}, VLAN);
    world.serve(b.compartment, "udp", 53);
    expect(world.walk(a.compartment, "udp", "10.0.0.51", 53)[0]).toBe("send A | Am→Bm | A→B | p→53 | 128");
    const rows = world.uplinkRows(() => world.ask(a.compartment, "udp", "10.0.0.12", 53));
    expect(rows[0]).toBe("Am→all vlan 7");
  });

  it("WALK-T-7 with addresses and ports: the tag is all that changes, out and in", async () => {
    const { world, a, b } = await plainWorld({}, VLAN);
    world.run();
    const rows = world.uplinkRows(() => {
      broadcast(a.compartment);
      world.run();
    });
    expect(rows).toEqual(["Am→all vlan 7 | A→10.0.0.255 | p→9 | 128"]);
    const ear = listen(b.compartment);
    const untagged = buildUdpFrame({
      link: {
        sourceMac: parseMac("00-22-48-00-00-12")!,
        destinationMac: b.compartment.listInterfaces()[0]!.mac,
      },
      ip: {
        source: ip("10.0.0.12"),
        destination: ip("10.0.0.51"),
        ttl: 128,
        identification: 1,
        isDontFragment: false,
      },
      udp: { sourcePort: 5000, destinationPort: 9 },
      payload: new Uint8Array(30),
    }).frame;
    const tagged = (vlan: number): Packet =>
      Packet.fromFrame(
        Uint8Array.from([
          ...untagged.subarray(0, 12),
          0x81,
          0x00,
          vlan >> 8,
          vlan & 0xff,
          ...untagged.subarray(12),
        ]),
      );
    expect(world.receive(tagged(7)).at(-1)).toBe("deliver B | W2m→Bm | W2→B | 5000→9 | 128");
    expect(ear.heard).toEqual(["10.0.0.12"]);
    world.receive(tagged(8));
    world.receive(Packet.fromFrame(untagged.slice()));
    expect(ear.heard).toEqual(["10.0.0.12"]);
  });

  it("pods of the VLAN reach each other and nobody else; the node is outside of it", async () => {
    const { world, a, b } = await plainWorld({}, VLAN);
    expect(world.ask(a.compartment, "icmp", "10.0.0.51")).toMatchObject({ outcome: "answered" });
    expect(world.ask(a.compartment, "icmp", "10.0.0.11").outcome).toBe("unreachable");
    expect(world.ask(world.neighbour.root, "icmp", "10.0.0.51").outcome).toBe("unreachable");
    expect(b.compartment.drops.get("mac-not-local")).toBe(0);
  });

  it("WALK-T-7: a tagged frame from the wire comes to the pods of its VLAN without its tag", async () => {
    const { world, a, b } = await plainWorld({}, VLAN);
    const ear = listen(b.compartment);
    // The wire gives back what A sends: B hears it twice, A knows its own address and refuses.
    world.uplinkEcho();
    broadcast(a.compartment);
    world.run();
    expect(ear.heard).toEqual(["10.0.0.50", "10.0.0.50"]);
    expect(a.compartment.drops.get("martian-source")).toBe(1);
  });

  it("a VLAN of an endpoint goes before that of the network, and health data name none of them", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, VLAN);
    const pod = await world.pod("A", network, {
      ...STATIC("10.0.0.50"),
      Policies: [{ Type: "VLAN", Settings: { IsolationId: 9 } }],
    });
    world.run();
    const rows = world.uplinkRows(() => world.ask(pod.compartment, "icmp", "10.0.0.12"));
    expect(rows[0]).toBe("Am→all vlan 9");
    for (const [kind, id] of [
      ["Network", network],
      ["Endpoint", pod.endpoint],
    ] as const)
      expect(await world.client.query(kind, id)).not.toHaveProperty("Health.NotEnforced");
  });
});

describe("DHCP from outside", () => {
  const DHCP: HostComputeNetwork = { Ipams: [{ Type: "Dhcp" }] };

  function served(
    world: DriverWorld,
    { last = "10.0.0.101", leaseSeconds = 86_400, length = 24 } = {},
  ): DhcpServer {
    const server = new DhcpServer({
      compartment: world.neighbour.root,
      netInterface: world.neighbour.root.getInterface("eth0")!,
      subnet: prefixOf(ip("10.0.0.0"), length),
      first: ip("10.0.0.100") as Ipv4,
      last: ip(last) as Ipv4,
      router: ip("10.0.0.1") as Ipv4,
      dnsServers: [ip("10.0.0.53") as Ipv4],
      leaseSeconds,
    });
    expect(server.start()).toBeUndefined();
    return server;
  }

  it("WALK-T-4 WALK-T-5 DT-073: DISCOVER by broadcast with the pod's MAC; the pod gets its lease and is reached", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    const server = served(world);
    const a = await world.pod("A", network, {});
    world.run();
    const [nic] = a.compartment.listInterfaces();
    expect(nic!.addresses).toEqual([{ ip: ip("10.0.0.100"), length: 24 }]);
    expect(server.listLeases()).toMatchObject([{ mac: nic!.mac, ip: ip("10.0.0.100") }]);
    expect(a.compartment.dns.servers).toEqual([ip("10.0.0.53")]);
    world.x.serve("udp", 53);
    expect(world.ask(a.compartment, "udp", "203.0.113.10", 53)).toMatchObject({
      answer: expect.stringContaining("saw 10.0.0.100:") as string,
    });
    expect(world.ask(world.node.root, "icmp", "10.0.0.100")).toMatchObject({ outcome: "answered" });
    expect(await world.client.query("Endpoint", a.endpoint)).not.toHaveProperty("Health.NotEnforced");
  });

  it("a subnet of all addresses has the mask 0.0.0.0", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    served(world, { length: 0 });
    const pod = await world.pod("A", network, {});
    world.run();
    expect(pod.compartment.listInterfaces()[0]?.addresses).toEqual([{ ip: ip("10.0.0.100"), length: 0 }]);
  });

  it("WALK-T-4: the frame of the DISCOVER", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    world.run();
    const pod = await world.pod("A", network, {});
    const rows = world.uplinkRows(() => world.run(30_000));
    expect(pod.compartment.listInterfaces()[0]!.addresses).toEqual([]);
    // Asked four times: at once, and after 4, 12 and 28 s.
    expect(rows).toEqual(Array(4).fill("Am→all | 0.0.0.0→255.255.255.255 | 68→67 | 128"));
  });

  it("WALK-T-4 WALK-T-5: DISCOVER and OFFER on the wire, with the pod's MAC as chaddr in both", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    served(world);
    const wire = new Wire();
    world.underlay.segment.filter = wire;
    const a = await world.pod("A", network, {});
    world.run();
    const { mac } = a.compartment.listInterfaces()[0]!;
    const messages = wire.frames.flatMap((packet) => {
      const headers = new Headers();
      if (headers.parse(packet) !== undefined || headers.protocol !== 17) return [];
      const message = parseDhcp(packet.bytes.slice(headers.transport + 8, headers.end));
      return message === undefined ? [] : [{ row: world.describe(packet.frame), ...message }];
    });
    const [discover, offer] = messages;
    expect(discover).toMatchObject({
      type: "discover",
      row: "Am→all | 0.0.0.0→255.255.255.255 | 68→67 | 128",
      clientMac: mac,
      yourIp: ip("0.0.0.0"),
    });
    // To 255.255.255.255 or to the address that is offered (T-5).
    expect(offer).toMatchObject({ type: "offer", clientMac: mac, yourIp: ip("10.0.0.100") });
    expect(offer?.row).toMatch(/^W2m→(all|Am) \| W2→(255\.255\.255\.255|10\.0\.0\.100|A) \| 67→68 \| \d+$/);
    expect(offer?.transaction).toBe(discover?.transaction);
    expect(messages.map(({ type }) => type)).toEqual(["discover", "offer", "request", "ack"]);
  });

  it("each pod has a lease of its own; when none is left the pod gives itself an address of 169.254/16", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    const server = served(world);
    const pods = [];
    for (const name of ["A", "B", "C"]) pods.push(await world.pod(name, network, {}));
    world.run(60_000);
    const leases = pods.map(({ compartment }) =>
      compartment.listInterfaces()[0]!.addresses.map((address) => formatIp(address.ip)),
    );
    expect(leases.slice(0, 2)).toEqual([["10.0.0.100"], ["10.0.0.101"]]);
    expect(leases[2]).toEqual([expect.stringMatching(/^169\.254\./)]);
    expect(server.listLeases()).toHaveLength(2);
  });

  it("five minutes later it asks again, and the address of 169.254/16 gives way to a lease", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    const { compartment } = await world.pod("A", network, {});
    const [nic] = compartment.listInterfaces();
    world.run(60_000);
    expect(nic!.addresses.map(({ length }) => length)).toEqual([16]);
    served(world);
    world.run(299_000);
    expect(nic!.addresses.map(({ length }) => length)).toEqual([16]);
    world.run(10_000);
    expect(nic!.addresses).toEqual([{ ip: ip("10.0.0.100"), length: 24 }]);
  });

  // RFC 2131 §4.4.5.
  it("a lease is renewed with its server from half of its time on, by unicast", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    const server = served(world, { leaseSeconds: 1_000 });
    const { compartment } = await world.pod("A", network, {});
    const [nic] = compartment.listInterfaces();
    world.run(10_000);
    const rows = world.uplinkRows(() => world.run(500_000));
    expect(rows.filter((row) => row.includes("68→67"))).toEqual(["Am→W2m | 10.0.0.100→W2 | 68→67 | 128"]);
    world.run(20_000_000);
    expect(nic!.addresses).toEqual([{ ip: ip("10.0.0.100"), length: 24 }]);
    expect(server.listLeases()).toMatchObject([{ mac: nic!.mac, ip: ip("10.0.0.100") }]);
  });

  it("when the server is gone everybody is asked from seven eighths on; then the address goes, too", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    const server = served(world, { leaseSeconds: 1_000 });
    const { compartment } = await world.pod("A", network, {});
    const [nic] = compartment.listInterfaces();
    world.run(10_000);
    server.close();
    const early = world.uplinkRows(() => world.run(850_000));
    expect(early.filter((row) => row.includes("255.255.255.255"))).toEqual([]);
    const late = world.uplinkRows(() => world.run(130_000));
    expect(late).toContain("Am→all | 10.0.0.100→255.255.255.255 | 68→67 | 128");
    expect(nic!.addresses).toEqual([{ ip: ip("10.0.0.100"), length: 24 }]);
    world.run(75_000);
    expect(nic!.addresses.map(({ length }) => length)).toEqual([16]);
    expect(compartment.listRoutes().filter(({ prefix }) => prefix.length === 0)).toEqual([]);
  });

  it("a lease that nobody renews is another pod's when it is over", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", undefined, DHCP);
    const server = served(world, { last: "10.0.0.100", leaseSeconds: 1_000 });
    const first = await world.pod("A", network, {});
    world.run(10_000);
    await world.client.delete("Endpoint", first.endpoint);
    const second = await world.pod("B", network, {});
    world.run(60_000);
    expect(second.compartment.listInterfaces()[0]!.addresses.map(({ length }) => length)).toEqual([16]);
    world.run(1_500_000);
    expect(second.compartment.listInterfaces()[0]!.addresses).toEqual([{ ip: ip("10.0.0.100"), length: 24 }]);
    expect(server.listLeases()).toHaveLength(1);
  });

  it("DT-071: with MAC spoofing off the server hears nothing", async () => {
    const world = new DriverWorld({ macSpoofing: "off" });
    const network = await world.network("Transparent", undefined, DHCP);
    const server = served(world);
    await world.pod("A", network, {});
    world.run();
    expect(server.listLeases()).toEqual([]);
  });
});

describe("IPv6 that endpoints give themselves (dataplane.md §2.6, §2.11)", () => {
  const LINK = prefixOf(ip("fd00:10::"), 64);

  /** Addresses of IPv6 behind the router's prefix. */
  function own({ compartment }: DriverPod): readonly string[] {
    const all = compartment.listInterfaces().flatMap(({ addresses }) => addresses.map((each) => each.ip));
    return all.filter((each) => prefixContains(LINK, each)).map(formatIp);
  }

  async function settled(fields: HostComputeNetwork = {}): Promise<Awaited<ReturnType<typeof plainWorld>>> {
    const made = await plainWorld({ hasIpv6: true }, fields);
    made.world.run();
    return made;
  }

  function portOf(world: DriverWorld, pod: DriverPod): SwitchPort {
    const mac = pod.compartment.listInterfaces()[0]?.mac;
    const ports = world.datapath.listSwitches().flatMap((each) => each.listPorts());
    return ports.find((each) => each.kind === "container" && each.mac === mac)!;
  }

  it("each pod makes itself an address of what the router advertises; HNS knows nothing of it", async () => {
    const { world, a, b } = await settled();
    expect([own(a), own(b)].map((list) => list.length)).toEqual([1, 1]);
    expect(own(a)).not.toEqual(own(b));
    const reported = await world.client.query("Endpoint", a.endpoint);
    expect(reported).toMatchObject({ IPAddress: "10.0.0.50" });
    expect(JSON.stringify(reported)).not.toContain(own(a)[0]);
  });

  it("pods reach each other, the node and the outside by it, with their own MACs", async () => {
    const { world, a, b } = await settled();
    const [a6 = "", b6 = ""] = [...own(a), ...own(b)];
    world.name(a6, "A6");
    world.serve(b.compartment, "tcp", 80);
    expect(world.ask(a.compartment, "tcp", b6, 80)).toMatchObject({ outcome: "answered" });
    expect(world.ask(a.compartment, "icmp", "fd00:10::11")).toMatchObject({ outcome: "answered" });
    world.x.serve("tcp", 443);
    // The router told a hop limit of 64; the way back leads over it.
    const rows = world.walk(a.compartment, "tcp", formatIp(outsideIpv6(world.x.ip)), 443);
    expect(rows.slice(0, 2)).toEqual([
      "send A | Am→Rm | A6→X6 | p→443 | 64",
      "wire | Am→Rm | A6→X6 | p→443 | 64",
    ]);
    expect(rows.at(-1)).toBe("reply deliver A | Rm→Am | X6→A6 | 443→p | 63");
  });

  it("WALK-T-6: its solicitation goes to the wire, where the router hears it", async () => {
    const world = new DriverWorld({ hasIpv6: true });
    const network = await world.network("Transparent");
    world.run();
    await world.pod("A", network, STATIC("10.0.0.50"));
    const rows = world.uplinkRows(() => world.run());
    // The group ff02::2, all routers.
    expect(rows.filter((row) => row.includes("ff02::2 |"))).toEqual([
      expect.stringMatching(/^Am→33-33-00-00-00-02 \| \S+→ff02::2 \| icmpv6 \| 255$/),
    ]);
  });

  it("on a link without IPv6 they are silent", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent");
    world.run();
    const a = await world.pod("A", network, STATIC("10.0.0.50"));
    expect(world.uplinkRows(() => world.run(30_000)).filter((row) => row.includes("icmpv6"))).toEqual([]);
    expect(own(a)).toEqual([]);
  });

  it("in VLAN 7 nobody advertises: a link-local address, and no other", async () => {
    const { a } = await settled({
      Ipams: [{ Type: "Dhcp", Subnets: [{ Policies: [{ Type: "VLAN", Settings: { IsolationId: 7 } }] }] }],
    });
    expect(own(a)).toEqual([]);
    expect(a.compartment.listInterfaces()[0]!.linkLocal()).not.toBe(0n);
  });

  it("a pod that plays the router leads its neighbours astray, unless its port has the guard against it", async () => {
    const advertise = (world: DriverWorld, pod: DriverPod): void => {
      const nic = pod.compartment.listInterfaces()[0]!;
      world.send(
        pod.compartment,
        buildNdFrame({
          link: { sourceMac: nic.mac, destinationMac: multicastMac(ip("ff02::1")) },
          ip: {
            source: nic.linkLocal(),
            destination: ip("ff02::1"),
            ttl: ND_HOP_LIMIT,
            identification: 0,
            isDontFragment: false,
          },
          nd: {
            type: "router-advertisement",
            hopLimit: 0,
            isManaged: false,
            isOtherConfigured: false,
            lifetimeSeconds: 600,
            reachableMs: 0,
            retransmitMs: 0,
            options: [],
          },
        }),
      );
    };
    const gatewaysOf = ({ compartment }: DriverPod): number =>
      compartment
        .listRoutes()
        .filter(({ prefix }) => prefix.length === 0 && typeof prefix.address === "bigint").length;
    const { world, a, b } = await settled();
    const port = portOf(world, a);
    port.vfp.guards = { ndp: true };
    advertise(world, a);
    expect(gatewaysOf(b)).toBe(1);
    expect(port.vfp.drops.get("router-advertisement-refused")).toBe(1);
    port.vfp.guards = {};
    advertise(world, a);
    expect(gatewaysOf(b)).toBe(2);
  });
});
