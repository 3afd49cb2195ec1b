/**
 * What is to be done about the routes of a cloud: `reconcile` of cloud-provider's `route_controller.go`, as far as it
 * decides (control-planes.md §6.6, reconcile loop 1 to 4).
 */
import type { Node } from "#contracts/kubernetes/objects.ts";
import {
  type Prefix,
  lastIp,
  parseInterfaceAddress,
  prefixContains,
  prefixFamily,
  prefixOf,
} from "#core/net/ip.ts";
import type { CloudRoute, NodeAddress } from "./cloud-route.ts";

/** `update` is a deletion and a creation. */
export type RouteAction = "keep" | "add" | "update";

export interface RoutePlan {
  /** By node that has ranges or routes, and range: what is still to be done. Work that succeeds becomes `keep`. */
  readonly actions: Map<string, Map<string, RouteAction>>;
  readonly deletions: readonly CloudRoute[];
  readonly creations: readonly { readonly node: Node; readonly route: CloudRoute }[];
  /** Routes must be gone before they are made anew. */
  readonly deletesFirst: boolean;
}

/** The API server fills `podCIDRs` from `podCIDR`; a Node from a file may have only the latter. */
export function podCidrsOf({ spec }: Node): readonly string[] {
  const { podCIDR = "", podCIDRs = [] } = spec ?? {};
  return podCIDRs.length === 0 && podCIDR !== "" ? [podCIDR] : podCIDRs;
}

function addressesOf({ status }: Node): readonly NodeAddress[] {
  return status?.addresses ?? [];
}

function haveEqualAddresses(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ type, address }) => b.some((other) => other.type === type && other.address === address))
  );
}

/** The first route with that destination decides. A gateway that the cloud tells counts before all addresses. */
function actionFor(
  routes: readonly CloudRoute[],
  cidr: string,
  addresses: readonly NodeAddress[],
): RouteAction {
  const route = routes.find(({ destinationCidr }) => destinationCidr === cidr);
  if (route === undefined) return "add";
  const { gatewayAddress = "", enablesNodeAddresses = false, targetNodeAddresses = [] } = route;
  const isRight =
    gatewayAddress !== ""
      ? addresses.some(({ address }) => address === gatewayAddress)
      : !enablesNodeAddresses || haveEqualAddresses(addresses, targetNodeAddresses);
  return isRight ? "keep" : "update";
}

/** Its first or last address lies in a range of the cluster; all other routes are somebody else's. */
function isResponsibleFor({ destinationCidr }: CloudRoute, clusterCidrs: readonly Prefix[]): boolean {
  const parsed = parseInterfaceAddress(destinationCidr);
  if (parsed === undefined) return false;
  const range = prefixOf(parsed.ip, parsed.length);
  return clusterCidrs.some(
    (cluster) =>
      prefixFamily(cluster) === prefixFamily(range) &&
      (prefixContains(cluster, range.address) || prefixContains(cluster, lastIp(range))),
  );
}

/** Compares what the Nodes want with what the cloud has. */
export function planRoutes(
  nodes: readonly Node[],
  routes: readonly CloudRoute[],
  clusterCidrs: readonly Prefix[],
): RoutePlan {
  const routesOf = Map.groupBy(routes, ({ targetNode }) => targetNode);
  routesOf.delete("");
  const actions = new Map<string, Map<string, RouteAction>>();
  for (const name of routesOf.keys()) actions.set(name, new Map());
  const creations: RoutePlan["creations"][number][] = [];
  for (const node of nodes) {
    const { name } = node.metadata;
    const cidrs = podCidrsOf(node);
    if (cidrs.length === 0) continue;
    const ofNode = actions.get(name) ?? new Map<string, RouteAction>();
    actions.set(name, ofNode);
    const addresses = addressesOf(node);
    for (const cidr of cidrs) {
      const action = actionFor(routesOf.get(name) ?? [], cidr, addresses);
      ofNode.set(cidr, action);
      if (action === "keep") continue;
      const route = { name: "", targetNode: name, targetNodeAddresses: addresses, destinationCidr: cidr };
      creations.push({ node, route });
    }
  }
  const deletions = routes.filter((route) => {
    const action = actions.get(route.targetNode)?.get(route.destinationCidr);
    const isUnwanted = route.isBlackhole === true || action === undefined || action === "update";
    return isUnwanted && isResponsibleFor(route, clusterCidrs);
  });
  return { actions, deletions, creations, deletesFirst: routes[0]?.enablesNodeAddresses === true };
}
