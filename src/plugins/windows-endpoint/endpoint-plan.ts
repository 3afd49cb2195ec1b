/** What an endpoint shall be, before it is one of HCN or of HNS v1. */
import type { CniDns } from "../../cni/result.ts";
import type { PlannedAddress } from "./addresses.ts";
import type { ConfiguredPolicy } from "./conf.ts";

export interface EndpointPlan {
  /** Empty: HNS chooses. At most one of each family. */
  readonly addresses: readonly PlannedAddress[];
  readonly policies: readonly ConfiguredPolicy[];
  readonly dns: CniDns;
  /** Whether the pod's own addresses shall become destinations of OutBoundNAT. */
  readonly hasLoopbackDsr: boolean;
}
