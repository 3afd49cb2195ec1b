/** Which types of network a node can make (hcn.md §2.2, §4.1, §6.1). */
import { HcnError } from "../../hcn/error.ts";
import type { NetworkType } from "../../hcn/network.ts";
import type { ServiceContext } from "../service-context.ts";
import { traitsOf } from "./type-traits.ts";

/** Types that came later: with which minor of schema 2 (hcn.md §2.2). */
const SCHEMA_MINORS: Readonly<Partial<Record<NetworkType, number>>> = {
  Mirrored: 4,
  Infiniband: 4,
  ConstrainedICS: 10,
};

function checkKnown(context: ServiceContext, type: NetworkType): void {
  const { profile } = context.windows;
  const minor = SCHEMA_MINORS[type] ?? 0;
  if (profile.schemaMinor >= minor) return;
  throw new HcnError("HCN_E_INVALID_NETWORK_TYPE", {
    detail: `Type is ${type}, which came with schema 2.${minor}; ${profile.title} knows 2.${profile.schemaMinor}`,
  });
}

/**
 * Inferred (hcn.md §11.18): an Infiniband network finds no adapter where there is no RDMA hardware, and the nodes here
 * have none.
 * @throws HcnError HCN_E_INVALID_NETWORK_TYPE for a type that the build does not know, HCN_E_ADAPTER_NOT_FOUND,
 * HCN_E_VFP_NOT_ALLOWED without VFP, HCN_E_ICS_DISABLED without the service that ICS networks need.
 */
export function checkTypeAvailable(context: ServiceContext, type: NetworkType): void {
  checkKnown(context, type);
  const { hasVfp, hasIcs } = context.networking;
  if (type === "Infiniband") {
    throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
      detail: "An Infiniband network needs an RDMA adapter, and the node has none",
    });
  }
  if (traitsOf(type).needsVfp && !hasVfp) throw new HcnError("HCN_E_VFP_NOT_ALLOWED");
  if (traitsOf(type).needsIcs && !hasIcs) throw new HcnError("HCN_E_ICS_DISABLED");
}
