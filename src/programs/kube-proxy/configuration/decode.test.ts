import { describe, expect, it } from "vitest";
import { defaultConfiguration } from "./settings.ts";
import { decodeConfiguration } from "./decode.ts";
import { formatDuration, parseDuration } from "./go-texts.ts";

const HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

describe("a configuration file", () => {
  it("with nothing but its kind has the defaults", () => {
    expect(decodeConfiguration("p.yaml", HEAD)).toEqual({
      configuration: defaultConfiguration(),
      problems: [],
      warnings: [],
    });
  });

  it("says everything that Windows needs", () => {
    const text = `${HEAD}mode: kernelspace
bindAddress: "::"
featureGates: {WinDSR: true}
iptables: {syncPeriod: 1m, minSyncPeriod: 0s}
oomScoreAdj: 0
winkernel:
  networkName: vxlan0
  sourceVip: 10.244.3.2
  enableDSR: true
`;
    expect(decodeConfiguration("p.yaml", text).configuration).toMatchObject({
      featureGates: { WinDSR: true },
      // The family of bindAddress is that of the servers.
      healthzBindAddress: "[::]:10256",
      metricsBindAddress: "[::1]:10249",
      // 0s is taken for absent; the 0 of a pointer is not.
      iptables: { syncPeriod: 60_000, minSyncPeriod: 1_000 },
      oomScoreAdj: 0,
      winkernel: { networkName: "vxlan0", sourceVip: "10.244.3.2", enableDSR: true },
    });
  });

  it("is read as JSON, too", () => {
    const text =
      '{"apiVersion":"kubeproxy.config.k8s.io/v1alpha1","kind":"KubeProxyConfiguration","mode":"kernelspace"}';
    expect(decodeConfiguration("p.json", text).configuration).toMatchObject({ mode: "kernelspace" });
  });

  it.each<[given: string, text: string, line: number, path: string, advice: RegExp]>([
    ["a typing error", `${HEAD}winkernel:\n  sourceVIP: 10.1.0.2\n`, 4, "winkernel.sourceVIP", /sourceVip/],
    ["a field in the wrong place", `${HEAD}networkName: cbr0\n`, 3, "networkName", /below winkernel/],
    ["an unknown field", `${HEAD}colour: blue\n`, 3, "colour", /Known here: .*winkernel/],
  ])("%s is skipped, with a warning", (_given, text, line, path, advice) => {
    const { configuration, problems, warnings } = decodeConfiguration("p.yaml", text);
    expect(configuration).toBeDefined();
    expect(problems).toEqual([]);
    expect(warnings).toMatchObject([{ code: "kube-proxy-field-unknown", file: "p.yaml", line, path }]);
    expect(warnings[0]?.advice).toMatch(advice);
  });

  it.each<[text: string, line: number, column: number, path: string]>([
    [`colour: blue\n${HEAD}`, 1, 1, "colour"],
    [`${HEAD}colour: blue\n`, 3, 1, "colour"],
    [`${HEAD}winkernel:\n  colour: blue\n`, 4, 3, "winkernel.colour"],
    [
      `{"colour":1,${JSON.stringify({ apiVersion: "kubeproxy.config.k8s.io/v1alpha1", kind: "KubeProxyConfiguration" }).slice(1)}`,
      1,
      2,
      "colour",
    ],
  ])("a field is found where it stands, line and column from 1: %j", (text, line, column, path) => {
    expect(decodeConfiguration("p.yaml", text).warnings).toMatchObject([{ line, column, path }]);
  });

  it.each<[given: string, text: string, line: number, message: RegExp, advice: RegExp]>([
    ["an empty file", "", 1, /empty/, /apiVersion: kubeproxy/],
    ["a comment alone", "# nothing\n", 1, /holds no object/, /--write-config-to/],
    ["no kind", "mode: kernelspace\n", 1, /'Kind' is missing/, /kind: KubeProxyConfiguration/],
    ["another kind", "apiVersion: v1\nkind: ConfigMap\n", 2, /"ConfigMap".*"v1"/, /KubeProxyConfiguration/],
    ["another version", HEAD.replace("v1alpha1", "v1"), 1, /\/v1"/, /v1alpha1/],
    [
      "a number for a text",
      `${HEAD}winkernel:\n  networkName: 4096\n`,
      4,
      /4096, and must be a text/,
      /quotes/,
    ],
    ["a number for a duration", `${HEAD}configSyncPeriod: 30\n`, 3, /duration/, /30s/],
    ["a unit that Go lacks", `${HEAD}configSyncPeriod: 1d\n`, 3, /duration/, /1h30m/],
    ["a text for a truth value", `${HEAD}enableProfiling: "true"\n`, 3, /true or false/, /without quotes/],
    ["a value for a section", `${HEAD}winkernel: cbr0\n`, 3, /section/, /below it/],
    [
      "a gate that is not a truth value",
      `${HEAD}featureGates: {WinDSR: "yes"}\n`,
      3,
      /true or false/,
      /WinDSR/,
    ],
    [
      "one of several gates that is not a truth value",
      `${HEAD}featureGates: {WinOverlay: true, WinDSR: "yes"}\n`,
      3,
      /true or false/,
      /WinDSR/,
    ],
    ["a number among texts", `${HEAD}nodePortAddresses: [10.0.0.0/8, 5]\n`, 3, /list of texts/, /./],
    ["broken YAML", `${HEAD}winkernel: [\n`, 4, /./, /./],
    ["a field twice", `${HEAD}mode: a\nmode: b\n`, 4, /twice/, /one of the two/],
  ])("%s is refused", (_given, text, line, message, advice) => {
    const { configuration, problems } = decodeConfiguration("p.yaml", text);
    expect(configuration).toBeUndefined();
    expect(problems).toMatchObject([{ code: "kube-proxy-configuration-invalid", line }]);
    expect(problems[0]?.message).toMatch(message);
    expect(problems[0]?.advice).toMatch(advice);
  });
});

describe("several faults of a configuration file", () => {
  it("are told in the order of the file", () => {
    const text = `${HEAD}configSyncPeriod: 30\nenableProfiling: "true"\nwinkernel: cbr0\n`;
    expect(decodeConfiguration("p.yaml", text).problems.map(({ line }) => line)).toEqual([3, 4, 5]);
  });
});

describe("durations as Go writes them", () => {
  it.each<[text: string, ms: number, back?: string]>([
    ["30s", 30_000],
    ["15m0s", 900_000],
    ["1h30m", 5_400_000, "1h30m0s"],
    ["1.5s", 1_500],
    ["500ms", 500],
    ["100µs", 0.1],
    ["-1m", -60_000, "-1m0s"],
    ["0", 0, "0s"],
  ])("%s", (text, ms, back = text) => {
    expect(parseDuration(text)).toBeCloseTo(ms, 9);
    expect(formatDuration(ms)).toBe(back);
  });

  it.each(["", "30", "1d", "s", "1 s", "5x"])("%j is none", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});
