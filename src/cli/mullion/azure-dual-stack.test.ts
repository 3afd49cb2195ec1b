// AKS with Azure CNI Overlay and both families, as a user asks about it: a cluster file and a dump, through trace and verify
// (learn.microsoft.com: azure-cni-overlay; Azure/azure-container-networking: cns/restserver/ipam.go, cni/network/invoker_cns.go).
import { describe, expect, it } from "vitest";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const NODES = [
  ["win-1", "windows", "10.224.0.5", "1.0/24"],
  ["win-2", "windows", "10.224.0.6", "2.0/24"],
  ["lin-1", "linux", "10.224.0.4", "3.0/24"],
] as const;

function clusterOf({
  build = "ws2022",
  kubernetes = "1.34",
  network = "shape: own-subnet",
  ranges = "",
} = {}): string {
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: harbour }
kubernetes: { version: "${kubernetes}" }
dns: { enabled: false }
nodes:
${NODES.map(
  ([name, os, address, range]) =>
    `  - { name: ${name}, os: ${os}, address: ${address}${os === "windows" ? `, build: ${build}` : ""}${ranges === "" ? "" : `, podCIDR: ${ranges}.${range}`} }`,
).join("\n")}
underlay: { subnet: 10.224.0.0/16 }
network: { plugin: azure-vnet, name: azure, ${network} }
ipv6: { enabled: true }
pods:
  - { name: quay, node: win-1, labels: { app: berth } }
  - { name: pier, node: win-2, labels: { app: berth }, ports: [{ port: 8080, hostPort: 8088 }] }
  - { name: buoy, node: lin-1 }
`;
}

const SERVICES = `apiVersion: v1
kind: Service
metadata: { name: both }
spec: { selector: { app: berth }, ipFamilyPolicy: RequireDualStack, ports: [{ port: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: second }
spec:
  { selector: { app: berth }, type: LoadBalancer, externalTrafficPolicy: Local, ipFamilies: [IPv6], ports: [{ port: 8080 }] }
status: { loadBalancer: { ingress: [{ ip: "2603:1020:203:3::51c" }] } }
`;

async function run(files: Readonly<Record<string, string>>, ...words: readonly string[]) {
  const terminal = new MemoryTerminal(files);
  const [verb = "", ...rest] = words;
  const argv = [verb, ...Object.keys(files).flatMap((name) => ["-f", name]), ...rest];
  const code = await runMullion({ argv, verbs: { verify, trace }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

async function walk(files: Readonly<Record<string, string>>, from: string, to: string): Promise<TraceReport> {
  const { out, err } = await run(
    files,
    "trace",
    from,
    to,
    "--port",
    "8080",
    "--family",
    "ipv6",
    "-o",
    "json",
  );
  if (out === "") throw new Error(err);
  return JSON.parse(out) as TraceReport;
}

function isAnswered({ expected, verdict }: VerifyReport["cells"][number]): boolean {
  return expected === "works" && verdict === "as-expected";
}

describe("a cluster file of AKS with both families", () => {
  const files = { "c.yaml": clusterOf(), "s.yaml": SERVICES };

  it("verify tries and answers flows of both, and judges all but those to the outside by IPv6", async () => {
    const { code, out } = await run(files, "verify", "-o", "json");
    const { cells, findings, basis } = JSON.parse(out) as VerifyReport;
    // What is not judged is a finding, unless it is allowed.
    expect(code).toBe(1);
    expect(findings.map(({ code: cause }) => cause)).toEqual(["ipv6-nat-not-settled"]);
    expect(basis.notJudged.map(({ code: cause }) => cause)).toEqual(["ipv6-nat-not-settled"]);
    const works = (family: "ipv6" | undefined, flow: string): number =>
      cells.filter((cell) => cell.family === family && cell.flow === flow && isAnswered(cell)).length;
    // TCP, UDP and ping between the nodes, each pair of systems and places once.
    expect(works("ipv6", "pod-to-pod-ip")).toBe(works(undefined, "pod-to-pod-ip"));
    expect(works("ipv6", "pod-to-pod-ip")).toBeGreaterThanOrEqual(9);
    expect(works("ipv6", "node-to-pod")).toBe(works(undefined, "node-to-pod"));
    // Service both has an address of each family, Service second of IPv6 alone.
    expect(works("ipv6", "pod-to-cluster-ip")).toBeGreaterThan(works(undefined, "pod-to-cluster-ip"));
    // The NodePort of a Service of IPv6 alone has no rival of the first family (kube-proxy.md §3.11).
    expect(works("ipv6", "outside-to-node-port")).toBeGreaterThan(0);
    expect(works("ipv6", "outside-to-ingress")).toBe(1);
    const unjudged = cells.filter(({ verdict }) => verdict === "not-judged");
    expect([...new Set(unjudged.map(({ flow, family }) => `${flow} ${family ?? ""}`))]).toEqual([
      "pod-to-external-ip ipv6",
    ]);
  });

  it("a pod's packets leave by the gateway of the fabric, and arrive with its own address", async () => {
    const report = await walk(files, "pod/quay", "pod/pier");
    const text = JSON.stringify(report);
    expect(report.answer).toMatch(/^pier saw \[fd00:10:244::\w+\]:/);
    expect(text).toContain("fe80::1234:5678:9abc");
    expect(text).toContain("12-34-56-78-9A-BC");
    expect(await walk(files, "node/win-1", "pod/pier")).toMatchObject({ verdict: "answered" });
  });

  it("without DSR a Service of IPv6 is behind the node's own port", async () => {
    const report = await walk(files, "pod/quay", "service/second");
    expect(report.answer).toMatch(/^(quay|pier) saw \[fd00:10::5\]:/);
    expect(JSON.stringify(report)).toContain("SDN_ROUTE_L2_REWRITE_GROUP_IPV6_OUT");
  });

  it("the outside reaches the load balancer's address and no pod", async () => {
    expect(await walk(files, "external", "2603:1020:203:3::51c")).toMatchObject({ verdict: "answered" });
    expect((await walk(files, "external", "pod/quay")).verdict).not.toBe("answered");
  });

  it("a packet to the outside by IPv6 is not judged, with the reason, and one by IPv4 is", async () => {
    const { notJudged } = await walk(files, "pod/quay", "external");
    expect(notJudged).toMatchObject([{ code: "ipv6-nat-not-settled" }]);
    const { out } = await run(files, "trace", "pod/quay", "external", "--port", "443");
    expect(out).toMatch(/\nAnswered after .*: external saw 10\.224\.0\.5:\d+\.\n$/);
  });
});

describe("AKS has dual stack with an overlay alone", () => {
  // https://github.com/Azure/AKS/issues/4389; learn.microsoft.com/en-us/azure/aks/azure-cni-overlay; hcn.md §7.1.
  it.each([
    [
      { network: "shape: node-subnet", ranges: "10.224" },
      "Azure CNI in shape node-subnet has IPv4 alone: AKS has dual stack with Azure CNI Overlay",
    ],
    [
      { network: "shape: pod-subnet, clusterCIDR: 10.241.0.0/16", ranges: "10.241" },
      "Azure CNI in shape pod-subnet has IPv4 alone: AKS has dual stack with Azure CNI Overlay",
    ],
    [{ kubernetes: "1.25" }, "Azure CNI Overlay has dual stack from Kubernetes 1.26.3 on, and this is 1.25"],
    [{ build: "ws2019" }, "HNS of Windows Server 2019 knows no dual stack"],
  ])("%j is refused", async (options, message) => {
    const { code, err } = await run({ "c.yaml": clusterOf(options) }, "verify");
    expect(code).toBe(2);
    expect(err.replaceAll(/\s+/g, " ")).toContain(message);
  });
});
