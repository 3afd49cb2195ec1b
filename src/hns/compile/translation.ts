/**
 * A network behind the host → what the host's WinNAT does for it (dataplane.md §2.7): source NAT of its IPv4 prefixes,
 * and a static mapping per PortMapping policy and protocol of its attached endpoints. IPv6 is not translated (§2.11).
 */
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import type { StaticMapping } from "#dataplane/host/winnat/nat-program.ts";
import { type Ipv4, parseIp, prefixFamily } from "#core/net/ip.ts";
import type { TranslationDefinition } from "../ports/datapath.ts";
import type { EndpointRecord } from "../service/endpoint/endpoint-record.ts";
import type { NetworkRecord } from "../service/network/network-record.ts";
import { mappedProtocols } from "../service/endpoint/port-mapping-table.ts";
import { isIpv6Mapping } from "./port-mapping.ts";
import { endpointProvenance, networkProvenance, withPolicy } from "./provenance.ts";

function ipv4Of(endpoint: EndpointRecord): Ipv4 | undefined {
  for (const { ip } of endpoint.ipConfigs) if (typeof ip === "number") return ip;
  return undefined;
}

/** Inferred: a mapping without an internal port leads to the port that it has outside. */
function mappingsOf(endpoint: EndpointRecord): readonly StaticMapping[] {
  const internalIp = ipv4Of(endpoint);
  if (internalIp === undefined || endpoint.attachment?.kind === "host") return [];
  return endpoint.policies.flatMap((policy, index) => {
    if (policy.Type !== "PortMapping" || isIpv6Mapping(policy.Settings)) return [];
    const { ExternalPort: externalPort = 0, InternalPort: wanted, VIP } = policy.Settings;
    const vip = parseIp(VIP ?? "");
    const provenance = withPolicy(endpointProvenance(endpoint), policy.Type, index);
    return mappedProtocols(policy.Settings).map((protocol) =>
      Object.freeze({
        protocol,
        externalIp: typeof vip === "number" ? vip : undefined,
        externalPort,
        internalIp,
        internalPort: wanted === 0 ? externalPort : wanted,
        provenance,
      }),
    );
  });
}

function hasDnsProxy({ flags }: NetworkRecord): boolean {
  return (flags & NETWORK_FLAGS.EnableDnsProxy) !== 0;
}

function gatewaysOf({ subnets }: NetworkRecord): readonly Ipv4[] {
  return subnets.flatMap(({ gateway }) => (typeof gateway === "number" ? [gateway] : []));
}

/** True when an ACL lets the endpoint open connections. */
function mayOpen({ policies }: EndpointRecord): boolean {
  return policies.some(
    (policy) =>
      policy.Type === "ACL" && policy.Settings.Action === "Allow" && policy.Settings.Direction === "Out",
  );
}

/** `deniesOutbound`: the node has the defect `nat-denies-outbound`. */
export function compileTranslation(
  network: NetworkRecord,
  attached: readonly EndpointRecord[],
  deniesOutbound: boolean,
): TranslationDefinition {
  const closed = deniesOutbound ? attached.filter((endpoint) => !mayOpen(endpoint)) : [];
  return Object.freeze({
    prefixes: Object.freeze(
      network.subnets.map(({ prefix }) => prefix).filter((prefix) => prefixFamily(prefix) === 4),
    ),
    mappings: Object.freeze(attached.flatMap(mappingsOf)),
    provenance: networkProvenance(network),
    ...(closed.length > 0 && { closed: Object.freeze(closed.flatMap((endpoint) => ipv4Of(endpoint) ?? [])) }),
    dnsProxies: Object.freeze(hasDnsProxy(network) ? gatewaysOf(network) : []),
  });
}
