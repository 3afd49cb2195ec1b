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

/** What a value of a field has to be, and what holds it here. */
interface FieldValues {
  readonly text: string;
  readonly truth: boolean;
  readonly int32: number;
  readonly number: number;
  /** Milliseconds. */
  readonly duration: number;
  readonly texts: readonly string[];
  readonly truths: Readonly<Record<string, boolean>>;
  /** A size such as `64Ki`. */
  readonly quantity: string;
  /** Anything: it is kept and not read. */
  readonly any: readonly unknown[];
}
export type FieldType = keyof FieldValues;

export interface FieldDefinition {
  readonly path: string;
  readonly type: FieldType;
  /** What it is when nothing is said, and before defaults. Null, a pointer in Go: only what is absent takes the default. */
  readonly zero: unknown;
  /** What a value that is `zero` becomes; absent: it stays. */
  readonly initial?: string | number | boolean;
}

/** Every field by its path in the file, with what upstream's defaulting makes of it. Durations are milliseconds. */
const FIELD_TABLE = {
  featureGates: { type: "truths", zero: {} },
  "clientConnection.kubeconfig": { type: "text", zero: "" },
  "clientConnection.acceptContentTypes": { type: "text", zero: "" },
  "clientConnection.contentType": { type: "text", zero: "", initial: "application/vnd.kubernetes.protobuf" },
  "clientConnection.qps": { type: "number", zero: 0, initial: 5 },
  "clientConnection.burst": { type: "int32", zero: 0, initial: 10 },
  "logging.format": { type: "text", zero: "", initial: "text" },
  "logging.flushFrequency": { type: "duration", zero: 0, initial: 5_000 },
  "logging.verbosity": { type: "int32", zero: 0 },
  "logging.vmodule": { type: "any", zero: null },
  "logging.options.text.splitStream": { type: "truth", zero: false },
  "logging.options.text.infoBufferSize": { type: "quantity", zero: "0" },
  "logging.options.json.splitStream": { type: "truth", zero: false },
  "logging.options.json.infoBufferSize": { type: "quantity", zero: "0" },
  hostnameOverride: { type: "text", zero: "" },
  bindAddress: { type: "text", zero: "", initial: "0.0.0.0" },
  healthzBindAddress: { type: "text", zero: "" },
  metricsBindAddress: { type: "text", zero: "" },
  bindAddressHardFail: { type: "truth", zero: false },
  enableProfiling: { type: "truth", zero: false },
  showHiddenMetricsForVersion: { type: "text", zero: "" },
  mode: { type: "text", zero: "" },
  "iptables.masqueradeBit": { type: "int32", zero: null, initial: 14 },
  "iptables.masqueradeAll": { type: "truth", zero: false },
  "iptables.localhostNodePorts": { type: "truth", zero: null, initial: true },
  "iptables.syncPeriod": { type: "duration", zero: 0, initial: 30_000 },
  "iptables.minSyncPeriod": { type: "duration", zero: 0, initial: 1_000 },
  "ipvs.syncPeriod": { type: "duration", zero: 0, initial: 30_000 },
  "ipvs.minSyncPeriod": { type: "duration", zero: 0 },
  "ipvs.scheduler": { type: "text", zero: "" },
  "ipvs.excludeCIDRs": { type: "texts", zero: null },
  "ipvs.strictARP": { type: "truth", zero: false },
  "ipvs.tcpTimeout": { type: "duration", zero: 0 },
  "ipvs.tcpFinTimeout": { type: "duration", zero: 0 },
  "ipvs.udpTimeout": { type: "duration", zero: 0 },
  "nftables.masqueradeBit": { type: "int32", zero: null, initial: 14 },
  "nftables.masqueradeAll": { type: "truth", zero: false },
  "nftables.syncPeriod": { type: "duration", zero: 0, initial: 30_000 },
  "nftables.minSyncPeriod": { type: "duration", zero: 0, initial: 1_000 },
  "winkernel.networkName": { type: "text", zero: "" },
  "winkernel.sourceVip": { type: "text", zero: "" },
  "winkernel.enableDSR": { type: "truth", zero: false },
  "winkernel.rootHnsEndpointName": { type: "text", zero: "" },
  "winkernel.forwardHealthCheckVip": { type: "truth", zero: false },
  detectLocalMode: { type: "text", zero: "" },
  "detectLocal.bridgeInterface": { type: "text", zero: "" },
  "detectLocal.interfaceNamePrefix": { type: "text", zero: "" },
  clusterCIDR: { type: "text", zero: "" },
  nodePortAddresses: { type: "texts", zero: null },
  oomScoreAdj: { type: "int32", zero: null, initial: -999 },
  "conntrack.maxPerCore": { type: "int32", zero: null, initial: 32_768 },
  "conntrack.min": { type: "int32", zero: null, initial: 131_072 },
  "conntrack.tcpEstablishedTimeout": { type: "duration", zero: null, initial: 86_400_000 },
  "conntrack.tcpCloseWaitTimeout": { type: "duration", zero: null, initial: 3_600_000 },
  "conntrack.tcpBeLiberal": { type: "truth", zero: false },
  "conntrack.udpTimeout": { type: "duration", zero: 0 },
  "conntrack.udpStreamTimeout": { type: "duration", zero: 0 },
  configSyncPeriod: { type: "duration", zero: 0, initial: 900_000 },
  portRange: { type: "text", zero: "" },
  windowsRunAsService: { type: "truth", zero: false },
} as const;

export const FIELDS: readonly FieldDefinition[] = Object.entries(FIELD_TABLE).map(([path, field]) => ({
  path,
  ...field,
}));

type Table = typeof FIELD_TABLE;
type ValueAt<P extends keyof Table> =
  | FieldValues[Table[P]["type"]]
  | (Table[P]["zero"] extends null ? null : never);
type HeadOf<P> = P extends `${infer H}.${string}` ? H : P;
type TailOf<P, H extends string> = P extends `${H}.${infer T}` ? T : never;
/** A section: the fields whose paths go on with `P` behind `Begin`. */
type SectionOf<P extends string, Begin extends string> = {
  [H in HeadOf<P> & string]: `${Begin}${H}` extends keyof Table
    ? ValueAt<`${Begin}${H}`>
    : SectionOf<TailOf<P, H>, `${Begin}${H}.`>;
};

/** Names of fields are those of the file. */
export type KubeProxyConfiguration = SectionOf<keyof Table, "">;

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
