/** Faults that refuse calls as long as they are there: a service that is away, objects that are not as they should be. */
import type { ActiveFault } from "./active-fault.ts";
import { type CallFacts, describeCall, endpointAddedBy } from "./call-facts.ts";

export interface Refusal {
  /** Name or number of the error. */
  readonly error: string | number;
  /** What happens, for the message. */
  readonly what: string;
}

/** What a call fails with because the service is away. */
export function absenceRefusal(active: ActiveFault, facts: CallFacts, nowMs: number): Refusal | undefined {
  if (!active.isDown(nowMs)) return undefined;
  const { fault } = active;
  const error = fault.effect === "stop" ? fault.error : undefined;
  return {
    error: error ?? "RPC_S_SERVER_UNAVAILABLE",
    what: `${describeCall(facts)}: the service is not running`,
  };
}

/** What a call fails with that concerns an endpoint which is only listed, or changes an object which is degraded. */
export function objectRefusal({ fault, objects }: ActiveFault, facts: CallFacts): Refusal | undefined {
  const added = endpointAddedBy(facts);
  if (fault.effect === "stale-endpoint" && fault.address === undefined) {
    if (!objects.some((id) => id === facts.id || id === added)) return undefined;
    return {
      error: "HCN_E_ENDPOINT_NOT_FOUND",
      what: `endpoint ${objects.join()} is listed, but is not there`,
    };
  }
  if (fault.effect !== "degrade") return undefined;
  const isChange = facts.operation === "modify" || facts.operation === "delete";
  const changed = added ?? (isChange ? facts.id : undefined);
  if (fault.object.toLowerCase() !== changed) return undefined;
  return { error: "HCN_E_DEGRADED_OPERATION", what: `${fault.kind} ${fault.object} is degraded` };
}
