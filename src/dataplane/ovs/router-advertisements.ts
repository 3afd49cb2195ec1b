/**
 * `put_nd_ra_opts`: a router solicitation becomes the advertisement that answers it, in the packet itself (ovn-sb(5), Logical_Flow,
 * "actions"; RFC 4861 §4.2, RFC 8106, RFC 4191). Addresses stay: the flow's next table turns them round. What the page leaves open
 * (hop limit, lifetimes, flags of a prefix, `rdnss`, `dnssl`, `route_info`) is as in ovn-controller
 * (https://github.com/ovn-org/ovn/blob/main/lib/actions.c, encode_PUT_ND_RA_OPTS).
 */
import { readU8, writeU32, writeU8 } from "#core/base/bytes.ts";
import { type Ipv6, parseInterfaceAddress, parseIp, prefixOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { Icmpv6Type } from "#core/wire/icmpv6/icmpv6.ts";
import { emitNd, ndLength } from "#core/wire/icmpv6/nd.ts";
import type { NdOption } from "#core/wire/icmpv6/nd-options.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { answerIcmpv6 } from "./answer-frames.ts";
import type { Argument } from "./language/actions.ts";
import { optionText, optionsIn, textOfArgument, unknownOptions } from "./language/call-options.ts";
import type { PacketState } from "./packet-state.ts";

const KNOWN: ReadonlySet<string> = new Set([
  "addr_mode",
  "router_preference",
  "slla",
  "prefix",
  "mtu",
  "rdnss",
  "dnssl",
  "route_info",
]);
const FOR_EVER = 0xffff_ffff;
const LIFETIME_SECONDS = 0xffff;
const HOP_LIMIT = 255;
const FLAGS_AT = 5;
/** RFC 4191 §2.2. */
const PREFERENCE: Readonly<Record<string, number>> = { HIGH: 0x08, LOW: 0x18 };
const TYPE = { searchList: 31, routeInformation: 24 } as const;
const ALL_NODES = parseIp("ff02::1");

/** Options of the action that cannot be written. */
export function unknownAdvertisementOptions(given: readonly Argument[]): readonly string[] {
  return unknownOptions(given, KNOWN);
}

/** Labels with their lengths, and the end of the name (RFC 1035 §3.1). */
export function nameBytes(name: string): readonly number[] {
  const labels = name
    .trim()
    .split(".")
    .filter((label) => label !== "");
  return [...labels.flatMap((label) => [label.length, ...new TextEncoder().encode(label)]), 0];
}

/** RFC 8106 §5.2, filled up with zeros to units of 8 bytes. */
function searchList(names: string): NdOption {
  const list = names.split(",").flatMap((name) => nameBytes(name));
  const data = new Uint8Array(Math.ceil((list.length + 8) / 8) * 8 - 2);
  writeU32(data, 2, FOR_EVER);
  data.set(list, 6);
  return { kind: "unknown", type: TYPE.searchList, data };
}

/** `HIGH-2001:db8:1::/48,LOW-2001:db8:2::/96` (RFC 4191 §2.3). */
function routes(text: string): readonly NdOption[] {
  return text.split(",").flatMap((each) => {
    const [preference = "", prefixText = ""] = each.trim().split("-");
    const written = parseInterfaceAddress(prefixText);
    const prefix = written === undefined ? undefined : prefixOf(written.ip, written.length);
    if (prefix === undefined || typeof prefix.address !== "bigint") return [];
    const data = new Uint8Array(6 + Math.ceil(prefix.length / 64) * 8);
    data.set([prefix.length, PREFERENCE[preference] ?? 0]);
    writeU32(data, 2, FOR_EVER);
    for (let at = 6; at < data.length; at++)
      data[at] = Number((prefix.address >> BigInt(8 * (21 - at))) & 0xffn);
    return [{ kind: "unknown", type: TYPE.routeInformation, data } as const];
  });
}

function prefixLength(mask: bigint | undefined): number {
  return mask === undefined ? 128 : mask.toString(2).replaceAll("0", "").length;
}

function prefixOption(value: Argument | undefined, isManaged: boolean): readonly NdOption[] {
  if (value?.kind !== "constant") return [];
  return [
    {
      kind: "prefix-information",
      prefix: prefixOf(value.value as Ipv6, prefixLength(value.mask)),
      isOnLink: true,
      isAutonomous: !isManaged,
      validSeconds: FOR_EVER,
      preferredSeconds: FOR_EVER,
    },
  ];
}

function optionOf(name: string, value: Argument | undefined, isManaged: boolean): readonly NdOption[] {
  if (name === "prefix") return prefixOption(value, isManaged);
  if (name === "dnssl") return [searchList(textOfArgument(value) ?? "")];
  if (name === "route_info") return routes(textOfArgument(value) ?? "");
  if (value?.kind !== "constant") return [];
  if (name === "slla") return [{ kind: "source-link-layer", mac: Number(value.value) as Mac }];
  if (name === "mtu") return [{ kind: "mtu", mtuBytes: Number(value.value) }];
  if (name !== "rdnss") return [];
  return [
    { kind: "recursive-dns-servers", lifetimeSeconds: FOR_EVER, servers: [value.value as Ipv6] } as const,
  ];
}

/** @returns false, and the packet is as it was, where it is no router solicitation */
export function putRouterAdvertisement(state: PacketState, given: readonly Argument[]): boolean {
  const { fields } = state;
  const isAsked =
    fields.headers.protocol === IpProtocol.icmpv6 &&
    fields.headers.transport >= 0 &&
    fields.read("icmp6.type") === BigInt(Icmpv6Type.routerSolicitation) &&
    fields.read("icmp6.code") === 0n;
  if (!isAsked) return false;
  const mode = optionText(given, "addr_mode");
  const isManaged = mode === "dhcpv6_stateful";
  const message = {
    type: "router-advertisement",
    hopLimit: HOP_LIMIT,
    isManaged,
    isOtherConfigured: mode === "dhcpv6_stateless",
    lifetimeSeconds: LIFETIME_SECONDS,
    reachableMs: 0,
    retransmitMs: 0,
    options: optionsIn(given).flatMap(({ name, values }) => optionOf(name, values[0], isManaged)),
  } as const;
  const bytes = new Uint8Array(ndLength(message));
  emitNd(message, bytes, 0);
  const preference = PREFERENCE[optionText(given, "router_preference") ?? ""] ?? 0;
  writeU8(bytes, FLAGS_AT, readU8(bytes, FLAGS_AT) | preference);
  // Who has no address yet is answered by all nodes: the flow takes the destination from there.
  if (fields.read("ip6.src") === 0n) fields.write("ip6.src", BigInt(ALL_NODES ?? 0));
  state.become(answerIcmpv6(state.fields, bytes));
  return true;
}
