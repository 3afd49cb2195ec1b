/**
 * What the Routes controller asks of a cloud: `Routes` of k8s.io/cloud-provider (`cloud.go`; control-planes.md §6.6) as
 * values. An order takes its time, so that whoever gave it looks at its outcome later: nothing here waits.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";

/** An address of a Node's status. */
export type NodeAddress = NonNullable<NonNullable<Node["status"]>["addresses"]>[number];

/** A route to the pods of one node, as the cloud has it. */
export interface CloudRoute {
  /** The cloud's own name for it. */
  readonly name: string;
  /** Empty: the cloud does not know whose it is. */
  readonly targetNode: string;
  readonly destinationCidr: string;
  /** The cloud tells the addresses that its routes lead to, and wants them kept up to date. */
  readonly enablesNodeAddresses?: boolean;
  readonly targetNodeAddresses?: readonly NodeAddress[];
  /** The one address that it leads to, from a cloud that tells it. */
  readonly gatewayAddress?: string;
  /** What it leads to is gone. */
  readonly isBlackhole?: boolean;
}

/** Why the cloud did not do something. */
export interface RouteFault {
  readonly code: KnowledgeCode;
  readonly message: string;
  /** Somebody else changed it meanwhile: worth another try at once. */
  readonly isConflict?: boolean;
}

export type Outcome = { readonly state: "done" } | { readonly state: "failed"; readonly fault: RouteFault };

export const DONE: Outcome = Object.freeze({ state: "done" });

export function failedWith(fault: RouteFault): Outcome {
  return Object.freeze({ state: "failed", fault });
}

/** An order to the cloud. It has an outcome when it has ended. */
export interface RouteOperation {
  outcome: Outcome | undefined;
}

export type RouteListing =
  | { readonly state: "listed"; readonly routes: readonly CloudRoute[] }
  | { readonly state: "failed"; readonly fault: RouteFault };

/** The routes of one cloud. Plain data, as all of a simulated world. */
export interface RoutesProvider {
  /** The Nodes that there are, before anything else is asked. */
  observeNodes(nodes: readonly Node[]): void;
  listRoutes(nowMs: number): RouteListing;
  /** @param nameHint The uid of the Node, for clouds that need a name. */
  createRoute(nameHint: string, route: CloudRoute): RouteOperation;
  /** @param route As `listRoutes` has told it. */
  deleteRoute(route: CloudRoute): RouteOperation;
  /** Does what is due. @returns how long until there is more to do; undefined: nothing is under way. */
  advance(nowMs: number): number | undefined;
}
