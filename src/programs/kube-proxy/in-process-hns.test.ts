/** Rows of the decision table against Mullion's own HNS: what it keeps is what kube-proxy asked for. */
import { describe, expect, it } from "vitest";
import { assert, defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  createEndpoint,
  createNetwork,
  listEndpoints,
  listLoadBalancers,
} from "#contracts/hcn/operations.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import { parsePrefix } from "#core/net/ip.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";
import {
  ADDRESS,
  type EndpointLike,
  NODE_NAME,
  NODE_PORT,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import { formatLoadBalancer, formatRemoteEndpoint } from "#test/support/kube-proxy/load-balancer-notation.ts";
import { type KubeProxy, ProxyObjects, createKubeProxy, followSource } from "./mod.ts";

const LOCAL_IP = "10.244.2.10";
const REMOTE_IP = "10.244.3.5";
const LOCAL: EndpointLike = { at: { address: LOCAL_IP, node: NODE_NAME } };
const REMOTE: EndpointLike = { at: { address: REMOTE_IP, node: "other-node" } };
const NAMES: ReadonlyMap<string, string> = new Map([
  [LOCAL_IP, "L"],
  [REMOTE_IP, "R"],
  ...Object.entries(ADDRESS).map(([name, address]) => [address, name] as const),
]);

function podManifest(name: string, node: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: web}}
spec:
  nodeName: ${node}
  containers: [{name: web, image: web, ports: [{name: http, containerPort: 8080}]}]
---`;
}

function nodeManifest(name: string): string {
  return `
apiVersion: v1
kind: Node
metadata: {name: ${name}}
status: {nodeInfo: {operatingSystem: windows, architecture: amd64, kernelVersion: 10.0.20348.2582}}
---`;
}

/** A pod on this node, one on another, and a Service with a named port before both. */
const MANIFEST = `${nodeManifest(NODE_NAME)}${nodeManifest("other-node")}
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---${podManifest("here", NODE_NAME)}${podManifest("there", "other-node")}
`;

class World {
  readonly node: HnsNode;
  readonly objects: ProxyObjects = new ProxyObjects();
  proxy: KubeProxy;

  constructor(profile: string) {
    this.node = hnsNode({ profile });
    this.proxy = this.newProxy();
  }

  newProxy(enableDSR = false): KubeProxy {
    return createKubeProxy({
      client: this.node.client,
      objects: this.objects,
      options: {
        kubernetes: { major: 1, minor: 36 },
        compat: "upstream",
        hostname: NODE_NAME,
        nodeIp: "10.0.2.15",
        networkName: "cbr0",
        enableDSR,
      },
    });
  }

  /** Makes the network and the local pod, starts, and makes the first sync. Without objects: somebody else feeds them. */
  async begin(services?: readonly Service[], slices: readonly EndpointSlice[] = []): Promise<void> {
    const network = (await createNetwork(this.node.client, CBR0)).ID;
    await createEndpoint(this.node.client, network, { IpConfigurations: [{ IpAddress: LOCAL_IP }] });
    if (services !== undefined) {
      this.objects.servicesListed(services);
      this.objects.endpointSlicesListed(slices);
    }
    const { state } = await this.proxy.start();
    assert(state === "running", `kube-proxy is ${state}`);
    await this.proxy.sync();
  }

  async loadBalancers(): Promise<readonly string[]> {
    const endpoints = new Map<string, HostComputeEndpoint>();
    for (const endpoint of await listEndpoints(this.node.client)) endpoints.set(endpoint.ID, endpoint);
    const listed = await listLoadBalancers(this.node.client);
    return listed.map((document) => formatLoadBalancer(document, endpoints, NAMES)).toSorted();
  }

  async remoteEndpoints(): Promise<readonly string[]> {
    const listed = await listEndpoints(this.node.client);
    return listed
      .filter(({ Flags }) => Flags === 1)
      .map((endpoint) =>
        formatRemoteEndpoint(endpoint, this.proxy.proxier(4)?.referencesTo(endpoint.ID) ?? 0, NAMES),
      );
  }
}

const C_BOTH = "C:80→8080 [L,R] L0 P0 D0";

describe("kube-proxy over Mullion's HNS", () => {
  it("KP-B3 KP-B18 ClusterIP with a local and a remote back end", async () => {
    const world = new World("ws2022");
    await world.begin([service()], [slice([LOCAL, REMOTE])]);
    expect(await world.loadBalancers()).toEqual([C_BOTH]);
    expect(await world.remoteEndpoints()).toEqual(["R ×1"]);
    const before = await listLoadBalancers(world.node.client);
    await world.proxy.sync();
    expect(await listLoadBalancers(world.node.client)).toEqual(before);
    expect(world.proxy.services().map(({ isApplied }) => isApplied)).toEqual([true]);
  });

  it("KP-D2 KP-B10 external policy Local and DSR", async () => {
    const world = new World("ws2022");
    world.proxy = world.newProxy(true);
    const svc = service({ spec: { type: "NodePort", ports: NODE_PORT, externalTrafficPolicy: "Local" } });
    await world.begin([svc], [slice([LOCAL, REMOTE])]);
    expect(await world.loadBalancers()).toEqual(["C:80→8080 [L,R] L1 P0 D0", "∅:3001→8080 [L] L1 P18 D0"]);
  });

  it("KP-F4 preserve-destination", async () => {
    const world = new World("ws2022");
    const svc = service({
      spec: { type: "LoadBalancer", ports: NODE_PORT },
      ingress: [{ ip: ADDRESS.G }],
      annotations: { "preserve-destination": "true" },
    });
    await world.begin([svc], [slice([LOCAL, REMOTE])]);
    expect(await world.loadBalancers()).toEqual([
      C_BOTH,
      "G:80→8080 [L] L1 P28 D0",
      "∅:3001→8080 [L] L0 P18 D0",
    ]);
  });

  it("KP-H1 KP-H7 KP-H9 back ends come and go", async () => {
    const world = new World("ws2022");
    await world.begin([service()], [slice([REMOTE])]);
    const [first] = await listLoadBalancers(world.node.client);
    world.objects.endpointSliceChanged(undefined, slice([REMOTE, LOCAL]));
    await world.proxy.sync();
    expect(await world.loadBalancers()).toEqual([C_BOTH]);
    const [second] = await listLoadBalancers(world.node.client);
    expect(second?.ID).not.toBe(first?.ID);
    world.objects.endpointSliceChanged(undefined, slice([LOCAL]));
    await world.proxy.sync();
    expect(await world.loadBalancers()).toEqual(["C:80→8080 [L] L0 P0 D0"]);
    expect(await world.remoteEndpoints()).toEqual([]);
    const third = await listLoadBalancers(world.node.client);
    world.objects.endpointSliceChanged(
      undefined,
      slice([LOCAL, { at: { address: REMOTE_IP, node: "x" }, is: "unready" }]),
    );
    await world.proxy.sync();
    expect((await listLoadBalancers(world.node.client)).map(({ ID }) => ID)).toEqual(
      third.map(({ ID }) => ID),
    );
  });

  it("KP-B19 KP-S10 a new process removes all load balancers and adopts the remote endpoint", async () => {
    const world = new World("ws2022");
    await world.begin([service()], [slice([LOCAL, REMOTE])]);
    world.proxy = world.newProxy();
    await world.proxy.start();
    expect(await world.loadBalancers()).toEqual([]);
    await world.proxy.sync();
    expect(await world.loadBalancers()).toEqual([C_BOTH]);
    expect(await world.remoteEndpoints()).toEqual(["R ×1"]);
  });

  it("KP-B17 more back ends than the build takes: not applied, with the code that explains it", async () => {
    const world = new World("ws2019.1432");
    const many = Array.from(
      { length: 65 },
      (_, n): EndpointLike => ({
        at: { address: `10.244.3.${n + 1}`, node: "other-node" },
      }),
    );
    await world.begin([service()], [slice(many)]);
    expect(await world.loadBalancers()).toEqual([]);
    const [status] = world.proxy.service("default", "svc");
    expect(status?.isApplied).toBe(false);
    expect(status?.findings.map(({ code }) => code)).toEqual(["too-many-back-ends"]);
    expect(status?.findings[0]?.message).toMatch(
      /^The ClusterIP 10\.20\.30\.41 is not programmed with 65 back ends: /,
    );
  });

  it("KP-D4 Server 2019 before KB4571748 has no DSR: policy Local counts as Cluster", async () => {
    const world = new World("ws2019.1217");
    const svc = service({ spec: { type: "NodePort", ports: NODE_PORT, externalTrafficPolicy: "Local" } });
    await world.begin([svc], [slice([LOCAL, REMOTE])]);
    expect(await world.loadBalancers()).toEqual([C_BOTH, "∅:3001→8080 [L,R] L0 P18 D0"]);
    expect(world.proxy.services().flatMap(({ findings }) => findings.map(({ code }) => code))).toEqual([
      "external-traffic-policy-local-without-dsr",
    ]);
  });

  it("from a manifest to a load balancer, and back", async () => {
    const kube = new MemoryKube(new Prng(1), {
      clusterCIDRs: [defined(parsePrefix("10.244.0.0/16"), "a prefix")],
      serviceCIDRs: [defined(parsePrefix("10.96.0.0/16"), "a prefix")],
    });
    const { objects, problems } = loadManifests([{ name: "web.yaml", text: MANIFEST }]);
    expect(problems).toEqual([]);
    kube.apply(objects);
    const run = (name: string, podIP: string): void => {
      const conditions = [{ type: "Ready", status: "True" }] as const;
      kube.setPodStatus("default", name, { phase: "Running", podIP, conditions });
    };
    const world = new World("ws2022");
    const stop = await followSource(kube, world.objects);
    await world.begin();
    expect(await world.loadBalancers()).toEqual([]);
    run("here", LOCAL_IP);
    run("there", REMOTE_IP);
    kube.reconcile();
    await world.proxy.sync();
    const clusterIp = kube.get("Service", "default", "web")?.spec?.clusterIP ?? "";
    expect(await world.loadBalancers()).toEqual([`${clusterIp}:80→8080 [L,R] L0 P0 D0`]);
    kube.delete("Pod", "default", "there");
    kube.reconcile();
    await world.proxy.sync();
    expect(await world.loadBalancers()).toEqual([`${clusterIp}:80→8080 [L] L0 P0 D0`]);
    expect(await world.remoteEndpoints()).toEqual([]);
    kube.delete("Service", "default", "web");
    kube.reconcile();
    await world.proxy.sync();
    expect(await world.loadBalancers()).toEqual([]);
    stop();
  });
});
