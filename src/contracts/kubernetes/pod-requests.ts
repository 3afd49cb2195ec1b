/** What a pod asks of its node (k8s.io/component-helpers, `resource/helpers.go`, `PodRequests`). */
import { isSidecar } from "./pod.ts";
import type { PodSpec } from "./objects.ts";
import { amountsOf } from "./quantity.ts";

type Amounts = ReadonlyMap<string, number>;

function add(sums: Map<string, number>, amounts: Amounts): void {
  for (const [name, amount] of amounts) sums.set(name, (sums.get(name) ?? 0) + amount);
}

/** A limit stands for a request that is left out (`SetDefaults_Pod`). */
function requestsOf({ resources }: PodSpec["containers"][number]): Amounts {
  return new Map([...amountsOf(resources?.limits), ...amountsOf(resources?.requests)]);
}

/**
 * The requests of a whole pod: its containers and sidecars together, or an init container with the sidecars before it where
 * that is more; what the pod says of itself goes before both.
 */
export function podRequests(spec: PodSpec | undefined): Amounts {
  const sums = new Map<string, number>();
  const most = new Map<string, number>();
  for (const container of spec?.initContainers ?? []) {
    const own = requestsOf(container);
    if (isSidecar(container)) {
      add(sums, own);
      continue;
    }
    for (const [name, amount] of own)
      most.set(name, Math.max(most.get(name) ?? 0, amount + (sums.get(name) ?? 0)));
  }
  for (const container of spec?.containers ?? []) add(sums, requestsOf(container));
  for (const [name, amount] of most) sums.set(name, Math.max(sums.get(name) ?? 0, amount));
  for (const [name, amount] of amountsOf(spec?.resources?.requests)) sums.set(name, amount);
  add(sums, amountsOf(spec?.overhead));
  return sums;
}
