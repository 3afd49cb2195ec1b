/** What of a type of network this version does not act out; objects say so in their health data. */
import type { NetworkType } from "../../hcn/network.ts";
import type { EndpointPolicyType } from "../../hcn/policy-type.ts";

const SHARING = "the DHCP server of Internet Connection Sharing does not run in this version";

/** Undefined: the type is complete. */
const TYPE_LIMITS: { readonly [Type in NetworkType]: string | undefined } = {
  NAT: undefined,
  ICS: SHARING,
  ConstrainedICS: SHARING,
  Transparent: undefined,
  L2Bridge: undefined,
  L2Tunnel: undefined,
  Overlay: undefined,
  Private: undefined,
  Internal: undefined,
  Mirrored: "frames of the mirrored adapter are not steered to endpoints by this version",
  Infiniband: undefined,
};

/** Why a network of `type` is less than on Windows. */
export function limitOfType(type: NetworkType): string | undefined {
  return TYPE_LIMITS[type];
}

/** Why a policy that comes to rules has no effect where ports have none. */
export function ruleLimitOf(type: NetworkType): string {
  return `ports of ${type} networks get no rules from this version`;
}

/** Policies of endpoints that come to rules. */
export const RULE_POLICIES: readonly EndpointPolicyType[] = [
  "PortMapping",
  "ACL",
  "TierAcl",
  "OutBoundNAT",
  "SDNRoute",
  "ProviderAddress",
  "L4Proxy",
];
