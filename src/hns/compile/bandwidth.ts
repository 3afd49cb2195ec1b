/**
 * QOS policies → a `qos` rule on the way out of an endpoint's port (dataplane.md §2.14, Appendix A; DT-178). What comes in
 * is not limited.
 *
 * Inferred: the layer, its place behind all others, and the names. Hyper-V's listings show the limit as a queue of the
 * port; no dump with one is public.
 */
import { type Group, createGroup } from "../../vfp/group.ts";
import type { Action, Rule } from "../../vfp/rule.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import { endpointProvenance, withPolicy } from "./provenance.ts";

/** The largest frame of a vNIC with the usual MTU: a limit below it would let nothing pass. */
const FRAME_BYTES_MAX = 1_514;
const INFERRED = "dataplane.md §2.14, §11 (Q-21)";
const FAMILIES = [4, 6] as const;

/** Inferred (dataplane.md §11, Q-21): a second's worth passes at once; a quarter of a second's worth may wait. */
function limitOf(bytesPerSecond: number): Action {
  return Object.freeze({
    type: "qos",
    bytesPerSecond,
    burstBytes: Math.max(bytesPerSecond, FRAME_BYTES_MAX),
    queueBytes: Math.max(Math.floor(bytesPerSecond / 4), FRAME_BYTES_MAX),
  });
}

function compileRule(endpoint: EndpointRecord, index: number, bytesPerSecond: number): Rule {
  return Object.freeze<Rule>({
    id: `QOS_${endpoint.id}`,
    name: `QOS_${endpoint.id}`,
    priority: 100,
    condition: {},
    action: limitOf(bytesPerSecond),
    isTerminating: true,
    isStateful: false,
    provenance: withPolicy(endpointProvenance(endpoint), "QOS", index),
    inferred: INFERRED,
  });
}

/** The groups of QOS_LAYER: none without a limit. Of several the smallest holds; 0 and absence set none. */
export function compileBandwidth(endpoint: EndpointRecord): readonly Group[] {
  let limit: { readonly index: number; readonly bytesPerSecond: number } | undefined;
  for (const [index, policy] of endpoint.policies.entries()) {
    const bytesPerSecond = policy.Type === "QOS" ? (policy.Settings.MaximumOutgoingBandwidthInBytes ?? 0) : 0;
    if (bytesPerSecond > 0 && bytesPerSecond < (limit?.bytesPerSecond ?? Number.POSITIVE_INFINITY))
      limit = { index, bytesPerSecond };
  }
  if (limit === undefined) return [];
  const rules = [compileRule(endpoint, limit.index, limit.bytesPerSecond)];
  return Object.freeze(
    FAMILIES.map((family) =>
      createGroup({
        name: `QOS_GROUP_IPV${family}_OUT`,
        direction: "out",
        family,
        priority: 1,
        match: "priority",
        rules,
      }),
    ),
  );
}
