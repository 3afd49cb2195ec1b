/** What a running kube-proxy is seen by: metrics, health, events, servers (kube-proxy.md §5, §6). */
import { messageOf } from "#core/base/thrown.ts";
import type { Behaviour, KubernetesVersion } from "../behaviour.ts";
import { effectiveGates, gatesOf } from "../configuration/feature-gates.ts";
import { flagsOf } from "../configuration/flags.ts";
import type { ProxyObjects } from "../tracking/proxy-objects.ts";
import { EventRecorder, nodeSubject, serviceSubject } from "./event-recorder.ts";
import { ObservedHcnClient, frontEndKindOf } from "./observed-client.ts";
import { ProxyHealth } from "./health/proxy-health.ts";
import { ProxyMetrics } from "./proxy-metrics.ts";
import { ProxyServers } from "./proxy-servers.ts";
import { type CheckedService, ServiceHealthServers } from "./health/service-health.ts";
import { SyncReporter } from "./sync-reporter.ts";
import { flagzPage, statuszPage } from "./zpages.ts";
import type { Clock } from "#core/base/clock.ts";
import type { Compat } from "#core/base/compat.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { KubeProxyConfiguration } from "../configuration/configuration.ts";
import type { ProxyInterface } from "../options.ts";
import type { Listen } from "./health/http-answer.ts";
import type { Klog } from "./klog.ts";
import type { ObjectFeed } from "./object-feed.ts";

// What kube-proxy's process gives the running proxy: the machine as values.

export interface ProxyServerParts {
  /** Validated, with defaults. */
  readonly configuration: KubeProxyConfiguration;
  readonly kubernetes: KubernetesVersion;
  readonly compat: Compat;
  /** The name of this node's Node object. */
  readonly hostname: string;
  /** The variable `KUBE_NETWORK`. */
  readonly kubeNetwork: string | undefined;
  /** The words of the command line, for `/flagz`. */
  readonly flags: ReadonlyMap<string, unknown>;
  readonly client: HcnClient;
  readonly feed: ObjectFeed;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  readonly log: Klog;
  readonly listen: Listen;
  /** The node's interfaces as they are now. */
  readonly hostInterfaces: () => readonly ProxyInterface[];
}

/** First minor whose metrics server has `/flagz` and `/statusz`. */
const ZPAGES_SINCE = 33;

export interface Instruments {
  readonly gates: ReadonlyMap<string, boolean>;
  readonly metrics: ProxyMetrics;
  /** HNS, with every call counted. */
  readonly client: ObservedHcnClient;
  readonly health: ProxyHealth;
  readonly events: EventRecorder;
  readonly serviceHealth: ServiceHealthServers;
  readonly servers: ProxyServers;
  readonly reporter: SyncReporter;
}

/** What instruments look at. */
export interface Watched {
  readonly parts: ProxyServerParts;
  readonly objects: ProxyObjects;
  readonly behaviour: Behaviour;
  /** A server cannot listen, and that is fatal. */
  readonly serverFailed: (message: string) => void;
}

type Gates = ReadonlyMap<string, boolean>;

function makeMetrics({ minor, process }: Behaviour, gates: Gates): ProxyMetrics {
  const named = gatesOf(minor).map((gate) => ({ ...gate, isOn: gates.get(gate.name) ?? false }));
  return new ProxyMetrics({ minor, showsAll: process.showsAllMetrics, gates: named });
}

function observe({ parts, objects, behaviour }: Watched, metrics: ProxyMetrics): ObservedHcnClient {
  const { client, clock } = parts;
  return new ObservedHcnClient(client, {
    clock,
    limitMs: behaviour.process.callLimitMs,
    called: (...call) => metrics.own.hnsCall(...call),
    kindOf: (document) => frontEndKindOf(document, objects, behaviour),
    failed: (call, { family, type }, reason) => metrics.loadBalancerFailed(call, family, type, reason),
  });
}

function makeEvents({ feed, wallMs, log }: ProxyServerParts): EventRecorder {
  return new EventRecorder({
    sink: feed.events,
    wallMs,
    failed: (error, { reason }) => log.warning("Event could not be written", { reason, err: String(error) }),
  });
}

/** Pages of the metrics server that gates open (kube-proxy.md §5.3). */
function pagesOf(
  { flags, wallMs, kubernetes: { minor } }: ProxyServerParts,
  gates: Gates,
): ReadonlyMap<string, () => string> {
  const startedMs = wallMs();
  const pages = new Map<string, () => string>();
  if (minor < ZPAGES_SINCE) return pages;
  if (gates.get("ComponentFlagz") === true) pages.set("/flagz", () => flagzPage(flagsOf(minor), flags));
  if (gates.get("ComponentStatusz") === true)
    pages.set("/statusz", () => statuszPage({ startedMs, nowMs: wallMs(), minor }));
  return pages;
}

function makeServiceHealth(
  { log, listen, kubernetes, hostname }: ProxyServerParts,
  health: ProxyHealth,
  events: EventRecorder,
): ServiceHealthServers {
  const failed = ({ namespace, name, port }: CheckedService, error: unknown): void => {
    const service = `${namespace}/${name}`;
    const why = messageOf(error);
    const message = `node ${hostname} failed to start healthcheck "${service}" on port ${port}: ${why}`;
    log.error("Failed to start healthcheck", {
      service,
      port,
      err: why,
      code: "kube-proxy-port-unavailable",
    });
    const regarding = serviceSubject(namespace, name);
    const reason = "FailedToStartServiceHealthcheck";
    events.record({ type: "Warning", reason, action: "Listen", regarding, message });
  };
  return new ServiceHealthServers({
    listen,
    minor: kubernetes.minor,
    isProxyHealthy: () => health.isHealthy,
    opened: ({ namespace, name, port }) =>
      log.info(2, "Opening healthcheck", { service: `${namespace}/${name}`, port }),
    closed: ({ namespace, name, port }) =>
      log.info(2, "Closing healthcheck", { service: `${namespace}/${name}`, port }),
    failed,
  });
}

export function makeInstruments(watched: Watched): Instruments {
  const { parts, behaviour, serverFailed } = watched;
  const { configuration, clock, wallMs, log, listen, hostname } = parts;
  const { minor } = behaviour;
  const gates = effectiveGates(configuration.featureGates, minor);
  const metrics = makeMetrics(behaviour, gates);
  const health: ProxyHealth = new ProxyHealth({
    wallMs,
    timeoutMs: 2 * configuration.iptables.syncPeriod,
    minor,
    // On for good from 1.31, and then no gate any more.
    drainsNodes: gates.get("KubeProxyDrainingTerminatingNodes") ?? minor >= 31,
    ...(behaviour.process.isReadyAfterSync ? { isReady: () => reporter.hasSynced } : {}),
    answered: (path, status) => metrics.probed(path, status),
  });
  const events = makeEvents(parts);
  const servers = new ProxyServers({
    configuration,
    pages: pagesOf(parts, gates),
    clock,
    log,
    listen,
    health,
    metrics,
    failed: (reason, message) => {
      const regarding = nodeSubject(hostname);
      events.record({ type: "Warning", reason, action: "StartKubeProxy", regarding, message });
      serverFailed(message);
    },
  });
  const reporter = new SyncReporter({ hostname, wallMs, log, health, metrics, events });
  const serviceHealth = makeServiceHealth(parts, health, events);
  return {
    gates,
    metrics,
    client: observe(watched, metrics),
    health,
    events,
    serviceHealth,
    servers,
    reporter,
  };
}
