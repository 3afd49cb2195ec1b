/**
 * Sentences of the Kubernetes page that are about no flow between two: each is tried by what comes up on a build, or by what
 * a program answers. Expected is what documents say of the build, observed is what the run says.
 */
import { readFileSync } from "node:fs";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { serviceClusterFile, serviceManifests } from "./service-cluster.ts";
import { bridgeNode, overlayNode } from "../cni/windows-plugin-node.ts";

/** One sentence on one build, or in one situation. */
export interface PageTrial {
  /** Its id. */
  readonly sentence: string;
  /** The build, or what decides instead. */
  readonly on: string;
  /** `works`, or a code. */
  readonly expected: string;
  readonly observe: () => Promise<string>;
}

interface Shape {
  readonly build?: string;
  readonly kubernetes?: string;
  /** Further lines of the cluster file. */
  readonly more: string;
}

function clusterFile({ build = "ws2022", kubernetes = "1.34", more }: Shape): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: page }
kubernetes: { version: "${kubernetes}" }
nodes:
  - { name: win-1, os: windows, build: "${build}", address: 10.0.0.11 }
  - { name: win-2, os: windows, build: "${build}", address: 10.0.0.12 }
${more}
pods: [{ name: a, node: win-1, labels: { app: a } }, { name: b, node: win-2 }]
---
apiVersion: v1
kind: Service
metadata: { name: a }
spec: { sessionAffinity: ClientIP, selector: { app: a }, ports: [{ port: 80, targetPort: 8080 }] }
`;
}

/** What verify says of the texts, or the codes with which they are refused. */
async function verified(...texts: readonly string[]): Promise<VerifyReport | { readonly refused: string }> {
  const read = readInput(texts.map((text, index) => ({ name: `page-${index}.yaml`, text })));
  if (!("input" in read)) return { refused: [...new Set(read.problems.map(({ code }) => code))].join(", ") };
  const { session } = await openSession(read.input);
  return verifyCluster(session.cluster, undefined, {
    troubles: session.troubles(),
    limits: session.limits(),
  });
}

const FIRST_CODE = /^[a-z0-9]+(?:-[a-z0-9]+)+/;

/** Works when all of the cluster comes up; else the code of what did not, on the first node or in a pod of it. */
async function comesUp(
  texts: readonly string[],
  reference = "node/win-1",
  code = FIRST_CODE,
): Promise<string> {
  const report = await verified(...texts);
  if ("refused" in report) return report.refused;
  const found = report.findings.find(({ cell }) => {
    const { flow, from } = report.cells[cell ?? -1] ?? {};
    return flow === "bring-up" && from?.startsWith(reference) === true;
  });
  return found === undefined ? "works" : (code.exec(found.observed)?.[0] ?? found.observed);
}

/** Works when every cell that is meant came out as expected, and there was one. */
async function fares(isMeant: (cell: VerifyCell) => boolean, ...texts: readonly string[]): Promise<string> {
  const report = await verified(...texts);
  if ("refused" in report) return report.refused;
  const cells = report.cells.filter(isMeant);
  const failed = cells.filter(({ verdict, expected }) => verdict !== "as-expected" || expected !== "works");
  if (cells.length === 0) return "not tried";
  return failed.length === 0 ? "works" : failed.map(({ code, verdict }) => code ?? verdict).join(", ");
}

/** Works when the plugins name CNI 0.4.0, and answer its CHECK. */
async function checks(): Promise<string> {
  for (const [node, type, name] of [
    [bridgeNode("upstream"), "win-bridge", "cbr0"],
    [overlayNode("upstream"), "win-overlay", "vxlan0"],
  ] as const) {
    const conf = { cniVersion: "0.4.0", name, type, apiVersion: 2, ipam: { type: "host-local" } };
    const version = await node.run("VERSION", { cniVersion: "0.4.0" });
    if (!version.stdout.includes('"0.4.0"')) return `${type} does not name 0.4.0`;
    const added = await node.run("ADD", conf);
    const prevResult: unknown = JSON.parse(added.stdout);
    const checked = await node.run("CHECK", { ...conf, prevResult });
    if (added.status !== 0 || checked.status !== 0) return `${type}: ${added.stdout}${checked.stdout}`;
  }
  return "works";
}

function example(folder: string, change: (text: string) => string = (text) => text): readonly string[] {
  const read = (file: string): string => readFileSync(`examples/${folder}/${file}`, "utf8");
  return [change(read("cluster.yaml")), read("shop.yaml")];
}

/** A Windows node without an address of IPv4, as its cluster shows it. */
const IPV6_NODE = `
apiVersion: v1
kind: Node
metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
spec: { podCIDR: "fd00:10::/64", podCIDRs: ["fd00:10::/64"] }
status:
  nodeInfo: { kernelVersion: 10.0.20348.2582, kubeProxyVersion: v1.34.1, operatingSystem: windows }
  addresses: [{ type: InternalIP, address: "fd00::11" }]
`;

const VXLAN = "network: { plugin: flannel, backend: vxlan }";
const DSR = "kubeProxy: { enableDSR: true }";
const DUAL = "network: { plugin: hns }\nipv6: { enabled: true }";
/** What was copied from a Linux node, with the number of this one. */
const COPIED = `    files:
      /run/flannel/subnet.env: "FLANNEL_NETWORK=10.244.0.0/16\\nFLANNEL_SUBNET=10.244.0.1/24\\nFLANNEL_MTU=1450\\nFLANNEL_IPMASQ=true\\n"
`;
const isIpv6ToService = ({ family, flow }: VerifyCell): boolean =>
  family === "ipv6" && (flow === "pod-to-pod-ip" || flow === "pod-to-cluster-ip");

export const PAGE_TRIALS: readonly PageTrial[] = [
  {
    sentence: "PAGE-DSR-2019",
    on: "ws2019.1431",
    expected: "kube-proxy-cannot-start",
    observe: async () => comesUp([clusterFile({ build: "ws2019.1431", more: DSR })]),
  },
  ...["ws2019.1432", "1903"].map((build) => ({
    sentence: "PAGE-DSR-2019",
    on: build,
    expected: "works",
    observe: async () => comesUp([clusterFile({ build, more: DSR })]),
  })),
  {
    sentence: "PAGE-AFFINITY-PREVIEW",
    on: "build 19551",
    expected: "runs as 2004",
    observe: async () => {
      const report = await verified(clusterFile({ build: "10.0.19551", more: "" }));
      const cell =
        "cells" in report ? report.cells.find(({ flow }) => flow === "session-affinity") : undefined;
      return cell === undefined ? "not tried" : `runs as ${cell.fromSystem}`;
    },
  },
  {
    sentence: "PAGE-VXLAN-PORT",
    on: "every build",
    expected: "flannel-vxlan-port-not-4789",
    observe: async () => comesUp([clusterFile({ more: VXLAN.replace("}", ", vxlanPort: 8472 }") })]),
  },
  { sentence: "PAGE-CNI-CHECK", on: "plugins from 1.0 on", expected: "works", observe: checks },
  ...["ws2019", "ws2022"].map((build) => ({
    sentence: "PAGE-DUAL-STACK-2019",
    on: build,
    expected: build === "ws2019" ? "denied" : "works",
    observe: async () => fares(isIpv6ToService, clusterFile({ build, more: DUAL })),
  })),
  ...["ws2022", "ws2025"].map((build) => ({
    sentence: "PAGE-OVERLAY-IPV6",
    on: build,
    expected: "cluster-file-driver-mismatch",
    observe: async () =>
      fares(
        isIpv6ToService,
        clusterFile({ build, more: "network: { driver: Overlay }\nipv6: { enabled: true }" }),
      ),
  })),
  {
    sentence: "PAGE-IPV6-ALONE",
    on: "every build",
    expected: "node-ipv6-only",
    observe: async () => {
      const read = readInput([{ name: "node.yaml", text: IPV6_NODE }]);
      const said = "input" in read ? read.input.contradictions : read.problems;
      return Promise.resolve(said.map(({ code }) => code).join(", ") || "works");
    },
  },
  {
    sentence: "PAGE-HOST-NETWORK-DNS",
    on: "every build",
    expected: "dns-host-network-policy-unsupported",
    observe: async () => {
      const agent = `
apiVersion: v1
kind: Pod
metadata: { name: agent }
spec:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  nodeSelector: { kubernetes.io/os: windows }
  securityContext: { windowsOptions: { hostProcess: true } }
  containers: [{ name: c, image: x }]
`;
      const texts = [serviceClusterFile(), `${serviceManifests()}---${agent}`];
      const read = readInput(texts.map((text, index) => ({ name: `page-${index}.yaml`, text })));
      if (!("input" in read)) return read.problems.map(({ message }) => message).join(", ");
      const { session } = await openSession(read.input);
      const asked = { from: "pod/default/agent", to: "web.default.svc.cluster.local", port: 80 };
      const { report } = tracePacket(session.cluster, { ...asked, protocol: "tcp" });
      return report.code ?? report.verdict;
    },
  },
  {
    // The oldest version that is carried out; its gate IPv6DualStack is on where the cluster file has two families.
    sentence: "PAGE-DUAL-STACK-1-19",
    on: "Kubernetes 1.20",
    expected: "works",
    observe: async () => fares(isIpv6ToService, clusterFile({ kubernetes: "1.20", more: DUAL })),
  },
  {
    sentence: "PAGE-OVERLAY-UPDATE",
    on: "ws2019.378",
    expected: "flannel-network-not-made",
    observe: async () => comesUp([clusterFile({ build: "ws2019.378", more: VXLAN })]),
  },
  ...["ws2019.348", "ws2019.379"].map((build) => ({
    sentence: "PAGE-OVERLAY-KUBE-PROXY",
    on: build,
    expected: build === "ws2019.348" ? "kube-proxy-cannot-start" : "works",
    observe: async () =>
      comesUp([clusterFile({ build, more: VXLAN })], "node/win-1", /kube-proxy(?:-[a-z]+)+/),
  })),
  {
    sentence: "PAGE-OVERLAY-ALPHA",
    on: "Kubernetes 1.20",
    expected: "works",
    observe: async () => comesUp([clusterFile({ kubernetes: "1.20", more: VXLAN })]),
  },
  {
    sentence: "PAGE-OVERLAY-BETA",
    on: "Kubernetes 1.30",
    expected: "works",
    observe: async () => comesUp([clusterFile({ kubernetes: "1.30", more: VXLAN })]),
  },
  {
    sentence: "PAGE-HOSTNAME-OVERRIDE",
    on: "Kubernetes 1.20 and later",
    expected: "works",
    // The pods of the node have their endpoints, and answer.
    observe: async () =>
      fares(
        ({ flow, fromSystem }) => flow === "pod-to-pod-ip" && fromSystem === "ws2022",
        ...example("trouble-hostname"),
      ),
  },
  {
    sentence: "PAGE-SUBNET-ENV",
    on: "every build",
    expected: "cni-network-not-found",
    observe: async () =>
      comesUp(
        example("trouble-subnet-env", (text) => text.replace("  - name: win-2", `${COPIED}  - name: win-2`)),
        "pod/default/",
      ),
  },
];
