// win-overlay against the HNS of this project, which validates and allocates as Windows does.
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { MemoryResultCache, CniRuntime } from "#contracts/cni/runtime.ts";
import { formatResult } from "#contracts/cni/result.ts";
import { createNamespace, createNetwork, listEndpoints } from "#contracts/hcn/operations.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { MemoryLeaseStore } from "../host-local/leases.ts";
import { HostLocal } from "../host-local/plugin.ts";
import { WinOverlay } from "./plugin.ts";

/** As flanneld makes it. */
const VXLAN0 = {
  ...CBR0,
  Name: "vxlan0",
  Type: "Overlay" as const,
  Ipams: [
    {
      Type: "Static" as const,
      Subnets: [
        {
          IpAddressPrefix: "10.244.5.0/24",
          Routes: [{ NextHop: "10.244.5.1", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
        },
      ],
    },
  ],
};

const LIST = parseNetworkList(
  JSON.stringify({
    cniVersion: "1.1.0",
    name: "vxlan0",
    plugins: [
      {
        type: "win-overlay",
        apiVersion: 2,
        ipMasq: true,
        loopbackDSR: true,
        capabilities: { portMappings: true, dns: true },
        policies: [
          {
            Name: "EndpointPolicy",
            Value: { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } },
          },
        ],
        ipam: { type: "host-local", subnet: "10.244.5.0/24" },
      },
    ],
  }),
);

async function node(compat: Compat) {
  const { client } = hnsNode();
  await createNetwork(client, VXLAN0);
  const ipam = new HostLocal({ store: new MemoryLeaseStore(), compat });
  const delegate = new RunnerDelegate(new InProcessRunner(new Map([["host-local", ipam]]), "win32"));
  const plugins = new Map<string, CniPlugin>([["win-overlay", new WinOverlay({ client, delegate, compat })]]);
  const runner = new InProcessRunner(plugins, "win32");
  const runtime = new CniRuntime({ runner, cache: new MemoryResultCache(), env: { CNI_PATH: "C:\\k\\cni" } });
  const pod = async (containerId: string) => ({
    containerId,
    netns: (await createNamespace(client)).ID,
    ifName: "eth0",
  });
  return { client, runtime, pod };
}

describe("the life of a pod", () => {
  it.each(["upstream", "hardened"] as const)("%s: ADD, CHECK, DEL", async (compat) => {
    const { client, runtime, pod } = await node(compat);
    const a = await pod("a");
    const result = await runtime.add(LIST, a);
    // cni.md §2.3: the network's own gateway, and a MAC of the address; the node's adapter has 10.0.2.15.
    expect(formatResult(result, "1.1.0")).toMatchObject({
      interfaces: [{ mac: "0E-2A-0a-f4-05-02" }],
      ips: [{ address: "10.244.5.2/24", gateway: "10.244.5.1" }],
    });
    const [endpoint] = await listEndpoints(client);
    expect(endpoint).toMatchObject({ Name: "a_vxlan0", HostComputeNamespace: a.netns });
    expect(endpoint?.Policies).toEqual(
      expect.arrayContaining([
        { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.2.15" } },
        { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.5.0/24"] } },
        { Type: "OutBoundNAT", Settings: { Destinations: ["10.244.5.2"] } },
      ]),
    );
    await runtime.check(LIST, a);
    await runtime.del(LIST, a);
    expect(await listEndpoints(client)).toEqual([]);
  });

  it("hardened: GC removes the endpoints of dead sandboxes", async () => {
    const { client, runtime, pod } = await node("hardened");
    await runtime.add(LIST, await pod("a"));
    const b = await pod("b");
    await runtime.add(LIST, b);
    await runtime.gc(LIST, [{ containerId: "b", ifName: "eth0" }]);
    expect((await listEndpoints(client)).map(({ Name }) => Name)).toEqual(["b_vxlan0"]);
  });
});
