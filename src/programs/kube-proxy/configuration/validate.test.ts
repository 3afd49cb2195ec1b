import { behaviourOf } from "../behaviour.ts";
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { setAt } from "./configuration.ts";
import { defaultConfiguration } from "./settings.ts";
import { parseTable } from "../../../../data/read-texts.node.ts";
import { checkGates, effectiveGates, readGates } from "./feature-gates.ts";
import { familyComplaints, formatFault, validateConfiguration } from "./validate.ts";

interface Setting {
  readonly minor?: number;
  readonly compat?: Compat;
}

function faults(
  path: string,
  value: unknown,
  { minor = 34, compat = "hardened" }: Setting = {},
): readonly string[] {
  const configuration = defaultConfiguration();
  setAt(configuration, path, value);
  return validateConfiguration(configuration, behaviourOf({ major: 1, minor }, compat)).map(
    (fault) => `${fault.field}: ${formatFault(fault)}`,
  );
}

describe("validation (kube-proxy.md §1.1)", () => {
  it("KP-S11: mode iptables is refused, kernelspace and nothing are not", () => {
    const [fault] = faults("mode", "iptables");
    expect(fault).toContain(
      'mode: KubeProxyConfiguration.Mode.ProxyMode: Invalid value: "iptables": must be kernelspace or blank',
    );
    expect(faults("mode", "kernelspace")).toEqual([]);
    expect(faults("mode", "")).toEqual([]);
  });

  it("userspace went with 1.26", () => {
    expect(faults("mode", "userspace", { minor: 25 })).toEqual([]);
    expect(faults("mode", "userspace", { minor: 26 })).toHaveLength(1);
  });

  it.each<[path: string, value: unknown, upstream: string]>([
    ["bindAddress", "here", 'KubeProxyConfiguration.BindAddress: Invalid value: "here"'],
    ["healthzBindAddress", "0.0.0.0", "must be IP:port"],
    ["healthzBindAddress", "node:10256", 'HealthzBindAddress: Invalid value: "node": must be a valid IP'],
    ["healthzBindAddress", "0.0.0.0:70000", "must be a valid port"],
    ["metricsBindAddress", "0.0.0.0:0", 'MetricsBindAddress: Invalid value: "0": must be a valid port'],
    ["iptables.syncPeriod", -1, 'SyncPeriod: Invalid value: {"Duration":"-1ms"}: must be greater than 0'],
    [
      "iptables.minSyncPeriod",
      -1,
      'MinSyncPeriod: Invalid value: {"Duration":"-1ms"}: must be greater than or equal to 0',
    ],
    [
      "iptables.minSyncPeriod",
      60_000,
      "must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod",
    ],
    ["configSyncPeriod", 0, "ConfigSyncPeriod: Invalid value"],
    ["clusterCIDR", "10.244.0.0", "must be a valid CIDR block"],
    [
      "clusterCIDR",
      "10.1.0.0/16,fd00::",
      'DetectLocalConfiguration.ClusterCIDRs[1]: Invalid value: "fd00::"',
    ],
    ["clusterCIDR", "10.1.0.0/16,10.2.0.0/16", "dual-stack pair of CIDRs"],
    ["clusterCIDR", "10.1.0.0/16,fd00::/48,fd01::/48", "dual-stack pair of CIDRs"],
    [
      "nodePortAddresses",
      ["10.0.0.1"],
      'NodePortAddresses[0]: Invalid value: "10.0.0.1": must be a valid CIDR',
    ],
    ["nodePortAddresses", ["primary", "10.0.0.0/8"], "can't use both 'primary' and CIDRs"],
    ["iptables.masqueradeBit", 32, "must be within the range [0, 31]"],
    [
      "oomScoreAdj",
      -1001,
      "KubeProxyLinuxConfiguration.OOMScoreAdj: Invalid value: -1001: must be within the range",
    ],
    ["clientConnection.burst", -1, "ClientConnection.Burst: Invalid value: -1"],
    ["conntrack.min", -1, "KubeProxyConntrackConfiguration.Min: Invalid value: -1"],
    ["conntrack.tcpCloseWaitTimeout", -1, "TCPCloseWaitTimeout"],
    ["detectLocalMode", "Magic", 'DetectLocalMode: Invalid value: "Magic"'],
    ["logging.format", "xml", "Unsupported log format"],
  ])("%s %j", (path, value, upstream) => {
    const found = faults(path, value).filter((fault) => fault.includes(upstream));
    expect(found).toHaveLength(1);
  });

  it.each([
    ["iptables.syncPeriod", "iptables-sync-period"],
    ["iptables.minSyncPeriod", "iptables-min-sync-period"],
    ["conntrack.udpTimeout", "conntrack-udp-timeout"],
    ["oomScoreAdj", "oom-score-adj"],
  ])("%s is the flag --%s of the command line", (path, flag) => {
    const configuration = defaultConfiguration();
    setAt(configuration, path, -2_000);
    const [fault] = validateConfiguration(configuration, behaviourOf({ major: 1, minor: 34 }, "hardened"));
    expect(fault).toMatchObject({ field: path, flag });
  });

  it.each([
    ["maxPerCore", "MaxPerCore: Invalid value: -1"],
    ["min", "Min: Invalid value: -1"],
    ["tcpEstablishedTimeout", 'TCPEstablishedTimeout: Invalid value: {"Duration":"-1ms"}'],
    ["tcpCloseWaitTimeout", 'TCPCloseWaitTimeout: Invalid value: {"Duration":"-1ms"}'],
    ["udpTimeout", 'UDPTimeout: Invalid value: {"Duration":"-1ms"}'],
    ["udpStreamTimeout", 'UDPStreamTimeout: Invalid value: {"Duration":"-1ms"}'],
  ])("conntrack.%s below 0 is a fault of that field, as the file spells it", (field, upstream) => {
    const [fault = "", ...others] = faults(`conntrack.${field}`, -1);
    expect(others).toEqual([]);
    expect(fault.startsWith(`conntrack.${field}: `)).toBe(true);
    expect(fault).toContain(`KubeProxyConntrackConfiguration.${upstream}`);
  });

  it("the field of an address range has its place behind the configuration's name", () => {
    expect(faults("nodePortAddresses", ["10.0.0.0/8", "10.0.0.1"])).toEqual([
      expect.stringMatching(
        /(^|[ .])NodePortAddresses\[1\]: Invalid value: "10\.0\.0\.1": must be a valid CIDR/,
      ),
    ]);
  });

  it.each<[path: string, value: unknown]>([
    ["clusterCIDR", "10.244.0.0/16,fd00::/48"],
    ["nodePortAddresses", ["primary"]],
    ["nodePortAddresses", ["10.0.0.0/8", "fd00::/8"]],
    ["bindAddress", "010.0.0.1"],
    ["healthzBindAddress", ""],
    ["oomScoreAdj", 1000],
  ])("%s %j is taken", (path, value) => {
    expect(faults(path, value)).toEqual([]);
  });

  it("no metrics server: upstream refuses what its help offers", () => {
    expect(faults("metricsBindAddress", "", { compat: "upstream" })).toHaveLength(1);
    expect(faults("metricsBindAddress", "")).toEqual([]);
  });
});

describe("feature gates (kube-proxy.md §1.2)", () => {
  it.each<[gate: string, isOn: boolean, minor: number, refused: string | undefined]>([
    ["WinDSR", true, 20, undefined],
    ["WinDSR", false, 33, undefined],
    ["WinDSR", false, 34, "cannot set feature gate WinDSR to false, feature is locked to true"],
    ["WinOverlay", false, 33, undefined],
    ["WinOverlay", false, 34, "cannot set feature gate WinOverlay to false, feature is locked to true"],
    ["IPv6DualStack", true, 24, undefined],
    ["IPv6DualStack", true, 25, "unrecognized feature gate: IPv6DualStack"],
    ["ProxyTerminatingEndpoints", false, 28, "cannot set feature gate ProxyTerminatingEndpoints to false"],
    ["ProxyTerminatingEndpoints", true, 30, "unrecognized feature gate: ProxyTerminatingEndpoints"],
    ["WinDsr", true, 30, "unrecognized feature gate: WinDsr"],
    ["Winsome", true, 34, "unrecognized feature gate: Winsome"],
    ["AllAlpha", true, 34, undefined],
    ["ContextualLogging", false, 34, undefined],
  ])("%s=%s at 1.%i", (gate, isOn, minor, refused) => {
    const check = checkGates({ [gate]: isOn }, minor);
    expect(check.refused.map(({ message }) => message)).toEqual(
      refused === undefined ? [] : [expect.stringContaining(refused)],
    );
  });

  // Upstream's component-base/featuregate: "Setting GA feature gate %s=%t. It will be removed in a future release."
  it.each<[gate: string, isOn: boolean, minor: number, stage: RegExp | undefined]>([
    ["WinDSR", true, 20, undefined],
    ["WinDSR", true, 33, undefined],
    ["WinDSR", true, 34, /\bGA\b.*WinDSR=true/],
    ["ContextualLogging", false, 34, undefined],
  ])("%s=%s at 1.%i is noted only when the gate is going", (gate, isOn, minor, stage) => {
    const { noted } = checkGates({ [gate]: isOn }, minor);
    expect(noted.map(({ message }) => message)).toEqual(
      stage === undefined ? [] : [expect.stringMatching(stage)],
    );
  });

  it("a near name is told", () => {
    expect(checkGates({ WinDsr: true }, 30).refused[0]?.advice).toContain("WinDSR");
  });

  it.each([
    [19, false, false],
    [20, false, true],
    [32, false, true],
    [33, true, true],
    [34, true, true],
  ])("defaults at 1.%i: WinDSR %s, WinOverlay %s", (minor, dsr, overlay) => {
    const gates = effectiveGates({}, minor);
    expect([gates.get("WinDSR"), gates.get("WinOverlay")]).toEqual([dsr, overlay]);
  });

  it("AllAlpha turns on what is alpha, unless it is named itself", () => {
    expect(effectiveGates({ AllAlpha: true }, 30).get("WinDSR")).toBe(true);
    expect(effectiveGates({ AllAlpha: true, WinDSR: false }, 30).get("WinDSR")).toBe(false);
  });

  it.each([
    ["minor: 34\ngates:\n  A: 33b+ 34g+!\n  B: 14c\n", "t.yaml:4: B has a wrong step"],
    ["minor: 34\ngates:\n  A: 33\n", "t.yaml:3: A is not a text"],
    ["gates:\n  A: 33b\n", "t.yaml:1: minor is missing"],
  ])("a table that is wrong is named by its line: %j", (table, problem) => {
    expect(() => readGates(parseTable("t.yaml", table))).toThrow(problem);
  });
});

// k8s.io/kubernetes, cmd/kube-proxy/app/server.go: checkBadConfig says these in the log and goes on.
describe("settings of the other address family", () => {
  const V4 = [4] as const;
  const V6 = [6] as const;
  const DUAL = [4, 6] as const;
  const DUAL6 = [6, 4] as const;

  it.each([
    ["clusterCIDR", "10.244.0.0/16", V4, []],
    ["clusterCIDR", "fd00::/64", V4, ["cluster is IPv4-only but clusterCIDRs contains only IPv6 addresses"]],
    ["clusterCIDR", "fd00::/64,10.244.0.0/16", V4, []],
    [
      "clusterCIDR",
      "fd00::/64,fd01::/64",
      V4,
      ["cluster is IPv4-only but clusterCIDRs contains only IPv6 addresses"],
    ],
    [
      "clusterCIDR",
      "10.244.0.0/16",
      V6,
      ["cluster is IPv6-only but clusterCIDRs contains only IPv4 addresses"],
    ],
    [
      "clusterCIDR",
      "fd00::/64",
      DUAL,
      ["cluster is IPv4-primary but clusterCIDRs contains only IPv6 addresses"],
    ],
    [
      "clusterCIDR",
      "10.0.0.0/8",
      DUAL6,
      ["cluster is IPv6-primary but clusterCIDRs contains only IPv4 addresses"],
    ],
    ["clusterCIDR", "", V6, []],
    ["winkernel.sourceVip", "", V4, []],
    ["winkernel.sourceVip", "10.244.1.2", V4, []],
    ["winkernel.sourceVip", "fd00::2", V4, ["cluster is IPv4-only but winkernel.sourceVip is IPv6"]],
    ["winkernel.sourceVip", "10.244.1.2", V6, ["cluster is IPv6-only but winkernel.sourceVip is IPv4"]],
    ["winkernel.sourceVip", "fd00::2", DUAL, ["cluster is IPv4-primary but winkernel.sourceVip is IPv6"]],
    ["winkernel.sourceVip", "10.244.1.2", DUAL, []],
    ["healthzBindAddress", "[fd00::1]:10256", V4, ["cluster is IPv4-only but healthzBindAddress is IPv6"]],
    ["healthzBindAddress", "10.0.0.1:10256", V4, []],
    ["healthzBindAddress", "[::]:10256", V4, []],
    ["metricsBindAddress", "127.0.0.1:10249", V4, []],
    ["metricsBindAddress", "10.0.0.1:10249", V6, ["cluster is IPv6-only but metricsBindAddress is IPv4"]],
    ["metricsBindAddress", "10.0.0.1:10249", DUAL6, []],
  ] as const)("%s %j in a cluster of families %j: %j", (path, value, families, expected) => {
    const configuration = defaultConfiguration();
    for (const other of ["healthzBindAddress", "metricsBindAddress"]) setAt(configuration, other, "");
    setAt(configuration, path, value);
    expect(familyComplaints(configuration, families)).toEqual(expected);
  });

  it("are said one after the other", () => {
    const configuration = defaultConfiguration();
    setAt(configuration, "clusterCIDR", "fd00::/64");
    setAt(configuration, "winkernel.sourceVip", "fd00::2");
    setAt(configuration, "healthzBindAddress", "[fd00::1]:10256");
    setAt(configuration, "metricsBindAddress", "[fd00::1]:10249");
    expect(familyComplaints(configuration, [4]).map((each) => each.split(" ").slice(3).join(" "))).toEqual([
      "but clusterCIDRs contains only IPv6 addresses",
      "but winkernel.sourceVip is IPv6",
      "but healthzBindAddress is IPv6",
      "but metricsBindAddress is IPv6",
    ]);
  });
});
