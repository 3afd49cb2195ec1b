/**
 * The specification sentence by sentence (https://www.cni.dev/docs/spec/, 1.1.0), on the plugins of this project
 * in the mode that breaks no contract.
 */
import { describe, expect, it } from "vitest";
import { HostLocal } from "./host-local/plugin.ts";
import { MemoryLeaseStore } from "./host-local/leases.ts";
import { WinBridge } from "./win-bridge/plugin.ts";
import { errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { FakeHcnClient } from "#test/support/hns/fake-hcn-client.ts";
import { ScriptedPlugin } from "#test/support/cni/scripted-plugin.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import { CniError } from "#contracts/cni/error.ts";
import { MemoryResultCache, CniRuntime } from "#contracts/cni/runtime.ts";

const NAMESPACE = "7cb720c0-ac4c-4266-92e1-dc277b2a9b94";
const POD = { containerId: "pod-a", netns: NAMESPACE, ifName: "eth0" };

function node() {
  const client = new FakeHcnClient();
  const subnet = {
    IpAddressPrefix: "10.244.3.0/24",
    Routes: [{ NextHop: "10.244.3.1", DestinationPrefix: "0.0.0.0/0" }],
  };
  client.put("Network", {
    ID: "0fb28d70-306c-469d-9690-3245a82d8800",
    Name: "cbr0",
    Type: "L2Bridge",
    Ipams: [{ Type: "Static", Subnets: [subnet] }],
  });
  client.put("Namespace", { ID: NAMESPACE });
  const ipam = new HostLocal({ store: new MemoryLeaseStore(), compat: "hardened" });
  const delegates = new InProcessRunner(new Map([["host-local", ipam]]), "win32");
  const bridge = new WinBridge({ client, delegate: new RunnerDelegate(delegates), compat: "hardened" });
  const chained = new ScriptedPlugin("chained", "hardened");
  const plugins = new Map<string, WinBridge | HostLocal | ScriptedPlugin>([
    ["win-bridge", bridge],
    ["host-local", ipam],
    ["chained", chained],
  ]);
  const runner = new InProcessRunner(plugins, "win32");
  const runtime = new CniRuntime({ runner, cache: new MemoryResultCache(), env: { CNI_PATH: "C:\\k\\cni" } });
  return { client, bridge, ipam, chained, runtime };
}

const IPAM = {
  type: "host-local",
  ranges: [[{ subnet: "10.244.3.0/24", rangeStart: "10.244.3.3", rangeEnd: "10.244.3.5" }]],
};
const PLUGIN = { type: "win-bridge", apiVersion: 2, ipam: IPAM };

function list(fields: object = {}) {
  return parseNetworkList(
    JSON.stringify({ cniVersion: "1.1.0", name: "cbr0", plugins: [PLUGIN], ...fields }),
  );
}

describe("ADD", () => {
  it("must output a result structure on standard out", async () => {
    const { bridge } = node();
    const run = await runWithTexts(bridge, {
      stdin: { ...PLUGIN, cniVersion: "1.1.0", name: "cbr0" },
      env: { CNI_NETNS: NAMESPACE },
    });
    expect(JSON.parse(run.stdout)).toMatchObject({ cniVersion: "1.1.0", interfaces: [{}], ips: [{}] });
  });

  it("must handle prevResult by either passing it through, or modifying it appropriately", async () => {
    const { runtime, chained } = node();
    const result = await runtime.add(list({ plugins: [{ type: "chained" }, PLUGIN] }), POD);
    expect(result.ips[0]).toEqual(chained.result.ips[0]);
    expect(result.ips).toHaveLength(2);
  });

  it("if a delegated plugin fails, the upper plugin should execute it again with DEL before returning failure", async () => {
    const client = new FakeHcnClient();
    client.put("Network", { ID: "0fb28d70-306c-469d-9690-3245a82d8800", Name: "cbr0", Type: "L2Bridge" });
    const ipam = new ScriptedPlugin("host-local");
    ipam.failures.set("ADD", new Error("no"));
    const delegate = new RunnerDelegate(new InProcessRunner(new Map([["host-local", ipam]]), "win32"));
    const bridge = new WinBridge({ client, delegate, compat: "hardened" });
    await runWithTexts(bridge, {
      stdin: { ...PLUGIN, cniVersion: "1.1.0", name: "cbr0" },
      env: { CNI_NETNS: NAMESPACE },
    });
    expect(ipam.verbs).toEqual(["ADD", "DEL"]);
  });

  it("delegates receive all the same environment variables and the complete network configuration", async () => {
    const client = new FakeHcnClient();
    client.put("Network", { ID: "0fb28d70-306c-469d-9690-3245a82d8800", Name: "cbr0", Type: "L2Bridge" });
    const ipam = new ScriptedPlugin("host-local");
    const delegate = new RunnerDelegate(new InProcessRunner(new Map([["host-local", ipam]]), "win32"));
    const bridge = new WinBridge({ client, delegate, compat: "hardened" });
    const stdin = { ...PLUGIN, cniVersion: "1.1.0", name: "cbr0", extra: { deep: [1] } };
    await runWithTexts(bridge, {
      stdin,
      env: { CNI_NETNS: NAMESPACE, TRACEPARENT: "00-1", CNI_ARGS: "IgnoreUnknown=1" },
    });
    expect(ipam.requests[0]).toMatchObject({
      configuration: stdin,
      env: { TRACEPARENT: "00-1", CNI_ARGS: "IgnoreUnknown=1" },
    });
  });

  it("IPAM results are abbreviated: no interfaces, and no interface in ips", async () => {
    const run = await runWithTexts(node().ipam, { stdin: { cniVersion: "1.1.0", name: "cbr0", ipam: IPAM } });
    const result = JSON.parse(run.stdout) as { ips: object[] };
    expect(result).not.toHaveProperty("interfaces");
    expect(result.ips[0]).not.toHaveProperty("interface");
  });

  it("interfaces created inside the container carry the value passed via CNI_NETNS as sandbox", async () => {
    expect((await node().runtime.add(list(), POD)).interfaces).toMatchObject([
      { name: "eth0", sandbox: NAMESPACE },
    ]);
  });
});

describe("DEL", () => {
  it("must accept multiple DEL calls for the same container and interface", async () => {
    const { runtime, client } = node();
    await runtime.add(list(), POD);
    await runtime.del(list(), POD);
    await runtime.del(list(), POD);
    expect(client.list("Endpoint")).toEqual([]);
  });

  it("should complete without error even if some resources or state are missing", async () => {
    const { runtime, client } = node();
    await runtime.add(list(), POD);
    await client.delete("Endpoint", (client.list("Endpoint")[0] as { ID: string }).ID);
    await expect(runtime.del(list(), POD)).resolves.toBeUndefined();
    await expect(runtime.del(list(), { ...POD, containerId: "never-added" })).resolves.toBeUndefined();
  });

  it("should return without error if prevResult or the namespace is empty", async () => {
    const { bridge } = node();
    const env = { CNI_COMMAND: "DEL", CNI_NETNS: "" };
    expect(
      await runWithTexts(bridge, { stdin: { ...PLUGIN, cniVersion: "1.1.0", name: "cbr0" }, env }),
    ).toMatchObject({
      status: 0,
      stdout: "",
    });
  });

  it("should generally release an IP allocation even if the namespace no longer exists", async () => {
    const { runtime, client } = node();
    await runtime.add(list(), POD);
    await client.delete("Namespace", NAMESPACE);
    await runtime.del(list(), { ...POD, netns: "" });
    client.put("Namespace", { ID: NAMESPACE });
    for (const containerId of ["b", "c", "d"]) await runtime.add(list(), { ...POD, containerId });
    expect(client.list("Endpoint")).toHaveLength(3);
  });
});

describe("CHECK", () => {
  it("must handle being called immediately after an ADD", async () => {
    const { runtime } = node();
    await runtime.add(list(), POD);
    await expect(runtime.check(list(), POD)).resolves.toBeUndefined();
  });

  it("must allow for a later chained plugin to have modified networking resources", async () => {
    const { runtime, chained } = node();
    const chain = list({ plugins: [PLUGIN, { type: "chained" }] });
    const first = await runtime.add(list(), POD);
    chained.result = { ...first, routes: [{ destination: first.ips[0]!.address }] };
    await runtime.add(chain, POD);
    await expect(runtime.check(chain, POD)).resolves.toBeUndefined();
  });

  it("should return an error if a resource of the result was created by the plugin, but is missing", async () => {
    const { runtime, client } = node();
    await runtime.add(list(), POD);
    await client.delete("Endpoint", (client.list("Endpoint")[0] as { ID: string }).ID);
    await expect(runtime.check(list(), POD)).rejects.toThrowError("is gone");
  });

  it("should call CHECK on any delegated plugins and pass any errors on to its caller", async () => {
    const { runtime, ipam } = node();
    await runtime.add(list(), POD);
    await runWithTexts(ipam, {
      stdin: { cniVersion: "1.1.0", name: "cbr0", ipam: IPAM },
      env: { CNI_COMMAND: "DEL", CNI_CONTAINERID: "pod-a" },
    });
    await expect(runtime.check(list(), POD)).rejects.toThrowError(
      "host-local: Failed to find address added by container pod-a",
    );
  });
});

describe("STATUS", () => {
  it("must exit with zero if the plugin is ready to service ADD requests", async () => {
    await expect(node().runtime.status(list())).resolves.toBeUndefined();
  });

  it("should return an error if resources are exhausted and no new ADD requests can be serviced", async () => {
    const { runtime } = node();
    for (const containerId of ["a", "b", "c"]) await runtime.add(list(), { ...POD, containerId });
    await expect(runtime.status(list())).rejects.toMatchObject({ code: 50 });
  });

  it("a plugin must not rely on STATUS: other operations work although it fails", async () => {
    const { runtime } = node();
    for (const containerId of ["a", "b", "c"]) await runtime.add(list(), { ...POD, containerId });
    await runtime.del(list(), { ...POD, containerId: "a" });
    await expect(runtime.add(list(), { ...POD, containerId: "d" })).resolves.toMatchObject({ ips: [{}] });
  });
});

describe("GC", () => {
  it("should remove any IPAM reservations associated with attachments not in the provided list", async () => {
    const { runtime, bridge, ipam } = node();
    for (const containerId of ["a", "b", "c"]) await runtime.add(list(), { ...POD, containerId });
    const stdin = {
      ...PLUGIN,
      cniVersion: "1.1.0",
      name: "cbr0",
      "cni.dev/valid-attachments": [{ containerID: "b", ifname: "eth0" }],
    };
    expect(await runWithTexts(bridge, { stdin, env: { CNI_COMMAND: "GC" } })).toMatchObject({
      status: 0,
      stdout: "",
    });
    const check = (id: string) =>
      runWithTexts(ipam, { stdin, env: { CNI_COMMAND: "CHECK", CNI_CONTAINERID: id } });
    expect((await check("b")).status).toBe(0);
    expect((await check("a")).status).toBe(1);
  });

  it("if an error is encountered, a plugin should continue and report the errors back", async () => {
    const { runtime, client, bridge } = node();
    for (const containerId of ["a", "b"]) await runtime.add(list(), { ...POD, containerId });
    client.failNext("delete Endpoint", new Error("not now"));
    const stdin = { ...PLUGIN, cniVersion: "1.1.0", name: "cbr0", "cni.dev/valid-attachments": [] };
    const run = await runWithTexts(bridge, { stdin, env: { CNI_COMMAND: "GC" } });
    expect(errorOf(run).msg).toContain("not now");
    expect(client.list("Endpoint")).toHaveLength(1);
  });
});

describe("errors and versions", () => {
  it("a plugin must exit with 0 on success, and non-zero on failure", async () => {
    const plugin = new ScriptedPlugin();
    plugin.failures.set("DEL", new CniError(7, "bad"));
    expect((await runWithTexts(plugin, { stdin: { name: "n" }, env: { CNI_COMMAND: "DEL" } })).status).toBe(
      1,
    );
    plugin.failures.clear();
    expect((await runWithTexts(plugin, { stdin: { name: "n" }, env: { CNI_COMMAND: "DEL" } })).status).toBe(
      0,
    );
  });

  it("the result has the same version as supplied on input", async () => {
    for (const cniVersion of ["0.3.1", "0.4.0", "1.0.0", "1.1.0"]) {
      const run = await runWithTexts(node().ipam, { stdin: { cniVersion, name: "cbr0", ipam: IPAM } });
      expect(JSON.parse(run.stdout)).toMatchObject({ cniVersion });
    }
  });
});
