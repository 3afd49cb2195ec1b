// Which network a cluster has is read off its objects: the dumps of examples/dumps against what their expected.yaml says,
// written from public documents, and inputs whose signs are taken away, or speak against each other.
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { defined } from "#core/base/assert.ts";
import type { FlowEnd, LimitedFlow } from "../session/flow-limit.ts";
import { type ClusterInput, readInput } from "./read-input.ts";

const FOLDER = new URL("../../../examples/dumps/", import.meta.url);

interface ExpectedNetwork {
  readonly plugin: string;
  readonly mode: string;
  readonly driver: string;
  readonly vni?: number | string;
  readonly port?: number | string;
  readonly recognisedBy: readonly { readonly object: string; readonly says: string }[];
}

const DUMPS = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

function dumpOf(name: string): string {
  return readFileSync(new URL(`${name}/dump.yaml`, FOLDER), "utf8");
}

const KNOWN = new Map<string, ClusterInput>();

/** Each input is read once, for it is large and nobody changes it. */
function read(...texts: readonly string[]): ClusterInput {
  const key = texts.join("\u0000");
  const known = KNOWN.get(key) ?? readAnew(texts);
  KNOWN.set(key, known);
  return known;
}

function readAnew(texts: readonly string[]): ClusterInput {
  const result = readInput(texts.map((text, index) => ({ name: `${index}.yaml`, text })));
  if (!("input" in result)) throw new Error(JSON.stringify(result.problems));
  return result.input;
}

/** The facts that are not assumed. */
function factsOf({ facts }: ClusterInput): Readonly<Record<string, string>> {
  return Object.fromEntries(facts.map(({ name, value, source }) => [name, `${value} | ${source}`]));
}

function told(input: ClusterInput, name: string): string | undefined {
  return input.facts.find((each) => each.name === name)?.value;
}

describe("dumps of clusters", () => {
  it.each(DUMPS)("%s", (name) => {
    const { network } = parse(readFileSync(new URL(`${name}/expected.yaml`, FOLDER), "utf8")) as {
      readonly network: ExpectedNetwork;
    };
    const input = read(dumpOf(name));
    const plugin = defined(
      input.facts.find((each) => each.name === "network plugin"),
      "every cluster has one",
    );
    const { mode, driver, vni, port, recognisedBy } = network;
    expect({
      plugin: plugin.value,
      mode: told(input, "network mode"),
      driver: told(input, "network driver"),
      vxlan: told(input, "VXLAN"),
    }).toEqual({
      plugin: network.plugin,
      mode,
      driver,
      vxlan: vni === undefined ? undefined : `VNI ${vni}; port ${port}`,
    });
    expect(recognisedBy.map(({ object }) => object)).toContain(plugin.source);
    expect(plugin.where).toMatchObject({ file: "0.yaml" });
    // Every pod in the end stands on the driver of its cluster.
    expect(input.file.network.driver).toBe(driver);
  });

  it("of flannel run with flanneld, on the network that it makes", () => {
    const vxlan = read(dumpOf("kubeadm-flannel-vxlan")).file.network;
    expect(vxlan).toMatchObject({ plugin: "flannel", backend: "vxlan", name: "flannel.4096", vni: 4096 });
    const hostGw = read(dumpOf("kubeadm-flannel-host-gw")).file.network;
    expect(hostGw).toMatchObject({ plugin: "flannel", backend: "host-gw", name: "cbr0" });
    expect(hostGw.outboundNAT.exceptions).toHaveLength(3);
  });

  // The service's command line is in a ConfigMap of the operator; GKE shows nothing of kube-proxy on Windows.
  it("say who says what", () => {
    const operator = "configmap/openshift-windows-machine-config-operator/windows-services-10.16.1-8e5a2f4";
    const openshift = factsOf(read(dumpOf("openshift-hybrid-overlay")));
    expect(openshift["DSR"]).toBe(`off | ${operator}`);
    expect(openshift["policy engine"]).toContain("OVN-Kubernetes");
    expect(openshift["policy engine"]).toContain("daemonset/openshift-ovn-kubernetes/ovnkube-node");
    expect(openshift["behaviour"]).toBe("upstream | assumed");
    expect(factsOf(read(dumpOf("gke-windows")))["DSR"]).toBe("off | assumed");
    expect(factsOf(read(dumpOf("kubeadm-flannel-vxlan")))["DSR"]).toBe(
      "off | daemonset/kube-system/kube-proxy-windows",
    );
    const builds = read(dumpOf("mixed-builds")).facts.filter(({ name }) => name === "build");
    expect(builds.map(({ value, source }) => `${value} | ${source}`)).toEqual([
      "ws2019.5696 on akswin19000000 | node/akswin19000000",
      "ws2022.2402 on akswin22000000 | node/akswin22000000",
    ]);
  });
});

/** An end of a flow: `windows pod a`, `linux node b`, `outside`. */
function end(text: string): FlowEnd {
  const [os = "", kind = "", node] = text.split(" ");
  if (os === "outside") return { reference: "external", kind: "outside", os: "outside", node: undefined };
  if (os === "service") return { reference: "service/a/b", kind: "service", os: "outside", node: undefined };
  return {
    reference: `${kind}/x`,
    kind: kind === "pod" ? "pod" : "node",
    os: os === "windows" ? "windows" : "linux",
    node,
  };
}

function flow(from: string, to: string, answerers: readonly string[] = [], isByName = false): LimitedFlow {
  const [source, target] = [end(from), end(to)];
  const more = { address: undefined, protocol: "tcp", port: 80, answererPort: 80, isByName } as const;
  return { source, target, answerers: answerers.map(end), ...more };
}

/** The codes that keep a flow from being answered. */
function limitsOf({ limits }: ClusterInput, asked: LimitedFlow): readonly string[] {
  return limits.filter((limit) => limit.covers(asked)).map(({ code }) => code);
}

describe("a network that is not carried out", () => {
  const OTHERS = ["rke2-calico", "calico-network-policies", "eks-windows"];

  it.each(OTHERS)("%s: flows of pods are not judged", (name) => {
    const input = read(dumpOf(name));
    expect(limitsOf(input, flow("windows pod a", "windows pod b"))).toEqual(["network-not-emulated"]);
    expect(limitsOf(input, flow("windows pod a", "windows pod a"))).toEqual(["network-not-emulated"]);
    expect(limitsOf(input, flow("linux pod a", "linux pod b"))).toEqual(["network-not-emulated"]);
    expect(limitsOf(input, flow("linux pod a", "outside"))).toEqual(["network-not-emulated"]);
    expect(limitsOf(input, flow("outside", "service", ["windows pod a"]))).toEqual(["network-not-emulated"]);
    expect(limitsOf(input, flow("linux pod a", "service", ["linux pod a"], true))).toHaveLength(1);
    expect(limitsOf(input, flow("outside", "linux node a", ["linux pod a"]))).toHaveLength(1);
  });

  it.each(OTHERS)("%s: what does without it is", (name) => {
    const input = read(dumpOf(name));
    expect(limitsOf(input, flow("linux pod a", "linux pod a"))).toEqual([]);
    expect(limitsOf(input, flow("windows node a", "linux node b"))).toEqual([]);
    expect(limitsOf(input, flow("windows node a", "outside"))).toEqual([]);
  });

  it("OVN is carried out where Windows nodes have ranges of the hybrid overlay, and not without them", () => {
    const whole = read(dumpOf("openshift-hybrid-overlay"));
    expect(whole.file.network).toMatchObject({
      plugin: "ovn-hybrid-overlay",
      name: "OVNKubernetesHybridOverlayNetwork",
      vni: 4_097,
    });
    expect(limitsOf(whole, flow("windows pod a", "linux pod b"))).toEqual([]);
    const bare = read(
      changed("openshift-hybrid-overlay", [/k8s\.ovn\.org\/hybrid-overlay-node-subnet/g, "example.com/x"]),
    );
    expect(limitsOf(bare, flow("windows pod a", "linux pod b"))).toEqual(["network-not-emulated"]);
    expect(bare.file.network.plugin).toBe("hns");
  });

  it("says where it is seen", () => {
    const [limit] = read(dumpOf("rke2-calico")).limits;
    expect(limit?.message).toMatch(/^Calico with VXLAN is recognised and not carried out: /);
    expect(limit?.where).toMatchObject({ file: "0.yaml", line: expect.any(Number) as number });
  });

  it.each(["kubeadm-flannel-vxlan", "kubeadm-flannel-host-gw", "gke-windows"])(
    "%s is carried out",
    (name) => {
      const { limits, contradictions } = read(dumpOf(name));
      expect([limits, contradictions]).toEqual([[], []]);
    },
  );
});

// learn.microsoft.com, concepts-network-cni-overview: kubenet has user-defined routes, azure-vnet the virtual network.
describe("routes that a cloud has and nodes have not", () => {
  const NODE = (name: string, range: string, address: string): string => `
apiVersion: v1
kind: Node
metadata: { name: ${name}, labels: { kubernetes.azure.com/cluster: mc, kubernetes.io/os: linux } }
spec: { podCIDR: ${range} }
status: { addresses: [{ type: InternalIP, address: ${address} }] }
---`;
  const KUBENET = NODE("a", "10.244.0.0/24", "10.224.0.4") + NODE("b", "10.244.1.0/24", "10.224.0.5");

  it.each([
    ["GKE", dumpOf("gke-windows"), "by the VPC, to the range of each node"],
    ["AKS with kubenet", KUBENET, "by a route table of Azure, to the range of each node"],
    ["AKS with azure-vnet", dumpOf("aks-node-subnet"), "by the fabric of Azure"],
  ])("are said to be those of nodes here: %s", (_, text, routes) => {
    expect(told(read(text), "routes")).toBe(`${routes}; here each node has routes to the others`);
  });

  it("kubenet is no azure-vnet", () => {
    expect(told(read(KUBENET), "network plugin")).toBe("kubenet");
    expect(told(read(KUBENET), "network mode")).toBe("pod range per node");
  });
});

// Nobody changed net-conf.json for Windows: the thread is k3s-io/k3s#9295.
describe("VNI 1 on Linux and 4096 on Windows", () => {
  const input = read(dumpOf("broken-flannel-vni"));

  it("is a finding at the place that shows it", () => {
    expect(input.contradictions.map(({ code, file, message }) => [code, file, message])).toEqual([
      [
        "vxlan-identifiers-differ",
        "0.yaml",
        "Linux nodes have VNI 1 on port 8472, Windows nodes VNI 4096 on port 4789: their tunnels do not hear each other",
      ],
    ]);
  });

  it.each([
    ["pod to pod", flow("windows pod a", "linux pod b"), true],
    ["and back", flow("linux pod b", "windows pod a"), true],
    ["a Service with a back end there", flow("windows pod a", "service", ["linux pod b"]), true],
    ["a name of its own system", flow("windows pod a", "service", ["windows pod a"], true), true],
    ["a node port that leads there", flow("outside", "linux node b", ["windows pod a"]), true],
    ["inside one system", flow("windows pod a", "windows pod c"), false],
    ["the other", flow("linux pod b", "service", ["linux pod b"], true), false],
    ["the way out", flow("windows pod a", "outside"), false],
    ["a pod to a node", flow("windows pod a", "linux node b"), false],
  ])("%s", (_, asked, isCovered) => {
    expect(limitsOf(input, asked)).toEqual(isCovered ? ["vxlan-identifiers-differ"] : []);
  });
});

// As k3s has it by itself; what Windows needs is nobody's business there.
it("VNI 1 without a Windows node is none", () => {
  const linux = (name: string, octet: number): string => `
apiVersion: v1
kind: Node
metadata:
  name: ${name}
  labels: { kubernetes.io/os: linux }
  annotations:
    flannel.alpha.coreos.com/backend-type: vxlan
    flannel.alpha.coreos.com/backend-data: '{"VNI":1,"VtepMAC":"aa:f6:23:e5:46:0${octet}"}'
spec: { podCIDR: 10.42.${octet}.0/24 }
status: { addresses: [{ type: InternalIP, address: 10.0.0.${octet} }] }
`;
  const input = read(`${linux("k-1", 4)}---${linux("k-2", 5)}`);
  expect([input.contradictions, input.limits]).toEqual([[], []]);
  expect(factsOf(input)).toMatchObject({ VXLAN: "VNI 1; port 8472 | node/k-1" });
  expect(input.file.network).toMatchObject({ backend: "vxlan", vni: 1 });
});

// Both nodes and net-conf.json say it: flanneld on Windows ends, and so it does here.
it("a VNI that Windows refuses is what the cluster runs with", () => {
  const input = read(changed("kubeadm-flannel-vxlan", [/"VNI": ?4096/g, '"VNI": 5']));
  expect(input.contradictions.map(({ code }) => code)).toEqual(["flannel-vni-below-4096"]);
  expect(input.file.network.vni).toBe(5);
});

/** A dump without objects, annotations or texts that match. */
function without(name: string, ...patterns: readonly RegExp[]): string {
  const { items } = parse(dumpOf(name)) as { readonly items: readonly unknown[] };
  const texts = items.map((item) => JSON.stringify(item));
  const kept = texts.filter((text) => !patterns.some((pattern) => pattern.test(text)));
  return `{"apiVersion":"v1","kind":"List","items":[${kept.join(",")}]}`;
}

/** A dump with its text changed. */
function changed(name: string, ...changes: readonly (readonly [RegExp, string])[]): string {
  return changes.reduce((text, [from, to]) => text.replace(from, to), dumpOf(name));
}

describe("signs that are missing", () => {
  const FLANNEL_CONFIGS = /"kind":"(?:ConfigMap|DaemonSet)".*flannel/;

  it("Nodes alone show the backend and its VNI", () => {
    const input = read(without("kubeadm-flannel-vxlan", /"kind":"ConfigMap"/, /"kind":"DaemonSet"/));
    expect(factsOf(input)).toMatchObject({
      "network plugin": "flannel (delegates to win-overlay) | node/plc-win-1",
      VXLAN: "VNI 4096; port 4789 | node/plc-win-1",
      DSR: "off | assumed",
    });
    expect(input.assumed).toEqual([]);
  });

  it("objects alone do, too", () => {
    const plain = changed("kubeadm-flannel-host-gw", [/flannel\.alpha\.coreos\.com\//g, "example.com/"]);
    expect(factsOf(read(plain))["network mode"]).toMatch(/^host-gw \| configmap\/kube-flannel\//);
  });

  it("a DaemonSet alone shows the plugin, and its backend is assumed", () => {
    const plain = parse(
      changed("kubeadm-flannel-vxlan", [/flannel\.alpha\.coreos\.com\//g, "example.com/"]),
    ) as { readonly items: readonly { readonly kind: string }[] };
    const items = plain.items.filter(({ kind }) => kind !== "ConfigMap");
    const input = read(JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    expect(factsOf(input)).toMatchObject({
      "network plugin": "flannel (delegates to win-overlay) | daemonset/kube-flannel/kube-flannel-ds",
      "network mode": "vxlan | assumed",
    });
  });

  it("nothing shows nothing: everything is assumed, and said", () => {
    const plain = without(
      "kubeadm-flannel-vxlan",
      FLANNEL_CONFIGS,
      /"kind":"(?:ConfigMap|DaemonSet)"/,
    ).replaceAll("flannel.alpha.coreos.com", "example.com");
    const input = read(plain);
    expect(input.file.network).toMatchObject({ driver: "L2Bridge", plugin: "win-bridge" });
    expect(factsOf(input)).toMatchObject({
      "network plugin": "win-bridge | assumed",
      "network driver": "L2Bridge | assumed",
      routes: "static, in each node | assumed",
    });
    expect(input.assumed[0]?.message).toMatch(/^nothing shows which network the pods have: driver L2Bridge/);
  });
});

describe("signs that contradict", () => {
  const codesOf = ({ contradictions }: ClusterInput): readonly string[] =>
    contradictions.map(({ code }) => code);

  it("nodes have another mode than the configuration", () => {
    const input = read(changed("kubeadm-flannel-host-gw", [/"Type": "host-gw"/, '"Type": "vxlan"']));
    expect(codesOf(input)).toEqual(["network-signs-contradict"]);
    expect(input.contradictions[0]?.message).toBe(
      "configmap/kube-flannel/kube-flannel-cfg shows flannel with vxlan, and node/mill-win-1 with host-gw: which of them the nodes have is not told",
    );
    expect(limitsOf(input, flow("windows pod a", "windows pod b"))).toEqual(["network-signs-contradict"]);
  });

  it("two plugins are installed", () => {
    const { items } = parse(dumpOf("rke2-calico")) as {
      readonly items: readonly { readonly kind: string }[];
    };
    const more = items.filter(({ kind }) => kind === "DaemonSet" || kind === "ConfigMap");
    const input = read(
      dumpOf("kubeadm-flannel-vxlan"),
      JSON.stringify({ apiVersion: "v1", kind: "List", items: more }),
    );
    expect(codesOf(input)).toEqual(["network-signs-contradict"]);
    expect(input.contradictions[0]?.message).toContain("shows Calico");
    expect(limitsOf(input, flow("windows pod a", "linux pod b"))).toEqual(["network-signs-contradict"]);
  });

  it("Calico for policies alone is no second network", () => {
    const calico = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: calico-node, namespace: kube-system }
spec:
  selector: { matchLabels: { a: b } }
  template:
    metadata: { labels: { a: b } }
    spec: { containers: [{ name: c, image: calico/node, env: [{ name: CALICO_NETWORKING_BACKEND, value: none }] }] }
`;
    const input = read(dumpOf("kubeadm-flannel-vxlan"), calico);
    expect(codesOf(input)).toEqual([]);
    expect(told(input, "policy engine")).toMatch(/^Calico; /);
  });

  it.each([
    [
      /"Type": "vxlan",\n\s+"VNI": 4096,\n\s+"Port": 4789/,
      '"Type": "vxlan", "VNI": 1, "Port": 4789',
      "flannel-vni-below-4096",
    ],
    [/"Port": 4789/, '"Port": 8472', "flannel-vxlan-port-not-4789"],
  ])("net-conf.json that Windows cannot take: %s", (from, to, code) => {
    expect(codesOf(read(changed("kubeadm-flannel-vxlan", [from, to])))).toContain(code);
  });
});

// Files of C:\\etc\\cni\\net.d beside a dump whose objects show nothing.
describe("configuration files beside the manifests", () => {
  const NODES = `
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
    spec: { podCIDR: 10.244.1.0/24 }
    status: { addresses: [{ type: InternalIP, address: 10.0.0.4 }] }
  - apiVersion: v1
    kind: Node
    metadata: { name: linux-1, labels: { kubernetes.io/os: linux } }
    spec: { podCIDR: 10.244.2.0/24 }
    status: { addresses: [{ type: InternalIP, address: 10.0.0.5 }] }
`;
  const conf = (plugin: object): string => JSON.stringify({ cniVersion: "0.3.0", name: "net", ...plugin });
  const list = (plugin: object): string =>
    JSON.stringify({ cniVersion: "1.0.0", name: "net", plugins: [{ ...plugin, capabilities: {} }] });

  it.each([
    ["win-bridge", conf({ type: "win-bridge", ipam: { type: "host-local" } }), "win-bridge", "L2Bridge", []],
    ["win-overlay", list({ type: "win-overlay" }), "win-overlay", "Overlay", []],
    ["the fork of containerd's guide", list({ type: "sdnoverlay" }), "win-overlay", "Overlay", []],
    [
      "flannel with blanks from a web page",
      conf({ type: "flannel", delegate: { type: "win-bridge" } }).replace("{", "{\u00a0\n"),
      "flannel (delegates to win-bridge)",
      "L2Bridge",
      [],
    ],
    ["azure-vnet", list({ type: "azure-vnet", ipam: { type: "azure-cns" } }), "azure-vnet", "L2Bridge", []],
    ["Calico", conf({ type: "calico", mode: "vxlan" }), "calico", "Overlay", ["network-not-emulated"]],
    [
      "a template that is no JSON yet",
      '{ "name": "Calico", "cniVersion": "1.0.0", "type": "calico", "mode": "__MODE__", "vxlan_vni": __VNI__ }',
      "calico",
      "Overlay",
      ["network-not-emulated"],
    ],
    ["Antrea", list({ type: "antrea" }), "antrea", "Transparent", ["network-not-emulated"]],
    [
      "one that nobody knows",
      conf({ type: "l2tunnel", ipam: {} }),
      "l2tunnel",
      "L2Tunnel",
      ["network-not-emulated"],
    ],
  ])("%s", (_, text, plugin, driver, limits) => {
    const input = read(NODES, text);
    expect(input.problems).toEqual([]);
    expect(factsOf(input)["network plugin"]).toBe(`${plugin} | 1.yaml`);
    expect(told(input, "network driver")?.split(",")[0]).toBe(driver);
    expect(limitsOf(input, flow("windows pod a", "linux pod b"))).toEqual(limits);
    expect(input.contradictions).toEqual([]);
  });

  // docs.tigera.io, reference/felix/configuration: VXLANVNI is 4096 unless it is set; on Windows the plugin has its own.
  it.each<[string, unknown, number]>([
    ["nothing", undefined, 4_096],
    ["a number", 4_711, 4_711],
    ["a text", "4711", 4_711],
    ["what is no identifier of a network", 0, 4_096],
    ["a fraction", 4_711.5, 4_096],
    ["a place for a script's value", "__VNI__", 4_096],
    ["nothing between the quotes", "", 4_096],
  ])("Calico's VNI: %s", (_, vni, expected) => {
    const input = read(
      NODES,
      conf({ type: "calico", mode: "vxlan", ...(vni !== undefined && { vxlan_vni: vni }) }),
    );
    expect(told(input, "VXLAN")).toContain(`VNI ${expected}`);
    expect(input.file.network.vni).toBe(expected);
  });

  // Azure/azure-container-networking, cni/*.conflist: which IPAM plugin a cluster has says which kind of network it is.
  it.each([
    [{ type: "azure-cns" }, "addresses of a subnet for pods, from CNS (azure-cns)"],
    [{ type: "azure-cns", mode: "v4overlay" }, "overlay, addresses from CNS (azure-cns)"],
    [{ type: "azure-vnet-ipam" }, "bridge, addresses of the virtual network (azure-vnet-ipam)"],
    [
      { type: "azure-vnet-ipam", mode: "v4overlay" },
      "bridge, addresses of the virtual network (azure-vnet-ipam)",
    ],
  ])("azure-vnet with the IPAM plugin %j", (ipam, mode) => {
    expect(factsOf(read(NODES, list({ type: "azure-vnet", ipam })))["network mode"]).toBe(`${mode} | 1.yaml`);
  });

  it.each([
    ["flannel", "win-overlay", true],
    ["flannel", "sdnoverlay", true],
    ["flannel", "bridge", false],
    ["multus", "win-overlay", false],
  ])("%s that delegates to %s names flannel's network of Windows nodes: %s", (type, delegate, isName) => {
    const ofLinux = conf({ name: "for-linux", type: "flannel", delegate: { hairpinMode: true } });
    const other = conf({ name: "for-windows", type, delegate: { type: delegate } });
    const { network } = read(NODES, ofLinux, other).file;
    expect(network).toMatchObject({ plugin: "flannel" });
    const names = JSON.stringify(network).match(/for-[a-z]+/g);
    expect(names).toEqual(isName ? ["for-windows"] : null);
  });

  // openshift/api, operator/v1, HybridOverlayConfig: hybridOverlayVXLANPort, 4789 unless it is set.
  it("ovnkube.conf with a port of its own has its tunnels there", () => {
    const port = 'hybrid-overlay-vxlan-port="9898"';
    const text = changed("openshift-hybrid-overlay", [
      /(\n +)\[hybridoverlay\]/,
      `$1[hybridoverlay]$1${port}`,
    ]);
    expect(told(read(text), "VXLAN")).toBe("VNI 4097; port 9898");
    expect(read(text).file.network.vxlanPort).toBe(9_898);
    expect(read(dumpOf("openshift-hybrid-overlay")).file.network.vxlanPort).toBe(4_789);
  });

  it("net-conf.json, with the keys in any case", () => {
    const text = '{ "Network": "10.244.0.0/16", "Backend": { "name": "cbr0", "type": "host-gw" } }';
    const input = read(NODES, text);
    expect(input.problems).toEqual([]);
    expect(factsOf(input)["network mode"]).toBe("host-gw | 1.yaml");
    expect(input.file.network).toMatchObject({ plugin: "flannel", backend: "host-gw", name: "cbr0" });
  });

  it("counts before what objects show", () => {
    const input = read(
      dumpOf("kubeadm-flannel-vxlan"),
      conf({ type: "win-bridge", ipam: { type: "host-local" } }),
    );
    expect(factsOf(input)["network plugin"]).toBe("win-bridge | 1.yaml");
  });
});

describe("DSR", () => {
  const dsr = (text: string): string | undefined => factsOf(read(text))["DSR"];
  const CONFIG = "configmap/kube-system/kube-proxy";
  const ARGS = /\n( +)- \$env:CONTAINER_SANDBOX_MOUNT_POINT\/kube-proxy\/start\.ps1/g;
  /** The image of nobody in particular, whose start is in the arguments alone. */
  const PLAIN = [/-flannel-hostprocess/g, ""] as const;

  it.each([
    ["the ConfigMap says it", [PLAIN, [/enableDSR: false/, "enableDSR: true"]], `on | ${CONFIG}`],
    [
      "the image's script does not read the ConfigMap",
      [[/enableDSR: false/, "enableDSR: true"]],
      "off | daemonset/kube-system/kube-proxy-windows",
    ],
    [
      "the arguments of the workload",
      [PLAIN, [ARGS, "\n$1- kube-proxy.exe --enable-dsr=true"]],
      "on | daemonset/kube-system/kube-proxy-windows",
    ],
    [
      "with --config other flags are not looked at",
      [PLAIN, [ARGS, "\n$1- kube-proxy.exe --config=/x --enable-dsr=true"]],
      `off | ${CONFIG}`,
    ],
  ] as const)("%s", (_, changes, expected) => {
    expect(dsr(changed("kubeadm-flannel-vxlan", ...changes))).toBe(expected);
  });

  // kube-proxy 1.31 ends with "WinDSR feature gate not enabled"; the gate is on from 1.33.
  it("without its feature gate is a finding, and Services of Windows nodes are not judged", () => {
    const on = [/enableDSR: false/, "enableDSR: true"] as const;
    const input = read(changed("kubeadm-flannel-vxlan", PLAIN, on));
    expect(input.contradictions.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      "kube-proxy-dsr-without-gate: configmap/kube-system/kube-proxy asks for DSR, and the feature gate WinDSR is off in Kubernetes 1.31: kube-proxy of Windows nodes ends",
    ]);
    const covered = ["kube-proxy-dsr-without-gate"];
    expect(limitsOf(input, flow("windows pod a", "service", ["linux pod b"]))).toEqual(covered);
    expect(limitsOf(input, flow("outside", "windows node a", ["linux pod b"]))).toEqual(covered);
    expect(limitsOf(input, flow("linux pod b", "service", ["windows pod a"]))).toEqual([]);
    expect(limitsOf(input, flow("windows pod a", "linux pod b"))).toEqual([]);
    const gate = [
      /clusterCIDR: 10.244.0.0\/16\n( +)enable/,
      "featureGates: {WinDSR: true}\n$1enable",
    ] as const;
    expect(read(changed("kubeadm-flannel-vxlan", PLAIN, on, gate)).contradictions).toEqual([]);
    const later = [/v1\.31\./g, "v1.33."] as const;
    expect(read(changed("kubeadm-flannel-vxlan", PLAIN, on, later)).contradictions).toEqual([]);
  });

  it("reaches the cluster", () => {
    const text = changed("kubeadm-flannel-vxlan", PLAIN, [/enableDSR: false/, "enableDSR: true"]);
    expect(read(text).file.kubeProxy.enableDSR).toBe(true);
  });
});
