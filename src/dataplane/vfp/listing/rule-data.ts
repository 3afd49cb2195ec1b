/**
 * Actions of rules ⇄ their type, the bits of `Flags` that belong to it, and the lines between `Flow TTL` and `FlagsEx`.
 *
 * Seen on nodes (dataplane.md §7.4; kubernetes/kubernetes#79359, flannel-io/flannel#1394): the lines of paroute; `MSS
 * delta: 50,0`; `Type : Source NAT;         NAT pool : …` of dynnat; `Rule Data:`, `Encap Type: VXLAN` and a line on the
 * inner MAC of routeencap; `Preserve MAC` and `Push TNI as VSID` of decap; `DIP Range` with `{ ip : port }` of lbnat; a
 * block `Modify:`; `Encap Destination(s):` with `{ name=value, … }`. Inferred: the names of fields inside these, and the
 * lines of qos, mark, mapencap and caredirect.
 */
import { formatIp, parseIp } from "#core/net/ip.ts";
import { formatMac, parseMac } from "#core/net/mac.ts";
import type { Action, LbnatBackEnd, EncapDestination, Rule } from "../rule.ts";
import type { TunnelKind } from "#core/wire/tunnels/tunnel.ts";
import { parseNumber } from "./conditions.ts";
import { type ListedRule, TypeFlag } from "./listing.ts";
import { dataPlane } from "#data/words.js";

const WORDS = dataPlane();

const INDENT = "    ";
const MODIFY = "Modify:";
const RULE_DATA = "Rule Data:";
const DIP_RANGE = "DIP Range";
const DESTINATIONS = "Encap Destination(s):";
const FIX_INNER_MAC = "Fixing inner MAC";
const DECREMENT_TTL = "Decrementing TTL";
const PRESERVE_MAC = "Preserve MAC";
const PUSH_TNI = "Push TNI as VSID";
const MAC_LOOKUP = "MAC lookup";

function block(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => INDENT + line)];
}

/** A line where there is a value. */
function field<T extends string | number | bigint>(
  label: string,
  value: T | undefined,
  format: (value: T) => string = String,
): readonly string[] {
  return value === undefined ? [] : [`${label} : ${format(value)}`];
}

/** A line that stands there or does not. */
function word(text: string, isSaid: boolean | undefined): readonly string[] {
  return isSaid === true ? [text] : [];
}

const ENCAP_NAMES: Readonly<Record<TunnelKind, string>> = { vxlan: "VXLAN", nvgre: "NVGRE" };

function describeDestination(destination: EncapDestination, key: number): string {
  const { providerAddress, innerMac, providerMac } = destination;
  const parts = [
    `IP address=${formatIp(providerAddress)}`,
    ...(innerMac === undefined ? [] : [`MAC address=${formatMac(innerMac)}`]),
    ...(providerMac === undefined ? [] : [`PA MAC address=${formatMac(providerMac)}`]),
    `GRE key=${key}`,
  ];
  return `{ ${parts.join(", ")} }`;
}

function keepsMac({ innerSourceMac, innerDestinationMac }: Extract<Action, { type: "decap" }>): boolean {
  return innerSourceMac === undefined && innerDestinationMac === undefined;
}

/** The bits of `Flags` that belong to the action's type. */
function flagsOf(action: Action): number {
  if (action.type === "nat") {
    const side = action.side === "source" ? TypeFlag.natSource : TypeFlag.natDestination;
    return side | (action.port === undefined ? TypeFlag.natIpOnly : 0);
  }
  if (action.type === "lbnat") {
    const rewrites = TypeFlag.lbModifyIp | TypeFlag.lbModifyPort;
    return TypeFlag.lbCreateFlow | (action.rewrites === "mac" ? TypeFlag.lbMacFixUp : rewrites);
  }
  if (action.type !== "decap") return 0;
  const pushes = action.pushesTni === true ? TypeFlag.decapPushVsid : 0;
  return pushes | (keepsMac(action) ? TypeFlag.decapPreserveMac : 0);
}

function tunnelData(action: Extract<Action, { type: "routeencap" | "mapencap" }>): readonly string[] {
  const lines = [RULE_DATA, `Encap Type: ${ENCAP_NAMES[action.encapsulation]}`];
  if (action.type === "mapencap")
    return [
      ...lines,
      ...field("Map space", action.space),
      ...field("GRE key", action.tni),
      ...word(MAC_LOOKUP, action.byMac),
      ...word(FIX_INNER_MAC, action.rewritesMac),
      ...word(DECREMENT_TTL, action.decrementTtl),
    ];
  const { destinations, tni, innerSourceMac, decrementTtl } = action;
  const fixesMac = destinations.some(({ innerMac }) => innerMac !== undefined);
  return [
    ...lines,
    ...word(FIX_INNER_MAC, fixesMac),
    ...field("Inner source MAC", innerSourceMac, formatMac),
    ...word(DECREMENT_TTL, decrementTtl),
    ...block(
      DESTINATIONS,
      destinations.map((each) => describeDestination(each, tni)),
    ),
  ];
}

/** The lines of an action. Limits of paroute's cache are those that were seen; ours has one of its own. */
function dataOf(action: Action): readonly string[] {
  switch (action.type) {
    case "allow":
    case "block":
      return [];
    case "nat": {
      const side = action.side === "source" ? "Source" : "Destination";
      return block(MODIFY, [`${side} IP : ${formatIp(action.ip)}`, ...field(`${side} port`, action.port)]);
    }
    case "dynnat":
      return [`Type : Source NAT;         NAT pool : ${action.pool}`];
    case "lbnat":
      return block(
        DIP_RANGE,
        action.backEnds.map(({ ip, port }) => `{ ${formatIp(ip)} : ${port} }`),
      );
    case "transpose":
      return block(MODIFY, [
        ...field("Source MAC", action.sourceMac, formatMac),
        ...field("Destination MAC", action.destinationMac, formatMac),
        ...field("Source IP", action.source, formatIp),
        ...field("Destination IP", action.destination, formatIp),
        ...field("DSCP", action.dscp),
        ...field("TNI", action.tni),
        ...word(DECREMENT_TTL, action.decrementTtl),
      ]);
    case "routeencap":
    case "mapencap":
      return tunnelData(action);
    case "decap":
      return [
        ...word(PRESERVE_MAC, keepsMac(action)),
        ...word(PUSH_TNI, action.pushesTni),
        ...field("Inner source MAC", action.innerSourceMac, formatMac),
        ...field("Inner destination MAC", action.innerDestinationMac, formatMac),
      ];
    case "mark":
      return block(MODIFY, [`DSCP : ${action.dscp}`]);
    case "qos":
      return [
        `Transmit limit : ${action.bytesPerSecond} bytes per second`,
        `Burst size : ${action.burstBytes} bytes`,
        `Queue depth : ${action.queueBytes} bytes`,
      ];
    case "redirect":
      return block(MODIFY, [
        `Destination IP : ${formatIp(action.ip)}`,
        ...field("Destination port", action.port),
        ...field("Destination MAC", action.mac, formatMac),
      ]);
    case "paroute":
      return [
        RULE_DATA,
        "VLAN ID: 0",
        "Using default compartment",
        "Cache pruning threshold: 10",
        "Cache pruning timeout: 30 seconds",
      ];
  }
}

/** What a rule prints of its action. */
export function describeAction(action: Action): Pick<ListedRule, "type" | "flags" | "data"> {
  const type = action.type === "redirect" ? "caredirect" : action.type;
  return { type, flags: flagsOf(action), data: dataOf(action) };
}

/** The line on MSS; none where nothing is taken off. */
export function describeMssDelta({ mssDelta = 0, reverseMssDelta = 0 }: Rule): readonly string[] {
  return mssDelta === 0 && reverseMssDelta === 0 ? [] : [`MSS delta: ${mssDelta},${reverseMssDelta}`];
}

/** The lines of a rule's data as fields. */
class DataFields {
  private readonly fields = new Map<string, string>();
  private readonly words = new Set<string>();
  /** What stands in braces, in order. */
  readonly braces: readonly string[];

  constructor(data: readonly string[]) {
    const lines = data.map((line) => line.trim());
    this.braces = lines.flatMap((line) => /^\{(.*)\}$/.exec(line)?.[1]?.trim() ?? []);
    for (const line of lines) {
      if (line.startsWith("{")) continue;
      for (const part of line.split(";")) this.add(part.trim());
    }
  }

  private add(part: string): void {
    const colon = part.indexOf(":");
    if (colon < 0) this.words.add(part.toLowerCase());
    else this.fields.set(part.slice(0, colon).trim().toLowerCase(), part.slice(colon + 1).trim());
  }

  /** Undefined when there is none, or it is empty. */
  text(label: string): string | undefined {
    const value = this.fields.get(label.toLowerCase());
    return value === "" ? undefined : value;
  }

  ip(label: string): ReturnType<typeof parseIp> {
    return parseIp(this.text(label) ?? "");
  }

  mac(label: string): ReturnType<typeof parseMac> {
    return parseMac(this.text(label) ?? "");
  }

  /** The number that the value begins with. */
  number(label: string): number | undefined {
    return parseNumber(/^\d+/.exec(this.text(label) ?? "")?.[0] ?? "");
  }

  /** True, or nothing. */
  flag(label: string): true | undefined {
    return this.words.has(label.toLowerCase()) || undefined;
  }
}

/** An action, or why the text gives none. */
export type ReadAction =
  | { readonly action: Action; readonly lost?: string }
  | { readonly action: undefined; readonly lost: string };

/** The fields that the text gives; what an action needs has been asked for before. */
function made(fields: Readonly<Record<string, unknown>>): { readonly action: Action } {
  return { action: present(fields) as unknown as Action };
}

function present<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

function without(lost: string): ReadAction {
  return { action: undefined, lost };
}

function readNat(rule: ListedRule, data: DataFields): ReadAction {
  const isSource = (rule.flags & TypeFlag.natSource) !== 0 || data.ip("Source IP") !== undefined;
  const side = isSource ? "source" : "destination";
  const ip = data.ip(`${side} IP`);
  if (ip === undefined) return without("the address that it writes");
  const port = data.number(`${side} port`);
  return made({ type: "nat", side, ip, port });
}

function readLbnat(rule: ListedRule, data: DataFields): ReadAction {
  const backEnds: LbnatBackEnd[] = [];
  for (const text of data.braces) {
    const colon = text.lastIndexOf(":");
    const ip = parseIp(text.slice(0, colon).trim());
    const port = parseNumber(text.slice(colon + 1).trim(), 0xffff);
    if (ip === undefined || port === undefined) return without(`the back end ${JSON.stringify(text)}`);
    backEnds.push({ ip, port });
  }
  if (backEnds.length === 0) return without("its back ends");
  const isMacOnly = (rule.flags & (TypeFlag.lbMacFixUp | TypeFlag.lbModifyIp)) === TypeFlag.lbMacFixUp;
  const rewrites = isMacOnly ? "mac" : "address-and-port";
  return {
    action: { type: "lbnat", backEnds, distribution: "5-tuple", rewrites },
    lost: WORDS.lbnatLost,
  };
}

function readTunnelKind(data: DataFields): TunnelKind | undefined {
  const name = data.text("Encap Type")?.toUpperCase();
  if (name === "VXLAN") return "vxlan";
  return name === "NVGRE" ? "nvgre" : undefined;
}

function readDestination(
  text: string,
): { readonly destination: EncapDestination; readonly key: number } | undefined {
  const fields = new Map(
    text.split(",").map((part) => {
      const [name = "", value = ""] = part.split("=");
      return [name.trim().toLowerCase(), value.trim()] as const;
    }),
  );
  const providerAddress = parseIp(fields.get("ip address") ?? "");
  const innerMac = parseMac(fields.get("mac address") ?? "");
  const providerMac = parseMac(fields.get("pa mac address") ?? "");
  const key = parseNumber(fields.get("gre key") ?? "");
  if (providerAddress === undefined || key === undefined) return undefined;
  return { destination: present({ providerAddress, innerMac, providerMac }), key };
}

function readRouteencap(data: DataFields): ReadAction {
  const encapsulation = readTunnelKind(data);
  if (encapsulation === undefined) return without("its kind of tunnel");
  const read = data.braces.map(readDestination);
  const [first] = read;
  if (first === undefined || read.includes(undefined)) return without("where its tunnels lead");
  const destinations = read.flatMap((each) => (each === undefined ? [] : [each.destination]));
  return made({
    type: "routeencap",
    encapsulation,
    tni: first.key,
    destinations,
    innerSourceMac: data.mac("Inner source MAC"),
    decrementTtl: data.flag(DECREMENT_TTL),
  });
}

function readMapencap(data: DataFields): ReadAction {
  const encapsulation = readTunnelKind(data);
  const space = data.text("Map space");
  if (encapsulation === undefined) return without("its kind of tunnel");
  if (space === undefined) return without("its space");
  return made({
    type: "mapencap",
    encapsulation,
    space,
    tni: data.number("GRE key") ?? 0,
    byMac: data.flag(MAC_LOOKUP),
    rewritesMac: data.flag(FIX_INNER_MAC),
    decrementTtl: data.flag(DECREMENT_TTL),
  });
}

function readTranspose(data: DataFields): ReadAction {
  const read = made({
    type: "transpose",
    sourceMac: data.mac("Source MAC"),
    destinationMac: data.mac("Destination MAC"),
    source: data.ip("Source IP"),
    destination: data.ip("Destination IP"),
    dscp: data.number("DSCP"),
    tni: data.number("TNI"),
    decrementTtl: data.flag(DECREMENT_TTL),
  });
  return Object.keys(read.action).length === 1 ? without("what it rewrites") : read;
}

function readDecap(rule: ListedRule, data: DataFields): ReadAction {
  return made({
    type: "decap",
    pushesTni: (rule.flags & TypeFlag.decapPushVsid) !== 0 || data.flag(PUSH_TNI),
    innerSourceMac: data.mac("Inner source MAC"),
    innerDestinationMac: data.mac("Inner destination MAC"),
  });
}

function readQos(data: DataFields): ReadAction {
  const bytesPerSecond = data.number("Transmit limit");
  if (bytesPerSecond === undefined || bytesPerSecond === 0) return without("its rate");
  const burstBytes = data.number("Burst size") ?? 0;
  const queueBytes = data.number("Queue depth") ?? 0;
  return { action: { type: "qos", bytesPerSecond, burstBytes, queueBytes } };
}

/** What a rule of a listing does, in the engine's terms. */
export function readAction(rule: ListedRule): ReadAction {
  const data = new DataFields(rule.data);
  switch (rule.type) {
    case "allow":
      return { action: { type: "allow" } };
    case "block":
      return { action: { type: "block", code: "acl-rule-blocked" } };
    case "nat":
      return readNat(rule, data);
    case "dynnat": {
      const pool = data.text("NAT pool") ?? data.text("Source NAT pool");
      return pool === undefined ? without("its NAT pool") : { action: { type: "dynnat", pool } };
    }
    case "lbnat":
      return readLbnat(rule, data);
    case "transpose":
      return readTranspose(data);
    case "routeencap":
      return readRouteencap(data);
    case "mapencap":
      return readMapencap(data);
    case "decap":
      return readDecap(rule, data);
    case "mark": {
      const dscp = data.number("DSCP");
      return dscp === undefined ? without("its DSCP") : { action: { type: "mark", dscp } };
    }
    case "qos":
      return readQos(data);
    case "caredirect": {
      const ip = data.ip("Destination IP");
      if (ip === undefined) return without("where it sends packets");
      const port = data.number("Destination port");
      return made({ type: "redirect", ip, port, mac: data.mac("Destination MAC") });
    }
    case "paroute":
      return { action: { type: "paroute" } };
    default:
      return without(`what type ${JSON.stringify(rule.type)} does`);
  }
}

/** What is taken off the MSS; nothing where no line says so. */
export function readMssDelta(rule: ListedRule): Pick<Rule, "mssDelta" | "reverseMssDelta"> {
  const text = new DataFields(rule.data).text("MSS delta");
  const [mssDelta = 0, reverseMssDelta = 0] = (text ?? "")
    .split(",")
    .map((part) => parseNumber(part.trim()) ?? 0);
  return { ...(mssDelta > 0 && { mssDelta }), ...(reverseMssDelta > 0 && { reverseMssDelta }) };
}
