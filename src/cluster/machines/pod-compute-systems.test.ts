/** The containers of Windows pods as compute systems: who has one, what they share, and what is left when the pod goes. */
import { describe, expect, it } from "vitest";
import { addNetworkAdapter } from "#contracts/hcn/compute-systems.ts";
import { createEndpoint, getEndpointById, getNetworkByName } from "#contracts/hcn/operations.ts";
import { defined } from "#core/base/assert.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { execute } from "../exec/exec.ts";
import { viewAdapters, viewCompartments, viewComputeSystems, viewRoutes } from "../views/stack-views.ts";
import { hcnClientOf } from "./windows-node.ts";
import { raiseTwin } from "#test/support/cluster/naive-twin.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24}
`;

function pod(name: string, more: string, containers: string): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  nodeName: win-1
${more}
  containers: [${containers}]`;
}

const AGENT = "  hostNetwork: true\n  securityContext: {windowsOptions: {hostProcess: true}}";
const MANIFESTS =
  pod("web", "", "{name: app, image: a, ports: [{containerPort: 80}]}, {name: log, image: b}") +
  pod(
    "webtwo",
    "",
    "{name: one, image: a, ports: [{containerPort: 80}]}, {name: two, image: b, ports: [{containerPort: 80}]}",
  ) +
  pod("agent", AGENT, "{name: agent, image: a}");

async function raise(): Promise<Awaited<ReturnType<typeof raiseTwin>>> {
  return raiseTwin([
    { name: "c.yaml", text: CLUSTER },
    { name: "m.yaml", text: MANIFESTS },
  ]);
}

function windowsNode({ nodes }: Cluster) {
  return defined(
    nodes.find(({ hns }) => hns !== undefined),
    "a Windows node",
  );
}

describe("compute systems of pods", () => {
  it("the pause container and each container that runs; HostProcess containers are none", async () => {
    const { cluster } = await raise();
    const systems = await viewComputeSystems(cluster);
    expect(systems.map(({ id }) => id)).toEqual([
      "default_web",
      "default_web_app",
      "default_web_log",
      "default_webtwo",
      "default_webtwo_one",
    ]);
    expect(systems[1]).toMatchObject({
      node: "win-1",
      type: "Container",
      owner: "containerd-shim-runhcs-v1.exe",
      state: "Running",
      pod: "default/web",
    });
    const [web] = systems;
    expect(systems.slice(0, 3).map(({ namespace, endpoints }) => [namespace, endpoints])).toEqual(
      Array.from({ length: 3 }, () => [web?.namespace, web?.endpoints]),
    );
    const [id = ""] = web?.endpoints ?? [];
    expect(await getEndpointById(hcnClientOf(windowsNode(cluster)), id)).toMatchObject({
      Health: { Extra: { SharedContainers: ["default_web", "default_web_app", "default_web_log"] } },
    });
  });

  it("a copy has its own, with the same ids", async () => {
    const { cluster } = await raise();
    const copy = forkCluster(cluster);
    await hcnClientOf(windowsNode(copy)).computeSystems?.terminate("default_web_log");
    expect((await viewComputeSystems(cluster)).length - (await viewComputeSystems(copy)).length).toBe(1);
    expect((await viewComputeSystems(copy))[0]).toEqual((await viewComputeSystems(cluster))[0]);
  });

  it("an endpoint that is attached while it runs is an adapter of its compartment, with a key of the registry", async () => {
    const { cluster } = await raise();
    const client = hcnClientOf(windowsNode(cluster));
    const network = await getNetworkByName(client, "cbr0");
    const made = await createEndpoint(client, network.ID, {
      Name: "hot",
      IpConfigurations: [{ IpAddress: "10.244.1.99", PrefixLength: 24 }],
      Dns: { ServerList: ["10.0.0.53"], Search: ["hot.example"] },
    });
    await addNetworkAdapter(defined(client.computeSystems, "compute systems"), "default_web", made.ID);
    const adapters = viewAdapters(cluster).filter(({ pods }) => pods.includes("default/web"));
    expect(adapters.map(({ addresses, dnsServers }) => [addresses[0], dnsServers])).toEqual([
      [expect.stringMatching(/^10\.244\.1\.\d+\/24$/), ["10.96.0.10"]],
      ["10.244.1.99/24", ["10.0.0.53"]],
    ]);
    const { stdout } = execute(cluster, {
      from: "pod/web",
      command: [String.raw`reg query HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces /s`],
    });
    expect(stdout).toContain(`\\Interfaces\\${adapters[1]?.guid}\r\n`);
    expect(stdout).toContain("    NameServer    REG_SZ    10.0.0.53\r\n");
    expect(stdout).toContain("    SearchList    REG_SZ    hot.example\r\n");
  });
});

describe("what machines have below their pods", () => {
  it("compartments: the host's has the HostProcess pod, each pod its own, on Linux as well", async () => {
    const { cluster } = await raise();
    const rows = viewCompartments(cluster).map(({ node, compartment, pods }) => [node, compartment, pods]);
    expect(rows).toEqual([
      ["win-1", 1, ["default/agent"]],
      ["win-1", 2, ["default/web"]],
      ["win-1", 3, ["default/webtwo"]],
      ["linux-1", 1, []],
      ["linux-1", 2, [expect.stringMatching(/^kube-system\/coredns-/)]],
      ["linux-1", 3, [expect.stringMatching(/^kube-system\/coredns-/)]],
    ]);
  });

  it("routes: the gateway of a pod, and what an address implies", async () => {
    const { cluster } = await raise();
    const rows = viewRoutes(cluster, "win-1").filter(({ compartment }) => compartment === 2);
    expect(rows).toMatchObject([
      { destination: "10.244.1.0/24", origin: "address", adapter: "vEthernet (default_web_cbr0)" },
      { destination: "0.0.0.0/0", nextHop: "10.244.1.2", origin: "static", isPersistent: false },
    ]);
  });
});
