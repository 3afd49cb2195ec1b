/**
 * Network security groups of Azure: which rule decides about the first packet of a flow (control-planes.md §6.3).
 */
import type { FiveTuple } from "#core/net/five-tuple.ts";
import {
  type Ip,
  type Ipv4,
  type Prefix,
  lastIp,
  parseIpv4,
  parsePrefix,
  prefixContains,
} from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import { wordAt } from "#core/base/bytes.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

export const DIRECTIONS = ["Inbound", "Outbound"] as const;
export type SecurityDirection = (typeof DIRECTIONS)[number];

/** Service tags that stand for ranges which packets of a cluster meet. */
export const SERVICE_TAGS = [
  "VirtualNetwork",
  "Internet",
  "AzureLoadBalancer",
  "AzurePlatformDNS",
  "AzurePlatformIMDS",
] as const;
export type ServiceTag = (typeof SERVICE_TAGS)[number];

export const SECURITY_PROTOCOLS = ["Tcp", "Udp", "Icmp", "*"] as const;
export type SecurityProtocol = (typeof SECURITY_PROTOCOLS)[number];

const NUMBERS: Readonly<Record<Exclude<SecurityProtocol, "*">, number>> = {
  Tcp: IpProtocol.tcp,
  Udp: IpProtocol.udp,
  Icmp: IpProtocol.icmp,
};

/** Whom a rule is about: everybody, these ranges, a tag, a service whose ranges the file gives, or the members of these application groups. */
export type SecuritySide =
  | { readonly kind: "any" }
  | { readonly kind: "ranges"; readonly ranges: readonly Prefix[] }
  | { readonly kind: "tag"; readonly tag: ServiceTag }
  | { readonly kind: "service"; readonly tag: string; readonly ranges: readonly Prefix[] }
  | { readonly kind: "groups"; readonly groups: readonly string[] };

/** Both ends included. */
export interface SecurityPorts {
  readonly first: number;
  readonly last: number;
}

export interface SecurityRule {
  readonly name: string;
  /** 100 to 4096 for users; the smallest that matches decides. */
  readonly priority: number;
  readonly direction: SecurityDirection;
  readonly access: "Allow" | "Deny";
  readonly protocol: SecurityProtocol;
  readonly source: SecuritySide;
  readonly destination: SecuritySide;
  /** Empty: any. */
  readonly sourcePorts: readonly SecurityPorts[];
  readonly destinationPorts: readonly SecurityPorts[];
}

export interface SecurityGroup {
  readonly name: string;
  readonly rules: readonly SecurityRule[];
}

/** The platform: DHCP, DNS, probes of load balancers, the agent. */
export const PLATFORM_ADDRESS: Ipv4 = defined(parseIpv4("168.63.129.16"), "the platform's address is one");
/** The metadata of the instance. */
export const METADATA_ADDRESS: Ipv4 = defined(parseIpv4("169.254.169.254"), "the metadata's address is one");

const ANY: SecuritySide = Object.freeze({ kind: "any" });

function tagged(tag: ServiceTag): SecuritySide {
  return Object.freeze({ kind: "tag", tag });
}

function defaultRule(
  [priority, name]: readonly [number, string],
  direction: SecurityDirection,
  access: SecurityRule["access"],
  [source, destination]: readonly [SecuritySide, SecuritySide],
): SecurityRule {
  const ports = { sourcePorts: [], destinationPorts: [] };
  return Object.freeze({ name, priority, direction, access, protocol: "*", source, destination, ...ports });
}

const VNET = tagged("VirtualNetwork");

/** Every group has them behind its own. */
export const DEFAULT_RULES: readonly SecurityRule[] = [
  defaultRule([65_000, "AllowVnetInBound"], "Inbound", "Allow", [VNET, VNET]),
  defaultRule([65_001, "AllowAzureLoadBalancerInBound"], "Inbound", "Allow", [
    tagged("AzureLoadBalancer"),
    ANY,
  ]),
  defaultRule([65_500, "DenyAllInBound"], "Inbound", "Deny", [ANY, ANY]),
  defaultRule([65_000, "AllowVnetOutBound"], "Outbound", "Allow", [VNET, VNET]),
  defaultRule([65_001, "AllowInternetOutBound"], "Outbound", "Allow", [ANY, tagged("Internet")]),
  defaultRule([65_500, "DenyAllOutBound"], "Outbound", "Deny", [ANY, ANY]),
];

/** What tags and application groups stand for. */
export interface SecurityNames {
  /** The network's own ranges, those of peers and its gateway, and prefixes of user-defined routes. */
  isVirtualNetwork(ip: Ip): boolean;
  isMember(group: string, ip: Ip): boolean;
}

/** Ranges that nobody on the Internet has (RFC 6890, as far as packets of a cluster meet them). */
const PRIVATE: readonly Prefix[] = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
].map((text) => defined(parsePrefix(text), "a private range is one"));

function isIn(ranges: readonly Prefix[], ip: Ip): boolean {
  return ranges.some((range) => prefixContains(range, ip));
}

function isTagged(tag: ServiceTag, ip: Ip, names: SecurityNames): boolean {
  const isInside = names.isVirtualNetwork(ip) || ip === PLATFORM_ADDRESS;
  switch (tag) {
    case "VirtualNetwork":
      return isInside;
    case "Internet":
      return !isInside && !isIn(PRIVATE, ip);
    case "AzureLoadBalancer":
    case "AzurePlatformDNS":
      return ip === PLATFORM_ADDRESS;
    case "AzurePlatformIMDS":
      return ip === METADATA_ADDRESS;
  }
}

/** Rules about anything else do not reach the platform's addresses (control-planes.md §6.3). */
function namesPlatform({ source, destination }: SecurityRule): boolean {
  return [source, destination].some((side) => side.kind === "tag" && side.tag.startsWith("AzurePlatform"));
}

function isSide(side: SecuritySide, ip: Ip, names: SecurityNames): boolean {
  switch (side.kind) {
    case "any":
      return true;
    case "ranges":
    case "service":
      return isIn(side.ranges, ip);
    case "tag":
      return isTagged(side.tag, ip, names);
    case "groups":
      return side.groups.some((group) => names.isMember(group, ip));
  }
}

function hasPort(ports: readonly SecurityPorts[], port: number): boolean {
  return ports.length === 0 || ports.some(({ first, last }) => first <= port && port <= last);
}

function matches(rule: SecurityRule, flow: FiveTuple, names: SecurityNames): boolean {
  const { protocol } = rule;
  if (protocol !== "*" && NUMBERS[protocol] !== flow.protocol) return false;
  const hasPorts = flow.protocol === IpProtocol.tcp || flow.protocol === IpProtocol.udp;
  if (hasPorts && !hasPort(rule.sourcePorts, flow.sourcePort)) return false;
  if (hasPorts && !hasPort(rule.destinationPorts, flow.destinationPort)) return false;
  return isSide(rule.source, flow.source, names) && isSide(rule.destination, flow.destination, names);
}

/** First and last, both included. */
type Range = readonly [first: number, last: number];

/** Where a side may be; undefined: anywhere, or where only names say. */
function rangesOfSide(side: SecuritySide): readonly Range[] | undefined {
  if (side.kind !== "ranges" && side.kind !== "service") return undefined;
  return side.ranges.flatMap((range) => {
    const [first, last] = [range.address, lastIp(range)];
    return typeof first === "number" && typeof last === "number" ? [[first, last] as const] : [];
  });
}

function rangesOfPorts(ports: readonly SecurityPorts[]): readonly Range[] | undefined {
  return ports.length === 0 ? undefined : ports.map(({ first, last }) => [first, last] as const);
}

const BITS = 32;

/** Which of many rules may take a value of one field: a bit for each, between each two bounds of the rules. Frozen. */
class FieldBits {
  private readonly starts: Float64Array;
  private readonly bits: readonly Int32Array[];

  /** `ranges`: of each rule; undefined: it takes any value. */
  constructor(ranges: readonly (readonly Range[] | undefined)[]) {
    const bounds = ranges.flatMap((each) => (each ?? []).flatMap(([first, last]) => [first, last + 1]));
    this.starts = Float64Array.from([...new Set([0, ...bounds])].toSorted((a, b) => a - b));
    this.bits = Object.freeze(Array.from(this.starts, () => new Int32Array(Math.ceil(ranges.length / BITS))));
    for (const [index, each] of ranges.entries())
      for (const [first, last] of each ?? [[0, Number.POSITIVE_INFINITY] as const])
        this.set(index, first, last);
    Object.freeze(this);
  }

  at(value: number): Int32Array {
    return defined(this.bits[this.indexOf(value)], "the first bound is 0");
  }

  private set(rule: number, first: number, last: number): void {
    for (let at = this.indexOf(first); (this.starts[at] ?? Number.POSITIVE_INFINITY) <= last; at++) {
      const words = this.bits[at];
      const word = Math.floor(rule / BITS);
      if (words !== undefined) words[word] = wordAt(words, word) | (1 << (rule % BITS));
      else return;
    }
  }

  private indexOf(value: number): number {
    let [low, high] = [0, this.starts.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.starts[middle] ?? 0) <= value) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Rules of one direction, by the fields of IPv4 packets, so that a packet is compared with few of them. Frozen. */
class RuleIndex {
  readonly rules: readonly SecurityRule[];
  private readonly protocols: FieldBits;
  private readonly ports: readonly [source: FieldBits, destination: FieldBits];
  private readonly sides: readonly [source: FieldBits, destination: FieldBits];

  constructor(rules: readonly SecurityRule[]) {
    this.rules = Object.freeze(rules);
    const bits = (rangesOf: (rule: SecurityRule) => readonly Range[] | undefined): FieldBits =>
      new FieldBits(rules.map(rangesOf));
    this.protocols = bits(({ protocol }) =>
      protocol === "*" ? undefined : [[NUMBERS[protocol], NUMBERS[protocol]]],
    );
    this.ports = [
      bits(({ sourcePorts }) => rangesOfPorts(sourcePorts)),
      bits(({ destinationPorts }) => rangesOfPorts(destinationPorts)),
    ];
    this.sides = [
      bits(({ source }) => rangesOfSide(source)),
      bits(({ destination }) => rangesOfSide(destination)),
    ];
    Object.freeze(this.ports);
    Object.freeze(this.sides);
    Object.freeze(this);
  }

  /** The first rule that matches. */
  find(flow: FiveTuple, names: SecurityNames): SecurityRule | undefined {
    const { protocol, source, destination, sourcePort, destinationPort } = flow;
    if (typeof source !== "number" || typeof destination !== "number")
      return this.rules.find((each) => matches(each, flow, names));
    const isPorted = protocol === IpProtocol.tcp || protocol === IpProtocol.udp;
    const ofProtocol = this.protocols.at(protocol);
    const [from, to] = [this.sides[0].at(source), this.sides[1].at(destination)];
    const out = isPorted ? this.ports[0].at(sourcePort) : ofProtocol;
    const into = isPorted ? this.ports[1].at(destinationPort) : ofProtocol;
    for (let word = 0; word < ofProtocol.length; word++) {
      let left = wordAt(ofProtocol, word) & wordAt(from, word) & wordAt(to, word);
      left &= wordAt(out, word) & wordAt(into, word);
      for (; left !== 0; left &= left - 1) {
        const rule = this.rules[word * BITS + (BITS - 1 - Math.clz32(left & -left))];
        if (rule !== undefined && matches(rule, flow, names)) return rule;
      }
    }
    return undefined;
  }
}

/** The rules of a group by direction, in the order in which they are tried. Frozen: forks share it. */
export class RuleOrder {
  readonly name: string;
  private readonly rules: Readonly<Record<SecurityDirection, RuleIndex>>;

  constructor({ name, rules }: SecurityGroup) {
    const ordered = [...rules, ...DEFAULT_RULES].toSorted((a, b) => a.priority - b.priority);
    const of = (direction: SecurityDirection): RuleIndex =>
      new RuleIndex(ordered.filter((rule) => rule.direction === direction));
    this.name = name;
    this.rules = Object.freeze({ Inbound: of("Inbound"), Outbound: of("Outbound") });
    Object.freeze(this);
  }

  list(direction: SecurityDirection): readonly SecurityRule[] {
    return this.rules[direction].rules;
  }

  /** The first rule about the platform that matches a flow of it; undefined: the flow passes. */
  decidePlatform(
    direction: SecurityDirection,
    flow: FiveTuple,
    names: SecurityNames,
  ): SecurityRule | undefined {
    return this.list(direction).find((each) => namesPlatform(each) && matches(each, flow, names));
  }

  /** The first rule that matches; the last one always does. */
  decide(direction: SecurityDirection, flow: FiveTuple, names: SecurityNames): SecurityRule {
    return defined(this.rules[direction].find(flow, names), "a default rule matches everything");
  }
}
