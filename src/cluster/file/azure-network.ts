/**
 * The virtual network of Azure that a cluster's nodes are in: `underlay.azure` of a cluster file, its fields, what they come
 * to, and what Azure refuses (control-planes.md §6.2 to §6.4).
 */
import { defined } from "#core/base/assert.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import {
  type Ip,
  type Ipv4,
  type Prefix,
  formatIp,
  formatPrefix,
  lastIp,
  parsePrefix,
  prefixContains,
  prefixCovers,
  prefixesOverlap,
} from "#core/net/ip.ts";
import {
  type NextHopType,
  USER_NEXT_HOP_TYPES,
  type UserNextHopType,
  type UserRoute,
} from "#dataplane/fabric/azure/effective-routes.ts";
import {
  DIRECTIONS,
  SECURITY_PROTOCOLS,
  SERVICE_TAGS,
  type SecurityDirection,
  type SecurityGroup,
  type SecurityPorts,
  type SecurityProtocol,
  type SecurityRule,
  type SecuritySide,
} from "#dataplane/fabric/azure/security-group.ts";
import type { VirtualNetworkSpec } from "#dataplane/fabric/azure/virtual-network.ts";
import { azureNetworkFields } from "#data/words.js";
import { type LocatedFields, type OptionalMapping, list, mapping, optionalList } from "./mapping.ts";
import { type Located, type Reading, type ValuePlace, quote, valuesOf } from "./reading.ts";
import {
  BOOLEAN,
  IPV4,
  NAME,
  PREFIX,
  RESOURCE_NAME,
  SECURITY_PORTS,
  SECURITY_SIDE,
  integer,
  oneOf,
  seconds,
} from "./scalars.ts";
import { optional, required, withDefault } from "./shape.ts";

const WORDS = azureNetworkFields();

/** Limits of Azure, as the documentation has them (control-planes.md §6.2 to §6.4). */
const SPACES_MAX = 500;
const SUBNETS_MAX = 3_000;
const GROUPS_MAX = 5_000;
const RULES_MAX = 1_000;
const SIDE_MAX = 4_000;
const TABLES_MAX = 200;
const ROUTES_MAX = 400;
const NICS_MAX = 10_000;
const THROTTLED_MAX = 86_400;
const TAGS_MAX = 1_000;

interface RuleFields {
  name: string;
  priority: number;
  direction: SecurityDirection;
  access: "Allow" | "Deny";
  protocol: SecurityProtocol;
  source: readonly Located<SecurityWord>[];
  sourcePorts: readonly Located<SecurityPorts>[];
  destination: readonly Located<SecurityWord>[];
  destinationPorts: readonly Located<SecurityPorts>[];
}

/** One word of a rule's side: a range, a service tag, or the name of an application group. */
export type SecurityWord = string;

interface GroupFields {
  name: string;
  rules: readonly Located<LocatedFields<RuleFields>>[];
}
interface UserRouteFields {
  name: string;
  to: Prefix;
  nextHopType: UserNextHopType;
  nextHop: Ipv4 | undefined;
}
interface TableFields {
  name: string;
  routes: readonly Located<LocatedFields<UserRouteFields>>[];
}
interface SubnetFields {
  name: string;
  prefix: Prefix;
  securityGroup: string | undefined;
  routeTable: string | undefined;
}
interface NicFields {
  node: string;
  securityGroup: string | undefined;
  ipForwarding: boolean;
  applicationGroups: readonly Located<string>[];
}
export interface AzureFields {
  addressSpace: readonly Located<Prefix>[];
  peered: readonly Located<Prefix>[];
  learned: readonly Located<Prefix>[];
  serviceEndpoints: readonly Located<Prefix>[];
  securityGroups: readonly Located<LocatedFields<GroupFields>>[];
  routeTables: readonly Located<LocatedFields<TableFields>>[];
  subnets: readonly Located<LocatedFields<SubnetFields>>[];
  interfaces: readonly Located<LocatedFields<NicFields>>[];
  throttledSeconds: number;
  serviceTags: readonly Located<LocatedFields<ServiceTagFields>>[];
}

/** Ranges of services, by the tags that Azure publishes. */
interface ServiceTagFields {
  name: string;
  ranges: readonly Located<Prefix>[];
}
type Services = ReadonlyMap<string, readonly Prefix[]>;

function servicesOf({ serviceTags }: LocatedFields<AzureFields>): Services {
  return new Map(serviceTags.value.map(({ value }) => [value.name.value, valuesOf(value.ranges.value)]));
}

const RULE = mapping<RuleFields>("a rule", {
  name: required(RESOURCE_NAME, "For people."),
  priority: required(integer("a priority from 100 to 4096", 100, 4_096), WORDS.rulePriority),
  direction: required(oneOf(DIRECTIONS), "Which packets it is asked about."),
  access: required(oneOf(["Allow", "Deny"]), "What it does."),
  protocol: withDefault(oneOf(SECURITY_PROTOCOLS), "*", "`*`: all."),
  source: optionalList(SECURITY_SIDE, SIDE_MAX, WORDS.ruleSide),
  sourcePorts: optionalList(SECURITY_PORTS, SIDE_MAX, WORDS.rulePorts),
  destination: optionalList(SECURITY_SIDE, SIDE_MAX, WORDS.ruleSide),
  destinationPorts: optionalList(SECURITY_PORTS, SIDE_MAX, WORDS.rulePorts),
});
const GROUP = mapping<GroupFields>("a security group", {
  name: required(RESOURCE_NAME, "What subnets and interfaces name."),
  rules: optionalList(RULE, RULES_MAX, WORDS.groupRules),
});
const USER_ROUTE = mapping<UserRouteFields>("a route", {
  name: required(RESOURCE_NAME, "The Routes controller names the node here."),
  to: required(PREFIX, "The destinations."),
  nextHopType: required(oneOf(USER_NEXT_HOP_TYPES), WORDS.routeNextHopType),
  nextHop: optional(IPV4, "Of a VirtualAppliance: an address in the virtual network.", "none"),
});
const TABLE = mapping<TableFields>("a route table", {
  name: required(RESOURCE_NAME, "What subnets name."),
  routes: optionalList(USER_ROUTE, ROUTES_MAX, "User-defined routes."),
});
const SUBNET = mapping<SubnetFields>("a subnet", {
  name: required(RESOURCE_NAME, "What traces call it."),
  prefix: required(PREFIX, WORDS.subnetPrefix),
  securityGroup: optional(RESOURCE_NAME, "The name of its security group.", "none: everything passes"),
  routeTable: optional(RESOURCE_NAME, "The name of its route table.", "none: Azure's own routes alone"),
});
const NIC = mapping<NicFields>("a network interface", {
  node: required(NAME, "The node that has it."),
  securityGroup: optional(RESOURCE_NAME, "The name of its security group.", "none: everything passes"),
  ipForwarding: withDefault(BOOLEAN, false, WORDS.nicForwarding),
  applicationGroups: optionalList(RESOURCE_NAME, 100, WORDS.nicGroups),
});
const SERVICE_TAG = mapping<ServiceTagFields>("a service tag", {
  name: required(RESOURCE_NAME, "As Azure calls it, such as Storage.WestEurope."),
  ranges: required(list(PREFIX, { countMin: 1, countMax: SIDE_MAX }), WORDS.serviceTagRanges),
});

export const AZURE: OptionalMapping<AzureFields> = mapping<AzureFields>("a virtual network", {
  addressSpace: required(list(PREFIX, { countMin: 1, countMax: SPACES_MAX }), WORDS.addressSpace),
  peered: optionalList(PREFIX, SPACES_MAX, "Ranges of virtual networks that it is peered with."),
  learned: optionalList(PREFIX, SPACES_MAX, "Ranges that its gateway has learned by BGP."),
  serviceEndpoints: optionalList(PREFIX, SPACES_MAX, "Ranges of services with an endpoint in the subnets."),
  securityGroups: optionalList(GROUP, GROUPS_MAX, WORDS.securityGroups),
  routeTables: optionalList(TABLE, TABLES_MAX, "One for any number of subnets."),
  subnets: optionalList(SUBNET, SUBNETS_MAX, WORDS.subnets),
  interfaces: optionalList(NIC, NICS_MAX, WORDS.interfaces),
  serviceTags: optionalList(SERVICE_TAG, TAGS_MAX, WORDS.serviceTags),
  throttledSeconds: withDefault(seconds(0, THROTTLED_MAX), 0, WORDS.throttledSeconds),
});

/** What a node is to its virtual network. */
interface AzureNode {
  readonly name: string;
  readonly address: Ipv4;
}

function sideOf(words: readonly Located<SecurityWord>[], services: Services): SecuritySide {
  const texts = valuesOf(words);
  if (texts.length === 0 || texts.includes("*")) return { kind: "any" };
  const ranges = texts.flatMap((text) => rangeOf(text) ?? []);
  if (ranges.length > 0) return { kind: "ranges", ranges };
  const own = services.get(texts[0] ?? "");
  if (own !== undefined) return { kind: "service", tag: texts[0] ?? "", ranges: own };
  const tag = SERVICE_TAGS.find((each) => each === texts[0]);
  return tag === undefined ? { kind: "groups", groups: texts } : { kind: "tag", tag };
}

function rangeOf(text: string): Prefix | undefined {
  return parsePrefix(text.includes("/") ? text : `${text}/32`);
}

function completeRule({ value }: Located<LocatedFields<RuleFields>>, services: Services): SecurityRule {
  return {
    name: value.name.value,
    priority: value.priority.value,
    direction: value.direction.value,
    access: value.access.value,
    protocol: value.protocol.value,
    source: sideOf(value.source.value, services),
    destination: sideOf(value.destination.value, services),
    sourcePorts: valuesOf(value.sourcePorts.value),
    destinationPorts: valuesOf(value.destinationPorts.value),
  };
}

function completeRoute({ value }: Located<LocatedFields<UserRouteFields>>): UserRoute {
  const { value: nextHop } = value.nextHop;
  const route = { name: value.name.value, prefix: value.to.value, nextHopType: value.nextHopType.value };
  return nextHop === undefined ? route : { ...route, nextHop };
}

/** The virtual network as it is without any subnet that the file names: the underlay is its one subnet. */
const ONLY_SUBNET = "default";

/** From the fields to what packets meet. Names that stand for nothing are reported by `checkAzure`. */
export function completeAzure(
  raw: LocatedFields<AzureFields>,
  underlay: Prefix,
  nodes: readonly AzureNode[],
): VirtualNetworkSpec {
  const services = servicesOf(raw);
  const groups = new Map<string, SecurityGroup>(
    raw.securityGroups.value.map(({ value }) => [
      value.name.value,
      { name: value.name.value, rules: value.rules.value.map((rule) => completeRule(rule, services)) },
    ]),
  );
  const tables = new Map(
    raw.routeTables.value.map(({ value }) => [value.name.value, value.routes.value.map(completeRoute)]),
  );
  const subnets = raw.subnets.value.map(({ value }) => ({
    name: value.name.value,
    prefix: value.prefix.value,
    securityGroup: groups.get(value.securityGroup.value ?? ""),
    routeTable: value.routeTable.value,
    routes: tables.get(value.routeTable.value ?? "") ?? [],
  }));
  const only = {
    name: ONLY_SUBNET,
    prefix: underlay,
    securityGroup: undefined,
    routeTable: undefined,
    routes: [],
  };
  const given = new Map(raw.interfaces.value.map(({ value }) => [value.node.value, value]));
  return {
    spaces: {
      own: valuesOf(raw.addressSpace.value),
      peered: valuesOf(raw.peered.value),
      learned: valuesOf(raw.learned.value),
      serviceEndpoints: valuesOf(raw.serviceEndpoints.value),
    },
    subnets: subnets.length === 0 ? [only] : subnets,
    nics: nodes.map(({ name, address }) => {
      const nic = given.get(name);
      return {
        machine: name,
        address,
        securityGroup: groups.get(nic?.securityGroup.value ?? ""),
        isForwarding: nic?.ipForwarding.value ?? false,
        applicationGroups: nic === undefined ? [] : valuesOf(nic.applicationGroups.value),
      };
    }),
  };
}

/** What no virtual network holds (control-planes.md §6.2). */
const REFUSED: readonly Prefix[] = [
  "224.0.0.0/4",
  "255.255.255.255/32",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "168.63.129.16/32",
].map((text) => defined(parsePrefix(text), "a refused range is one"));
/** The network, the gateway and two for DNS (control-planes.md §6.2). */
const RESERVED_FIRST = 4;
const SUBNET_LENGTH_MAX = 29;

/** True for an address that Azure keeps in a subnet. */
function isReserved({ address, length }: Prefix, ip: Ip): boolean {
  const offset = Number(ip) - Number(address);
  return offset < RESERVED_FIRST || ip === lastIp({ address, length });
}

/** A problem with a value, as messages of cluster files say it. */
type Report = (place: ValuePlace, message: string, advice: string) => void;

function checkSpaces(raw: LocatedFields<AzureFields>, report: Report): void {
  for (const { value, place } of raw.addressSpace.value) {
    const refused = REFUSED.find((each) => prefixesOverlap(each, value));
    if (refused !== undefined)
      report(place, `a virtual network cannot hold ${formatPrefix(refused)}`, "Leave that range out.");
    const peer = raw.peered.value.find((each) => prefixesOverlap(each.value, value));
    if (peer !== undefined)
      report(peer.place, `${formatPrefix(peer.value)} overlaps the address space`, WORDS.adviceOverlap);
  }
}

function checkSubnets(
  raw: LocatedFields<AzureFields>,
  nodes: readonly Located<AzureNode>[],
  report: Report,
): void {
  const spaces = valuesOf(raw.addressSpace.value);
  const seen: Prefix[] = [];
  for (const { value } of raw.subnets.value) {
    const { value: prefix, place } = value.prefix;
    if (prefix.length > SUBNET_LENGTH_MAX)
      report(
        place,
        `${formatPrefix(prefix)} is too small: five addresses are reserved`,
        "Write a /29 or larger.",
      );
    if (!spaces.some((space) => prefixCovers(space, prefix)))
      report(place, `${formatPrefix(prefix)} is not in the address space`, "Add its range to addressSpace.");
    if (seen.some((other) => prefixesOverlap(other, prefix)))
      report(place, `${formatPrefix(prefix)} overlaps another subnet`, "Choose another range.");
    seen.push(prefix);
  }
  for (const { value: node, place } of nodes) {
    const subnet = seen.find((prefix) => prefixContains(prefix, node.address));
    if (subnet === undefined && seen.length > 0)
      report(place, `${formatIp(node.address)} is in no subnet of the virtual network`, "Add its subnet.");
    else if (subnet !== undefined && isReserved(subnet, node.address))
      report(place, `Azure keeps ${formatIp(node.address)} in ${formatPrefix(subnet)}`, WORDS.adviceReserved);
  }
}

/** What a side of a rule may name. */
interface KnownNames {
  /** Application groups. */
  readonly members: readonly string[];
  readonly tags: readonly string[];
}

function checkGroup(
  { value: group }: Located<LocatedFields<GroupFields>>,
  known: KnownNames,
  report: Report,
) {
  const taken = new Map<string, string>();
  for (const { value: rule } of group.rules.value) {
    const key = `${rule.direction.value} ${rule.priority.value}`;
    const other = taken.get(key);
    if (other !== undefined)
      report(rule.priority.place, `rule ${quote(other)} has this priority already`, "Choose another one.");
    taken.set(key, rule.name.value);
    for (const side of [rule.source.value, rule.destination.value]) checkSide(side, known, report);
  }
}

/** A side holds ranges, one tag, or application groups. */
function checkSide(
  side: readonly Located<SecurityWord>[],
  { members, tags }: KnownNames,
  report: Report,
): void {
  const kindOf = (text: string): string => {
    if (text === "*" || rangeOf(text) !== undefined) return "range";
    return tags.includes(text) ? "tag" : "group";
  };
  for (const [index, { value, place }] of side.entries()) {
    const kind = kindOf(value);
    if (kind === "group" && !members.includes(value)) {
      const [near] = nearestNames(value, [...tags, ...members]);
      report(
        place,
        `there is no service tag and no application group ${quote(value)}`,
        near === undefined ? WORDS.adviceTag : `Did you mean ${near}?`,
      );
    }
    const [first] = side;
    if (index > 0 && (kind !== kindOf(first?.value ?? "") || kind === "tag"))
      report(place, WORDS.sideMixed, "Write one rule for each.");
  }
}

function checkTable({ value: table }: Located<LocatedFields<TableFields>>, report: Report): void {
  const taken = new Set<string>();
  for (const { value: route } of table.routes.value) {
    const to = formatPrefix(route.to.value);
    if (taken.has(to))
      report(route.to.place, `the table has a route to ${to} already`, "Keep one of the two.");
    taken.add(to);
    const needsHop: NextHopType = "VirtualAppliance";
    const isAppliance = route.nextHopType.value === needsHop;
    if (isAppliance !== (route.nextHop.value !== undefined))
      report(
        route.nextHop.place,
        isAppliance ? "a virtual appliance has an address" : `${route.nextHopType.value} has no address`,
        isAppliance ? "Write nextHop." : "Remove nextHop, or write nextHopType: VirtualAppliance.",
      );
  }
}

/** Each name must stand for something, and each thing have one name. */
function checkNames(raw: LocatedFields<AzureFields>, nodes: readonly string[], report: Report): void {
  const namesOf = (
    items: readonly Located<{ readonly name: Located<string> }>[],
    what: string,
  ): readonly string[] => {
    const names: string[] = [];
    for (const { value } of items) {
      if (names.includes(value.name.value))
        report(value.name.place, `${what} ${quote(value.name.value)} exists already`, "Choose another name.");
      names.push(value.name.value);
    }
    return names;
  };
  const must = (name: Located<string | undefined>, known: readonly string[], what: string): void => {
    if (name.value === undefined || known.includes(name.value)) return;
    const [near] = nearestNames(name.value, known);
    const advice = near === undefined ? `Known are: ${known.join(", ") || "none"}.` : `Did you mean ${near}?`;
    report(name.place, `there is no ${what} ${quote(name.value)}`, advice);
  };
  const groups = namesOf(raw.securityGroups.value, "the security group");
  const tables = namesOf(raw.routeTables.value, "the route table");
  namesOf(raw.subnets.value, "the subnet");
  for (const { value } of raw.subnets.value) {
    must(value.securityGroup, groups, "security group");
    must(value.routeTable, tables, "route table");
  }
  namesOf(
    raw.interfaces.value.map(({ value, place }) => ({ value: { name: value.node }, place })),
    "the interface of node",
  );
  for (const { value } of raw.interfaces.value) {
    must(value.securityGroup, groups, "security group");
    must(value.node, nodes, "node");
  }
}

/** Reports what Azure would refuse. */
export function checkAzure(
  raw: LocatedFields<AzureFields>,
  nodes: readonly Located<AzureNode>[],
  reading: Reading,
): void {
  const report: Report = (place, message, advice) => reading.reportValue(place, message, advice);
  const members = raw.interfaces.value.flatMap(({ value }) => valuesOf(value.applicationGroups.value));
  checkSpaces(raw, report);
  checkSubnets(raw, nodes, report);
  const own = raw.serviceTags.value.map(({ value }) => value.name);
  for (const [index, { value, place }] of own.entries()) {
    const isTaken =
      SERVICE_TAGS.some((tag) => tag === value) || own.slice(0, index).some((other) => other.value === value);
    if (isTaken) report(place, `the tag ${quote(value)} is there already`, "Remove one of the two.");
  }
  const tags = [...SERVICE_TAGS, ...own.map(({ value }) => value)];
  for (const group of raw.securityGroups.value) checkGroup(group, { members, tags }, report);
  for (const table of raw.routeTables.value) checkTable(table, report);
  checkNames(
    raw,
    nodes.map(({ value }) => value.name),
    report,
  );
}
