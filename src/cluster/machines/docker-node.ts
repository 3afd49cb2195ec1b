/**
 * Docker's engine on a Windows node of the cluster: it makes the node's networks, connects containers, and answers their
 * questions for each other's names on the gateway of NAT networks (control-planes.md §8.1).
 */
import { defined } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import { type Ipv4, parseIpv4 } from "#core/net/ip.ts";
import type { DnsQuestion } from "#core/wire/dns/dns.ts";
import { type NameAnswer, type NameSource, comparableName, makeAnswer } from "#control-plane/dns/answer.ts";
import { DEFAULT_NAME, DockerEngine } from "#programs/docker/engine.ts";
import { type DockerDriver, type DockerNetworkRequest, UNASKED } from "#programs/docker/network-request.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile, FilePodSpec, NetworkDriver, PodNetworkSpec } from "../file/cluster-file.ts";
import { DnsServer } from "../names/dns-server.ts";
import { ADAPTER_NAME } from "../networks/network-document.ts";
import { networkGateway, networksOf, subnetOn } from "../networks/networks-of-node.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";
import { hcnClientOf } from "./windows-node.ts";

const DRIVERS: Readonly<Record<Exclude<NetworkDriver, "Overlay">, DockerDriver>> = {
  NAT: "nat",
  Transparent: "transparent",
  L2Bridge: "l2bridge",
  L2Tunnel: "l2tunnel",
};

/** Docker's resolver gives its answers ten minutes (libnetwork/resolver.go, respTTL). */
const TTL_SECONDS = 600;

/** What the engine knows by name: containers of one network. */
class ContainerNames implements NameSource {
  private readonly engine: DockerEngine;
  private readonly network: string;

  constructor(engine: DockerEngine, network: string) {
    this.engine = engine;
    this.network = network;
  }

  answer({ name, type }: DnsQuestion): NameAnswer | undefined {
    const ip = this.engine.addressOf(this.network, comparableName(name));
    if (ip === undefined) return undefined;
    const answers = type === "A" ? [{ name, ttlSeconds: TTL_SECONDS, type: "A" as const, ip }] : [];
    return makeAnswer({ isAuthoritative: false, answers });
  }
}

function requestOf(file: ClusterFile, network: PodNetworkSpec, { spec }: ClusterNode): DockerNetworkRequest {
  const { name, driver, vlan, ipam, outboundNAT } = network;
  const isLeased = ipam === "dhcp";
  return {
    name,
    driver:
      DRIVERS[defined(driver === "Overlay" ? undefined : driver, "Docker makes no overlay networks alone")],
    subnet: isLeased ? undefined : subnetOn(file, network, spec),
    gateway: isLeased ? undefined : (networkGateway(file, network, spec) as Ipv4),
    adapter: driver === "NAT" ? undefined : ADAPTER_NAME,
    vlan,
    ...file.network.docker,
    outboundNat: outboundNAT.enabled ? outboundNAT.exceptions : undefined,
  };
}

/** The network that Docker makes when it starts first, where nobody gives it a range (control-planes.md §8.1). */
export const DEFAULT_NETWORK: DockerNetworkRequest = Object.freeze({ ...UNASKED, name: DEFAULT_NAME });

function requestsOf(file: ClusterFile, node: ClusterNode): readonly DockerNetworkRequest[] {
  const own = networksOf(file, node.spec).map((network) => requestOf(file, network, node));
  return file.network.plugin === "acs-2017" ? [DEFAULT_NETWORK, ...own] : own;
}

/** The name of a container: Docker has no namespaces. */
export function containerName({ namespace, name }: FilePodSpec): string {
  return namespace === "default" ? name : `${namespace}.${name}`;
}

export class DockerNode {
  readonly engine: DockerEngine;
  private readonly node: ClusterNode;
  private readonly resolvers: DnsServer[] = [];
  private readonly hasGatewayDns: boolean;

  constructor(env: Environment, file: ClusterFile, node: ClusterNode) {
    this.node = node;
    this.hasGatewayDns = file.network.docker.hasGatewayDns;
    this.engine = new DockerEngine(env.prng.derive(`docker/${node.spec.name}`));
    node.docker = this.engine;
  }

  /** `docker network create` for each network of the cluster file. @throws HcnError what HNS refuses. */
  async createNetworks(env: Environment, file: ClusterFile): Promise<void> {
    const created = new Date(CAPTURE_EPOCH_MS + env.clock.nowMs).toISOString();
    const client = hcnClientOf(this.node);
    for (const request of requestsOf(file, this.node))
      await this.engine.createNetwork(client, request, created);
    this.listen();
  }

  get networkNames(): readonly string[] {
    return this.engine.inspect().map(({ Name }) => Name);
  }

  /** The machine has come up again. @throws HcnError. */
  async start(): Promise<void> {
    for (const resolver of this.resolvers.splice(0)) resolver.close();
    await this.engine.start(hcnClientOf(this.node));
    this.listen();
  }

  /** What the resolvers do not know they ask of the node's own servers. */
  readNodeServers(): void {
    for (const resolver of this.resolvers) resolver.upstreams = this.node.host.root.dns.servers;
  }

  /** The gateway of a NAT network is an address of the node. */
  private listen(): void {
    for (const { Name, Driver, IPAM } of this.engine.inspect()) {
      const gateway = parseIpv4(IPAM.Config[0]?.Gateway ?? "");
      if (Driver !== "nat" || gateway === undefined || !this.hasGatewayDns) continue;
      const sources = [new ContainerNames(this.engine, Name)];
      const resolver = new DnsServer({ compartment: this.node.host.root, sources });
      if (resolver.listen(gateway) === undefined) this.resolvers.push(resolver);
    }
  }
}
