/**
 * Docker's engine on Windows as far as networks go (CNM): `docker network create`, the endpoints of containers, and
 * `docker network inspect`. What it asks of HNS by calls of v1 is what libnetwork's driver windowsshim asks
 * (moby/moby, libnetwork/drivers/windows/windows.go); the address manager `windows` leaves addresses to HNS
 * (libnetwork/ipams/windowsipam/windowsipam.go).
 */
import { defined } from "#core/base/assert.ts";
import type { Prng } from "#core/base/prng.ts";
import type { ValueOf } from "#core/base/shape.ts";
import { type Ipv4, formatIp, formatPrefix, parseIpv4 } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { HnsPolicy } from "#contracts/hcn/description/description.ts";
import {
  type StoredHnsEndpoint,
  type StoredHnsNetwork,
  createHnsEndpoint,
  createHnsNetwork,
  deleteHnsEndpoint,
  deleteHnsNetwork,
  listHnsEndpoints,
  listHnsNetworks,
} from "#contracts/hcn/v1-operations.ts";
import { DOCKER_DRIVERS, DOCKER_OPTION, type DockerNetworkRequest, UNASKED } from "./network-request.ts";

/** Of networks that were there before: `overlay` is Swarm's or a plugin's, `ics` that of the Default Switch. */
const FOUND_DRIVERS: DockerNetworkDocument["Driver"][] = [...DOCKER_DRIVERS, "overlay", "ics"];
type FoundDriver = DockerNetworkDocument["Driver"];

/** What the address manager asks for where the user names no subnet. */
const ANY_SUBNET = "0.0.0.0/0";
const ANY_GATEWAY = "0.0.0.0";

/** The name of the network that containers have who ask for none. */
export const DEFAULT_NAME = "nat";

/** In every engine, and in no HNS: the network of containers without one. */
export const NO_NETWORK: {
  readonly Name: "none";
  readonly Driver: "null";
  readonly Scope: "local";
} = Object.freeze({ Name: "none", Driver: "null", Scope: "local" });

/** What `docker run` is given. */
export interface DockerContainerRequest {
  readonly name: string;
  /** `--ip`. */
  readonly address: Ipv4 | undefined;
  /** `--mac-address`. */
  readonly mac: Mac | undefined;
  /** `-p`. */
  readonly ports: readonly {
    readonly protocol: "tcp" | "udp";
    readonly hostPort: number;
    readonly port: number;
  }[];
}

/** One network as `docker network inspect` prints it. */
export const DOCKER_NETWORK = {
  text: "A network of Docker, as `docker network inspect` prints it.",
  fields: {
    Name: "text",
    Id: "text",
    Created: "text",
    Scope: ["local"],
    Driver: ["nat", "transparent", "l2bridge", "l2tunnel", "overlay", "ics"],
    EnableIPv4: "boolean",
    EnableIPv6: "boolean",
    IPAM: {
      text: "Who gives addresses: HNS.",
      fields: {
        Driver: ["windows"],
        Options: "object",
        Config: { list: { text: "A subnet.", fields: { Subnet: "text", Gateway: "text" } } },
      },
    },
    Internal: "boolean",
    Attachable: "boolean",
    Ingress: "boolean",
    ConfigFrom: { text: "Of no other network.", fields: { Network: "text" } },
    ConfigOnly: "boolean",
    Containers: { is: "object", text: "By id: name, endpoint, MAC and addresses." },
    Options: { is: "object", text: "What `-o` gave, and the id in HNS." },
    Labels: "object",
  },
} as const;
export type DockerNetworkDocument = ValueOf<typeof DOCKER_NETWORK>;

/** A container on a network. */
interface DockerEndpoint {
  readonly name: string;
  readonly containerId: string;
  readonly endpointId: string;
  readonly hnsId: string;
  readonly mac: string;
  /** With the length that Docker prints; empty: a DHCP server gives it. */
  readonly address: string;
}

interface DockerNetwork {
  readonly request: DockerNetworkRequest;
  readonly driver: FoundDriver;
  readonly options: Readonly<Record<string, string>>;
  readonly id: string;
  readonly created: string;
  /** Another one when HNS had lost the network. */
  hnsId: string;
  subnets: readonly { readonly Subnet: string; readonly Gateway: string }[];
  readonly endpoints: Map<string, DockerEndpoint>;
}

function optionsOf(request: DockerNetworkRequest): Record<string, string> {
  const { adapter, vlan, dnsServers, dnsSuffix, hasGatewayDns, outboundNat } = request;
  return {
    ...(dnsServers.length > 0 && { [`${DOCKER_OPTION}.dnsservers`]: dnsServers.map(formatIp).join(",") }),
    ...(dnsSuffix !== "" && { [`${DOCKER_OPTION}.dnssuffix`]: dnsSuffix }),
    ...(!hasGatewayDns && { [`${DOCKER_OPTION}.disable_gatewaydns`]: "true" }),
    ...(adapter !== undefined && { [`${DOCKER_OPTION}.interface`]: adapter }),
    ...(vlan !== 0 && { [`${DOCKER_OPTION}.vlanid`]: String(vlan) }),
    ...(outboundNat !== undefined && { [`${DOCKER_OPTION}.enable_outboundnat`]: "true" }),
    ...(outboundNat !== undefined &&
      outboundNat.length > 0 && {
        [`${DOCKER_OPTION}.outboundnat_exceptions`]: outboundNat.map(formatPrefix).join(","),
      }),
  };
}

/** Of an address without a mask: that of its class (net.IP.DefaultMask, which the driver asks for). */
function lengthOfClass(address: Ipv4): number {
  if (address < 0x8000_0000) return 8;
  return address < 0xc000_0000 ? 16 : 24;
}

/** What one engine has made. It is data, as the world that it is a part of: HNS is reached through what each call brings. */
export class DockerEngine {
  private readonly prng: Prng;
  private readonly networks = new Map<string, DockerNetwork>();

  constructor(prng: Prng) {
    this.prng = prng;
  }

  /** `docker network create`. @throws HcnError what HNS refuses. */
  async createNetwork(client: HcnClient, request: DockerNetworkRequest, created: string): Promise<void> {
    const id = this.idOf(`network/${request.name}`);
    const network: DockerNetwork = {
      request,
      driver: request.driver,
      options: optionsOf(request),
      id,
      created,
      hnsId: "",
      subnets: [],
      endpoints: new Map(),
    };
    await makeInHns(client, network);
    this.networks.set(request.name, network);
  }

  /**
   * What the engine does when it starts: networks of driver nat that HNS has lost are made anew, with other ids in HNS
   * (daemon/daemon_windows.go, initNetworkController), and of the others endpoints that are left from before go
   * (windows.go, CreateNetwork). @throws HcnError.
   */
  async start(client: HcnClient): Promise<void> {
    const there = new Set((await listHnsNetworks(client)).map(({ ID }) => ID));
    const endpoints = await listHnsEndpoints(client);
    for (const network of this.networks.values()) {
      network.endpoints.clear();
      for (const { ID, VirtualNetwork } of endpoints)
        if (VirtualNetwork === network.hnsId) await deleteHnsEndpoint(client, ID);
      if (!there.has(network.hnsId) && network.request.driver === "nat") await makeInHns(client, network);
    }
  }

  /**
   * What an engine that starts finds in HNS and has not made (daemon/daemon_windows.go, initNetworkController): networks by
   * their names there, and their endpoints, which are of no container that this engine knows. Docker calls the first one of
   * driver nat `nat`, and takes endpoints away; here the names are all that is kept, and looking changes nothing.
   * @throws HcnError.
   */
  async discover(client: HcnClient, created: string): Promise<void> {
    const endpoints = await listHnsEndpoints(client);
    const found = (await listHnsNetworks(client)).toSorted((a, b) => (a.ID < b.ID ? -1 : 1));
    for (const { ID, Name: name = "", Type = "", Subnets = [] } of found) {
      const driver = FOUND_DRIVERS.find((each) => each === Type.toLowerCase());
      if (driver === undefined) continue;
      const own = endpoints.filter(({ VirtualNetwork }) => VirtualNetwork === ID);
      this.networks.set(name, {
        request: { ...UNASKED, name },
        driver,
        options: { [`${DOCKER_OPTION}.networkname`]: name },
        id: this.idOf(`hns/${ID}`),
        created,
        hnsId: ID,
        subnets: subnetsOf(Subnets),
        endpoints: new Map(own.map((endpoint) => [endpoint.ID, this.foundEndpoint(endpoint)])),
      });
    }
  }

  /** Takes a network away, with its endpoints. @throws HcnError. */
  async removeNetwork(client: HcnClient, name: string): Promise<void> {
    const network = defined(this.networks.get(name), `Docker has a network ${name}`);
    await deleteHnsNetwork(client, network.hnsId);
    this.networks.delete(name);
  }

  /**
   * The endpoint of a container, before it starts: HNS chooses the address where `--ip` names none.
   * @returns the endpoint, to be attached; its address undefined where a DHCP server is asked.
   * @throws HcnError what HNS refuses.
   */
  async connect(
    client: HcnClient,
    networkName: string,
    container: DockerContainerRequest,
  ): Promise<{ readonly hnsId: string; readonly address: Ipv4 | undefined }> {
    const network = defined(this.networks.get(networkName), `Docker has a network ${networkName}`);
    const { driver, hasGatewayDns } = network.request;
    const made = await createHnsEndpoint(client, {
      VirtualNetwork: network.hnsId,
      ...(container.address !== undefined && { IPAddress: formatIp(container.address) }),
      ...(container.mac !== undefined && { MacAddress: formatMac(container.mac) }),
      ...(driver === "nat" && hasGatewayDns && { EnableInternalDNS: true }),
      Policies: [...portPolicies(container), ...outboundPolicies(network.request)],
    });
    const address = parseIpv4(made.IPAddress ?? "");
    network.endpoints.set(container.name, {
      name: container.name,
      containerId: this.idOf(`container/${container.name}`),
      endpointId: this.idOf(`endpoint/${networkName}/${container.name}`),
      hnsId: made.ID,
      mac: macText(made.MacAddress ?? ""),
      address: shownAddress(network.request, container, made),
    });
    return { hnsId: made.ID, address };
  }

  /** Takes the container's endpoint away. @throws HcnError. */
  async disconnect(client: HcnClient, networkName: string, containerName: string): Promise<void> {
    const endpoints = this.networks.get(networkName)?.endpoints;
    const endpoint = endpoints?.get(containerName);
    if (endpoint === undefined) return;
    endpoints?.delete(containerName);
    await deleteHnsEndpoint(client, endpoint.hnsId);
  }

  /** The address of a container by its name, as the engine's resolver on the gateway of `networkName` knows it. */
  addressOf(networkName: string, containerName: string): Ipv4 | undefined {
    const endpoint = this.networks.get(networkName)?.endpoints.get(containerName);
    return parseIpv4(endpoint?.address.split("/")[0] ?? "");
  }

  /** `docker network inspect` of all networks. */
  inspect(): readonly DockerNetworkDocument[] {
    return [...this.networks.entries()].map(
      ([Name, { driver, options, id, created, hnsId, subnets, endpoints }]) => ({
        Name,
        Id: id,
        Created: created,
        Scope: "local",
        Driver: driver,
        EnableIPv4: true,
        EnableIPv6: false,
        IPAM: { Driver: "windows", Options: {}, Config: subnets },
        Internal: false,
        Attachable: false,
        Ingress: false,
        ConfigFrom: { Network: "" },
        ConfigOnly: false,
        Containers: Object.fromEntries(
          [...endpoints.values()].map(({ name, containerId, endpointId, mac, address }) => [
            containerId,
            { Name: name, EndpointID: endpointId, MacAddress: mac, IPv4Address: address, IPv6Address: "" },
          ]),
        ),
        Options: { [`${DOCKER_OPTION}.hnsid`]: hnsId, ...options },
        Labels: {},
      }),
    );
  }

  /** One without a sandbox of this engine: Docker writes its own id in the place of the container's. */
  private foundEndpoint({
    ID,
    Name = "",
    MacAddress = "",
    IPAddress = "",
    PrefixLength,
  }: StoredHnsEndpoint): DockerEndpoint {
    const endpointId = this.idOf(`hns/${ID}`);
    return {
      name: Name,
      containerId: `ep-${endpointId}`,
      endpointId,
      hnsId: ID,
      mac: macText(MacAddress),
      address: IPAddress === "" ? "" : `${IPAddress}/${PrefixLength ?? 32}`,
    };
  }

  /** The network of containers without one, as `docker network ls` lists it. */
  noNetwork(): typeof NO_NETWORK & { readonly Id: string } {
    return { ...NO_NETWORK, Id: this.idOf(`network/${NO_NETWORK.Name}`) };
  }

  /** 64 digits, as Docker's ids are; the same for the same name. */
  private idOf(what: string): string {
    const prng = this.prng.derive(what);
    return Array.from({ length: 8 }, () => prng.nextU32().toString(16).padStart(8, "0")).join("");
  }
}

async function makeInHns(client: HcnClient, network: DockerNetwork): Promise<void> {
  const { name, driver, subnet, gateway, adapter, vlan, dnsServers, dnsSuffix } = network.request;
  const made = await createHnsNetwork(client, {
    Name: name,
    Type: driver,
    Subnets: [
      {
        AddressPrefix: subnet === undefined ? ANY_SUBNET : formatPrefix(subnet),
        ...(gateway !== undefined && { GatewayAddress: formatIp(gateway) }),
      },
    ],
    ...(dnsServers.length > 0 && { DNSServerList: dnsServers.map(formatIp).join(",") }),
    ...(dnsSuffix !== "" && { DNSSuffix: dnsSuffix }),
    ...(adapter !== undefined && { NetworkAdapterName: adapter }),
    ...(vlan !== 0 && { Policies: [{ Type: "VLAN", VLAN: vlan }] }),
  });
  network.hnsId = made.ID;
  network.subnets = subnetsOf(made.Subnets ?? []);
}

function subnetsOf(subnets: NonNullable<StoredHnsNetwork["Subnets"]>): DockerNetwork["subnets"] {
  if (subnets.length === 0) return [{ Subnet: ANY_SUBNET, Gateway: ANY_GATEWAY }];
  return subnets.map(({ AddressPrefix = ANY_SUBNET, GatewayAddress = ANY_GATEWAY }) => ({
    Subnet: AddressPrefix,
    Gateway: GatewayAddress,
  }));
}

/** As Docker prints it. */
function macText(mac: string): string {
  return mac.replaceAll("-", ":").toLowerCase();
}

/** A published port is a NAT policy; the driver asks for one port of the host, on all of its addresses. */
function portPolicies({ ports }: DockerContainerRequest): readonly HnsPolicy[] {
  return ports.map(({ protocol, hostPort, port }) => ({
    Type: "NAT",
    Protocol: protocol,
    InternalPort: port,
    ExternalPort: hostPort,
    ExternalPortReserved: true,
  }));
}

function outboundPolicies({ outboundNat }: DockerNetworkRequest): readonly HnsPolicy[] {
  if (outboundNat === undefined) return [];
  return [{ Type: "OutBoundNAT", ExceptionList: outboundNat.map(formatPrefix) }];
}

/** `--ip` has the subnet's length, what HNS chose that of its class. */
function shownAddress(
  { subnet }: DockerNetworkRequest,
  { address }: DockerContainerRequest,
  { IPAddress = "" }: StoredHnsEndpoint,
): string {
  const chosen = parseIpv4(IPAddress);
  if (address !== undefined) return `${formatIp(address)}/${subnet?.length ?? 32}`;
  return chosen === undefined ? "" : `${IPAddress}/${lengthOfClass(chosen)}`;
}
