/** Routes of Azure: user-defined routes of one route table (control-planes.md §6.6; cloud-provider-azure `azure_routes.go`). */
import type { Node } from "#contracts/kubernetes/objects.ts";
import { familyOf, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import {
  type CloudRoute,
  DONE,
  type RouteListing,
  type RouteOperation,
  type RoutesProvider,
  failedWith,
} from "../cloud-route.ts";
import {
  DelayedRouteUpdater,
  type RouteUpdaterOptions,
  nodeNameOf,
  routeNameOf,
} from "./delayed-route-updater.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** A Node with this label, value `false`, is no machine of Azure's. */
const MANAGED_LABEL = "kubernetes.azure.com/managed";

export interface AzureRoutesOptions extends RouteUpdaterOptions {
  /** The private addresses of each machine's network interface, the primary one first, by name in lower case. */
  readonly privateIps: ReadonlyMap<string, readonly string[]>;
}

/** Azure looks at a deletion in two steps: the name with the range, then the one from before two families. */
interface TwoStepDeletion {
  readonly operation: RouteOperation;
  readonly first: RouteOperation;
  second: RouteOperation | undefined;
  readonly secondName: string;
}

/** Names are compared without regard to case, as Azure's. */
function keyOf(nodeName: string): string {
  return nodeName.toLowerCase();
}

function isUnmanaged({ metadata }: Node): boolean {
  return metadata.labels?.[MANAGED_LABEL]?.toLowerCase() === "false";
}

export class AzureRoutes implements RoutesProvider {
  private readonly options: AzureRoutesOptions;
  private readonly updater: DelayedRouteUpdater;
  private nodeNames = new Set<string>();
  private unmanaged = new Set<string>();
  /** Of unmanaged nodes: the range that was asked for last, which is all that upstream remembers. */
  private readonly unmanagedCidrs = new Map<string, CloudRoute>();
  private deletions: TwoStepDeletion[] = [];

  constructor(options: AzureRoutesOptions) {
    this.options = options;
    this.updater = new DelayedRouteUpdater(options);
  }

  observeNodes(nodes: readonly Node[]): void {
    this.nodeNames = new Set(nodes.map(({ metadata }) => keyOf(metadata.name)));
    this.unmanaged = new Set(nodes.filter(isUnmanaged).map(({ metadata }) => keyOf(metadata.name)));
  }

  /** Whatever stands in the table, and the ranges of unmanaged nodes, so that they are not asked for again. */
  listRoutes(nowMs: number): RouteListing {
    const { isDualStack } = this.options;
    const inTable = (this.updater.read(nowMs)?.routes ?? []).map(({ name, addressPrefix }) => ({
      name,
      targetNode: nodeNameOf(name, isDualStack),
      destinationCidr: addressPrefix,
    }));
    const remembered = [...this.unmanagedCidrs].filter(([key]) => this.unmanaged.has(key));
    return { state: "listed", routes: [...inTable, ...remembered.map(([, route]) => route)] };
  }

  createRoute(_nameHint: string, { targetNode, destinationCidr }: CloudRoute): RouteOperation {
    const key = keyOf(targetNode);
    if (this.unmanaged.has(key)) {
      this.unmanagedCidrs.set(key, Object.freeze({ name: targetNode, targetNode, destinationCidr }));
      return { outcome: DONE };
    }
    const nextHopIpAddress = this.nextHopFor(key, destinationCidr);
    if (nextHopIpAddress === undefined)
      return {
        outcome: failedWith({
          code: "route-without-next-hop",
          message: WORDS.routeWithoutNextHop({ targetNode, destinationCidr }),
        }),
      };
    const name = routeNameOf(targetNode, destinationCidr, this.options.isDualStack);
    return this.updater.add(
      name,
      Object.freeze({
        name,
        addressPrefix: destinationCidr,
        nextHopType: "VirtualAppliance",
        nextHopIpAddress,
      }),
    );
  }

  deleteRoute({ targetNode, destinationCidr }: CloudRoute): RouteOperation {
    const key = keyOf(targetNode);
    if (this.unmanaged.has(key)) {
      this.unmanagedCidrs.delete(key);
      return { outcome: DONE };
    }
    const { isDualStack } = this.options;
    const first = this.updater.add(routeNameOf(targetNode, destinationCidr, isDualStack), undefined);
    if (!isDualStack) return first;
    const operation: RouteOperation = { outcome: undefined };
    this.deletions.push({ operation, first, second: undefined, secondName: targetNode });
    return operation;
  }

  advance(nowMs: number): number | undefined {
    this.updater.advance(nowMs, this.nodeNames);
    for (const deletion of this.deletions) this.follow(deletion);
    this.deletions = this.deletions.filter(({ operation }) => operation.outcome === undefined);
    return this.updater.advance(nowMs, this.nodeNames);
  }

  private follow(deletion: TwoStepDeletion): void {
    const { operation, first, secondName } = deletion;
    if (first.outcome?.state === "failed") operation.outcome = first.outcome;
    else if (first.outcome !== undefined) deletion.second ??= this.updater.add(secondName, undefined);
    operation.outcome ??= deletion.second?.outcome;
  }

  /** The first address of the range's family; the primary one where there is one family only. */
  private nextHopFor(key: string, cidr: string): string | undefined {
    const range = parseInterfaceAddress(cidr);
    if (range === undefined) return undefined;
    return this.options.privateIps.get(key)?.find((text) => {
      const ip = parseIp(text);
      return ip !== undefined && familyOf(ip) === familyOf(range.ip);
    });
  }
}
