/**
 * Whole clusters as an edition of the Kubernetes page has them, beside the same as their builds have it: examples, dumps, and
 * workloads as people publish them.
 */
import { existsSync, globSync, readFileSync, readdirSync } from "node:fs";
import { runMullion } from "#cli/mullion/program.ts";
import { verify } from "#cli/mullion/verify.ts";
import type { VerifyFinding, VerifyReport } from "#cluster/verify/report.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import { MemoryTerminal } from "../cli/memory-terminal.ts";

export interface Input {
  readonly files: Readonly<Record<string, string>>;
  /** As it is given to verify. */
  readonly argument: string;
}

function folder(path: string, argument: string): Input {
  const paths = globSync(`${path}/**/*.{yaml,yml,json,conf,conflist}`);
  return { files: Object.fromEntries(paths.map((each) => [each, readFileSync(each, "utf8")])), argument };
}

/** A set-up of before CNI, which the editions of the page with CNI refuse; its own edition is in acs.test.ts. */
const BEFORE_CNI = "acs-2017";

/** By name. */
export const EXAMPLES: readonly (readonly [name: string, input: () => Input])[] = [
  ...readdirSync("examples")
    .filter((name) => name !== BEFORE_CNI && existsSync(`examples/${name}/cluster.yaml`))
    .map((name) => [name, () => folder(`examples/${name}`, `examples/${name}/cluster.yaml`)] as const),
  ...readdirSync("examples/dumps", { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map(
      ({ name }) =>
        [`dumps/${name}`, () => folder(`examples/dumps/${name}`, `examples/dumps/${name}`)] as const,
    ),
];

function workload(kind: string, name: string, spec: string, more = ""): string {
  const replicas = kind === "Deployment" ? "replicas: 2, " : "";
  return `---
apiVersion: apps/v1
kind: ${kind}
metadata: { name: ${name}, labels: { app: ${name} } }
spec: { ${replicas}selector: { matchLabels: { app: ${name} } }, template: { metadata: { labels: { app: ${name} } }, spec: { ${spec} } } }
${more}`;
}

const service = (name: string, spec: string): string => `---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { selector: { app: ${name} }, ${spec} }
`;

const WINDOWS = "nodeSelector: { kubernetes.io/os: windows }";
const LINUX = "nodeSelector: { kubernetes.io/os: linux }";
const AGENT = `${WINDOWS}, hostNetwork: true, tolerations: [{ operator: Exists }], securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\\\SYSTEM" } }, containers: [{ name: agent, image: agent }]`;

/** Shapes that public manifests for Windows nodes have (microsoft/SDN, rke2, K2s, eks-workshop, sig-windows-tools), in our words. */
export const PUBLISHED: Readonly<Record<string, string>> = {
  "a web server behind a load balancer":
    workload(
      "Deployment",
      "iis",
      `${WINDOWS}, containers: [{ name: iis, image: iis, ports: [{ containerPort: 80 }] }]`,
    ) + service("iis", "type: LoadBalancer, ports: [{ port: 80, targetPort: 80 }]"),
  "a NodePort that leads to a named port":
    workload(
      "Deployment",
      "app",
      `${WINDOWS}, containers: [{ name: app, image: app, ports: [{ name: http, containerPort: 3000 }] }]`,
    ) +
    service("app", "type: NodePort, ports: [{ name: web, port: 3000, nodePort: 30096, targetPort: http }]"),
  "shops on both systems that call each other":
    workload(
      "Deployment",
      "albums-win",
      `${WINDOWS}, containers: [{ name: c, image: c, ports: [{ containerPort: 8080 }] }]`,
    ) +
    service("albums-win", "ports: [{ name: http, port: 80, targetPort: 8080 }]") +
    workload(
      "Deployment",
      "albums-linux",
      `${LINUX}, containers: [{ name: c, image: c, ports: [{ containerPort: 8080 }] }]`,
    ) +
    service("albums-linux", "ports: [{ name: http, port: 80, targetPort: 8080 }]"),
  "ports of the host on every node":
    workload(
      "DaemonSet",
      "edge",
      `${WINDOWS}, containers: [{ name: c, image: c, ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 443, hostPort: 8443 }] }]`,
    ) + service("edge", "type: LoadBalancer, externalTrafficPolicy: Local, ports: [{ port: 80 }]"),
  "agents in HostProcess containers beside a sticky Service":
    workload("DaemonSet", "agent", AGENT) +
    workload(
      "Deployment",
      "login",
      `${WINDOWS}, containers: [{ name: c, image: c, ports: [{ containerPort: 8080 }] }]`,
    ) +
    service(
      "login",
      "type: NodePort, sessionAffinity: ClientIP, ports: [{ port: 80, targetPort: 8080, nodePort: 30088 }]",
    ),
};

const NETWORKS = {
  l2bridge: "",
  "host-gw": "network: { plugin: flannel, backend: host-gw }",
  vxlan: "network: { plugin: flannel, backend: vxlan }",
} as const;
export type NetworkName = keyof typeof NETWORKS;
export const NETWORK_NAMES: readonly NetworkName[] = ["l2bridge", "host-gw", "vxlan"];

/** A workload on two Windows nodes and a Linux node. */
export function published(name: string, build: string, network: NetworkName): Input {
  const cluster = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: published }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11 }
  - { name: win-2, os: windows, build: ${build}, address: 10.0.0.12 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
loadBalancers: { pool: 198.51.100.0/28 }
${NETWORKS[network]}
`;
  return { files: { "c.yaml": `${cluster}${PUBLISHED[name] ?? ""}` }, argument: "c.yaml" };
}

async function verified({ files, argument }: Input, words: readonly string[] = []): Promise<VerifyReport> {
  const terminal = new MemoryTerminal(files);
  const argv = ["verify", "-R", "-f", argument, "-o", "json", ...words];
  const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: true });
  if (code === 2) throw new Error(terminal.errors);
  return JSON.parse(terminal.output) as VerifyReport;
}

/** What a finding is about: a question, or a part of the input. */
function subjectOf({ cells }: VerifyReport, { cell, about = "" }: VerifyFinding): string {
  const asked = cells[cell ?? -1];
  if (asked === undefined) return about;
  const { flow, protocol, from, to, port, name, family } = asked;
  return [flow, protocol, from, to, port, name, family].filter((word) => word !== undefined).join(" ");
}

export interface EditionRun {
  /** Limits of the edition that packets showed: the rows that decided, each once. */
  readonly limits: readonly string[];
  /** Cells with a mark: there is no difference that could be marked. */
  readonly marked: number;
  /** Findings about what is none as the builds have it; not those about expectations of the cluster file. */
  readonly further: readonly string[];
}

/** The cluster as an edition has it, beside itself. */
export async function runAsEdition(input: Input, edition: Edition): Promise<EditionRun> {
  const plain = await verified(input);
  const report = await verified(input, ["--as-documented", edition]);
  const known = new Set(plain.findings.map((finding) => subjectOf(plain, finding)));
  const ofPage = report.cells.filter(
    ({ row, verdict }) => row.startsWith("PAGE-") && verdict === "as-expected",
  );
  return {
    limits: [...new Set(ofPage.map(({ row }) => row))].toSorted(),
    marked: report.cells.filter(({ documentation }) => documentation !== undefined).length,
    further: report.findings
      .filter(({ cell }) => report.cells[cell ?? -1]?.flow !== "cluster-file")
      .map((finding) => subjectOf(report, finding))
      .filter((subject) => !known.has(subject)),
  };
}
