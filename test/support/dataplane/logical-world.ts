/** A logical network of a recorded southbound database, and packets through it. */
import { readFileSync } from "node:fs";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { type Ip, type Ipv4, formatIp, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { buildIcmpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { type Ending, type Passage, runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { PacketFields } from "#dataplane/ovs/packet-fields.ts";
import { readDump } from "#dataplane/ovs/ovsdb-tables.ts";
import { type Southbound, toSouthbound } from "#dataplane/ovs/southbound.ts";

export interface Asked {
  readonly inport: string;
  readonly from: string;
  readonly to: string;
  readonly source: string;
  readonly destination: string;
  readonly protocol?: "tcp" | "udp" | "icmp";
  readonly sourcePort?: number;
  readonly port?: number;
  readonly flags?: number;
  readonly ttl?: number;
  readonly payloadBytes?: number;
}

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const mac = (text: string): Mac => defined(parseMac(text), "a MAC");

/** The frame of a question. */
export function frameOf(asked: Asked): Packet {
  const { from, to, source, destination, protocol = "tcp", sourcePort = 5_000, port = 80 } = asked;
  const { flags = TcpFlag.syn, ttl = 64, payloadBytes = 3 } = asked;
  const common = {
    link: { sourceMac: mac(from), destinationMac: mac(to) },
    ip: { source: ip(source), destination: ip(destination), ttl, identification: 1, isDontFragment: true },
  };
  const payload = new Uint8Array(payloadBytes);
  if (protocol === "icmp")
    return buildIcmpFrame({
      ...common,
      icmp: { type: "echo-request", identifier: sourcePort, sequence: 1, payload },
    });
  if (protocol === "udp")
    return buildUdpFrame({ ...common, udp: { sourcePort, destinationPort: port }, payload });
  const tcp = { sourcePort, destinationPort: port, sequence: 1_000, acknowledgment: 0, flags, window: 1 };
  return buildTcpFrame({ ...common, tcp, payload });
}

const PORTS: Readonly<Record<number, string>> = { 6: "tcp", 17: "udp" };

/** `10.0.0.2:5000 > 10.0.0.3:80 tcp 0x2 ttl 63`; checksums are right, or it is said. */
export function tell(packet: Packet): string {
  const fields = new PacketFields(packet);
  const headers = new Headers();
  headers.parse(packet);
  const name = PORTS[headers.protocol];
  const address = (field: string): string => formatIp(Number(fields.read(field)) as Ipv4);
  const end = (address_: string, field: string): string =>
    name === undefined ? address_ : `${address_}:${fields.read(`${name}.${field}`)}`;
  const upper =
    name === "tcp"
      ? `tcp 0x${fields.read("tcp.flags").toString(16)}`
      : (name ?? `icmp ${fields.read("icmp4.type")}/${fields.read("icmp4.code")}`);
  const wrong = verifyChecksums(packet.bytes, headers) === undefined ? "" : " with a wrong checksum";
  return `${end(address("ip4.src"), "src")} > ${end(address("ip4.dst"), "dst")} ${upper} ttl ${fields.read("ip.ttl")}${wrong}`;
}

export class LogicalWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly network: LogicalNetwork;
  readonly chassis: Chassis;

  /** With `name` it is that chassis; without it has every port. */
  constructor(southbound: Southbound, name?: string) {
    this.network = new LogicalNetwork(southbound);
    this.chassis = new Chassis(new Set(this.network.ports.keys()), this.clock, name);
  }

  pass(asked: Asked): Passage {
    return runLogicalFlows(this.network, this.chassis, asked.inport, frameOf(asked));
  }

  /** `p02: …` for what arrives, `drop: …` for what does not. */
  send(asked: Asked): readonly string[] {
    return this.pass(asked).endings.map((ending) => tellEnding(ending));
  }
}

/** One line for what became of a packet. */
export function tellEnding(ending: Ending): string {
  switch (ending.kind) {
    case "output":
      return `${ending.port}: ${tell(ending.packet)}`;
    case "tunnel":
      return `${ending.chassis}: ${JSON.stringify(ending.keys)}`;
    case "drop":
    case "loop":
    case "refused":
      return `${ending.kind}: ${ending.text}`;
  }
}

/** A recorded database of `test/support/dataplane/`. */
export function recorded(name: string): Southbound {
  return toSouthbound(readDump(readFileSync(`test/support/dataplane/${name}.ndjson`, "utf8")));
}
