/** The status of a pod, as kubelet and scheduler write it. */
import type { Pod } from "#contracts/kubernetes/objects.ts";

export type PodStatus = NonNullable<Pod["status"]>;

export interface PodCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
}

/** What changes; what is not named stays. Conditions are joined by their type. */
export interface PodStatusChange {
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly podIP?: string;
  /** None: the pod has lost its network. */
  readonly podIPs?: readonly string[];
  readonly hostIP?: string;
  /** Default: `hostIP` alone. */
  readonly hostIPs?: readonly string[];
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly PodCondition[];
  readonly containerStatuses?: NonNullable<PodStatus["containerStatuses"]>;
  readonly initContainerStatuses?: NonNullable<PodStatus["initContainerStatuses"]>;
}

export function mergeStatus(status: PodStatus | undefined, change: PodStatusChange): PodStatus {
  const { conditions = [], podIP, podIPs, hostIPs, ...rest } = change;
  const others = (status?.conditions ?? []).filter(
    ({ type }) => !conditions.some((condition) => condition.type === type),
  );
  const addresses = podIPs ?? (podIP === undefined ? undefined : [podIP]);
  const merged = [...others, ...conditions];
  const { podIP: _1, podIPs: _2, ...withoutAddresses } = status ?? {};
  return {
    ...(addresses === undefined ? status : withoutAddresses),
    ...rest,
    ...(addresses === undefined ? {} : addressFields(podIP, addresses)),
    ...(rest.hostIP === undefined ? {} : { hostIPs: (hostIPs ?? [rest.hostIP]).map((ip) => ({ ip })) }),
    ...(merged.length === 0 ? {} : { conditions: merged }),
  };
}

function addressFields(
  podIP: string | undefined,
  addresses: readonly string[],
): Pick<PodStatus, "podIP" | "podIPs"> {
  const [first] = addresses;
  if (first === undefined) return {};
  return { podIP: podIP ?? first, podIPs: addresses.map((ip) => ({ ip })) };
}
