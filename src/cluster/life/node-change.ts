/** What can happen to a node of a running cluster: what its machine, its people or a fault do. */
import type { ValueOf } from "#core/base/shape.ts";
import { RESTART_STATES } from "#hns/failures/faults/fault.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const NODE_NAME = { text: "A node.", fields: { node: { is: "text", text: "Its name." } } } as const;

/** Faults that the calls of a node's programs to HNS can meet (`node-faults.ts`). */
export const NODE_FAULT_NAMES = [
  "hns-away",
  "ports-exhausted",
  "endpoints-refused",
  "load-balancers-refused",
  "next-endpoint-refused",
  "next-load-balancer-refused",
  "notifications-lost",
] as const;
export type NodeFaultName = (typeof NODE_FAULT_NAMES)[number];

/** `POST /node`: the shapes of what happens, by `do`. */
export const NODE_REQUEST = {
  oneOf: [
    {
      text: (): string => WORDS.nodeRequestReboot,
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: { do: ["reboot"] },
    },
    {
      text: (): string => WORDS.nodeRequestStop,
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: { do: ["stop"] },
    },
    {
      text: (): string => WORDS.nodeRequestStart,
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: { do: ["start"] },
    },
    {
      text: "HNS of a Windows node restarts.",
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: { do: ["restart-hns"] },
      optional: {
        state: {
          is: (): typeof RESTART_STATES => RESTART_STATES,
          text: (): string => WORDS.nodeRequestRestartHnsState,
        },
      },
    },
    {
      text: (): string => WORDS.nodeRequestLeave,
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: { do: ["leave"] },
    },
    {
      text: "A node that has left registers again and its programs start.",
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: { do: ["rejoin"] },
      optional: { podCIDR: { is: "text", text: "The range for its pods. Absent: the one that it had." } },
    },
    {
      text: (): string => WORDS.nodeRequestSetQuirk,
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: {
        do: ["set-quirk"],
        quirk: { is: "text", text: "Its name: GET /stacks/quirks lists them." },
        setting: { is: "text", text: (): string => WORDS.quirkSetting },
      },
    },
    {
      text: (): string => WORDS.nodeRequestSetFault,
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: {
        do: ["set-fault"],
        fault: { is: (): typeof NODE_FAULT_NAMES => NODE_FAULT_NAMES, text: "Its name." },
        isOn: { is: "boolean", text: "In force from now on, or gone." },
      },
    },
    {
      text: "The machine's clock jumps. With flannel only.",
      base: (): typeof NODE_NAME => NODE_NAME,
      fields: {
        do: ["set-clock"],
        byMs: {
          is: "integer",
          // A hundred years: further clocks do not jump.
          min: -3_155_760_000_000,
          max: 3_155_760_000_000,
          text: "How far the clock jumps, in milliseconds.",
        },
      },
    },
  ],
} as const;
export type NodeRequest = ValueOf<typeof NODE_REQUEST>;

type WithoutNode<T> = T extends unknown ? Omit<T, "node"> : never;
export type NodeChange = WithoutNode<NodeRequest>;

/** Whether a node takes part: `stopped` machines are off, those that have left run none of the cluster's programs. */
export const NODE_STANDINGS = ["joined", "stopped", "left"] as const;
export type NodeStanding = (typeof NODE_STANDINGS)[number];
