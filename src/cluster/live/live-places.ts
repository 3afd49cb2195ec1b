/** What of a running cluster is on this machine, as the control API tells it. */
import type { ValueOf } from "#core/base/shape.ts";

/** A machine of the cluster that is a namespace of this one. */
export const LIVE_PLACE = {
  text: "A machine that is a network namespace of this one.",
  fields: {
    address: "text",
    path: { is: "text", text: "Of the namespace, for `nsenter --net`." },
  },
  optional: {
    address6: { is: "text", text: "Of IPv6; absent: it has none that was given to it." },
    pod: { is: "text", text: "As `web`, `shop/web`; absent: a machine beside the nodes." },
    name: { is: "text", text: "As `ip netns` calls it; absent: it has no name." },
    resolver: { is: "text", text: "What a pod's `/etc/resolv.conf` says." },
  },
} as const;
export type LivePlace = ValueOf<typeof LIVE_PLACE>;

/** A process of a pod. */
export const WORKLOAD_STATE = {
  text: "A process of a pod that is real.",
  fields: {
    pod: { is: "text", text: "As `web` or `shop/web`." },
    command: { list: "text", text: "The program and its arguments." },
    state: ["running", "ended", "failed"],
    isBuiltIn: { is: "boolean", text: "It is the built-in server, as `agnhost netexec`." },
  },
  optional: {
    reason: { is: "text", text: "How it ended, or why it did not start." },
  },
} as const;
export type WorkloadState = ValueOf<typeof WORKLOAD_STATE>;

/** What of a cluster is real, and where. */
export const LIVE_PLACES = {
  text: "What of the cluster is real, and where.",
  fields: {
    machines: { list: (): typeof LIVE_PLACE => LIVE_PLACE },
    workloads: { list: (): typeof WORKLOAD_STATE => WORKLOAD_STATE },
  },
  optional: {
    bridge: {
      text: "The TAP on a bridge of the user's, and the bridge.",
      fields: { name: "text", device: "text" },
    },
  },
} as const;
export type LivePlaces = ValueOf<typeof LIVE_PLACES>;

/** What a running cluster says of its real part. */
export interface LiveView {
  readonly places: LivePlaces;
  /** What the processes of a pod printed last; undefined: the pod has none. */
  logOf(pod: string): string | undefined;
}
