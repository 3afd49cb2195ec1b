/**
 * `put_dhcpv6_opts`: a DHCPv6 request becomes the answer to it, in the packet itself (ovn-sb(5), Logical_Flow, "actions"; options
 * by name are those of its table DHCPv6_Options, RFC 8415). Addresses and ports stay: the flow's next actions turn them round. What
 * the page leaves open (which messages are answered by what, times without end, names of domains as one label) is as in ovn-controller
 * (https://github.com/ovn-org/ovn/blob/main/controller/pinctrl.c, pinctrl_handle_put_dhcpv6_opts).
 */
import { readU16, readU8, writeU8 } from "#core/base/bytes.ts";
import { answerUdp, udpPayload } from "./answer-frames.ts";
import type { Argument } from "./language/actions.ts";
import { optionsIn, textOfArgument, unknownOptions } from "./language/call-options.ts";
import type { PacketState } from "./packet-state.ts";
import { nameBytes } from "./router-advertisements.ts";

/** RFC 8415 §7.3. */
const MESSAGE = {
  solicit: 1,
  advertise: 2,
  request: 3,
  confirm: 4,
  reply: 7,
  release: 8,
  decline: 9,
  informationRequest: 11,
} as const;
const REPLIES: Readonly<Record<number, number>> = {
  [MESSAGE.solicit]: MESSAGE.advertise,
  [MESSAGE.request]: MESSAGE.reply,
  [MESSAGE.confirm]: MESSAGE.reply,
  [MESSAGE.release]: MESSAGE.reply,
  [MESSAGE.decline]: MESSAGE.reply,
  [MESSAGE.informationRequest]: MESSAGE.reply,
};
/** RFC 8415 §21, RFC 3646, RFC 4704, RFC 5970. */
const OPTION = {
  clientId: 1,
  serverId: 2,
  identityAssociation: 3,
  address: 5,
  status: 13,
  userClass: 15,
  dnsServers: 23,
  domainList: 24,
  fqdn: 39,
  bootFile: 59,
} as const;
const KNOWN: ReadonlySet<string> = new Set([
  "server_id",
  "ia_addr",
  "dns_server",
  "domain_search",
  "bootfile_name",
  "bootfile_name_alt",
  "fqdn",
]);
const HEADER_BYTES = 4;
/** DUID-LL of Ethernet (RFC 8415 §11.4). */
const LINK_LAYER_DUID: readonly number[] = [0, 3, 0, 1];
const WITHOUT_END: readonly number[] = [0xff, 0xff, 0xff, 0xff];
const FQDN = { server: 1, overridden: 2, none: 4 } as const;

/** Options of the action that cannot be written. */
export function unknownDhcpv6Options(given: readonly Argument[]): readonly string[] {
  return unknownOptions(given, KNOWN);
}

interface Request {
  readonly type: number;
  readonly clientId: Uint8Array;
  /** Four bytes; undefined for who asks for no address. */
  readonly association: readonly number[] | undefined;
  readonly isIpxe: boolean;
  readonly fqdnFlags: number | undefined;
}

function bytesOf(value: bigint, length: number): readonly number[] {
  return Array.from({ length }, (_, index) => Number((value >> BigInt(8 * (length - 1 - index))) & 0xffn));
}

function option(code: number, data: readonly number[]): readonly number[] {
  return [code >> 8, code & 0xff, data.length >> 8, data.length & 0xff, ...data];
}

/** The options of a message by code, the last one of each; those behind one that is cut short are left out. */
function optionsOf(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const found = new Map<number, Uint8Array>();
  for (let at = HEADER_BYTES; at + 4 <= bytes.length; ) {
    const end = at + 4 + readU16(bytes, at + 2);
    if (end > bytes.length) break;
    found.set(readU16(bytes, at), bytes.subarray(at + 4, end));
    at = end;
  }
  return found;
}

/** Undefined for what is not answered: without a client, and without an association where an address is asked for. */
function readRequest(bytes: Uint8Array): Request | undefined {
  if (bytes.length < HEADER_BYTES || REPLIES[readU8(bytes, 0)] === undefined) return undefined;
  const type = readU8(bytes, 0);
  const options = optionsOf(bytes);
  const clientId = options.get(OPTION.clientId);
  const identity = options.get(OPTION.identityAssociation);
  const id = identity === undefined || identity.length < 12 ? [] : [...identity.subarray(0, 4)];
  const association = id.some((byte) => byte !== 0) ? id : undefined;
  if (clientId === undefined || (association === undefined && type !== MESSAGE.informationRequest))
    return undefined;
  // RFC 8415 §21.16: a length of two bytes stands before each class.
  const userClass = new TextDecoder().decode(options.get(OPTION.userClass)?.subarray(2, 6));
  return {
    type,
    clientId,
    association,
    isIpxe: userClass === "iPXE",
    fqdnFlags: options.get(OPTION.fqdn)?.[0],
  };
}

function addressOption(association: readonly number[] | undefined, address: bigint): readonly number[] {
  if (association === undefined) return [];
  const inner = option(OPTION.address, [...bytesOf(address, 16), ...WITHOUT_END, ...WITHOUT_END]);
  return option(OPTION.identityAssociation, [...association, ...WITHOUT_END, ...WITHOUT_END, ...inner]);
}

function textOption(name: string, text: string, { isIpxe, fqdnFlags }: Request): readonly number[] {
  const bytes = [...new TextEncoder().encode(text)];
  switch (name) {
    case "domain_search":
      return option(OPTION.domainList, [bytes.length, ...bytes, 0]);
    case "bootfile_name":
      return isIpxe ? option(OPTION.bootFile, bytes) : [];
    case "bootfile_name_alt":
      return isIpxe ? [] : option(OPTION.bootFile, bytes);
    case "fqdn": {
      if (fqdnFlags === undefined) return [];
      const isOverridden = (fqdnFlags & FQDN.server) !== 0;
      return option(OPTION.fqdn, [FQDN.none | (isOverridden ? FQDN.overridden : 0), ...nameBytes(text)]);
    }
    default:
      return [];
  }
}

function optionBytes(name: string, values: readonly Argument[], request: Request): readonly number[] {
  const numbers = values.flatMap((value) => (value.kind === "constant" ? [value.value] : []));
  const [first] = numbers;
  if (name === "server_id" && first !== undefined)
    return option(OPTION.serverId, [...LINK_LAYER_DUID, ...bytesOf(first, 6)]);
  if (name === "ia_addr" && first !== undefined) return addressOption(request.association, first);
  if (name === "dns_server")
    return option(
      OPTION.dnsServers,
      numbers.flatMap((number) => bytesOf(number, 16)),
    );
  return textOption(name, textOfArgument(values[0]) ?? "", request);
}

/** Of who gives an address back: who answers, and that it worked. */
function statusBytes(given: readonly Argument[], request: Request): readonly number[] {
  const server = optionsIn(given).filter(({ name }) => name === "server_id");
  return [
    ...server.flatMap(({ name, values }) => optionBytes(name, values, request)),
    ...option(OPTION.status, [0, 0]),
  ];
}

/** @returns false, and the packet is as it was, where it is no request that is answered */
export function putDhcpv6Options(state: PacketState, given: readonly Argument[]): boolean {
  const asked = state.fields.family === 6 ? udpPayload(state.fields) : undefined;
  const request = asked === undefined ? undefined : readRequest(asked);
  if (asked === undefined || request === undefined) return false;
  const options =
    request.type === MESSAGE.release
      ? statusBytes(given, request)
      : optionsIn(given).flatMap(({ name, values }) => optionBytes(name, values, request));
  const answer = Uint8Array.from([
    ...asked.subarray(0, HEADER_BYTES),
    ...option(OPTION.clientId, [...request.clientId]),
    ...options,
  ]);
  writeU8(answer, 0, REPLIES[request.type] ?? MESSAGE.reply);
  state.become(answerUdp(state.fields, answer));
  return true;
}
