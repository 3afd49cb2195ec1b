/** The public door of the match-action engine: `mullion/vfp`. */
export type { Condition } from "./condition.ts";
export { Group, createGroup } from "./group.ts";
export { Layer } from "./layer.ts";
export { NatPool } from "./nat-pool.ts";
export type { NatPoolOptions, PortBlockSource } from "./nat-pool.ts";
export type { NextHop, NextHopResolver, NextHopWaiter } from "./next-hop.ts";
export type { Action, Direction, GroupDefinition, LayerDefinition, MatchType, Rule } from "./rule.ts";
export { FLOW_TTL_MS } from "./rule.ts";
export { VfpPort } from "./vfp-port.ts";
export type { Verdict, VfpPortOptions } from "./vfp-port.ts";
