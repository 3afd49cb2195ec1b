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
export { BURST_FRAMES_MAX, Burst, BurstFrame } from "#dataplane/vfp/burst.ts";
export type { Condition } from "#dataplane/vfp/matching/condition.ts";
export { Group, createGroup } from "#dataplane/vfp/group.ts";
export { AddressSet } from "#dataplane/vfp/matching/condition.ts";
export type { LayerCounters, PortCounters, RuleCounters, TcpCounters } from "#dataplane/vfp/counters.ts";
export { Layer } from "#dataplane/vfp/layer.ts";
export { type Mapping, MappingSpace } from "#dataplane/vfp/actions/encapsulation.ts";
export { NatPool } from "#dataplane/vfp/actions/nat-pool.ts";
export type { NatPoolOptions, PortBlockSource } from "#dataplane/vfp/actions/nat-pool.ts";
export type { NextHop, NextHopResolver, NextHopWaiter } from "#dataplane/vfp/actions/next-hop.ts";
export {
  AddressFlag,
  DEFAULT_FLOW_SETTINGS,
  type FlowClass,
  type PortAddressInfo,
  type PortFlowSettings,
  type PortGuards,
  type PortParserSettings,
} from "#dataplane/vfp/port-settings.ts";
export type {
  Action,
  VfpDirection,
  EncapDestination,
  GroupDefinition,
  LayerDefinition,
  MatchType,
} from "#dataplane/vfp/rule.ts";
export type { DnatBackEnd, Rule } from "#dataplane/host/netfilter/rule-set.ts";
export { VfpPort } from "#dataplane/vfp/vfp-port.ts";
export type { MirrorSink, Verdict, VfpPortOptions } from "#dataplane/vfp/vfp-port.ts";
export { type ListedGroup, type ListedLayer, type ListedRule } from "#dataplane/vfp/listing/listing.ts";
export { listLayers } from "#dataplane/vfp/listing/list-port.ts";
export { parseRulesJson } from "./json-rules.ts";
export type { ListingDifference, ListingProblem } from "./documents.ts";
export { type ReadListing, type ReadPort, parseRules } from "./parse-rules.ts";
export { ruleListLines } from "#dataplane/vfp/listing/print-rules.ts";
export { type LoadNote, type LoadedProgram, loadListing } from "./load-listing.ts";
export { compareListings, describeDifference } from "./compare-listings.ts";
