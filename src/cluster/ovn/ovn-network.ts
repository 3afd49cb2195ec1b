/**
 * OVN in a cluster: both databases in memory, the controller and northd between them, the chassis of every node, and the logical
 * flows in the switches. It is brought to rest whenever the cluster is.
 */
import { defined } from "#core/base/assert.ts";
import { formatIp } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import type { TunnelPort } from "#dataplane/ovs/chassis-tunnels.ts";
import { FollowedNetwork } from "#dataplane/ovs/followed-network.ts";
import { LogicalFlowExtension } from "#dataplane/ovs/logical-flow-extension.ts";
import type { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { nameOf } from "#dataplane/ovs/logical-pipeline.ts";
import { ROUTER_MAC } from "#dataplane/fabric/underlay.ts";
import { ChassisReporter } from "#programs/ovn/chassis-reports.ts";
import { OvnController } from "#programs/ovn/controller.ts";
import type { OvnInput, OvnNode, OvnPod } from "#programs/ovn/kube/input.ts";
import { NetworkController } from "#programs/ovn/kube/network-controller.ts";
import { localnetPort } from "#programs/ovn/kube/topology.ts";
import { Northd } from "#programs/ovn/northd/northd.ts";
import { WireGateway } from "#dataplane/ovs/wire-gateway.ts";
import { membersOf, textsOf } from "#contracts/ovsdb/client.ts";
import { managementPort } from "./management-port.ts";
import type { BridgePort } from "#programs/ovn/node/cni-server.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import type { ClusterObjects } from "../cluster-objects.ts";
import type { Enforcement, NodeEnforcement } from "../policies/enforcement.ts";
import { FollowedDatabase, type OvnDatabase } from "./followed-database.ts";
import { writeNorthbound } from "./northbound-changes.ts";
import { versionOf } from "./ovn-node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Ids of nodes begin here (control-planes.md §4.2, `node-id`). */
const FIRST_NODE_ID = 2;

/** A chassis that the southbound database did not take. */
export interface RefusedChassis {
  readonly node: string;
  readonly reason: string;
}

/** What the node's program says which ports it has made. */
export type PortsOf = (node: string) => readonly BridgePort[];

function switchOf(node: ClusterNode) {
  return node.hns?.listSwitches().find((each) => each.listPorts().some(({ kind }) => kind === "external"));
}

function uplinkMac(node: ClusterNode): Mac {
  return defined(node.host.root.interfaceOf(node.spec.address), "a node keeps its address").mac;
}

function colons(mac: Mac): string {
  return formatMac(mac).replaceAll("-", ":").toLowerCase();
}

/** Ports that policies may call by name. */
function namedPortsOf(pod: Pod | undefined): OvnPod["ports"] {
  return (pod?.spec?.containers ?? [])
    .flatMap(({ ports }) => ports ?? [])
    .map(({ name, protocol = "TCP", containerPort: port }) => ({ name, protocol, port }));
}

function followed(database: OvnDatabase): Promise<FollowedDatabase> {
  return FollowedDatabase.follow({ schema: database.schema, client: database.client() });
}

function followedNetwork(): FollowedNetwork {
  return new FollowedNetwork({
    southbound: Object.keys(OVN_SOUTHBOUND.tables),
    northbound: Object.keys(OVN_NORTHBOUND.tables),
  });
}

export class OvnNetwork {
  private readonly cluster: Cluster;
  private readonly portsOf: PortsOf;
  nb: MemoryDatabase;
  sb: OvnDatabase;
  private controller: NetworkController | undefined;
  private northd: Northd | undefined;
  private readonly chassis = new Map<string, OvnController>();
  private readonly reporters = new Map<string, ChassisReporter>();
  /** Nodes without a chassis: no packet of their pods leaves the node. */
  refused: readonly RefusedChassis[] = [];
  /** By node: why the database did not take what packets have taught its chassis. */
  private readonly refusedReports = new Map<string, string>();
  /** Why columns that the cluster file sets are not as it says. */
  private refusedRows: readonly string[] = [];
  private followed: { readonly nb: FollowedDatabase; readonly sb: FollowedDatabase } | undefined;
  /** What the flows in the switches come from. */
  private network = followedNetwork();
  /** Ports of the switches when flows were installed. */
  private installed = "";

  constructor(cluster: Cluster, portsOf: PortsOf) {
    this.cluster = cluster;
    this.portsOf = portsOf;
    const seed = String(cluster.file.seed);
    this.nb = new MemoryDatabase(OVN_NORTHBOUND, seed);
    this.sb = new MemoryDatabase(OVN_SOUTHBOUND, seed);
  }

  /** The programs start, and every node registers its chassis. */
  async start(): Promise<void> {
    const [northbound, southbound] = [this.nb.client(), this.sb.client()];
    this.controller = await NetworkController.start(northbound);
    this.northd = await Northd.start(northbound, southbound);
    await this.follows(await followed(this.sb));
    await this.register();
  }

  /** The switches get what this southbound database says, and the northbound one that is there now. */
  private async follows(sb: FollowedDatabase): Promise<void> {
    this.followed?.nb.close();
    this.followed?.sb.close();
    this.followed = { nb: await followed(this.nb), sb };
    this.network = followedNetwork();
    this.installed = "";
  }

  /**
   * The chassis leave the database in memory for one that another northd writes. The northbound database is then somebody else's,
   * too: its objects are not known here.
   */
  async joinSouthbound(southbound: OvnDatabase): Promise<void> {
    this.controller = undefined;
    this.northd = undefined;
    this.nb = new MemoryDatabase(OVN_NORTHBOUND, String(this.cluster.file.seed));
    this.sb = southbound;
    await this.follows(southbound instanceof FollowedDatabase ? southbound : await followed(southbound));
    await this.register();
    await this.follow();
  }

  /** The chassis are gone from the database, as when ovn-controller ends. */
  async leaveSouthbound(): Promise<void> {
    for (const chassis of this.chassis.values()) await chassis.unregister();
    this.chassis.clear();
    this.forgetReporters();
  }

  private forgetReporters(): void {
    for (const reporter of this.reporters.values()) reporter.close();
    this.reporters.clear();
    this.refusedReports.clear();
  }

  private async register(): Promise<void> {
    const southbound = this.sb.client();
    const refused: RefusedChassis[] = [];
    this.chassis.clear();
    this.forgetReporters();
    for (const { spec } of this.cluster.nodes) {
      const chassis = await OvnController.start(southbound, {
        name: spec.name,
        hostname: spec.hostname,
        encapsulation: this.cluster.file.network.encapsulation ?? "geneve",
        address: formatIp(spec.address),
        bridgeMappings: "physnet:br-ex",
      });
      const reason = await chassis.register();
      if (reason === undefined) {
        this.chassis.set(spec.name, chassis);
        this.reporters.set(spec.name, await ChassisReporter.start(southbound, spec.name));
      } else refused.push({ node: spec.name, reason });
    }
    this.refused = refused;
  }

  /** Ports of a node's integration bridge: its pods', and its own. */
  private bridgePorts(name: string): readonly BridgePort[] {
    const node = this.cluster.nodes.find(({ spec }) => spec.name === name);
    return [...(node === undefined ? [] : [managementPort(node)]), ...this.portsOf(name)];
  }

  private nodes(): readonly OvnNode[] {
    const { underlay } = this.cluster.file;
    return this.cluster.nodes.map((node, index) => ({
      name: node.spec.name,
      id: FIRST_NODE_ID + index,
      subnet: node.spec.podCIDR,
      chassis: node.spec.name,
      gateway: {
        address: formatIp(node.spec.address),
        length: underlay.subnet.length,
        mac: colons(uplinkMac(node)),
        nextHop: formatIp(underlay.router),
        // Inferred: a chassis that keeps no packet while it asks by ARP would lose the first one (ovn-northd(8)).
        neighbours: this.neighboursOf(node),
      },
    }));
  }

  private neighboursOf(node: ClusterNode): ReadonlyMap<string, string> {
    const { nodes, file } = this.cluster;
    const others = nodes.filter((other) => other !== node);
    return new Map([
      [formatIp(file.underlay.router), colons(ROUTER_MAC)],
      ...others.map((other) => [formatIp(other.spec.address), colons(uplinkMac(other))] as const),
    ]);
  }

  /** Addresses and ports of Services that are reached from the wire. */
  private services(): ReadonlySet<string> {
    const database = this.northd === undefined ? this.sb : this.nb;
    const rows = [...database.rowsOf("Load_Balancer").values()];
    return new Set(
      rows.flatMap((row) => {
        const protocol = String(membersOf(row["protocol"])[0] ?? "tcp");
        return [...textsOf(row["vips"]).keys()].map((vip) => `${protocol} ${vip}`);
      }),
    );
  }

  private input(objects: ClusterObjects): OvnInput {
    const { pods, file } = this.cluster;
    const known = new Map(objects.Pod.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
    const inNetwork = pods.filter(({ spec }: ClusterPod) => spec.network !== "host");
    return {
      clusterCIDR: file.network.clusterCIDR,
      nodes: this.nodes(),
      pods: inNetwork.map(({ spec, address, node }) => ({
        namespace: spec.namespace,
        name: spec.name,
        uid: versionOf(spec),
        node: node.spec.name,
        ip: formatIp(address),
        labels: known.get(`${spec.namespace}/${spec.name}`)?.metadata.labels ?? {},
        ports: namedPortsOf(known.get(`${spec.namespace}/${spec.name}`)),
      })),
      namespaces: objects.Namespace,
      services: objects.Service,
      slices: objects.EndpointSlice,
      policies: objects.NetworkPolicy,
    };
  }

  /** Brings databases and switches to what the objects say. */
  async sync(objects: ClusterObjects): Promise<void> {
    await this.controller?.sync(this.input(objects));
    const { northbound } = this.cluster.file.network;
    this.refusedRows =
      this.controller === undefined
        ? northbound.map(({ table, record }) => WORDS.northboundForeign({ table, record }))
        : writeNorthbound(this.nb, northbound);
    await this.follow();
  }

  /** Rows that are not as they are to be, or that nothing comes of, and flows that no packet can be compared with. */
  get leftOut(): readonly { readonly code: "ovn-flow-refused" | "ovn-row-refused"; readonly text: string }[] {
    return [
      ...[...this.refusedRows, ...(this.northd?.leftOut() ?? []), ...this.refusedReports.values()].map(
        (text) => ({ code: "ovn-row-refused" as const, text }),
      ),
      ...[...this.network.problems].map(([what, problem]) => ({
        code: "ovn-flow-refused" as const,
        text: `${what} of the southbound database: ${problem}`,
      })),
      ...this.network.network.unreadable.map(({ row, problem }) => ({
        code: "ovn-flow-refused" as const,
        text: `${nameOf(row)} is left out: its match cannot be read: ${problem}`,
      })),
    ];
  }

  /** Brings switches to what the databases say, whoever has written them. */
  async follow(): Promise<void> {
    const { northd } = this;
    await this.report();
    await northd?.sync();
    const claimed = new Map<string, ReadonlySet<string>>();
    for (const [name, chassis] of this.chassis) claimed.set(name, await chassis.sync(this.bridgePorts(name)));
    await northd?.sync();
    this.install(claimed);
    this.cluster.enforcement = this.enforcement();
  }

  private extensionOf(name: string): LogicalFlowExtension | undefined {
    const node = this.cluster.nodes.find(({ spec }) => spec.name === name);
    const extension = node === undefined ? undefined : switchOf(node)?.extension;
    return extension instanceof LogicalFlowExtension ? extension : undefined;
  }

  /** Whether packets may have taught a chassis what `report` writes. */
  hasReports(): boolean {
    return [...this.reporters.keys()].some((name) => this.extensionOf(name)?.hasReports() === true);
  }

  /** Writes what packets have taught the chassis: virtual ports, events of empty load balancers, members of multicast groups. */
  async report(): Promise<void> {
    for (const [name, reporter] of this.reporters) {
      const reports = this.extensionOf(name)?.takeReports();
      if (reports === undefined) continue;
      const refusal = await reporter.report(reports);
      if (refusal === undefined) this.refusedReports.delete(name);
      else this.refusedReports.set(name, `${name}: what packets have taught it is not written: ${refusal}`);
    }
  }

  /** OVN carries NetworkPolicies out on every node. */
  private enforcement(): Enforcement {
    const { name } = this.cluster.file.network;
    const node: NodeEnforcement = Object.freeze({ networks: [name], findings: [], acls: {} });
    const nodes = Object.fromEntries(this.cluster.nodes.map(({ spec }) => [spec.name, node]));
    return Object.freeze({ engine: "ovn", nodes });
  }

  /** Gives the switches what the southbound database says, where something has changed. */
  private install(claimed: ReadonlyMap<string, ReadonlySet<string>>): void {
    const { followed: databases, network } = this;
    if (databases === undefined) return;
    const [southbound, northbound] = [databases.sb.takeChanges(), databases.nb.takeChanges()];
    const counts = this.cluster.nodes.map((node) => switchOf(node)?.listPorts().length ?? 0).join(" ");
    if (southbound.size === 0 && northbound.size === 0 && counts === this.installed) return;
    this.installed = counts;
    network.take(southbound, northbound);
    this.cluster.ovn = Object.freeze(network.tables());
    for (const node of this.cluster.nodes)
      this.installOn(node, network.network, claimed.get(node.spec.name) ?? new Set());
  }

  /** The flows of a node's switch. Its connections stay when they change. */
  private installOn(node: ClusterNode, network: LogicalNetwork, claimed: ReadonlySet<string>): void {
    const virtualSwitch = switchOf(node);
    if (virtualSwitch === undefined) return;
    const { name, address } = node.spec;
    const ports = virtualSwitch.listPorts();
    const uplink = defined(
      ports.find(({ kind }) => kind === "external"),
      "the switch has an uplink",
    ).name;
    const bindings = new Map(
      this.bridgePorts(name).flatMap(({ id, mac }) => {
        const port = ports.find((each) => each.kind === "container" && colons(each.mac) === mac);
        return port === undefined || !claimed.has(id) ? [] : [[port.name, id] as const];
      }),
    );
    const peers = new Map(this.cluster.nodes.map((each) => [formatIp(each.spec.address), uplinkMac(each)]));
    const { root: resolver } = node.host;
    const tunnels: TunnelPort = { chassis: name, switchPort: uplink, mac: uplinkMac(node), peers, resolver };
    const resident = new Set([...claimed, localnetPort(name)]);
    const services = this.services();
    const { extension } = virtualSwitch;
    if (extension instanceof LogicalFlowExtension) {
      extension.renew(network, bindings, resident, tunnels, services);
      return;
    }
    const gateway = new WireGateway({ localnet: localnetPort(name), address, services });
    const { clock } = this.cluster;
    virtualSwitch.extension = new LogicalFlowExtension(network, bindings, clock, resident, tunnels, gateway);
  }
}
