/** The endpoint in HCN: its document, and the life of one (cni.md §2.1, v2 ADD and DEL). */
import {
  type StoredNetwork,
  addNamespaceEndpoint,
  createEndpoint,
  deleteEndpoint,
  getEndpointByName,
  getNamespaceById,
  listEndpointsOfNetwork,
  modifyEndpointPolicies,
  namespaceOf,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import type { EndpointDifferences } from "./differences.ts";
import { type GcAttachment, readPrevResult } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError, annotate, annotated } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { type CniDns, type CniIp, type CniResult, isEmptyDns } from "#contracts/cni/result.ts";
import { type Dns, type Route, CLIENT_MEMBERS } from "#contracts/hcn/documents/base-document.ts";
import {
  type HostComputeEndpoint,
  type IpConfig,
  ENDPOINT_FLAGS,
  type StoredEndpoint,
} from "#contracts/hcn/documents/endpoint.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { present } from "#contracts/hcn/description/json.ts";
import { isDefaultRoute, subnetsOf } from "#contracts/hcn/documents/network.ts";
import {
  type InterfaceAddress,
  type Ip,
  type IpFamily,
  familyOf,
  formatIp,
  parseInterfaceAddress,
  parseIp,
  prefixContains,
} from "#core/net/ip.ts";
import { type EndpointTarget, collectGarbage, type PlannedAddress, isNamespaceGuid } from "./plugin-call.ts";
import {
  type HnsCaller,
  isMissing,
  isMissingForUpstream,
  quietly,
  unlessMissing,
  namespaceCall,
} from "./hns-caller.ts";
import { type EndpointPlan, toHcnPolicies } from "./endpoint-plan.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

export function dnsOfEndpoint(endpoint: HostComputeEndpoint): CniDns {
  const dns = endpoint.Dns;
  return {
    nameservers: dns?.ServerList ?? [],
    domain: dns?.Domain ?? "",
    search: dns?.Search ?? [],
    options: dns?.Options ?? [],
  };
}

export function withGateway(address: InterfaceAddress, gateway: Ip | undefined): CniIp {
  return gateway === undefined ? { address } : { address, gateway };
}

/**
 * An address with the mask of a network, printed as Go prints it: an IPv6 mask over an IPv4 address counts its
 * last 32 bits; an IPv4 mask over an IPv6 address prints as `<nil>`, which no caller can read.
 */
export function applyForeignMask(ip: Ip, prefix: InterfaceAddress): InterfaceAddress {
  if (familyOf(ip) === familyOf(prefix.ip)) return { ip, length: prefix.length };
  if (familyOf(ip) === 4) return { ip, length: Math.max(0, prefix.length - 96) };
  throw new CniError(CNI_CODES.internal, "invalid CIDR address: <nil>");
}

/** The prefix length of an address: what HNS says, else that of the subnet which holds it. */
function readAddress(network: StoredNetwork, config: IpConfig): InterfaceAddress {
  const ip = parseIp(config.IpAddress ?? "");
  if (ip === undefined) {
    const shown = JSON.stringify(config.IpAddress ?? "");
    throw new CniError(CNI_CODES.internal, `HNS reports the address ${shown}, which is not a valid address`);
  }
  if (config.PrefixLength !== undefined && config.PrefixLength > 0)
    return { ip, length: config.PrefixLength };
  for (const subnet of subnetsOf(network)) {
    const prefix = parseInterfaceAddress(subnet.IpAddressPrefix ?? "");
    if (prefix !== undefined && prefixContains({ address: prefix.ip, length: prefix.length }, ip)) {
      return { ip, length: prefix.length };
    }
  }
  throw new CniError(
    CNI_CODES.invalidNetworkConfig,
    WORDS.networkSubnetWithoutAddress({ network: network.Name ?? "", address: config.IpAddress ?? "" }),
  );
}

/** The next hop of the endpoint's default route of a family; undefined when it has none. */
export function gatewayOfEndpoint(endpoint: HostComputeEndpoint, family: IpFamily): Ip | undefined {
  const hops = (endpoint.Routes ?? [])
    .filter(isDefaultRoute)
    .map((route) => parseIp(route.NextHop ?? ""))
    .filter((hop) => hop !== undefined && familyOf(hop) === family);
  // 0.0.0.0 and :: stand for no gateway (hcn.md §4.2).
  return hops.find((hop) => hop !== 0 && hop !== 0n);
}

/** The endpoint as it is told in hardened mode: every address, name resolution, what earlier plugins made. @throws CniError */
export function hardenedHcnResult(
  request: PluginRequest,
  network: StoredNetwork,
  endpoint: HostComputeEndpoint,
): CniResult {
  const ips = ipsOfHcnEndpoint(network, endpoint);
  const parts = { mac: endpoint.MacAddress ?? "", ips, dns: dnsOfEndpoint(endpoint) };
  return hardenedResult(request, parts, readPrevResult(request.configuration));
}

/** Puts what this plugin adds behind what the plugins before it made. */
function mergeWithPrevious(previous: CniResult | undefined, own: CniResult): CniResult {
  if (previous === undefined) return own;
  const offset = previous.interfaces.length;
  return {
    interfaces: [...previous.interfaces, ...own.interfaces],
    ips: [...previous.ips, ...own.ips.map((ip) => ({ ...ip, interface: (ip.interface ?? 0) + offset }))],
    routes: previous.routes,
    dns: isEmptyDns(own.dns) ? previous.dns : own.dns,
  };
}

/** As runtimes want it: the interface by its name in the pod, with its sandbox, every address tied to it (rows 152, 154). */
export function hardenedResult(
  request: PluginRequest,
  parts: { readonly mac: string; readonly ips: readonly CniIp[]; readonly dns: CniDns },
  previous: CniResult | undefined,
): CniResult {
  const own: CniResult = {
    interfaces: [
      { name: request.ifName, ...(parts.mac !== "" && { mac: parts.mac }), sandbox: request.netns },
    ],
    ips: parts.ips.map((ip) => ({ ...ip, interface: 0 })),
    routes: [],
    dns: parts.dns,
  };
  return mergeWithPrevious(previous, own);
}

/** Every address of the endpoint with its prefix length and gateway. @throws CniError */
export function ipsOfHcnEndpoint(network: StoredNetwork, endpoint: HostComputeEndpoint): readonly CniIp[] {
  const configs = endpoint.IpConfigurations ?? [];
  if (configs.length === 0) {
    throw new CniError(CNI_CODES.internal, `HNS gave endpoint ${endpoint.Name ?? ""} no address`);
  }
  return configs.map((config) => {
    const address = readAddress(network, config);
    return withGateway(address, gatewayOfEndpoint(endpoint, familyOf(address.ip)));
  });
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** Name resolution as HCN takes it; empty members are left out. */
export function dnsDocument(dns: CniDns): Dns {
  return present<Dns>({
    Domain: dns.domain === "" ? undefined : dns.domain,
    Search: nonEmpty(dns.search),
    ServerList: nonEmpty(dns.nameservers),
    Options: nonEmpty(dns.options),
  });
}

function defaultRoute({ gateway }: { readonly gateway?: Ip | undefined }): Route {
  // An absent gateway counts as IPv6 in upstream.
  const destination = gateway !== undefined && familyOf(gateway) === 4 ? "0.0.0.0/0" : "::/0";
  return present<Route>({
    NextHop: gateway === undefined ? undefined : formatIp(gateway),
    DestinationPrefix: destination,
  });
}

function ipConfig({ address }: PlannedAddress, hasLength: boolean): IpConfig {
  return present<IpConfig>({
    IpAddress: formatIp(address.ip),
    PrefixLength: hasLength ? address.length : undefined,
  });
}

/** Addresses and routes of the document; without a plan upstream sends an empty entry of each (row 151). */
function addressing(
  plan: EndpointPlan,
  { sendsPrefixLengths, sendsEmptyAddress }: EndpointDifferences,
): Pick<HostComputeEndpoint, "IpConfigurations" | "Routes"> {
  if (plan.addresses.length === 0) {
    return sendsEmptyAddress ? { IpConfigurations: [{}], Routes: [defaultRoute(plan)] } : {};
  }
  return {
    IpConfigurations: plan.addresses.map((planned) => ipConfig(planned, sendsPrefixLengths)),
    Routes: plan.addresses.map(defaultRoute),
  };
}

/** The document to create. */
export function hcnEndpointDocument(
  target: EndpointTarget,
  plan: EndpointPlan,
  differences: EndpointDifferences,
): HostComputeEndpoint {
  const documents = toHcnPolicies(plan.policies, differences);
  return {
    Name: target.endpointName,
    HostComputeNetwork: target.networkId,
    ...(documents.length > 0 && { Policies: documents }),
    ...addressing(plan, differences),
    Dns: dnsDocument(plan.dns),
    ...(plan.mac !== undefined && { MacAddress: plan.mac }),
    ...CLIENT_MEMBERS,
  };
}

/** Finds, creates, attaches and removes one endpoint. */
export class HcnEndpoints {
  private readonly caller: HnsCaller;
  private readonly differences: EndpointDifferences;

  constructor(caller: HnsCaller, differences: EndpointDifferences) {
    this.caller = caller;
    this.differences = differences;
  }

  /** Undefined when there is none. */
  find(name: string): Promise<StoredEndpoint | undefined> {
    return annotated(`failed to find HostComputeEndpoint ${name}`, () =>
      unlessMissing(() =>
        this.caller.hcn("hcnEnumerateEndpoints", (client) => getEndpointByName(client, name)),
      ),
    );
  }

  /**
   * Upstream looks once more before it creates: another call may have been faster. @throws CniError, around which stands
   * what was being made.
   */
  lookAgain({ endpointName, networkId }: EndpointTarget): Promise<void> {
    const action = "failed to make a new HostComputeEndpoint: error while generating HostComputeEndpoint";
    return annotated(action, async () => {
      const other = await this.find(endpointName);
      if (other === undefined) return;
      if (!equalGuids(other.HostComputeNetwork, networkId)) return this.deleteCorrupted(other);
      // The word "network" is upstream's.
      throw new CniError(CNI_CODES.internal, `HostComputeNetwork ${endpointName} is already existed`);
    });
  }

  /** Creates the endpoint and reads it back. Hardened completes loopback DSR once HNS has chosen the address. */
  async create(target: EndpointTarget, plan: EndpointPlan): Promise<StoredEndpoint> {
    const document = hcnEndpointDocument(target, plan, this.differences);
    const endpoint = await annotated("failed to create the new HostComputeEndpoint", () =>
      this.caller.hcn("hcnCreateEndpoint", (client) => createEndpoint(client, target.networkId, document)),
    );
    return plan.hasLateLoopbackDsr ? this.addLateLoopbackDsr(endpoint) : endpoint;
  }

  /** Row 58: the address is known only after HNS has chosen it. */
  private async addLateLoopbackDsr(endpoint: StoredEndpoint): Promise<StoredEndpoint> {
    const id = endpoint.ID;
    const policies = (endpoint.IpConfigurations ?? [])
      .flatMap(({ IpAddress }) => IpAddress ?? [])
      .map((ip) => ({ Type: "OutBoundNAT", Settings: { Destinations: [ip] } }));
    try {
      return await this.caller.hcn("hcnModifyEndpoint", (client) =>
        modifyEndpointPolicies(client, id, "Add", policies),
      );
    } catch (error) {
      await this.removeQuietly(endpoint);
      throw annotate(error, `failed to add loopback DSR to HostComputeEndpoint ${endpoint.Name ?? id}`);
    }
  }

  /** Adds the endpoint to the namespace. @throws CniError */
  attach({ netns, endpointName }: EndpointTarget, endpoint: StoredEndpoint): Promise<void> {
    const action = `failed to add HostComputeEndpoint ${endpointName} to HostComputeNamespace ${netns}`;
    return annotated(action, async () => {
      if (!isNamespaceGuid(netns)) {
        throw new CniError(CNI_CODES.internal, "invalid namespace ID", {
          knowledge: "cni-namespace-not-guid",
        });
      }
      await this.caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, endpoint.ID));
    });
  }

  /** True when the endpoint is in the namespace already. */
  isAttachedTo(endpoint: StoredEndpoint, netns: string): boolean {
    const namespace = namespaceOf(endpoint);
    return namespace !== undefined && equalGuids(namespace, netns);
  }

  /** True when the endpoint is in a namespace that exists. */
  async isAttached(endpoint: StoredEndpoint): Promise<boolean> {
    const id = namespaceOf(endpoint);
    if (id === undefined) return false;
    const found = await annotated(`failed to get HostComputeNamespace ${endpoint.Name ?? ""}`, () =>
      unlessMissing(() =>
        this.caller.hcn("hcnEnumerateNamespaces", (client) => getNamespaceById(client, id)),
      ),
    );
    return found !== undefined;
  }

  /** Takes the endpoint out of its namespace and deletes it. What is gone already is no error. @throws CniError */
  async remove(endpoint: StoredEndpoint): Promise<void> {
    const name = endpoint.Name ?? "";
    if (await this.isAttached(endpoint)) await this.detach(endpoint);
    try {
      await this.caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, endpoint.ID));
    } catch (error) {
      // Upstream reports an endpoint that went away in between.
      if (this.differences.forgivesVanished && isMissing(error)) return;
      throw annotate(error, `failed to remove HostComputeEndpoint ${name}`);
    }
  }

  /** As `remove`, after a failure that is the one to report. */
  removeQuietly(endpoint: StoredEndpoint): Promise<void> {
    return quietly(() => this.remove(endpoint));
  }

  /** GC: removes what belongs to no valid container of a network. @returns what failed. */
  collectGarbage(
    networkName: string,
    valid: readonly GcAttachment[] | undefined,
    findNetwork: () => Promise<StoredNetwork>,
  ): Promise<readonly string[]> {
    return collectGarbage<StoredEndpoint>({
      networkName,
      valid,
      list: async () => {
        const { ID } = await findNetwork();
        return this.caller.hcn("hcnEnumerateEndpoints", (client) => listEndpointsOfNetwork(client, ID));
      },
      describe: ({ Name, Flags }) => ({
        name: Name ?? "",
        isRemote: ((Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) !== 0,
      }),
      remove: (endpoint) => this.remove(endpoint),
    });
  }

  /** Deletes an endpoint of the right name on another network. @throws CniError */
  deleteCorrupted(endpoint: StoredEndpoint): Promise<void> {
    return annotated(`failed to delete corrupted HostComputeEndpoint ${endpoint.Name ?? ""}`, () =>
      this.caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, endpoint.ID)),
    );
  }

  private async detach(endpoint: StoredEndpoint): Promise<void> {
    const namespace = namespaceOf(endpoint) ?? "";
    try {
      await this.caller.hcn(namespaceCall, (client) =>
        removeNamespaceEndpoint(client, namespace, endpoint.ID),
      );
    } catch (error) {
      const { forgivesVanished } = this.differences;
      const isTolerated = forgivesVanished ? isMissing(error) : isMissingForUpstream(error);
      if (!isTolerated)
        throw annotate(error, `error removing endpoint: ${endpoint.Name ?? ""} from namespace`);
    }
  }
}
