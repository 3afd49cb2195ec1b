/**
 * `put_dhcp_opts`: a DHCP request becomes the answer to it, in the packet itself (ovn-sb(5), Logical_Flow, "actions"; options by name
 * are those of its table DHCP_Options, RFC 2132). Ports and the source stay as they are: the flow's next actions turn them round. What
 * the page leaves open (who gets which answer, INFORM, next server, padding, the destination) is as in ovn-controller
 * (https://github.com/ovn-org/ovn/blob/main/controller/pinctrl.c, pinctrl_handle_put_dhcp_opts).
 */
import { readU16, readU32, readU48, readU8, writeU32, writeU8 } from "#core/base/bytes.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { DHCP_CLIENT_PORT, DHCP_SERVER_PORT } from "#core/wire/dhcp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { UDP_HEADER_BYTES } from "#core/wire/udp.ts";
import type { Argument } from "./language/actions.ts";
import type { PacketState } from "./packet-state.ts";

/** RFC 2131 §2. */
const OFFSET = { op: 0, flags: 10, ciaddr: 12, yiaddr: 16, siaddr: 20, cookie: 236, options: 240 } as const;
const MAGIC_COOKIE = 0x6382_5363;
const BOOT_REPLY = 2;
/** ovn-controller writes so many zeros before the end of the options, and after it. */
const PADDING: readonly number[] = [0, 0, 0, 0];
const BROADCAST_FLAG = 0x8000;
const BROADCAST = 0xffff_ffff;
const DONT_FRAGMENT = 0x4000;
/** Who asks by INFORM has an address: netmask, lease_time, T1 and T2 are not for it. */
const OF_LEASES: ReadonlySet<number> = new Set([1, 51, 58, 59]);
const REQUESTED_IP = 50;
const MESSAGE_TYPE = 53;
const PAD = 0;
const END = 255;
const TYPE = { discover: 1, offer: 2, request: 3, ack: 5, nak: 6, inform: 8 } as const;

type Kind = "ipv4" | "text" | "u8" | "u16" | "u32" | "routes" | "domains";
/** By the name that northd writes: number and kind of its value. */
const OPTIONS: Readonly<Record<string, readonly [code: number, kind: Kind]>> = {
  netmask: [1, "ipv4"],
  router: [3, "ipv4"],
  dns_server: [6, "ipv4"],
  log_server: [7, "ipv4"],
  lpr_server: [9, "ipv4"],
  hostname: [12, "text"],
  domain_name: [15, "text"],
  swap_server: [16, "ipv4"],
  ip_forward_enable: [19, "u8"],
  policy_filter: [21, "ipv4"],
  default_ttl: [23, "u8"],
  mtu: [26, "u16"],
  broadcast_address: [28, "ipv4"],
  router_discovery: [31, "u8"],
  router_solicitation: [32, "ipv4"],
  arp_cache_timeout: [35, "u32"],
  ethernet_encap: [36, "u8"],
  tcp_ttl: [37, "u8"],
  tcp_keepalive_interval: [38, "u32"],
  nis_server: [41, "ipv4"],
  ntp_server: [42, "ipv4"],
  netbios_name_server: [44, "ipv4"],
  netbios_node_type: [46, "u8"],
  lease_time: [51, "u32"],
  server_id: [54, "ipv4"],
  T1: [58, "u32"],
  T2: [59, "u32"],
  tftp_server: [66, "text"],
  bootfile_name: [67, "text"],
  domain_search_list: [119, "domains"],
  classless_static_route: [121, "routes"],
  tftp_server_address: [150, "ipv4"],
  path_prefix: [210, "text"],
  ms_classless_static_route: [249, "routes"],
  wpad: [252, "text"],
};
const BYTES: Readonly<Record<Exclude<Kind, "text" | "routes" | "domains">, number>> = {
  ipv4: 4,
  u8: 1,
  u16: 2,
  u32: 4,
};
const OPTION_BYTES_MAX = 255;
const HOST_MASK = 0xffff_ffffn;
/** The first byte of a pointer to a name. */
const POINTER = 0xc0;
const OFFER_IP = "offerip";
const NEXT_SERVER = "next_server";

/** Options of the action that have no number here; empty where all can be written. */
export function unknownDhcpOptions(given: readonly Argument[]): readonly string[] {
  return given.flatMap((each) =>
    each.kind === "option" && each.name !== OFFER_IP && each.name !== NEXT_SERVER && !(each.name in OPTIONS)
      ? [each.name]
      : [],
  );
}

function numberOf(value: Argument | undefined): number {
  return value?.kind === "constant" ? Number(value.value) : 0;
}

function bytesOf(number: number, length: number): readonly number[] {
  return Array.from({ length }, (_, index) => Math.floor(number / 256 ** (length - 1 - index)) % 256);
}

/** Pairs of a destination and its router: the length of the prefix, the bytes of it that count, the router (RFC 3442). */
function routeBytes(values: readonly Argument[]): readonly number[] {
  const bytes: number[] = [];
  for (let at = 0; at + 1 < values.length; at += 2) {
    const [to, via] = [values[at], values[at + 1]];
    const mask = to?.kind === "constant" ? (to.mask ?? HOST_MASK) : HOST_MASK;
    const length = mask.toString(2).replaceAll("0", "").length;
    bytes.push(
      length,
      ...bytesOf(numberOf(to), 4).slice(0, Math.ceil(length / 8)),
      ...bytesOf(numberOf(via), 4),
    );
  }
  return bytes;
}

/** Names in labels; one that ends as one before it points there (RFC 3397, RFC 1035 §4.1.4). */
function domainBytes(names: readonly string[]): readonly number[] {
  const bytes: number[] = [];
  const known = new Map<string, number>();
  for (const name of names) {
    let rest = name;
    while (rest !== "" && !known.has(rest)) {
      const [label = ""] = rest.split(".", 1);
      known.set(rest, bytes.length);
      bytes.push(label.length, ...new TextEncoder().encode(label));
      rest = rest.slice(label.length + 1);
    }
    const at = known.get(rest);
    if (rest === "" || at === undefined) bytes.push(0);
    else bytes.push(POINTER | (at >> 8), at & 0xff);
  }
  return bytes;
}

function domainsIn(values: readonly Argument[]): readonly string[] {
  return values
    .flatMap((value) => (value.kind === "text" ? value.text.replaceAll('"', "").split(",") : []))
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function valueBytes(kind: Kind, values: readonly Argument[]): readonly number[] {
  if (kind === "text")
    return values.flatMap((value) =>
      value.kind === "text" ? [...new TextEncoder().encode(value.text.replaceAll('"', ""))] : [],
    );
  if (kind === "routes") return routeBytes(values);
  if (kind === "domains") return domainBytes(domainsIn(values));
  return values.flatMap((value) => bytesOf(numberOf(value), BYTES[kind]));
}

/** The options in the order of the action. */
function optionBytes(given: readonly Argument[], type: number): readonly number[] {
  return given.flatMap((each) => {
    const known = each.kind === "option" ? OPTIONS[each.name] : undefined;
    if (each.kind !== "option" || known === undefined) return [];
    if (type === TYPE.inform && OF_LEASES.has(known[0])) return [];
    const bytes = valueBytes(known[1], each.values).slice(0, OPTION_BYTES_MAX);
    return [known[0], bytes.length, ...bytes];
  });
}

function argumentIp(given: readonly Argument[], name: string): number | undefined {
  const found = given.find((each) => each.kind === "option" && each.name === name);
  return found?.kind === "option" ? numberOf(found.values[0]) : undefined;
}

/** What a client asks for; undefined for what is no request that is answered. */
function readRequest(bytes: Uint8Array): { readonly type: number; readonly wanted: number } | undefined {
  if (bytes.length < OFFSET.options || readU8(bytes, OFFSET.op) !== 1) return undefined;
  if (readU32(bytes, OFFSET.cookie) !== MAGIC_COOKIE) return undefined;
  let type = 0;
  let wanted = readU32(bytes, OFFSET.ciaddr);
  for (let at: number = OFFSET.options; at < bytes.length && readU8(bytes, at) !== END; ) {
    const code = readU8(bytes, at);
    if (code === PAD) {
      at += 1;
      continue;
    }
    const length = at + 1 < bytes.length ? readU8(bytes, at + 1) : 0;
    if (at + 2 + length > bytes.length) break;
    if (code === MESSAGE_TYPE && length === 1) type = readU8(bytes, at + 2);
    if (code === REQUESTED_IP && length === 4) wanted = readU32(bytes, at + 2);
    at += 2 + length;
  }
  return { type, wanted };
}

function answerType(type: number, wanted: number, offer: number): number | undefined {
  if (type === TYPE.discover) return TYPE.offer;
  if (type === TYPE.inform) return TYPE.ack;
  if (type !== TYPE.request) return undefined;
  return wanted === offer ? TYPE.ack : TYPE.nak;
}

/** @returns false, and the packet is as it was, where it is no request that is answered. */
export function putDhcpOptions(state: PacketState, given: readonly Argument[]): boolean {
  const { fields } = state;
  const { headers, packet } = fields;
  const offer = argumentIp(given, OFFER_IP);
  const isRequest =
    headers.family === 4 &&
    headers.protocol === IpProtocol.udp &&
    headers.transport >= 0 &&
    fields.read("udp.src") === BigInt(DHCP_CLIENT_PORT) &&
    fields.read("udp.dst") === BigInt(DHCP_SERVER_PORT);
  if (!isRequest || offer === undefined) return false;
  const asked = packet.bytes.subarray(headers.transport + UDP_HEADER_BYTES, packet.end);
  const request = readRequest(asked);
  const type = request === undefined ? undefined : answerType(request.type, request.wanted, offer);
  if (request === undefined || type === undefined) return false;
  const options = type === TYPE.nak ? [] : optionBytes(given, request.type);
  const body = [MESSAGE_TYPE, 1, type, ...options, ...PADDING, END, ...PADDING];
  const payload = new Uint8Array(OFFSET.options + body.length);
  payload.set(asked.subarray(0, OFFSET.options));
  payload.set(body, OFFSET.options);
  writeU8(payload, OFFSET.op, BOOT_REPLY);
  const isLease = type !== TYPE.nak && request.type !== TYPE.inform;
  writeU32(payload, OFFSET.yiaddr, isLease ? offer : 0);
  const nextServer = argumentIp(given, NEXT_SERVER) ?? readU32(payload, OFFSET.siaddr);
  if (request.type !== TYPE.inform) writeU32(payload, OFFSET.siaddr, type === TYPE.nak ? 0 : nextServer);
  const isBroadcast = (readU16(payload, OFFSET.flags) & BROADCAST_FLAG) !== 0;
  state.become(
    buildUdpFrame({
      link: {
        sourceMac: readU48(packet.bytes, packet.start + 6) as Mac,
        destinationMac: readU48(packet.bytes, packet.start) as Mac,
      },
      ip: {
        source: Number(fields.read("ip4.src")) as Ipv4,
        destination: (isBroadcast ? BROADCAST : offer) as Ipv4,
        ttl: Number(fields.read("ip.ttl")),
        identification: readU16(packet.bytes, headers.network + 4),
        isDontFragment: (readU16(packet.bytes, headers.network + 6) & DONT_FRAGMENT) !== 0,
      },
      udp: { sourcePort: DHCP_CLIENT_PORT, destinationPort: DHCP_SERVER_PORT },
      payload,
      checksum: "none",
    }),
  );
  return true;
}
