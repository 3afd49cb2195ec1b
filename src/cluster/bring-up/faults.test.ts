// What goes wrong with the start scripts as it does on real nodes (control-planes.md §1.10, §2; users.md G5, G6, G9, G11).
import { broughtUp } from "#test/support/doctor/bring-up-files.ts";
import { describe, expect, it } from "vitest";
import {
  type Asked,
  bringUpBy,
  codesOf,
  commandLineOf,
  fileOf,
  stepOf,
} from "#test/support/cluster/bring-up-world.ts";

const TWO_CARDS = ["Ethernet=192.168.56.11/24", "Ethernet 2=10.0.0.11/24"];
const PROXY = { HTTPS_PROXY: "http://proxy:3128" };
const NO_PROXY = "10.0.0.0/24,10.244.0.0/16,10.96.0.0/12,.svc,.cluster.local";

/** What is asked, which step fails and how, and its first code; then what mends it. */
const FAULTS: readonly [what: string, asked: Asked, step: string, outcome: string, code: string][] = [
  [
    "HNS does not run",
    { faults: ["hns-not-running"] },
    "Make the network External",
    "went-on",
    "hns-service-not-running",
  ],
  [
    "HNS does not run: nothing comes of it",
    { faults: ["hns-not-running"] },
    "Wait for the network",
    "waits",
    "hns-service-not-running",
  ],
  [
    "no kubeconfig",
    { faults: ["kubeconfig-missing"] },
    "Register the node",
    "waits",
    "start-script-kubeconfig-missing",
  ],
  [
    "kubelet may not make the Node",
    { faults: ["kubelet-cannot-register"] },
    "Register the node",
    "waits",
    "start-script-node-unregistered",
  ],
  [
    "HTTPS_PROXY without NO_PROXY",
    { more: { environment: PROXY } },
    "Register the node",
    "waits",
    "proxy-takes-api-requests",
  ],
  [
    "CP-F31: the management address comes after 8 s",
    { faults: ["management-ip-late"], edits: ["no-external"], flanneld: "0.12.0" },
    "Wait",
    "went-on",
    "flannel-network-not-ready",
  ],
  [
    "an interface name that is none, host-gw",
    { backend: "host-gw", parameters: { interfaceName: "Ethernet 7" } },
    "Write cni.conf",
    "ended",
    "start-script-adapter-missing",
  ],
  [
    "two cards: External is on the wrong one",
    { adapters: TWO_CARDS },
    "Make the network External",
    "went-on",
    "start-script-adapter-wrong",
  ],
  [
    "two cards: flanneld 0.11 finds no router (flannel issue 1109)",
    { adapters: TWO_CARDS },
    "Start flanneld",
    "went-on",
    "flannel-router-mac-missing",
  ],
  [
    "a management address that no card has (flannel issue 1109, SDN issue 377)",
    { parameters: { managementIP: "10.0.0.99" } },
    "Start flanneld",
    "went-on",
    "flannel-interface-missing",
  ],
  [
    "a flanneld that names the switch's vNIC (flannel issue 1966)",
    { flanneld: "0.28.9", edits: ["copy-net-conf"] },
    "Start flanneld",
    "went-on",
    "flannel-adapter-is-switch",
  ],
  [
    "CP-S2 with a flanneld that looks at ranges",
    { flanneld: "0.22.0" },
    "Start flanneld",
    "went-on",
    "flannel-network-without-node-range",
  ],
  [
    "another -ClusterCIDR",
    { edits: ["copy-net-conf"], parameters: { clusterCIDR: "10.42.0.0/16" } },
    "Write net-conf.json",
    "went-on",
    "start-script-range-differs",
  ],
  [
    "another -ServiceCIDR",
    { parameters: { serviceCIDR: "10.43.0.0/16" } },
    "Write cni.conf",
    "went-on",
    "start-script-range-differs",
  ],
  [
    "CP-F47: subnet.env cannot be written",
    { faults: ["subnet-env-unwritable"] },
    "Start kubelet",
    "went-on",
    "subnet-env-missing",
  ],
  [
    "a kubelet without Docker (sig-windows-tools issue 218)",
    { kubernetes: "1.24" },
    "Start kubelet",
    "went-on",
    "start-script-kubelet-flag-removed",
  ],
  [
    "kube-proxy without --log-dir",
    { kubernetes: "1.26", edits: ["copy-net-conf"] },
    "Start kube-proxy",
    "went-on",
    "kube-proxy-flag-refused",
  ],
  [
    "a -ClusterCIDR that is not a range",
    { edits: ["copy-net-conf"], parameters: { clusterCIDR: "nonsense" } },
    "Start flanneld",
    "went-on",
    "flanneld-configuration-invalid",
  ],
  [
    "a cluster with another VNI",
    { network: ", vni: 5000" },
    "Start flanneld",
    "went-on",
    "start-script-configuration-old",
  ],
];

describe("start.ps1 on a node with something wrong", () => {
  it.each(FAULTS)("%s", async (_, asked, name, outcome, code) => {
    const report = await bringUpBy(asked);
    const step = stepOf(report, name);
    expect(step.outcome).toBe(outcome);
    expect(step.findings.map((finding) => finding.code)).toContain(code);
    expect(report.outcome).not.toBe("up");
  });

  it("has the last words of a program that ended in its log", async () => {
    const { processes } = await bringUpBy({ kubernetes: "1.24" });
    const kubelet = processes.findLast(({ name }) => name === "kubelet");
    expect(kubelet?.state).toBe("ended");
    expect(kubelet?.log.join("\n")).toMatch(/unknown flag: --\S+/);
  });

  it("goes on after install.ps1 has ended, with the files as they were fetched (users.md G11)", async () => {
    const report = await bringUpBy({ backend: "host-gw", parameters: { interfaceName: "Ethernet 7" } });
    expect(stepOf(report, "Write net-conf.json").outcome).toBe("skipped");
    expect(stepOf(report, "Start flanneld").outcome).toBe("done");
    expect(codesOf(report)).toContain("start-script-configuration-unwritten");
    expect(fileOf(report, String.raw`C:\k\cni\config\cni.conf`)).toContain("10.127.130.0/24");
    expect(report.outcome).toBe("not-up");
  });

  it("tells of the other VNI, too", async () => {
    expect(codesOf(await bringUpBy({ network: ", vni: 5000" }))).toContain("flannel-vni-other-than-4096");
  });

  it("asks kubectl in vain each second while the proxy takes the requests", async () => {
    const { output } = stepOf(await bringUpBy({ more: { environment: PROXY } }), "Register the node");
    expect(output.at(-1)).toBe("waiting to discover node registration status (300 times)");
    expect(output[0]).toContain("requests for https://10.0.0.21:6443 go to the proxy http://proxy:3128");
  });
});

describe("what mends it", () => {
  it.each<[string, Asked]>([
    ["NO_PROXY with the cluster's ranges", { more: { environment: { ...PROXY, NO_PROXY } } }],
    [
      "two cards: the adapter named, and kubelet told of it",
      {
        adapters: TWO_CARDS,
        parameters: { interfaceName: "Ethernet 2" },
        edits: ["copy-net-conf", "external-adapter", "node-ip"],
      },
    ],
    [
      "External, made 10 s before, has the address by then (§1.10)",
      { faults: ["management-ip-late"], edits: ["copy-net-conf"] },
    ],
    ["a new flanneld without External", { flanneld: "0.28.9", edits: ["copy-net-conf", "no-external"] }],
    ["kubelet's and kube-proxy's flags", { kubernetes: "1.26", edits: ["copy-net-conf", "kubelet-flags"] }],
  ])("%s", async (_, asked) => {
    const report = await bringUpBy({ ...asked, edits: asked.edits ?? ["copy-net-conf"] });
    expect(codesOf(report)).toEqual([]);
    expect(report.outcome).toBe("up");
  });

  it("kubelet passes by two addresses in one --node-ip (cmd/kubelet/app/server.go)", async () => {
    const { report } = await broughtUp(
      {
        adapters: ["Ethernet=10.0.0.11/24", "Ethernet 2=192.168.56.11/24"],
        edits: ["copy-net-conf"],
      },
      { networks: [{ Type: "Transparent", Name: "lan", NetworkAdapterName: "Ethernet 2" }] },
    );
    expect(codesOf(report)).toEqual(["start-script-node-ip-wrong"]);
    const kubelet = report.processes.findLast(({ name }) => name === "kubelet");
    expect(kubelet).toMatchObject({
      state: "running",
      log: ['I "Could not parse --node-ip ignoring" IP="192.168.56.11 10.0.0.11"'],
    });
  });

  it("without the edit of --node-ip kubelet gets none on a card of another name (SDN issue 254)", async () => {
    const report = await bringUpBy({
      adapters: ["LAN=10.0.0.11/24"],
      parameters: { interfaceName: "LAN" },
      edits: ["copy-net-conf"],
    });
    expect(codesOf(report)).toEqual(["start-script-node-ip-wrong"]);
    expect(commandLineOf(report, "kubelet")).toMatch(/--node-ip=$/);
  });
});

describe("KubeCluster.ps1", () => {
  const SCRIPTS = { scripts: "KubeCluster.ps1" } as const;
  const MENDED = ["kubelet-flags", "copy-net-conf"] as const;

  it("ends at a flag that kubelet lost in 1.15", async () => {
    const report = await bringUpBy({ more: SCRIPTS });
    const step = stepOf(report, "Start kubelet and register the node");
    expect(step.outcome).toBe("ended");
    expect(step.findings[0]?.message).toContain("unknown flag: --allow-privileged");
  });

  it.each(["vxlan", "host-gw"] as const)("brings the node up with its flags mended: %s", async (backend) => {
    const report = await bringUpBy({ backend, edits: MENDED, more: SCRIPTS });
    expect(codesOf(report)).toEqual([]);
    expect(report.outcome).toBe("up");
  });

  it("names the card itself, so that two are no trouble", async () => {
    const report = await bringUpBy({
      adapters: TWO_CARDS,
      parameters: { interfaceName: "Ethernet 2" },
      edits: MENDED,
      more: SCRIPTS,
    });
    expect(report.outcome).toBe("up");
  });

  it("ends at once where there is no adapter of the name", async () => {
    const report = await bringUpBy({ parameters: { interfaceName: "LAN" }, more: SCRIPTS });
    expect(stepOf(report, "Find the adapter").output).toEqual(["LAN doesn't exist"]);
    expect(stepOf(report, "Download files").outcome).toBe("skipped");
  });

  it("CP-S3: waits for the network for 60 s", async () => {
    const report = await bringUpBy({ faults: ["node-without-range"], edits: MENDED, more: SCRIPTS });
    const step = stepOf(report, "Wait for the network");
    expect(step.outcome).toBe("ended");
    expect(step.tookMs).toBe(60_000);
    expect(step.output.at(-1)).toBe("Fail to create the network[(vxlan0)] in 60 seconds");
  });

  it("CP-F48: asks host-local again in the second run, which refuses, and kube-proxy has no address", async () => {
    const report = await bringUpBy({ edits: MENDED, more: { ...SCRIPTS, runs: 2 } });
    expect(stepOf(report, "Reserve the source VIP").findings[0]?.message).toContain(
      "10.244.1.2 has been allocated to dummy, duplicate allocation is not allowed",
    );
    expect(commandLineOf(report, "kube-proxy")).not.toContain("--source-vip");
    expect(report.outcome).toBe("not-up");
  });

  it("leaves placeholders in cni.conf for containerd, unless somebody mends it", async () => {
    const more = { ...SCRIPTS, runtime: "containerd" } as const;
    expect(codesOf(await bringUpBy({ edits: MENDED, more }))).toEqual(["placeholder-left"]);
    const repaired = await bringUpBy({ edits: [...MENDED, "cni-conf"], more });
    expect(codesOf(repaired)).toEqual([]);
    expect(JSON.parse(fileOf(repaired, String.raw`C:\k\cni\config\cni.conf`))).toMatchObject({
      delegate: {
        type: "sdnoverlay",
        AdditionalArgs: [
          { Value: { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16", "10.96.0.0/12"] } } },
          { Value: { Type: "SDNROUTE", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } } },
        ],
      },
    });
  });
});
