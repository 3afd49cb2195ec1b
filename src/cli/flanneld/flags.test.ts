import { describe, expect, it } from "vitest";
import { FlannelError } from "#programs/flannel/reports.ts";
import { FlagError, helpText, readFlags } from "./flags.ts";

describe("flags of flanneld (control-planes.md §1.2)", () => {
  it("have upstream's defaults", () => {
    expect(readFlags([], {})).toMatchObject({
      usesKubernetes: false,
      annotationPrefix: "flannel.alpha.coreos.com",
      netConfigPath: "/etc/kube-flannel/net-conf.json",
      setsCondition: true,
      healthzIp: "0.0.0.0",
      healthzPort: 0,
      etcd: {
        endpoints: ["http://127.0.0.1:4001", "http://127.0.0.1:2379"],
        prefix: "/coreos.com/network",
        keyFile: "",
      },
      options: {
        subnetFile: "/run/flannel/subnet.env",
        subnetLeaseRenewMargin: 60,
        ipMasq: false,
        iptablesResync: 5,
        iptablesForwardRules: true,
        eventQueueDepth: 5_000,
        iface: [],
      },
    });
  });

  it("take the line of the start scripts", () => {
    const words = [
      "--kubeconfig-file=C:\\k\\config",
      "--iface=10.0.0.11",
      "--ip-masq=1",
      "--kube-subnet-mgr=1",
    ];
    expect(readFlags(words, {})).toMatchObject({
      usesKubernetes: true,
      kubeconfigFile: "C:\\k\\config",
      options: { iface: ["10.0.0.11"], ipMasq: true },
    });
  });

  it("may be given with one hyphen, with a blank, and again", () => {
    const words = [
      "-iface",
      "eth0",
      "--iface=eth1",
      "-iface-regex",
      "^en",
      "-ip-masq",
      "-public-ip",
      "10.0.0.1",
    ];
    expect(readFlags(words, {}).options).toMatchObject({
      iface: ["eth0", "eth1"],
      ifaceRegex: ["^en"],
      ipMasq: true,
      publicIp: "10.0.0.1",
    });
  });

  it("CP-F13: a variable stands for a flag that is not given", () => {
    expect(readFlags([], { FLANNELD_KUBE_SUBNET_MGR: "true" }).usesKubernetes).toBe(true);
    expect(readFlags(["--kube-subnet-mgr=false"], { FLANNELD_KUBE_SUBNET_MGR: "true" }).usesKubernetes).toBe(
      false,
    );
    expect(readFlags([], { FLANNELD_ETCD_PREFIX: "/x" }).etcd.prefix).toBe("/x");
  });

  it.each([0, 1440, -5])("CP-F11: a margin of %i minutes is refused", (margin) => {
    expect(() => readFlags([`--subnet-lease-renew-margin=${margin}`], {})).toThrow(FlannelError);
    expect(() => readFlags([`--subnet-lease-renew-margin=${margin}`], {})).toThrow(
      "Invalid subnet-lease-renew-margin option, out of acceptable range",
    );
  });

  it.each([1, 1439])("CP-F11: a margin of %i minutes is taken", (margin) => {
    expect(readFlags([`--subnet-lease-renew-margin=${margin}`], {}).options.subnetLeaseRenewMargin).toBe(
      margin,
    );
  });

  it.each([
    [
      ["--kube-subnet-mngr"],
      "flag provided but not defined: --kube-subnet-mngr; did you mean --kube-subnet-mgr?",
    ],
    [["--iface"], "flag needs an argument: -iface"],
    [["--ip-masq=maybe"], 'invalid value "maybe" for flag -ip-masq: parse error'],
    [["--healthz-port=http"], 'invalid value "http" for flag -healthz-port: parse error'],
    [["start"], '"start" is not a flag'],
    [["--mullion-compat=worse"], "write upstream or hardened"],
  ])("%j are bad words", (words, message) => {
    expect(() => readFlags(words, {})).toThrow(FlagError);
    expect(() => readFlags(words, {})).toThrow(message);
  });

  it("a depth of the queue that is none is refused", () => {
    expect(() => readFlags([], { EVENT_QUEUE_DEPTH: "many" })).toThrow("EVENT_QUEUE_DEPTH=many format error");
    expect(readFlags([], { EVENT_QUEUE_DEPTH: "7" }).options.eventQueueDepth).toBe(7);
  });

  it("--help names every flag in lines of at most 110 characters", () => {
    const text = helpText();
    expect(text).toContain("--subnet-lease-renew-margin N");
    expect(text.split("\n").filter((line) => line.length > 110)).toEqual([]);
  });
});
