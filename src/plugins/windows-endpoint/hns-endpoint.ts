/**
 * The endpoint in HNS v1 (cni.md §2.1, v1 ADD and DEL): sandboxes without a namespace, whose containers are
 * attached to one shared endpoint.
 *
 * On Windows a running container gets its endpoint through its compute system (HCS), not through HNS.
 * Inferred: here the HNS call `attach` stands for it, which has the same effect on HNS' objects.
 */
import { CniError, CNI_CODES, PluginPanic, annotate } from "../../cni/error.ts";
import type { JsonObject, JsonValue } from "../../cni/json.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { CniDns, CniIp, CniResult } from "../../cni/result.ts";
import { equalGuids } from "../../hcn/guid.ts";
import type { HnsEndpoint, HnsNetwork } from "../../hcn/v1-documents.ts";
import { parseHnsEndpoint } from "../../hcn/v1-documents.ts";
import {
  attachHnsEndpoint,
  deleteHnsEndpoint,
  detachHnsEndpoint,
  getHnsEndpoint,
  getHnsEndpointByName,
  listHnsEndpoints,
  requestHns,
} from "../../hcn/v1-operations.ts";
import { type Ip, formatIp, parseIp } from "../../net/ip.ts";
import { parseInterfaceAddress } from "../../net/prefix.ts";
import type { EndpointPlan } from "./endpoint-plan.ts";
import { type HnsCaller, hasHcnCode, isMissing, withKnowledge } from "./failure.ts";
import { applyForeignMask } from "./hcn-result.ts";
import { toHnsPolicies } from "./policies.ts";
import { NO_NAMESPACE, isNamespaceGuid } from "./sandbox.ts";

/** Which endpoint, of which container. */
export interface HnsTarget {
  readonly endpointName: string;
  readonly networkId: string;
  readonly containerId: string;
  /** `CNI_NETNS`: `none`, `container:ID`, or what does not belong here. */
  readonly netns: string;
}

/** The body to POST; members without content are left out. */
export function hnsEndpointBody(target: HnsTarget, plan: EndpointPlan): JsonObject {
  const [planned] = plan.addresses;
  const ip = planned === undefined ? "" : formatIp(planned.address.ip);
  const gateway = planned?.gateway === undefined ? "" : formatIp(planned.gateway);
  const members: readonly (readonly [string, JsonValue])[] = [
    ["Name", target.endpointName],
    ["VirtualNetwork", target.networkId],
    ["Policies", toHnsPolicies(plan.policies)],
    ["MacAddress", plan.mac ?? ""],
    ["IPAddress", ip],
    ["DNSSuffix", plan.dns.search.join(",")],
    ["DNSServerList", plan.dns.nameservers.join(",")],
    ["GatewayAddress", gateway],
  ];
  return Object.fromEntries(
    members.filter(([, value]) => value !== "" && !(Array.isArray(value) && value.length === 0)),
  );
}

function splitList(text: string, compat: Compat): readonly string[] {
  // The reference makes a list with one empty text of nothing (row 61).
  return text === "" && compat === "better" ? [] : text.split(",");
}

/** The DNS of a v1 endpoint: two comma lists. */
export function dnsOfHnsEndpoint(endpoint: HnsEndpoint, compat: Compat): CniDns {
  return {
    nameservers: splitList(endpoint.DNSServerList ?? "", compat),
    domain: "",
    search: splitList(endpoint.DNSSuffix ?? "", compat),
    options: [],
  };
}

/** The address of a v1 endpoint with the mask of the network's first subnet. @throws CniError, PluginPanic */
export function ipOfHnsEndpoint(network: HnsNetwork, endpoint: HnsEndpoint, compat: Compat): CniIp {
  const subnet = network.Subnets?.[0];
  if (subnet === undefined && compat === "reference") {
    throw new PluginPanic("runtime error: index out of range [0] with length 0");
  }
  const text = subnet?.AddressPrefix ?? "";
  const prefix = parseInterfaceAddress(text);
  const ip = parseIp(endpoint.IPAddress ?? "");
  if (ip === undefined || prefix === undefined) {
    const what = prefix === undefined ? text : (endpoint.IPAddress ?? "<nil>");
    const cause = new CniError(CNI_CODES.internal, `invalid CIDR address: ${what}`);
    throw annotate(cause, `failed to parse CIDR from ${text}`);
  }
  const gateway: Ip | undefined = parseIp(endpoint.GatewayAddress ?? "");
  const address = applyForeignMask(ip, prefix);
  return gateway === undefined ? { address } : { address, gateway };
}

/** The result as the reference prints it. */
export function referenceHnsResult(network: HnsNetwork, endpoint: HnsEndpoint): CniResult {
  const ip = ipOfHnsEndpoint(network, endpoint, "reference");
  const mac = endpoint.MacAddress ?? "";
  return {
    interfaces: [{ name: endpoint.Name ?? "", ...(mac !== "" && { mac }) }],
    ips: [ip],
    routes: [],
    dns: dnsOfHnsEndpoint(endpoint, "reference"),
  };
}

/** Finds, creates, attaches and removes v1 endpoints. */
export class HnsEndpoints {
  private readonly caller: HnsCaller;

  constructor(caller: HnsCaller) {
    this.caller = caller;
  }

  /**
   * The endpoint of the sandbox; undefined when there is none. Only a sandbox (`none`) may be without:
   * @throws CniError for a container whose sandbox has none, and for a namespace GUID, which needs HCN.
   */
  async find(target: HnsTarget): Promise<HnsEndpoint | undefined> {
    const { endpointName, netns } = target;
    try {
      return await this.caller.hns((client) => getHnsEndpointByName(client, endpointName));
    } catch (error) {
      if (netns === NO_NAMESPACE && isMissing(error)) return undefined;
      const failure = annotate(error, `failed to find HNSEndpoint ${endpointName}`);
      throw isNamespaceGuid(netns) ? withKnowledge(failure, "cni-api-version-missing") : failure;
    }
  }

  /** Endpoints of one network. */
  async listOfNetwork(networkId: string): Promise<readonly HnsEndpoint[]> {
    const all = await this.caller.hns(listHnsEndpoints);
    return all.filter((endpoint) => equalGuids(endpoint.VirtualNetwork ?? "", networkId));
  }

  async create(target: HnsTarget, plan: EndpointPlan): Promise<HnsEndpoint> {
    const body = hnsEndpointBody(target, plan);
    try {
      return await this.caller.hns(async (client) =>
        parseHnsEndpoint((await requestHns(client, "POST", "/endpoints/", body)) ?? null),
      );
    } catch (error) {
      throw annotate(error, "failed to create the new HNSEndpoint");
    }
  }

  /** Deletes an endpoint of the right name on another network. */
  async deleteCorrupted(endpoint: HnsEndpoint): Promise<void> {
    try {
      await this.delete(endpoint);
    } catch (error) {
      throw annotate(error, `failed to delete corrupted HNSEndpoint ${endpoint.Name ?? ""}`);
    }
  }

  delete(endpoint: HnsEndpoint): Promise<void> {
    return this.caller.hns((client) => deleteHnsEndpoint(client, endpoint.ID ?? ""));
  }

  /** Attaches a container; one that is attached already stays so. */
  private async attachContainer(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    const id = endpoint.ID ?? "";
    await this.caller.hns(async (client) => {
      const current = await getHnsEndpoint(client, id);
      if (current.SharedContainers?.includes(containerId) === true) return;
      await attachHnsEndpoint(client, id, { SystemType: "Container", ContainerId: containerId });
    });
  }

  /**
   * Attaches the container of the call. A new endpoint is removed when that fails; an old one stays, and a
   * container that does not run any more is then no error.
   */
  async attach(target: HnsTarget, endpoint: HnsEndpoint, isNew: boolean): Promise<void> {
    const { containerId } = target;
    const id = endpoint.ID ?? "";
    try {
      await this.attachContainer(endpoint, containerId);
    } catch (error) {
      if (isNew) await this.removeSandbox(endpoint, containerId);
      else if (hasHcnCode(error, "HCS_E_SYSTEM_NOT_FOUND")) return;
      throw annotate(error, `failed to attach container ${containerId} to HNSEndpoint ${id}`);
    }
  }

  /** Detaches one container; failures are ignored, as in the reference. */
  async detachContainer(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    const request = { SystemType: "Container", ContainerId: containerId } as const;
    await ignoreFailure(this.caller.hns((client) => detachHnsEndpoint(client, endpoint.ID ?? "", request)));
  }

  /** Detaches the sandbox' container and deletes the endpoint; failures are ignored, as in the reference. */
  async removeSandbox(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    await this.detachContainer(endpoint, containerId);
    await ignoreFailure(this.delete(endpoint));
  }

  /** As `removeSandbox`, but a failure to delete is reported. What is gone already is none. */
  async removeSandboxOrFail(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    await this.detachContainer(endpoint, containerId);
    try {
      await this.delete(endpoint);
    } catch (error) {
      if (!isMissing(error)) throw annotate(error, `failed to remove HNSEndpoint ${endpoint.Name ?? ""}`);
    }
  }
}

async function ignoreFailure(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch {
    // What could not be undone is found again by its name.
  }
}
