/**
 * A server for each Service with a `healthCheckNodePort`: cloud load balancers ask it whether this node has pods of the
 * Service (kube-proxy.md §5.1).
 */
import type { IpFamily } from "#core/net/ip.ts";
import type { Behaviour } from "../../behaviour.ts";
import type { ProxyObjects } from "../../tracking/proxy-objects.ts";
import { endpointOn } from "../../tracking/tracked-endpoints.ts";
import { healthCheckPortOf } from "../../tracking/tracked-service.ts";
import { type HttpAnswer, JSON_HEADERS, type Listen, type Listener } from "./http-answer.ts";

/** What a Service's health check is about. */
export interface CheckedService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Addresses of ready endpoints on this node, each counted once. */
  readonly localEndpoints: number;
}

/** First minor whose answers depend on the proxy's own health. */
const COUPLED_SINCE = 27;

/** The Services with a health check, and how many ready endpoints each has on `hostname`. */
export function checkedServices(
  objects: ProxyObjects,
  families: readonly IpFamily[],
  behaviour: Behaviour,
  hostname: string,
): readonly CheckedService[] {
  const found = new Map<string, { namespace: string; name: string; port: number; addresses: Set<string> }>();
  for (const family of families) {
    const tracker = objects.tracker(family, behaviour);
    for (const [key, service] of tracker.checkedServices()) {
      const port = healthCheckPortOf(service);
      const { namespace, name } = service;
      const entry = found.get(key) ?? { namespace, name, port, addresses: new Set<string>() };
      found.set(key, entry);
      for (const endpoints of tracker.endpoints(key)?.byPort.values() ?? [])
        for (const endpoint of endpoints) {
          const { ip, nodeName, isReady } = endpointOn(endpoint, hostname);
          if (isReady && nodeName === hostname) entry.addresses.add(ip);
        }
    }
  }
  return [...found.values()].map(({ namespace, name, port, addresses }) => ({
    namespace,
    name,
    port,
    localEndpoints: addresses.size,
  }));
}

/** What a health check answers, whatever the path. */
export function serviceHealthAnswer(
  { namespace, name, localEndpoints }: CheckedService,
  isProxyHealthy: boolean,
  minor: number,
): HttpAnswer {
  const isCoupled = minor >= COUPLED_SINCE;
  const lines = [
    "{",
    '\t"service": {',
    `\t\t"namespace": ${JSON.stringify(namespace)},`,
    `\t\t"name": ${JSON.stringify(name)}`,
    "\t},",
    `\t"localEndpoints": ${localEndpoints}${isCoupled ? "," : ""}`,
    ...(isCoupled ? [`\t"serviceProxyHealthy": ${isProxyHealthy}`] : []),
    "}",
  ];
  return {
    status: localEndpoints > 0 && (isProxyHealthy || !isCoupled) ? 200 : 503,
    headers: { ...JSON_HEADERS, "X-Load-Balancing-Endpoint-Weight": String(localEndpoints) },
    body: lines.join("\n"),
  };
}

export interface ServiceHealthOptions {
  readonly listen: Listen;
  readonly isProxyHealthy: () => boolean;
  readonly minor: number;
  /** A port that cannot be listened on; it is tried again in each sync. */
  readonly failed: (service: CheckedService, error: unknown) => void;
  readonly opened: (service: CheckedService) => void;
  readonly closed: (service: CheckedService) => void;
}

interface Open {
  service: CheckedService;
  readonly listener: Listener;
}

export class ServiceHealthServers {
  private readonly options: ServiceHealthOptions;
  private readonly open = new Map<string, Open>();

  constructor(options: ServiceHealthOptions) {
    this.options = options;
  }

  /** Brings the servers to what Services want, and takes over their counts. */
  async sync(services: readonly CheckedService[]): Promise<void> {
    const wanted = new Map(services.map((service) => [`${service.namespace}/${service.name}`, service]));
    for (const [key, { service }] of this.open)
      if (wanted.get(key)?.port !== service.port) await this.close(key);
    for (const [key, service] of wanted) {
      const known = this.open.get(key);
      if (known !== undefined) known.service = service;
      else await this.listen(key, service);
    }
  }

  async closeAll(): Promise<void> {
    for (const key of this.open.keys()) await this.close(key);
  }

  private async listen(key: string, service: CheckedService): Promise<void> {
    const { listen, isProxyHealthy, minor, opened, failed } = this.options;
    try {
      // On Windows always on all addresses, whatever nodePortAddresses says.
      const listener = await listen(`0.0.0.0:${service.port}`, () =>
        serviceHealthAnswer(this.open.get(key)?.service ?? service, isProxyHealthy(), minor),
      );
      this.open.set(key, { service, listener });
      opened(service);
    } catch (error) {
      failed(service, error);
    }
  }

  private async close(key: string): Promise<void> {
    const known = this.open.get(key);
    if (known === undefined) return;
    this.open.delete(key);
    await known.listener.close();
    this.options.closed(known.service);
  }
}
