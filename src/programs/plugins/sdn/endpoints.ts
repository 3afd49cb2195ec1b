/** The network of a call, found or made, and its endpoint over HCN: made, attached, compared, removed (cni.md §2.4). */
import {
  type StoredNetwork,
  createNetwork,
  getNetworkByName,
  listNetworks,
  createEndpoint,
} from "#contracts/hcn/operations.ts";
import type { SdnDifferences } from "./differences.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeEndpoint, StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { formatIp } from "#core/net/ip.ts";
import type { PortMapping, EndpointTarget } from "../windows-endpoint/plugin-call.ts";
import { type HnsCaller, isMissing, withKnowledge } from "../windows-endpoint/hns-caller.ts";
import { compareHcnEndpoint, failOnDifferences } from "../windows-endpoint/hcn-api.ts";
import { HcnEndpoints } from "../windows-endpoint/hcn-endpoint.ts";
import {
  sdnNetworkDocument,
  type SdnAddressing,
  addressingOfIpam,
  addressingWithoutIpam,
  sdnEndpointDocument,
  withAdditionalGateways,
} from "./endpoint.ts";
import { type SdnConfiguration, type SdnFlags, endpointDns } from "./conf.ts";
import type { SdnCall } from "./ipam-session.ts";
import { isJsonObject } from "#core/base/json.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import { decodeHcnPolicy, parsePortProtocol } from "../windows-endpoint/endpoint-plan.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

// The policies of an endpoint and of a network that is made on demand (cni.md §2.4).

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
    throw new CniError(CNI_CODES.internal, WORDS.portMappingProtocolInvalid);
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
function portPolicies(
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
function additionalPolicies(
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
function loopbackPolicy(address: string): PolicyDocument {
  return { Type: "OutBoundNAT", Settings: { Destinations: [address] } };
}

export class SdnNetworks {
  private readonly caller: HnsCaller;
  private readonly differences: SdnDifferences;

  constructor(caller: HnsCaller, differences: SdnDifferences) {
    this.caller = caller;
    this.differences = differences;
  }

  /** @throws CniError, with its own words when there is none of that name. */
  async get({ configuration }: SdnCall): Promise<StoredNetwork> {
    const { name } = configuration;
    try {
      return await this.caller.hcn("hcnEnumerateNetworks", (client) => getNetworkByName(client, name));
    } catch (error) {
      throw isMissing(error) ? withKnowledge(error, "cni-network-not-found") : error;
    }
  }

  /** For dual stack the network has to be there; else it is made. @throws CniError, PluginPanic */
  async getOrCreate(call: SdnCall): Promise<StoredNetwork> {
    if (call.configuration.flags.enableDualStack) {
      const network = await this.get(call);
      if (network.Type === "L2Bridge") return network;
      throw new CniError(CNI_CODES.internal, "Dual stack specified with non l2bridge network");
    }
    try {
      return await this.get(call);
    } catch (error) {
      if (!this.differences.takesFailureForNone && !isMissing(error)) throw error;
      return this.create(call);
    }
  }

  /** What ADD needs of HNS is there. @throws CniError */
  async probe(call: SdnCall): Promise<void> {
    if (call.configuration.flags.enableDualStack) await this.getOrCreate(call);
    else await this.caller.hcn("hcnEnumerateNetworks", (client) => listNetworks(client));
  }

  private async create({ configuration, podNamespace }: SdnCall): Promise<StoredNetwork> {
    const policies = additionalPolicies(configuration, "NetworkPolicy", this.differences);
    const document = sdnNetworkDocument(configuration, endpointDns(configuration, podNamespace), policies);
    return this.caller.hcn("hcnCreateNetwork", (client) => createNetwork(client, document));
  }
}

/** What both ways share; `upstream.ts` and `hardened.ts` say what becomes of an endpoint that is there, and after failures. */
export abstract class SdnEndpoints {
  protected readonly caller: HnsCaller;
  private readonly differences: SdnDifferences;
  protected readonly endpoints: HcnEndpoints;

  constructor(caller: HnsCaller, differences: SdnDifferences) {
    this.caller = caller;
    this.differences = differences;
    this.endpoints = new HcnEndpoints(caller, differences.endpoints);
  }

  /** What is looked at before HNS is changed: loopback DSR, subnet, port mappings. @throws CniError, PluginPanic */
  async validate({ configuration }: SdnCall): Promise<void> {
    if (configuration.flags.loopbackDSR && !hasFeature(await this.caller.hns(getHnsVersion), "DSR")) {
      const message = "platform does not support feature Direct Server Return (DSR)";
      throw new CniError(CNI_CODES.internal, message);
    }
    addressingWithoutIpam(configuration);
    portPolicies(configuration, this.differences);
  }

  async add(call: SdnCall, network: StoredNetwork): Promise<CniResult> {
    const target = this.targetOf(call, network);
    const existing = await this.findExisting(call, target);
    if (existing !== undefined) {
      await this.reuse(target, existing);
      return this.resultOf(call, network, existing);
    }
    try {
      const endpoint = await this.create(call, target);
      await this.attach(target, endpoint);
      return this.resultOf(call, network, endpoint);
    } catch (error) {
      await call.ipam.undo();
      throw error;
    }
  }

  /** What is gone already is no error. @throws CniError */
  async remove(call: SdnCall): Promise<void> {
    const endpoint = await this.endpoints.find(nameOf(call));
    if (endpoint !== undefined) await this.endpoints.remove(endpoint);
  }

  /** @throws CniError that lists what differs from `previous`. */
  async check(call: SdnCall, network: StoredNetwork, previous: CniResult): Promise<void> {
    const name = nameOf(call);
    const endpoint = await this.endpoints.find(name);
    if (endpoint === undefined)
      throw new CniError(CNI_CODES.internal, `endpoint ${name} is gone; recreate the container`);
    const held = (endpoint.IpConfigurations ?? []).flatMap(({ IpAddress }) => IpAddress ?? []);
    const expected = {
      result: previous,
      networkId: network.ID,
      policies: this.policiesOf(call, held[0]),
    };
    failOnDifferences(name, compareHcnEndpoint(call.request, endpoint, expected));
  }

  /** @returns what failed. */
  gc(
    call: SdnCall,
    findNetwork: () => Promise<StoredNetwork>,
    valid: readonly GcAttachment[] | undefined,
  ): Promise<readonly string[]> {
    return this.endpoints.collectGarbage(call.configuration.name, valid, findNetwork);
  }

  private targetOf(call: SdnCall, network: StoredNetwork): EndpointTarget {
    const { containerId, netns } = call.request;
    return { endpointName: nameOf(call), networkId: network.ID, containerId, netns };
  }

  private async create(call: SdnCall, target: EndpointTarget): Promise<StoredEndpoint> {
    const { configuration, podNamespace, ipam } = call;
    const before = addressingWithoutIpam(configuration);
    const after = ipam.isConfigured ? addressingOfIpam(configuration, before, await ipam.add()) : before;
    const addressing = withAdditionalGateways(configuration, after);
    const document = sdnEndpointDocument(
      { endpoint: target.endpointName, networkId: target.networkId },
      addressing,
      {
        policies: this.policiesOf(call, this.ownAddress(addressing)),
        dns: endpointDns(configuration, podNamespace),
        hasLengths: this.differences.endpoints.sendsPrefixLengths,
      },
    );
    try {
      return await this.caller.hcn("hcnCreateEndpoint", (client) =>
        createEndpoint(client, target.networkId, document),
      );
    } catch (error) {
      throw this.couldNotCreate(error, document);
    }
  }

  /** The address for loopback DSR; undefined: the policy is left out. */
  private ownAddress({ ipv4 }: SdnAddressing): string | undefined {
    return ipv4 === undefined ? this.differences.endpoints.unknownAddress[0] : formatIp(ipv4.ip);
  }

  private policiesOf({ configuration }: SdnCall, address: string | undefined): readonly PolicyDocument[] {
    return [
      ...portPolicies(configuration, this.differences),
      ...additionalPolicies(configuration, "EndpointPolicy", this.differences),
      ...(configuration.flags.loopbackDSR && address !== undefined ? [loopbackPolicy(address)] : []),
    ];
  }

  /** The endpoint of that name that ADD may use. */
  protected abstract findExisting(call: SdnCall, target: EndpointTarget): Promise<StoredEndpoint | undefined>;

  /** ADD found its endpoint. */
  protected abstract reuse(target: EndpointTarget, endpoint: StoredEndpoint): Promise<void>;

  /** Brings a new endpoint into its namespace. @throws CniError */
  protected abstract attach(target: EndpointTarget, endpoint: StoredEndpoint): Promise<void>;

  /** What a failure to create an endpoint is to the caller. */
  protected abstract couldNotCreate(error: unknown, document: HostComputeEndpoint): unknown;

  /** @throws CniError */
  protected abstract resultOf(call: SdnCall, network: StoredNetwork, endpoint: StoredEndpoint): CniResult;
}

/** The name of the endpoint of a call. */
export function nameOf({ request, configuration }: SdnCall): string {
  return `${request.containerId}_${configuration.name}`;
}
