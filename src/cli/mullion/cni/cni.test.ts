import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CniError } from "#contracts/cni/error.ts";
import { InProcessRunner, type PluginRunner } from "#contracts/cni/plugin-runner.ts";
import type { Environment } from "#contracts/cni/plugin-input.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { ScriptedPlugin } from "#test/support/cni/scripted-plugin.ts";
import { runMullion } from "../program.ts";
import { cniVerbs } from "./cni.ts";
import { cniReportSchema } from "./report.ts";

const GUID = "7cb720c0-ac4c-4266-92e1-dc277b2a9b94";
/** `printf /var/run/netns/web | sha512sum | cut -c1-20` */
const ID_OF_WEB = "cnitool-3993dc6bfc7ca7d2ea3c";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-cni-verb-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const LIST = {
  cniVersion: "1.1.0",
  name: "cbr0",
  plugins: [{ type: "main", capabilities: { portMappings: true, mac: true } }, { type: "tuning" }],
};

function world(files: Readonly<Record<string, unknown>> = { "10-cbr0.conflist": LIST }) {
  const plugins = { main: new ScriptedPlugin("main"), tuning: new ScriptedPlugin("tuning") };
  const texts = Object.entries(files).map(([path, content]) => [
    path,
    typeof content === "string" ? content : JSON.stringify(content),
  ]);
  const runner: PluginRunner = new InProcessRunner(
    new Map<string, CniPlugin>(Object.entries(plugins)),
    "linux",
  );
  const run = async (line: string, env: Environment = {}) => {
    const terminal = new MemoryTerminal(Object.fromEntries(texts) as Record<string, string>);
    const machine = { env, platform: "linux", currentFolder: "/work", runner, ownPlugins: () => "/own" };
    const argv = ["cni", ...line.split(" "), "--cache-dir", folder];
    const exitCode = await runMullion({
      argv,
      verbs: { cni: cniVerbs(machine) },
      terminal,
      version: "1.2.3",
      isDebug: false,
    });
    return { exitCode, stdout: terminal.output, stderr: terminal.errors };
  };
  return { ...plugins, run };
}

describe("mullion cni", () => {
  it("add prints the result as cnitool does; del and check know what add was given", async () => {
    const { main, run } = world();
    const words = `${GUID} --port-mapping 8080:80 --args K8S_POD_NAME=web;IgnoreUnknown=1 --container-id web`;
    const added = await run(`add 10-cbr0.conflist ${words}`);
    expect(added).toEqual({
      exitCode: 0,
      stderr: "",
      stdout:
        '{\n    "cniVersion": "1.1.0",\n    "ips": [\n        {\n            "address": "10.244.3.2/24"\n        }\n    ]\n}\n',
    });
    const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }];
    const given = {
      netns: GUID,
      containerId: "web",
      ifName: "eth0",
      args: "K8S_POD_NAME=web;IgnoreUnknown=1",
    };
    expect(main.requests[0]).toMatchObject(given);
    expect(main.requests[0]?.configuration["runtimeConfig"]).toEqual({ portMappings });

    expect(await run("check 10-cbr0.conflist --container-id web")).toMatchObject({
      exitCode: 0,
      stdout: "cbr0: web eth0 is as ADD has left it\n",
    });
    expect(main.requests[1]).toMatchObject({ ...given, command: "CHECK" });
    expect(main.requests[1]?.configuration).toMatchObject({
      runtimeConfig: { portMappings },
      prevResult: {},
    });

    expect(await run("del 10-cbr0.conflist --container-id web")).toMatchObject({
      exitCode: 0,
      stdout: "cbr0: web eth0 is detached\n",
    });
    expect(main.requests[2]).toMatchObject({ ...given, command: "DEL" });
    expect(main.requests[2]?.configuration["runtimeConfig"]).toEqual({ portMappings });
    expect((await run("del 10-cbr0.conflist --container-id web")).exitCode).toBe(0);
    expect(main.requests[3]).toMatchObject({ netns: "", args: "" });
  });

  it.each([
    ["/var/run/netns/web", "/var/run/netns/web", ID_OF_WEB],
    ["../var/run/netns/web", "/var/run/netns/web", ID_OF_WEB],
    ["none", "none", undefined],
    ["container:SBX", "container:SBX", undefined],
    [GUID, GUID, undefined],
  ])("CNI-155 the namespace %s reaches the plugin as %s", async (typed, netns, containerId) => {
    const { main, run } = world();
    await run(`add 10-cbr0.conflist ${typed}`);
    expect(main.requests[0]?.netns).toBe(netns);
    expect(main.requests[0]?.containerId).toMatch(/^cnitool-[0-9a-f]{20}$/);
    if (containerId !== undefined) expect(main.requests[0]?.containerId).toBe(containerId);
  });

  it("variables of cnitool hold where no option stands", async () => {
    const { main, run } = world();
    const env = { CNI_IFNAME: "net1", CNI_ARGS: "A=1", CAP_ARGS: '{"mac":"00:15:5d:00:00:01"}' };
    await run(`add 10-cbr0.conflist ${GUID}`, env);
    await run(`add 10-cbr0.conflist ${GUID} -i net2 --args B=2 --mac 00-15-5d-00-00-02`, env);
    expect(main.requests).toMatchObject([
      { ifName: "net1", args: "A=1", configuration: { runtimeConfig: { mac: "00:15:5d:00:00:01" } } },
      { ifName: "net2", args: "B=2", configuration: { runtimeConfig: { mac: "00:15:5d:00:00:02" } } },
    ]);
  });

  it("a value that no plugin declares is said, with what to write", async () => {
    const { exitCode, stderr } = await world().run(`add 10-cbr0.conflist ${GUID} --alias www`);
    expect(exitCode).toBe(0);
    expect(stderr).toBe(
      "mullion: no plugin of the list declares the capability aliases, so none is given its value\n" +
        '    Add "capabilities": {"aliases": true} to the plugin that should have it.\n',
    );
  });

  it("a failed add names the plugin, and says how to clean up", async () => {
    const { tuning, run } = world();
    tuning.failures.set("ADD", new CniError(11, "busy", { knowledge: "hns-unreachable" }));
    expect(await run(`add 10-cbr0.conflist ${GUID}`)).toEqual({
      exitCode: 1,
      stdout: "",
      stderr:
        'mullion: plugin type="tuning" failed (add): busy [CNI 11]\n' +
        "    Try again later: the plugin asks for it. What was made stays until DEL: the same words with del instead of add.\n" +
        "    More: mullion explain hns-unreachable\n",
    });
  });

  it("check of what was never attached says so", async () => {
    const { exitCode, stderr } = await world().run("check 10-cbr0.conflist --container-id web");
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr:
        "mullion: web eth0 is not attached to cbr0: the result cache does not have it [CNI 3]\n" +
        "    Name the container with --container-id.\n",
    });
  });

  it("gc detaches what is not kept; the plugins hear of a list only when there is one", async () => {
    const { main, run } = world();
    for (const id of ["a", "b", "c"]) await run(`add 10-cbr0.conflist ${GUID} --container-id ${id}`);
    expect((await run("gc 10-cbr0.conflist --keep a --keep b/eth0")).stdout).toBe("cbr0: collected\n");
    expect(main.requests.slice(3)).toMatchObject([
      { command: "DEL", containerId: "c" },
      {
        command: "GC",
        configuration: {
          "cni.dev/valid-attachments": [
            { containerID: "a", ifname: "eth0" },
            { containerID: "b", ifname: "eth0" },
          ],
        },
      },
    ]);
    await run("gc 10-cbr0.conflist");
    expect(main.verbs.slice(5)).toEqual(["DEL", "DEL", "GC"]);
    expect(main.requests[7]?.configuration).not.toHaveProperty(["cni.dev/valid-attachments"]);
    await run("gc 10-cbr0.conflist --keep-none");
    expect(main.requests[8]?.configuration).toHaveProperty(["cni.dev/valid-attachments"], []);
  });

  it("status and version", async () => {
    const { main, run } = world();
    expect((await run("status 10-cbr0.conflist")).stdout).toBe("cbr0: ready\n");
    main.failures.set("STATUS", new CniError(50, "no HNS"));
    expect(await run("status 10-cbr0.conflist")).toMatchObject({
      exitCode: 1,
      stderr: "mullion: no HNS [CNI 50]\n    ADD would fail for this reason.\n",
    });
    expect((await run("version 10-cbr0.conflist")).stdout).toBe(
      "cbr0: version 1.1.0\n  main     0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0\n  tuning   0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0\n",
    );
  });

  it("version of a list that a plugin does not speak is a finding", async () => {
    const { run } = world({ "a.conflist": { ...LIST, cniVersion: "0.9.0" } });
    const { exitCode, stdout } = await run("version a.conflist");
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^cbr0: version 0\.9\.0\n {2}main .* not the list's$/m);
  });

  it("-o json prints one document by its schema, also of a failure", async () => {
    const { main, run } = world();
    const documents: unknown[] = [];
    const isValid = new Ajv().compile(cniReportSchema());
    const lines = ["add 10-cbr0.conflist none", "gc 10-cbr0.conflist", "version 10-cbr0.conflist"];
    for (const line of lines) documents.push(JSON.parse((await run(`${line} -o json`)).stdout));
    main.failures.set("DEL", new CniError(999, "HNS is down", { details: "later" }));
    documents.push(JSON.parse((await run("del 10-cbr0.conflist none -o json")).stdout));
    for (const document of documents) expect(isValid(document), JSON.stringify(isValid.errors)).toBe(true);
    expect(documents).toMatchObject([
      {
        command: "ADD",
        network: "cbr0",
        cniVersion: "1.1.0",
        attachment: { netns: "none" },
        result: { ips: [{}] },
      },
      { command: "GC" },
      { command: "VERSION", plugins: [{ type: "main", isListSupported: true }, { type: "tuning" }] },
      { command: "DEL", error: { code: 999, msg: expect.stringContaining("HNS is down; later") as string } },
    ]);
  });

  it("a damaged cache file stops check with its path, and del goes on without", async () => {
    const { run } = world();
    await run("add 10-cbr0.conflist none --container-id web");
    writeFileSync(join(folder, "results", "cbr0-web-eth0"), "{");
    const checked = await run("check 10-cbr0.conflist --container-id web");
    expect(checked.exitCode).toBe(1);
    expect(checked.stderr).toContain(join(folder, "results", "cbr0-web-eth0"));
    expect((await run("del 10-cbr0.conflist --container-id web")).exitCode).toBe(0);
  });
});

describe("finding the list (cni.md §1.1)", () => {
  const single = { cniVersion: "1.0.0", name: "old", type: "main" };

  it("by name: lists before single files, each sorted; the folder of the network belongs to it", async () => {
    const { main, run } = world({
      "/etc/cni/net.d/05-other.conflist": { ...LIST, name: "other" },
      "/etc/cni/net.d/10-cbr0.conflist": { cniVersion: "1.1.0", name: "cbr0" },
      "/etc/cni/net.d/cbr0/main.conf": { type: "main", own: 7 },
      "/etc/cni/net.d/cbr0/notes.txt": "no JSON",
      "/nets/a.conf": single,
    });
    await run("add cbr0 none");
    expect(main.requests[0]?.configuration).toMatchObject({ name: "cbr0", own: 7 });
    await run("add old none", { NETCONFPATH: "/nets" });
    expect(main.requests[1]?.configuration).toMatchObject({ name: "old", cniVersion: "1.0.0" });
    expect((await run("status cbr0 --conf-dir /nets", {})).stderr).toBe(
      'mullion: no net configuration with name "cbr0" in /nets [bad-usage]\n    There are: old. Or write the path of a file.\n',
    );
  });

  it("a file of another network that is broken is passed over, and said", async () => {
    const { run } = world({
      "/etc/cni/net.d/00-broken.conflist": "{",
      "/etc/cni/net.d/10-cbr0.conflist": LIST,
    });
    const { exitCode, stderr } = await run("status cbr0");
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^mullion: 00-broken\.conflist is passed over: unexpected end/);
  });

  it.each([
    ["status none.conflist", "none.conflist cannot be read: there is no such file"],
    ["status nowhere", "no net configurations found in /etc/cni/net.d"],
    ["status bad.conflist", "bad.conflist: error parsing configuration list: no plugins in list"],
    ["status bom.conflist", "bom.conflist: "],
    ["del 10-cbr0.conflist", "neither a namespace nor a container is given"],
    ["add 10-cbr0.conflist none --args x", 'the CNI arguments have a part that is not a pair: "x"'],
    ["gc 10-cbr0.conflist --keep /eth0", '--keep cannot be "/eth0"'],
    ["gc 10-cbr0.conflist --keep a --keep-none", "--keep and --keep-none contradict each other"],
  ])("%s", async (line, message) => {
    const { run } = world({
      "10-cbr0.conflist": LIST,
      "bad.conflist": { name: "cbr0", plugins: [] },
      "bom.conflist": "\ufeff{}",
    });
    const { exitCode, stdout, stderr } = await run(line);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(`mullion: ${message}`);
  });
});
