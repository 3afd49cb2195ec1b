/** The program with a control plane behind it: Node, selectors, events. The control plane in memory stands for a server. */
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { SourceFeed } from "#programs/kube-proxy/daemon/source-feed.ts";
import { parsePrefix } from "#core/net/ip.ts";
import {
  NETWORK,
  ProgramRun,
  nodeWithDualPod,
  nodeWithPod,
} from "#test/support/kube-proxy/kube-proxy-program.ts";

const NODE = `apiVersion: v1
kind: Node
metadata: {name: win-1}
status: {addresses: [{type: ExternalIP, address: 20.0.0.1}, {type: InternalIP, address: 10.0.0.11}]}
`;
const NODE_MOVED = NODE.replace("10.0.0.11", "10.0.0.12");
const WEB = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: 10.96.0.20, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.244.1.4], nodeName: win-1}]
`;
const PROGRAMMED = ["10.96.0.20:80→8080 [10.244.1.4]"];

interface Plane {
  readonly kube: MemoryKube;
  readonly source: MemoryKubeSource;
  apply(text: string): void;
}

function plane(...texts: readonly string[]): Plane {
  const serviceCIDRs = ["10.96.0.0/12", "fd00:96::/112"].flatMap((text) => parsePrefix(text) ?? []);
  const kube = new MemoryKube(new Prng(1), { clusterCIDRs: [], serviceCIDRs });
  const apply = (text: string): void => {
    kube.apply(loadManifests([{ name: "objects.yaml", text }]).objects);
    kube.reconcile();
  };
  for (const text of texts) apply(text);
  return { kube, source: new MemoryKubeSource(kube), apply };
}

async function start({ source }: Plane, ...words: readonly string[]): Promise<ProgramRun> {
  const run = new ProgramRun({
    argv: [`--network-name=${NETWORK}`, "--v=2", ...words],
    hns: await nodeWithPod(),
    feed: (clock) => new SourceFeed({ source, clock, hostname: "win-1" }),
  });
  await run.pass(3);
  return run;
}

/** A Service of both families whose pod is on this node. */
const DUAL = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  clusterIPs: [10.96.0.20, "fd00:96::20"]
  clusterIP: 10.96.0.20
  ipFamilies: [IPv4, IPv6]
  ipFamilyPolicy: RequireDualStack
  ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30080}]
${[
  ["IPv4", "10.244.1.4"],
  ["IPv6", "fd00:1::4"],
]
  .map(
    ([family, address]) => `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-${family}, labels: {kubernetes.io/service-name: web}}
addressType: ${family}
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: ["${address}"], nodeName: win-1}]
`,
  )
  .join("")}`.replaceAll("web-IPv", "web-ipv");

describe("with an API server", () => {
  // Taken in turns, the second family finds the first one's node port and takes it for its own (up to 1.35).
  it("upstream: both families read HNS before either has made its node port", async () => {
    const { source } = plane(NODE, DUAL);
    const run = new ProgramRun({
      argv: [`--network-name=${NETWORK}`, "--mullion-compat=upstream", "--mullion-kubernetes=1.35"],
      hns: await nodeWithDualPod(),
      feed: (clock) => new SourceFeed({ source, clock, hostname: "win-1" }),
    });
    await run.pass(3);
    const nodePort = ":30080→8080 [10.244.1.4]";
    const made = (await run.loadBalancers()).filter((each) => each.startsWith(":"));
    expect(made).toEqual([nodePort, nodePort]);
    await run.stop();
  });

  it("takes the node's internal address first, programs, follows, and tells its start as an event", async () => {
    const server = plane(NODE, WEB);
    const run = await start(server);
    expect(run.terminal.errors).toContain('NodeIPs=["10.0.0.11"]');
    expect(await run.loadBalancers()).toEqual(PROGRAMMED);
    server.apply(WEB.replaceAll("web", "api").replace("10.96.0.20", "10.96.0.21"));
    await run.pass(3);
    expect(await run.loadBalancers()).toHaveLength(2);
    server.kube.delete("Service", "default", "web");
    await run.pass(3);
    expect(await run.loadBalancers()).toEqual(["10.96.0.21:80→8080 [10.244.1.4]"]);
    expect(server.kube.objects("Event")).toMatchObject([
      {
        metadata: { namespace: "default" },
        involvedObject: { kind: "Node", name: "win-1" },
        type: "Normal",
        reason: "Starting",
        action: "StartKubeProxy",
        source: { component: "kube-proxy", host: "win-1" },
      },
    ]);
    await run.stop();
  });

  it("does not look at Services that are somebody else's", async () => {
    const other = WEB.replace(
      "{name: web}",
      "{name: web, labels: {service.kubernetes.io/service-proxy-name: other}}",
    );
    const run = await start(plane(NODE, other));
    expect(await run.loadBalancers()).toEqual([]);
    await run.stop();
  });

  it.each([
    ["1.35", []],
    ["1.36", PROGRAMMED],
  ] as const)("in %s a Service with the label of headless ones, and an address", async (version, made) => {
    const labelled = WEB.replace("{name: web}", '{name: web, labels: {service.kubernetes.io/headless: ""}}');
    const run = await start(plane(NODE, labelled), `--mullion-kubernetes=${version}`);
    expect(await run.loadBalancers()).toEqual(made);
    await run.stop();
  });

  it.each([
    ["upstream", 0],
    ["hardened", 1],
  ] as const)(
    "%s: --bind-address and no Node: %i load balancers after three seconds",
    async (compat, count) => {
      const run = await start(plane(WEB), "--bind-address=10.0.0.11", `--mullion-compat=${compat}`);
      expect(await run.loadBalancers()).toHaveLength(count);
      await run.pass(30);
      expect(await run.loadBalancers()).toEqual(PROGRAMMED);
      await run.stop();
    },
  );

  it("waits half a minute for its Node, and goes on without", async () => {
    const run = await start(plane(WEB));
    await run.pass(20);
    expect(await run.loadBalancers()).toEqual([]);
    await run.pass(15);
    expect(run.terminal.errors).toContain('"There is no such Node" node="win-1"');
    expect(run.terminal.errors).toContain("assuming loopback");
    expect(await run.loadBalancers()).toEqual(PROGRAMMED);
    await run.stop();
  });

  it("goes on as soon as the Node comes", async () => {
    const server = plane(WEB);
    const run = await start(server);
    server.apply(NODE);
    await run.pass(3);
    expect(await run.loadBalancers()).toEqual(PROGRAMMED);
    await run.stop();
  });

  it.each([
    ["hardened", 1],
    ["upstream", 0],
  ] as const)(
    "%s: an address that is given spares the wait: %i load balancer after 3 s",
    async (compat, count) => {
      const run = await start(plane(WEB), "--bind-address=10.0.0.11", `--mullion-compat=${compat}`);
      expect(await run.loadBalancers()).toHaveLength(count);
      await run.pass(32);
      expect(await run.loadBalancers()).toEqual(PROGRAMMED);
      await run.stop();
    },
  );

  it.each([
    [36, undefined],
    [37, 1],
  ] as const)("1.%i: other addresses of the node end it: %s", async (minor, exitCode) => {
    const server = plane(NODE, WEB);
    const run = await start(server, `--mullion-kubernetes=1.${minor}`);
    server.apply(NODE_MOVED);
    await run.pass(3);
    expect(run.exitCode).toBe(exitCode);
    if (exitCode === undefined) await run.stop();
    else
      expect(run.terminal.errors).toContain(
        "the Node win-1 has other addresses: 10.0.0.12 instead of 10.0.0.11",
      );
  });

  it("a node that the autoscaler takes away is not healthy, and live", async () => {
    const server = plane(NODE, WEB);
    const run = await start(server);
    const spec = "spec: {taints: [{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}]}\n";
    server.apply(`${NODE}${spec}`);
    await run.pass(1);
    expect(await run.get("0.0.0.0:10256", "/healthz")).toMatchObject({ status: 503 });
    expect(await run.get("0.0.0.0:10256", "/livez")).toMatchObject({ status: 200 });
    await run.stop();
  });

  it("a health check that cannot listen is an event of its Service, counted when it comes again", async () => {
    const more = "externalTrafficPolicy: Local, type: LoadBalancer, healthCheckNodePort: 32000, ";
    const server = plane(NODE, WEB.replace("spec: {", `spec: {${more}`));
    const run = new ProgramRun({
      argv: [`--network-name=${NETWORK}`],
      hns: await nodeWithPod(),
      feed: (clock) => new SourceFeed({ source: server.source, clock, hostname: "win-1" }),
      taken: new Set(["0.0.0.0:32000"]),
    });
    await run.pass(65);
    const events = server.kube.objects("Event").filter(({ type }) => type === "Warning");
    expect(events).toMatchObject([
      {
        involvedObject: { kind: "Service", namespace: "default", name: "web" },
        reason: "FailedToStartServiceHealthcheck",
        action: "Listen",
        count: 3,
      },
    ]);
    await run.stop();
  });
});
