/**
 * What kube-proxy is configured with: kind KubeProxyConfiguration of kubeproxy.config.k8s.io/v1alpha1 (kube-proxy.md §1.1),
 * and a configuration as the document that it would be read from.
 */
import { formatDuration } from "./go-texts.ts";

export const API_VERSION = "kubeproxy.config.k8s.io/v1alpha1";
export const KIND = "KubeProxyConfiguration";

/** Ports of upstream's servers. */
export const HEALTHZ_PORT = 10_256;
export const METRICS_PORT = 10_249;

/** Names of fields are those of the file; durations are milliseconds. */
export interface KubeProxyConfiguration {
  featureGates: Readonly<Record<string, boolean>>;
  clientConnection: {
    kubeconfig: string;
    acceptContentTypes: string;
    contentType: string;
    qps: number;
    burst: number;
  };
  logging: {
    format: string;
    flushFrequency: number;
    verbosity: number;
    vmodule: readonly unknown[] | null;
    options: {
      text: { splitStream: boolean; infoBufferSize: string };
      json: { splitStream: boolean; infoBufferSize: string };
    };
  };
  hostnameOverride: string;
  bindAddress: string;
  healthzBindAddress: string;
  metricsBindAddress: string;
  bindAddressHardFail: boolean;
  enableProfiling: boolean;
  showHiddenMetricsForVersion: string;
  mode: string;
  iptables: {
    masqueradeBit: number | null;
    masqueradeAll: boolean;
    localhostNodePorts: boolean | null;
    syncPeriod: number;
    minSyncPeriod: number;
  };
  ipvs: {
    syncPeriod: number;
    minSyncPeriod: number;
    scheduler: string;
    excludeCIDRs: readonly string[] | null;
    strictARP: boolean;
    tcpTimeout: number;
    tcpFinTimeout: number;
    udpTimeout: number;
  };
  nftables: {
    masqueradeBit: number | null;
    masqueradeAll: boolean;
    syncPeriod: number;
    minSyncPeriod: number;
  };
  winkernel: {
    networkName: string;
    sourceVip: string;
    enableDSR: boolean;
    rootHnsEndpointName: string;
    forwardHealthCheckVip: boolean;
  };
  detectLocalMode: string;
  detectLocal: { bridgeInterface: string; interfaceNamePrefix: string };
  clusterCIDR: string;
  nodePortAddresses: readonly string[] | null;
  oomScoreAdj: number | null;
  conntrack: {
    maxPerCore: number | null;
    min: number | null;
    tcpEstablishedTimeout: number | null;
    tcpCloseWaitTimeout: number | null;
    tcpBeLiberal: boolean;
    udpTimeout: number;
    udpStreamTimeout: number;
  };
  configSyncPeriod: number;
  portRange: string;
  windowsRunAsService: boolean;
}

/** What a value of a field has to be. */
export type FieldType =
  | "text"
  | "truth"
  | "int32"
  | "number"
  | "duration"
  | "texts"
  | "truths"
  /** A size such as `64Ki`. */
  | "quantity"
  /** Anything: it is kept and not read. */
  | "any";

export interface FieldDefinition {
  readonly path: string;
  readonly type: FieldType;
  /** What it is when nothing is said, and before defaults. */
  readonly zero: unknown;
  /** What a value that is `zero` becomes; absent: it stays. */
  readonly initial?: unknown;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function text(path: string, initial?: string): FieldDefinition {
  return { path, type: "text", zero: "", ...(initial === undefined ? {} : { initial }) };
}
function truth(path: string): FieldDefinition {
  return { path, type: "truth", zero: false };
}
function duration(path: string, initial?: number): FieldDefinition {
  return { path, type: "duration", zero: 0, ...(initial === undefined ? {} : { initial }) };
}
/** A pointer in Go: only what is absent takes the default, zero does not. */
function absent(path: string, type: FieldType, initial: unknown): FieldDefinition {
  return { path, type, zero: null, initial };
}

/** Every field, with what upstream's defaulting makes of it. */
export const FIELDS: readonly FieldDefinition[] = [
  { path: "featureGates", type: "truths", zero: {} },
  text("clientConnection.kubeconfig"),
  text("clientConnection.acceptContentTypes"),
  text("clientConnection.contentType", "application/vnd.kubernetes.protobuf"),
  { path: "clientConnection.qps", type: "number", zero: 0, initial: 5 },
  { path: "clientConnection.burst", type: "int32", zero: 0, initial: 10 },
  text("logging.format", "text"),
  duration("logging.flushFrequency", 5 * SECOND),
  { path: "logging.verbosity", type: "int32", zero: 0 },
  { path: "logging.vmodule", type: "any", zero: null },
  truth("logging.options.text.splitStream"),
  { path: "logging.options.text.infoBufferSize", type: "quantity", zero: "0" },
  truth("logging.options.json.splitStream"),
  { path: "logging.options.json.infoBufferSize", type: "quantity", zero: "0" },
  text("hostnameOverride"),
  text("bindAddress", "0.0.0.0"),
  text("healthzBindAddress"),
  text("metricsBindAddress"),
  truth("bindAddressHardFail"),
  truth("enableProfiling"),
  text("showHiddenMetricsForVersion"),
  text("mode"),
  absent("iptables.masqueradeBit", "int32", 14),
  truth("iptables.masqueradeAll"),
  absent("iptables.localhostNodePorts", "truth", true),
  duration("iptables.syncPeriod", 30 * SECOND),
  duration("iptables.minSyncPeriod", SECOND),
  duration("ipvs.syncPeriod", 30 * SECOND),
  duration("ipvs.minSyncPeriod"),
  text("ipvs.scheduler"),
  { path: "ipvs.excludeCIDRs", type: "texts", zero: null },
  truth("ipvs.strictARP"),
  duration("ipvs.tcpTimeout"),
  duration("ipvs.tcpFinTimeout"),
  duration("ipvs.udpTimeout"),
  absent("nftables.masqueradeBit", "int32", 14),
  truth("nftables.masqueradeAll"),
  duration("nftables.syncPeriod", 30 * SECOND),
  duration("nftables.minSyncPeriod", SECOND),
  text("winkernel.networkName"),
  text("winkernel.sourceVip"),
  truth("winkernel.enableDSR"),
  text("winkernel.rootHnsEndpointName"),
  truth("winkernel.forwardHealthCheckVip"),
  text("detectLocalMode"),
  text("detectLocal.bridgeInterface"),
  text("detectLocal.interfaceNamePrefix"),
  text("clusterCIDR"),
  { path: "nodePortAddresses", type: "texts", zero: null },
  absent("oomScoreAdj", "int32", -999),
  absent("conntrack.maxPerCore", "int32", 32_768),
  absent("conntrack.min", "int32", 131_072),
  absent("conntrack.tcpEstablishedTimeout", "duration", 24 * HOUR),
  absent("conntrack.tcpCloseWaitTimeout", "duration", HOUR),
  truth("conntrack.tcpBeLiberal"),
  duration("conntrack.udpTimeout"),
  duration("conntrack.udpStreamTimeout"),
  duration("configSyncPeriod", 15 * MINUTE),
  text("portRange"),
  truth("windowsRunAsService"),
];

type Section = Record<string, unknown>;

/** The value of a field by its path. */
export function valueAt(configuration: object, path: string): unknown {
  let at: unknown = configuration;
  for (const step of path.split(".")) at = (at as Section | undefined)?.[step];
  return at;
}

/** Sets a field by its path; sections on the way are made. */
export function setAt(configuration: object, path: string, value: unknown): void {
  const steps = path.split(".");
  const last = steps.pop() ?? "";
  let at = configuration as Section;
  for (const step of steps) {
    at[step] ??= {};
    at = at[step] as Section;
  }
  at[last] = value;
}

/** Every field as it is when nothing is said: no defaults yet. */
export function emptyConfiguration(): KubeProxyConfiguration {
  const configuration = {};
  for (const { path, zero } of FIELDS) setAt(configuration, path, zero);
  return configuration as KubeProxyConfiguration;
}

/** Fields that upstream leaves out when they say nothing. */
const LEFT_OUT_WHEN_EMPTY: readonly string[] = [
  "featureGates",
  "logging.vmodule",
  "logging.options.text.splitStream",
  "logging.options.json.splitStream",
  "windowsRunAsService",
];

function isEmpty(value: unknown): boolean {
  if (value === null || value === false) return true;
  return typeof value === "object" && Object.keys(value ?? {}).length === 0;
}

/** Periods of other modes than the one in use are not kept by upstream. */
const OF_OTHER_MODES: readonly string[] = [
  "ipvs.syncPeriod",
  "ipvs.minSyncPeriod",
  "nftables.syncPeriod",
  "nftables.minSyncPeriod",
];

/** The document, its fields in alphabetical order, as upstream writes it. */
export function describeConfiguration(
  configuration: KubeProxyConfiguration,
): Readonly<Record<string, unknown>> {
  const document: Record<string, unknown> = { apiVersion: API_VERSION, kind: KIND };
  for (const { path, type } of FIELDS) {
    const value = valueAt(configuration, path);
    if (LEFT_OUT_WHEN_EMPTY.includes(path) && isEmpty(value)) continue;
    const isDuration = type === "duration" && typeof value === "number";
    const shown = OF_OTHER_MODES.includes(path) ? 0 : value;
    setAt(document, path, isDuration ? formatDuration(shown as number) : shown);
  }
  return sorted(document);
}

function sorted(section: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(section).map(([name, value]) => {
    const isSection = typeof value === "object" && value !== null && !Array.isArray(value);
    return [name, isSection ? sorted(value as Record<string, unknown>) : value] as const;
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
