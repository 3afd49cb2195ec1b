/**
 * The Routes controller of the cloud provider, beside the nodes of a cluster in a virtual network of Azure (`routes: cloud`):
 * it leads the pod range of each Node to the node, in the route table of the nodes' subnet (control-planes.md §6.5, §6.6).
 */
import { defined } from "#core/base/assert.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp, formatPrefix, parseIpv4, parsePrefix } from "#core/net/ip.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { AzureRoutes } from "#control-plane/cloud/azure/azure-routes.ts";
import { type AzureRoute, MemoryRouteTables } from "#control-plane/cloud/azure/delayed-route-updater.ts";
import type { RouteFault } from "#control-plane/cloud/cloud-route.ts";
import { RoutesController } from "#control-plane/cloud/routes-controller.ts";
import type { UserRoute } from "#dataplane/fabric/azure/effective-routes.ts";
import { VirtualNetwork } from "#dataplane/fabric/azure/virtual-network.ts";
import { clusterLife } from "#data/words.js";
import type { Cluster } from "../cluster.ts";

const WORDS = clusterLife();

/** Longer than the first round takes: a write every 30 seconds, which takes effect after 30 more. */
const START_MS = 90_000;
const MS_PER_SECOND = 1_000;

/** A node whose pods the cloud does not know the way to. */
export interface RouteTrouble {
  readonly node: string;
  readonly code: KnowledgeCode;
  readonly text: string;
}

function azureRoute({ name, prefix, nextHopType, nextHop }: UserRoute): AzureRoute {
  const route = { name, addressPrefix: formatPrefix(prefix), nextHopType };
  return nextHop === undefined ? route : { ...route, nextHopIpAddress: formatIp(nextHop) };
}

function userRoute({
  name,
  addressPrefix,
  nextHopType,
  nextHopIpAddress = "",
}: AzureRoute): readonly UserRoute[] {
  const prefix = parsePrefix(addressPrefix);
  // The fabric of a cluster file carries IPv4.
  if (prefix === undefined || typeof prefix.address !== "number") return [];
  const nextHop = parseIpv4(nextHopIpAddress);
  return [{ name, prefix, nextHopType, ...(nextHop === undefined ? {} : { nextHop }) }];
}

export class CloudRoutes {
  private readonly cluster: Cluster;
  private readonly source: KubeSource;
  private readonly tables: MemoryRouteTables;
  private readonly tableName: string;
  private readonly controller: RoutesController;
  private dueAtMs: number;
  private lastFault: RouteFault | undefined;

  constructor(cluster: Cluster, source: KubeSource) {
    const { file, env, clock, nodes } = cluster;
    this.cluster = cluster;
    this.source = source;
    this.dueAtMs = clock.nowMs;
    const [first] = this.subnets();
    const { routeTable, routes } = defined(
      first,
      "the cluster file checks that the nodes' subnet has a table",
    );
    this.tableName = defined(routeTable, "it has a name");
    const { nowMs } = clock;
    const throttledMs = file.underlay.azureThrottledSeconds * MS_PER_SECOND;
    this.tables = new MemoryRouteTables(throttledMs === 0 ? 0 : nowMs + throttledMs);
    // What somebody wrote by hand was there before.
    const byHand = { name: this.tableName, location: "", routes: routes.map(azureRoute), etag: "" };
    this.tables.put(byHand, Number.POSITIVE_INFINITY);
    const provider = new AzureRoutes({
      tables: this.tables,
      tableName: this.tableName,
      location: "",
      isDualStack: false,
      privateIps: new Map(nodes.map(({ spec }) => [spec.name.toLowerCase(), [formatIp(spec.address)]])),
    });
    const clusterCidrs = [file.network.clusterCIDR];
    this.controller = new RoutesController({
      provider,
      clusterCidrs,
      prng: env.prng.derive("cloud-routes"),
      epochMs: 0,
    });
  }

  /** Lets time pass until each node has its route, or a round has shown that it gets none. */
  async start(): Promise<void> {
    const { clock } = this.cluster;
    const isWaitedFor = ({ code }: RouteTrouble): boolean => code !== "node-without-pod-cidr";
    const endMs = clock.nowMs + START_MS;
    for (;;) {
      await this.sync();
      if (clock.nowMs >= endMs || !this.listTroubles().some(isWaitedFor)) return;
      clock.runUntil(Math.min(Math.max(this.dueAtMs, clock.nowMs + 1), endMs));
    }
  }

  /** When the controller wants to be called next. */
  get nextAtMs(): number {
    return this.dueAtMs;
  }

  /** Goes as far as it can at this moment; what it has written counts at once. */
  async sync(): Promise<void> {
    const { nowMs } = this.cluster.clock;
    if (nowMs < this.dueAtMs) return;
    const { nextInMs, findings } = await this.controller.advance(nowMs, this.source);
    this.dueAtMs = nowMs + nextInMs;
    this.lastFault = findings.at(-1) ?? this.lastFault;
    const routes = this.routes().flatMap(userRoute);
    const rules = this.cluster.underlay.physicalHost?.rules;
    if (!(rules instanceof VirtualNetwork)) return;
    for (const { name, routeTable } of this.subnets())
      if (routeTable === this.tableName) rules.setRoutes(name, routes);
  }

  /** Nodes without a route, in the order of the file. */
  listTroubles(): readonly RouteTrouble[] {
    const led = new Set(this.routes().map(({ addressPrefix }) => addressPrefix));
    return this.cluster.nodes.flatMap(({ spec }) => {
      const range = formatPrefix(spec.podCIDR);
      if (led.has(range)) return [];
      if (!spec.isRangeInNode) {
        const text = WORDS.nodeWithoutPodCIDR({ range });
        return { node: spec.name, code: "node-without-pod-cidr" as const, text };
      }
      const { code = "no-route", message = WORDS.cloudRouteMissing({ range }) } = this.lastFault ?? {};
      return { node: spec.name, code, text: message };
    });
  }

  private routes(): readonly AzureRoute[] {
    return this.tables.get(this.tableName)?.routes ?? [];
  }

  private subnets(): NonNullable<Cluster["file"]["underlay"]["azure"]>["subnets"] {
    const { azure } = this.cluster.file.underlay;
    return azure?.subnets.filter(({ routeTable }) => routeTable !== undefined) ?? [];
  }
}
