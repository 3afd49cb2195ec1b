/** DHCP messages for IPv4 (RFC 2131 §2, RFC 2132): the fields and options that a lease needs. */
import { readU16, readU32, readU48, readU8, writeU16, writeU32, writeU48, writeU8 } from "../base/bytes.ts";
import type { Ipv4 } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";

export const DHCP_SERVER_PORT = 67;
export const DHCP_CLIENT_PORT = 68;

const OFFSET = {
  op: 0,
  hardware: 1,
  xid: 4,
  flags: 10,
  ciaddr: 12,
  yiaddr: 16,
  chaddr: 28,
  cookie: 236,
} as const;
const OPTIONS_AT = 240;
const MAGIC_COOKIE = 0x6382_5363;
/** Ethernet, six bytes of address. */
const HARDWARE_ETHERNET = 0x01_06;
const BROADCAST_FLAG = 0x8000;
/** Messages are padded to what BOOTP had (RFC 1542 §2.1). */
const MESSAGE_BYTES_MIN = 300;

const OPTION = {
  pad: 0,
  subnetMask: 1,
  router: 3,
  dnsServers: 6,
  requestedIp: 50,
  leaseSeconds: 51,
  messageType: 53,
  serverId: 54,
  end: 255,
} as const;

export const DhcpType = { discover: 1, offer: 2, request: 3, ack: 5, nak: 6 } as const;
export type DhcpTypeName = keyof typeof DhcpType;

export interface DhcpMessage {
  readonly type: DhcpTypeName;
  readonly transaction: number;
  readonly clientMac: Mac;
  /** The address that the client has, when it asks to keep it (RFC 2131 §4.3.6). */
  readonly clientIp?: Ipv4;
  /** The client's new address; 0.0.0.0 in its own messages. */
  readonly yourIp: Ipv4;
  readonly requestedIp?: Ipv4;
  readonly serverId?: Ipv4;
  readonly leaseSeconds?: number;
  readonly subnetMask?: Ipv4;
  readonly router?: Ipv4;
  readonly dnsServers?: readonly Ipv4[];
}

/** Undefined for what is no DHCP message over Ethernet, is cut short, or has a type that is not here. */
export function parseDhcp(bytes: Uint8Array): DhcpMessage | undefined {
  if (bytes.length < OPTIONS_AT || readU32(bytes, OFFSET.cookie) !== MAGIC_COOKIE) return undefined;
  if (readU16(bytes, OFFSET.hardware) !== HARDWARE_ETHERNET) return undefined;
  const options = parseOptions(bytes);
  const typeBytes = options?.get(OPTION.messageType);
  const type = (Object.keys(DhcpType) as DhcpTypeName[]).find((name) => DhcpType[name] === typeBytes?.[0]);
  if (options === undefined || type === undefined) return undefined;
  const address = (option: number): Ipv4 | undefined => {
    const value = options.get(option);
    return value === undefined || value.length < 4 ? undefined : (readU32(value, 0) as Ipv4);
  };
  const [requestedIp, serverId, leaseSeconds, subnetMask, router] = [
    address(OPTION.requestedIp),
    address(OPTION.serverId),
    address(OPTION.leaseSeconds),
    address(OPTION.subnetMask),
    address(OPTION.router),
  ];
  const servers = options.get(OPTION.dnsServers);
  const clientIp = readU32(bytes, OFFSET.ciaddr) as Ipv4;
  return {
    type,
    transaction: readU32(bytes, OFFSET.xid),
    clientMac: readU48(bytes, OFFSET.chaddr) as Mac,
    yourIp: readU32(bytes, OFFSET.yiaddr) as Ipv4,
    ...(clientIp !== 0 && { clientIp }),
    ...(requestedIp !== undefined && { requestedIp }),
    ...(serverId !== undefined && { serverId }),
    ...(leaseSeconds !== undefined && { leaseSeconds }),
    ...(subnetMask !== undefined && { subnetMask }),
    ...(router !== undefined && { router }),
    ...(servers !== undefined && { dnsServers: addressesOf(servers) }),
  };
}

/** Undefined: an option reaches beyond the message. The first of several with one number counts. */
function parseOptions(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> | undefined {
  const options = new Map<number, Uint8Array>();
  let at = OPTIONS_AT;
  while (at < bytes.length) {
    const option = readU8(bytes, at);
    if (option === OPTION.end) return options;
    if (option === OPTION.pad) {
      at++;
      continue;
    }
    if (at + 2 > bytes.length) return undefined;
    const end = at + 2 + readU8(bytes, at + 1);
    if (end > bytes.length) return undefined;
    if (!options.has(option)) options.set(option, bytes.subarray(at + 2, end));
    at = end;
  }
  return options;
}

function addressesOf(bytes: Uint8Array): readonly Ipv4[] {
  const count = bytes.length >>> 2;
  return Array.from({ length: count }, (_, index) => readU32(bytes, index * 4) as Ipv4);
}

/** The message as UDP payload. Clients without an address ask for answers by broadcast. */
export function buildDhcp(message: DhcpMessage): Uint8Array {
  const options: number[] = [OPTION.messageType, 1, DhcpType[message.type]];
  const add = (option: number, values: readonly (number | undefined)[]): void => {
    const words = values.filter((value) => value !== undefined);
    if (words.length === 0) return;
    options.push(option, words.length * 4);
    for (const word of words) for (const shift of [24, 16, 8, 0]) options.push((word >>> shift) & 0xff);
  };
  add(OPTION.requestedIp, [message.requestedIp]);
  add(OPTION.serverId, [message.serverId]);
  add(OPTION.leaseSeconds, [message.leaseSeconds]);
  add(OPTION.subnetMask, [message.subnetMask]);
  add(OPTION.router, [message.router]);
  add(OPTION.dnsServers, message.dnsServers ?? []);
  options.push(OPTION.end);
  const bytes = new Uint8Array(Math.max(MESSAGE_BYTES_MIN, OPTIONS_AT + options.length));
  const isAsking = message.type === "discover" || message.type === "request";
  writeU8(bytes, OFFSET.op, isAsking ? 1 : 2);
  writeU16(bytes, OFFSET.hardware, HARDWARE_ETHERNET);
  writeU32(bytes, OFFSET.xid, message.transaction);
  writeU16(bytes, OFFSET.flags, message.clientIp === undefined ? BROADCAST_FLAG : 0);
  writeU32(bytes, OFFSET.ciaddr, message.clientIp ?? 0);
  writeU32(bytes, OFFSET.yiaddr, message.yourIp);
  writeU48(bytes, OFFSET.chaddr, message.clientMac);
  writeU32(bytes, OFFSET.cookie, MAGIC_COOKIE);
  bytes.set(options, OPTIONS_AT);
  return bytes;
}
