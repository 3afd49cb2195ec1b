/** Finds pods of the model by what Kubernetes objects call them. */
import type { Ip } from "../../net/ip.ts";
import type { VerifyPod } from "./model.ts";

/** The pods of the model by what slices name them by. */
export class PodBook {
  private readonly byName: ReadonlyMap<string, VerifyPod>;
  private readonly byAddress: ReadonlyMap<Ip, VerifyPod>;

  constructor(pods: readonly VerifyPod[]) {
    this.byName = new Map(pods.map((pod) => [pod.reference.slice("pod/".length), pod]));
    this.byAddress = new Map(pods.filter((pod) => !pod.isHostNetwork).map((pod) => [pod.address, pod]));
  }

  get(name: string): VerifyPod | undefined {
    return this.byName.get(name);
  }

  find(
    target: { readonly kind?: string; readonly namespace?: string; readonly name?: string } | undefined,
    address: Ip,
    namespace: string,
  ): VerifyPod | undefined {
    if (target?.kind !== "Pod" || target.name === undefined) return this.byAddress.get(address);
    return this.get(`${target.namespace ?? namespace}/${target.name}`);
  }
}
