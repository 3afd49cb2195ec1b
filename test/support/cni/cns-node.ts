/** A node of Azure with a CNS that a test sets up (cni.md §7.E). */
import type { Compat } from "#core/base/compat.ts";
import type { PoolContainer } from "#programs/plugins/cns/address-pool.ts";
import type { IpConfiguration, NetworkContainer } from "#programs/plugins/cns/documents.ts";
import {
  transportTo,
  CnsService,
  type CnsServiceOptions,
  NO_CONFIGURATION,
} from "#programs/plugins/cns/service.ts";
import { FakeHcnClient } from "../hns/fake-hcn-client.ts";
import { type AzureNode, azureNode } from "./windows-plugin-node.ts";

export const AZURE_POD = { podName: "web-0", podNamespace: "default" } as const;
export const AZURE_CONTAINER = "7c5e1f0a9b3d4e6f";

export const CNS_HOST = { Gateway: "10.240.0.1", PrimaryIP: "10.240.0.4", Subnet: "10.240.0.0/16" } as const;

export function configuration(address: string, gateway: string): IpConfiguration {
  const [ip = "", length = ""] = address.split("/");
  const subnet = { IPAddress: ip, PrefixLength: Number(length) };
  return { ...NO_CONFIGURATION, IPSubnet: subnet, GatewayIPAddress: gateway };
}

/** A pool as CNS has it: `primary` is the network container's own address. */
export function pool(primary: string, gateway: string, ...addresses: readonly string[]): PoolContainer {
  return { id: `nc-${primary}`, primary: configuration(primary, gateway), addresses };
}

/** The network container of example E7. */
export const TENANT: NetworkContainer = {
  NetworkContainerID: "nc-tenant",
  IPConfiguration: configuration("10.1.0.7/24", "10.1.0.1"),
  IPv6Configuration: NO_CONFIGURATION,
  Routes: [],
  CnetAddressSpace: [],
  MultiTenancyInfo: { EncapType: "Vlan", ID: 5 },
  PrimaryInterfaceIdentifier: "10.240.0.4",
  LocalIPConfiguration: configuration("169.254.128.7/17", "169.254.128.1"),
  AllowHostToNCCommunication: false,
  AllowNCToHostCommunication: false,
  SkipDefaultRoutes: false,
};

export interface CnsNode extends AzureNode {
  readonly cns: CnsService;
}

export interface CnsNodeOptions extends Omit<CnsServiceOptions, "host"> {
  readonly isStateless?: boolean;
  /** What the agent of the host lists. */
  readonly supported?: string;
}

/** The usual place of CNS, and the wire server. */
export function cnsNode(compat: Compat = "upstream", options: CnsNodeOptions = {}): CnsNode {
  const client = new FakeHcnClient();
  const { supported = "", isStateless = false, ...more } = options;
  let made: AzureNode | undefined = undefined;
  const cns = new CnsService({ host: CNS_HOST, ...more, client: more.client ?? late(() => made, client) });
  const toCns = transportTo(cns);
  made = azureNode(compat, {
    isStateless,
    http: (request) =>
      request.url.includes("168.63.129.16")
        ? Promise.resolve({ status: 200, text: supported })
        : toCns(request),
  });
  return Object.assign(made, { cns });
}

/** The node's HNS is there before CNS calls it, but after CNS is made. */
function late(node: () => AzureNode | undefined, fallback: FakeHcnClient): FakeHcnClient {
  return new Proxy(fallback, {
    get: (target, name) => {
      const client = node()?.client ?? target;
      const value: unknown = Reflect.get(client, name, client);
      return typeof value === "function" ? (value.bind(client) as unknown) : value;
    },
  });
}
