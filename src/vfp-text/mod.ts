/**
 * The public door of the match-action engine, `mullion/vfp`: the port of a switch with its layers, groups, rules, flows.
 * It knows nothing of HNS; who makes the rules says in each where it comes from. With it come the texts of `vfpctrl`, which is
 * why the door stands here and not with the engine.
 *
 * @example
 * const port = new VfpPort({ id: "1", name: "pod web", node: "win-1", layers: [filter] });
 * port.setGroups(filter.name, [createGroup({ name: "OUT", direction: "out", family: 4, priority: 1, match: "priority", rules })]);
 * const verdict = port.process("out", packet, headers, clock.nowMs()); // the packet is rewritten in place
 */
export { BURST_FRAMES_MAX, Burst, BurstFrame } from "../vfp/burst.ts";
export type { Condition } from "../vfp/condition.ts";
export { Group, createGroup } from "../vfp/group.ts";
export { AddressSet } from "../vfp/address-set.ts";
export type { LayerCounters, PortCounters, RuleCounters, TcpCounters } from "../vfp/counters.ts";
export { Layer } from "../vfp/layer.ts";
export { type Mapping, MappingSpace } from "../vfp/mapping-space.ts";
export { NatPool } from "../vfp/nat-pool.ts";
export type { NatPoolOptions, PortBlockSource } from "../vfp/nat-pool.ts";
export type { NextHop, NextHopResolver, NextHopWaiter } from "../vfp/next-hop.ts";
export {
  AddressFlag,
  DEFAULT_FLOW_SETTINGS,
  type FlowClass,
  type PortAddressInfo,
  type PortFlowSettings,
  type PortGuards,
  type PortParserSettings,
} from "../vfp/port-settings.ts";
export type {
  Action,
  VfpDirection,
  EncapDestination,
  GroupDefinition,
  LayerDefinition,
  MatchType,
} from "../vfp/rule.ts";
export type { DnatBackEnd, Rule } from "../host/netfilter/rule.ts";
export { VfpPort } from "../vfp/vfp-port.ts";
export type { MirrorSink, Verdict, VfpPortOptions } from "../vfp/vfp-port.ts";
export { type ListedGroup, type ListedLayer, type ListedRule } from "../vfp/listing/listing.ts";
export { listLayers } from "../vfp/listing/list-port.ts";
export { parseRulesJson } from "./json-rules.ts";
export { type ListingProblem, type ReadListing, type ReadPort, parseRules } from "./parse-rules.ts";
export { ruleListLines } from "./print-rules.ts";
export { type LoadNote, type LoadedProgram, loadListing } from "./load-listing.ts";
export { type ListingDifference, compareListings, describeDifference } from "./compare-listings.ts";
