/** What can happen to a node of a running cluster: what its machine, its people or a fault do. */
import type { RestartState } from "#contracts/hcn/faults/fault.ts";

export const NODE_ACTIONS = [
  "reboot",
  "stop",
  "start",
  "restart-hns",
  "leave",
  "rejoin",
  "set-clock",
] as const;
export type NodeAction = (typeof NODE_ACTIONS)[number];

export type NodeChange =
  /** The machine goes down and comes up. */
  | { readonly do: "reboot" }
  /** The machine goes down, and stays so until it is started. */
  | { readonly do: "stop" }
  | { readonly do: "start" }
  /** HNS of a Windows node goes down and comes up; without a state the defects of its build decide what is lost. */
  | { readonly do: "restart-hns"; readonly state?: RestartState }
  /** The Node is deleted and its programs end; the machine stays on, with what they have made. */
  | { readonly do: "leave" }
  /** The node registers again and its programs start. Without a range: with the one that it had. */
  | { readonly do: "rejoin"; readonly podCIDR?: string }
  /** The machine's clock jumps. */
  | { readonly do: "set-clock"; readonly byMs: number };

/** Whether a node takes part: `stopped` machines are off, those that have left run none of the cluster's programs. */
export type NodeStanding = "joined" | "stopped" | "left";
