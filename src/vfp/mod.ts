/**
 * The public door of the match-action engine, `mullion/vfp`: the port of a switch with its layers, groups, rules, flows.
 * It knows nothing of HNS; who makes the rules says in each where it comes from.
 *
 * @example
 * const port = new VfpPort({ id: "1", name: "pod web", node: "win-1", layers: [filter] });
 * port.setGroups(filter.name, [createGroup({ name: "OUT", direction: "out", family: 4, priority: 1, match: "priority", rules })]);
 * const verdict = port.process("out", packet, headers, clock.nowMs()); // the packet is rewritten in place
 */
export { BURST_FRAMES_MAX, Burst, BurstFrame } from "./burst.ts";
export type { Condition } from "./condition.ts";
export { Group, createGroup } from "./group.ts";
export { AddressSet } from "./address-set.ts";
export type {
  LayerCounters,
  PortCounters,
  RuleCounters,
  TcpCounters,
} from "./counters.ts";
export { Layer } from "./layer.ts";
export { type Mapping, MappingSpace } from "./mapping-space.ts";
export { NatPool } from "./nat-pool.ts";
export type { NatPoolOptions, PortBlockSource } from "./nat-pool.ts";
export type { NextHop, NextHopResolver, NextHopWaiter } from "./next-hop.ts";
export {
  AddressFlag,
  DEFAULT_FLOW_SETTINGS,
  DEFAULT_PARSER_SETTINGS,
  FLOW_CLASSES,
  type FlowClass,
  type PortAddressInfo,
  type PortFlowSettings,
  type PortGuards,
  type PortParserSettings,
} from "./port-settings.ts";
export type {
  Action,
  BackEnd,
  Direction,
  EncapDestination,
  GroupDefinition,
  LayerDefinition,
  MatchType,
  Rule,
} from "./rule.ts";
export { FLOW_TTL_MS } from "./rule.ts";
export { VfpPort } from "./vfp-port.ts";
export type { MirrorSink, Verdict, VfpPortOptions } from "./vfp-port.ts";
export { type ListedGroup, type ListedLayer, type ListedRule } from "./text/listing.ts";
export { listLayers } from "./text/list-port.ts";
export { parseRulesJson } from "./text/json-rules.ts";
export { type ListingProblem, type ReadListing, type ReadPort, parseRules } from "./text/parse-rules.ts";
export { ruleListLines } from "./text/print-rules.ts";
export { type LoadNote, type LoadedProgram, loadListing } from "./text/load-listing.ts";
export { type ListingDifference, compareListings, tellDifference } from "./text/compare-listings.ts";
