/** Load balancers that a restarted service has not yet restored, and what requests for their front ends meet. */
import { HcnError } from "../../hcn/error.ts";
import type { ServiceContext } from "../service-context.ts";

/** What a request meets whose front end is about to come back: 0xb7 in place of 0x803b0013. */
export function asRestoring(context: ServiceContext, error: unknown): unknown {
  const isTaken = error instanceof HcnError && error.code === "HCN_E_PORT_ALREADY_EXISTS";
  if (!isTaken || context.state.restoration === undefined) return error;
  return new HcnError("ERROR_ALREADY_EXISTS", {
    detail: "HNS is restoring the load balancer that had this front end before it restarted; try again later",
    explanation: "hns-load-balancers-lost",
  });
}
