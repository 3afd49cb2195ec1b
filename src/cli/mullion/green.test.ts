// What green means, as docs/reference/verify.md says it: each sentence, and an input that breaks it.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

const EMPTY = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
dns: { enabled: false }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
`;
const CLUSTER = `${EMPTY}pods:
  - { name: web, node: win-1 }
  - { name: client, node: win-1 }
`;
const WRONG_WISH = "expectations:\n  - { from: pod/client, to: pod/web, port: 8080, expect: denied }\n";
const POLICY = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: closed }
spec: { podSelector: {} }
`;
const REFUSED =
  "\napiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { ports: [{ port: 99999 }] }\n";
const PASSED = "\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: { name: web }\nspec: {}\n";
const MISSPELT =
  "\napiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { selector: { app: web }, ports: [{ port: 80, targetport: 8080 }] }\n";
const DEFINITION =
  "\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: { name: x.example.org }\n";

const EKSCTL =
  "\napiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: shop, region: eu-west-1 }\n";

function podOf(node: string, status: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: far, uid: 5f0c1a52-7d0e-4a0e-9a4e-0d9a5a3e7c11 }
spec: { nodeName: ${node}, containers: [{ name: c, image: c }] }
status: ${status}
`;
}

const MESHED = `
apiVersion: v1
kind: Pod
metadata: { name: meshed, annotations: { linkerd.io/inject: enabled } }
spec: { nodeName: win-1, containers: [{ name: c, image: c }] }
`;

function podFor(nodeSelector: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: picky }
spec: { nodeSelector: ${nodeSelector}, containers: [{ name: c, image: c }] }
`;
}

function deploymentFor(nodeSelector: string): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: { name: picky }
spec:
  replicas: 3
  selector: { matchLabels: { app: picky } }
  template:
    metadata: { labels: { app: picky } }
    spec: { nodeSelector: ${nodeSelector}, containers: [{ name: c, image: c }] }
`;
}

const WINDOWS = "nodeSelector: { kubernetes.io/os: windows }";

function podWith(spec: string, requests = "{}"): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: picky-${spec.length}, labels: { app: picky } }
spec: { ${spec}, containers: [{ name: c, image: c, resources: { requests: ${requests}, limits: ${requests} } }] }
`;
}

/** Endpoints that somebody wrote, for a Service whose port has a name: theirs has none. */
const SLICE = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-1, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
ports: [{ port: 1433 }]
endpoints: [{ addresses: [10.9.9.9] }]
`;
const ENDPOINTS = `
apiVersion: v1
kind: Endpoints
metadata: { name: db }
subsets: [{ addresses: [{ ip: 10.9.9.9 }], ports: [{ port: 1433 }] }]
`;

function lonely(behind: string, selector = ""): string {
  return `
apiVersion: v1
kind: Service
metadata: { name: db }
spec: { ${selector}ports: [{ name: tds, port: 1433, targetPort: tds }] }
---${behind}`;
}

/** A node that says what it has. */
const SMALL = `
apiVersion: v1
kind: Node
metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
spec: { podCIDR: 10.244.1.0/24 }
status:
  addresses: [{ type: InternalIP, address: 10.0.0.11 }]
  allocatable: { cpu: 3, memory: 8Gi, pods: 110 }
`;

/** As kubectl prints it. */
const NOT_READY = SMALL.replace(
  "  allocatable:",
  `  conditions:
    - type: Ready
      status: "False"
      reason: KubeletNotReady
      message: "container runtime network not ready: cni plugin not initialized"
      lastTransitionTime: "2026-11-01T10:00:00Z"
  allocatable:`,
);

/** flannel as nobody changed it for Windows: its Nodes publish different identifiers. */
const CLUSTER_OF_FLANNEL = `
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: win-1
      labels: { kubernetes.io/os: windows }
      annotations:
        flannel.alpha.coreos.com/backend-type: vxlan
        flannel.alpha.coreos.com/backend-data: '{"VNI":4096,"VtepMAC":"00:15:5d:96:95:db"}'
    spec: { podCIDR: 10.244.1.0/24 }
    status:
      addresses: [{ type: InternalIP, address: 172.29.4.31 }]
      nodeInfo: { kernelVersion: 10.0.20348.2966, operatingSystem: windows }
  - apiVersion: v1
    kind: Node
    metadata:
      name: linux-1
      labels: { kubernetes.io/os: linux }
      annotations:
        flannel.alpha.coreos.com/backend-type: vxlan
        flannel.alpha.coreos.com/backend-data: '{"VNI":1,"VtepMAC":"a2:ab:26:a3:65:c8"}'
    spec: { podCIDR: 10.244.0.0/24 }
    status: { addresses: [{ type: InternalIP, address: 172.29.4.5 }] }
`;

const UNREADABLE_IMAGE = `
apiVersion: v1
kind: Pod
metadata: { name: big }
spec: { nodeName: win-1, containers: [{ name: c, image: registry.example/Shop/Web }] }
`;

/** A Namespace takes no pods with folders of their node, and the Deployment is taken all the same. */
const SECURED = `
apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { pod-security.kubernetes.io/enforce: baseline } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: agent, namespace: shop }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      nodeName: win-1
      volumes: [{ name: k, hostPath: { path: "C:/k" } }]
      containers: [{ name: c, image: c }]
`;

/** Three pods where one is allowed. */
const QUOTA = `
apiVersion: v1
kind: ResourceQuota
metadata: { name: few }
spec: { hard: { pods: "1" } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: many }
spec:
  replicas: 3
  selector: { matchLabels: { app: many } }
  template:
    metadata: { labels: { app: many } }
    spec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: c }] }
`;

/** Pods of one Service that have its port at different numbers. */
const TWO_NUMBERS = `
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: http }] }
${[8080, 9090]
  .map(
    (port) => `---
apiVersion: v1
kind: Pod
metadata: { name: at-${port}, labels: { app: web } }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: c, image: registry.example/c, ports: [{ name: http, containerPort: ${port} }] }]
`,
  )
  .join("")}`;

/** Pods whose names another Service should give. */
const NAMELESS = `
apiVersion: v1
kind: Service
metadata: { name: db-headless }
spec: { clusterIP: None, selector: { app: db }, ports: [{ port: 1433 }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  serviceName: db
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: c, image: registry.example/c, ports: [{ containerPort: 1433 }] }]
`;

interface Planted {
  readonly texts: readonly string[];
  /** Codes of findings that count; undefined: one without a code. */
  readonly findings: readonly (string | undefined)[];
  readonly words?: readonly string[];
}

const BROKEN: Readonly<Record<string, readonly Planted[]>> = {
  "Something was tried.": [{ texts: [EMPTY], findings: ["nothing-tried"] }],
  "Everything that was tried came out as expected, denials included.": [
    { texts: [CLUSTER + WRONG_WISH], findings: [undefined] },
    { texts: [TWO_NUMBERS], findings: ["service-target-ports-differ", "service-target-ports-differ"] },
  ],
  "Nothing of the input that could change a flow was refused or passed by: no Node, pod, Service, EndpointSlice, NetworkPolicy, Ingress, Gateway or configuration of a network, no field of them, and no proxy that a service mesh is asked for.":
    [
      { texts: [CLUSTER, REFUSED], findings: ["manifest-invalid-value"] },
      { texts: [CLUSTER, PASSED], findings: ["manifest-kind-not-carried-out"] },
      { texts: [CLUSTER, MISSPELT], findings: ["manifest-unknown-field"] },
      { texts: [CLUSTER, MESHED], findings: ["mesh-sidecar-left-out"] },
      // Without a cluster file these have a network that is not carried out.
      { texts: [podFor("{ eks.amazonaws.com/nodegroup: win }")], findings: ["network-not-emulated"] },
      { texts: [podFor("{ os: windows }"), EKSCTL], findings: ["network-not-emulated"] },
      {
        texts: [CLUSTER, "\napiVersion: v1\nkind: Node\nmetadata: { name: win-2 }\n"],
        findings: ["node-without-machine"],
      },
    ],
  "Nothing of the input contradicts itself, or what Windows can.": [
    { texts: [CLUSTER_OF_FLANNEL], findings: ["vxlan-identifiers-differ"], words: ["--allow", "not-judged"] },
    { texts: [NAMELESS], findings: ["pod-name-service-missing"] },
    { texts: [CLUSTER, lonely(SLICE)], findings: ["service-target-port-undeclared"] },
    { texts: [CLUSTER, lonely(ENDPOINTS)], findings: ["service-target-port-undeclared"] },
    {
      texts: [CLUSTER, lonely(podWith(WINDOWS), "selector: { app: picky }, ")],
      findings: ["service-target-port-undeclared"],
    },
  ],
  "No Node of the input says that it is not well.": [
    { texts: [CLUSTER, NOT_READY], findings: ["node-not-ready"] },
  ],
  "Every pod that the input shows running, or with an address, has a network here.": [
    { texts: [CLUSTER, podOf("win-9", "{ phase: Running }")], findings: ["node-without-machine"] },
  ],
  "Every pod that the input asks for has a node here, or another pod of its workload has one.": [
    { texts: [CLUSTER, podFor("{ agentpool: windows }")], findings: ["pod-unschedulable"] },
    { texts: [CLUSTER, deploymentFor("{ agentpool: windows }")], findings: ["pod-unschedulable"] },
    {
      texts: [CLUSTER, SMALL, podWith("nodeName: win-1", "{ cpu: 2 }"), podWith(WINDOWS, "{ cpu: 2 }")],
      findings: ["pod-unschedulable"],
    },
    { texts: [CLUSTER, SMALL, podWith(WINDOWS, "{ example.com/gpu: 1 }")], findings: ["pod-unschedulable"] },
    {
      texts: [CLUSTER, podWith(`${WINDOWS}, schedulingGates: [{ name: example.com/ready }]`)],
      findings: ["pod-unschedulable"],
    },
    { texts: [CLUSTER, podWith("nodeSelector: {}, os: { name: linux }")], findings: ["pod-os-mismatch"] },
    { texts: [CLUSTER, podWith("nodeName: win-9")], findings: ["node-without-machine"] },
    {
      texts: [CLUSTER, podWith(`${WINDOWS}, volumes: [{ name: v, nfs: { server: s, path: / } }]`)],
      findings: ["volume-not-for-windows"],
    },
    { texts: [CLUSTER, UNREADABLE_IMAGE], findings: ["image-name-invalid"] },
    { texts: [CLUSTER, SECURED], findings: ["pod-security-violated"] },
    { texts: [CLUSTER, QUOTA], findings: ["namespace-limit-exceeded"] },
  ],
  "Every flow that was tried is judged: none of them meets a policy that is not carried out.": [
    { texts: [CLUSTER, POLICY], findings: ["network-policy-not-enforced"] },
  ],
  "Findings that the user allows by name do not count.": [
    { texts: [CLUSTER, POLICY], findings: [], words: ["--allow", "not-judged"] },
    {
      texts: [CLUSTER, PASSED, POLICY],
      findings: ["network-policy-not-enforced"],
      words: ["--allow", "manifest-kind-not-carried-out"],
    },
  ],
  "What the input itself calls Pending, Failed or Succeeded does not count, and neither do kinds that cannot change a flow.":
    [
      { texts: [CLUSTER, podOf("win-9", "{ phase: Pending }")], findings: [] },
      { texts: [CLUSTER, podOf("win-1", "{ phase: Failed, podIP: 10.9.9.9 }")], findings: [] },
      { texts: [CLUSTER, podOf("win-9", "{ phase: Succeeded, podIP: 10.9.9.9 }"), DEFINITION], findings: [] },
    ],
};

async function ask({ texts, words = [] }: Planted): Promise<{ code: number; report: VerifyReport }> {
  const terminal = new MemoryTerminal(
    Object.fromEntries(texts.map((text, index) => [`${index}.yaml`, text])),
  );
  const files = texts.flatMap((_, index) => ["-f", `${index}.yaml`]);
  const argv = ["verify", ...files, "-o", "json", ...words];
  const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
  return { code, report: JSON.parse(terminal.output) as VerifyReport };
}

describe("what green means", () => {
  it("is one paragraph, of the sentences that are broken here", () => {
    const page = readFileSync("docs/reference/verify.md", "utf8");
    const [, section = ""] = /## What green means\n\n([\s\S]*?)\n\n/.exec(page) ?? [];
    const sentences = section.replaceAll("\n", " ").match(/[^.]+\./g) ?? [];
    expect(sentences.map((sentence) => sentence.trim())).toEqual(Object.keys(BROKEN));
  });

  it("the cluster in which they are planted is green", async () => {
    const { code, report } = await ask({ texts: [CLUSTER], findings: [] });
    expect(report.findings).toEqual([]);
    const { facts, ...remarks } = report.basis;
    expect(facts.length).toBeGreaterThan(0);
    expect(remarks).toEqual({
      contradictions: [],
      assumptions: [],
      refused: [],
      notJudged: [],
      notes: [],
    });
    expect(code).toBe(0);
  });

  it.each(
    Object.entries(BROKEN).flatMap(([sentence, planted]) =>
      planted.map((each, index) => ({ sentence, index, each })),
    ),
  )("$sentence ($index)", async ({ each }) => {
    const { code, report } = await ask(each);
    const counted = report.findings.filter(({ allowed }) => allowed !== true);
    expect(counted.map((finding) => finding.code)).toEqual(each.findings);
    expect(report.counts.findings).toBe(each.findings.length);
    expect(code).toBe(each.findings.length === 0 ? 0 : 1);
  });
});
