/** win-bridge against the HNS of this project, which validates and allocates as Windows does. */
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { MemoryResultCache, CniRuntime } from "#contracts/cni/runtime.ts";
import { formatResult } from "#contracts/cni/result.ts";
import {
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  listEndpoints,
} from "#contracts/hcn/operations.ts";
import { getHnsEndpointByName } from "#contracts/hcn/v1-operations.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { HostLocal } from "../host-local/plugin.ts";
import { MemoryLeaseStore } from "../host-local/leases.ts";
import { WinBridge } from "./plugin.ts";

const SERVICE_ROUTE = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };
const CLUSTER_NAT = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16", "10.96.0.0/12"] } };

function list(fields: object = {}) {
  const plugin = {
    type: "win-bridge",
    apiVersion: 2,
    capabilities: { portMappings: true, dns: true },
    dns: { Nameservers: ["10.96.0.10"], Search: ["svc.cluster.local"] },
    policies: [CLUSTER_NAT, SERVICE_ROUTE].map((Value) => ({ Name: "EndpointPolicy", Value })),
    ipam: { type: "host-local", subnet: "10.244.2.0/24" },
    ...fields,
  };
  return parseNetworkList(JSON.stringify({ cniVersion: "1.1.0", name: "cbr0", plugins: [plugin] }));
}

/** What dockershim's nodes had: HNS v1. */
const V1 = list({
  apiVersion: 1,
  policies: [],
  ipam: { type: "host-local", subnet: "10.244.2.0/24", rangeStart: "10.244.2.3" },
});

async function node(compat: Compat) {
  const { client } = hnsNode();
  const network = await createNetwork(client, CBR0);
  const id = network.ID;
  // flanneld's bridge endpoint.
  await createEndpoint(client, id, { Name: "cbr0_ep", IpConfigurations: [{ IpAddress: "10.244.2.2" }] });
  const ipam = new HostLocal({ store: new MemoryLeaseStore(), compat });
  const delegate = new RunnerDelegate(new InProcessRunner(new Map([["host-local", ipam]]), "win32"));
  const plugins = new Map<string, CniPlugin>([["win-bridge", new WinBridge({ client, delegate, compat })]]);
  const runner = new InProcessRunner(plugins, "win32");
  const runtime = new CniRuntime({ runner, cache: new MemoryResultCache(), env: { CNI_PATH: "C:\\k\\cni" } });
  const pod = async (containerId: string) => ({
    containerId,
    netns: (await createNamespace(client)).ID,
    ifName: "eth0",
  });
  const names = async () => (await listEndpoints(client)).map((endpoint) => endpoint.Name);
  return { client, runtime, pod, names };
}

describe("the life of a pod", () => {
  it("hardened: ADD, CHECK, ADD again, DEL, DEL again", async () => {
    const { runtime, pod, names, client } = await node("hardened");
    const a = await pod("a");
    const result = await runtime.add(list(), a);
    expect(formatResult(result, "1.1.0")).toMatchObject({
      interfaces: [{ name: "eth0", sandbox: a.netns }],
      ips: [{ address: "10.244.2.3/24", gateway: "10.244.2.2", interface: 0 }],
      dns: { nameservers: ["10.96.0.10"], search: ["svc.cluster.local"] },
    });
    const endpoint = (await listEndpoints(client)).find(({ Name }) => Name === "a_cbr0");
    expect(endpoint).toMatchObject({ HostComputeNamespace: a.netns });
    expect(endpoint?.Policies).toEqual(expect.arrayContaining([CLUSTER_NAT, SERVICE_ROUTE]));
    await runtime.check(list(), a);
    expect(await runtime.add(list(), a)).toEqual(result);
    await runtime.status(list());
    await runtime.del(list(), a);
    expect(await names()).toEqual(["cbr0_ep"]);
    await runtime.del(list(), a);
    await expect(runtime.check(list(), a)).rejects.toThrowError(/prevResult/);
  });

  // Microsoft, "Troubleshooting Kubernetes networking on Windows": a changed cni.conf needs new pods.
  it.each(["upstream", "hardened"] as const)(
    "%s: changed exceptions hold for pods that come later",
    async (compat) => {
      const { runtime, pod, client } = await node(compat);
      const conf = (...Exceptions: readonly string[]) => {
        const Value = { Type: "OutBoundNAT", Settings: { Exceptions } };
        const ipam = { type: "host-local", subnet: "10.244.2.0/24", rangeStart: "10.244.2.3" };
        return list({ ipam, policies: [{ Name: "EndpointPolicy", Value }] });
      };
      const exceptions = async () =>
        Object.fromEntries<unknown>(
          (await listEndpoints(client)).flatMap(({ Name, Policies }) => {
            const nat = Policies?.find(({ Type }) => Type === "OutBoundNAT");
            return nat === undefined ? [] : [[Name ?? "", nat.Settings]];
          }),
        );
      const [before, after] = [await pod("before"), await pod("after")];
      await runtime.add(conf("10.244.0.0/16"), before);
      const changed = conf("10.244.0.0/16", "10.96.0.0/12");
      await runtime.add(changed, after);
      const [old, both] = [["10.244.0.0/16"], ["10.244.0.0/16", "10.96.0.0/12"]];
      expect(await exceptions()).toEqual({
        before_cbr0: { Exceptions: old },
        after_cbr0: { Exceptions: both },
      });
      await runtime.del(changed, before);
      await runtime.add(changed, await pod("again"));
      expect(await exceptions()).toEqual({
        after_cbr0: { Exceptions: both },
        again_cbr0: { Exceptions: both },
      });
    },
  );

  it("CNI-EX-A16 upstream: the first ADD collides with the bridge endpoint, the second works", async () => {
    const { runtime, pod, names } = await node("upstream");
    const a = await pod("a");
    await expect(runtime.add(list(), a)).rejects.toThrowError(
      /hcnCreateEndpoint failed in Win32: The object already exists\. \(0x1392\)/,
    );
    const result = await runtime.add(list(), a);
    expect(formatResult(result, "1.0.0")["ips"]).toEqual([
      { address: "10.244.2.3/24", gateway: "10.244.2.2" },
    ]);
    await runtime.del(list(), a);
    expect(await names()).toEqual(["cbr0_ep"]);
  });

  it("CNI-042 CNI-043 upstream: a repeated ADD fails and frees the address of the living pod", async () => {
    const { runtime, pod } = await node("upstream");
    const [a, b] = [await pod("a"), await pod("b")];
    const start = list({
      ipam: { type: "host-local", subnet: "10.244.2.0/24", rangeStart: "10.244.2.3", rangeEnd: "10.244.2.3" },
    });
    await runtime.add(start, a);
    await expect(runtime.add(start, a)).rejects.toThrowError(/already part of a network namespace/);
    // The address of pod a is free for host-local, and HNS is the last to notice.
    await expect(runtime.add(start, b)).rejects.toThrowError(/The object already exists/);
  });

  it("CNI-EX-A11 CNI-151 without IPAM HNS chooses, in both modes", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const { runtime, pod } = await node(compat);
      const result = await runtime.add(list({ ipam: undefined }), await pod("a"));
      const [ip] = formatResult(result, "1.0.0")["ips"] as { address: string }[];
      expect(ip?.address).toMatch(/^10\.244\.2\.\d+\/24$/);
    }
  });

  it("port mappings of the runtime reach HNS", async () => {
    const { runtime, pod, client } = await node("hardened");
    const portMappings = [{ HostPort: 8080, ContainerPort: 80, Protocol: "tcp", HostIP: "" }];
    await runtime.add(list(), { ...(await pod("a")), capabilityArgs: { portMappings } });
    const endpoint = (await listEndpoints(client)).find(({ Name }) => Name === "a_cbr0");
    expect(endpoint?.Policies).toContainEqual({
      Type: "PortMapping",
      Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, Flags: 1 },
    });
  });

  it("CNI-079 CHECK notices what was done behind the back", async () => {
    const { runtime, pod, client } = await node("hardened");
    const a = await pod("a");
    await runtime.add(list(), a);
    const endpoint = (await listEndpoints(client)).find(({ Name }) => Name === "a_cbr0");
    await deleteEndpoint(client, endpoint!.ID);
    await expect(runtime.check(list(), a)).rejects.toThrowError("endpoint a_cbr0 is gone");
  });

  it("GC leaves the living, the bridge endpoint, and nothing else", async () => {
    const { runtime, pod, names } = await node("hardened");
    for (const id of ["a", "b", "c"]) await runtime.add(list(), await pod(id));
    await runtime.gc(list(), [{ containerId: "b", ifName: "eth0" }]);
    expect(new Set(await names())).toEqual(new Set(["b_cbr0", "cbr0_ep"]));
  });

  it("CNI-EX-A3 CNI-EX-A4 HNS v1: the sandbox' container is attached, and a workload's shares its endpoint", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const { runtime, names, client } = await node(compat);
      for (const id of ["SBX", "WKL"]) await client.computeSystems.create(id, { SystemType: "Container" });
      const sandbox = { containerId: "SBX", netns: "none", ifName: "eth0" };
      const added = await runtime.add(V1, sandbox);
      await runtime.add(V1, { containerId: "WKL", netns: "container:SBX", ifName: "eth0" });
      const endpoint = await getHnsEndpointByName(client, "SBX_cbr0");
      expect(endpoint).toMatchObject({ State: 3, SharedContainers: ["SBX", "WKL"] });
      const [address] = formatResult(added, "1.0.0")["ips"] as { address: string }[];
      expect(address?.address).toBe(`${endpoint.IPAddress}/24`);
      await runtime.del(V1, sandbox);
      expect(await names()).toEqual(["cbr0_ep"]);
    }
  });

  it("HNS v1: a container that HCS does not know is not attached, and nothing is left", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const { runtime, names } = await node(compat);
      const sandbox = { containerId: "SBX", netns: "none", ifName: "eth0" };
      await expect(runtime.add(V1, sandbox)).rejects.toMatchObject({
        code: 999,
        message: expect.stringContaining(
          "A virtual machine or container with the specified identifier does not exist",
        ) as string,
      });
      expect(await names()).toEqual(["cbr0_ep"]);
      await runtime.del(V1, sandbox);
    }
  });

  it("CNI-EX-A5 a namespace GUID without apiVersion fails as on Windows", async () => {
    const { runtime, pod } = await node("upstream");
    const failure = await runtime
      .add(list({ apiVersion: undefined }), await pod("SBX"))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 999,
      message: expect.stringContaining(
        "error while adding HNSEndpoint: failed to find HNSEndpoint SBX_cbr0: Endpoint SBX_cbr0 not found",
      ) as string,
      knowledge: "cni-api-version-missing",
    });
  });
});
