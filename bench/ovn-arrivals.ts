/**
 * Two chassis of OVN with connections between their pods that both sides know, and frames of these as a device hands them over:
 * in a ring of buffers, each of another connection, as `arrivals.ts` does for the engine of VFP.
 */
import { assert, defined } from "#core/base/assert.ts";
import { wordAt, writeU16 } from "#core/base/bytes.ts";
import { VirtualClock } from "#core/base/clock.ts";
import type { Mac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { FlowCache } from "#dataplane/ovs/flow-cache.ts";
import { LogicalFlowExtension } from "#dataplane/ovs/logical-flow-extension.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import type { Decision } from "#dataplane/switch/decision.ts";
import type { Host, TwinOptions } from "#test/support/dataplane/logical-twins.ts";
import { frameOf } from "#test/support/dataplane/logical-world.ts";
import { KnownPorts, type PortFacts } from "#test/support/dataplane/switch-kit.ts";
import { TWIN_TOPOLOGIES } from "#test/support/dataplane/twin-topologies.ts";

const RING = 32;
const UPLINK = "uplink";
const FIRST_PORT = 2_000;
const SERVER_PORT = 8_080;
/** A frame of 66 bytes, as that of the engine's rows. */
const PAYLOAD_BYTES = 12;
const SOURCE_PORT_AT = 34;
/** Outer Ethernet, IP, UDP, and GENEVE with OVN's option. */
const OUTER_BYTES = 58;

/** How frames of a row go. */
export type Way = "local" | "tunnel out" | "tunnel in";

interface Machine {
  readonly extension: LogicalFlowExtension;
  readonly ports: KnownPorts<string>;
}

function machineOf(name: string, options: TwinOptions): Machine {
  const own = options.hosts.filter(({ chassis }) => chassis === name);
  const facts: Record<string, PortFacts> = { [UPLINK]: { kind: "external", mac: 1 as Mac } };
  own.forEach(({ port }, index) => (facts[port] = { kind: "container", mac: (index + 2) as Mac }));
  const { mac } = defined(options.chassis.get(name), "a chassis");
  const extension = new LogicalFlowExtension(
    new LogicalNetwork(options.southbound),
    new Map(own.map(({ port }) => [port, port])),
    new VirtualClock(),
    options.claimed,
    {
      chassis: name,
      switchPort: UPLINK,
      mac,
      peers: new Map([...options.chassis.values()].map((each) => [each.ip, each.mac])),
    },
    undefined,
    new FlowCache(),
  );
  return { extension, ports: new KnownPorts(facts) };
}

/** The frame that a decision sends; fails where it sends none, or several. */
function sent(decision: Decision | undefined, packet: Packet): Packet {
  assert(decision?.kind === "to" && decision.ports.length === 1, "a frame of the benchmark goes to one port");
  return decision.frame ?? packet;
}

export class OvnArrivals {
  private readonly machine: Machine;
  private readonly source: string;
  private readonly template: Uint8Array;
  private readonly portAt: number;
  private readonly ring: readonly Packet[];
  private readonly start: number;
  private readonly end: number;
  private readonly headers = new Headers();
  private readonly flows: number;
  private readonly order: Int32Array;
  private at = 0;

  constructor(way: Way, flows: number) {
    const [, , third] = TWIN_TOPOLOGIES;
    const options = defined(third, "the topology of two chassis")[1]();
    const [near, far, other] = options.hosts.map((host) => host);
    const client = defined(near, "a pod");
    const server = defined(way === "local" ? other : far, "a pod");
    const [here, there] = ["hv1", "hv2"].map((name) => machineOf(name, options));
    const [one, two] = [defined(here, "a machine"), defined(there, "a machine")];
    const ends = { one, two: way === "local" ? one : two };
    for (let index = 0; index < flows; index++) this.open(ends, client, server, FIRST_PORT + index);
    this.machine = way === "tunnel in" ? two : one;
    this.source = way === "tunnel in" ? UPLINK : client.port;
    const inner = this.segment(client, server, FIRST_PORT, TcpFlag.ack);
    this.template = (way === "tunnel in" ? this.pass(one, client.port, inner) : inner).frame.slice();
    this.portAt = SOURCE_PORT_AT + (way === "tunnel in" ? OUTER_BYTES : 0);
    this.flows = flows;
    this.order = shuffled(flows);
    this.ring = Array.from({ length: RING }, () => Packet.ofLength(this.template.length));
    const { start, end } = Packet.ofLength(this.template.length);
    [this.start, this.end] = [start, end];
  }

  private segment(from: Host, to: Host, clientPort: number, flags: number, isBack = false): Packet {
    const [sourcePort, port] = isBack ? [SERVER_PORT, clientPort] : [clientPort, SERVER_PORT];
    return frameOf({
      inport: from.port,
      from: from.mac,
      to: to.mac,
      source: from.ip,
      destination: to.ip,
      sourcePort,
      port,
      flags,
      payloadBytes: PAYLOAD_BYTES,
    });
  }

  private pass({ extension, ports }: Machine, port: string, packet: Packet): Packet {
    this.headers.parse(packet);
    return sent(extension.decide(ports.tables, ports.port(port), packet, this.headers), packet);
  }

  /** A connection that both sides know, and then a segment whose way is kept. */
  private open(
    { one, two }: { readonly one: Machine; readonly two: Machine },
    client: Host,
    server: Host,
    clientPort: number,
  ): void {
    const { syn, ack } = TcpFlag;
    const steps = [
      [true, syn],
      [false, syn | ack],
      [true, ack],
      [true, ack],
      [false, ack],
      [true, ack],
    ] as const;
    for (const [isForth, flags] of steps) {
      const [from, to] = isForth ? [client, server] : [server, client];
      const [first, second] = isForth ? [one, two] : [two, one];
      const out = this.pass(first, from.port, this.segment(from, to, clientPort, flags, !isForth));
      if (one !== two) this.pass(second, UPLINK, out.copy());
    }
  }

  private fill(arrived: number): Packet {
    const packet = defined(this.ring[arrived & (RING - 1)], "the ring is full of buffers");
    const { at } = this;
    this.at = at + 1 === this.flows ? 0 : at + 1;
    packet.start = this.start;
    packet.end = this.end;
    packet.tni = 0;
    packet.bytes.set(this.template, this.start);
    writeU16(packet.bytes, this.start + this.portAt, wordAt(this.order, at));
    return packet;
  }

  /** Each frame is decided about as it comes. @returns how many went to a port */
  send(count: number): number {
    const { headers, machine } = this;
    const port = machine.ports.port(this.source);
    const { tables } = machine.ports;
    let passed = 0;
    for (let i = 0; i < count; i++) {
      const packet = this.fill(i);
      headers.parse(packet);
      if (machine.extension.decide(tables, port, packet, headers)?.kind === "to") passed++;
    }
    return passed;
  }
}

/** The client's ports, each once, in an order that no cache foresees. */
function shuffled(count: number): Int32Array {
  const all = Int32Array.from({ length: count }, (_, index) => FIRST_PORT + index);
  for (let i = count - 1, state = 12_345; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    const other = (state >>> 0) % (i + 1);
    [all[i], all[other]] = [wordAt(all, other), wordAt(all, i)];
  }
  return all;
}
