/** Policies that azure-vnet adds to those of the configuration, flat as they are (cni.md §5.5). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { JsonObject } from "#core/base/json.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import { type Ip, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import { AZURE_ERROR_CODE, type AzureConfiguration, type AzurePolicy } from "./conf.ts";
import type { AzureAllocation } from "./nics.ts";
import { type NatRule, PROTOCOL_NUMBERS } from "./policies.ts";
import type { AzureSubnet } from "./state.ts";

function internal(value: JsonObject): AzurePolicy {
  return { name: "EndpointPolicy", value };
}

/** One for each IPv4 address, when the configuration asks for loopback DSR. */
export function loopbackPolicies(
  { hasLoopbackDsr }: AzureConfiguration,
  addresses: readonly Ip[],
): readonly AzurePolicy[] {
  if (!hasLoopbackDsr) return [];
  const own = addresses.filter((ip) => familyOf(ip) === 4);
  return own.map((ip) => internal({ Type: "LoopbackDSR", IPAddress: formatIp(ip) }));
}

const AZURE_DNS = "168.63.129.16";
const AZURE_METADATA = "169.254.169.254";

/** Azure's resolver and metadata service want known source addresses (cni.md §5.5). */
export function natRules(
  { isV4Swift, isOverlay, isMultiTenant }: AzureConfiguration,
  { primaryIp, snat }: AzureAllocation,
): readonly NatRule[] {
  if (isV4Swift && !isOverlay) {
    return [
      { virtualIp: primaryIp, destinations: [AZURE_DNS] },
      { virtualIp: "", destinations: [AZURE_METADATA] },
    ];
  }
  return isMultiTenant && snat.forDns ? [{ virtualIp: "", destinations: [AZURE_DNS] }] : [];
}

/** IPv6 over NAT: all but the pods' own range is translated. @throws CniError when the pod has no second address */
export function ipv6NatPolicies(
  { ipv6Mode }: AzureConfiguration,
  subnets: readonly AzureSubnet[],
): readonly AzurePolicy[] {
  if (ipv6Mode !== "ipv6nat") return [];
  const second = subnets[1];
  if (second === undefined) {
    const message = "failed to get ipv6 endpoint policy: network state doesn't have ipv6 subnet";
    throw new CniError(CNI_CODES.internal, message);
  }
  const { ip, length } = second.prefix;
  return [internal({ Type: "OutBoundNAT", ExceptionList: [`${formatIp(ip)}/${length}`] })];
}

/**
 * Port mappings (row 141): flag 1 for IPv4, 2 for IPv6, both for a pod of both families when no host address is given.
 * @throws CniError for a host address that is none; for a protocol that is none (hardened, row 142)
 */
export function azurePortPolicies(
  { portMappings }: AzureConfiguration,
  isDualStack: boolean,
  compat: Compat,
): readonly AzurePolicy[] {
  // Upstream keeps what the mapping before it had when it does not know a protocol.
  let protocol = 0;
  return portMappings.flatMap((mapping, index) => {
    const known = PROTOCOL_NUMBERS[mapping.protocol.trim().toUpperCase()];
    if (known === undefined && compat === "hardened") {
      throw new CniError(
        CNI_CODES.invalidNetworkConfig,
        `field "runtimeConfig.portMappings[${index}].protocol" must be "tcp" or "udp", not ${JSON.stringify(mapping.protocol)}`,
      );
    }
    protocol = known ?? protocol;
    const hostIp = mapping.hostIp === "" ? undefined : parseIp(mapping.hostIp);
    if (mapping.hostIp !== "" && hostIp === undefined)
      throw new CniError(AZURE_ERROR_CODE, `failed to parse hostIP ${mapping.hostIp}`);
    const isIpv6 = isDualStack && hostIp !== undefined && familyOf(hostIp) === 6;
    const make = (flags: number): AzurePolicy =>
      internal({
        Type: "PortMapping",
        Settings: {
          ...(protocol !== 0 && { Protocol: protocol }),
          ...(mapping.containerPort !== 0 && { InternalPort: mapping.containerPort }),
          ...(mapping.hostPort !== 0 && { ExternalPort: mapping.hostPort }),
          ...(mapping.hostIp !== "" && { VIP: mapping.hostIp }),
          Flags: flags,
        },
      });
    const first = make(isIpv6 ? NAT_FLAGS.IPv6 : NAT_FLAGS.LocalRoutedVip);
    return mapping.hostIp === "" && isDualStack ? [first, make(NAT_FLAGS.IPv6)] : [first];
  });
}
