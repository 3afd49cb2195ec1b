// Manifests without Nodes run on nodes that have what their pods ask for: whoever writes a selector has such a node.
import { describe, expect, it } from "vitest";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { ask, openSessionWorld, podsOf, service } from "#test/support/cluster/session-world.ts";
import { formatIp } from "#core/net/ip.ts";
import { assumedNodes } from "./assumed-nodes.ts";

const SERVERCORE = "mcr.microsoft.com/windows/servercore";

function pod(name: string, spec: string, image = "registry.example/app:1"): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name} }\nspec: { ${spec}containers: [{ name: c, image: "${image}" }] }\n---\n`;
}

function nodesOf(text: string): readonly string[] {
  const { objects, problems } = loadManifests([{ name: "a.yaml", text }]);
  expect(problems).toEqual([]);
  return assumedNodes(objects.map(({ object }) => object)).nodes.map((node) => {
    const { name, os, build, labels } = node as Record<string, unknown>;
    const of = typeof build === "string" ? ` ${build}` : "";
    const having = labels === undefined ? "" : ` ${JSON.stringify(labels)}`;
    return `${String(name)} ${String(os)}${of}${having}`;
  });
}

function affinity(expressions: string): string {
  return `affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [${expressions}] }] } } }, `;
}

const WINDOWS = "kubernetes.io/os: windows";
const LINUX = "kubernetes.io/os: linux";

/** Kubernetes documentation, "Guide for Running Windows Containers in Kubernetes": RuntimeClass for several versions of Windows. */
const CLASS = `apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: { name: windows-2019 }
handler: runhcs-wcow-process
scheduling:
  nodeSelector: { ${WINDOWS}, node.kubernetes.io/windows-build: 10.0.17763, agentpool: old }
  tolerations: [{ effect: NoSchedule, key: os, operator: Equal, value: windows }]
`;

describe("nodes of manifests that bring none", () => {
  it.each<readonly [what: string, text: string, nodes: readonly string[]]>([
    ["without wishes", pod("a", ""), ["win-1 windows ws2022", "win-2 windows ws2022", "linux-1 linux"]],
    [
      "a pool of Windows nodes",
      pod("a", `nodeSelector: { ${WINDOWS}, agentpool: win }, `),
      [
        'win-1 windows ws2022 {"agentpool":"win"}',
        'win-2 windows ws2022 {"agentpool":"win"}',
        "linux-1 linux",
      ],
    ],
    [
      "a pool, and an image of Windows",
      pod("a", "nodeSelector: { agentpool: win }, ", `${SERVERCORE}:ltsc2019`),
      [
        'win-1 windows ws2019 {"agentpool":"win"}',
        'win-2 windows ws2019 {"agentpool":"win"}',
        "linux-1 linux",
      ],
    ],
    [
      "a pool, and nothing that names a system",
      pod("a", "nodeSelector: { pool: a }, "),
      [
        'win-1 windows ws2022 {"pool":"a"}',
        'win-2 windows ws2022 {"pool":"a"}',
        'linux-1 linux {"pool":"a"}',
      ],
    ],
    [
      "two pools of one system",
      pod("a", `nodeSelector: { ${WINDOWS}, pool: a }, `) +
        pod("b", `nodeSelector: { ${WINDOWS}, pool: b }, `),
      [
        'win-1 windows ws2022 {"pool":"a"}',
        'win-2 windows ws2022 {"pool":"a"}',
        'win-3 windows ws2022 {"pool":"b"}',
        "linux-1 linux",
      ],
    ],
    [
      "a build by its label, with a pool",
      pod("a", `nodeSelector: { ${WINDOWS}, node.kubernetes.io/windows-build: 10.0.17763, pool: old }, `) +
        pod("b", `nodeSelector: { ${WINDOWS}, node.kubernetes.io/windows-build: 10.0.20348, pool: new }, `),
      ['win-1 windows ws2019 {"pool":"old"}', 'win-2 windows ws2022 {"pool":"new"}', "linux-1 linux"],
    ],
    [
      "builds by the label that AKS gives its pools",
      pod("a", "nodeSelector: { kubernetes.azure.com/os-sku: Windows2019 }, ") +
        pod("b", "nodeSelector: { kubernetes.azure.com/os-sku: Windows2025 }, ") +
        pod("c", "nodeSelector: { kubernetes.azure.com/os-sku: AzureLinux }, "),
      [
        'win-1 windows ws2019 {"kubernetes.azure.com/os-sku":"Windows2019"}',
        'win-2 windows ws2025 {"kubernetes.azure.com/os-sku":"Windows2025"}',
        'linux-1 linux {"kubernetes.azure.com/os-sku":"AzureLinux"}',
      ],
    ],
    [
      "builds by a required affinity",
      pod("a", affinity("{ key: kubernetes.azure.com/os-sku, operator: In, values: [Windows2019] }")) +
        pod("b", affinity("{ key: node.kubernetes.io/windows-build, operator: In, values: [10.0.26100] }")),
      [
        'win-1 windows ws2019 {"kubernetes.azure.com/os-sku":"Windows2019"}',
        "win-2 windows ws2025",
        "linux-1 linux",
      ],
    ],
    [
      "the system by the label that OpenShift gives Windows nodes",
      pod("a", "nodeSelector: { node.openshift.io/os_id: Windows }, "),
      [
        'win-1 windows ws2022 {"node.openshift.io/os_id":"Windows"}',
        'win-2 windows ws2022 {"node.openshift.io/os_id":"Windows"}',
        "linux-1 linux",
      ],
    ],
    [
      "the control plane, which is Linux, and the system pool of AKS",
      pod("a", `nodeSelector: { node-role.kubernetes.io/control-plane: "" }, `) +
        pod("b", affinity("{ key: node-role.kubernetes.io/master, operator: Exists }")) +
        pod("c", "nodeSelector: { kubernetes.azure.com/mode: system }, "),
      [
        "win-1 windows ws2022",
        "win-2 windows ws2022",
        'linux-1 linux {"node-role.kubernetes.io/control-plane":"","node-role.kubernetes.io/master":"","kubernetes.azure.com/mode":"system"}',
      ],
    ],
    [
      "labels of a required affinity: one of several values, any value, none",
      pod(
        "a",
        affinity(
          `{ key: kubernetes.io/os, operator: In, values: [linux] }, { key: disk, operator: In, values: [ssd, nvme] }, { key: edge, operator: Exists }, { key: slow, operator: DoesNotExist }`,
        ),
      ),
      ["win-1 windows ws2022", "win-2 windows ws2022", 'linux-1 linux {"disk":"ssd","edge":""}'],
    ],
    [
      "names: of a host, and of the node itself",
      pod("a", `nodeSelector: { ${WINDOWS}, kubernetes.io/hostname: plc-7 }, `) +
        pod("b", "nodeName: worker-3, ") +
        pod("c", "nodeName: worker-3, "),
      ["plc-7 windows ws2022", "win-2 windows ws2022", "worker-3 linux"],
    ],
    [
      "more names than there are nodes",
      pod("a", "nodeName: worker-1, ") + pod("b", "nodeName: worker-2, "),
      ["win-1 windows ws2022", "win-2 windows ws2022", "worker-1 linux", "worker-2 linux"],
    ],
    [
      "a class of pods, as the documentation has it",
      `${CLASS}---\n${pod("a", "runtimeClassName: windows-2019, ")}`,
      [
        'win-1 windows ws2019 {"agentpool":"old"}',
        'win-2 windows ws2019 {"agentpool":"old"}',
        "linux-1 linux",
      ],
    ],
    [
      "the name of the router, which no node has",
      pod("a", `nodeSelector: { ${LINUX} }, nodeName: router, `),
      ["win-1 windows ws2022", "win-2 windows ws2022", "linux-1 linux"],
    ],
  ])("%s", (_, text, nodes) => {
    expect(nodesOf(text)).toEqual(nodes);
  });

  it("are at most ten of a system", () => {
    const pools = Array.from({ length: 30 }, (_, index) =>
      pod(`p${index}`, `nodeSelector: { ${WINDOWS}, pool: n${index} }, `),
    ).join("");
    expect(nodesOf(pools).filter((node) => node.includes("windows"))).toHaveLength(10);
  });

  it("are told with what they have", () => {
    const { objects } = loadManifests([
      {
        name: "a.yaml",
        text: pod("a", `nodeSelector: { ${WINDOWS}, agentpool: win }, `) + pod("b", "nodeName: worker-1, "),
      },
    ]);
    expect(assumedNodes(objects.map(({ object }) => object)).text).toBe(
      "two Windows Server 2022 nodes and a Linux node, with the names that pods ask for (worker-1) and the labels that selectors ask for (agentpool)",
    );
  });
});

/** A pod as kubectl prints one that runs. */
function runningPod(
  name: string,
  at: { node: string; host: string; ip: string },
  spec = "",
  image = "i",
): string {
  return `apiVersion: v1
kind: Pod
metadata: { name: ${name}, uid: u-${name}, labels: { app: ${name} } }
spec: { nodeName: ${at.node}, ${spec}containers: [{ name: c, image: "${image}", ports: [{ containerPort: 80 }] }] }
status:
  phase: Running
  hostIP: ${at.host}
  podIP: ${at.ip}
  podIPs: [{ ip: ${at.ip} }]
  conditions: [{ type: Ready, status: "True" }]
  containerStatuses: [{ name: c, ready: true, state: { running: {} } }]
---
`;
}

describe("a dump of pods without their Nodes", () => {
  const WIN = { node: "akswin000000", host: "10.224.0.40" };
  const LIN = { node: "aks-pool1-vmss000000", host: "10.224.0.4" };
  const DUMP =
    runningPod(
      "web",
      { ...WIN, ip: "10.224.0.55" },
      `nodeSelector: { ${WINDOWS}, agentpool: win }, `,
      `${SERVERCORE}/iis:windowsservercore-ltsc2019`,
    ) +
    runningPod("api", { ...LIN, ip: "10.224.0.12" }) +
    service("web", "type: ClusterIP, selector: { app: web }, ports: [{ port: 80 }]");

  it("runs on the nodes that its pods name, with the addresses that they have", async () => {
    const world = await openSessionWorld(DUMP);
    const { nodes } = world.session.cluster;
    expect(
      nodes.map(
        ({ spec }) => `${spec.name} ${spec.os} ${spec.build?.profile.name ?? ""} ${formatIp(spec.address)}`,
      ),
    ).toEqual(["akswin000000 windows ws2019 10.224.0.40", "aks-pool1-vmss000000 linux  10.224.0.4"]);
    expect(nodes[0]?.spec.labels).toEqual({ agentpool: "win" });
    expect(
      podsOf(world, "").map(({ metadata, status }) => `${metadata.name} ${status?.podIP ?? ""}`),
    ).toContain("web 10.224.0.55");
    expect(world.session.troubles()).toEqual([]);
    expect(ask(world, "pod/api", "service/web", { port: 80 })).toMatch(/^web saw 10\.224\.0\.12/);
    expect([...world.read, ...world.begun.notes].map(({ message }) => message)).toContain(
      "the dump brings no Node objects: its nodes (akswin000000, aks-pool1-vmss000000) are those that its pods name, with the addresses, systems and labels that the pods show",
    );
  });
});
