// What verify denies, lint of the same input says; and what works, it does not.
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

type Files = Readonly<Record<string, string>>;

async function run(words: readonly string[], files: Files): Promise<string> {
  const terminal = new MemoryTerminal(files);
  const names = Object.keys(files).flatMap((name) => (words[0] === "lint" ? [name] : ["-f", name]));
  const argv = [...words, ...names];
  await runMullion({ argv, verbs: { lint, verify }, terminal, version: "0", isDebug: false });
  return terminal.output;
}

async function codesOfLint(files: Files): Promise<readonly string[]> {
  const { findings } = JSON.parse(await run(["lint", "--format", "json"], files)) as {
    readonly findings: readonly { readonly code: string }[];
  };
  return [...new Set(findings.map(({ code }) => code))];
}

async function verified(files: Files): Promise<VerifyReport> {
  return JSON.parse(await run(["verify", "-o", "json"], files)) as VerifyReport;
}

function cluster(build: string, more = ""): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.2.0/24 }
${more}
`;
}

function pod(name: string, os: "windows" | "linux", url = "http://elsewhere"): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec:
  nodeSelector: { kubernetes.io/os: ${os} }
  containers:
    - name: app
      image: registry.example/app:1
      env: [{ name: URL, value: "${url}" }]
      ports: [{ containerPort: 80 }]
`;
}

function service(name: string, spec = ""): string {
  return `
---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec:
  selector: { app: ${name} }
  ports: [{ port: 80 }]
  ${spec}
`;
}

const DSR = "kubeProxy: { enableDSR: true }";

describe("a pod that is called as its Service", () => {
  it("is no finding of verify: its own hosts file leads the short name to itself", async () => {
    const files = { "c.yaml": cluster("ws2022"), "web.yaml": service("web") + pod("web", "linux") };
    const { findings, cells } = await verified(files);
    expect(findings).toEqual([]);
    expect(cells.filter(({ name }) => name === "web")).toEqual([]);
  });

  it("is asked by others under that name", async () => {
    const files = {
      "c.yaml": cluster("ws2022"),
      "web.yaml": service("web") + pod("web", "linux") + pod("client", "linux"),
    };
    const { cells } = await verified(files);
    expect(cells.filter(({ name }) => name === "web")).toMatchObject([
      { from: "pod/default/client", expected: "works", verdict: "as-expected" },
    ]);
  });

  it.each([
    ["http://web/ready", false],
    ["http://web.default.svc.cluster.local/ready", true],
  ])("reaches itself under %s through its Service: %s", async (url, isThrough) => {
    const files = {
      "c.yaml": cluster("ws2022", DSR),
      "web.yaml": service("web") + pod("web", "windows", url),
    };
    expect((await codesOfLint(files)).includes("hairpin-under-dsr")).toBe(isThrough);
  });
});

describe("session affinity", () => {
  const sticky = "sessionAffinity: ClientIP\n  sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } }";
  const CODE = "session-affinity-timeout-ignored";

  it.each([
    { pods: pod("web", "linux"), isDenied: false },
    { pods: pod("web", "linux") + pod("client", "windows"), isDenied: true },
    { pods: pod("web", "windows") + pod("client", "windows"), isDenied: true },
  ])("its time, by clients on Windows alone ($isDenied)", async ({ pods, isDenied }) => {
    const files = { "c.yaml": cluster("ws2022"), "web.yaml": service("web", sticky) + pods };
    const { cells } = await verified(files);
    const denied = cells.filter(({ code, expected }) => code === CODE && expected === "denied");
    expect(denied.length > 0).toBe(isDenied);
    expect((await codesOfLint(files)).includes(CODE)).toBe(isDenied);
  });

  it("is told of a file without pods, for nodes that ignore it", async () => {
    expect(await codesOfLint({ "c.yaml": cluster("ws2022"), "web.yaml": service("web", sticky) })).toEqual([
      CODE,
    ]);
    expect(await codesOfLint({ "web.yaml": service("web", sticky) })).toEqual([]);
  });
});

function netConf(name: string, backend: string): string {
  return `
apiVersion: v1
kind: ConfigMap
metadata: { name: ${name}, namespace: kube-flannel }
data:
  net-conf.json: |
    { "Network": "10.244.0.0/16", "Backend": { "Type": "vxlan", ${backend} } }
`;
}

describe("flannel's port", () => {
  it.each([
    ["kube-flannel-cfg", '"VNI": 4096, "Port": 8472', true],
    ["kube-flannel-windows-cfg", '"VNI": 4097, "Port": 8472', true],
    ["kube-flannel-windows-cfg", '"VNI": 4096, "Port": 4789', false],
    // A cluster of Linux nodes.
    ["kube-flannel-cfg", '"VNI": 1, "Port": 8472', false],
  ])("%s with %s: refused by Windows %s", async (name, backend, isRefused) => {
    const codes = await codesOfLint({ "flannel.yaml": netConf(name, backend) });
    expect(codes.includes("flannel-vxlan-port-not-4789")).toBe(isRefused);
  });
});

/** kube-proxy 1.34: cmd/kube-proxy/app/options.go (addressFromDeprecatedFlags) and validation.go (validateHostPort). */
describe("kube-proxy's port 0", () => {
  const CALL =
    "C:\\k\\kube-proxy.exe --proxy-mode=kernelspace --kubeconfig=C:\\k\\config --network-name=cbr0 --hostname-override=win-1";

  it.each([
    ["--healthz-port=0", false],
    ["--healthz-port=0 --healthz-bind-address=0.0.0.0:0", false],
    ["--healthz-bind-address=0.0.0.0:0", true],
    ["--healthz-bind-address=:10256", true],
    ["--healthz-bind-address=0", true],
    ["--metrics-port=0", true],
    ["--metrics-port=10249", false],
    ["--metrics-bind-address=127.0.0.1:0", true],
  ])("%s is refused: %s", async (flags, isRefused) => {
    const codes = await codesOfLint({ "start.ps1": `${CALL} ${flags}\n` });
    expect(codes).toEqual(isRefused ? ["kube-proxy-address-invalid"] : []);
  });
});

describe("words that an operator fills in on the node", () => {
  it("are no values: OpenShift's windows-services", async () => {
    const commands = JSON.stringify([
      {
        name: "kube-proxy",
        command:
          "C:\\k\\kube-proxy.exe --windows-service --proxy-mode=kernelspace --hostname-override=NODE_NAME --kubeconfig=C:\\k\\kubeconfig --cluster-cidr=NODE_SUBNET --network-name=OVNKubernetesHybridOverlayNetwork --source-vip=ENDPOINT_IP --enable-dsr=false",
      },
    ]);
    const text = `
apiVersion: v1
kind: ConfigMap
metadata: { name: windows-services-10.15.0, namespace: openshift-windows-machine-config-operator }
data:
  services: '${commands}'
`;
    expect(await codesOfLint({ "windows-services.yaml": text })).toEqual([]);
    // One that was filled in wrongly is told.
    const wrong = text.replace("NODE_SUBNET", "10.132.0.0");
    expect(await codesOfLint({ "windows-services.yaml": wrong })).toEqual(["kube-proxy-address-invalid"]);
  });
});

describe("a defect of the build that a cluster file names", () => {
  it.each([
    ["ws2022", "quirks: {}", true],
    ["ws2022", "quirks: { l2bridge-dsr-kb5005619: off }", false],
    ["ws2019", "quirks: {}", false],
  ])("l2bridge with DSR on %s, %s: %s", async (build, quirks, isBroken) => {
    const text = cluster(build, DSR).replace(
      "podCIDR: 10.244.1.0/24 }",
      `podCIDR: 10.244.1.0/24, ${quirks} }`,
    );
    const files = { "c.yaml": text, "pods.yaml": pod("web", "windows") + pod("api", "linux") };
    const { cells } = await verified(files);
    const CODE = "l2bridge-broken-with-dsr";
    expect(cells.some(({ code }) => code === CODE)).toBe(isBroken);
    expect((await codesOfLint(files)).includes(CODE)).toBe(isBroken);
  });
});

describe("a Service beside a cluster file that has pods itself", () => {
  const two = (build: string, more = ""): string =>
    `${cluster(build).replace("linux-1, os: linux", `win-2, os: windows, build: ${build}`)}
pods:
  - { name: web-a, node: win-1, labels: { app: web } }
  - { name: client, node: win-2 }
${more}`;

  it.each([
    ["service-without-back-ends", two("ws2022"), service("shop")],
    ["load-balancer-without-address", two("ws2022"), service("web", "type: LoadBalancer")],
    [
      "external-traffic-policy-local-without-local-endpoint",
      two("ws2022"),
      service("web", "type: NodePort\n  externalTrafficPolicy: Local"),
    ],
    ["service-vip-from-node-unsupported", two("ws2019"), service("web")],
    [
      "node-port-on-overlay-server-2022",
      two("ws2022", "network: { driver: Overlay }"),
      service("web", "type: NodePort"),
    ],
  ] as const)("%s is denied by verify and told by lint", async (code, file, manifest) => {
    const files = { "c.yaml": file, "web.yaml": manifest };
    const { cells } = await verified(files);
    expect(cells.some((cell) => cell.code === code && cell.expected === "denied")).toBe(true);
    expect(await codesOfLint(files)).toContain(code);
    const healthy = { "c.yaml": two("ws2022"), "web.yaml": service("web") };
    expect(await codesOfLint(healthy)).toEqual([]);
  });
});

it("a Service of SCTP: trace says that Windows does not support it, as lint and verify do", async () => {
  const terminal = new MemoryTerminal({
    "c.yaml": cluster("ws2022"),
    "s.yaml": `${pod("web", "windows")}${service("web").replace("port: 80", "port: 3868, protocol: SCTP")}`,
  });
  const argv = ["trace", "-f", "c.yaml", "-f", "s.yaml", "pod/web", "service/web"];
  const code = await runMullion({ argv, verbs: { trace }, terminal, version: "0", isDebug: false });
  expect(code).toBe(2);
  expect(terminal.errors).toContain("SCTP on port 3868, which is not supported on Windows");
  expect(terminal.errors).toContain("[service-sctp-unsupported]");
});

describe("files that contradict each other about the network", () => {
  const NODE = `
apiVersion: v1
kind: Node
metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
spec: { podCIDR: 10.244.1.0/24 }
status:
  addresses: [{ type: InternalIP, address: 10.0.0.11 }]
  nodeInfo: { operatingSystem: windows, kubeletVersion: v1.31.4, osImage: Windows Server 2022 Datacenter, kernelVersion: 10.0.20348.2113, architecture: amd64 }
`;
  const KUBEADM = `
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking: { podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12 }
`;
  const PROXY = `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clusterCIDR: 10.50.0.0/16
`;
  const CALICO = `
apiVersion: operator.tigera.io/v1
kind: Installation
metadata: { name: default }
spec:
  serviceCIDRs: [10.96.0.0/12]
  calicoNetwork: { windowsDataplane: HNS, ipPools: [{ cidr: 10.244.0.0/16, encapsulation: IPIP }] }
`;

  it.each([
    ["cluster-ranges-contradict", { "kubeadm.yaml": KUBEADM, "kube-proxy.yaml": PROXY }],
    ["calico-installation-not-for-windows", { "installation.yaml": CALICO }],
  ])("%s: a finding of verify and of lint, with Nodes", async (code, told: Files) => {
    const files = { "nodes.yaml": NODE, ...told };
    const { findings } = await verified(files);
    expect(findings.map((each) => each.code)).toContain(code);
    expect(await codesOfLint(files)).toContain(code);
  });

  it("without Nodes lint says nothing: a folder may hold the networks of several clusters", async () => {
    const codes = await codesOfLint({ "kubeadm.yaml": KUBEADM, "kube-proxy.yaml": PROXY });
    expect(codes).not.toContain("cluster-ranges-contradict");
  });
});

describe("what verify leaves out of the input, or finds no place for", () => {
  const picky = (selector: string): string => `
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: orders }
spec:
  replicas: 2
  selector: { matchLabels: { app: orders } }
  template:
    metadata: { labels: { app: orders } }
    spec:
      nodeSelector: ${selector}
      containers: [{ name: c, image: registry.example/orders:1, ports: [{ containerPort: 80 }] }]
`;
  const taint =
    "\n---\napiVersion: v1\nkind: Node\nmetadata: { name: win-1 }\nspec: { taints: [{ key: os, value: windows, effect: NoSchedule }] }\n";

  it.each<readonly [what: string, manifests: string, codes: readonly string[]]>([
    ["a pool that there is not", picky("{ agentpool: w }"), ["pod-unschedulable"]],
    ["an answered selector", picky("{ kubernetes.io/os: windows }"), []],
    [
      "a class of pods that asks for another build",
      `
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: { name: windows-2025 }
handler: runhcs-wcow-process
scheduling: { nodeSelector: { kubernetes.io/os: windows, node.kubernetes.io/windows-build: 10.0.26100 } }
${picky("{}").replace("nodeSelector: {}", "runtimeClassName: windows-2025")}`,
      ["pod-unschedulable"],
    ],
    ["a taint", picky("{ kubernetes.io/os: windows }") + taint, ["pod-unschedulable"]],
    [
      "a field in other letters",
      service("web", "externaltrafficpolicy: Local") + pod("web", "linux"),
      ["manifest-unknown-field"],
    ],
    [
      "a port without its number",
      picky("{ kubernetes.io/os: windows }").replace("containerPort: 80", "name: http"),
      ["manifest-missing-field"],
    ],
    [
      "a number that is a text",
      picky("{ kubernetes.io/os: windows }").replace("replicas: 2", "replicas: two"),
      ["manifest-invalid-value"],
    ],
  ])("%s", async (_, manifests, codes) => {
    const files = { "c.yaml": cluster("ws2022"), "m.yaml": manifests };
    const { findings } = await verified(files);
    expect([...new Set(findings.map(({ code }) => code))]).toEqual(codes);
    expect((await codesOfLint(files)).filter((code) => /^(?:manifest|pod)-/.test(code))).toEqual(codes);
  });

  it.each([
    ["a patch of a workload", "spec: { template: { spec: { containers: [{ name: c, resources: {} }] } } }"],
    ["a patch of labels", "metadata: { name: orders, labels: { tier: back } }"],
  ])("%s lacks what a whole object has, which lint does not say", async (_, rest) => {
    const head = "apiVersion: apps/v1\nkind: Deployment\n";
    const name = rest.startsWith("metadata") ? "" : "metadata: { name: orders }\n";
    expect(await codesOfLint({ "patch.yaml": `${head}${name}${rest}\n` })).toEqual([]);
  });
});

describe("a selector that is spelled nearly as the labels", () => {
  const CODE = "service-without-back-ends";
  const deployment = (label: string): string =>
    pod("shop", "windows").replace("labels: { app: shop }", `labels: { app: ${label} }`);

  it.each([
    ["shpo", deployment("shop"), true],
    ["shop-2", deployment("shop-1"), false],
    ["billing", deployment("shop"), false],
    // Those pods have a Service already.
    ["shpo", deployment("shop") + service("shop"), false],
  ])("app: %s", async (value, manifests, isTold) => {
    const web = service("web").replace("selector: { app: web }", `selector: { app: ${value} }`);
    expect((await codesOfLint({ "m.yaml": web + manifests })).includes(CODE)).toBe(isTold);
  });
});

describe("a NetworkPolicy of pods on Windows", () => {
  const POLICY = `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: closed }
spec: { podSelector: { matchLabels: { app: web } }, policyTypes: [Ingress] }
`;
  const AGENT = `
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: calico-node-windows, namespace: kube-system }
spec:
  selector: { matchLabels: { app: calico } }
  template:
    metadata: { labels: { app: calico } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: felix, image: registry.example/calico:1 }]
`;

  it.each([
    ["without an engine", "", "", true],
    ["with the one that the cluster file names", "policy: calico", "", false],
    ["with the one that a DaemonSet brings", "", AGENT, false],
  ])("is not judged, as lint says: %s", async (_, field, agent, isTold) => {
    const files = {
      "c.yaml": cluster("ws2022", field),
      "m.yaml": POLICY + agent + pod("web", "windows") + pod("client", "linux"),
    };
    expect((await codesOfLint(files)).includes("network-policy-not-enforced")).toBe(isTold);
    const { findings } = await verified(files);
    expect(findings.some(({ code }) => code === "network-policy-not-enforced")).toBe(isTold);
  });
});
