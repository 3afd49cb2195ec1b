/**
 * The next hop of translated packets: VNET_PA_ROUTE_LAYER asks the host's routes and neighbours and writes both MACs
 * (dataplane.md §1.6, §2.4 B-6 row 4). Group name, its priority 200 and the rule's priority are observed.
 */
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import type { NetworkFrame } from "../../service/network/policy-index.ts";
import { networkProvenance } from "../provenance.ts";

const BRIDGE_PA_ROUTE_PRIORITY = 200;
const RULE_PRIORITY = 45_535;

/**
 * Inferred: the rule holds for packets whose source a NAT rule rewrote on this port; the observed rule on overlay nodes
 * has no condition, because there every packet that leaves has an outer header.
 */
export function compilePaRoute(network: NetworkFrame, isDual: boolean): readonly Group[] {
  const rule: Rule = {
    id: "PA_ROUTE",
    name: "PA_ROUTE",
    listedId: "",
    priority: RULE_PRIORITY,
    condition: Object.freeze({ isSourceTranslated: true }),
    action: Object.freeze({ type: "paroute" }),
    isTerminating: true,
    isStateful: false,
    provenance: networkProvenance(network),
    inferred: "dataplane.md §2.2.3",
  };
  const rules = [Object.freeze(rule)];
  return Object.freeze((isDual ? ([4, 6] as const) : ([4] as const)).map((family) => groupOf(family, rules)));
}

/** Both names are observed on overlay nodes (dataplane.md §2.2.1). */
function groupOf(family: 4 | 6, rules: readonly Rule[]): Group {
  return createGroup({
    name: `VNET_GROUP_PA_ROUTE_IPV${family}_OUT`,
    direction: "out",
    family,
    priority: BRIDGE_PA_ROUTE_PRIORITY,
    match: "priority",
    rules,
  });
}
