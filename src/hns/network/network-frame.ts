/** A network without what comes and goes by itself: most rules are made of it, and few changes of a network change it. */
import type { NetworkRecord } from "../network-record.ts";
import { type PlacedPolicy, settingsOf } from "./policy-index.ts";

/** A network without its routes to the subnets of other nodes. */
export interface NetworkFrame extends Omit<NetworkRecord, "policies" | "changedAtMs"> {
  /** All policies but the routes. */
  readonly settings: readonly PlacedPolicy[];
}

function areEqual(a: NetworkFrame, b: NetworkFrame): boolean {
  const names = Object.keys(b) as (keyof NetworkFrame)[];
  return names.length === Object.keys(a).length && names.every((name) => a[name] === b[name]);
}

/** @returns `before` itself when the network is the same but for its routes. */
export function frameOf(network: NetworkRecord, before?: NetworkFrame): NetworkFrame {
  const { policies, changedAtMs: _, ...fields } = network;
  const frame = { ...fields, settings: settingsOf(policies) };
  return before !== undefined && areEqual(before, frame) ? before : Object.freeze(frame);
}
