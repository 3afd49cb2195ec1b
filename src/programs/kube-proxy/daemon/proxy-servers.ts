/** The two servers of kube-proxy: health, and metrics with what belongs to them (kube-proxy.md §5.2, §5.3). */
import { messageOf } from "#core/base/thrown.ts";
import type { Clock, Timer } from "#core/base/clock.ts";
import { type KubeProxyConfiguration, describeConfiguration } from "../configuration/configuration.ts";
import {
  type HttpAnswer,
  type HttpHandler,
  JSON_HEADERS,
  type Listen,
  type Listener,
  NOT_FOUND,
  textAnswer,
} from "./health/http-answer.ts";
import type { Klog } from "./klog.ts";
import type { ProxyHealth } from "./health/proxy-health.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";

export interface ProxyServersOptions {
  readonly configuration: KubeProxyConfiguration;
  readonly clock: Clock;
  readonly log: Klog;
  readonly listen: Listen;
  readonly health: ProxyHealth;
  readonly metrics: ProxyMetrics;
  /** Further pages of the metrics server, as text. */
  readonly pages: ReadonlyMap<string, () => string>;
  /** With `bindAddressHardFail`: a server cannot listen, and nothing is tried again. `reason` is that of the event. */
  readonly failed: (reason: string, message: string) => void;
}

/** How long upstream waits before it tries to listen again. */
const LISTEN_RETRY_MS = 5_000;

export class ProxyServers {
  private readonly options: ProxyServersOptions;
  private readonly timers = new Set<Timer>();
  private readonly listeners: Listener[] = [];
  private readonly opening = new Set<Promise<void>>();
  private isRunning = false;

  constructor(options: ProxyServersOptions) {
    this.options = options;
  }

  start(): void {
    const { configuration, health } = this.options;
    this.isRunning = true;
    this.serve("healthz", "FailedToStartProxierHealthcheck", configuration.healthzBindAddress, health.handle);
    this.serve("metrics", "FailedToStartMetricServer", configuration.metricsBindAddress, (path) =>
      this.metrics(path),
    );
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    for (const timer of this.timers) this.options.clock.cancel(timer);
    await Promise.all(this.opening);
    await Promise.all(this.listeners.map((listener) => listener.close()));
  }

  private serve(name: string, reason: string, address: string, handler: HttpHandler): void {
    if (address === "" || !this.isRunning) return;
    const opening = this.open(name, reason, address, handler).finally(() => this.opening.delete(opening));
    this.opening.add(opening);
  }

  private async open(name: string, reason: string, address: string, handler: HttpHandler): Promise<void> {
    const { listen, log, clock, configuration, failed } = this.options;
    try {
      const listener = await listen(address, handler);
      this.listeners.push(listener);
      log.info(1, `Serving ${name}`, { address: listener.address });
    } catch (error) {
      const message = `failed to start proxy ${name} on ${address}: ${messageOf(error)}`;
      if (configuration.bindAddressHardFail) {
        failed(reason, message);
        return;
      }
      log.error("Server cannot listen; it is tried again", {
        server: name,
        err: message,
        retryInMs: LISTEN_RETRY_MS,
        code: "kube-proxy-port-unavailable",
      });
      const timer = clock.schedule(LISTEN_RETRY_MS, {
        run: () => {
          this.timers.delete(timer);
          this.serve(name, reason, address, handler);
        },
      });
      this.timers.add(timer);
    }
  }

  private async metrics(path: string): Promise<HttpAnswer> {
    const { configuration, metrics, pages } = this.options;
    const { registry } = metrics;
    const page = pages.get(path);
    if (page !== undefined) return textAnswer(200, page());
    switch (path) {
      case "/healthz":
        return textAnswer(200, "ok");
      case "/proxyMode":
        return textAnswer(200, configuration.mode);
      case "/metrics":
        return {
          status: 200,
          headers: { "Content-Type": registry.contentType },
          body: await registry.metrics(),
        };
      case "/metrics/slis":
        return { status: 200, headers: { "Content-Type": registry.contentType }, body: "" };
      case "/configz":
        return {
          status: 200,
          headers: JSON_HEADERS,
          body: JSON.stringify({ "kubeproxy.config.k8s.io": describeConfiguration(configuration) }),
        };
      default:
        return NOT_FOUND;
    }
  }
}
