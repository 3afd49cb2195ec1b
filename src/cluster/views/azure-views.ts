/** What counts for the adapters of nodes in a virtual network of Azure: routes and rules, as its portal lists them. */
import type { ValueOf } from "#core/base/shape.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { DIRECTIONS, type SecurityPorts, type SecuritySide } from "#dataplane/fabric/azure/security-group.ts";
import { VirtualNetwork } from "#dataplane/fabric/azure/virtual-network.ts";
import type { Cluster } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import { selectNodes } from "./inventory.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

export const EFFECTIVE_ROUTE_VIEW = {
  text: "A route of a node in a virtual network of Azure.",
  fields: {
    node: "text",
    source: ["Default", "VirtualNetworkGateway", "User"],
    state: { is: ["Active", "Invalid"], text: "Invalid: a stronger source has the same prefix." },
    prefix: "text",
    nextHopType: "text",
  },
  optional: {
    nextHop: { is: "text", text: "Of a virtual appliance." },
    name: { is: "text", text: "Of a user-defined route." },
  },
} as const;
export type EffectiveRouteView = ValueOf<typeof EFFECTIVE_ROUTE_VIEW>;

export const EFFECTIVE_RULE_VIEW = {
  text: "A security rule of a node's adapter or subnet.",
  fields: {
    node: "text",
    level: { is: ["Subnet", "NetworkInterface"], text: "Where its group is." },
    group: "text",
    direction: ["Inbound", "Outbound"],
    priority: "integer",
    name: "text",
    access: ["Allow", "Deny"],
    protocol: "text",
    source: "text",
    sourcePorts: "text",
    destination: "text",
    destinationPorts: "text",
  },
} as const;
export type EffectiveRuleView = ValueOf<typeof EFFECTIVE_RULE_VIEW>;

/** @throws RequestError for a cluster in no virtual network. */
function networkOf({ underlay }: Cluster): VirtualNetwork {
  const rules = underlay.physicalHost?.rules;
  if (rules instanceof VirtualNetwork) return rules;
  throw new RequestError("unknown-object", WORDS.noVirtualNetwork, WORDS.adviceVirtualNetwork);
}

/** @throws RequestError also for a node that does not exist. */
export function viewEffectiveRoutes(cluster: Cluster, name?: string): readonly EffectiveRouteView[] {
  const network = networkOf(cluster);
  return selectNodes(cluster, name).flatMap(({ spec }) =>
    network
      .effectiveRoutes(spec.name)
      .map(({ source, state, prefix, nextHopType, nextHop, name: route }) => ({
        node: spec.name,
        source,
        state,
        prefix: formatPrefix(prefix),
        nextHopType,
        ...(nextHop === undefined ? {} : { nextHop: formatIp(nextHop) }),
        ...(route === undefined ? {} : { name: route }),
      })),
  );
}

function formatSide(side: SecuritySide): string {
  switch (side.kind) {
    case "any":
      return "*";
    case "ranges":
      return side.ranges.map(formatPrefix).join(",");
    case "tag":
    case "service":
      return side.tag;
    case "groups":
      return side.groups.join(",");
  }
}

function formatPorts(ports: readonly SecurityPorts[]): string {
  if (ports.length === 0) return "*";
  return ports.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** @throws RequestError also for a node that does not exist. */
export function viewEffectiveRules(cluster: Cluster, name?: string): readonly EffectiveRuleView[] {
  const network = networkOf(cluster);
  return selectNodes(cluster, name).flatMap(({ spec }) =>
    DIRECTIONS.flatMap((direction) =>
      network.groupsOf(spec.name, direction).flatMap(({ level, group }) =>
        group.list(direction).map((rule) => ({
          node: spec.name,
          level,
          group: group.name,
          direction,
          priority: rule.priority,
          name: rule.name,
          access: rule.access,
          protocol: rule.protocol,
          source: formatSide(rule.source),
          sourcePorts: formatPorts(rule.sourcePorts),
          destination: formatSide(rule.destination),
          destinationPorts: formatPorts(rule.destinationPorts),
        })),
      ),
    ),
  );
}
