// azure-vnet-ipamv6: addresses of the node's range of IPv6 (cni.md §5.9).
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { MemoryStateStore } from "../azure-vnet/memory.ts";
import type { NodeFacts } from "./source.ts";
import { AzureVnetIpam } from "./plugin.ts";

const NODE: NodeFacts = { major: "1", minor: "29+", podCIDRs: ["10.244.3.0/24", "fd00:7:0:3::/64"] };

function make(compat: Compat, facts: NodeFacts = NODE) {
  const store = new MemoryStateStore();
  const asked: number[] = [];
  const none = (): Promise<string> => Promise.reject(new Error("not asked"));
  const plugin = new AzureVnetIpam({
    name: "azure-vnet-ipamv6",
    store,
    compat,
    sources: {
      interfaces: () => [],
      queryWireServer: none,
      readInterfaces: none,
      queryNode: () => {
        asked.push(1);
        return Promise.resolve(facts);
      },
      now: () => "2026-11-22T00:00:00Z",
    },
  });
  const ipam = { type: plugin.name, environment: "ipv6NodeIpam" };
  const run = (verb: string, containerId: string, fields: object = {}) =>
    runWithTexts(plugin, {
      env: { CNI_COMMAND: verb, CNI_CONTAINERID: containerId },
      stdin: { cniVersion: "1.0.0", name: "azure", type: "azure-vnet", ipam: { ...ipam, ...fields } },
    });
  return { run, asked, store };
}

describe.each(["upstream", "hardened"] as const)("azure-vnet-ipamv6, %s", (compat) => {
  it("the first /120 of the node's range, from the third address on; Kubernetes is asked once", async () => {
    const { run, asked, store } = make(compat);
    const subnet = "fd00:7:0:3::/120";
    const first = JSON.parse((await run("ADD", "one")).stdout) as object;
    expect(first).toMatchObject({ ips: [{ address: "fd00:7:0:3::2/120", gateway: "fd00:7:0:3::1" }] });
    const second = JSON.parse((await run("ADD", "two", { subnet })).stdout) as object;
    expect(second).toMatchObject({ ips: [{ address: "fd00:7:0:3::3/120" }] });
    expect((await run("DEL", "one", { subnet, ipAddress: "fd00:7:0:3::2" })).status).toBe(0);
    expect(asked).toHaveLength(1);
    expect(store.text).toContain('"fd00:7:0:3::ff"');
    expect(store.text).not.toContain('"fd00:7:0:3::100"');
  });

  it.each<[NodeFacts, string]>([
    [{ ...NODE, podCIDRs: ["10.244.3.0/24"] }, "Failed to retrieve subnet"],
    [{ ...NODE, minor: "16" }, "Incompatible Kubernetes version for dual stack"],
    [{ ...NODE, minor: "" }, "Error comparing Kubernetes API versions"],
  ])("%j gives no address", async (facts, reason) => {
    const run = await make(compat, facts).run("ADD", "one");
    expect(errorOf(run)).toMatchObject({
      code: 100,
      msg: "Failed to allocate pool: no available address pools",
    });
    if (compat === "hardened") expect(run.stderr).toContain(reason);
  });
});
