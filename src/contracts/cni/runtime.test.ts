import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { ScriptedPlugin, resultWith } from "#test/support/cni/scripted-plugin.ts";
import { parseNetworkList } from "./conflist.ts";
import { CniError } from "./error.ts";
import { InProcessRunner } from "./plugin-runner.ts";
import { MemoryResultCache, CniRuntime } from "./runtime.ts";

const POD = { containerId: "SBX", netns: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94", ifName: "eth0" };

function world() {
  const plugins = { main: new ScriptedPlugin("main"), tuning: new ScriptedPlugin("tuning") };
  const cache = new MemoryResultCache();
  const runner = new InProcessRunner(new Map(Object.entries(plugins)), "win32");
  const runtime = new CniRuntime({
    runner,
    cache,
    env: { CNI_PATH: "C:\\k\\cni", SYSTEMROOT: "C:\\Windows" },
  });
  return { ...plugins, cache, runtime };
}

function list(fields: Readonly<Record<string, unknown>> = {}) {
  const plugins = [{ type: "main", capabilities: { dns: true, portMappings: false } }, { type: "tuning" }];
  return parseNetworkList(JSON.stringify({ cniVersion: "1.1.0", name: "cbr0", top: 1, plugins, ...fields }));
}

describe("running a list (cni.md §1.2, §1.7)", () => {
  it("ADD goes forward, each plugin gets the result of the one before, the last one is cached", async () => {
    const { main, tuning, runtime, cache } = world();
    main.result = resultWith("10.244.3.2/24");
    tuning.result = resultWith("10.244.3.2/24", "fd00::2/64");
    expect(await runtime.add(list(), POD)).toEqual(tuning.result);
    expect(main.requests[0]?.configuration).not.toHaveProperty("prevResult");
    expect(tuning.requests[0]?.configuration["prevResult"]).toEqual({
      cniVersion: "1.1.0",
      ips: [{ address: "10.244.3.2/24" }],
    });
    expect(await cache.list()).toMatchObject([
      { networkName: "cbr0", containerId: "SBX", ifName: "eth0", result: { ips: [{}, {}] } },
    ]);
  });

  it("passes the parameters on: environment, CNI_ARGS, platform", async () => {
    const { main, runtime } = world();
    await runtime.add(list(), {
      ...POD,
      args: [
        ["IgnoreUnknown", "1"],
        ["K8S_POD_NAME", "web"],
      ],
    });
    expect(main.requests[0]).toMatchObject({
      ...POD,
      args: "IgnoreUnknown=1;K8S_POD_NAME=web",
      path: "C:\\k\\cni",
      platform: "win32",
    });
    expect(main.requests[0]?.env["SYSTEMROOT"]).toBe("C:\\Windows");
  });

  it("CNI-016 runtimeConfig holds what is declared and given; no key at all when that is nothing", async () => {
    const { main, tuning, runtime } = world();
    await runtime.add(list(), {
      ...POD,
      capabilityArgs: { dns: { servers: ["10.96.0.10"] }, portMappings: [{}] },
    });
    expect(main.requests[0]?.configuration["runtimeConfig"]).toEqual({ dns: { servers: ["10.96.0.10"] } });
    expect(tuning.requests[0]?.configuration).not.toHaveProperty("runtimeConfig");
  });

  it("CNI-019 other keys of the list do not reach the plugins; name and version always do", async () => {
    const { main, runtime } = world();
    await runtime.add(list({ plugins: [{ type: "main", name: "mine", cniVersion: "0.1.0", own: 7 }] }), POD);
    expect(main.requests[0]?.configuration).toEqual({
      type: "main",
      name: "cbr0",
      cniVersion: "1.1.0",
      own: 7,
    });
  });

  it("DEL goes backward, every plugin gets the final result, and the cache forgets", async () => {
    const { main, tuning, runtime, cache } = world();
    tuning.result = resultWith("10.244.3.9/24");
    await runtime.add(list(), POD);
    const order: string[] = [];
    main.del = (request) =>
      Promise.resolve(void order.push(`main ${JSON.stringify(request.configuration["prevResult"])}`));
    tuning.del = (request) =>
      Promise.resolve(void order.push(`tuning ${JSON.stringify(request.configuration["prevResult"])}`));
    await runtime.del(list(), { ...POD, netns: "" });
    const final = '{"cniVersion":"1.1.0","ips":[{"address":"10.244.3.9/24"}]}';
    expect(order).toEqual([`tuning ${final}`, `main ${final}`]);
    expect(await cache.list()).toEqual([]);
  });

  it("DEL without a cached result still runs, and below 0.4.0 never carries one", async () => {
    const { main, runtime } = world();
    await runtime.del(list(), POD);
    await runtime.add(list({ cniVersion: "0.3.1" }), POD);
    await runtime.del(list({ cniVersion: "0.3.1" }), POD);
    expect(main.verbs).toEqual(["DEL", "ADD", "DEL"]);
    for (const request of main.requests) expect(request.configuration).not.toHaveProperty("prevResult");
  });

  it("DEL that fails leaves the cache alone", async () => {
    const { main, runtime, cache } = world();
    await runtime.add(list(), POD);
    main.failures.set("DEL", new Error("HNS is down"));
    await expect(runtime.del(list(), POD)).rejects.toThrowError(
      'plugin type="main" failed (delete): HNS is down',
    );
    expect(await cache.list()).toHaveLength(1);
  });

  it('CNI-153 a failed DEL has failed whatever it says, "not found" too, which containerd takes for success', async () => {
    const { main, runtime, cache } = world();
    await runtime.add(list(), POD);
    main.failures.set("DEL", new Error("network cbr0 not found"));
    await expect(runtime.del(list(), POD)).rejects.toThrowError(/network cbr0 not found/);
    expect(await cache.list()).toHaveLength(1);
  });

  it("CHECK goes forward with the cached result, in the version of the list as it is now", async () => {
    const { tuning, runtime } = world();
    await runtime.add(list(), POD);
    await runtime.check(list({ cniVersion: "0.4.0" }), POD);
    expect(tuning.requests.at(-1)?.configuration["prevResult"]).toEqual({
      cniVersion: "0.4.0",
      ips: [{ version: "4", address: "10.244.3.2/24" }],
      dns: {},
    });
  });

  it("CHECK is refused below 0.4.0 and skipped when disabled", async () => {
    const { main, runtime } = world();
    await expect(runtime.check(list({ cniVersion: "0.3.1" }), POD)).rejects.toThrowError(
      'configuration version "0.3.1" does not support the CHECK command',
    );
    await runtime.check(list({ disableCheck: true }), POD);
    expect(main.requests).toEqual([]);
  });

  it("an error keeps its code and names the plugin; a half-finished ADD is not undone", async () => {
    const { main, tuning, runtime, cache } = world();
    tuning.failures.set("ADD", new CniError(11, "busy", { details: "later", knowledge: "hns-unreachable" }));
    const failure = await runtime.add(list(), POD).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 11,
      message: 'plugin type="tuning" failed (add): busy; later',
      knowledge: "hns-unreachable",
    });
    expect(main.verbs).toEqual(["ADD"]);
    expect(await cache.list()).toEqual([]);
  });

  it.each([
    [{ containerId: "" }, 3, "missing containerID"],
    [{ containerId: "-x" }, 4, "invalid characters in containerID; -x"],
    [{ ifName: "" }, 4, "interface name is empty"],
  ])("ADD is refused for %j", async (fields, code, message) => {
    const failure = await world()
      .runtime.add(list(), { ...POD, ...fields })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, message: `plugin type="main" failed (add): ${message}` });
  });

  it("names a plugin that does not exist and where it was looked for", async () => {
    const unknown = list({ plugins: [{ type: "calico", name: "c" }] });
    await expect(world().runtime.add(unknown, POD)).rejects.toThrowError(
      'plugin type="calico" name="c" failed (add): failed to find plugin "calico" in path [C:\\k\\cni]',
    );
  });

  it("CNI-158 debug text on stdout breaks the caller, who says so", async () => {
    const broken = {
      run: () => Promise.resolve({ status: 0, statusText: "", stdout: "hello {}", stderr: "" }),
    };
    const runtime = new CniRuntime({ runner: broken, cache: new MemoryResultCache() });
    await expect(runtime.add(list(), POD)).rejects.toThrowError(
      /failed to unmarshal raw result: unexpected word "hello"/,
    );
  });

  it.each([
    [{ status: 2, stdout: "", stderr: "panic: x" }, 'netplugin failed: "panic: x": exit status 2'],
    [{ status: 1, stdout: "", stderr: "" }, "netplugin failed with no error message: exit status 1"],
    [
      { status: 1, stdout: "oops", stderr: "" },
      'netplugin failed but error parsing its diagnostic message "oops"',
    ],
  ])("what a caller makes of a plugin that breaks the contract: %j", async (exit, message) => {
    const runner = { run: () => Promise.resolve({ ...exit, statusText: `exit status ${exit.status}` }) };
    const runtime = new CniRuntime({ runner, cache: new MemoryResultCache() });
    await expect(runtime.add(list(), POD)).rejects.toThrowError(message);
  });

  it("STATUS stops at the first plugin that is not ready; lists below 1.1.0 are always ready", async () => {
    const { main, tuning, runtime } = world();
    main.failures.set("STATUS", new CniError(50, "no HNS"));
    await expect(runtime.status(list())).rejects.toMatchObject({ code: 50, message: "no HNS" });
    expect(tuning.requests).toEqual([]);
    await runtime.status(list({ cniVersion: "1.0.0" }));
  });

  it("GC deletes what the cache knows and nobody else does, tells the plugins who is valid, collects errors", async () => {
    const { main, tuning, runtime, cache } = world();
    await runtime.add(list(), POD);
    await runtime.add(list(), { ...POD, containerId: "DEAD" });
    await runtime.add(list({ name: "other" }), { ...POD, containerId: "ELSEWHERE" });
    main.failures.set("GC", new Error("cannot"));
    await expect(runtime.gc(list(), [{ containerId: "SBX", ifName: "eth0" }])).rejects.toThrowError(
      "failed to GC plugin main: cannot",
    );
    expect((await cache.list()).map(({ containerId }) => containerId)).toEqual(["SBX", "ELSEWHERE"]);
    expect(tuning.requests.at(-1)).toMatchObject({
      command: "GC",
      configuration: {
        "cni.dev/valid-attachments": [{ containerID: "SBX", ifname: "eth0" }],
        "cni.dev/attachments": [{ containerID: "SBX", ifname: "eth0" }],
      },
    });
  });

  it("GC without a list of the living empties the cache and tells the plugins no list; disabled, it does nothing", async () => {
    const { main, runtime, cache } = world();
    await runtime.add(list(), POD);
    await runtime.gc(list({ disableGC: true }), undefined);
    expect(await cache.list()).toHaveLength(1);
    await runtime.gc(list(), undefined);
    expect(await cache.list()).toEqual([]);
    expect(main.requests.at(-1)?.configuration).not.toHaveProperty(["cni.dev/valid-attachments"]);
  });

  it("a world that holds a runtime can be forked", async () => {
    const { runtime, cache } = world();
    await runtime.add(list(), POD);
    const copy = fork({ runtime, cache });
    await copy.runtime.del(list(), POD);
    expect(await copy.cache.list()).toEqual([]);
    expect(await cache.list()).toHaveLength(1);
  });
});
