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

/** What a type prints of itself. */
interface Told {
  readonly type: string;
  readonly flags: number;
  readonly data: readonly string[];
}

function block(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => INDENT + line)];
}

function field(label: string, value: string | number | undefined): readonly string[] {
  return value === undefined ? [] : [`${label} : ${value}`];
}

function optional<T>(value: T | undefined, format: (value: T) => string): string | undefined {
  return value === undefined ? undefined : format(value);
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

function describeLbnat(action: Extract<Action, { type: "lbnat" }>): Told {
  const rewrite =
    action.rewrites === "mac" ? TypeFlag.lbMacFixUp : TypeFlag.lbModifyIp | TypeFlag.lbModifyPort;
  return {
    type: "lbnat",
    flags: rewrite | TypeFlag.lbCreateFlow,
    data: block(
      DIP_RANGE,
      action.backEnds.map(({ ip, port }) => `{ ${formatIp(ip)} : ${port} }`),
    ),
  };
}

function describeRouteencap(action: Extract<Action, { type: "routeencap" }>): Told {
  const { encapsulation, destinations, tni, innerSourceMac, decrementTtl } = action;
  const fixesMac = destinations.some(({ innerMac }) => innerMac !== undefined);
  return {
    type: "routeencap",
    flags: 0,
    data: [
      RULE_DATA,
      `Encap Type: ${ENCAP_NAMES[encapsulation]}`,
      ...(fixesMac ? [FIX_INNER_MAC] : []),
      ...field("Inner source MAC", optional(innerSourceMac, formatMac)),
      ...(decrementTtl === true ? [DECREMENT_TTL] : []),
      ...block(
        DESTINATIONS,
        destinations.map((each) => describeDestination(each, tni)),
      ),
    ],
  };
}

function describeMapencap(action: Extract<Action, { type: "mapencap" }>): Told {
  const { encapsulation, space, tni, byMac, rewritesMac, decrementTtl } = action;
  return {
    type: "mapencap",
    flags: 0,
    data: [
      RULE_DATA,
      `Encap Type: ${ENCAP_NAMES[encapsulation]}`,
      ...field("Map space", space),
      ...field("GRE key", tni),
      ...(byMac === true ? ["MAC lookup"] : []),
      ...(rewritesMac === true ? [FIX_INNER_MAC] : []),
      ...(decrementTtl === true ? [DECREMENT_TTL] : []),
    ],
  };
}

function describeDecap(action: Extract<Action, { type: "decap" }>): Told {
  const { pushesTni, innerSourceMac, innerDestinationMac } = action;
  const keepsMac = innerSourceMac === undefined && innerDestinationMac === undefined;
  return {
    type: "decap",
    flags: (keepsMac ? TypeFlag.decapPreserveMac : 0) | (pushesTni === true ? TypeFlag.decapPushVsid : 0),
    data: [
      ...(keepsMac ? [PRESERVE_MAC] : []),
      ...(pushesTni === true ? [PUSH_TNI] : []),
      ...field("Inner source MAC", optional(innerSourceMac, formatMac)),
      ...field("Inner destination MAC", optional(innerDestinationMac, formatMac)),
    ],
  };
}

function describeTranspose(action: Extract<Action, { type: "transpose" }>): Told {
  const lines = [
    ...field("Source MAC", optional(action.sourceMac, formatMac)),
    ...field("Destination MAC", optional(action.destinationMac, formatMac)),
    ...field("Source IP", optional(action.source, formatIp)),
    ...field("Destination IP", optional(action.destination, formatIp)),
    ...field("DSCP", action.dscp),
    ...field("TNI", action.tni),
    ...(action.decrementTtl === true ? [DECREMENT_TTL] : []),
  ];
  return { type: "transpose", flags: 0, data: block(MODIFY, lines) };
}

/** Type, flags and lines of an action. Limits of paroute's cache are those that were seen; ours has one of its own. */
export function describeAction(action: Action): Told {
  switch (action.type) {
    case "allow":
    case "block":
      return { type: action.type, flags: 0, data: [] };
    case "nat": {
      const side = action.side === "source" ? "Source" : "Destination";
      const lines = [`${side} IP : ${formatIp(action.ip)}`, ...field(`${side} port`, action.port)];
      const sideFlag = action.side === "source" ? TypeFlag.natSource : TypeFlag.natDestination;
      const ipOnly = action.port === undefined ? TypeFlag.natIpOnly : 0;
      return { type: "nat", flags: sideFlag | ipOnly, data: block(MODIFY, lines) };
    }
    case "dynnat":
      return { type: "dynnat", flags: 0, data: [`Type : Source NAT;         NAT pool : ${action.pool}`] };
    case "lbnat":
      return describeLbnat(action);
    case "transpose":
      return describeTranspose(action);
    case "routeencap":
      return describeRouteencap(action);
    case "mapencap":
      return describeMapencap(action);
    case "decap":
      return describeDecap(action);
    case "mark":
      return { type: "mark", flags: 0, data: block(MODIFY, [`DSCP : ${action.dscp}`]) };
    case "qos":
      return {
        type: "qos",
        flags: 0,
        data: [
          `Transmit limit : ${action.bytesPerSecond} bytes per second`,
          `Burst size : ${action.burstBytes} bytes`,
          `Queue depth : ${action.queueBytes} bytes`,
        ],
      };
    case "redirect": {
      const lines = [
        `Destination IP : ${formatIp(action.ip)}`,
        ...field("Destination port", action.port),
        ...field("Destination MAC", optional(action.mac, formatMac)),
      ];
      return { type: "caredirect", flags: 0, data: block(MODIFY, lines) };
    }
    case "paroute":
      return {
        type: "paroute",
        flags: 0,
        data: [
          RULE_DATA,
          "VLAN ID: 0",
          "Using default compartment",
          "Cache pruning threshold: 10",
          "Cache pruning timeout: 30 seconds",
        ],
      };
  }
}

/** The line on MSS; none where nothing is taken off. */
export function describeMssDelta({ mssDelta = 0, reverseMssDelta = 0 }: Rule): readonly string[] {
  return mssDelta === 0 && reverseMssDelta === 0 ? [] : [`MSS delta: ${mssDelta},${reverseMssDelta}`];
}

/** The lines of a rule's data as fields. */
class DataFields {
  private readonly fields = new Map<string, string>();
  readonly words = new Set<string>();
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

  has(word: string): boolean {
    return this.words.has(word.toLowerCase());
  }
}

/** An action, or why the text gives none. */
export type ReadAction =
  | { readonly action: Action; readonly lost?: string }
  | { readonly action: undefined; readonly lost: string };

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
  return { action: present({ type: "nat" as const, side, ip, port }) as Action };
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
  const action = present({
    type: "routeencap" as const,
    encapsulation,
    tni: first.key,
    destinations,
    innerSourceMac: data.mac("Inner source MAC"),
    decrementTtl: data.has(DECREMENT_TTL) ? true : undefined,
  });
  return { action: action as Action };
}

function readMapencap(data: DataFields): ReadAction {
  const encapsulation = readTunnelKind(data);
  const space = data.text("Map space");
  if (encapsulation === undefined) return without("its kind of tunnel");
  if (space === undefined) return without("its space");
  const action = present({
    type: "mapencap" as const,
    encapsulation,
    space,
    tni: data.number("GRE key") ?? 0,
    byMac: data.has("MAC lookup") ? true : undefined,
    rewritesMac: data.has(FIX_INNER_MAC) ? true : undefined,
    decrementTtl: data.has(DECREMENT_TTL) ? true : undefined,
  });
  return { action: action as Action };
}

function readTranspose(data: DataFields): ReadAction {
  const action = present({
    type: "transpose" as const,
    sourceMac: data.mac("Source MAC"),
    destinationMac: data.mac("Destination MAC"),
    source: data.ip("Source IP"),
    destination: data.ip("Destination IP"),
    dscp: data.number("DSCP"),
    tni: data.number("TNI"),
    decrementTtl: data.has(DECREMENT_TTL) ? true : undefined,
  });
  return Object.keys(action).length === 1 ? without("what it rewrites") : { action: action as Action };
}

function readDecap(rule: ListedRule, data: DataFields): ReadAction {
  const pushes = (rule.flags & TypeFlag.decapPushVsid) !== 0 || data.has(PUSH_TNI);
  const action = present({
    type: "decap" as const,
    pushesTni: pushes ? true : undefined,
    innerSourceMac: data.mac("Inner source MAC"),
    innerDestinationMac: data.mac("Inner destination MAC"),
  });
  return { action: action as Action };
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
      const [ip, port, mac] = [
        data.ip("Destination IP"),
        data.number("Destination port"),
        data.mac("Destination MAC"),
      ];
      if (ip === undefined) return without("where it sends packets");
      return { action: present({ type: "redirect" as const, ip, port, mac }) as Action };
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
