/** The executables as real processes, against an HNS behind a Unix socket. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import { ExecRunner } from "#contracts/cni/exec-plugin.node.ts";
import { choosePlatform } from "#contracts/cni/plugin.ts";
import { MemoryResultCache, CniRuntime } from "#contracts/cni/runtime.ts";
import { formatResult } from "#contracts/cni/result.ts";
import { createEndpoint, createNamespace, createNetwork, listEndpoints } from "#contracts/hcn/operations.ts";
import { getHnsEndpointByName } from "#contracts/hcn/v1-operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { BIN, PROGRAM_PATH, runPluginProcess as run } from "#test/support/cni/plugin-process.ts";
import { chooseCompat } from "./plugin-process.ts";

const ADD = {
  CNI_COMMAND: "ADD",
  CNI_CONTAINERID: "SBX",
  CNI_NETNS: "none",
  CNI_IFNAME: "eth0",
  CNI_PATH: BIN,
};

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-cni-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("host-local as a process", () => {
  const config = () => ({
    cniVersion: "1.0.0",
    name: "n",
    ipam: { type: "host-local", subnet: "10.1.0.0/24", dataDir: folder },
  });

  it("CNI-EX-F1 ADD and DEL leave the files of upstream", async () => {
    const added = await run("host-local", ADD, config());
    expect(added).toMatchObject({ status: 0, stderr: "" });
    expect(added.stdout).toBe(
      '{\n    "cniVersion": "1.0.0",\n    "ips": [\n        {\n            "address": "10.1.0.2/24",\n            "gateway": "10.1.0.1"\n        }\n    ]\n}',
    );
    expect(readFileSync(join(folder, "n", "10.1.0.2"), "utf8")).toBe("SBX\r\neth0");
    expect(await run("host-local", { ...ADD, CNI_COMMAND: "DEL" }, config())).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
    expect(readdirSync(join(folder, "n")).toSorted()).toEqual(["last_reserved_ip.0", "lock"]);
  });

  it("CNI-001 CNI-010 without a verb it says what it is; VERSION needs no stdin", async () => {
    const bare = await run("host-local", {}, "");
    expect(bare).toMatchObject({ status: 0, stdout: "" });
    expect(bare.stderr).toContain("CNI host-local plugin");
    const version = await run("host-local", { CNI_COMMAND: "VERSION" }, "garbage");
    expect(version.stdout).toMatch(/^\{"cniVersion":"1.1.0","supportedVersions":\[.*\]\}\n$/);
  });

  it("a result that cannot be written is a failure, and standard error says so", () => {
    const full = openSync("/dev/full", "w");
    const env = { PATH: PROGRAM_PATH, CNI_COMMAND: "VERSION" };
    const { status, stderr } = spawnSync(join(BIN, "host-local"), {
      env,
      input: "{}",
      stdio: ["pipe", full, "pipe"],
    });
    closeSync(full);
    expect([status, String(stderr)]).toEqual([1, "cannot write to standard output: ENOSPC\n"]);
  });

  it("CNI-008 CNI-EX-F11 errors are JSON on stdout, status 1, never a stack trace", async () => {
    const broken = await run("host-local", ADD, "{\u00a0}");
    expect(broken).toMatchObject({ status: 1, stderr: "" });
    expect(JSON.parse(broken.stdout)).toMatchObject({
      code: 6,
      msg: expect.stringContaining("no-break space") as string,
    });
    const resolvConf = join(folder, "none");
    const missing = await run("host-local", ADD, { ...config(), ipam: { ...config().ipam, resolvConf } });
    expect(JSON.parse(missing.stdout)).toEqual({
      code: 5,
      msg: `open ${resolvConf}: no such file or directory`,
    });
  });

  it("the mode is chosen by flag or variable", async () => {
    const mistake = { cniVersion: "1.0.0", name: "n", ipam: {} };
    expect(JSON.parse((await run("host-local", ADD, mistake)).stdout)).toMatchObject({ code: 7 });
    expect(
      JSON.parse((await run("host-local", ADD, mistake, ["--mullion-compat=upstream"])).stdout),
    ).toMatchObject({ code: 999 });
    expect(JSON.parse((await run("host-local", { ...ADD, MULLION_COMPAT: "odd" }, mistake)).stdout)).toEqual({
      code: 4,
      msg: 'MULLION_COMPAT is "odd"; write "upstream" or "hardened"',
    });
  });
});

describe("win-bridge as a process", () => {
  async function node() {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    await createEndpoint(client, network.ID, {
      Name: "cbr0_ep",
      IpConfigurations: [{ IpAddress: "10.244.2.2" }],
    });
    const socketPath = join(folder, "hns.sock");
    const server = await HnsHttpServer.listen({ client, address: { socketPath } });
    return {
      client,
      server,
      env: { PATH: PROGRAM_PATH, CNI_PATH: `/nonexistent:${BIN}`, MULLION_HNS: `unix:${socketPath}` },
    };
  }

  function list(fields: object = {}) {
    const ipam = { type: "host-local", subnet: "10.244.2.0/24", dataDir: join(folder, "leases") };
    return parseNetworkList(
      JSON.stringify({
        cniVersion: "1.1.0",
        name: "cbr0",
        plugins: [{ type: "win-bridge", apiVersion: 2, ipam, ...fields }],
      }),
    );
  }

  it("ADD, CHECK, STATUS, GC, DEL through a socket, with IPAM found in CNI_PATH", async () => {
    const { client, server, env } = await node();
    try {
      const runtime = new CniRuntime({ runner: new ExecRunner(), cache: new MemoryResultCache(), env });
      const pod = { containerId: "SBX", netns: (await createNamespace(client)).ID, ifName: "eth0" };
      const result = await runtime.add(list(), pod);
      expect(formatResult(result, "1.1.0")).toMatchObject({
        interfaces: [{ name: "eth0", sandbox: pod.netns }],
        ips: [{ address: "10.244.2.3/24", gateway: "10.244.2.2" }],
      });
      await runtime.check(list(), pod);
      await runtime.status(list());
      await runtime.gc(list(), [{ containerId: "SBX", ifName: "eth0" }]);
      expect((await listEndpoints(client)).map(({ Name }) => Name)).toEqual(["cbr0_ep", "SBX_cbr0"]);
      await runtime.del(list(), pod);
      expect((await listEndpoints(client)).map(({ Name }) => Name)).toEqual(["cbr0_ep"]);
      expect(readdirSync(join(folder, "leases", "cbr0")).toSorted()).toEqual(["last_reserved_ip.0", "lock"]);
    } finally {
      await server.close();
    }
  });

  it("mullion cni add, check, del: the plugins of this package are found, what was attached is remembered", async () => {
    const { client, server, env } = await node();
    try {
      const netns = (await createNamespace(client)).ID;
      const { CNI_PATH: _unset, ...own } = env;
      const words = ["--cache-dir", join(folder, "cache"), "--container-id", "WEB"];
      const cni = (...line: readonly string[]) =>
        run("mullion", own, list().text, ["cni", ...line, ...words]);
      const added = await cni("add", "-", netns);
      expect(added).toMatchObject({ status: 0, stderr: "" });
      expect(JSON.parse(added.stdout)).toMatchObject({
        cniVersion: "1.1.0",
        interfaces: [{ name: "eth0", sandbox: netns }],
        ips: [{ interface: 0 }],
      });
      expect(readdirSync(join(folder, "cache", "results"))).toEqual(["cbr0-WEB-eth0"]);
      expect(await cni("check", "-")).toEqual({
        status: 0,
        stdout: "cbr0: WEB eth0 is as ADD has left it\n",
        stderr: "",
      });
      expect(await cni("del", "-")).toMatchObject({ status: 0, stderr: "" });
      expect((await listEndpoints(client)).map(({ Name }) => Name)).toEqual(["cbr0_ep"]);
      expect(readdirSync(join(folder, "cache", "results"))).toEqual([]);
    } finally {
      await server.close();
    }
  });

  it("mullion-netns: a path for the runtime, a namespace of HNS for win-bridge", async () => {
    const { client, server, env } = await node();
    try {
      const dataDir = join(folder, "netns");
      const [delegate] = list().plugins.map(({ document }) => document);
      const plugins = [{ type: "mullion-netns", dataDir, delegate }];
      const chained = parseNetworkList(JSON.stringify({ cniVersion: "1.1.0", name: "cbr0", plugins }));
      const runtime = new CniRuntime({ runner: new ExecRunner(), cache: new MemoryResultCache(), env });
      const pod = { containerId: "NETNS", netns: "/var/run/netns/web", ifName: "eth0" };
      expect(await runtime.add(chained, pod)).toMatchObject({
        interfaces: [{ name: "eth0", sandbox: pod.netns }],
      });
      expect(readdirSync(join(dataDir, "cbr0"))).toEqual(["NETNS@eth0"]);
      await runtime.check(chained, pod);
      await runtime.del(chained, { ...pod, netns: "" });
      expect((await listEndpoints(client)).map(({ Name }) => Name)).toEqual(["cbr0_ep"]);
      expect(readdirSync(join(dataDir, "cbr0"))).toEqual([]);
    } finally {
      await server.close();
    }
  });

  it("HNS v1: the container is given the endpoint by whoever keeps containers, through the socket", async () => {
    const { client, server, env } = await node();
    try {
      await client.computeSystems.create("SBX", { SystemType: "Container" });
      const ipam = {
        type: "host-local",
        subnet: "10.244.2.0/24",
        rangeStart: "10.244.2.7",
        dataDir: join(folder, "v1"),
      };
      const stdin = { cniVersion: "1.0.0", name: "cbr0", type: "win-bridge", ipam };
      expect(await run("win-bridge", { ...ADD, ...env }, stdin)).toMatchObject({ status: 0, stderr: "" });
      expect(await getHnsEndpointByName(client, "SBX_cbr0")).toMatchObject({
        IPAddress: "10.244.2.7",
        SharedContainers: ["SBX"],
      });
    } finally {
      await server.close();
    }
  });

  it("flannel with an HNS behaves as on Windows, here, too; without one as on Linux", async () => {
    const { client, server, env } = await node();
    try {
      const subnetFile = join(folder, "subnet.env");
      writeFileSync(
        subnetFile,
        "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n",
      );
      const stdin = (dataDir: string) => ({
        cniVersion: "1.0.0",
        name: "cbr0",
        type: "flannel",
        subnetFile,
        dataDir: join(folder, dataDir),
        delegate: { apiVersion: 2 },
      });
      // One that writes no leases: flannel leaves host-local no folder but this machine's.
      mkdirSync(join(folder, "scripts"));
      const hostLocal = join(folder, "scripts", "host-local");
      writeFileSync(
        hostLocal,
        '#!/bin/sh\necho \'{"cniVersion":"1.0.0","ips":[{"address":"10.244.2.9/24"}]}\'\n',
        { mode: 0o755 },
      );
      const variables = {
        ...ADD,
        ...env,
        CNI_NETNS: (await createNamespace(client)).ID,
        CNI_PATH: `${folder}/scripts:${BIN}`,
      };
      const added = await run("flannel", variables, stdin("on-windows"), ["--mullion-compat=upstream"]);
      expect(added.status).toBe(0);
      expect(JSON.parse(added.stdout)).toMatchObject({ interfaces: [{ name: "SBX_cbr0" }] });
      const [made] = (await listEndpoints(client)).filter(({ Name }) => Name === "SBX_cbr0");
      expect(made?.Policies).toContainEqual({
        Type: "OutBoundNAT",
        Settings: { Exceptions: ["10.244.0.0/16"] },
      });
      expect(JSON.parse(readFileSync(join(folder, "on-windows", "SBX"), "utf8"))).toMatchObject({
        type: "win-bridge",
        ipam: { type: "host-local", subnet: "10.244.2.0/24" },
      });
      const { MULLION_HNS: _none, ...without } = env;
      const linux = await run("flannel", { ...ADD, ...without }, stdin("on-linux"));
      expect(JSON.parse(linux.stdout)).toMatchObject({
        code: 999,
        msg: expect.stringContaining('failed to find plugin "bridge"') as string,
      });
    } finally {
      await server.close();
    }
  });

  it("a foreign IPAM plugin runs as a process, and its words come through", async () => {
    const { client, server, env } = await node();
    try {
      const foreign = join(folder, "foreign");
      writeFileSync(
        foreign,
        '#!/bin/sh\necho "$CNI_COMMAND $MULLION_COMPAT" >> "$0.log"; echo \'{"code":100,"msg":"no leases"}\'; exit 1\n',
      );
      chmodSync(foreign, 0o755);
      const runtime = new CniRuntime({
        runner: new ExecRunner(),
        cache: new MemoryResultCache(),
        env: { ...env, CNI_PATH: `${folder}:${BIN}` },
      });
      const pod = { containerId: "SBX", netns: (await createNamespace(client)).ID, ifName: "eth0" };
      await expect(runtime.add(list({ ipam: { type: "foreign" } }), pod)).rejects.toThrowError(
        /error while executing IPAM addition: no leases$/,
      );
      expect(readFileSync(`${foreign}.log`, "utf8")).toBe("ADD hardened\nDEL hardened\n");
    } finally {
      await server.close();
    }
  });

  it("works through a link in another folder", async () => {
    const link = join(folder, "win-bridge");
    if (!existsSync(link)) symlinkSync(join(BIN, "win-bridge"), link);
    const exit = await new ExecRunner().run({
      type: "win-bridge",
      env: { PATH: PROGRAM_PATH, CNI_PATH: folder, CNI_COMMAND: "VERSION" },
      stdin: "",
    });
    expect(exit).toMatchObject({ status: 0 });
  });

  it("CNI-081 no HNS: STATUS 50 and ADD 999 say where it was looked for; DEL fails, to be tried again", async () => {
    const config = { cniVersion: "1.1.0", name: "cbr0", type: "win-bridge", apiVersion: 2 };
    const env = {
      ...ADD,
      CNI_NETNS: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
      MULLION_HNS: `unix:${folder}/nobody.sock`,
    };
    for (const [verb, code] of [
      ["STATUS", 50],
      ["ADD", 999],
      ["DEL", 999],
    ] as const) {
      const exit = await run("win-bridge", { ...env, CNI_COMMAND: verb }, config);
      expect(exit).toMatchObject({ status: 1, stderr: "" });
      expect(JSON.parse(exit.stdout)).toMatchObject({ code });
      expect(exit.stdout).toContain("nobody.sock: there is no such socket");
      expect(exit.stdout).toContain("mullion explain hns-unreachable");
    }
  });
});

it.each([
  [[], {}, "hardened"],
  [[], { MULLION_COMPAT: "upstream" }, "upstream"],
  [["--mullion-compat=hardened"], { MULLION_COMPAT: "upstream" }, "hardened"],
] as const)("mode of %j and %j: %s", (args, env, compat) => {
  expect(chooseCompat(args, env)).toBe(compat);
});

const HNS = "unix:/run/mullion/hns.sock";

it.each([
  [undefined, {}, "linux", "linux"],
  [undefined, { MULLION_HNS: HNS }, "linux", "win32"],
  [undefined, { MULLION_HNS: "" }, "linux", "linux"],
  [undefined, { MULLION_HNS: HNS, MULLION_OS: "linux" }, "linux", "linux"],
  [undefined, { MULLION_OS: "windows" }, "darwin", "win32"],
  ["windows", { MULLION_OS: "linux" }, "linux", "win32"],
  ["linux", { MULLION_HNS: HNS }, "win32", "linux"],
  [undefined, {}, "win32", "win32"],
] as const)("system of the flag %j and %j on %s: %s", (flag, env, machine, platform) => {
  expect(choosePlatform(flag, env, machine)).toBe(platform);
});

it.each([
  ["plan9", {}, '--mullion-os is "plan9"; write "windows" or "linux"'],
  [undefined, { MULLION_OS: "win32" }, 'MULLION_OS is "win32"; write "windows" or "linux"'],
])("no system: %j and %j", (flag, env, text) => {
  expect(() => choosePlatform(flag, env, "linux")).toThrow(text);
});
