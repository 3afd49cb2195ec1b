/** The policies of an endpoint and of a network that is made on demand (cni.md §2.4). */
import type { SdnDifferences } from "./differences.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { isJsonObject } from "#core/base/json.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { PortMapping } from "../windows-endpoint/plugin-call.ts";
import { decodeHcnPolicy, parsePortProtocol } from "../windows-endpoint/endpoint-plan.ts";
import type { SdnConfiguration, SdnFlags } from "./conf.ts";

/** The priority of the ACL for a mapped port. */
const PORT_ACL_PRIORITY = 1_000;

const PORT_MASK = 0xffff;

/** As Go writes the setting: ports have 16 bits, and what is zero or empty is left out. */
function portMapping(mapping: PortMapping, protocol: number, vip: string, flags: number): PolicyDocument {
  const internalPort = mapping.containerPort & PORT_MASK;
  const externalPort = mapping.hostPort & PORT_MASK;
  return {
    Type: "PortMapping",
    Settings: {
      ...(protocol !== 0 && { Protocol: protocol }),
      ...(internalPort !== 0 && { InternalPort: internalPort }),
      ...(externalPort !== 0 && { ExternalPort: externalPort }),
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

/** A port that 16 bits cannot hold would be another one. @throws CniError (7) */
function checkPorts({ hostPort, containerPort }: PortMapping): void {
  for (const [name, port] of Object.entries({ hostPort, containerPort })) {
    if (port >= 0 && port <= PORT_MASK) continue;
    throw new CniError(CNI_CODES.invalidNetworkConfig, `"portMappings": ${name} ${port} is not a port`);
  }
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
export function portPolicies(
  { portMappings, flags }: SdnConfiguration,
  { checksPorts }: SdnDifferences,
): readonly PolicyDocument[] {
  if (checksPorts) for (const mapping of portMappings) checkPorts(mapping);
  return portMappings.flatMap((mapping) => ofMapping(mapping, flags));
}

/**
 * The policies of `AdditionalArgs` with the name `name`, which has to be written exactly so.
 * @throws for a value that is no policy.
 */
export function additionalPolicies(
  { additionalArguments }: SdnConfiguration,
  name: "EndpointPolicy" | "NetworkPolicy",
  { notPolicy }: SdnDifferences,
): readonly PolicyDocument[] {
  return additionalArguments.flatMap((argument, index) => {
    if (argument.name !== name) return [];
    const { value } = argument;
    const policy = isJsonObject(value) ? decodeHcnPolicy(value) : undefined;
    if (policy !== undefined) return [policy];
    throw notPolicy(index);
  });
}

/** Loopback DSR for the pod's own address. */
export function loopbackPolicy(address: string): PolicyDocument {
  return { Type: "OutBoundNAT", Settings: { Destinations: [address] } };
}
