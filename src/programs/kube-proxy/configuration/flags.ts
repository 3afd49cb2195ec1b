/** The flags of kube-proxy on Windows (kube-proxy.md §1.1): names, types, defaults, what they set. */

import { FIELDS } from "./configuration.ts";
import { formatDuration } from "./go-texts.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

export type FlagType =
  | "string"
  | "bool"
  | "int32"
  | "float32"
  | "duration"
  | "ip"
  | "ipport"
  | "strings"
  | "mapStringBool"
  /** `true`, `raw`, or a version to report. */
  | "version";

export interface FlagDefinition {
  readonly name: string;
  readonly type: FlagType;
  /** The field of the configuration that it sets; absent: the program reads it itself. */
  readonly field?: string;
  /** As help shows it; absent: as the field begins. */
  readonly initial?: string;
  readonly help: string;
  /** Taken, with a warning that says this. */
  readonly deprecated?: string;
  readonly shorthand?: string;
  /** Counts beside `--config`. */
  readonly countsBesideConfig?: true;
  /** First minor version that knows it. */
  readonly since?: number;
  /** First minor version that does not know it any more. */
  readonly until?: number;
  /** An addition that upstream does not have. */
  readonly isOwn?: true;
}

const NO_EFFECT = "taken and checked; without effect on Windows";
const PERIODS = "As 5s, 1m, 2h22m.";
const LOG = { countsBesideConfig: true } as const;
const OWN = { countsBesideConfig: true, isOwn: true } as const;

const ROWS: readonly FlagDefinition[] = [
  {
    name: "config",
    type: "string",
    help: WORDS.flagConfig,
  },
  {
    name: "write-config-to",
    type: "string",
    help: "Write the configuration with all defaults to this file, and end",
  },
  { name: "cleanup", type: "bool", help: "Not implemented on Windows" },
  { name: "init-only", type: "bool", help: "Not implemented on Windows", since: 29 },
  { name: "version", type: "version", help: "Print the version and end; raw prints all of it" },

  {
    name: "network-name",
    type: "string",
    field: "winkernel.networkName",
    help: WORDS.flagNetworkName,
  },
  {
    name: "source-vip",
    type: "string",
    field: "winkernel.sourceVip",
    help: WORDS.flagSourceVip,
  },
  {
    name: "enable-dsr",
    type: "bool",
    field: "winkernel.enableDSR",
    help: "Direct server return for ClusterIPs; needs the feature gate WinDSR",
  },
  {
    name: "root-hnsendpoint-name",
    type: "string",
    field: "winkernel.rootHnsEndpointName",
    initial: "cbr0",
    help: WORDS.flagRootHnsEndpointName,
    since: 24,
  },
  {
    name: "forward-healthcheck-vip",
    type: "bool",
    field: "winkernel.forwardHealthCheckVip",
    help: "Forward the health-check port of load balancers' addresses to the node",
    since: 24,
  },
  {
    name: "windows-service",
    type: "bool",
    field: "windowsRunAsService",
    help: WORDS.flagWindowsService,
  },

  {
    name: "feature-gates",
    type: "mapStringBool",
    field: "featureGates",
    help: "Pairs NAME=true|false; on Windows WinDSR and WinOverlay matter",
  },
  {
    name: "kubeconfig",
    type: "string",
    field: "clientConnection.kubeconfig",
    help: "File that says how to reach the API server",
  },
  {
    name: "master",
    type: "string",
    help: WORDS.flagMaster,
  },
  {
    name: "kube-api-content-type",
    type: "string",
    field: "clientConnection.contentType",
    help: WORDS.flagKubeApiContentType,
  },
  {
    name: "kube-api-burst",
    type: "int32",
    field: "clientConnection.burst",
    help: "Requests to the API server that may come at once",
  },
  {
    name: "kube-api-qps",
    type: "float32",
    field: "clientConnection.qps",
    help: "Requests to the API server per second",
  },
  {
    name: "hostname-override",
    type: "string",
    help: WORDS.flagHostnameOverride,
    countsBesideConfig: true,
  },
  {
    name: "bind-address",
    type: "ip",
    field: "bindAddress",
    help: WORDS.flagBindAddress,
  },
  {
    name: "healthz-bind-address",
    type: "ipport",
    field: "healthzBindAddress",
    initial: "0.0.0.0:10256",
    help: "Where /healthz and /livez are served",
  },
  {
    name: "metrics-bind-address",
    type: "ipport",
    field: "metricsBindAddress",
    initial: "127.0.0.1:10249",
    help: "Where /metrics is served",
  },
  {
    name: "healthz-port",
    type: "int32",
    initial: "10256",
    help: "Port of the health server; 0: none",
    deprecated: "Use --healthz-bind-address.",
  },
  {
    name: "metrics-port",
    type: "int32",
    initial: "10249",
    help: "Port of the metrics server; 0: none",
    deprecated: "Use --metrics-bind-address.",
  },
  {
    name: "bind-address-hard-fail",
    type: "bool",
    field: "bindAddressHardFail",
    help: "End when a server cannot listen, instead of trying again",
  },
  {
    name: "profiling",
    type: "bool",
    field: "enableProfiling",
    help: "Profiles on the metrics server; there are none here",
  },
  {
    name: "show-hidden-metrics-for-version",
    type: "string",
    field: "showHiddenMetricsForVersion",
    help: "Show metrics that were hidden since this version",
  },
  {
    name: "proxy-mode",
    type: "string",
    field: "mode",
    help: "kernelspace, or nothing, which means the same",
  },
  {
    name: "iptables-sync-period",
    type: "duration",
    field: "iptables.syncPeriod",
    initial: "30s",
    help: `How often everything is looked at, on Windows, too. ${PERIODS}`,
  },
  {
    name: "iptables-min-sync-period",
    type: "duration",
    field: "iptables.minSyncPeriod",
    initial: "1s",
    help: `Least time between two syncs, on Windows, too. ${PERIODS}`,
  },
  {
    name: "config-sync-period",
    type: "duration",
    field: "configSyncPeriod",
    initial: "15m0s",
    help: `How often all objects are reported again. ${PERIODS}`,
  },
  {
    name: "cluster-cidr",
    type: "string",
    field: "clusterCIDR",
    help: `Range of the pods, or one of each family: ${NO_EFFECT}`,
  },
  {
    name: "nodeport-addresses",
    type: "strings",
    field: "nodePortAddresses",
    help: `Where node ports answer: ${NO_EFFECT}`,
  },

  { name: "detect-local-mode", type: "string", field: "detectLocalMode", help: NO_EFFECT },
  { name: "pod-bridge-interface", type: "string", field: "detectLocal.bridgeInterface", help: NO_EFFECT },
  {
    name: "pod-interface-name-prefix",
    type: "string",
    field: "detectLocal.interfaceNamePrefix",
    help: NO_EFFECT,
  },
  {
    name: "iptables-masquerade-bit",
    type: "int32",
    field: "iptables.masqueradeBit",
    help: NO_EFFECT,
  },
  { name: "masquerade-all", type: "bool", field: "iptables.masqueradeAll", help: NO_EFFECT },
  {
    name: "iptables-localhost-nodeports",
    type: "bool",
    field: "iptables.localhostNodePorts",
    help: NO_EFFECT,
    since: 26,
  },
  { name: "ipvs-sync-period", type: "duration", field: "ipvs.syncPeriod", help: NO_EFFECT },
  {
    name: "ipvs-min-sync-period",
    type: "duration",
    field: "ipvs.minSyncPeriod",
    initial: "1s",
    help: NO_EFFECT,
  },
  { name: "ipvs-scheduler", type: "string", field: "ipvs.scheduler", help: NO_EFFECT },
  { name: "ipvs-exclude-cidrs", type: "strings", field: "ipvs.excludeCIDRs", help: NO_EFFECT },
  { name: "ipvs-strict-arp", type: "bool", field: "ipvs.strictARP", help: NO_EFFECT },
  { name: "ipvs-tcp-timeout", type: "duration", field: "ipvs.tcpTimeout", help: NO_EFFECT },
  {
    name: "ipvs-tcpfin-timeout",
    type: "duration",
    field: "ipvs.tcpFinTimeout",
    help: NO_EFFECT,
  },
  { name: "ipvs-udp-timeout", type: "duration", field: "ipvs.udpTimeout", help: NO_EFFECT },
  { name: "oom-score-adj", type: "int32", field: "oomScoreAdj", help: NO_EFFECT },
  {
    name: "conntrack-max-per-core",
    type: "int32",
    field: "conntrack.maxPerCore",
    help: NO_EFFECT,
  },
  { name: "conntrack-min", type: "int32", field: "conntrack.min", help: NO_EFFECT },
  {
    name: "conntrack-tcp-timeout-established",
    type: "duration",
    field: "conntrack.tcpEstablishedTimeout",
    help: NO_EFFECT,
  },
  {
    name: "conntrack-tcp-timeout-close-wait",
    type: "duration",
    field: "conntrack.tcpCloseWaitTimeout",
    help: NO_EFFECT,
  },
  {
    name: "conntrack-tcp-be-liberal",
    type: "bool",
    field: "conntrack.tcpBeLiberal",
    help: NO_EFFECT,
    since: 29,
  },
  {
    name: "conntrack-udp-timeout",
    type: "duration",
    field: "conntrack.udpTimeout",
    help: NO_EFFECT,
    since: 29,
  },
  {
    name: "conntrack-udp-timeout-stream",
    type: "duration",
    field: "conntrack.udpStreamTimeout",
    help: NO_EFFECT,
    since: 29,
  },
  { name: "proxy-port-range", type: "string", field: "portRange", help: NO_EFFECT, until: 31 },

  {
    name: "v",
    type: "int32",
    field: "logging.verbosity",
    shorthand: "v",
    initial: "0",
    help: "How much is logged: 0 little, 2 usual, 4 much, 5 all",
    ...LOG,
  },
  { name: "vmodule", type: "string", help: "Verbosity by file of upstream; without effect here", ...LOG },
  {
    name: "logging-format",
    type: "string",
    field: "logging.format",
    help: "text or json",
    ...LOG,
  },
  {
    name: "log-flush-frequency",
    type: "duration",
    field: "logging.flushFrequency",
    help: "Lines are written at once here",
    ...LOG,
  },
  {
    name: "log-text-split-stream",
    type: "bool",
    field: "logging.options.text.splitStream",
    help: "Errors on stderr, the rest on stdout",
    ...LOG,
  },
  {
    name: "log-text-info-buffer-size",
    type: "string",
    field: "logging.options.text.infoBufferSize",
    help: "Lines are written at once here",
    ...LOG,
  },

  {
    name: "mullion-kubernetes",
    type: "string",
    help: "Version of Kubernetes whose kube-proxy this is, such as 1.31",
    ...OWN,
  },
  {
    name: "mullion-compat",
    type: "string",
    initial: "hardened",
    help: "hardened, or upstream: as the real kube-proxy, defects included",
    ...OWN,
  },
  {
    name: "mullion-manifests",
    type: "strings",
    help: WORDS.flagMullionManifests,
    ...OWN,
  },
  {
    name: "mullion-host-mac",
    type: "string",
    help: WORDS.flagMullionHostMac,
    ...OWN,
  },
];

/** What help shows is what the field of the configuration becomes, where the row says nothing else. */
function withInitial(row: FlagDefinition): FlagDefinition {
  const field = FIELDS.find(({ path }) => path === row.field);
  if (row.initial !== undefined || field === undefined) return row;
  if (field.type === "duration") return { ...row, initial: formatDuration(Number(field.initial ?? 0)) };
  return field.initial === undefined ? row : { ...row, initial: String(field.initial) };
}

export const FLAGS: readonly FlagDefinition[] = ROWS.map(withInitial);

/** The flags that a version knows. */
export function flagsOf(minor: number): readonly FlagDefinition[] {
  return FLAGS.filter(({ since = 0, until = Number.POSITIVE_INFINITY }) => since <= minor && minor < until);
}
