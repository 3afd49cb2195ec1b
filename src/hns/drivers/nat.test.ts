/** The NAT driver, as a packet sees it (dataplane.md §2.7, walks N-1 and N-2, rows of §10). */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { readU16, writeU16, writeU8 } from "#core/base/bytes.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { deleteNetwork, modifyEndpointPolicies, removeNamespaceEndpoint } from "#contracts/hcn/operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { decodeAscii, encodeAscii } from "#dataplane/host/services/ascii.ts";
import type { TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { checksumOf } from "#core/wire/checksum.ts";
import type { Packet } from "#core/wire/packet.ts";

const SUBNET = { prefix: "172.20.1.0/24", gateway: "172.20.1.1" };

function published(internal: number, external: number, Protocol = 6): PolicyDocument {
  return {
    Type: "PortMapping",
    Settings: { Protocol, InternalPort: internal, ExternalPort: external },
  };
}

async function natWorld(
  policies: PolicyDocument[] = [],
): Promise<{ world: DriverWorld; network: string; a: DriverPod; b: DriverPod }> {
  const world = new DriverWorld();
  const network = await world.network("NAT", SUBNET);
  const a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "172.20.1.5", PrefixLength: 24 }],
    Policies: policies,
  });
  const b = await world.pod("B", network, {
    IpConfigurations: [{ IpAddress: "172.20.1.6", PrefixLength: 24 }],
  });
  return { world, network, a, b };
}

describe("N-1: pod to the outside", () => {
  it("WALK-N-1 DT-075 DT-076: stage by stage, there and back", async () => {
    const { world, a } = await natWorld();
    world.x.serve("tcp", 443);
    expect(world.walk(a.compartment, "tcp", "203.0.113.10", 443)).toEqual([
      "send A | Am→Gm | A→X | p→443 | 128",
      "translate W1 | Am→Gm | W1→X | p→443 | 127",
      "forward W1 | W1m→Rm | W1→X | p→443 | 127",
      "wire | W1m→Rm | W1→X | p→443 | 127",
      "forward R | 52-54-00-00-01-01→52-54-00-00-02-01 | W1→X | p→443 | 126",
      "wire | 52-54-00-00-01-01→52-54-00-00-02-01 | W1→X | p→443 | 126",
      "deliver X | 52-54-00-00-01-01→52-54-00-00-02-01 | W1→X | p→443 | 126",
      "reply send X | 52-54-00-00-02-01→52-54-00-00-01-01 | X→W1 | 443→p | 64",
      "reply wire | 52-54-00-00-02-01→52-54-00-00-01-01 | X→W1 | 443→p | 64",
      "reply forward R | Rm→W1m | X→W1 | 443→p | 63",
      "reply wire | Rm→W1m | X→W1 | 443→p | 63",
      "reply translate W1 | Rm→W1m | X→A | 443→p | 63",
      "reply forward W1 | Gm→Am | X→A | 443→p | 62",
      "reply deliver A | Gm→Am | X→A | 443→p | 62",
    ]);
  });

  it("WALK-N-1 rows 2 and 3: the port outside is not A's own, and X's answer has it", async () => {
    const { world, a, b } = await natWorld();
    world.x.serve("tcp", 443);
    // B has the first port of the node, so that A's differs from the one inside.
    world.ask(b.compartment, "tcp", "203.0.113.10", 443);
    const ports: string[] = [];
    const rows = world.uplinkPackets(
      ({ bytes, start }) => ports.push(`${readU16(bytes, start + 34)}→${readU16(bytes, start + 36)}`),
      () => world.ask(a.compartment, "tcp", "203.0.113.10", 443),
    );
    const { binding } = world.node.root.winNat!.listSessions().at(-1)!;
    expect(binding.externalPort).not.toBe(49_152);
    expect(rows[0]).toBe("W1m→Rm | W1→X | p→443 | 127");
    expect(new Set(ports)).toEqual(new Set([`${binding.externalPort}→443`]));
    expect(world.ask(a.compartment, "tcp", "203.0.113.10", 443)).toMatchObject({
      answer: expect.stringMatching(/^x saw 10\.0\.0\.11:\d+\n$/) as string,
    });
  });

  it("the outside sees the node, and each pod by a port of its own", async () => {
    const { world, a, b } = await natWorld();
    world.x.serve("udp", 53);
    for (const pod of [a, b])
      expect(world.ask(pod.compartment, "udp", "203.0.113.10", 53)).toMatchObject({
        answer: expect.stringMatching(/^x saw 10\.0\.0\.11:\d+\n$/) as string,
      });
    const ports = world.node.root.winNat!.listSessions().map(({ binding }) => binding.externalPort);
    expect(new Set(ports).size).toBe(2);
  });

  it("DT-081: an echo is translated and answered; two pods with identifier 1 do not collide", async () => {
    const { world, a, b } = await natWorld();
    for (const from of [a.compartment, b.compartment, world.node.root])
      expect(world.ask(from, "icmp", "203.0.113.10")).toMatchObject({ outcome: "answered" });
    const ids = world.node.root.winNat!.listSessions().map(({ binding }) => binding.externalPort);
    expect(new Set([...ids, 1]).size).toBe(3);
  });

  it("DT-170: IPv6 has no translation: the network's prefixes are IPv4", async () => {
    const { world, a } = await natWorld();
    expect(world.ask(a.compartment, "udp", "2001:db8::1", 53)).toMatchObject({ outcome: "unreachable" });
    expect(world.node.root.winNat!.isInternal(ip("2001:db8::5"))).toBe(false);
  });
});

describe("N-2: a published port", () => {
  it("WALK-N-2 DT-082: the client's address is kept, and answers leave with the node's", async () => {
    const { world, a } = await natWorld([published(80, 8080)]);
    world.serve(a.compartment, "tcp", 80);
    const rows = world.walk(world.e.compartment, "tcp", "10.0.0.11", 8080);
    const onNode = rows.slice(rows.findIndex((row) => row.startsWith("translate")) - 1);
    expect(onNode.slice(0, -3)).toEqual([
      "wire | Rm→W1m | E→W1 | p→8080 | 63",
      "translate W1 | Rm→W1m | E→A | p→80 | 63",
      "forward W1 | Gm→Am | E→A | p→80 | 62",
      "deliver A | Gm→Am | E→A | p→80 | 62",
      "reply send A | Am→Gm | A→E | 80→p | 128",
      "reply translate W1 | Am→Gm | W1→E | 8080→p | 127",
      "reply forward W1 | W1m→Rm | W1→E | 8080→p | 127",
      "reply wire | W1m→Rm | W1→E | 8080→p | 127",
    ]);
    expect(world.ask(world.e.compartment, "tcp", "10.0.0.11", 8080)).toMatchObject({
      answer: expect.stringMatching(/^pod A saw 198\.51\.100\.7:\d+\n$/) as string,
    });
  });

  it("two ports lead to one: each answers as itself", async () => {
    const { world, a } = await natWorld([published(53, 5353, 17), published(53, 5354, 17)]);
    world.serve(a.compartment, "udp", 53);
    for (const port of [5353, 5354])
      expect(world.ask(world.e.compartment, "udp", "10.0.0.11", port)).toMatchObject({
        outcome: "answered",
      });
  });

  it("is not served on 127.0.0.1 nor to the node itself", async () => {
    const { world, a } = await natWorld([published(80, 8080)]);
    world.serve(a.compartment, "tcp", 80);
    for (const address of ["127.0.0.1", "10.0.0.11"])
      expect(world.ask(world.node.root, "tcp", address, 8080)).toMatchObject({ outcome: "refused" });
  });

  it("keeps the node's own programs off its port until the endpoint goes", async () => {
    const { world, network } = await natWorld([published(80, 8080)]);
    expect(() => world.serve(world.node.root, "tcp", 8080)).toThrow("port-in-use");
    await deleteNetwork(world.client, network);
    expect(() => world.serve(world.node.root, "tcp", 8080)).not.toThrow();
  });

  it("is refused while a program of the node listens on the port", async () => {
    const world = new DriverWorld();
    const network = await world.network("NAT", SUBNET);
    world.serve(world.node.root, "tcp", 8080);
    await expect(world.pod("A", network, { Policies: [published(80, 8080)] })).rejects.toMatchObject({
      code: "HCN_E_PORT_ALREADY_EXISTS",
    });
  });

  it("takes the conversations with it that came in by it", async () => {
    const { world, a } = await natWorld([published(53, 5353, 17)]);
    world.serve(a.compartment, "udp", 53);
    expect(world.ask(world.e.compartment, "udp", "10.0.0.11", 5353)).toMatchObject({ outcome: "answered" });
    const { winNat } = world.node.root;
    expect(winNat!.listSessions()).toHaveLength(1);
    await removeNamespaceEndpoint(world.client, a.namespace, a.endpoint);
    expect(winNat!.listSessions()).toEqual([]);
  });

  it("moved to another port of the pod, it leads there; what did not change keeps its conversations", async () => {
    const kept = published(54, 5454, 17);
    const { world, a } = await natWorld([published(53, 5353, 17), kept]);
    for (const port of [53, 54, 55]) world.serve(a.compartment, "udp", port);
    const inside = (): readonly (readonly number[])[] =>
      world.node.root
        .winNat!.listSessions()
        .map(({ binding }) => [binding.externalPort, binding.internalPort]);
    for (const port of [5353, 5454]) world.ask(world.e.compartment, "udp", "10.0.0.11", port);
    expect(inside()).toEqual([
      [5353, 53],
      [5454, 54],
    ]);
    await modifyEndpointPolicies(world.client, a.endpoint, "Remove", [published(53, 5353, 17)]);
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [published(55, 5353, 17)]);
    expect(inside()).toEqual([[5454, 54]]);
    expect(world.ask(world.e.compartment, "udp", "10.0.0.11", 5353)).toMatchObject({ outcome: "answered" });
    expect(inside()).toContainEqual([5353, 55]);
    await modifyEndpointPolicies(world.client, a.endpoint, "Update", [published(53, 5353, 17), kept]);
    world.ask(world.e.compartment, "udp", "10.0.0.11", 5353);
    expect(inside()).toEqual([
      [5454, 54],
      [5353, 53],
    ]);
  });

  it("ends with its endpoint's attachment", async () => {
    const { world, a } = await natWorld([published(80, 8080)]);
    world.serve(a.compartment, "tcp", 80);
    expect(world.node.root.winNat!.listMappings()).toHaveLength(1);
    await removeNamespaceEndpoint(world.client, a.namespace, a.endpoint);
    expect(world.node.root.winNat!.listMappings()).toEqual([]);
    expect(world.ask(world.e.compartment, "tcp", "10.0.0.11", 8080)).toMatchObject({ outcome: "refused" });
  });
});

describe("inside", () => {
  it("pod to pod is switched: no translation, TTL untouched", async () => {
    const { world, a, b } = await natWorld();
    world.serve(b.compartment, "udp", 8080);
    expect(world.walk(a.compartment, "udp", "172.20.1.6", 8080)).toEqual([
      "send A | Am→Bm | A→B | p→8080 | 128",
      "deliver B | Am→Bm | A→B | p→8080 | 128",
      "reply send B | Bm→Am | B→A | 8080→p | 128",
      "reply deliver A | Bm→Am | B→A | 8080→p | 128",
    ]);
  });

  it("pod to node keeps the pod's address; node to pod has the gateway's", async () => {
    const { world, a } = await natWorld();
    world.serve(world.node.root, "tcp", 10250);
    expect(world.ask(a.compartment, "tcp", "10.0.0.11", 10250)).toMatchObject({
      answer: expect.stringContaining("saw 172.20.1.5:") as string,
    });
    world.serve(a.compartment, "tcp", 80);
    expect(world.ask(world.node.root, "tcp", "172.20.1.5", 80)).toMatchObject({
      answer: expect.stringContaining("saw 172.20.1.1:") as string,
    });
  });

  it("another machine does not reach a pod by the pod's address", async () => {
    const { world, a } = await natWorld();
    world.serve(a.compartment, "tcp", 80);
    world.neighbour.root.addRoute({
      prefix: { address: ip("172.20.1.0"), length: 24 },
      nextHop: ip("10.0.0.11"),
      interface: world.neighbour.root.getInterface("eth0")!,
      metric: 0,
    });
    expect(world.ask(world.neighbour.root, "tcp", "172.20.1.5", 80)).toMatchObject({
      outcome: "timed-out",
    });
    expect(world.dropsOf("destination-not-local")).toBeGreaterThan(0);
  });

  it("DT-173: a frame to an unknown MAC ends on the internal switch", async () => {
    const { world, a } = await natWorld();
    const [nic] = a.compartment.listInterfaces();
    const before = world.dropsOf("mac-not-local");
    nic!.transmitFrame(
      datagram({ to: "172.20.1.6", destinationMac: 0x0202_0202_0202 as Mac, source: nic!.mac }),
    );
    world.run();
    expect(world.dropsOf("mac-not-local")).toBe(before + 1);
  });
});

/** A datagram of A that no stack made. */
function datagram(fields: { to: string; source: Mac; destinationMac: Mac; sourcePort?: number }): Packet {
  return buildUdpFrame({
    link: { sourceMac: fields.source, destinationMac: fields.destinationMac },
    ip: {
      source: ip("172.20.1.5"),
      destination: ip(fields.to),
      ttl: 128,
      identification: 1,
      isDontFragment: false,
    },
    udp: { sourcePort: fields.sourcePort ?? 1, destinationPort: 53 },
    payload: new Uint8Array(1),
  });
}

/** Notes who speaks to a port. */
class Listener implements UdpOwner {
  readonly heard: string[] = [];
  lastPort = 0;
  failures = 0;

  udpReceived(_socket: UdpSocket, { source, sourcePort }: UdpDatagram): void {
    this.heard.push(formatIp(source));
    this.lastPort = sourcePort;
  }

  udpFailed(): void {
    this.failures++;
  }
}

function bind(compartment: Compartment, owner: UdpOwner, port?: number): UdpSocket {
  const socket = compartment.udp.bind({ owner, ...(port !== undefined && { port }) });
  if (typeof socket === "string") throw new Error(socket);
  return socket;
}

const BYTE = Uint8Array.of(1);

describe("who may answer, and for how long", () => {
  /** A has sent from one UDP port to X:53; q is its port outside. */
  async function opened() {
    const { world, a } = await natWorld();
    const pod = new Listener();
    const x = new Listener();
    const socket = bind(a.compartment, pod);
    const server = bind(world.x.compartment, x, 53);
    socket.send({ destination: ip("203.0.113.10"), port: 53, bytes: BYTE });
    world.run(1_000);
    const answer = (from: UdpSocket): void => {
      from.send({ destination: ip("10.0.0.11"), port: x.lastPort, bytes: BYTE });
      world.run(1_000);
    };
    return { world, a, pod, x, socket, server, answer };
  }

  it("DT-078: UDP binding idle for 121 s: data from X is dropped", async () => {
    const { world, pod, server, answer } = await opened();
    world.run(110_000);
    answer(server);
    expect(pod.heard).toEqual(["203.0.113.10"]);
    world.run(10_000);
    answer(server);
    expect(pod.heard).toHaveLength(1);
    expect(world.dropsOf("port-not-listening")).toBe(1);
  });

  it("DT-079: UDP to q from another host is dropped: address-dependent filtering", async () => {
    const { world, pod, answer } = await opened();
    answer(bind(world.e.compartment, new Listener(), 53));
    expect(pod.heard).toEqual([]);
    expect(world.dropsOf("winnat-address-filtered")).toBe(1);
  });

  it("DT-080: UDP to q from another port of X is accepted", async () => {
    const { world, pod, answer } = await opened();
    answer(bind(world.x.compartment, new Listener(), 5_353));
    expect(pod.heard).toEqual(["203.0.113.10"]);
  });

  it("one port outside for all destinations of one socket", async () => {
    const { world, x, socket } = await opened();
    const e = new Listener();
    bind(world.e.compartment, e, 53);
    socket.send({ destination: ip("198.51.100.7"), port: 53, bytes: BYTE });
    world.run(1_000);
    expect(e.lastPort).toBe(x.lastPort);
  });

  it("DT-077: an established TCP connection idle for 29 min still passes, one idle for 31 min does not", async () => {
    const { world, a } = await natWorld();
    world.x.serve("tcp", 443);
    const connection = a.compartment.tcp.connect({
      destination: ip("203.0.113.10"),
      port: 443,
      owner: new Quiet(),
    });
    if (typeof connection === "string") throw new Error(connection);
    world.run(1_000);
    world.run(29 * 60_000);
    expect(world.node.root.winNat!.listSessions().map(({ state }) => state)).toEqual(["established"]);
    connection.send(encodeAscii("a"));
    world.run(1_000);
    expect(world.node.root.winNat!.listSessions()[0]?.expiresAtMs).toBeGreaterThan(
      world.clock.nowMs + 29 * 60_000,
    );
    world.run(31 * 60_000);
    expect(world.node.root.winNat!.listSessions()).toEqual([]);
  });

  it.each([
    [29, "passes, and X answers", 1],
    [31, "is lost, whatever TCP tries", 0],
  ])("DT-077: what A says after %i idle minutes %s", async (minutes, _, count) => {
    const { world, a } = await natWorld();
    const server = new Answering();
    world.x.compartment.tcp.listen({ port: 443, acceptor: { tcpAccepted: () => server } });
    const client = new Answering();
    const connection = a.compartment.tcp.connect({
      destination: ip("203.0.113.10"),
      port: 443,
      owner: client,
    });
    if (typeof connection === "string") throw new Error(connection);
    world.run(1_000);
    world.run(minutes * 60_000);
    connection.send(encodeAscii("still here?"));
    world.run(1_000);
    expect(server.heard).toEqual(Array(count).fill("still here?"));
    server.send("yes");
    world.run(1_000);
    expect(client.heard).toEqual(Array(count).fill("yes"));
  });

  it("ports come back when their sessions end, and running out is told", async () => {
    const { world, a } = await natWorld();
    const { ports } = world.node.root.udp;
    const taken: number[] = [];
    for (let port = ports.reserveEphemeral(); port !== undefined; port = ports.reserveEphemeral())
      taken.push(port);
    ports.release(taken[0]!);
    const owner = new Listener();
    const [one, two] = [bind(a.compartment, owner), bind(a.compartment, owner)];
    const send = (socket: UdpSocket): void => {
      socket.send({ destination: ip("203.0.113.10"), port: 9, bytes: BYTE });
      world.run(1_000);
    };
    send(one);
    send(two);
    expect(world.dropsOf("winnat-ports-exhausted")).toBe(1);
    world.run(121_000);
    send(two);
    expect(world.dropsOf("winnat-ports-exhausted")).toBe(1);
    expect(world.node.root.winNat!.listSessions()[0]?.binding.externalPort).toBe(taken[0]);
  });
});

/** An end of a connection that notes what it hears. */
class Answering implements TcpOwner {
  readonly heard: string[] = [];
  private connection: TcpConnection | undefined;

  send(text: string): void {
    this.connection?.send(encodeAscii(text));
  }

  tcpConnected(connection: TcpConnection): void {
    this.connection = connection;
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.heard.push(decodeAscii(bytes));
  }

  tcpPeerFinished(): void {}
  tcpClosed(): void {}
}

/** A client that says nothing by itself. */
class Quiet implements TcpOwner {
  tcpConnected(): void {}
  tcpData(): void {}
  tcpPeerFinished(): void {}
  tcpClosed(): void {}
}

describe("what is not a plain packet", () => {
  it("an ICMP error about a translated packet finds the pod", async () => {
    const { world, a } = await natWorld();
    const owner = new Listener();
    bind(a.compartment, owner).send({ destination: ip("203.0.113.10"), port: 9, bytes: BYTE });
    world.run();
    expect(owner.failures).toBe(1);
  });

  it("a pod's ICMP error about a published port finds the client, with the node's address", async () => {
    const { world } = await natWorld([published(53, 5353, 17)]);
    const owner = new Listener();
    bind(world.e.compartment, owner).send({ destination: ip("10.0.0.11"), port: 5353, bytes: BYTE });
    world.run();
    expect(owner.failures).toBe(1);
  });

  it("fragments are put together, translated, and cut again", async () => {
    const { world, a } = await natWorld();
    world.x.serve("udp", 53);
    const pod = new Listener();
    bind(a.compartment, pod).send({
      destination: ip("203.0.113.10"),
      port: 53,
      bytes: new Uint8Array(4_000),
    });
    world.run();
    expect(pod.heard).toEqual(["203.0.113.10"]);
  });

  it("another protocol is dropped with a code", async () => {
    const { world, a } = await natWorld();
    const [nic] = a.compartment.listInterfaces();
    const gateway = world.node.root.getInterface("vEthernet (n)")!.mac;
    const frame = datagram({ to: "203.0.113.10", source: nic!.mac, destinationMac: gateway });
    writeU8(frame.bytes, frame.start + 23, 132);
    writeU16(frame.bytes, frame.start + 24, 0);
    writeU16(frame.bytes, frame.start + 24, checksumOf(frame.bytes, frame.start + 14, frame.start + 34));
    nic!.transmitFrame(frame);
    world.run();
    expect(world.dropsOf("winnat-not-translated")).toBe(1);
  });
});

describe("the DNS proxy on the gateway (EnableDnsProxy, 1)", () => {
  async function asked(
    flags: number,
    servers: readonly string[],
  ): Promise<{ world: DriverWorld; answer: string[] }> {
    const world = new DriverWorld();
    const network = await world.network("NAT", SUBNET, { Flags: flags });
    const a = await world.pod("A", network, {
      IpConfigurations: [{ IpAddress: "172.20.1.5", PrefixLength: 24 }],
    });
    world.node.root.dns = { domain: "", search: [], servers: servers.map(ip) };
    bind(world.x.compartment, new NameServer(), 53);
    const answer: string[] = [];
    const socket = bind(a.compartment, {
      udpReceived: (_socket, { source, bytes }) => {
        answer.push(`${formatIp(source)} ${Buffer.from(bytes).toString("hex")}`);
      },
      udpFailed: () => {
        answer.push("failed");
      },
    });
    const bytes = Uint8Array.from(Buffer.from(QUESTION, "hex"));
    socket.send({ destination: ip("172.20.1.1"), port: 53, bytes });
    world.run();
    return { world, answer };
  }

  it("a question goes to the node's server, the answer comes from the gateway with the client's id", async () => {
    const { answer } = await asked(1, ["203.0.113.10"]);
    expect(answer).toEqual([`172.20.1.1 ${QUESTION.replace("0100", "8180")}`]);
  });

  it("without a server the proxy says so", async () => {
    const { answer } = await asked(1, []);
    expect(answer).toEqual([`172.20.1.1 ${QUESTION.replace("0100", "8102")}`]);
  });

  it("without the flag nobody listens", async () => {
    expect((await asked(0, ["203.0.113.10"])).answer).toEqual(["failed"]);
  });
});

/** Id 0x1234, recursion desired, one question: `a.` A IN. */
const QUESTION = "12340100000100000000000001610000010001";

/** Says yes to all that it is asked. */
class NameServer implements UdpOwner {
  udpReceived(socket: UdpSocket, { source, sourcePort, bytes }: UdpDatagram): void {
    const answer = bytes.slice();
    writeU16(answer, 2, 0x8180);
    socket.send({ destination: source, port: sourcePort, bytes: answer });
  }

  udpFailed(): void {}
}

it("a fork translates on its own", async () => {
  const { world, a } = await natWorld();
  world.x.serve("udp", 53);
  world.ask(a.compartment, "udp", "203.0.113.10", 53);
  const { client: _client, ...state } = world;
  const copy = fork(state);
  copy.node.root.winNat!.program(copy.service.enumerate("Network")[0]!, undefined);
  expect(copy.node.root.winNat!.listSessions()).toEqual([]);
  expect(world.node.root.winNat!.listSessions().map(({ remote }) => formatIp(remote))).toEqual([
    "203.0.113.10",
  ]);
});
