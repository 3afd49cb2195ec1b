/**
 * The servers that kube-proxy has on every node, for the health checks of load balancers: its own on 10256, and one for
 * each Service with a `healthCheckNodePort` (kube-proxy.md §5.1, §5.2). On Windows, packets to a Service's own address come
 * to them where kube-proxy forwards them (§5.4).
 */
import type { Clock } from "#core/base/clock.ts";
import type { KubeProxyOptions } from "#programs/kube-proxy/options.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { type HttpReply, type HttpResponder, HttpServer } from "#dataplane/host/services/http-server.ts";
import {
  type CheckedService,
  DEFAULT_HEALTHZ_PORT,
  LIVEZ_SINCE,
  type ProxyObjects,
  behaviourOf,
  checkedServices,
  proxyHealthAnswer,
  serviceHealthAnswer,
} from "#programs/kube-proxy/mod.ts";
import type { IpFamily } from "#core/net/ip.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";

/** A node with a kube-proxy. */
export interface HealthServedNode extends Pick<KubeProxyOptions, "kubernetes" | "compat"> {
  readonly compartment: Compartment;
  /** What slices call the node, as far as its kube-proxy knows. */
  readonly hostname: string;
  readonly families: readonly IpFamily[];
}

const NOT_FOUND: HttpReply = Object.freeze({
  status: 404,
  headers: Object.freeze({ "Content-Type": "text/plain; charset=utf-8" }),
  body: "404 page not found\n",
});

/** `/healthz` and `/livez`: a proxy here is never behind, since time stands still until it has worked. */
class ProxyPages implements HttpResponder {
  private readonly clock: Clock;
  private readonly minor: number;

  constructor(clock: Clock, minor: number) {
    this.clock = clock;
    this.minor = minor;
  }

  respond(path: string): HttpReply {
    const hasLivez = this.minor >= LIVEZ_SINCE;
    if (path !== "/healthz" && !(path === "/livez" && hasLivez)) return NOT_FOUND;
    const nowMs = CAPTURE_EPOCH_MS + this.clock.nowMs;
    const isNodeEligible = hasLivez && path === "/healthz" ? true : undefined;
    return proxyHealthAnswer({ isHealthy: true, lastUpdatedMs: nowMs, nowMs, isNodeEligible });
  }
}

/** Whatever the path, whether the node has ready pods of the Service. */
class ServicePages implements HttpResponder {
  checked: CheckedService;
  private readonly minor: number;

  constructor(checked: CheckedService, minor: number) {
    this.checked = checked;
    this.minor = minor;
  }

  respond(): HttpReply {
    return serviceHealthAnswer(this.checked, true, this.minor);
  }
}

interface ServiceServer {
  readonly server: HttpServer;
  readonly pages: ServicePages;
}

interface NodeServers {
  readonly node: HealthServedNode;
  readonly proxy: HttpServer;
  /** By port. */
  readonly services: Map<number, ServiceServer>;
}

export class HealthServers {
  private readonly objects: ProxyObjects;
  private readonly clock: Clock;
  private readonly nodes = new Map<string, NodeServers>();

  constructor(objects: ProxyObjects, clock: Clock) {
    this.objects = objects;
    this.clock = clock;
  }

  /** A kube-proxy begins. A port that another program has stays that program's. */
  startOn(name: string, node: HealthServedNode): void {
    this.stopOn(name);
    const proxy = new HttpServer(node.compartment, new ProxyPages(this.clock, node.kubernetes.minor));
    proxy.listen(DEFAULT_HEALTHZ_PORT);
    this.nodes.set(name, { node, proxy, services: new Map() });
  }

  /** The kube-proxy ends. */
  stopOn(name: string): void {
    const servers = this.nodes.get(name);
    if (servers === undefined) return;
    servers.proxy.close();
    for (const { server } of servers.services.values()) server.close();
    this.nodes.delete(name);
  }

  /** Opens and closes what Services ask for, and takes over how many pods each node has. */
  sync(): void {
    for (const servers of this.nodes.values()) this.syncNode(servers);
  }

  private syncNode({ node, services }: NodeServers): void {
    const { compartment, families, kubernetes, compat, hostname } = node;
    const wanted = checkedServices(this.objects, families, behaviourOf(kubernetes, compat), hostname);
    const ports = new Set(wanted.map(({ port }) => port));
    for (const [port, { server }] of services) {
      if (ports.has(port)) continue;
      server.close();
      services.delete(port);
    }
    for (const checked of wanted) {
      const known = services.get(checked.port);
      if (known !== undefined) {
        known.pages.checked = checked;
        continue;
      }
      const pages = new ServicePages(checked, kubernetes.minor);
      const server = new HttpServer(compartment, pages);
      // Tried again at the next sync, as upstream does (kube-proxy.md §5.1).
      if (server.listen(checked.port) === undefined) services.set(checked.port, { server, pages });
    }
  }
}
