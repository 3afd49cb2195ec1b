/**
 * kube-proxy on all Linux nodes of a cluster: Services and their slices → the rules of each node.
 *
 * A Service whose rules are the same everywhere stands in one set that all nodes share; one whose rules differ (policy
 * Local, hints, source ranges) stands in a set of each node, and nodes that see it alike share its rules. A change costs
 * that Service only.
 */
import { assert } from "#core/base/assert.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { type HookRules, RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import { type Ip, type IpFamily, type Prefix, formatIp, prefixFamily } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import {
  type PlannedEndpoint,
  type PlannedPort,
  type UsedEndpoints,
  type ViewingNode,
  isNodeDependent,
  planService,
  usedEndpoints,
} from "./linux-service-plan.ts";
import { compileService, proxyNodeRules } from "./linux-service-rules.ts";

/** A node as kube-proxy on it knows it; the address is that of the proxy's family. */
export interface LinuxProxyNode extends ViewingNode {
  readonly address: Ip;
  /** The node's own stack. */
  readonly compartment: Compartment;
}

/** A node and the rules that only it has. */
interface ServedNode {
  readonly node: LinuxProxyNode;
  readonly own: RuleSet;
}

const PROXY_OWNER = "kube-proxy";

export class LinuxServices {
  private readonly clusterCidr: Prefix;
  private readonly family: IpFamily;
  private readonly shared = new RuleSet();
  private readonly nodes: ServedNode[] = [];
  /** By `namespace/name`. */
  private readonly plans = new Map<string, readonly PlannedPort[]>();

  /** The family of `clusterCidr` is the one that is served. */
  constructor(clusterCidr: Prefix) {
    this.clusterCidr = clusterCidr;
    this.family = prefixFamily(clusterCidr);
  }

  /** Starts the proxy of a node; it serves what there is and what comes. */
  addNode(node: LinuxProxyNode): void {
    assert(!this.nodes.some((other) => other.node.name === node.name), "a node has one proxy");
    const served = { node, own: new RuleSet() };
    // Rules that name no address are the same for both families: one proxy writes them.
    if (this.family === 4) served.own.set(PROXY_OWNER, proxyNodeRules(node.name));
    const netfilter = node.compartment.enableNetfilter();
    netfilter.use(served.own, "first");
    netfilter.use(this.shared, "first");
    this.nodes.push(served);
    for (const [name, ports] of this.plans) if (this.isPerNode(ports)) this.setOwn(name, ports, [served]);
  }

  /** Serves `service` with the endpoints of `slices`, all those of this Service. */
  set(service: Service, slices: readonly EndpointSlice[]): void {
    const name = nameOf(service.metadata);
    const ports = planService(service, slices, this.family);
    const before = this.plans.get(name) ?? [];
    this.plans.set(name, ports);
    if (this.isPerNode(ports)) {
      this.shared.remove(name);
      this.setOwn(name, ports, this.nodes);
    } else {
      for (const { own } of this.nodes) own.remove(name);
      const used = ports.map((port) => ({ port, used: usedEndpoints(port, undefined) }));
      this.shared.set(name, compileService(used, { clusterCidr: this.clusterCidr, nodeAddress: undefined }));
    }
    this.forgetStale(before, ports);
  }

  /** Serves a Service no more. An unknown one is ignored. */
  remove(reference: { readonly namespace: string; readonly name: string }): void {
    const name = nameOf(reference);
    const before = this.plans.get(name);
    if (before === undefined) return;
    this.plans.delete(name);
    this.shared.remove(name);
    for (const { own } of this.nodes) own.remove(name);
    this.forgetStale(before, []);
  }

  private isPerNode(ports: readonly PlannedPort[]): boolean {
    return ports.some((port) => isNodeDependent(port) || port.sourceRanges.length > 0);
  }

  private setOwn(name: string, ports: readonly PlannedPort[], nodes: readonly ServedNode[]): void {
    const views = new Map<string, HookRules>();
    const isAddressSeen = ports.some((port) => port.sourceRanges.length > 0);
    for (const { node, own } of nodes) {
      const used = ports.map((port) => ({ port, used: usedEndpoints(port, node) }));
      const nodeAddress = isAddressSeen ? node.address : undefined;
      const key = `${nodeAddress ?? ""}|${used.map((each) => viewKey(each.used)).join("|")}`;
      let rules = views.get(key);
      if (rules === undefined) {
        rules = compileService(used, { clusterCidr: this.clusterCidr, nodeAddress });
        views.set(key, rules);
      }
      own.set(name, rules);
    }
  }

  /**
   * Datagrams have no end that a table could see: what still leads to an endpoint that is gone is forgotten, so that
   * the next datagram finds another (pkg/proxy/conntrack/cleanup.go). TCP connections are left to their ends.
   */
  private forgetStale(before: readonly PlannedPort[], after: readonly PlannedPort[]): void {
    const serving = new Set(after.flatMap(endpointKeys));
    const gone = new Set(before.flatMap(endpointKeys).filter((key) => !serving.has(key)));
    const isNew = after.some((port) => port.protocol === IpProtocol.udp && port.endpoints.length > 0);
    const wasServed = before.some((port) => port.protocol === IpProtocol.udp && port.endpoints.length > 0);
    if (gone.size === 0 && (wasServed || !isNew)) return;
    const targets = new Set([...before, ...after].flatMap(destinationKeys));
    for (const { node } of this.nodes) {
      const { compartment } = node;
      const table = compartment.netfilter?.connections;
      for (const connection of table?.list(compartment.nowMs) ?? []) {
        const { protocol, destination, destinationPort } = connection.original;
        if (protocol !== IpProtocol.udp) continue;
        const isForService =
          targets.has(`${destination}:${destinationPort}`) ||
          (targets.has(`:${destinationPort}`) && compartment.isLocal(destination));
        const isStale = !serving.has(`${connection.reply.source}:${connection.reply.sourcePort}`);
        if (isForService && isStale) table?.remove(connection);
      }
    }
  }
}

function nameOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

function viewKey({ cluster, local, isServed }: UsedEndpoints): string {
  const text = (endpoints: readonly PlannedEndpoint[]): string =>
    endpoints.map(({ ip, port }) => `${formatIp(ip)}:${port}`).join(",");
  return `${text(cluster)};${text(local)};${isServed}`;
}

/** Endpoints of UDP ports, as connections name them. */
function endpointKeys(plan: PlannedPort): readonly string[] {
  if (plan.protocol !== IpProtocol.udp) return [];
  return plan.endpoints
    .filter(({ isReady, isServingTerminating }) => isReady || isServingTerminating)
    .map(({ ip, port }) => `${ip}:${port}`);
}

/** Destinations of a UDP port; a NodePort without its address. */
function destinationKeys(plan: PlannedPort): readonly string[] {
  if (plan.protocol !== IpProtocol.udp) return [];
  const ips = [plan.clusterIp, ...plan.externalIps, ...plan.ingressIps].map((ip) => `${ip}:${plan.port}`);
  return plan.nodePort === 0 ? ips : [...ips, `:${plan.nodePort}`];
}
