/** Which endpoints of a service port may become back ends now (kube-proxy.md §3.4 b and c, §3.9). */
import type { Behaviour, ReadinessRule } from "./behaviour.ts";
import type { ServiceEntry } from "./service-entry.ts";
import type { TrackedEndpoint } from "./tracked-endpoints.ts";

/** What holds for the endpoints of a Service together. */
export interface Readiness {
  readonly rule: ReadinessRule;
  readonly areAllTerminating: boolean;
  readonly areNoneServing: boolean;
}

/** Without ingress addresses nothing special ever holds: terminating endpoints are not used then. */
export function readinessOf(
  entry: ServiceEntry,
  endpoints: readonly TrackedEndpoint[],
  hostname: string,
  { readiness: rule, repairs }: Pick<Behaviour, "readiness" | "repairs">,
): Readiness {
  if (rule === "ready" || entry.port.ingressIps.length === 0)
    return { rule, areAllTerminating: false, areNoneServing: false };
  const relevant = entry.hasLocalTrafficDsr
    ? endpoints.filter(({ nodeName }) => nodeName === hostname)
    : endpoints;
  // No pod of this node: for `better` that says nothing about the others.
  if (repairs && relevant.length === 0) return { rule, areAllTerminating: false, areNoneServing: false };
  // Both hold for no endpoints at all. What is neither ready nor terminating says nothing about terminating.
  return {
    rule,
    areAllTerminating: relevant.every(({ isReady, isTerminating }) => isTerminating || !isReady),
    areNoneServing: relevant.every(({ isServing }) => !isServing),
  };
}

/** When nobody serves, every endpoint is taken, also those that are not ready. */
export function isUsable(endpoint: TrackedEndpoint, readiness: Readiness): boolean {
  if (readiness.rule === "ready") return endpoint.isReady;
  if (readiness.areNoneServing) return true;
  return endpoint.isServing && (readiness.areAllTerminating || endpoint.isReady);
}
