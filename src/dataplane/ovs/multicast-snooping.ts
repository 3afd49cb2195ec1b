/**
 * Who wants which multicast group: what a chassis learns from IGMP and MLD (ovn-sb(5), `igmp`, IP_Multicast, IGMP_Group; RFC 3376;
 * RFC 3810). Groups, and what makes a port one of a router, are those of ovn-controller 23.03 (controller/pinctrl.c,
 * `pinctrl_ip_mcast_handle`) and Open vSwitch's lib/mcast-snooping.c. The chassis asks nobody by itself: it is no querier.
 */
import { readU16, readU8, readU32 } from "#core/base/bytes.ts";
import { formatIp, type Ip, type Ipv4, type Ipv6 } from "#core/net/ip.ts";
import { checksumOf } from "#core/wire/checksum.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import type { PacketFields } from "./packet-fields.ts";
import type { MulticastSettings } from "./southbound.ts";

const MS_PER_SECOND = 1_000;
/** MCAST_MROUTER_PORT_IDLE_TIME. */
const ROUTER_IDLE_MS = 180_000;
/** What IGMP_Group calls the ports of routers. */
const ROUTERS = "mrouters";

const IGMP = { query: 0x11, report1: 0x12, report2: 0x16, leave: 0x17, report3: 0x22 } as const;
const MLD = { query: 130, report1: 131, done: 132, report2: 143 } as const;
/** MODE_IS_INCLUDE and CHANGE_TO_INCLUDE_MODE: without a source they end a membership (RFC 3376, 4.2.12). */
const INCLUDING: ReadonlySet<number> = new Set([1, 3]);

/** What a message says: a port joins groups, leaves them, or leads to a router that asks. */
interface Membership {
  readonly isQuery: boolean;
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

/** Bytes of the addresses of a family, and how records and messages of that family read. */
interface Family {
  readonly addressBytes: 4 | 16;
  readonly addressOf: (bytes: Uint8Array, at: number) => Ip;
}

const IPV4: Family = { addressBytes: 4, addressOf: (bytes, at) => readU32(bytes, at) as Ipv4 };
const IPV6: Family = {
  addressBytes: 16,
  addressOf: (bytes, at) =>
    [0, 4, 8, 12].reduce((sum, word) => (sum << 32n) | BigInt(readU32(bytes, at + word)), 0n) as Ipv6,
};

const NOTHING: Membership = Object.freeze({ isQuery: false, joined: [], left: [] });

function one(
  kind: "joined" | "left",
  family: Family,
  bytes: Uint8Array,
  at: number,
  end: number,
): Membership {
  if (at + family.addressBytes > end) return NOTHING;
  return { ...NOTHING, [kind]: [formatIp(family.addressOf(bytes, at))] };
}

/** The records of a report of IGMPv3 (RFC 3376, 4.2) or MLDv2 (RFC 3810, 5.2), which are laid out alike. */
function records(family: Family, bytes: Uint8Array, start: number, end: number): Membership {
  const [joined, left]: [string[], string[]] = [[], []];
  if (start + 8 > end) return NOTHING;
  let at = start + 8;
  for (let count = readU16(bytes, start + 6); count > 0; count--) {
    if (at + 4 + family.addressBytes > end) break;
    const sources = readU16(bytes, at + 2);
    const isLeaving = sources === 0 && INCLUDING.has(readU8(bytes, at));
    (isLeaving ? left : joined).push(formatIp(family.addressOf(bytes, at + 4)));
    at += 4 + family.addressBytes * (1 + sources) + 4 * readU8(bytes, at + 1);
  }
  return { isQuery: false, joined, left };
}

function readIgmp({ packet: { bytes }, headers }: PacketFields): Membership | undefined {
  const { upper: start, end } = headers;
  if (start + 8 > end || headers.isFragment || checksumOf(bytes, start, end) !== 0) return undefined;
  switch (readU8(bytes, start)) {
    case IGMP.query:
      return { ...NOTHING, isQuery: true };
    case IGMP.report1:
    case IGMP.report2:
      return one("joined", IPV4, bytes, start + 4, end);
    case IGMP.leave:
      return one("left", IPV4, bytes, start + 4, end);
    case IGMP.report3:
      return records(IPV4, bytes, start, end);
    default:
      return undefined;
  }
}

function readMld(fields: PacketFields): Membership | undefined {
  const { bytes } = fields.packet;
  const { upper: start, end } = fields.headers;
  if (start + 8 > end || verifyChecksums(bytes, fields.headers) !== undefined) return undefined;
  switch (readU8(bytes, start)) {
    case MLD.query:
      // One without a source is no router's.
      return fields.read("ip6.src") === 0n ? NOTHING : { ...NOTHING, isQuery: true };
    case MLD.report1:
      return one("joined", IPV6, bytes, start + 8, end);
    case MLD.done:
      return one("left", IPV6, bytes, start + 8, end);
    case MLD.report2:
      return records(IPV6, bytes, start, end);
    default:
      return undefined;
  }
}

/** Ports of a group or of routers, each with when it is forgotten; the one that was heard last stands last. */
type Ports = Map<string, number>;

/** A row of IGMP_Group, as this chassis has learned it. */
export interface SnoopedGroup {
  readonly datapath: string;
  readonly address: string;
  readonly ports: readonly string[];
}

class SnoopedDatapath {
  readonly groups = new Map<string, Ports>();
  readonly routers: Ports = new Map();
  flushes = 0;
}

export class MulticastSnooping {
  private readonly datapaths = new Map<string, SnoopedDatapath>();

  /**
   * Learns from a message that came in at `port`. @returns the group of ports to which it goes on: reports to routers, questions to all;
   * undefined where it ends, as where nobody snoops
   */
  hear(
    settings: MulticastSettings | undefined,
    port: string,
    fields: PacketFields,
    nowMs: number,
  ): "_MC_mrouter_flood" | "_MC_flood_l2" | undefined {
    if (settings === undefined) return undefined;
    const isIgmp = fields.family === 4 && fields.headers.protocol === IpProtocol.igmp;
    const isMld = fields.family === 6 && fields.headers.protocol === IpProtocol.icmpv6;
    const said = isIgmp ? readIgmp(fields) : isMld ? readMld(fields) : undefined;
    if (said === undefined) return undefined;
    const known = this.datapathOf(settings);
    if (said.isQuery) {
      known.routers.delete(port);
      known.routers.set(port, nowMs + ROUTER_IDLE_MS);
    }
    for (const address of said.left) known.groups.get(address)?.delete(port);
    // A router hears all groups as it is.
    if ((known.routers.get(port) ?? 0) <= nowMs)
      for (const address of said.joined) join(known, settings, address, port, nowMs);
    return said.isQuery ? "_MC_flood_l2" : "_MC_mrouter_flood";
  }

  /** Something is known, which may go with time. */
  get hasAny(): boolean {
    return this.datapaths.size > 0;
  }

  private datapathOf({ datapath, flushes }: MulticastSettings): SnoopedDatapath {
    let known = this.datapaths.get(datapath);
    if (known === undefined || known.flushes !== flushes) {
      // `ovn-sbctl ip-multicast-flush` counts up what is then forgotten.
      known = new SnoopedDatapath();
      known.flushes = flushes;
      this.datapaths.set(datapath, known);
    }
    return known;
  }

  /** What is known now, of datapaths that are snooped still; the ports of routers as the group `mrouters`. */
  list(settings: ReadonlyMap<string, MulticastSettings>, nowMs: number): readonly SnoopedGroup[] {
    const listed: SnoopedGroup[] = [];
    for (const [datapath, known] of this.datapaths) {
      if (settings.get(datapath)?.flushes !== known.flushes) {
        this.datapaths.delete(datapath);
        continue;
      }
      for (const [address, ports] of [...known.groups, [ROUTERS, known.routers] as const]) {
        for (const [port, until] of ports) if (until <= nowMs) ports.delete(port);
        if (ports.size > 0) listed.push({ datapath, address, ports: [...ports.keys()].toSorted() });
        else known.groups.delete(address);
      }
    }
    return listed;
  }
}

/** The group that was heard of longest ago goes where a table is full. */
function join(
  { groups }: SnoopedDatapath,
  { groupsMax, idleSeconds }: MulticastSettings,
  address: string,
  port: string,
  nowMs: number,
): void {
  const ports = groups.get(address) ?? new Map<string, number>();
  groups.delete(address);
  const [oldest] = groups.keys();
  if (groups.size >= groupsMax && oldest !== undefined) groups.delete(oldest);
  groups.set(address, ports);
  ports.set(port, nowMs + idleSeconds * MS_PER_SECOND);
}
