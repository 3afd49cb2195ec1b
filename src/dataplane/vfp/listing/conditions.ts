/**
 * Conditions of rules and groups ⇄ the lines under `Conditions:`. Seen on nodes: `Protocols`, `Source IP`, `Destination
 * IP`, `Destination ports` (dataplane.md §7.4). Inferred: the other labels, and that the exceptions of a source NAT stand
 * there as the ranges that are left, since VFP has no condition that forbids.
 */
import { type Ip, type IpFamily, type Prefix, prefixFamily } from "#core/net/ip.ts";
import {
  type IpRange,
  formatIpRange,
  joinRanges,
  parseIpRange,
  prefixesOfRange,
  rangeOfPrefix,
  subtractRanges,
  wholeFamily,
} from "#core/net/ip-range.ts";
import { formatMac, parseMac } from "#core/net/mac.ts";
import { type PortRange, formatPortRange, parsePortRanges } from "#core/net/port-range.ts";
import type { Condition } from "../matching/condition.ts";
import type { ListedCondition } from "./listing.ts";

export const ConditionLabel = {
  protocols: "Protocols",
  source: "Source IP",
  sourceTags: "Source tags",
  destination: "Destination IP",
  destinationTags: "Destination tags",
  sourcePorts: "Source ports",
  destinationPorts: "Destination ports",
  sourceMac: "Source MAC",
  destinationMac: "Destination MAC",
  vlan: "VLAN ID",
  tni: "TNI",
  tunnelId: "GRE key",
} as const;

const SEPARATOR = ", ";
/** Of a condition that no address of the family fulfils. */
const NO_ADDRESS = "no address";

/** The ranges of an address condition; undefined when it holds for all. */
function rangesOf(
  prefixes: readonly Prefix[] | undefined,
  except: readonly Prefix[] | undefined,
  family: IpFamily,
): readonly IpRange[] | undefined {
  const ofFamily = (list: readonly Prefix[]): readonly IpRange[] =>
    list.filter((prefix) => prefixFamily(prefix) === family).map(rangeOfPrefix);
  const wanted = prefixes === undefined ? undefined : ofFamily(prefixes);
  if (except === undefined) return wanted && joinRanges(wanted);
  return subtractRanges(wanted ?? [wholeFamily(family)], ofFamily(except));
}

function addresses(
  label: string,
  prefixes: readonly Prefix[] | undefined,
  except: readonly Prefix[] | undefined,
  family: IpFamily,
): readonly ListedCondition[] {
  const ranges = rangesOf(prefixes, except, family);
  if (ranges === undefined) return [];
  return [{ label, value: ranges.map(formatIpRange).join(SEPARATOR) || NO_ADDRESS }];
}

function ports(label: string, ranges: readonly PortRange[] | undefined): readonly ListedCondition[] {
  return ranges === undefined ? [] : [{ label, value: ranges.map(formatPortRange).join(SEPARATOR) }];
}

function one(label: string, value: string | number | undefined): readonly ListedCondition[] {
  return value === undefined ? [] : [{ label, value: `${value}` }];
}

function tags(label: string, sets: Condition["sourceSets"]): readonly ListedCondition[] {
  return sets === undefined ? [] : [{ label, value: sets.map(({ name }) => name).join(SEPARATOR) }];
}

/**
 * A condition as lines; none when it holds for everything. That a source was translated before has no line: nodes show
 * none at such rules (PA_ROUTE).
 */
export function listConditions(
  condition: Condition | undefined,
  family: IpFamily,
): readonly ListedCondition[] {
  if (condition === undefined) return [];
  const { source, destination, destinationExcept, sourceMac, destinationMac } = condition;
  return [
    ...one(ConditionLabel.protocols, condition.protocols?.join(SEPARATOR)),
    ...addresses(ConditionLabel.source, source, undefined, family),
    ...tags(ConditionLabel.sourceTags, condition.sourceSets),
    ...addresses(ConditionLabel.destination, destination, destinationExcept, family),
    ...tags(ConditionLabel.destinationTags, condition.destinationSets),
    ...ports(ConditionLabel.sourcePorts, condition.sourcePorts),
    ...ports(ConditionLabel.destinationPorts, condition.destinationPorts),
    ...one(ConditionLabel.sourceMac, sourceMac === undefined ? undefined : formatMac(sourceMac)),
    ...one(
      ConditionLabel.destinationMac,
      destinationMac === undefined ? undefined : formatMac(destinationMac),
    ),
    ...one(ConditionLabel.vlan, condition.vlan),
    ...one(ConditionLabel.tni, condition.tni),
    ...one(ConditionLabel.tunnelId, condition.tunnelId),
  ];
}

/** Parts of a list: commas or blanks, as prints of different builds have them. */
export function listItems(value: string): readonly string[] {
  return value
    .split("-")
    .map((part) => part.trim())
    .join("-")
    .split(/[\s,]+/)
    .filter((item) => item !== "");
}

/** A number of at most `max`; undefined when the text is none. */
export function parseNumber(text: string, max = 0xffff_ffff): number | undefined {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return value <= max ? value : undefined;
}

/** All items, or undefined when one of them is none. */
function readAll<T>(value: string, read: (item: string) => T | undefined): readonly T[] | undefined {
  const items = listItems(value).map(read);
  return items.includes(undefined) || items.length === 0 ? undefined : (items as readonly T[]);
}

function readPrefixes(value: string, family: IpFamily): readonly Prefix[] | undefined {
  const ranges = readAll<IpRange>(value, parseIpRange);
  const isOfFamily = (ip: Ip): boolean => (typeof ip === "number" ? 4 : 6) === family;
  if (ranges === undefined || !ranges.every(({ first }) => isOfFamily(first))) return undefined;
  return ranges.flatMap(prefixesOfRange);
}

function readPorts(value: string): readonly PortRange[] | undefined {
  return parsePortRanges(listItems(value).join(","));
}

const MAC_BYTES = /^[0-9a-f]{12}$/i;

function readMac(value: string): ReturnType<typeof parseMac> {
  return parseMac(MAC_BYTES.test(value) ? value.replace(/(..)(?=.)/g, "$1-") : value);
}

type Reader = (value: string, family: IpFamily) => unknown;

function readIdentifier(value: string): number | undefined {
  return parseNumber(value);
}

/** Each label with the field of a condition that it shows, and what reads it; undefined when the value is none. */
const READERS = new Map<string, readonly [field: keyof Condition, read: Reader]>([
  [ConditionLabel.protocols, ["protocols", (value) => readAll(value, (item) => parseNumber(item, 0xff))]],
  [ConditionLabel.source, ["source", readPrefixes]],
  [ConditionLabel.destination, ["destination", readPrefixes]],
  [ConditionLabel.sourcePorts, ["sourcePorts", readPorts]],
  [ConditionLabel.destinationPorts, ["destinationPorts", readPorts]],
  [ConditionLabel.sourceMac, ["sourceMac", readMac]],
  [ConditionLabel.destinationMac, ["destinationMac", readMac]],
  [ConditionLabel.vlan, ["vlan", (value) => parseNumber(value, 0xfff)]],
  [ConditionLabel.tni, ["tni", readIdentifier]],
  [ConditionLabel.tunnelId, ["tunnelId", readIdentifier]],
]);

export interface ReadConditions {
  readonly condition: Condition;
  /** Lines that the engine cannot ask for, or whose values are none. */
  readonly left: readonly ListedCondition[];
}

/** Lines as a condition of the engine. */
export function readConditions(lines: readonly ListedCondition[], family: IpFamily): ReadConditions {
  let condition: Condition = {};
  const left: ListedCondition[] = [];
  for (const line of lines) {
    const [field, read] = READERS.get(line.label) ?? [];
    const value = read?.(line.value, family);
    if (field === undefined || value === undefined) left.push(line);
    else condition = { ...condition, [field]: value };
  }
  return { condition: Object.freeze(condition), left };
}
