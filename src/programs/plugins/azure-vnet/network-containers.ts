/** With several tenants: a pod's interfaces are the network containers that CNS has for it (cni.md §5.7). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { CniIp, CniRoute } from "#contracts/cni/result.ts";
import {
  type InterfaceAddress,
  type Ip,
  familyOf,
  formatIp,
  parseInterfaceAddress,
  parseIp,
} from "#core/net/ip.ts";
import type { CnsClient } from "../cns/client.ts";
import type { IpConfiguration, NetworkContainer, PodContext } from "../cns/documents.ts";
import type { AddressSource } from "./address-source.ts";
import { cnsFailure } from "./cns-failure.ts";
import type { AzureConfiguration } from "./conf.ts";
import type { AzureHost } from "./host.ts";
import { type AzureAllocation, type AzureNic, PLAIN_NIC } from "./nics.ts";
import { determineSnat } from "./snat.ts";

export interface NetworkContainersOptions {
  readonly client: CnsClient;
  readonly host: AzureHost;
  readonly configuration: AzureConfiguration;
  readonly pod: PodContext;
  readonly compat: Compat;
}

/** The name without what a ReplicaSet and its Deployment put behind it. */
export function withoutSuffix(podName: string): string {
  const parts = podName.split("-");
  return parts.length > 2 ? parts.slice(0, -2).join("-") : podName;
}

function wrong(message: string, member: string): CniError {
  const details = `CNS answered this in "NetworkContainers[].${member}"`;
  return new CniError(CNI_CODES.internal, message, { details, knowledge: "azure-cns-answer-wrong" });
}

function readIp({ IPSubnet, GatewayIPAddress }: IpConfiguration, member: string): CniIp {
  const text = `${IPSubnet.IPAddress}/${IPSubnet.PrefixLength}`;
  const address = parseInterfaceAddress(text);
  if (address === undefined) throw wrong(`cns returned invalid CIDR ${text}`, `${member}.IPSubnet`);
  const gateway = parseIp(GatewayIPAddress);
  return gateway === undefined ? { address } : { address, gateway };
}

function readIps({ IPConfiguration, IPv6Configuration }: NetworkContainer): readonly CniIp[] {
  const first = readIp(IPConfiguration, "IPConfiguration");
  if (IPv6Configuration.IPSubnet.IPAddress === "") return [first];
  return [first, readIp(IPv6Configuration, "IPv6Configuration")];
}

/** Routes of CNS, then those to the tenant's own address space. */
function readRoutes(
  { Routes, CnetAddressSpace }: NetworkContainer,
  ips: readonly CniIp[],
): readonly CniRoute[] {
  const route = (text: string, gateway: Ip | undefined, member: string): CniRoute => {
    const destination = parseInterfaceAddress(text);
    if (destination === undefined) throw wrong(`cns returned invalid CIDR ${text}`, member);
    return gateway === undefined ? { destination } : { destination, gateway };
  };
  const gatewayOf = (text: string): Ip | undefined => {
    const ip = parseIp(text);
    return ips.find(({ address }) => ip !== undefined && familyOf(address.ip) === familyOf(ip))?.gateway;
  };
  return [
    ...Routes.map((each) => route(each.IPAddress, parseIp(each.GatewayIPAddress), "Routes")),
    ...CnetAddressSpace.map(({ IPAddress, PrefixLength }) =>
      route(`${IPAddress}/${PrefixLength}`, gatewayOf(IPAddress), "CnetAddressSpace"),
    ),
  ];
}

export class NetworkContainers implements AddressSource {
  private readonly options: NetworkContainersOptions;

  constructor(options: NetworkContainersOptions) {
    this.options = options;
  }

  async add(): Promise<AzureAllocation> {
    const { client, host, configuration, pod, compat } = this.options;
    const snat = await determineSnat(host, configuration, compat);
    try {
      const context = configuration.hasExactPodNames ? pod : { ...pod, podName: withoutSuffix(pod.podName) };
      const containers = await client.networkContainersOf(context);
      const subnets = containers.map((container) => this.hostSubnetOf(container));
      if (snat.onHost && containers.some((each) => each.LocalIPConfiguration.IPSubnet.IPAddress === ""))
        throw wrong("Snat IP not populated", "LocalIPConfiguration");
      if (containers.length === 0 && compat === "hardened")
        throw wrong("CNS has no network container for this pod", "NetworkContainerID");
      const nics = containers.map((container, index) => this.nicOf(container, subnets[index]));
      return { nics, primaryIp: "", snat };
    } catch (error) {
      const action = `GetAllNetworkContainers failed for podname ${pod.podName} namespace ${pod.podNamespace}. error`;
      throw cnsFailure(action, error, client, compat);
    }
  }

  /** The addresses are the container's, for as long as CNS has it. */
  release(): Promise<void> {
    return Promise.resolve();
  }

  check(): Promise<void> {
    return Promise.resolve();
  }

  /** Ready when CNS answers. */
  async status(): Promise<void> {
    const { client } = this.options;
    try {
      await client.addressesIn("Available");
    } catch (error) {
      const { message, details, knowledge } = cnsFailure("CNS is not ready", error, client, "hardened");
      throw new CniError(CNI_CODES.pluginNotAvailable, message, { details, knowledge, cause: error });
    }
  }

  gc(): Promise<void> {
    return Promise.resolve();
  }

  private nicOf(container: NetworkContainer, hostSubnet: InterfaceAddress | undefined): AzureNic {
    const ips = readIps(container);
    return {
      ...PLAIN_NIC,
      ips,
      routes: readRoutes(container, ips),
      hostSubnet,
      skipsDefaultRoutes: container.SkipDefaultRoutes,
      container,
      // Without a VLAN upstream leaves these out.
      ...(container.MultiTenancyInfo.ID !== 0 && {
        networkContainerId: container.NetworkContainerID,
        allowsHostToContainer: container.AllowHostToNCCommunication,
        allowsContainerToHost: container.AllowNCToHostCommunication,
      }),
    };
  }

  /** The subnet in which the node has the container's primary address. */
  private hostSubnetOf({ PrimaryInterfaceIdentifier: text }: NetworkContainer): InterfaceAddress {
    const addresses = this.options.host.interfaces().flatMap((each) => each.addresses);
    const found = addresses.find(({ ip }) => formatIp(ip) === text);
    if (found !== undefined) return found;
    const details = `no interface of this machine has the address ${JSON.stringify(text)}`;
    throw new CniError(CNI_CODES.internal, "Interface not found for this ip", { details });
  }
}
