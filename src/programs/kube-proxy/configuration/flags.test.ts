import { describe, expect, it } from "vitest";
import { parseTable } from "../../../../data/read-texts.node.ts";
import { type FlagDefinition, flagsOf, readFlagTable } from "./flags.ts";
import { type FlagFault, type ParsedFlags, parseFlags } from "./parse-flags.ts";
import { configurationOfFlags, overlookedFlags } from "./settings.ts";

function parse(...words: readonly string[]): ParsedFlags | FlagFault {
  return parseFlags(words, flagsOf(34));
}

function values(...words: readonly string[]): Readonly<Record<string, unknown>> {
  const parsed = parse(...words);
  if ("message" in parsed) throw new Error(parsed.message);
  return Object.fromEntries(parsed.values);
}

it("help shows what the field of a flag begins with, as upstream's reference has it", () => {
  const initial = new Map(flagsOf(34).map((flag) => [flag.name, flag.initial]));
  const names = [
    "kube-api-burst",
    "config-sync-period",
    "conntrack-tcp-timeout-established",
    "ipvs-udp-timeout",
  ];
  expect(names.map((name) => initial.get(name))).toEqual(["10", "15m0s", "24h0m0s", "0s"]);
});

it.each([
  ["a: { help: x }", "t.yaml:1: type is missing"],
  ["a: { type: text }", "t.yaml:1: type: text is unknown"],
  ["a: { type: string, field: mod }", "t.yaml:1: mod is no field of the configuration"],
  ["a:\n  type: int32\n  initial: 0", "t.yaml:3: initial is not a text"],
  ["a: { type: bool, isown: true }", "t.yaml:1: unknown: isown"],
])("the table of flags %j is refused", (table, problem) => {
  expect(() => readFlagTable(parseTable("t.yaml", table))).toThrow(problem);
});

describe("words as pflag takes them", () => {
  it("a period that could be read in 2^29 ways is refused in time", () => {
    const period = `0.${"s000".repeat(29)}n`;
    expect(parse(`--config-sync-period=${period}`)).toMatchObject({
      message: expect.stringContaining("time: invalid duration") as string,
    });
  });

  it.each<[words: readonly string[], expected: Readonly<Record<string, unknown>>]>([
    [["--network-name=cbr0"], { "network-name": "cbr0" }],
    [["--network-name", "cbr0"], { "network-name": "cbr0" }],
    [["--network_name=cbr0"], { "network-name": "cbr0" }],
    [["--enable-dsr"], { "enable-dsr": true }],
    [["--enable-dsr=false"], { "enable-dsr": false }],
    [["--enable-dsr=T"], { "enable-dsr": true }],
    [["-v=4"], { v: 4 }],
    [["-v4"], { v: 4 }],
    [["-v", "4"], { v: 4 }],
    [["--v=4", "--v=2"], { v: 2 }],
    [["--iptables-sync-period=1m30s"], { "iptables-sync-period": 90_000 }],
    [["--nodeport-addresses=10.0.0.0/8,fd00::/8"], { "nodeport-addresses": ["10.0.0.0/8", "fd00::/8"] }],
    [
      ["--feature-gates=WinDSR=true", "--feature-gates=WinOverlay=0"],
      { "feature-gates": { WinDSR: true, WinOverlay: false } },
    ],
    [["--version"], { version: "true" }],
    [["--version=raw"], { version: "raw" }],
    [["--healthz-bind-address=0.0.0.0"], { "healthz-bind-address": "0.0.0.0" }],
    [["--", ""], {}],
  ])("%j", (words, expected) => {
    expect(values(...words)).toEqual(expected);
  });

  it.each<[words: readonly string[], message: string, advice: string]>([
    [["--enabel-dsr"], "unknown flag: --enabel-dsr", "--enable-dsr?"],
    [["--network-nam=x"], "unknown flag: --network-nam", "--network-name?"],
    [["--proxy-port-range=1-2"], "unknown flag: --proxy-port-range", "--help"],
    [
      ["-config=/etc/kube-proxy/config.yaml"],
      "unknown shorthand flag: 'c' in -config=/etc/kube-proxy/config.yaml",
      "Flags have two dashes. Did you mean --config?",
    ],
    [["-x"], "unknown shorthand flag: 'x' in -x", "two dashes"],
    [["--network-name"], "flag needs an argument: --network-name", "TEXT"],
    [["--v=much"], 'invalid argument "much" for "-v, --v" flag: strconv.ParseInt', "whole number"],
    [
      ["--enable-dsr=yes"],
      'invalid argument "yes" for "--enable-dsr" flag: strconv.ParseBool',
      "true or false",
    ],
    [["--iptables-sync-period=30"], 'for "--iptables-sync-period" flag: time: invalid duration "30"', "30s"],
    [["--bind-address=here"], '"here" is not a valid IP address', "10.0.0.4"],
    [["--healthz-bind-address=0.0.0.0:http"], '"http" is not a valid number', "10256"],
    [["--feature-gates=WinDSR"], "malformed pair, expect string=bool", "WinDSR=true"],
    [["--enable-dsr", "true"], '"kube-proxy" does not take any arguments, got ["true"]', "--enable-dsr=true"],
  ])("%j is refused", (words, message, advice) => {
    const fault = parse(...words) as FlagFault;
    expect(fault.message).toContain(message);
    expect(fault.advice).toContain(advice);
  });

  it("a value that is none is told in the words of pflag, from the first one on", () => {
    expect((parse("--v=much") as FlagFault).message).toMatch(
      /^invalid argument "much" for "-v, --v" flag: strconv\.ParseInt: parsing "much": invalid syntax$/,
    );
  });

  it("flags come and go with versions", () => {
    const names = (minor: number): readonly string[] =>
      flagsOf(minor).map(({ name }: FlagDefinition) => name);
    expect(names(30)).toContain("proxy-port-range");
    expect(names(31)).not.toContain("proxy-port-range");
    expect(names(23)).not.toContain("forward-healthcheck-vip");
    expect(names(24)).toEqual(expect.arrayContaining(["forward-healthcheck-vip", "root-hnsendpoint-name"]));
    expect(names(28)).not.toContain("init-only");
  });
});

describe("a configuration of flags", () => {
  const configuration = (...words: readonly string[]): ReturnType<typeof configurationOfFlags> =>
    configurationOfFlags((parse(...words) as ParsedFlags).values);

  it("has upstream's defaults (kube-proxy.md §1.1)", () => {
    expect(configuration()).toMatchObject({
      mode: "kernelspace",
      bindAddress: "0.0.0.0",
      healthzBindAddress: "0.0.0.0:10256",
      metricsBindAddress: "127.0.0.1:10249",
      oomScoreAdj: -999,
      configSyncPeriod: 900_000,
      iptables: { syncPeriod: 30_000, minSyncPeriod: 1_000, masqueradeBit: 14 },
      winkernel: { rootHnsEndpointName: "cbr0", enableDSR: false, forwardHealthCheckVip: false },
      clientConnection: { qps: 5, burst: 10, contentType: "application/vnd.kubernetes.protobuf" },
    });
  });

  it("gives an address the port, and takes 0 of the deprecated flags for none", () => {
    expect(configuration("--healthz-bind-address=10.0.0.4")).toMatchObject({
      healthzBindAddress: "10.0.0.4:10256",
    });
    expect(configuration("--healthz-bind-address=::1")).toMatchObject({ healthzBindAddress: "[::1]:10256" });
    expect(configuration("--healthz-port=0")).toMatchObject({ healthzBindAddress: "" });
  });

  it("flags beside a file that do not count", () => {
    const { values: given } = parse(
      "--config=x",
      "--network-name=y",
      "--v=4",
      "--hostname-override=z",
    ) as ParsedFlags;
    expect(overlookedFlags(given)).toEqual(["network-name"]);
  });
});
