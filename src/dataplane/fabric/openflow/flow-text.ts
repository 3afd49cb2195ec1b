/**
 * OpenFlow rules as `ovs-ofctl` takes them (ovs-fields(7), ovs-actions(7)), compiled to data: as much as the bridge of
 * ovn-kubernetes' hybrid overlay is written in (control-planes.md §4.1). What is not known is refused by name.
 */
import { parseIpv4, parsePrefix } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";

/** A line that cannot be carried out. */
export class FlowTextError extends Error {}

/** A field of a packet by OVN's name, or what the bridge keeps beside it. */
export interface FlowField {
  readonly kind: "packet" | "kept";
  readonly name: string;
}

/** A field has `value`, in all but the lowest `ignoredBits`. */
export interface FlowCondition {
  readonly field: FlowField;
  readonly value: number;
  readonly ignoredBits: number;
}

export type FlowAction =
  | { readonly do: "move"; readonly from: FlowField; readonly to: FlowField }
  | { readonly do: "set"; readonly field: FlowField; readonly value: number }
  /** `undefined`: the port that the packet came by. */
  | { readonly do: "output"; readonly port: string | undefined }
  /** `goto_table` ends the rule; `resubmit` goes on with it. */
  | { readonly do: "table"; readonly table: number; readonly isLast: boolean }
  | { readonly do: "drop" };

export interface OpenFlowRule {
  readonly table: number;
  readonly priority: number;
  /** A port's name; undefined: any. */
  readonly inPort: string | undefined;
  readonly conditions: readonly FlowCondition[];
  readonly actions: readonly FlowAction[];
}

const LINE_LENGTH_MAX = 4_096;
const TABLE_MAX = 254;
const PRIORITY_MAX = 65_535;
/** Of a rule that names none (ovs-ofctl(8)). */
const PRIORITY = 32_768;

const packet = (name: string): FlowField => ({ kind: "packet", name });
const kept = (name: string): FlowField => ({ kind: "kept", name });

const FIELDS: Readonly<Record<string, FlowField>> = {
  NXM_OF_ETH_SRC: packet("eth.src"),
  NXM_OF_ETH_DST: packet("eth.dst"),
  eth_src: packet("eth.src"),
  eth_dst: packet("eth.dst"),
  dl_src: packet("eth.src"),
  dl_dst: packet("eth.dst"),
  NXM_OF_ARP_OP: packet("arp.op"),
  NXM_NX_ARP_SHA: packet("arp.sha"),
  NXM_NX_ARP_THA: packet("arp.tha"),
  NXM_OF_ARP_SPA: packet("arp.spa"),
  NXM_OF_ARP_TPA: packet("arp.tpa"),
  arp_op: packet("arp.op"),
  arp_spa: packet("arp.spa"),
  arp_tpa: packet("arp.tpa"),
  nw_src: packet("ip4.src"),
  nw_dst: packet("ip4.dst"),
  NXM_NX_REG0: kept("reg0"),
  NXM_NX_TUN_ID: kept("tun_id"),
  tun_id: kept("tun_id"),
  tun_src: kept("tun_src"),
  tun_dst: kept("tun_dst"),
};
const ETHER_TYPES: Readonly<Record<string, number>> = { arp: 0x0806, ip: 0x0800 };
const SETTERS: Readonly<Record<string, string>> = {
  mod_dl_src: "eth_src",
  mod_dl_dst: "eth_dst",
  mod_nw_src: "nw_src",
  mod_nw_dst: "nw_dst",
};
function fieldOf(text: string): FlowField {
  const bracket = text.indexOf("[");
  const field = FIELDS[bracket < 0 ? text : text.slice(0, bracket)];
  if (field === undefined) throw new FlowTextError(`there is no field ${JSON.stringify(text)}`);
  return field;
}

/** A MAC address, an IPv4 address, or a number of up to 48 bits. */
function valueOf(text: string): number {
  const address = (text.includes(":") ? parseMac(text) : undefined) ?? parseIpv4(text);
  if (address !== undefined) return address;
  if (/^(?:0x[0-9a-fA-F]{1,12}|\d{1,14})$/.test(text)) return Number(text);
  throw new FlowTextError(`${JSON.stringify(text)} is not a value of a field`);
}

function conditionOf(field: FlowField, text: string): FlowCondition {
  const prefix = text.includes("/") ? parsePrefix(text) : undefined;
  if (prefix === undefined || typeof prefix.address !== "number")
    return { field, value: valueOf(text), ignoredBits: 0 };
  return { field, value: prefix.address, ignoredBits: 32 - prefix.length };
}

/** Cuts at commas outside parentheses. */
function splitList(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === "(") depth++;
    else if (letter === ")") depth--;
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(text.slice(from).trim());
  return parts.filter((part) => part !== "");
}

/** `key` and what is behind `separator`. */
function cut(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

function numberIn(text: string, max: number, what: string): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw new FlowTextError(`${JSON.stringify(text)} is not a ${what}`);
}

function actionOf(text: string): FlowAction {
  if (text === "drop") return { do: "drop" };
  if (text === "IN_PORT") return { do: "output", port: undefined };
  if (text.startsWith("resubmit(,") && text.endsWith(")"))
    return { do: "table", table: numberIn(text.slice(10, -1), TABLE_MAX, "table"), isLast: false };
  const [name, rest] = cut(text, ":");
  const [first, second] = cut(rest, "->");
  const setter = SETTERS[name];
  if (setter !== undefined) return { do: "set", field: fieldOf(setter), value: valueOf(rest) };
  switch (name) {
    case "move":
      return { do: "move", from: fieldOf(first), to: fieldOf(second) };
    case "load":
    case "set_field":
      return { do: "set", field: fieldOf(second), value: valueOf(first) };
    case "output":
      return { do: "output", port: rest };
    case "goto_table":
      return { do: "table", table: numberIn(rest, TABLE_MAX, "table"), isLast: true };
    default:
      throw new FlowTextError(`there is no action ${JSON.stringify(name)}`);
  }
}

/** @throws FlowTextError for a line that cannot be carried out, with what of it. */
export function parseFlow(line: string): OpenFlowRule {
  if (line.length > LINE_LENGTH_MAX)
    throw new FlowTextError(`a flow of ${line.length} characters is too long`);
  const [head, actions] = cut(line, "actions=");
  let table = 0;
  let priority = PRIORITY;
  let inPort: string | undefined;
  const conditions: FlowCondition[] = [];
  for (const part of splitList(head)) {
    const [key, value] = cut(part, "=");
    const type = ETHER_TYPES[part];
    if (type !== undefined) conditions.push({ field: packet("eth.type"), value: type, ignoredBits: 0 });
    else if (key === "table") table = numberIn(value, TABLE_MAX, "table");
    else if (key === "priority") priority = numberIn(value, PRIORITY_MAX, "priority");
    else if (key === "in_port") inPort = value;
    else if (key !== "cookie") conditions.push(conditionOf(fieldOf(key), value));
  }
  const list = splitList(actions);
  if (list.length === 0) throw new FlowTextError("a flow without actions");
  return { table, priority, inPort, conditions, actions: list.map(actionOf) };
}
