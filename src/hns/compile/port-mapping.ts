/**
 * PortMapping policies → static NAT rules of SLB_NAT_LAYER on the endpoint's own port, and the bindings that steer
 * frames to it (dataplane.md §2.4 B-7 hostPort, §2.14).
 *
 * Inferred: the rule stands on the pod's port, as that of a local back end does (§2.2.3); Appendix A puts it on the
 * host port, which gives the same packets on the wire.
 *
 * The rule stands with and without the flag LocalRoutedVip. hcn.md §3.3 says that a mapping needs the flag on
 * L2Bridge; cni.md §8 and the reports behind it (Azure/azure-container-networking #1863 and #1922, Azure/AKS
 * #3620) say that without it only the node's own connections to the port fail, and those are more specific. With it the
 * host's stack gives such packets to the switch (Inferred: as it does for node ports, #dataplane/host/local-ports.ts).
 */
import { NAT_FLAGS, type PortMappingPolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import { type Ip, type Ipv4, familyOf, formatIp, hostPrefix, parseIp } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { PortClaimDefinition, StaticBindingDefinition } from "../ports/datapath.ts";
import type { EndpointRecord } from "../service/records.ts";
import { mappedProtocols } from "../service/endpoint/port-mapping-table.ts";
import { policiesOf, type PlacedSetting } from "./provenance.ts";
import { makeRule, groupOf } from "./layers.ts";

/** True when the mapping is for IPv6 (hcn.md §3.3, flag 2). */
export function isIpv6Mapping(setting: PortMappingPolicySetting): boolean {
  return ((setting.Flags ?? 0) & NAT_FLAGS.IPv6) !== 0 || setting.VIP?.includes(":") === true;
}

export interface PortMappings {
  readonly groups: readonly Group[];
  readonly bindings: readonly StaticBindingDefinition[];
  /** Ports whose packets the host's own stack leaves to the switch: the node's own connections (LocalRoutedVip). */
  readonly claims: readonly PortClaimDefinition[];
  /** The addresses that answers leave with. */
  readonly addresses: readonly Ip[];
}

/** Of an endpoint without such policies. */
export const NO_MAPPINGS: PortMappings = Object.freeze({
  groups: [],
  bindings: [],
  claims: [],
  addresses: [],
});

interface Mapping extends PlacedSetting<PortMappingPolicySetting> {
  readonly family: 4 | 6;
  readonly vip: Ip;
  readonly ip: Ip;
}

function mappingsOf(
  endpoint: EndpointRecord,
  managementIp: Ipv4 | undefined,
  families: readonly (4 | 6)[],
): readonly Mapping[] {
  const mappings: Mapping[] = [];
  for (const placed of policiesOf(endpoint, "PortMapping")) {
    const { setting } = placed;
    const family = isIpv6Mapping(setting) ? 6 : 4;
    // The service has written the management address into a mapping of IPv6 that names none.
    const fallback = family === 4 ? managementIp : undefined;
    const vip = setting.VIP === undefined || setting.VIP === "" ? fallback : parseIp(setting.VIP);
    const ip = endpoint.ipConfigs.map((config) => config.ip).find((address) => familyOf(address) === family);
    if (vip === undefined || familyOf(vip) !== family || ip === undefined || !families.includes(family))
      continue;
    mappings.push({ ...placed, family, vip, ip });
  }
  return mappings;
}

function compileRule(endpoint: EndpointRecord, mapping: Mapping, protocol: number): Rule {
  const { setting, vip, ip, index, provenance } = mapping;
  const external = setting.ExternalPort ?? 0;
  const name = `NAT_${endpoint.id}_${formatIp(vip)}_${external}_${protocol}`;
  return makeRule({
    id: `${index}|${name}`,
    name,
    condition: {
      protocols: [protocol],
      destination: [hostPrefix(vip)],
      destinationPorts: [{ first: external, last: external }],
    },
    action: { type: "nat", side: "destination", ip, port: setting.InternalPort },
    isStateful: true,
    provenance,
    inferred: "dataplane.md §2.14",
  });
}

/** Protocols whose ports the switch and VFP know. */
function portProtocols(setting: PortMappingPolicySetting): readonly number[] {
  return mappedProtocols(setting).filter(
    (protocol) => protocol === IpProtocol.tcp || protocol === IpProtocol.udp,
  );
}

/** The rules of one family. */
function groupsOf(endpoint: EndpointRecord, mappings: readonly Mapping[], family: 4 | 6): readonly Group[] {
  const rules = mappings
    .filter((mapping) => mapping.family === family)
    .flatMap((mapping) =>
      portProtocols(mapping.setting).map((protocol) => compileRule(endpoint, mapping, protocol)),
    );
  return groupOf({ name: `SLB_GROUP_NAT_IPv${family}_IN`, direction: "in", family }, rules);
}

/** Compiles the PortMapping policies of an endpoint that have an effect, of these families. */
export function compilePortMappings(
  endpoint: EndpointRecord,
  managementIp: Ipv4 | undefined,
  families: readonly (4 | 6)[],
): PortMappings {
  const mappings = mappingsOf(endpoint, managementIp, families);
  if (mappings.length === 0) return NO_MAPPINGS;
  const groups = ([4, 6] as const).flatMap((family) => groupsOf(endpoint, mappings, family));
  const bindings = mappings.flatMap(({ vip, setting }) =>
    portProtocols(setting).map((protocol) =>
      Object.freeze({ ip: vip, protocol, port: setting.ExternalPort ?? 0 }),
    ),
  );
  const claims = mappings
    .filter(({ setting }) => ((setting.Flags ?? 0) & NAT_FLAGS.LocalRoutedVip) !== 0)
    .flatMap(({ family, setting }) =>
      portProtocols(setting).map((protocol) =>
        Object.freeze({ family, protocol, port: setting.ExternalPort ?? 0, code: undefined }),
      ),
    );
  return Object.freeze({
    groups: Object.freeze(groups),
    bindings: Object.freeze(bindings),
    claims: Object.freeze(claims),
    addresses: Object.freeze([...new Set(mappings.map((mapping) => mapping.vip))]),
  });
}
