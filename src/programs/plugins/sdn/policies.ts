/** The policies of an endpoint and of a network that is made on demand (cni.md §2.4). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError, PluginPanic } from "#contracts/cni/error.ts";
import { isJsonObject } from "#core/base/json.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { PortMapping } from "../windows-endpoint/plugin-call.ts";
import { decodeHcnPolicy, parsePortProtocol } from "../windows-endpoint/endpoint-plan.ts";
import type { SdnConfiguration, SdnFlags } from "./conf.ts";

/** The priority of the ACL for a mapped port. */
const PORT_ACL_PRIORITY = 1_000;

function portMapping(mapping: PortMapping, protocol: number, vip: string, flags: number): PolicyDocument {
  return {
    Type: "PortMapping",
    Settings: {
      Protocol: protocol,
      InternalPort: mapping.containerPort,
      ExternalPort: mapping.hostPort,
      ...(vip !== "" && { VIP: vip }),
      ...(flags !== 0 && { Flags: flags }),
    },
  };
}

function portAcl({ containerPort }: PortMapping, protocol: number): PolicyDocument {
  return {
    Type: "ACL",
    Settings: {
      Protocols: `${protocol}`,
      Action: "Allow",
      Direction: "In",
      LocalPorts: `${containerPort}`,
      Priority: PORT_ACL_PRIORITY,
    },
  };
}

function ofMapping(mapping: PortMapping, flags: SdnFlags): readonly PolicyDocument[] {
  const protocol = parsePortProtocol(mapping.protocol);
  if (protocol === undefined) {
    throw new CniError(
      CNI_CODES.internal,
      "failed during GetEndpointInfo from netconf: invalid protocol supplied to port mapping policy",
    );
  }
  const own = flags.localRoutedPortMapping ? NAT_FLAGS.LocalRoutedVip : 0;
  return [
    portMapping(mapping, protocol, mapping.hostIp, own),
    // The copy for IPv6 has no address of its own (row 108).
    ...(flags.enableDualStack ? [portMapping(mapping, protocol, "", own | NAT_FLAGS.IPv6)] : []),
    ...(flags.allowAclPortMapping ? [portAcl(mapping, protocol)] : []),
  ];
}

/** Port mappings, with what belongs to each. @throws CniError for a protocol that is none. */
export function portPolicies({ portMappings, flags }: SdnConfiguration): readonly PolicyDocument[] {
  return portMappings.flatMap((mapping) => ofMapping(mapping, flags));
}

/**
 * The policies of `AdditionalArgs` with the name `name`, which has to be written exactly so.
 * @throws PluginPanic for a value that is no policy (upstream), CniError (7) that names it (hardened).
 */
export function additionalPolicies(
  { additionalArguments }: SdnConfiguration,
  name: "EndpointPolicy" | "NetworkPolicy",
  compat: Compat,
): readonly PolicyDocument[] {
  return additionalArguments.flatMap((argument, index) => {
    if (argument.name !== name) return [];
    const { value } = argument;
    const policy = isJsonObject(value) ? decodeHcnPolicy(value) : undefined;
    if (policy !== undefined) return [policy];
    if (compat === "upstream") throw new PluginPanic("json: cannot unmarshal value into a policy");
    throw new CniError(
      CNI_CODES.invalidNetworkConfig,
      `field "AdditionalArgs[${index}].value" must be {"Type": "…", "Settings": {…}}`,
    );
  });
}

/** Loopback DSR for the pod's own address. */
export function loopbackPolicy(address: string): PolicyDocument {
  return { Type: "OutBoundNAT", Settings: { Destinations: [address] } };
}
