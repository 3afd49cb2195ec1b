// Start scripts on a node with something wrong: what a person would collect afterwards, read as a user's.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Asked, codesOf } from "#test/support/cluster/bring-up-world.ts";
import { type SessionWorld, openSessionWorld } from "#test/support/cluster/session-world.ts";
import { type Circumstances, broughtUp } from "#test/support/doctor/bring-up-files.ts";
import { type CollectedFiles, collectedFiles } from "#test/support/doctor/collected-files.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import type { BringUpFault } from "#cluster/bring-up/options.ts";
import type { NodeStateFields } from "#cluster/file/description-of-nodes.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { parsePrefix } from "#core/net/ip.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { doctor } from "./doctor.ts";
import { runMullion } from "./program.ts";

async function findingsOf(files: CollectedFiles): Promise<DoctorReport["findings"]> {
  const terminal = new MemoryTerminal(files);
  const argv = ["doctor", "collected", "-o", "json"];
  await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return (JSON.parse(terminal.output) as DoctorReport).findings;
}

/** A code of the catalogue, or the error of a log that says the same. */
interface Seen {
  readonly asked: Asked;
  readonly first: string;
  readonly on?: Circumstances;
  /** Files that the collector does not take: collectlogs.ps1 has no transcript of a window. */
  readonly without?: readonly string[];
}

const MENDED = ["copy-net-conf"] as const;
const TWO_CARDS = ["Ethernet=192.168.56.11/24", "Ethernet 2=10.0.0.11/24"];
/** A network that a person, or Docker, has made on a card before. */
const onCard = (card: string): Circumstances => ({
  networks: [{ Type: "Transparent", Name: "docker-lan", NetworkAdapterName: card }],
});
const NO_TRANSCRIPT = ["collected/transcript.txt"];

async function filesOf({ asked, on, without = [] }: Seen): Promise<CollectedFiles> {
  const { files } = await broughtUp(asked, on);
  return Object.fromEntries(Object.entries(files).filter(([name]) => !without.includes(name)));
}

const CLUSTER_SCRIPT = { scripts: "KubeCluster.ps1" } as const;

/** The compiler wants a row for each fault that `--fault` takes. */
const FAULTS: Readonly<Record<BringUpFault, Seen>> = {
  "hns-not-running": {
    asked: { faults: ["hns-not-running"], edits: MENDED },
    first: "hns-service-not-running",
  },
  "kubeconfig-missing": {
    asked: { faults: ["kubeconfig-missing"], edits: MENDED },
    first: "start-script-kubeconfig-missing",
  },
  "kubelet-cannot-register": {
    asked: { faults: ["kubelet-cannot-register"], edits: MENDED },
    first: "start-script-node-unregistered",
  },
  "node-without-range": {
    asked: { faults: ["node-without-range"], edits: MENDED },
    first: "flannel-node-without-range",
  },
  "management-ip-late": {
    asked: { faults: ["management-ip-late"], edits: ["no-external", ...MENDED], flanneld: "0.12.0" },
    first: "flannel-network-not-ready",
  },
  "subnet-env-unwritable": {
    asked: { faults: ["subnet-env-unwritable"], edits: MENDED },
    first: "subnet-env-missing",
  },
  "internet-behind-proxy": {
    asked: { faults: ["internet-behind-proxy"], edits: MENDED },
    first: "download-needs-proxy",
  },
};

type OfScripts = Extract<KnowledgeCode, `start-script-${string}`>;
/** What else is in the folder of the catalogue; a test compares the names. */
type OfBringUp =
  | "download-needs-proxy"
  | "flannel-adapter-is-switch"
  | "flannel-router-mac-missing"
  | "hns-service-not-running"
  | "proxy-takes-api-requests";

/** And for each code of a bring-up. */
const CODES: Readonly<Record<OfScripts | OfBringUp, Seen>> = {
  "start-script-adapter-missing": {
    asked: { backend: "host-gw", edits: MENDED, parameters: { interfaceName: "Ethernet 7" } },
    first: "start-script-adapter-missing",
  },
  // flanneld asks Windows for the router of an adapter that does not have the node's address.
  "start-script-adapter-wrong": {
    asked: { adapters: TWO_CARDS, edits: MENDED },
    first: "flanneld-remote-dr-mac",
  },
  "start-script-configuration-old": { asked: {}, first: "flannel-network-without-node-range" },
  "start-script-configuration-unwritten": {
    asked: { backend: "host-gw", edits: MENDED, parameters: { interfaceName: "Ethernet 7" } },
    without: NO_TRANSCRIPT,
    first: "start-script-configuration-unwritten",
  },
  // microsoft/SDN#269: another network holds the only card.
  "start-script-external-network-refused": {
    asked: { edits: MENDED },
    on: onCard("Ethernet"),
    first: "start-script-external-network-refused",
  },
  "start-script-kubeconfig-missing": FAULTS["kubeconfig-missing"],
  "start-script-kubelet-flag-removed": {
    asked: { kubernetes: "1.24", edits: MENDED },
    first: "kubelet-flag-unknown",
  },
  "start-script-network-never-made": {
    asked: { parameters: { managementIP: "10.0.0.99" }, edits: MENDED },
    first: "flanneld-no-interface",
  },
  // microsoft/SDN#315: the kubelet ignores two addresses in one, and takes the first that Windows has for its name.
  "start-script-node-ip-wrong": {
    asked: { edits: MENDED, adapters: ["Ethernet=10.0.0.11/24", "Ethernet 2=192.168.56.11/24"] },
    on: { ...onCard("Ethernet 2"), registered: "192.168.56.11" },
    first: "start-script-node-ip-wrong",
  },
  "start-script-node-unregistered": FAULTS["kubelet-cannot-register"],
  "start-script-range-differs": {
    asked: { edits: MENDED, parameters: { serviceCIDR: "10.43.0.0/16" } },
    first: "cni-exception-list-without-services",
  },
  "start-script-source-vip-refused": {
    asked: { edits: ["kubelet-flags", ...MENDED], more: { ...CLUSTER_SCRIPT, runs: 2 } },
    first: "ipam-duplicate-allocation",
  },
  "download-needs-proxy": FAULTS["internet-behind-proxy"],
  // HNS's answer to flanneld; its entry names the adapter.
  "flannel-adapter-is-switch": {
    asked: { flanneld: "0.28.9", edits: MENDED },
    first: "error-invalid-parameter",
  },
  "flannel-router-mac-missing": {
    asked: { adapters: TWO_CARDS, edits: MENDED },
    first: "flanneld-remote-dr-mac",
  },
  "hns-service-not-running": FAULTS["hns-not-running"],
  // Which proxy took the requests is in no file; that no Node came of them is.
  "proxy-takes-api-requests": {
    asked: { edits: MENDED, more: { environment: { HTTPS_PROXY: "http://proxy:3128" } } },
    first: "start-script-node-unregistered",
  },
};

/** What is typed, or lies there, beside the faults that have names. */
const FURTHER: Readonly<Record<string, Seen>> = {
  "a flanneld of before 0.12 without an address": {
    asked: { faults: ["management-ip-late"], edits: ["no-external", ...MENDED] },
    first: "flanneld-remote-dr-mac",
  },
  "a flanneld that looks at ranges": { asked: { flanneld: "0.22.0" }, first: "flanneld-pod-cidr-outside" },
  "another -ClusterCIDR": {
    asked: { edits: MENDED, parameters: { clusterCIDR: "10.42.0.0/16" } },
    first: "flannel-network-without-node-range",
  },
  "a -ClusterCIDR that is not a range": {
    asked: { edits: MENDED, parameters: { clusterCIDR: "nonsense" } },
    first: "flanneld-network-config-missing",
  },
  "kube-proxy without --log-dir": {
    asked: { kubernetes: "1.26", edits: MENDED },
    first: "kubelet-flag-unknown",
  },
  "a cluster with another VNI": { asked: { network: ", vni: 5000" }, first: "vxlan-identifiers-differ" },
  "placeholders in cni.conf": {
    asked: { edits: ["kubelet-flags", ...MENDED], more: { ...CLUSTER_SCRIPT, runtime: "containerd" } },
    first: "placeholder-left",
  },
  "files of a former life": {
    asked: { edits: MENDED, more: { formerRange: parsePrefix("10.244.7.0/24") } },
    first: "kube-proxy-source-vip-invalid",
  },
  "KubeCluster.ps1 with a flag that kubelet lost": {
    asked: { more: CLUSTER_SCRIPT },
    first: "kubelet-flag-unknown",
  },
};

describe("start scripts on a node with something wrong: that cause first", () => {
  it.each(Object.entries(FAULTS))("the fault %s", async (_, seen) => {
    expect((await findingsOf(await filesOf(seen)))[0]?.code).toBe(seen.first);
  });

  it.each(Object.entries(CODES))("%s", async (code, seen) => {
    expect(codesOf((await broughtUp(seen.asked, seen.on)).report)).toContain(code);
    expect((await findingsOf(await filesOf(seen)))[0]?.code).toBe(seen.first);
  });

  it.each(Object.entries(FURTHER))("%s", async (_, seen) => {
    expect((await findingsOf(await filesOf(seen)))[0]?.code).toBe(seen.first);
  });

  it("has a row for each code of the catalogue's folder", () => {
    const names = readdirSync("data/catalogue/bring-up").map((name) => name.replace(/\.md$/u, ""));
    expect(Object.keys(CODES).toSorted()).toEqual(names.toSorted());
  });

  it.each<[string, Asked]>([
    ["vxlan", { edits: MENDED }],
    ["host-gw", { edits: MENDED, backend: "host-gw" }],
    [
      "a kubelet without --node-ip",
      { edits: MENDED, adapters: ["LAN=10.0.0.11/24"], parameters: { interfaceName: "LAN" } },
    ],
    ["a new flanneld", { flanneld: "0.28.9", edits: ["no-external", ...MENDED] }],
  ])("gives no finding where nothing is wrong: %s", async (_, asked) => {
    expect(await findingsOf((await broughtUp(asked)).files)).toEqual([]);
  });
});

/** flanneld's last words of a node that comes up with its cluster. */
function withLog({ begun }: SessionWorld): CollectedFiles {
  const lines = begun.notes.flatMap(({ message }) => {
    const [, text] = /^flanneld on win-1: (.*)$/u.exec(message) ?? [];
    return text === undefined ? [] : [`E0101 00:00:08.000000    4120 main.go:332] ${text}`];
  });
  return { "collected/flanneld.log": `${lines.join("\n")}\n` };
}

interface NodeState {
  readonly example: string;
  readonly first: string;
  /** What the collector takes besides HNS, rules and objects. */
  readonly more: (world: SessionWorld) => CollectedFiles;
}

/** The compiler wants a row for each field that says in which state a node comes up. */
const STATES: Readonly<Record<keyof NodeStateFields, NodeState>> = {
  hostname: {
    example: "trouble-hostname",
    first: "kube-proxy-hostname-override-missing",
    more: () => ({
      "collected/processes.txt":
        "\nProcessId   : 4122\nCommandLine : c:\\k\\kube-proxy.exe --v=4 --proxy-mode=kernelspace --cluster-cidr=10.244.0.0/16\n",
      "collected/ip.txt":
        "\nWindows IP Configuration\n\n   Host Name . . . . . . . . . . . . : WIN-8QT3L1K2V9E\n   Node Type . . . . . . . . . . . . : Hybrid\n\nEthernet adapter vEthernet (Ethernet):\n\n   Connection-specific DNS Suffix  . :\n   IPv4 Address. . . . . . . . . . . : 10.0.0.11(Preferred)\n   Subnet Mask . . . . . . . . . . . : 255.255.255.0\n",
    }),
  },
  files: {
    example: "trouble-rejoin",
    first: "kube-proxy-source-vip-invalid",
    more: () => ({
      "collected/sourceVip.json":
        '{"cniVersion": "0.2.0", "ip4": {"ip": "10.244.7.2/24", "gateway": "10.244.7.1"}, "dns": {}}\n',
    }),
  },
  addressDelay: { example: "trouble-network-late", first: "flannel-network-not-ready", more: withLog },
  flanneld: { example: "trouble-subnet-env", first: "flanneld-no-interface", more: withLog },
};

describe("a node that comes up with its cluster in a bad state", () => {
  it.each(Object.entries(STATES))("%s", async (_, { example, first, more }) => {
    const texts = ["cluster.yaml", "shop.yaml"].map((name) =>
      readFileSync(`examples/${example}/${name}`, "utf8"),
    );
    const world = await openSessionWorld(...texts);
    const files = { ...(await collectedFiles(world, "win-1")), ...more(world) };
    expect((await findingsOf(files))[0]?.code).toBe(first);
  });
});
