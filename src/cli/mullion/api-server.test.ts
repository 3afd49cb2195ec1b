// Service kubernetes and the API server behind it, with the clusters that people bring: text in, printed answer out.
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { get } from "./get/get.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const HEAD = "apiVersion: mullion/v1alpha1\nkind: Cluster\nmetadata: { name: shop }\n";
const NODES = `
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
pods:
  - { name: client, node: win-1 }
  - { name: tux, node: linux-1 }
`;
const TUNNEL = `
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.0.1.0/24 }
underlay: { subnet: 10.0.0.0/16 }
network: { driver: L2Tunnel, name: azure, clusterCIDR: 10.0.0.0/16 }
pods: [{ name: client, node: win-1 }]
`;
const CLUSTER = HEAD + NODES;

function nodeObject(name: string, address: string, label: string): string {
  return `
---
apiVersion: v1
kind: Node
metadata: { name: ${name}, labels: { kubernetes.io/os: linux, ${label}: "" } }
status: { addresses: [{ type: InternalIP, address: ${address} }] }
`;
}

function own(kind: string, body: string, version = "v1"): string {
  return `\n---\napiVersion: ${version}\nkind: ${kind}\n${body}\n`;
}

const SERVICE = own(
  "Service",
  "metadata: { name: kubernetes }\nspec: { clusterIP: 10.96.0.1, ports: [{ name: https, port: 443, targetPort: 443 }] }",
);
const SLICE = (ip: string): string =>
  own(
    "EndpointSlice",
    `metadata: { name: kubernetes, labels: { kubernetes.io/service-name: kubernetes } }
addressType: IPv4
ports: [{ name: https, port: 443, protocol: TCP }]
endpoints: [{ addresses: [${ip}] }]`,
    "discovery.k8s.io/v1",
  );

interface Answer {
  readonly code: number;
  readonly text: string;
}

async function run(files: readonly string[], ...words: readonly string[]): Promise<Answer> {
  const named = Object.fromEntries(files.map((text, index) => [`${index}.yaml`, text]));
  const terminal = new MemoryTerminal(named);
  const [verb = "", ...rest] = words;
  const argv = [verb, ...Object.keys(named).flatMap((name) => ["-f", name]), ...rest];
  const verbs = { get, trace, verify };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { code, text: terminal.output };
}

async function lastLine(files: readonly string[], ...words: readonly string[]): Promise<string> {
  return (await run(files, "trace", ...words)).text.trim().split("\n").at(-1) ?? "";
}

async function factOf(files: readonly string[]): Promise<readonly string[]> {
  const { text } = await run(files, "verify", "-o", "json");
  const { basis } = JSON.parse(text) as VerifyReport;
  const { value, source } = basis?.facts.find(({ name }) => name === "API server") ?? {};
  return [value ?? "", source ?? ""];
}

describe("an input without Service kubernetes", () => {
  it("has it, with the slice and the endpoints that the API server writes", async () => {
    const { text } = await run([CLUSTER], "get", "svc,endpointslices,endpoints");
    expect(text).toMatch(/service\/kubernetes +ClusterIP +10\.96\.0\.1 +<none> +443\/TCP/);
    expect(text).toMatch(/endpointslice\S*\/kubernetes +IPv4 +6443 +10\.0\.0\.254/);
    expect(text).toMatch(/endpoints\/kubernetes +10\.0\.0\.254:6443/);
    // pkg/controlplane/reconcilers/endpointsadapter.go writes the label of the Service, and no controller's.
    const yaml = await run([CLUSTER], "get", "endpointslices", "kubernetes", "-o", "yaml");
    expect(yaml.text).toContain("kubernetes.io/service-name: kubernetes");
    expect(yaml.text).not.toContain("managed-by");
  });

  it.each([
    ["L2Bridge", CLUSTER],
    ["Overlay", `${CLUSTER}network: { driver: Overlay, vni: 4096 }\n`],
    ["flannel vxlan", `${CLUSTER}network: { plugin: flannel, backend: vxlan }\n`],
    ["L2Tunnel", HEAD + TUNNEL],
  ])("is answered through the ClusterIP from Windows: %s", async (_, text) => {
    expect(await lastLine([text], "client", "service/kubernetes")).toMatch(
      /^Answered after .* kube-apiserver saw 10\.0\.0\.11:\d+\.$/,
    );
  });

  it("is asked by name: Linux by the short one, Windows by the full one", async () => {
    expect(await lastLine([CLUSTER], "tux", "https://kubernetes.default")).toContain("kube-apiserver saw");
    expect(await lastLine([CLUSTER], "tux", "http://kubernetes.default:443")).toContain("kube-apiserver saw");
    const windows = await run([CLUSTER], "trace", "client", "https://kubernetes.default");
    // The DNS limits that the Kubernetes documentation tells of Windows.
    expect(windows.text).toContain("dns-name-with-dot-not-completed");
    expect(await lastLine([CLUSTER], "client", "https://kubernetes.default.svc.cluster.local")).toContain(
      "kube-apiserver saw",
    );
  });

  it("verify says that it is assumed, and tries no flow with it", async () => {
    expect(await factOf([CLUSTER])).toEqual(["10.0.0.254:6443; Service kubernetes is added", "assumed"]);
    expect((await run([CLUSTER], "verify")).text).not.toContain("default/kubernetes");
  });

  it.each([["node-role.kubernetes.io/control-plane"], ["node-role.kubernetes.io/master"]])(
    "a node with label %s has the API server",
    async (label) => {
      const files = [CLUSTER, nodeObject("linux-1", "10.0.0.21", label)];
      expect(await factOf(files)).toEqual([
        "10.0.0.21:6443 on linux-1; Service kubernetes is added",
        "node/linux-1",
      ]);
      expect(await lastLine(files, "client", "service/kubernetes")).toContain("kube-apiserver-linux-1 saw");
    },
  );

  it("another Service with its address keeps it away, and verify says so", async () => {
    const other = own(
      "Service",
      "metadata: { name: first }\nspec: { clusterIP: 10.96.0.1, ports: [{ port: 80 }] }",
    );
    const [value] = await factOf([CLUSTER, other]);
    expect(value).toBe(
      "none: Service default/first has 10.96.0.1, the address of Service kubernetes, which is left out",
    );
    expect((await run([CLUSTER, other], "get", "svc")).text).not.toContain("kubernetes");
  });
});

describe("an input with Service kubernetes", () => {
  it.each([
    ["beside the nodes", "10.0.0.40"],
    ["behind the router", "20.61.180.9"],
  ])("its endpoint answers %s", async (_, ip) => {
    const files = [CLUSTER, SERVICE, SLICE(ip)];
    expect(await factOf(files)).toEqual([`${ip}:443`, "endpointslice/default/kubernetes"]);
    expect(await lastLine(files, "client", "service/kubernetes")).toContain("kube-apiserver saw 10.0.0.11");
  });

  it("without a slice gets one, for its own port", async () => {
    expect((await run([CLUSTER, SERVICE], "get", "endpointslices")).text).toMatch(
      /kubernetes +IPv4 +443 +10\.0\.0\.254/,
    );
    expect(await lastLine([CLUSTER, SERVICE], "client", "service/kubernetes")).toContain(
      "kube-apiserver saw",
    );
  });

  it("at an address of pods no machine is made up", async () => {
    const [value] = await factOf([CLUSTER, SERVICE, SLICE("10.244.9.9")]);
    expect(value).toBe("none: the API server is at 10.244.9.9, where no machine is here");
  });
});
