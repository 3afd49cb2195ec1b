/** A packet from a microflow, the match that says to ovn-trace what a packet is like (ovn-trace(8)). */
import type { Ip, Ipv4, Ipv6 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import {
  buildArpFrame,
  buildEthernetFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildNdFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "#core/wire/build-frame.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { type FieldBits, type Match, parseMatch } from "./language/match.ts";
import { PacketFields, replaceBits } from "./packet-fields.ts";
import { isMetadata } from "./packet-state.ts";

const TTL = 64n;
const NO_BYTES = new Uint8Array(0);

/** What a microflow cannot say. */
export class MicroflowError extends Error {
  override readonly name = "MicroflowError";
}

export interface Microflow {
  /** Empty when none is named. */
  readonly inport: string;
  readonly packet: Packet;
  /** Registers, marks and states that it begins with. */
  readonly metadata: readonly { readonly field: FieldBits; readonly value: bigint }[];
}

interface Known {
  readonly value: bigint;
  readonly mask: bigint;
}

type Compare = Extract<Match, { kind: "compare" }>;

class Reader {
  readonly fields = new Map<string, Known>();
  inport = "";
  private readonly choices: (readonly Match[])[] = [];

  take(match: Match): void {
    switch (match.kind) {
      case "and":
        for (const part of match.of) this.take(part);
        return;
      case "or":
        this.choices.push(match.of);
        return;
      case "compare":
        this.assign(match);
        return;
      case "port":
        if (match.field === "inport" && !match.isNegated) this.inport = match.name;
        return;
      case "constant":
      case "resident":
        return;
      case "address-set":
      case "port-group":
        throw new MicroflowError(`${match.kind.replace("-", " ")} ${match.name} stands for several values`);
    }
  }

  /** Of alternatives the first that fits what is known by then. */
  choose(): void {
    for (const choice of this.choices) {
      const fitting = choice.find((each) => this.fits(each)) ?? choice[0];
      if (fitting !== undefined) this.take(fitting);
    }
  }

  private fits(match: Match): boolean {
    if (match.kind === "and") return match.of.every((part) => this.fits(part));
    if (match.kind === "or") return match.of.some((part) => this.fits(part));
    if (match.kind !== "compare" || match.relation !== "==") return true;
    const { value, mask } = bitsIn(match);
    const known = this.fields.get(match.field.base);
    return known === undefined || ((known.value ^ value) & mask & known.mask) === 0n;
  }

  private assign(match: Compare): void {
    if (match.relation !== "==") throw new MicroflowError(`${match.field.base} is compared by == only`);
    const { base } = match.field;
    const { value, mask } = bitsIn(match);
    const before = this.fields.get(base) ?? { value: 0n, mask: 0n };
    if (((before.value ^ value) & mask & before.mask) !== 0n)
      throw new MicroflowError(`${base} has two values`);
    this.fields.set(base, { value: before.value | value, mask: before.mask | mask });
  }
}

function bitsIn({ field, value, mask }: Compare): Known {
  const low = BigInt(field.low);
  return { value: (value & mask) << low, mask: mask << low };
}

class Draft {
  private readonly fields: ReadonlyMap<string, Known>;

  constructor(fields: ReadonlyMap<string, Known>) {
    this.fields = fields;
  }

  number(name: string, otherwise = 0): number {
    return Number(this.fields.get(name)?.value ?? otherwise);
  }

  private get link(): { readonly sourceMac: Mac; readonly destinationMac: Mac } {
    return { sourceMac: this.number("eth.src") as Mac, destinationMac: this.number("eth.dst") as Mac };
  }

  packet(): Packet {
    switch (this.number("eth.type")) {
      case EtherType.ipv4:
        return this.ip(this.number("ip4.src") as Ipv4, this.number("ip4.dst") as Ipv4);
      case EtherType.ipv6: {
        const value = (name: string): Ipv6 => (this.fields.get(name)?.value ?? 0n) as Ipv6;
        return this.ip(value("ip6.src"), value("ip6.dst"));
      }
      case EtherType.arp: {
        const arp = {
          operation: "request" as const,
          senderMac: this.number("arp.sha") as Mac,
          senderIp: this.number("arp.spa") as Ipv4,
          targetIp: this.number("arp.tpa") as Ipv4,
        };
        return buildArpFrame({ link: this.link, arp });
      }
      default:
        return buildEthernetFrame({ link: this.link, etherType: this.number("eth.type"), payload: NO_BYTES });
    }
  }

  private ip(source: Ip, destination: Ip): Packet {
    const ttl = this.number("ip.ttl", Number(TTL));
    const common = {
      link: this.link,
      ip: { source, destination, ttl, identification: 0, isDontFragment: false },
    };
    const [sourcePort, destinationPort] = [this.number("tcp.src"), this.number("tcp.dst")];
    const protocol = this.number("ip.proto");
    switch (protocol) {
      case IpProtocol.tcp: {
        const flags = this.number("tcp.flags", TcpFlag.syn) & 0xff;
        const tcp = { sourcePort, destinationPort, sequence: 0, acknowledgment: 0, flags, window: 0 };
        return buildTcpFrame({ ...common, tcp });
      }
      case IpProtocol.udp: {
        const udp = { sourcePort: this.number("udp.src"), destinationPort: this.number("udp.dst") };
        return buildUdpFrame({ ...common, udp, payload: NO_BYTES });
      }
      case IpProtocol.icmp:
        return buildIcmpFrame({
          ...common,
          icmp: { type: "echo-request", identifier: 0, sequence: 0, payload: NO_BYTES },
        });
      case IpProtocol.icmpv6:
        return this.icmpv6(common);
      default:
        return buildIpFrame({ ...common, protocol, payload: NO_BYTES });
    }
  }

  private icmpv6(common: Omit<Parameters<typeof buildIcmpv6Frame>[0], "icmpv6">): Packet {
    const target = (this.fields.get("nd.target")?.value ?? 0n) as Ipv6;
    const mac = this.number("nd.sll", this.number("eth.src")) as Mac;
    const type = this.number("icmp6.type", 128);
    if (type === 135)
      return buildNdFrame({
        ...common,
        nd: { type: "neighbor-solicitation", target, options: [{ kind: "source-link-layer", mac }] },
      });
    if (type === 136) {
      const options = [{ kind: "target-link-layer", mac: this.number("nd.tll") as Mac }] as const;
      const nd = { type: "neighbor-advertisement", target, options } as const;
      return buildNdFrame({ ...common, nd: { ...nd, isRouter: false, isSolicited: true, isOverride: true } });
    }
    const icmpv6 = { type: "echo-request", identifier: 0, sequence: 0, payload: NO_BYTES } as const;
    return buildIcmpv6Frame({ ...common, icmpv6 });
  }
}

/** The fields that the frame is built with; the others are written into it. */
const BUILT: ReadonlySet<string> = new Set(["eth.type", "ip.proto", "ip.frag", "vlan.tci"]);

/**
 * Reads a microflow. What it leaves open is chosen so that a packet gets through: a time to live of 64, a SYN, an echo.
 * @throws LanguageError, MicroflowError
 */
export function readMicroflow(text: string): Microflow {
  const reader = new Reader();
  reader.take(parseMatch(text));
  reader.choose();
  const packet = new Draft(reader.fields).packet();
  const fields = new PacketFields(packet);
  const metadata: { field: FieldBits; value: bigint }[] = [];
  for (const [base, { value, mask }] of reader.fields) {
    const width = Math.max(1, mask.toString(2).length);
    const field = { base, low: 0, width };
    if (isMetadata(base)) metadata.push({ field, value });
    else if (!BUILT.has(base)) fields.write(base, replaceBits(fields.read(base), field, value));
  }
  return { inport: reader.inport, packet, metadata };
}
