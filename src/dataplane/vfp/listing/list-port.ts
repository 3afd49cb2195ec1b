/** A port of the engine as a listing: what `vfpctrl` would say of it. */
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { NO_LAYER_COUNTERS, NO_RULE_COUNTERS, NO_TCP_COUNTERS, type RuleCounters } from "../counters.ts";
import { FlowKey } from "../flow-key.ts";
import type { Group } from "../group.ts";
import type { Layer } from "../layer.ts";
import type { MappingSpace } from "../actions/encapsulation.ts";
import type { NatPool } from "../actions/nat-pool.ts";
import { FLOW_CLASSES } from "../port-settings.ts";
import { type VfpDirection, FLOW_TTL_MS, type LayerDefinition, type Rule } from "../rule.ts";
import { wordsToIp } from "../actions/transposition.ts";
import type { UnifiedFlow } from "../flows/unified-flow.ts";
import type { VfpPort } from "../vfp-port.ts";
import { listConditions } from "./conditions.ts";
import {
  LayerFlag,
  type ListedAddressInfo,
  type ListedFlow,
  type ListedFlowClass,
  type ListedGroup,
  type ListedLayer,
  type ListedNatPool,
  type ListedNatRange,
  type ListedPort,
  type ListedPortCounters,
  type ListedRule,
  type ListedSpace,
  MatchWord,
  RuleFlag,
} from "./listing.ts";
import { describeAction, describeMssDelta } from "./rule-data.ts";
import { describeTransposition } from "./transposition-words.ts";

const MS_PER_SECOND = 1_000;

function layerFlags(definition: LayerDefinition): number {
  return (
    (definition.isDefaultAllow ? LayerFlag.defaultAllow : 0) |
    (definition.isHairpin === true ? LayerFlag.hairpin : 0) |
    (definition.clearsTni === true ? LayerFlag.clearTni : 0) |
    (definition.updatesFlows === true ? LayerFlag.updateFlows : 0)
  );
}

function idOf({ id, name, listedId, hasListedGuid, provenance }: Rule): string {
  if (hasListedGuid === true) return listedGuid(`${provenance.id}|${id}`);
  return listedId ?? name;
}

/**
 * A rule without an id of its own has its name for one, as the scripts of the field expect of load balancers (users.md
 * §4). `lbnat` makes its flows by a flag of its type, so the flag `stateful` does not stand beside it (dataplane.md §1.6).
 */
export function listRule(rule: Rule, family: 4 | 6, counters?: RuleCounters): ListedRule {
  const reported = describeAction(rule.action);
  const isStateful = rule.isStateful && rule.action.type !== "lbnat";
  return {
    id: idOf(rule),
    name: rule.name,
    priority: rule.priority,
    flags:
      (rule.isTerminating ? RuleFlag.terminating : 0) |
      (isStateful ? RuleFlag.stateful : 0) |
      (rule.skipsHairpin === true ? RuleFlag.skipHairpin : 0) |
      (rule.condition.tcpSyn === "only" ? RuleFlag.synOnly : 0) |
      (rule.condition.tcpSyn === "never" ? RuleFlag.nonSynOnly : 0) |
      (rule.mirrorTo === undefined ? 0 : RuleFlag.mirror) |
      reported.flags |
      (rule.listedFlags ?? 0),
    type: reported.type,
    conditions: listConditions(rule.condition, family),
    ttl: rule.isStateful ? Math.round((rule.flowTtlMs ?? FLOW_TTL_MS) / MS_PER_SECOND) : 0,
    data: [...describeMssDelta(rule), ...reported.data],
    flagsEx: 0,
    ...(counters === undefined ? {} : { counters }),
  };
}

function listGroup(group: Group, layer: Layer | undefined): ListedGroup {
  const { name, priority, direction, family, condition, match } = group;
  return {
    id: name,
    name,
    priority,
    direction: direction === "out" ? "OUT" : "IN",
    type: family === 4 ? "IPv4" : "IPv6",
    conditions: listConditions(condition, family),
    match: MatchWord[match],
    rules: group.rules.map((rule) =>
      listRule(
        rule,
        family,
        layer === undefined ? undefined : { ...(layer.countersOf(rule) ?? NO_RULE_COUNTERS) },
      ),
    ),
  };
}

/** A layer with its groups, rules and counters. */
export function listLayer(layer: Layer): ListedLayer {
  const { definition } = layer;
  return {
    id: definition.name,
    name: definition.name,
    flags: layerFlags(definition),
    priority: definition.priority,
    groups: layer.groups.map((group) => listGroup(group, layer)),
    counters: {
      out: { ...NO_LAYER_COUNTERS, ...layer.countersSoFar?.out },
      in: { ...NO_LAYER_COUNTERS, ...layer.countersSoFar?.in },
    },
  };
}

/** In ascending order, but hairpin layers come last (observed, dataplane.md §2.2.1). */
export function listLayers(port: VfpPort): readonly ListedLayer[] {
  const isHairpin = ({ definition }: Layer): boolean => definition.isHairpin === true;
  const layers = port.orderOf("out");
  return [...layers.filter((layer) => !isHairpin(layer)), ...layers.filter(isHairpin)].map(listLayer);
}

function ipOr(ip: Ip | undefined, none: string): string {
  return ip === undefined ? none : formatIp(ip);
}

/** The MAC address is zero in every dump that was seen, the fake one is not (dataplane.md §7.5). */
function listAddressInfo(port: VfpPort): ListedAddressInfo {
  const { providerIpv4, providerIpv6, customerAddresses, fakeMac, flags } = port.address;
  return {
    providerIpv4: ipOr(providerIpv4, "0.0.0.0"),
    providerIpv6: ipOr(providerIpv6, "::"),
    customerIpv4: ipOr(
      customerAddresses.find((ip) => typeof ip === "number"),
      "0.0.0.0",
    ),
    customerIpv6: ipOr(
      customerAddresses.find((ip) => typeof ip === "bigint"),
      "::",
    ),
    mac: formatMac(0 as Mac),
    fakeMac: formatMac(fakeMac ?? (0 as Mac)),
    flags,
  };
}

function listNatPool(pool: NatPool): ListedNatPool {
  return { name: pool.name, ip: formatIp(pool.ip), protocol: pool.protocol, ranges: pool.blocks.length };
}

function listNatRanges(port: VfpPort): readonly ListedNatRange[] {
  return port.listNatPools().flatMap((pool) =>
    pool.blocks.map((block) => ({
      pool: pool.name,
      ip: formatIp(pool.ip),
      protocol: pool.protocol,
      first: block.first,
      last: block.last,
      used: pool.countUsed(block),
    })),
  );
}

function listSpace(space: MappingSpace): ListedSpace {
  return {
    id: space.name,
    mappings: space.list().map(({ customerAddress, providerAddress, mac, tni }) => ({
      customerAddress: formatIp(customerAddress),
      providerAddress: formatIp(providerAddress),
      mac: formatMac(mac),
      ...(tni === undefined ? {} : { tni }),
    })),
  };
}

/** The ends of the tuple that `key` begins with. */
function endsOf(key: FlowKey): { readonly source: string; readonly destination: string } {
  const words = key.family === 4 ? 1 : 4;
  return {
    source: formatIp(wordsToIp(key.words.slice(2, 2 + words))),
    destination: formatIp(wordsToIp(key.words.slice(2 + words, 2 + 2 * words))),
  };
}

function listFlow(port: VfpPort, words: Int32Array, flow: UnifiedFlow, nowMs: number): ListedFlow {
  const key = new FlowKey();
  key.load(words);
  return {
    direction: key.direction === "out" ? "OUT" : "IN",
    protocol: key.protocol,
    ...endsOf(key),
    sourcePort: key.sourcePort,
    destinationPort: key.destinationPort,
    tunnelId: Math.max(0, key.tunnelId),
    transposition: describeTransposition(flow.transposition),
    packets: flow.packets,
    ttl: flow.ttlMs / MS_PER_SECOND,
    idleSeconds: (nowMs - flow.lastUsedMs) / MS_PER_SECOND,
    isCurrent: port.isCurrent(flow, nowMs),
  };
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** In an order that does not depend on the table's hash. */
function listFlows(port: VfpPort, nowMs: number): readonly ListedFlow[] {
  const sortKey = (flow: ListedFlow): string =>
    [
      flow.direction,
      flow.protocol,
      flow.source,
      flow.sourcePort,
      flow.destination,
      flow.destinationPort,
    ].join(" ");
  return [...port.unified.items()]
    .map(({ key, value }) => listFlow(port, key, value, nowMs))
    .toSorted((a, b) => compareTexts(sortKey(a), sortKey(b)));
}

/** The engine counts TCP connections once, not by direction: they stand with those that went out. */
function listCounters(port: VfpPort, direction: VfpDirection): ListedPortCounters {
  return {
    totalPackets: port.packets[direction],
    ...port.counters[direction],
    ...NO_TCP_COUNTERS,
    ...(direction === "out" ? port.census.soFar?.tcp : undefined),
  };
}

function listFlowClasses(port: VfpPort): readonly ListedFlowClass[] {
  const { limits } = port.flowSettings;
  return FLOW_CLASSES.map((name) => {
    const limit = limits[name];
    const statistics = port.census.soFar?.classes[name] ?? { count: 0, maximum: 0, created: 0 };
    return { name, ...statistics, ...(limit === undefined ? {} : { limit }) };
  });
}

/** Everything of a port at `nowMs`. */
export function listPort(port: VfpPort, nowMs: number): ListedPort {
  return {
    state: {
      enabled: port.isEnabled,
      blocked: port.isBlocked,
      blockedOnRestore: false,
      blockedLayerCreation: false,
      preservingVlan: false,
      vmContextSet: false,
    },
    addressInfo: listAddressInfo(port),
    layers: port.isEnabled ? listLayers(port) : [],
    natPools: port.listNatPools().map(listNatPool),
    natRanges: listNatRanges(port),
    spaces: port.listSpaces().map(listSpace),
    flows: listFlows(port, nowMs),
    counters: { out: listCounters(port, "out"), in: listCounters(port, "in") },
    flowClasses: listFlowClasses(port),
  };
}

const WORDS = 4;
const FNV_PRIME = 0x0100_0193;
const FNV_BASIS = 0x811c_9dc5;

/** 32 bits of a text; `lane` tells independent ones apart. */
function hashText(text: string, lane: number): number {
  let hash = FNV_BASIS ^ Math.imul(lane + 1, 0x9e37_79b1);
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/**
 * A GUID (version 4, in capitals as `vfpctrl` prints them) that follows from `text`: an id of a rule that HNS makes by itself.
 * Nothing tells how such ids come about. Inferred: here they follow from what the rule is, so that the same rule has the same id
 * in every listing.
 */
export function listedGuid(text: string): string {
  const digits = Array.from({ length: WORDS }, (_, lane) =>
    hashText(text, lane).toString(16).padStart(8, "0"),
  ).join("");
  const variant = ((Number.parseInt(digits.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    variant + digits.slice(17, 20),
    digits.slice(20, 32),
  ];
  return parts.join("-").toUpperCase();
}
