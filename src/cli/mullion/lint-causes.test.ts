// One cause is told once: what follows from it stands below it in text, and says what causes it in JSON.
import { describe, expect, it } from "vitest";
import { lintExample } from "#test/support/lint/example-input.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { FOLLOWS, ONE_CAUSE } from "#diagnose/lint/causes.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";

interface NodeSketch {
  readonly os?: "linux" | "windows";
  readonly build?: string;
  readonly vni?: number;
  readonly address?: string;
  readonly range?: string;
}

/** A Node as flannel leaves it. */
function node(name: string, sketch: NodeSketch): string {
  const { os = "windows", build = "20348.4171", vni = 4096 } = sketch;
  const { address = "10.0.0.11", range = "10.244.1.0/24" } = sketch;
  return `
---
apiVersion: v1
kind: Node
metadata:
  name: ${name}
  labels: { kubernetes.io/os: ${os} }
  annotations: { flannel.alpha.coreos.com/backend-data: '{"VNI":${vni},"VtepMAC":"0e:2a:0a:00:00:0b"}' }
spec: { podCIDR: ${range} }
status:
  addresses: [{ type: InternalIP, address: ${address} }]
  nodeInfo: { operatingSystem: ${os}, kernelVersion: ${os === "windows" ? `10.0.${build}` : "5.15.0"} }`;
}

const LINUX = node("cp", { os: "linux", address: "10.0.0.1", range: "10.244.0.0/24" });
const WINDOWS = node("win-1", {});
const SECOND = { address: "10.0.0.12", range: "10.244.2.0/24" };

function flannel(network: string, options: string): string {
  return `
---
apiVersion: v1
kind: ConfigMap
metadata: { name: kube-flannel-cfg, namespace: kube-flannel }
data: { net-conf.json: '{ "Network": "${network}", "Backend": { "Type": "vxlan"${options} } }' }`;
}

const RIGHT = flannel("10.244.0.0/16", ', "VNI": 4096, "Port": 4789');

function podOf(spec: string): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec: { ${spec} }
status: { phase: Pending }`;
}

function service(name: string, spec: string): string {
  return `
---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { selector: { app: web }, ports: [{ port: 80 }], ${spec} }`;
}

const NODE_2019 = node("win-1", { build: "17763.6293" });

/** The slice of a Service whose pods are not ready. */
const UNREADY = `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [10.244.1.5], conditions: { ready: false } }]
ports: [{ port: 80 }]`;

function clusterFile(more: string): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: x }
${more}`;
}

function policy(name: string): string {
  return `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: ${name} }
spec: { podSelector: {}, policyTypes: [Ingress] }`;
}

const WINDOWS_POD = podOf(
  "nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: web, image: registry.example/web:1 }]",
);
const OLD_IMAGE = podOf(
  "nodeName: win-1, nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: web, image: 'mcr.microsoft.com/windows/nanoserver:ltsc2019' }]",
);
const HOST_PROCESS = "hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM'";
const DSR = `
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: kernelspace
winkernel: { enableDSR: true, networkName: cbr0 }`;
const BRIDGE =
  '{ "cniVersion": "0.3.1", "name": "cbr0", "type": "win-bridge", "apiVersion": 2, "capabilities": { "dns": true } }';

type Files = Readonly<Record<string, string>>;

/** An input, the finding that stands for its cause, and how often each other finding has the same. */
const CASES: readonly (readonly [
  title: string,
  files: Files,
  cause: string,
  others: Readonly<Record<string, number>>,
])[] = [
  [
    "a VNI in net-conf that Windows cannot use, and that flannel wrote to each Linux node",
    {
      "a.yaml":
        LINUX.replace('"VNI":4096', '"VNI":1') +
        WINDOWS +
        flannel("10.244.0.0/16", ', "VNI": 1, "Port": 4789'),
    },
    "flannel-vni-below-4096",
    { "vxlan-identifiers-differ": 1 },
  ],
  [
    "no VNI in net-conf, so that Linux takes another than Windows",
    { "a.yaml": LINUX.replace('"VNI":4096', '"VNI":1') + WINDOWS + flannel("10.244.0.0/16", "") },
    "flannel-vxlan-defaults-differ",
    { "vxlan-identifiers-differ": 1 },
  ],
  [
    "Linux nodes with an old VNI, and a net-conf that is right by now",
    {
      "a.yaml":
        LINUX.replace('"VNI":4096', '"VNI":1') +
        node("cp-2", { os: "linux", vni: 1, ...SECOND }) +
        WINDOWS +
        RIGHT,
    },
    "vxlan-identifiers-differ",
    { "vxlan-identifiers-differ": 1 },
  ],
  [
    "flannel's Network is the nodes' subnet",
    {
      "a.yaml": LINUX + WINDOWS + flannel("10.0.0.0/16", ', "VNI": 4096, "Port": 4789'),
    },
    "flannel-network-without-node-range",
    { "pod-range-holds-node": 2 },
  ],
  [
    "flannel's Network holds the nodes as well as their pods",
    { "a.yaml": LINUX + WINDOWS + flannel("10.0.0.0/8", ', "VNI": 4096, "Port": 4789') },
    "pod-range-holds-node",
    { "pod-range-holds-node": 1 },
  ],
  [
    "the range of Services is the nodes' subnet",
    {
      "a.yaml": `${LINUX}${WINDOWS}${RIGHT}
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
networking: { podSubnet: 10.244.0.0/16, serviceSubnet: 10.0.0.0/16 }`,
    },
    "service-range-holds-node",
    { "service-range-holds-node": 1 },
  ],
  [
    "the underlay of a cluster file is another than its nodes'",
    {
      "cluster.yaml": clusterFile(`underlay: { subnet: 192.168.0.0/24 }
nodes:
  - { name: a, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: b, os: windows, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }`),
    },
    "cluster-file-invalid-value",
    { "cluster-file-invalid-value": 1 },
  ],
  [
    "two pods of a cluster file name a node that it lacks",
    {
      "cluster.yaml": clusterFile(`nodes:
  - { name: a, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
pods: [{ name: p, node: win-9 }, { name: q, node: win-9 }]`),
    },
    "cluster-file-invalid-value",
    { "cluster-file-invalid-value": 1 },
  ],
  [
    "a node with the range of two others",
    {
      "a.yaml":
        node("a", { range: "10.244.1.0/25" }) +
        node("b", { ...SECOND, range: "10.244.1.128/25" }) +
        node("c", { address: "10.0.0.13", range: "10.244.1.0/24" }),
    },
    "node-ranges-overlap",
    { "node-ranges-overlap": 1 },
  ],
  [
    "two nodes of a build that is too old",
    { "a.yaml": node("a", { build: "14393.2000" }) + node("b", { ...SECOND, build: "14393.2000" }) },
    "windows-build-unsupported",
    { "windows-build-unsupported": 1 },
  ],
  [
    "two nodes with one broken update",
    { "a.yaml": node("a", { build: "20348.2582" }) + node("b", { ...SECOND, build: "20348.2582" }) },
    "windows-update-denies-sockets",
    { "windows-update-denies-sockets": 1 },
  ],
  [
    "two nodes with an update that loses overlay rules",
    {
      "a.yaml": node("a", { build: "17763.1400" }) + node("b", { ...SECOND, build: "17763.1400" }) + RIGHT,
    },
    "windows-update-drops-overlay-rules",
    { "windows-update-drops-overlay-rules": 1 },
  ],
  [
    "two nodes without the update that overlays need",
    { "a.yaml": node("a", { build: "17763.300" }) + node("b", { ...SECOND, build: "17763.300" }) + RIGHT },
    "overlay-needs-windows-update",
    { "overlay-needs-windows-update": 1 },
  ],
  [
    "a build whose HNS has no Direct Server Return, and two Services with Local",
    {
      "a.yaml":
        node("a", { build: "17763.300" }) +
        WINDOWS_POD +
        service("web", "type: NodePort, externalTrafficPolicy: Local") +
        service("shop", "type: NodePort, externalTrafficPolicy: Local"),
    },
    "external-traffic-policy-local-without-dsr",
    { "external-traffic-policy-local-without-dsr": 1 },
  ],
  [
    "Direct Server Return on l2bridge, and two nodes of Server 2022",
    { "a.yaml": WINDOWS + node("b", SECOND) + DSR, "10-cbr0.conf": BRIDGE },
    "l2bridge-broken-with-dsr",
    { "l2bridge-broken-with-dsr": 1 },
  ],
  [
    "three policies that are not enforced here",
    { "a.yaml": WINDOWS_POD + policy("a") + policy("b") + policy("c") },
    "network-policy-not-enforced",
    { "network-policy-not-enforced": 2 },
  ],
  [
    "two policies of Calico that are not enforced here",
    {
      "a.yaml":
        WINDOWS_POD +
        ["a", "b"]
          .map(
            (name) =>
              `\n---\napiVersion: projectcalico.org/v3\nkind: GlobalNetworkPolicy\nmetadata: { name: ${name} }\nspec: {}`,
          )
          .join(""),
    },
    "policy-kind-not-enforced",
    { "policy-kind-not-enforced": 1 },
  ],
  [
    "an image of another build behind a Service",
    { "a.yaml": WINDOWS + OLD_IMAGE + service("web", "type: ClusterIP") + UNREADY },
    "image-of-another-build",
    { "service-without-back-ends": 1 },
  ],
  [
    "an image of another build behind a Service with Local",
    {
      "a.yaml":
        WINDOWS +
        node("win-2", SECOND) +
        OLD_IMAGE +
        service("web", "type: NodePort, externalTrafficPolicy: Local"),
    },
    "image-of-another-build",
    { "external-traffic-policy-local-without-local-endpoint": 1 },
  ],
  [
    "HostProcess without hostNetwork",
    {
      "a.yaml": podOf(
        `nodeSelector: { kubernetes.io/os: windows }, securityContext: { windowsOptions: { ${HOST_PROCESS} } }, containers: [{ name: a, image: registry.example/a:1 }]`,
      ),
    },
    "host-process-without-host-network",
    { "manifest-invalid-value": 1 },
  ],
  [
    "a no-break space in a name",
    {
      "a.yaml": podOf(
        'nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: "web\\u00a0", image: registry.example/web:1 }]',
      ).replace("\\u00a0", "\u00a0"),
    },
    "manifest-no-break-space",
    { "manifest-invalid-value": 1 },
  ],
  [
    "policies in the form of apiVersion 2 without it",
    {
      "10-vxlan0.conf":
        '{ "cniVersion": "0.3.1", "name": "vxlan0", "type": "win-overlay", "capabilities": { "dns": true }, "policies": [{ "name": "EndpointPolicy", "value": { "Type": "OutBoundNAT", "Settings": { "Exceptions": ["10.0.0.0/8"] } } }] }',
    },
    "cni-api-version-missing",
    { "cni-policy-shape-mismatch": 1 },
  ],
];

async function run(words: readonly string[], files: Files): Promise<{ code: number; out: string }> {
  const terminal = new MemoryTerminal(files);
  const argv = ["lint", ...words, ...Object.keys(files)];
  const code = await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output };
}

describe("one finding per cause", () => {
  it.each(CASES)("%s", (_, files, cause, others) => {
    const { findings } = lintExample({
      files: Object.entries(files).map(([name, text]) => ({ name, text })),
    });
    const caused = findings.filter(({ causedBy }) => causedBy?.code === cause);
    const counts = Object.groupBy(caused, ({ code }) => code);
    expect(Object.fromEntries(Object.entries(counts).map(([code, found]) => [code, found.length]))).toEqual(
      others,
    );
    const [place] = new Set(caused.map(({ causedBy }) => JSON.stringify(causedBy)));
    const roots = findings.filter(({ code, causedBy }) => code === cause && causedBy === undefined);
    expect(
      roots.map(({ code, file, line, column }) => JSON.stringify({ code, file, line, column })),
    ).toContain(place);
  });

  it("each row of both tables has a case", () => {
    const shown = CASES.flatMap(([, , cause, others]) =>
      Object.keys(others).map((code) => `${code} ← ${cause}`),
    );
    const wanted = [
      ...ONE_CAUSE.map(({ code }) => `${code} ← ${code}`),
      ...FOLLOWS.map(({ code, from }) => `${code} ← ${from[0] ?? ""}`),
    ];
    expect(wanted.filter((row) => !shown.includes(row))).toEqual([]);
  });

  it("nothing follows from itself by way of others", () => {
    const causes = new Map(
      [...Map.groupBy(FOLLOWS, ({ code }) => code)].map(([code, rows]) => [
        code,
        rows.flatMap(({ from }) => from),
      ]),
    );
    const above = (code: (typeof FOLLOWS)[number]["code"], depth: number): number =>
      Math.max(
        depth,
        ...(causes.get(code) ?? []).map((each) => (depth > 9 ? depth : above(each, depth + 1))),
      );
    expect([...causes.keys()].filter((code) => above(code, 0) > 9)).toEqual([]);
  });
});

describe("what is printed of causes", () => {
  const VNI = CASES[0]?.[1] ?? {};

  it("text has the cause with what follows below it, and counts causes", async () => {
    const { code, out } = await run(["--long"], VNI);
    expect(code).toBe(1);
    expect(out.match(/^a\.yaml:\d+:\d+: /gm)).toHaveLength(1);
    expect(out).toMatch(/^a\.yaml:\d+:\d+: error: flannel-vni-below-4096 /);
    expect(out).toMatch(/^ {2}also: vxlan-identifiers-differ: Node cp \(line 8\)$/m);
    expect(out).toContain("4 documents in 1 file checked: 1 error; 1 more of the same causes\n");
  });

  it("JSON has both, the JUnit of the one that follows passes, SARIF has one result with two places", async () => {
    const json = JSON.parse((await run(["-o", "json"], VNI)).out) as {
      counts: { error: number; causes: number };
      findings: { code: string; causedBy?: object }[];
    };
    expect(json.counts).toMatchObject({ error: 2, causes: 1 });
    expect(json.findings).toMatchObject([
      { code: "vxlan-identifiers-differ", causedBy: { code: "flannel-vni-below-4096", file: "a.yaml" } },
      { code: "flannel-vni-below-4096" },
    ]);
    const junit = (await run(["-o", "junit"], VNI)).out;
    expect(junit).toContain('tests="2" failures="1"');
    expect(junit).toMatch(/<system-out>[^<]*caused by flannel-vni-below-4096 at a\.yaml:\d+:\d+/);
    const sarif = JSON.parse((await run(["-o", "sarif"], VNI)).out) as {
      runs: [{ results: { ruleId: string; relatedLocations: object[] }[] }];
    };
    expect(
      sarif.runs[0].results.map(({ ruleId, relatedLocations }) => [ruleId, relatedLocations.length]),
    ).toEqual([["flannel-vni-below-4096", 1]]);
  });

  it("a cause weighs as much as the heaviest finding that it has, and is not hidden before it", async () => {
    const [, missing = {}] = CASES[1] ?? [];
    for (const words of [["--long"], ["--long", "--severity", "error"]]) {
      const { code, out } = await run(words, missing);
      expect(code).toBe(1);
      expect(out).toMatch(/^a\.yaml:\d+:\d+: error: flannel-vxlan-defaults-differ /);
      expect(out).toContain("also: vxlan-identifiers-differ: Node cp");
    }
  });

  it("what follows from a suppressed finding is told by itself", async () => {
    const files = {
      "a.yaml": (VNI["a.yaml"] ?? "").replace(
        "{ name: kube-flannel-cfg, namespace: kube-flannel }",
        '{ name: kube-flannel-cfg, annotations: { mullion.dev/lint-ignore: "flannel-vni-below-4096: Linux only" } }',
      ),
    };
    const { out } = await run([], files);
    expect(out).toMatch(/^a\.yaml:8:\d+: error: vxlan-identifiers-differ \(Node cp\)\n/);
    expect(out).toContain("1 error; 1 suppressed");
  });
});

describe("the exit code of lint", () => {
  const NOTE = { "a.yaml": CASES.find(([title]) => title.startsWith("three policies"))?.[1]["a.yaml"] ?? "" };
  const WARNING = {
    "a.yaml": `${NODE_2019}${service("web", "sessionAffinity: ClientIP").replace("app: web", "")}`,
  };

  it.each([
    ["notes alone", NOTE, [], 0],
    ["notes alone, that shall count", NOTE, ["--fail-on", "info"], 1],
    ["warnings", WARNING, [], 1],
    ["warnings that shall not count", WARNING, ["--fail-on", "error"], 0],
    ["warnings that are not shown", WARNING, ["--severity", "error"], 0],
  ] as const)("%s", async (_, files, words, wanted) => {
    const { code, out } = await run(words, files);
    expect(code).toBe(wanted);
    expect(out).toMatch(/checked: (?:1 note|1 warning|nothing found)/);
  });
});
