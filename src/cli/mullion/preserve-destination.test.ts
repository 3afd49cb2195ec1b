// The annotation preserve-destination, address by address: what comes to the pod, and what it answers. kube-proxy sets
// PreserveDIP for addresses of load balancers alone; ports of nodes lead to pods of the node alone, and the ClusterIP is as
// ever (pkg/proxy/winkernel/proxier.go, syncProxyRules; dataplane.md §10).
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const CLUSTER = (build = "ws2022"): string => `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
dns: { enabled: false }
nodes:
  - { name: win-1, os: windows, build: "${build}", address: 10.0.0.11 }
  - { name: win-2, os: windows, build: "${build}", address: 10.0.0.12 }
pods:
  - { name: client, node: win-2 }
  - { name: web, node: win-1, labels: { app: web } }
`;
const SERVICE = (annotation: string): string => `
apiVersion: v1
kind: Service
metadata: { name: keep, annotations: { preserve-destination: "${annotation}" } }
spec:
  type: LoadBalancer
  selector: { app: web }
  clusterIP: 10.96.0.20
  ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }]
status: { loadBalancer: { ingress: [{ ip: 192.0.2.9 }] } }
`;

async function run(words: string, annotation = "true", build?: string): Promise<string> {
  const terminal = new MemoryTerminal({ "c.yaml": CLUSTER(build), "s.yaml": SERVICE(annotation) });
  const [verb = "", ...rest] = words.split(" ");
  const argv = [verb, "-f", "c.yaml", "-f", "s.yaml", ...rest];
  await runMullion({ argv, verbs: { trace, verify }, terminal, version: "0", isDebug: false });
  return terminal.output.replaceAll(/\s+/g, " ");
}

describe("preserve-destination", () => {
  it("ClusterIP: the pod gets its own address as destination, and answers", async () => {
    const text = await run("trace client service/keep");
    expect(text).toMatch(/Answered after .* web saw 10\.0\.0\.12:/);
  });

  it("NodePort of the pod's node: the pod gets its own address, and answers; the client is translated", async () => {
    expect(await run("trace external 10.0.0.11 --port 30080")).toMatch(
      /Answered after .* web saw 10\.0\.0\.11:/,
    );
  });

  it("NodePort of another node: nothing is programmed, for nodes do not pass on to each other", async () => {
    expect(await run("trace external 10.0.0.12 --port 30080")).toContain("nothing listens on the port");
  });

  it("load balancer: the pod gets the load balancer's address, and answers only if that is its own", async () => {
    const text = await run("trace external 192.0.2.9 --port 80");
    expect(text).toContain("203.0.113.10");
    expect(text).toContain("192.0.2.9 is not an address of pod default/web");
    expect(text).toContain("mullion explain destination-not-local");
  });

  it("verify expects all of it", async () => {
    const text = await run("verify");
    expect(text).toContain("Observed and expected agree.");
    expect(text).toMatch(/outside → node\/win-2 denied service-without-usable-endpoints/);
    expect(text).toMatch(/outside → 192\.0\.2\.9 denied\* destination-not-local/);
  });

  // kube-proxy.md §1.1: the value is "true" and nothing else, and HNS has DSR.
  it.each([
    ["another spelling", "True", undefined],
    ["a build whose HNS has no DSR", "true", "17763.1000"],
  ])("is not active with %s: the load balancer leads to the pod", async (_, annotation, build) => {
    expect(await run("trace external 192.0.2.9 --port 80", annotation, build)).toMatch(
      /Answered after .* web saw 10\.0\.0\.11:/,
    );
  });
});
