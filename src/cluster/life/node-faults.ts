/**
 * Faults of HNS on a node of a running cluster, by name: what the calls of its programs meet while the fault is there.
 *
 * Only those that answer at once: the programs of a cluster work until nothing changes any more, and would wait for a call that
 * hangs for ever. Calls that hang or take their time are for an HNS that is served (`mullion hns fault`).
 */
import type { HnsFault } from "#hns/failures/faults/fault.ts";
import type { ClusterNode } from "../cluster.ts";
import { faultingClientOf } from "../machines/windows-node.ts";
import { NODE_FAULT_NAMES, type NodeFaultName } from "./node-change.ts";

const ENDPOINT = Object.freeze({ operation: "create", kind: "Endpoint" } as const);
const LOAD_BALANCER = Object.freeze({ operation: "create", kind: "LoadBalancer" } as const);

/** `Element not found`, which HNS answers to many calls that it cannot carry out (hcn.md §6.2). */
const ERROR = "ERROR_NOT_FOUND";

const FAULTS: Readonly<Record<NodeFaultName, HnsFault>> = {
  "hns-away": { effect: "stop" },
  "ports-exhausted": { effect: "exhaust-ports" },
  "endpoints-refused": { effect: "fail", error: ERROR, calls: ENDPOINT },
  "load-balancers-refused": { effect: "fail", error: ERROR, calls: LOAD_BALANCER },
  "next-endpoint-refused": { effect: "fail", error: ERROR, calls: ENDPOINT, times: 1 },
  "next-load-balancer-refused": { effect: "fail", error: ERROR, calls: LOAD_BALANCER, times: 1 },
  "notifications-lost": { effect: "lose-notifications" },
};

/** Puts a fault in force, or takes it away; to do so twice changes nothing. */
export async function setNodeFault(node: ClusterNode, name: NodeFaultName, isOn: boolean): Promise<void> {
  const { faults } = faultingClientOf(node);
  const wasOn = node.faults?.has(name) === true;
  if (isOn && !wasOn) await faults.add({ ...FAULTS[name], id: name });
  if (!isOn && wasOn) await faults.remove(name);
  // What programs could not do stays undone for a while: the node is like no other from now on.
  node.isApart = true;
}

export interface NodeFaultStatus {
  readonly name: NodeFaultName;
  /** Calls that it has struck. */
  readonly struck: number;
}

/** Faults in force on a node, and what they have struck. */
export function listNodeFaults({ faults }: ClusterNode): readonly NodeFaultStatus[] {
  return NODE_FAULT_NAMES.flatMap((name) => {
    const active = faults?.get(name);
    return active === undefined ? [] : [{ name, struck: active.status(0).struck }];
  });
}
