/** What kube-proxy on Windows refuses in a configuration (kube-proxy.md §1.1), with the paths and sentences of upstream. */
import type { Behaviour } from "../behaviour.ts";
import { type Ip, type IpFamily, familyOf, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import type { KubeProxyConfiguration } from "./configuration.ts";
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

class Checks {
  readonly faults: ConfigurationFault[] = [];

  add(
    upstreamPath: string,
    field: string,
    flag: string | undefined,
    value: unknown,
    message: string,
    advice = "",
  ): void {
    const shown = typeof value === "number" ? String(value) : JSON.stringify(value);
    this.faults.push({
      upstreamPath: `KubeProxyConfiguration.${upstreamPath}`,
      field,
      flag,
      value: shown,
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

function checkHostPort(checks: Checks, name: string, field: string, flag: string, input: string): void {
  const parts = splitHostPort(input);
  if (parts === undefined) {
    checks.add(name, field, flag, input, "must be IP:port", "Write 0.0.0.0:10256, or [::]:10256.");
    return;
  }
  if (parseTolerantIp(parts.host) === undefined)
    checks.add(name, field, flag, parts.host, "must be a valid IP", "A name is not taken here.");
  const port = Number(parts.port);
  if (!/^[-+]?\d+$/.test(parts.port) || port < 1 || port > 65_535)
    checks.add(name, field, flag, parts.port, "must be a valid port", "Ports are 1 to 65535.");
}

function checkPeriods(checks: Checks, { iptables, configSyncPeriod }: KubeProxyConfiguration): void {
  const period = (ms: number): { readonly Duration: string } => ({ Duration: formatDuration(ms) });
  const why = WORDS.syncPeriodNote;
  if (configSyncPeriod <= 0)
    checks.add(
      "ConfigSyncPeriod",
      "configSyncPeriod",
      "config-sync-period",
      period(configSyncPeriod),
      "must be greater than 0",
    );
  const { syncPeriod, minSyncPeriod } = iptables;
  const of = (name: string): [string, string] => [
    `iptables.${name}`,
    name === "syncPeriod" ? "iptables-sync-period" : "iptables-min-sync-period",
  ];
  if (syncPeriod <= 0)
    checks.add("SyncPeriod", ...of("syncPeriod"), period(syncPeriod), "must be greater than 0", why);
  if (minSyncPeriod < 0)
    checks.add("MinSyncPeriod", ...of("minSyncPeriod"), period(minSyncPeriod), NOT_NEGATIVE);
  if (minSyncPeriod > syncPeriod) {
    const message = "must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod";
    checks.add("SyncPeriod", ...of("syncPeriod"), period(minSyncPeriod), message, why);
  }
}

function checkLinux(checks: Checks, { conntrack, oomScoreAdj, iptables }: KubeProxyConfiguration): void {
  const bit = iptables.masqueradeBit;
  if (bit !== null && (bit < 0 || bit > 31))
    checks.add(
      "KubeProxyIPTablesConfiguration.MasqueradeBit",
      "iptables.masqueradeBit",
      "iptables-masquerade-bit",
      bit,
      "must be within the range [0, 31]",
    );
  const below = "KubeProxyLinuxConfiguration.";
  const counts = { maxPerCore: "MaxPerCore", min: "Min" } as const;
  for (const [field, name] of Object.entries(counts) as ["maxPerCore" | "min", string][])
    if ((conntrack[field] ?? 0) < 0)
      checks.add(
        `${below}KubeProxyConntrackConfiguration.${name}`,
        `conntrack.${field}`,
        `conntrack-${field === "min" ? "min" : "max-per-core"}`,
        conntrack[field],
        NOT_NEGATIVE,
      );
  const times = {
    tcpEstablishedTimeout: ["TCPEstablishedTimeout", "conntrack-tcp-timeout-established"],
    tcpCloseWaitTimeout: ["TCPCloseWaitTimeout", "conntrack-tcp-timeout-close-wait"],
    udpTimeout: ["UDPTimeout", "conntrack-udp-timeout"],
    udpStreamTimeout: ["UDPStreamTimeout", "conntrack-udp-timeout-stream"],
  } as const;
  for (const [field, [name, flag]] of Object.entries(times) as [
    keyof typeof times,
    readonly [string, string],
  ][]) {
    const ms = conntrack[field] ?? 0;
    if (ms < 0)
      checks.add(
        `${below}KubeProxyConntrackConfiguration.${name}`,
        `conntrack.${field}`,
        flag,
        { Duration: formatDuration(ms) },
        NOT_NEGATIVE,
      );
  }
  if (oomScoreAdj !== null && (oomScoreAdj < -1000 || oomScoreAdj > 1000))
    checks.add(
      `${below}OOMScoreAdj`,
      "oomScoreAdj",
      "oom-score-adj",
      oomScoreAdj,
      "must be within the range [-1000, 1000]",
    );
}

/** kube-proxy.md §1.1: kernelspace or nothing; userspace until 1.25. */
function checkMode(checks: Checks, mode: string, minor: number): void {
  const modes = minor <= 25 ? ["kernelspace", "userspace"] : ["kernelspace"];
  if (mode === "" || modes.includes(mode)) return;
  const blank = minor <= 25 ? "currently userspace" : "currently 'kernelspace'";
  const message = `must be ${modes.join(", ")} or blank (blank means the most-available proxy [${blank}])`;
  const advice = "This is kube-proxy for Windows nodes: write kernelspace, or nothing.";
  checks.add("Mode.ProxyMode", "mode", "proxy-mode", mode, message, advice);
}

const LOCAL_MODES = ["ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"];

function checkRanges(checks: Checks, configuration: KubeProxyConfiguration): void {
  const { clusterCIDR, nodePortAddresses, detectLocalMode } = configuration;
  const name = "DetectLocalConfiguration.ClusterCIDRs";
  const ranges = clusterCIDR === "" ? [] : clusterCIDR.split(",");
  const pair = WORDS.clusterCidrsInvalid;
  const families = ranges.map((range) => familyOfRange(range));
  if (ranges.length > 2) checks.add(name, "clusterCIDR", "cluster-cidr", ranges, pair);
  else
    for (const [index, range] of ranges.entries())
      if (families[index] === undefined)
        checks.add(
          `${name}[${index}]`,
          "clusterCIDR",
          "cluster-cidr",
          range,
          "must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)",
        );
  if (ranges.length === 2 && !families.includes(undefined) && families[0] === families[1])
    checks.add(name, "clusterCIDR", "cluster-cidr", ranges, pair);
  for (const [index, range] of (nodePortAddresses ?? []).entries()) {
    const field = `nodePortAddresses[${index}]`;
    if (range === "primary") {
      if ((nodePortAddresses ?? []).length > 1)
        checks.add(
          `NodePortAddresses[${index}]`,
          field,
          "nodeport-addresses",
          range,
          "can't use both 'primary' and CIDRs",
        );
      break;
    }
    if (familyOfRange(range) === undefined)
      checks.add(`NodePortAddresses[${index}]`, field, "nodeport-addresses", range, "must be a valid CIDR");
  }
  if (detectLocalMode !== "" && !LOCAL_MODES.includes(detectLocalMode))
    checks.add(
      "DetectLocalMode",
      "detectLocalMode",
      "detect-local-mode",
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
  if (configuration.clientConnection.burst < 0)
    checks.add(
      "ClientConnection.Burst",
      "clientConnection.burst",
      "kube-api-burst",
      configuration.clientConnection.burst,
      NOT_NEGATIVE,
    );
  checkPeriods(checks, configuration);
  const { bindAddress, healthzBindAddress, metricsBindAddress } = configuration;
  if (parseTolerantIp(bindAddress) === undefined)
    checks.add(
      "BindAddress",
      "bindAddress",
      "bind-address",
      bindAddress,
      "not a valid textual representation of an IP address",
    );
  if (healthzBindAddress !== "")
    checkHostPort(
      checks,
      "HealthzBindAddress",
      "healthzBindAddress",
      "healthz-bind-address",
      healthzBindAddress,
    );
  // Upstream refuses the empty one, which `--metrics-port=0` gives, though its help says that it disables the server.
  if (metricsBindAddress !== "" || !process.takesNoMetricsAddress)
    checkHostPort(
      checks,
      "MetricsBindAddress",
      "metricsBindAddress",
      "metrics-bind-address",
      metricsBindAddress,
    );
  checkRanges(checks, configuration);
  if (!["text", "json"].includes(configuration.logging.format))
    checks.add(
      "logging.format",
      "logging.format",
      "logging-format",
      configuration.logging.format,
      "Unsupported log format",
    );
  return checks.faults;
}

/** A fault in upstream's form. */
export function formatFault({ upstreamPath, value, message }: ConfigurationFault): string {
  return `${upstreamPath}: Invalid value: ${value}: ${message}`;
}
