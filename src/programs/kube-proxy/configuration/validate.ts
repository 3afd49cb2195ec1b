/** What kube-proxy on Windows refuses in a configuration (kube-proxy.md §1.1), with the paths and sentences of upstream. */
import type { Behaviour } from "../behaviour.ts";
import { type Ip, type IpFamily, familyOf, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { FIELDS, type KubeProxyConfiguration } from "./configuration.ts";
import { FLAGS } from "./flags.ts";
import { formatDuration, splitHostPort } from "./go-texts.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

function familyOfText(text: string): IpFamily | undefined {
  const ip = parseTolerantIp(text);
  return ip === undefined || text === "0.0.0.0" || text === "::" ? undefined : familyOf(ip);
}

/**
 * Settings of the wrong address family, one sentence for each: upstream says so in its log, and goes on. The first of
 * `families` is the primary one.
 */
export function familyComplaints(
  { clusterCIDR, winkernel, healthzBindAddress, metricsBindAddress }: KubeProxyConfiguration,
  families: readonly IpFamily[],
): readonly string[] {
  const [primary = 4] = families;
  const other: IpFamily = primary === 4 ? 6 : 4;
  const cluster = `cluster is IPv${primary}-${families.length > 1 ? "primary" : "only"}`;
  const complaints: string[] = [];
  const ranges = clusterCIDR === "" ? [] : clusterCIDR.split(",");
  if (ranges.length > 0 && ranges.every((range) => familyOfRange(range) === other))
    complaints.push(`${cluster} but clusterCIDRs contains only IPv${other} addresses`);
  if (familyOfText(winkernel.sourceVip) === other)
    complaints.push(`${cluster} but winkernel.sourceVip is IPv${other}`);
  if (families.length > 1) return complaints;
  for (const [name, address] of Object.entries({ healthzBindAddress, metricsBindAddress }))
    if (familyOfText(splitHostPort(address)?.host ?? "") === other)
      complaints.push(`${cluster} but ${name} is IPv${other}`);
  return complaints;
}

export interface ConfigurationFault {
  /** Where upstream says it is: `KubeProxyConfiguration.Mode.ProxyMode`. */
  readonly upstreamPath: string;
  /** The field of the file. */
  readonly field: string;
  /** Of the command line; undefined when there is none. */
  readonly flag: string | undefined;
  /** As upstream prints it. */
  readonly value: string;
  readonly message: string;
  /** Beside upstream's sentence: full sentences, or nothing. */
  readonly advice: string;
}

const NOT_NEGATIVE = "must be greater than or equal to 0";

const CONNTRACK = "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration";

/** Where upstream says that a field is, below `KubeProxyConfiguration`. */
const UPSTREAM_PATHS = {
  "iptables.masqueradeBit": "KubeProxyIPTablesConfiguration.MasqueradeBit",
  "iptables.syncPeriod": "SyncPeriod",
  "iptables.minSyncPeriod": "MinSyncPeriod",
  "conntrack.maxPerCore": `${CONNTRACK}.MaxPerCore`,
  "conntrack.min": `${CONNTRACK}.Min`,
  "conntrack.tcpEstablishedTimeout": `${CONNTRACK}.TCPEstablishedTimeout`,
  "conntrack.tcpCloseWaitTimeout": `${CONNTRACK}.TCPCloseWaitTimeout`,
  "conntrack.udpTimeout": `${CONNTRACK}.UDPTimeout`,
  "conntrack.udpStreamTimeout": `${CONNTRACK}.UDPStreamTimeout`,
  oomScoreAdj: "KubeProxyLinuxConfiguration.OOMScoreAdj",
  mode: "Mode.ProxyMode",
  "clientConnection.burst": "ClientConnection.Burst",
  configSyncPeriod: "ConfigSyncPeriod",
  bindAddress: "BindAddress",
  healthzBindAddress: "HealthzBindAddress",
  metricsBindAddress: "MetricsBindAddress",
  clusterCIDR: "DetectLocalConfiguration.ClusterCIDRs",
  nodePortAddresses: "NodePortAddresses",
  detectLocalMode: "DetectLocalMode",
  "logging.format": "logging.format",
} as const;
type CheckedField = keyof typeof UPSTREAM_PATHS;

const NOT_NEGATIVE_OF_CONNTRACK = [
  "maxPerCore",
  "min",
  "tcpEstablishedTimeout",
  "tcpCloseWaitTimeout",
  "udpTimeout",
  "udpStreamTimeout",
] as const;

/** A value as upstream prints it; periods are structures in Go. */
function shownValue(field: CheckedField, value: unknown): string {
  const isPeriod = FIELDS.some(({ path, type }) => path === field && type === "duration");
  if (typeof value !== "number") return JSON.stringify(value);
  return isPeriod ? JSON.stringify({ Duration: formatDuration(value) }) : String(value);
}

class Checks {
  readonly faults: ConfigurationFault[] = [];

  /** `index`: of the range that is meant, where a field has several. */
  add(field: CheckedField, value: unknown, message: string, advice = "", index?: number): void {
    const at = index === undefined ? "" : `[${index}]`;
    this.faults.push({
      upstreamPath: `KubeProxyConfiguration.${UPSTREAM_PATHS[field]}${at}`,
      // Ranges of the cluster stand in one text.
      field: field === "clusterCIDR" ? field : `${field}${at}`,
      flag: FLAGS.find((each) => each.field === field)?.name,
      value: shownValue(field, value),
      message,
      advice,
    });
  }
}

/** An address as Go's tolerant parser takes it: with leading zeros. */
export function parseTolerantIp(text: string): Ip | undefined {
  return parseIp(/^[\d.]+$/.test(text) ? text.replace(/\b0+(?=\d)/g, "") : text);
}

/** The family of a range; undefined when it is none. */
export function familyOfRange(text: string): IpFamily | undefined {
  const slash = text.indexOf("/");
  const ip = slash < 0 ? undefined : parseTolerantIp(text.slice(0, slash));
  if (
    ip === undefined ||
    parseInterfaceAddress(`${text.slice(0, slash).replace(/\b0+(?=\d)/g, "")}${text.slice(slash)}`) ===
      undefined
  )
    return undefined;
  return familyOf(ip);
}

function checkHostPort(
  checks: Checks,
  field: "healthzBindAddress" | "metricsBindAddress",
  input: string,
): void {
  const parts = splitHostPort(input);
  if (parts === undefined) {
    checks.add(field, input, "must be IP:port", "Write 0.0.0.0:10256, or [::]:10256.");
    return;
  }
  if (parseTolerantIp(parts.host) === undefined)
    checks.add(field, parts.host, "must be a valid IP", "A name is not taken here.");
  const port = Number(parts.port);
  if (!/^[-+]?\d+$/.test(parts.port) || port < 1 || port > 65_535)
    checks.add(field, parts.port, "must be a valid port", "Ports are 1 to 65535.");
}

function checkPeriods(checks: Checks, { iptables, configSyncPeriod }: KubeProxyConfiguration): void {
  const why = WORDS.syncPeriodNote;
  if (configSyncPeriod <= 0) checks.add("configSyncPeriod", configSyncPeriod, "must be greater than 0");
  const { syncPeriod, minSyncPeriod } = iptables;
  if (syncPeriod <= 0) checks.add("iptables.syncPeriod", syncPeriod, "must be greater than 0", why);
  if (minSyncPeriod < 0) checks.add("iptables.minSyncPeriod", minSyncPeriod, NOT_NEGATIVE);
  if (minSyncPeriod > syncPeriod) {
    const message = "must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod";
    checks.add("iptables.syncPeriod", minSyncPeriod, message, why);
  }
}

function checkLinux(checks: Checks, { conntrack, oomScoreAdj, iptables }: KubeProxyConfiguration): void {
  const bit = iptables.masqueradeBit;
  if (bit !== null && (bit < 0 || bit > 31))
    checks.add("iptables.masqueradeBit", bit, "must be within the range [0, 31]");
  for (const field of NOT_NEGATIVE_OF_CONNTRACK)
    if ((conntrack[field] ?? 0) < 0) checks.add(`conntrack.${field}`, conntrack[field], NOT_NEGATIVE);
  if (oomScoreAdj !== null && (oomScoreAdj < -1000 || oomScoreAdj > 1000))
    checks.add("oomScoreAdj", oomScoreAdj, "must be within the range [-1000, 1000]");
}

/** kube-proxy.md §1.1: kernelspace or nothing; userspace until 1.25. */
function checkMode(checks: Checks, mode: string, minor: number): void {
  const modes = minor <= 25 ? ["kernelspace", "userspace"] : ["kernelspace"];
  if (mode === "" || modes.includes(mode)) return;
  const blank = minor <= 25 ? "currently userspace" : "currently 'kernelspace'";
  const message = `must be ${modes.join(", ")} or blank (blank means the most-available proxy [${blank}])`;
  const advice = "This is kube-proxy for Windows nodes: write kernelspace, or nothing.";
  checks.add("mode", mode, message, advice);
}

const LOCAL_MODES = ["ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"];

function checkRanges(checks: Checks, configuration: KubeProxyConfiguration): void {
  const { clusterCIDR, nodePortAddresses, detectLocalMode } = configuration;
  const ranges = clusterCIDR === "" ? [] : clusterCIDR.split(",");
  const pair = WORDS.clusterCidrsInvalid;
  const families = ranges.map((range) => familyOfRange(range));
  if (ranges.length > 2) checks.add("clusterCIDR", ranges, pair);
  else
    for (const [index, range] of ranges.entries())
      if (families[index] === undefined) {
        const message = "must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)";
        checks.add("clusterCIDR", range, message, "", index);
      }
  if (ranges.length === 2 && !families.includes(undefined) && families[0] === families[1])
    checks.add("clusterCIDR", ranges, pair);
  const addresses = nodePortAddresses ?? [];
  for (const [index, range] of addresses.entries()) {
    if (range === "primary") {
      if (addresses.length > 1)
        checks.add("nodePortAddresses", range, "can't use both 'primary' and CIDRs", "", index);
      break;
    }
    if (familyOfRange(range) === undefined)
      checks.add("nodePortAddresses", range, "must be a valid CIDR", "", index);
  }
  if (detectLocalMode !== "" && !LOCAL_MODES.includes(detectLocalMode))
    checks.add(
      "detectLocalMode",
      detectLocalMode,
      `supported values: ${LOCAL_MODES.map((mode) => JSON.stringify(mode)).join(", ")}, ""`,
    );
}

/** Everything that keeps kube-proxy from starting with this configuration, in upstream's order. Gates are checked before. */
export function validateConfiguration(
  configuration: KubeProxyConfiguration,
  { minor, process }: Behaviour,
): readonly ConfigurationFault[] {
  const checks = new Checks();
  checkLinux(checks, configuration);
  checkMode(checks, configuration.mode, minor);
  const { clientConnection, bindAddress, healthzBindAddress, metricsBindAddress, logging } = configuration;
  if (clientConnection.burst < 0) checks.add("clientConnection.burst", clientConnection.burst, NOT_NEGATIVE);
  checkPeriods(checks, configuration);
  if (parseTolerantIp(bindAddress) === undefined)
    checks.add("bindAddress", bindAddress, "not a valid textual representation of an IP address");
  if (healthzBindAddress !== "") checkHostPort(checks, "healthzBindAddress", healthzBindAddress);
  // Upstream refuses the empty one, which `--metrics-port=0` gives, though its help says that it disables the server.
  if (metricsBindAddress !== "" || !process.takesNoMetricsAddress)
    checkHostPort(checks, "metricsBindAddress", metricsBindAddress);
  checkRanges(checks, configuration);
  if (!["text", "json"].includes(logging.format))
    checks.add("logging.format", logging.format, "Unsupported log format");
  return checks.faults;
}

/** A fault in upstream's form. */
export function formatFault({ upstreamPath, value, message }: ConfigurationFault): string {
  return `${upstreamPath}: Invalid value: ${value}: ${message}`;
}
