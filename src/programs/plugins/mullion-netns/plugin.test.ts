// The meta plugin mullion-netns: against HNS itself, with win-bridge as delegate, and against its fakes for faults.
import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import { CniError } from "#contracts/cni/error.ts";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { MemoryResultCache, CniRuntime } from "#contracts/cni/runtime.ts";
import { createEndpoint, createNetwork, listEndpoints, listNamespaces } from "#contracts/hcn/operations.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { ScriptedPlugin, resultWith } from "#test/support/cni/scripted-plugin.ts";
import { MemoryScratchStore } from "../flannel/scratch-files.ts";
import { WinBridge } from "../win-bridge/plugin.ts";
import { guidOfPath, MullionNetns } from "./plugin.ts";

const PATH = "/var/run/netns/cni-5bd1e7a2";
const FOLDER = "/var/lib/cni/mullion-netns/cbr0";
const digest = (text: string) => createHash("sha256").update(text).digest("hex");
const GUID = guidOfPath(PATH, digest);

/** A Linux machine with a node's HNS: the plugin, win-bridge as its delegate, IPAM that gives one address. */
async function world() {
  const { client } = hnsNode();
  const network = await createNetwork(client, CBR0);
  await createEndpoint(client, network.ID, {
    Name: "cbr0_ep",
    IpConfigurations: [{ IpAddress: "10.244.2.2" }],
  });
  const ipam = new ScriptedPlugin("host-local", "hardened");
  ipam.result = resultWith("10.244.2.3/24");
  const scripted = new ScriptedPlugin("scripted", "hardened");
  const plugins = new Map<string, CniPlugin>([
    ["host-local", ipam],
    ["scripted", scripted],
  ]);
  const runner = new InProcessRunner(plugins, "linux");
  const delegate = new RunnerDelegate(runner);
  const store = new MemoryScratchStore();
  plugins.set("win-bridge", new WinBridge({ client, delegate, compat: "hardened" }));
  const make = (given: HcnClient = client) =>
    new MullionNetns({ client: given, delegate, store, digest, compat: "hardened" });
  plugins.set("mullion-netns", make());
  const runtime = new CniRuntime({ runner, cache: new MemoryResultCache() });
  const endpoints = async () => (await listEndpoints(client)).map(({ Name }) => Name);
  /** Those that stand for a path: the node has one of its own. */
  const own = (await listNamespaces(client)).length;
  const namespaces = async () => (await listNamespaces(client)).slice(own).map(({ ID }) => ID);
  return { client, ipam, scripted, runtime, store, make, endpoints, namespaces };
}

function list(delegate: object = { type: "win-bridge", apiVersion: 2, ipam: { type: "host-local" } }) {
  const plugins = [{ type: "mullion-netns", capabilities: { dns: true }, delegate }];
  return parseNetworkList(JSON.stringify({ cniVersion: "1.1.0", name: "cbr0", plugins }));
}

const POD = { containerId: "SBX", netns: PATH, ifName: "eth0" };
let node: Awaited<ReturnType<typeof world>>;
beforeEach(async () => {
  node = await world();
});

describe("the GUID of a path", () => {
  it("is a GUID of version 8, always the same, another one for another path", () => {
    expect(GUID).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(guidOfPath(PATH, digest)).toBe(GUID);
    expect(guidOfPath(`${PATH}0`, digest)).not.toBe(GUID);
  });
});

describe("a pod on Linux whose network is HNS", () => {
  it("ADD makes the namespace, the runtime sees its path; CHECK holds; DEL leaves nothing", async () => {
    const result = await node.runtime.add(list(), POD);
    expect(result.interfaces).toMatchObject([{ name: "eth0", sandbox: PATH }]);
    expect(result.ips).toMatchObject([{ interface: 0 }]);
    expect(await node.namespaces()).toEqual([GUID]);
    expect(await node.endpoints()).toEqual(["cbr0_ep", "SBX_cbr0"]);
    await node.runtime.check(list(), POD);
    await node.runtime.status(list());
    await node.runtime.del(list(), POD);
    expect(await node.namespaces()).toEqual([]);
    expect(await node.endpoints()).toEqual(["cbr0_ep"]);
    expect(await node.store.list(FOLDER)).toEqual([]);
    await node.runtime.del(list(), POD);
  });

  it("DEL without a path, as containerd sends it once the namespace is closed, leaves nothing either", async () => {
    await node.runtime.add(list(), POD);
    await node.runtime.del(list(), { ...POD, netns: "" });
    expect(await node.namespaces()).toEqual([]);
    expect(await node.endpoints()).toEqual(["cbr0_ep"]);
  });

  it("ADD twice succeeds with the same namespace", async () => {
    await node.runtime.add(list(), POD);
    await node.runtime.add(list(), POD);
    expect(await node.namespaces()).toEqual([GUID]);
    expect(await node.endpoints()).toEqual(["cbr0_ep", "SBX_cbr0"]);
  });

  it("the namespace stays while another network of the pod is in it", async () => {
    const other = parseNetworkList(
      JSON.stringify({
        cniVersion: "1.1.0",
        name: "second",
        plugins: [{ type: "mullion-netns", delegate: { type: "scripted" } }],
      }),
    );
    await node.runtime.add(list(), POD);
    await node.runtime.add(other, { ...POD, ifName: "net1" });
    await node.runtime.del(other, { ...POD, ifName: "net1" });
    expect(await node.namespaces()).toEqual([GUID]);
    await node.runtime.check(list(), POD);
  });

  it("CHECK says that the namespace is gone", async () => {
    await node.runtime.add(list({ type: "scripted" }), POD);
    await node.client.delete("Namespace", GUID);
    await expect(node.runtime.check(list({ type: "scripted" }), POD)).rejects.toThrowError(
      `HNS has no namespace ${GUID}, which stands for ${PATH}; detach the container and attach it again`,
    );
  });

  it("GC frees the namespaces of the dead, and keeps those of the living", async () => {
    const dead = { containerId: "DEAD_cbr0_1", netns: "/var/run/netns/dead", ifName: "net_1" };
    await node.runtime.add(list({ type: "scripted" }), POD);
    await node.runtime.add(list({ type: "scripted" }), dead);
    expect(await node.namespaces()).toHaveLength(2);
    // A runtime that has lost its cache.
    const stdin = {
      cniVersion: "1.1.0",
      name: "cbr0",
      delegate: { type: "scripted" },
      "cni.dev/valid-attachments": [{ containerID: "SBX", ifname: "eth0" }],
    };
    const env = { CNI_COMMAND: "GC" };
    expect((await runWithTexts(node.make(), { env, stdin, platform: "linux" })).status).toBe(0);
    expect(await node.namespaces()).toEqual([GUID]);
    expect(await node.store.list(FOLDER)).toEqual(["SBX@eth0"]);
    expect(node.scripted.requests.at(-1)?.configuration).toMatchObject({
      "cni.dev/valid-attachments": [{ containerID: "SBX", ifname: "eth0" }],
    });
  });
});

describe("what the delegate gets", () => {
  it("its own keys, name and version of the list, what the runtime sets, and the GUID everywhere", async () => {
    node.scripted.result = {
      ...resultWith("10.244.2.9/24"),
      interfaces: [{ name: "eth0", sandbox: GUID }],
    };
    const delegate = { type: "scripted", own: { Mixed: 1 }, name: "not-this", cniVersion: "0.1.0" };
    const pod = { ...POD, capabilityArgs: { dns: { servers: ["10.96.0.10"] } } };
    await node.runtime.add(list(delegate), pod);
    await node.runtime.check(list(delegate), pod);
    const [added, checked] = node.scripted.requests;
    expect(added).toMatchObject({ netns: GUID, containerId: "SBX", ifName: "eth0" });
    expect(added?.configuration).toEqual({
      type: "scripted",
      own: { Mixed: 1 },
      name: "cbr0",
      cniVersion: "1.1.0",
      runtimeConfig: { dns: { servers: ["10.96.0.10"] } },
    });
    expect(checked?.configuration["prevResult"]).toMatchObject({
      interfaces: [{ name: "eth0", sandbox: GUID }],
    });
  });

  it.each([["none"], ["container:SBX"], ["7cb720c0-ac4c-4266-92e1-dc277b2a9b94"]])(
    "a namespace that is no path, %s, is handed on as it is",
    async (netns) => {
      await node.runtime.add(list({ type: "scripted" }), { ...POD, netns });
      expect(node.scripted.requests[0]?.netns).toBe(netns);
      expect(await node.namespaces()).toEqual([]);
      expect(await node.store.list(FOLDER)).toEqual([]);
    },
  );
});

describe("faults", () => {
  const run = (plugin: CniPlugin, verb: string, stdin: object) =>
    runWithTexts(plugin, {
      env: { CNI_COMMAND: verb, CNI_NETNS: PATH },
      stdin: { cniVersion: "1.1.0", name: "cbr0", ...stdin },
      platform: "linux",
    });

  it("a delegate that fails: its error, code and all; no namespace, no file", async () => {
    node.scripted.failures.set("ADD", new CniError(11, "busy", { details: "later" }));
    const failed = await run(node.make(), "ADD", { delegate: { type: "scripted" } });
    expect(errorOf(failed)).toMatchObject({ code: 11, msg: "busy", details: "later" });
    expect(await node.namespaces()).toEqual([]);
    expect(await node.store.list(FOLDER)).toEqual([]);
  });

  it("a repeated ADD that fails leaves what the first one made to DEL, which may come without a path", async () => {
    await node.runtime.add(list(), POD);
    node.scripted.failures.set("ADD", new CniError(11, "busy"));
    await run(node.make(), "ADD", { delegate: { type: "scripted" } });
    expect(await node.namespaces()).toEqual([GUID]);
    await node.runtime.del(list(), { ...POD, netns: "" });
    expect(await node.namespaces()).toEqual([]);
  });

  it("DEL that fails keeps the file, so that it can be repeated", async () => {
    await node.runtime.add(list({ type: "scripted" }), POD);
    node.scripted.failures.set("DEL", new CniError(11, "busy"));
    await expect(node.runtime.del(list({ type: "scripted" }), POD)).rejects.toThrowError(/busy/);
    expect(await node.store.list(FOLDER)).toEqual(["SBX@eth0"]);
    node.scripted.failures.clear();
    await node.runtime.del(list({ type: "scripted" }), POD);
    expect(await node.namespaces()).toEqual([]);
  });

  it("killed after the namespace was made: DEL removes it by the path alone", async () => {
    await node.client.create("Namespace", { SchemaVersion: { Major: 2, Minor: 0 } }, { id: GUID });
    expect((await run(node.make(), "DEL", { delegate: { type: "scripted" } })).status).toBe(0);
    expect(await node.namespaces()).toEqual([]);
  });

  it("a file that a crash has left half is as good as none", async () => {
    await node.store.write(FOLDER, "SBX@eth0", '{"path":');
    expect((await run(node.make(), "DEL", { delegate: { type: "scripted" } })).status).toBe(0);
    expect(await node.store.list(FOLDER)).toEqual([]);
  });

  it.each([[{}], [{ delegate: {} }], [{ delegate: { type: 7 } }], [{ delegate: "win-bridge" }]])(
    "code 7 names the field: %j",
    async (fields) => {
      const error = errorOf(await run(node.make(), "ADD", fields));
      expect(error).toMatchObject({
        code: 7,
        msg: expect.stringMatching(/^failed to load netconf: field "delegate(\.type)?" must be /) as string,
      });
    },
  );

  it("a delegate that is not ready: STATUS says so", async () => {
    node.scripted.failures.set("STATUS", new CniError(50, "no network"));
    const failed = await run(node.make(), "STATUS", { delegate: { type: "scripted" } });
    expect(errorOf(failed)).toMatchObject({ code: 50, msg: "no network" });
  });

  it("no HNS: STATUS 50, ADD fails before anything is attached", async () => {
    const down = new HcnError("RPC_S_SERVER_UNAVAILABLE", { detail: "nobody" });
    const client = new Proxy(node.client, {
      get: (target, name) =>
        name === "enumerate" ? () => Promise.reject(down) : (Reflect.get(target, name) as unknown),
    });
    const plugin = node.make(client);
    expect(await run(plugin, "STATUS", { delegate: { type: "scripted" } })).toMatchObject({
      status: 1,
      explained: "hns-unreachable",
    });
    const added = await run(plugin, "ADD", { delegate: { type: "scripted" } });
    expect(added).toMatchObject({ status: 1, explained: "hns-unreachable" });
    expect(node.scripted.verbs).toEqual([]);
  });
});
