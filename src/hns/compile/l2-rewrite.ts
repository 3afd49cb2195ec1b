/**
 * The two MAC rewrites of L2Bridge (dataplane.md §2.2.3, §2.13).
 *
 * INTERNAL: towards an endpoint of this node, by longest prefix, the destination MAC becomes that endpoint's.
 * EXTERNAL: in the "node's subnet" shape pods share the host's MAC on the wire: outgoing frames get it as source,
 * incoming ones get the pod's as destination. In the "own subnet" shape frames go to the bridge endpoint unchanged and
 * the host routes them, so that layer has no rules.
 */
import { prefixIn } from "#contracts/hcn/documents/address-list.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/sdn-route.ts";
import {
  type Ip,
  type IpFamily,
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  hostPrefix,
  prefixFamily,
} from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { VfpDirection, Rule } from "#dataplane/vfp/rule.ts";
import type { StaticBindingDefinition } from "../ports/datapath.ts";
import type { EndpointRecord } from "../service/records.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";
import { endpointProvenance, networkProvenance, type RoutedEndpoint, sdnRouteSources } from "./provenance.ts";
import { makeRule, makeGroup, groupOf } from "./layers.ts";

/** Inferred: asked behind the group that all ports share. */
const SDN_ROUTE_GROUP_PRIORITY = 200;
/** Inferred: asked before it, which sends all that leaves an L2Tunnel port to the fabric. */
const TUNNEL_ROUTE_GROUP_PRIORITY = 50;
const FAMILIES: readonly IpFamily[] = [4, 6];
const INFERRED = "dataplane.md §2.2.3, §2.13";

function groupName(layer: "INTERNAL" | "EXTERNAL", family: IpFamily, direction: VfpDirection): string {
  return `${layer}_L2_REWRITE_GROUP_IPV${family}_${direction === "out" ? "OUT" : "IN"}`;
}

function addressesOf(endpoint: EndpointRecord, family: IpFamily): readonly Ip[] {
  return endpoint.ipConfigs.map((config) => config.ip).filter((ip) => familyOf(ip) === family);
}

function internalRule(endpoint: EndpointRecord, ip: Ip): Rule {
  return makeRule({
    id: `${endpoint.id}|${formatIp(ip)}`,
    name: `INTERNAL_L2_REWRITE_${formatIp(ip)}_${formatMac(endpoint.mac)}`,
    condition: { destination: [hostPrefix(ip)] },
    action: { type: "transpose", destinationMac: endpoint.mac },
    provenance: endpointProvenance(endpoint),
  });
}

/** The rules towards one endpoint: one per address. */
export function compileInternalRules(endpoint: EndpointRecord): readonly Rule[] {
  return Object.freeze(endpoint.ipConfigs.map((config) => internalRule(endpoint, config.ip)));
}

function familyOfRule(rule: Rule): IpFamily | undefined {
  const [destination] = rule.condition.destination ?? [];
  return destination && prefixFamily(destination);
}

/** The group that all ports of a network share: the rules towards all its attached endpoints. */
export function compileInternalRewrite(rules: readonly Rule[]): readonly Group[] {
  return Object.freeze(
    FAMILIES.flatMap((family) =>
      groupOf(
        { name: groupName("INTERNAL", family, "out"), direction: "out", family, match: "lpm-destination" },
        rules.filter((rule) => familyOfRule(rule) === family),
      ),
    ),
  );
}

/** True for a route that leads over the host: to the node's own address, or one that asks for encapsulation. */
function isOverHost(setting: SdnRoutePolicySetting, managementIp: Ip): boolean {
  const target = `${formatIp(managementIp)}/${familyOf(managementIp) === 4 ? 32 : 128}`;
  const isEncapsulated = setting.NeedEncap === true && (setting.NextHop ?? "") === "";
  return setting.DestinationPrefix.trim() === target || isEncapsulated;
}

/**
 * SDNRoutes over the host: frames get the MAC of its vNIC. To the node's own address that is walk B-8; to the range of
 * services it is how they come to the host's port where load balancers have no DSR (B-4). Inferred: an L2Bridge has
 * nothing to encapsulate with, so `NeedEncap` means through the host (dataplane.md §2.14). Only in the "node's subnet"
 * shape; elsewhere the bridge endpoint takes such frames. AKS writes one for each family (Azure/AgentBaker,
 * staging/cse/windows/azurecnifunc.ps1).
 *
 * Inferred: `isTunnelled` ports have those to services as well, which plugins give them (control-planes.md §6.1) and which
 * only the node can translate; what is for the node itself goes by the fabric like everything else (dataplane.md §2.5).
 */
export function compileHostRoutes(
  endpoint: RoutedEndpoint,
  managementIp: Ip,
  hostMac: Mac,
  isTunnelled: boolean,
): readonly Group[] {
  return Object.freeze(
    FAMILIES.flatMap((family) =>
      groupOf(
        {
          name: `SDN_ROUTE_L2_REWRITE_GROUP_IPV${family}_OUT`,
          direction: "out",
          family,
          priority: isTunnelled ? TUNNEL_ROUTE_GROUP_PRIORITY : SDN_ROUTE_GROUP_PRIORITY,
          match: "lpm-destination",
        },
        hostRouteRules(endpoint, { managementIp, hostMac, isTunnelled, family }),
      ),
    ),
  );
}

function hostRouteRules(
  endpoint: RoutedEndpoint,
  {
    managementIp,
    hostMac,
    isTunnelled,
    family,
  }: {
    readonly managementIp: Ip;
    readonly hostMac: Mac;
    readonly isTunnelled: boolean;
    readonly family: IpFamily;
  },
): readonly Rule[] {
  const layer = isTunnelled ? "EXTERNAL" : "INTERNAL";
  const rewrite = { type: "transpose", destinationMac: hostMac } as const;
  return sdnRouteSources(endpoint).flatMap(({ setting, index, provenance }): readonly Rule[] => {
    if (!isOverHost(setting, managementIp)) return [];
    const prefix = prefixIn(setting.DestinationPrefix, family);
    if (prefix === undefined) return [];
    const isNode = prefix.address === managementIp;
    if (isNode && isTunnelled) return [];
    const label = isNode ? formatIp(managementIp) : formatPrefix(prefix);
    const name = `${layer}_L2_REWRITE_${label}_${formatMac(hostMac)}`;
    const rule = makeRule({
      id: `${index}|${name}`,
      name,
      condition: { destination: [prefix] },
      action: isTunnelled ? { ...rewrite, sourceMac: hostMac } : rewrite,
      provenance,
      inferred: isNode ? "dataplane.md §2.4 B-8" : "dataplane.md §2.4 B-4, §2.14",
    });
    return [rule];
  });
}

/**
 * What ports of the "node's subnet" shape share: everything that leaves gets the host's MAC as source.
 * `nodeIps` are excepted with the endpoints, since what goes to the node itself does not leave (Inferred).
 * `gatewayMac` is of L2Tunnel: it becomes the destination of all that leaves (dataplane.md §2.5, row 2).
 */
export function compileExternalOut(
  network: NetworkFrame,
  endpoints: readonly EndpointRecord[],
  nodeIps: readonly Ip[],
  hostMac: Mac,
  gatewayMac?: Mac,
): readonly Group[] {
  const rewrite = { type: "transpose", sourceMac: hostMac } as const;
  const action = gatewayMac === undefined ? rewrite : { ...rewrite, destinationMac: gatewayMac };
  return Object.freeze(
    FAMILIES.map((family) => {
      const inside: readonly Prefix[] = [
        ...endpoints.flatMap((endpoint) => addressesOf(endpoint, family)),
        ...nodeIps.filter((ip) => familyOf(ip) === family),
      ].map(hostPrefix);
      const rule = makeRule({
        name: `EXTERNAL_L2_REWRITE_OUT_${formatMac(hostMac)}`,
        condition: { destinationExcept: inside },
        action,
        provenance: networkProvenance(network),
        inferred: INFERRED,
      });
      return makeGroup({ name: groupName("EXTERNAL", family, "out"), direction: "out", family }, [rule]);
    }),
  );
}

function externalInRule(endpoint: EndpointRecord, name: string, condition: Condition): Rule {
  return makeRule({
    name,
    condition,
    action: { type: "transpose", destinationMac: endpoint.mac },
    provenance: endpointProvenance(endpoint),
    inferred: INFERRED,
  });
}

/** The errors about answers of a mapped port: one rule per address that is mapped. */
function errorRules(
  endpoint: EndpointRecord,
  family: IpFamily,
  bindings: readonly StaticBindingDefinition[],
): readonly Rule[] {
  const protocol = family === 4 ? IpProtocol.icmp : IpProtocol.icmpv6;
  const mapped = new Set(bindings.map(({ ip }) => ip).filter((ip) => familyOf(ip) === family));
  return [...mapped].map((ip) =>
    externalInRule(endpoint, `EXTERNAL_L2_REWRITE_IN_${formatIp(ip)}_${protocol}`, {
      protocols: [protocol],
      destination: [hostPrefix(ip)],
    }),
  );
}

/**
 * What one port has for itself: frames that come to it with the host's MAC get its own. They come for its addresses
 * (only in the "node's subnet" shape), or for a port of the node that it maps. This layer comes before NAT on the way
 * in, so a mapping is still known by the node's address.
 *
 * Of ICMP to the node's address only errors about what the port has sent come here: the switch finds them by the packet
 * that they quote. Inferred, as that is (dataplane.md §1.10, §11 Q-9).
 */
export function compileExternalIn(
  endpoint: EndpointRecord,
  isAddressed: boolean,
  bindings: readonly StaticBindingDefinition[],
): readonly Group[] {
  const groups = FAMILIES.flatMap((family) => {
    const addresses = isAddressed ? addressesOf(endpoint, family) : [];
    const rules = [
      ...addresses.map((ip) =>
        externalInRule(endpoint, `EXTERNAL_L2_REWRITE_IN_${formatIp(ip)}_${formatMac(endpoint.mac)}`, {
          destination: [hostPrefix(ip)],
        }),
      ),
      ...bindings
        .filter(({ ip }) => familyOf(ip) === family)
        .map(({ ip, protocol, port }) =>
          externalInRule(endpoint, `EXTERNAL_L2_REWRITE_IN_${formatIp(ip)}_${port}_${protocol}`, {
            protocols: [protocol],
            destination: [hostPrefix(ip)],
            destinationPorts: [{ first: port, last: port }],
          }),
        ),
      ...errorRules(endpoint, family, bindings),
    ];
    return groupOf({ name: groupName("EXTERNAL", family, "in"), direction: "in", family }, rules);
  });
  return Object.freeze(groups);
}
