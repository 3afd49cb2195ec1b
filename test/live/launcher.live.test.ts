/**
 * The launcher of plugins for Linux (launcher/linux) against a process of Node for each call: the same results, exit codes
 * and errors from `mullion hns serve`. And what it does when there is no service, a foreign one, or one that dies.
 * Needs gcc, root (for a socket of another user) and util-linux.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type Server, type Socket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { formatMark, withScript } from "#cli/programs/launcher-mark.ts";
import { linuxLauncher, thisInstallation, writeLauncher } from "#cli/programs/launchers.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { createEndpoint, createNamespace, createNetwork, listEndpoints } from "#contracts/hcn/operations.ts";
import { CnsService } from "#programs/plugins/cns/service.ts";
import { CnsHttpService } from "../support/cni/cns-http-service.ts";
import { pool } from "../support/cni/cns-node.ts";
import { PROGRAM_PATH } from "../support/cni/plugin-process.ts";

const ROOT = resolve(".");
const AZURE_PLUGINS = ["azure-vnet", "azure-vnet-stateless", "azure-vnet-ipam", "azure-vnet-ipamv6"];
const PLUGINS = [
  "win-bridge",
  "win-overlay",
  "host-local",
  "flannel",
  "mullion-netns",
  "nat",
  ...AZURE_PLUGINS,
];
const NOBODY = 65_534;
const LENGTH_BYTES = 4;
const INPUT = '{"name": "n"}';

interface Exit {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let built = "";
let impatient = "";

function build(name: string, defines = ""): string {
  const program = join(built, name);
  execFileSync("make", ["-C", "launcher/linux", "-B", `PROGRAM=${program}`, `DEFINES=${defines}`], {
    stdio: "pipe",
  });
  return program;
}

/** Launchers that say so where they would start Node. */
function writeWithoutNode(folder: string, executable: string, script: string): void {
  mkdirSync(folder, { recursive: true });
  for (const program of PLUGINS) {
    const text = `#!/bin/sh\n# ${formatMark({ program, root: ROOT })}\n${script}\n`;
    writeFileSync(join(folder, program), withScript(readFileSync(executable), text));
    chmodSync(join(folder, program), 0o755);
  }
}

function writeOfNode(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const installation = { ...thisInstallation(), executable: undefined, isSource: true };
  for (const program of PLUGINS) writeLauncher(folder, program, installation);
}

beforeAll(() => {
  built = mkdtempSync(join(tmpdir(), "mullion-launcher-"));
  impatient = build("impatient", "-DEND_SECONDS=1");
  build("launcher");
});
afterAll(() => rmSync(built, { recursive: true }));

async function untilServed(socket: string): Promise<void> {
  for (let tries = 0; !existsSync(`${socket}.cni`); tries++) {
    if (tries > 600) throw new Error(`nobody listens on ${socket}.cni`);
    await sleep(100);
  }
}

type Way = "launcher" | "Node";

/** A node with a service of HNS as a process, and plugins that are called in one way. */
class Node {
  readonly folder = mkdtempSync(join(tmpdir(), "mullion-way-"));
  readonly bin = join(this.folder, "bin");
  readonly socket = join(this.folder, "hns.sock");
  namespace = "";
  private readonly service: ChildProcess;

  constructor(way: Way) {
    if (way === "Node") writeOfNode(this.bin);
    else writeWithoutNode(this.bin, join(built, "launcher"), "echo 'Node was started' >&2; exit 99");
    const words = ["hns", "serve", "--socket", this.socket, "--address-delay", "0"];
    this.service = spawn(process.execPath, ["bin/mullion.js", ...words], { stdio: "ignore" });
  }

  /** `azure`: one of the driver L2Tunnel, which azure-vnet adopts. */
  async begin(name: "cbr0" | "azure" = "cbr0"): Promise<void> {
    await untilServed(this.socket);
    const client = findHns({ variables: { MULLION_HNS: `unix:${this.socket}` } });
    const range = name === "azure" ? "10.240" : "10.244";
    const route = { NextHop: `${range}.0.1`, DestinationPrefix: "0.0.0.0/0" };
    const adapter = { Type: "NetAdapterName" as const, Settings: { NetworkAdapterName: "Ethernet" } };
    const network = await createNetwork(client, {
      Name: name,
      Type: name === "azure" ? "L2Tunnel" : "L2Bridge",
      Policies: name === "azure" ? [adapter] : [],
      Ipams: [{ Type: "Static", Subnets: [{ IpAddressPrefix: `${range}.0.0/16`, Routes: [route] }] }],
    });
    if (name === "cbr0")
      await createEndpoint(client, network.ID ?? "", {
        Name: "cbr0_ep",
        IpConfigurations: [{ IpAddress: "10.244.0.2" }],
      });
    this.namespace = (await createNamespace(client)).ID ?? "";
    await client.close();
  }

  run(program: string, call: Call, stdout: "pipe" | number = "pipe"): Exit {
    const { verb, env = {}, stdin = this.configuration({}), args = [] } = call;
    const all = { ...this.environment(verb), ...env };
    const input = typeof stdin === "string" ? stdin : JSON.stringify(stdin);
    const {
      status,
      stdout: out,
      stderr,
    } = spawnSync(join(this.bin, program), args, {
      env: all,
      input,
      stdio: ["pipe", stdout, "pipe"],
      maxBuffer: 2 ** 26,
    });
    return { status, stdout: this.same(String(out)), stderr: this.same(String(stderr)) };
  }

  /** The same while this process goes on, and may answer. */
  start(program: string, { verb, env = {}, stdin, args = [] }: Call): Promise<Exit> {
    const all = { ...this.environment(verb), ...env };
    const child = spawn(join(this.bin, program), args, { env: all, stdio: ["pipe", "pipe", "pipe"] });
    const out = { stdout: "", stderr: "" };
    child.stdout.on("data", (part: Buffer) => (out.stdout += part.toString()));
    child.stderr.on("data", (part: Buffer) => (out.stderr += part.toString()));
    // Who only says its versions reads nothing, and may have ended.
    child.stdin.on("error", () => undefined);
    child.stdin.end(JSON.stringify(stdin));
    return new Promise((done) =>
      child.on("close", (status) =>
        done({ status, stdout: this.same(out.stdout), stderr: this.same(out.stderr) }),
      ),
    );
  }

  configuration(more: object): object {
    const ipam = { type: "host-local", subnet: "10.244.0.0/16", dataDir: join(this.folder, "leases") };
    return { cniVersion: "1.1.0", name: "cbr0", apiVersion: 2, ipam, ...more };
  }

  async endpoints(): Promise<readonly (string | undefined)[]> {
    const client = findHns({ variables: { MULLION_HNS: `unix:${this.socket}` } });
    const names = (await listEndpoints(client)).map(({ Name }) => Name);
    await client.close();
    return names;
  }

  async end(): Promise<void> {
    const ended = new Promise((done) => this.service.once("exit", done));
    this.service.kill();
    await ended;
    const left = readdirSync(this.folder).filter((name) => name.startsWith("hns"));
    if (left.length > 0) throw new Error(`the service left ${left.join(", ")}`);
    rmSync(this.folder, { recursive: true });
  }

  private environment(verb: string): Readonly<Record<string, string>> {
    return {
      PATH: PROGRAM_PATH,
      CNI_COMMAND: verb,
      CNI_CONTAINERID: "sandbox-1",
      CNI_NETNS: this.namespace,
      CNI_IFNAME: "eth0",
      CNI_PATH: this.bin,
      MULLION_HNS: `unix:${this.socket}`,
    };
  }

  /** What differs from node to node. */
  private same(text: string): string {
    return text
      .replaceAll(this.folder, "FOLDER")
      .replaceAll(this.namespace, "NAMESPACE")
      .replaceAll(/[\da-f]{2}(?:[:-][\da-f]{2}){5}/gi, "MAC")
      .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi, "GUID");
  }
}

interface Call {
  readonly verb: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: unknown;
  readonly args?: readonly string[];
}

const MEBIBYTE = 2 ** 20;

/** Calls in this order, of both ways. */
function calls(node: Node): readonly (readonly [what: string, program: string, Call])[] {
  const attached = { "cni.dev/valid-attachments": [] };
  const long = node.configuration({ note: "x".repeat(9 * MEBIBYTE) });
  return [
    ["VERSION reads no configuration", "win-bridge", { verb: "VERSION", stdin: "garbage" }],
    ["STATUS", "win-bridge", { verb: "STATUS" }],
    ["ADD", "win-bridge", { verb: "ADD" }],
    ["ADD a second time", "win-bridge", { verb: "ADD" }],
    ["CHECK without a result", "win-bridge", { verb: "CHECK" }],
    ["DEL", "win-bridge", { verb: "DEL" }],
    ["DEL of what is gone", "win-bridge", { verb: "DEL" }],
    ["ADD with 9 MiB of configuration", "win-bridge", { verb: "ADD", stdin: long }],
    ["GC", "win-bridge", { verb: "GC", stdin: node.configuration(attached) }],
    ["IPAM alone", "host-local", { verb: "ADD", env: { CNI_CONTAINERID: "alone" } }],
    ["IPAM alone, DEL", "host-local", { verb: "DEL", env: { CNI_CONTAINERID: "alone" } }],
    ["as upstream", "win-bridge", { verb: "ADD", args: ["--mullion-compat=upstream"] }],
    ["as upstream, by a variable", "win-bridge", { verb: "DEL", env: { MULLION_COMPAT: "upstream" } }],
    ["a mode that is none", "win-bridge", { verb: "ADD", env: { MULLION_COMPAT: "odd" } }],
    ["a network that is none", "win-overlay", { verb: "ADD", stdin: node.configuration({ name: "none" }) }],
    ["no IPAM plugin", "win-bridge", { verb: "ADD", stdin: node.configuration({ ipam: { type: "none" } }) }],
    [
      "no subnet.env",
      "flannel",
      {
        verb: "ADD",
        stdin: { cniVersion: "1.0.0", name: "cbr0", type: "flannel", subnetFile: "/nowhere/subnet.env" },
      },
    ],
    ["nothing on stdin", "win-bridge", { verb: "ADD", stdin: "" }],
    ["no JSON", "win-bridge", { verb: "ADD", stdin: '{"name": "a\u0007b"' }],
    ["more than 10 MiB", "win-bridge", { verb: "ADD", stdin: `"${"x".repeat(11 * MEBIBYTE)}"` }],
    ["no container id", "win-bridge", { verb: "ADD", env: { CNI_CONTAINERID: "" } }],
    ["an interface name that is none", "win-bridge", { verb: "ADD", env: { CNI_IFNAME: "a/b" } }],
    ["a verb that is none", "win-bridge", { verb: "FLY" }],
    [
      "a version of the specification that is none",
      "win-bridge",
      { verb: "ADD", stdin: node.configuration({ cniVersion: "9.9.9" }) },
    ],
    ["nat without a network", "nat", { verb: "ADD", stdin: node.configuration({ name: "nat" }) }],
    ["a namespace by path", "mullion-netns", { verb: "ADD", env: { CNI_NETNS: "/run/netns/none" } }],
  ];
}

/** What CNS of an Azure node gives, and what azure-vnet makes of it, in one way. */
async function azureCalls(way: Way): Promise<readonly unknown[]> {
  const node = new Node(way);
  const cns = new CnsService({
    host: { Gateway: "10.240.0.1", PrimaryIP: "10.240.0.4", Subnet: "10.240.0.0/16" },
    keepsEndpoints: true,
  });
  cns.pool.add(pool("10.240.0.4/16", "10.240.0.1", "10.240.0.35", "10.240.0.36", "10.240.0.37"));
  const served = await CnsHttpService.listen(cns);
  const told: unknown[] = [];
  try {
    await node.begin("azure");
    const stdin = {
      cniVersion: "1.1.0",
      name: "azure",
      type: "azure-vnet",
      master: "lo",
      adapterName: "Ethernet",
      ipam: { type: "azure-cns" },
      cnsurl: served.url,
    };
    const call = (program: string, verb: string, id: string, more: object = {}): Promise<Exit> => {
      const env = {
        CNI_CONTAINERID: `${id}0000000000000`,
        CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${id}-0`,
        MULLION_AZURE_STATE: join(node.folder, "state"),
        MULLION_AZURE_DELETE_IDS: join(node.folder, "pending"),
      };
      return node.start(program, { verb, env, stdin: { ...stdin, ...more } });
    };
    for (const program of ["azure-vnet", "azure-vnet-stateless"]) {
      for (const verb of ["ADD", "ADD", "CHECK", "STATUS", "DEL", "DEL"])
        told.push([program, verb, await call(program, verb, "web")]);
      // The state is locked by one, while the other waits.
      const both = await Promise.all([call(program, "ADD", "one"), call(program, "ADD", "two")]);
      told.push(
        both.map(({ status }) => status),
        (await node.endpoints()).length,
      );
      for (const id of ["one", "two"]) told.push(await call(program, "DEL", id));
      told.push(await node.endpoints(), readdirSync(join(node.folder, "state")));
    }
    const ipam = { ipam: { type: "azure-vnet-ipam" } };
    told.push(await call("azure-vnet-ipam", "ADD", "alone", { ...ipam, ipam: { type: "none" } }));
    told.push(await call("azure-vnet-ipamv6", "VERSION", "alone", ipam));
    await served.close();
    told.push(["without CNS", await call("azure-vnet", "ADD", "web")]);
    return told;
  } finally {
    await served.close().catch(() => undefined);
    await node.end();
  }
}

describe("both ways", () => {
  it("azure-vnet: the same results and errors with CNS, and two calls at once wait for each other", async () => {
    const [byLauncher, byNode] = [await azureCalls("launcher"), await azureCalls("Node")];
    // CNS has another port each time.
    const same = (told: readonly unknown[]): string =>
      JSON.stringify(told, undefined, 1).replaceAll(/127\.0\.0\.1:\d+/g, "CNS");
    expect(same(byLauncher)).toBe(same(byNode));
    expect(byNode).toContainEqual([
      "azure-vnet",
      "ADD",
      { status: 0, stdout: expect.stringContaining("10.240.0.35/16") as string, stderr: "" },
    ]);
    expect(byNode).toContainEqual([0, 0]);
  });

  it("give the same results, exit codes and errors, and leave the same", async () => {
    const told: Record<Way, unknown[]> = { launcher: [], Node: [] };
    for (const way of ["Node", "launcher"] as const) {
      const node = new Node(way);
      try {
        await node.begin();
        for (const [what, program, call] of calls(node)) told[way].push([what, node.run(program, call)]);
        told[way].push(await node.endpoints(), readdirSync(join(node.folder, "leases", "cbr0")));
      } finally {
        await node.end();
      }
    }
    expect(told.launcher).toEqual(told.Node);
    expect(told.Node).toContainEqual(["no JSON", expect.objectContaining({ status: 1, stderr: "" })]);
    expect(told.Node).toContainEqual(["DEL", { status: 0, stdout: "", stderr: "" }]);
  });

  it("say that a result cannot be written", async () => {
    const exits: Exit[] = [];
    for (const way of ["Node", "launcher"] as const) {
      const node = new Node(way);
      const full = openSync("/dev/full", "w");
      try {
        await node.begin();
        exits.push(node.run("win-bridge", { verb: "VERSION" }, full));
      } finally {
        closeSync(full);
        await node.end();
      }
    }
    const said = { status: 1, stdout: "null", stderr: "cannot write to standard output: ENOSPC\n" };
    expect(exits).toEqual([said, said]);
  });

  it("200 ADDs at once by the launcher: 200 addresses, and as many DELs leave nothing", async () => {
    const node = new Node("launcher");
    try {
      await node.begin();
      const together = async (verb: string): Promise<readonly string[]> =>
        Promise.all(
          Array.from({ length: 200 }, (_, index) => {
            const env = {
              CNI_COMMAND: verb,
              CNI_CONTAINERID: `pod-${index}`,
              CNI_NETNS: node.namespace,
              CNI_IFNAME: `eth${index}`,
              CNI_PATH: node.bin,
              MULLION_HNS: `unix:${node.socket}`,
            };
            const child = spawn(join(node.bin, "win-bridge"), [], { env });
            child.stdin.end(JSON.stringify(node.configuration({})));
            let out = "";
            for (const stream of [child.stdout, child.stderr])
              stream.on("data", (part: Buffer) => (out += part.toString()));
            return new Promise<string>((done) => child.on("close", (status) => done(`${status} ${out}`)));
          }),
        );
      const added = await together("ADD");
      expect(new Set(added.map((text) => /"address": "([^"]+)"/.exec(text)?.[1])).size).toBe(200);
      expect(new Set(await together("DEL"))).toEqual(new Set(["0 "]));
      expect(await node.endpoints()).toEqual(["cbr0_ep"]);
    } finally {
      await node.end();
    }
  });
});

describe("the launcher, when something is odd", () => {
  let folder = "";
  let socket = "";
  let fake: Server | undefined;
  const sockets = new Set<Socket>();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "mullion-odd-"));
    chmodSync(folder, 0o755);
    socket = join(folder, "hns.sock");
    writeWithoutNode(join(folder, "bin"), impatient, 'echo "Node: $(wc -c) $0 $*"');
  });
  afterEach(async () => {
    for (const each of sockets) each.destroy();
    if (fake !== undefined) await new Promise((done) => fake?.close(done));
    fake = undefined;
    rmSync(folder, { recursive: true });
  });

  /** Something that listens as the service does, and says `reply` to what it hears first, then `last`. */
  async function listen(reply: string, last?: (socket: Socket) => void): Promise<void> {
    fake = createServer((peer) => {
      sockets.add(peer);
      peer.on("error", () => undefined);
      let heardBytes = 0;
      let isFirst = true;
      peer.on("data", (part) => {
        // The configuration, which ends the call, comes after the reply alone.
        if (isFirst && reply !== "") peer.write(reply);
        else if ((heardBytes += part.length) >= LENGTH_BYTES + INPUT.length) last?.(peer);
        isFirst = false;
      });
    });
    await new Promise<void>((done) => fake?.listen(`${socket}.cni`, done));
  }

  function run(words: readonly string[] = [], input = INPUT, cwd = ROOT): Promise<Exit> {
    const ids = { CNI_COMMAND: "ADD", CNI_CONTAINERID: "a", CNI_NETNS: "b", CNI_IFNAME: "eth0" };
    const env = { PATH: PROGRAM_PATH, MULLION_HNS: `unix:${socket}`, CNI_PATH: "/bin", ...ids };
    const [program, ...args] = [...words, join(folder, "bin", "win-bridge"), "--flag"];
    return new Promise((done) => {
      const child = spawn(program, args, { env, cwd });
      const out = { stdout: "", stderr: "" };
      child.stdout.on("data", (part: Buffer) => (out.stdout += part.toString()));
      child.stderr.on("data", (part: Buffer) => (out.stderr += part.toString()));
      child.stdin.on("error", () => undefined);
      child.stdin.end(input);
      child.on("close", (status) => done({ status, ...out }));
    });
  }

  const startsNode = {
    status: 0,
    stdout: expect.stringMatching(/^Node: 13 .*win-bridge --flag\n$/) as string,
    stderr: "",
  };
  const lost = {
    status: 1,
    stdout: expect.stringContaining(
      '"code": 11,\n    "msg": "the service of HNS did not end the call"',
    ) as string,
    stderr: "",
  };

  it("starts Node without a service, and with what is left of one", async () => {
    expect(await run()).toEqual(startsNode);
    await listen("A");
    const path = `${socket}.cni`;
    const left = join(folder, "left");
    execFileSync("cp", ["--archive", path, left]);
    await new Promise((done) => fake?.close(done));
    fake = undefined;
    execFileSync("mv", [left, path]);
    expect(await run()).toEqual(startsNode);
  });

  it("starts Node when the service declines, says what it does not know, or goes away before the call", async () => {
    for (const reply of ["D", "X"]) {
      await listen(reply);
      expect(await run()).toEqual(startsNode);
      await new Promise((done) => fake?.close(done));
    }
    fake = createServer((peer) => peer.destroy());
    await new Promise<void>((done) => fake?.listen(`${socket}.cni`, done));
    expect(await run()).toEqual(startsNode);
  });

  it("starts Node with the whole configuration when the service has read it and declines", async () => {
    await listen("R", (peer) => peer.write("D"));
    expect(await run()).toEqual(startsNode);
  });

  it("starts Node when nothing takes the call within 5 s", async () => {
    await listen("");
    expect(await run()).toEqual(startsNode);
  });

  it("tells nothing to a service of another user", async () => {
    const script = `require("net").createServer((peer) => { console.log("called"); peer.end("A"); }).listen(process.argv[1])`;
    chownSync(folder, NOBODY, NOBODY);
    const words = ["--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups", "node", "-e", script];
    const foreign = spawn("setpriv", [...words, `${socket}.cni`], { env: { PATH: PROGRAM_PATH } });
    let heard = "";
    foreign.stdout.on("data", (part: Buffer) => (heard += part.toString()));
    try {
      await untilServed(socket);
      expect(await run()).toEqual(startsNode);
      await sleep(100);
      expect(heard).not.toContain("mullcni");
    } finally {
      foreign.kill();
    }
  });

  it("is an error to try again when the service dies in the middle, or its answer ends early", async () => {
    const answer = Buffer.concat([
      Buffer.from("A"),
      Buffer.alloc(4),
      Buffer.from([9, 0, 0, 0]),
      Buffer.alloc(4),
    ]);
    for (const last of [
      (peer: Socket) => peer.destroy(),
      (peer: Socket) => peer.write("R"),
      (peer: Socket) => peer.end("A"),
      (peer: Socket) => peer.end(Buffer.concat([answer, Buffer.from("{")])),
    ]) {
      await listen("R", last);
      const exit = await run();
      expect({ ...exit, stdout: exit.stdout.replace(/^\{(?=\{)/, "") }).toEqual(lost);
      await new Promise((done) => fake?.close(done));
    }
  });

  it("is an error when the service does not answer in time", async () => {
    await listen("R");
    expect(await run()).toEqual(lost);
  });

  it("starts Node where it sees other files than the service does, or stands elsewhere", async () => {
    writeWithoutNode(join(folder, "bin"), join(built, "launcher"), 'echo "Node: $(wc -c) $0 $*"');
    const service = spawn(process.execPath, ["bin/mullion.js", "hns", "serve", "--socket", socket], {
      stdio: "ignore",
    });
    try {
      await untilServed(socket);
      expect((await run([], '{"name": 1}')).stdout).toContain('"code": 6');
      const relative = JSON.stringify({ name: "n", ipam: { type: "host-local", dataDir: "leases" } });
      for (const exit of [
        await run(["unshare", "--mount"]),
        await run(["unshare", "--net"]),
        await run([], relative, "/"),
      ])
        expect(exit.stdout).toMatch(/^Node: /);
    } finally {
      service.kill();
      await new Promise((done) => service.once("exit", done));
    }
  });

  it("is installed only as it was built", () => {
    const root = join(folder, "package");
    mkdirSync(join(root, "dist", "programs"), { recursive: true });
    const path = join(root, "dist", "programs", "launcher-linux-x64");
    writeFileSync(path, readFileSync(join(built, "launcher")));
    const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
    const note = (hash: string): void =>
      writeFileSync(
        join(root, "dist", "programs", "launchers.json"),
        JSON.stringify({ "launcher-linux-x64": hash }),
      );
    expect(linuxLauncher(root, "linux", "x64")).toBeUndefined();
    note(digest);
    expect(linuxLauncher(root, "linux", "x64")).toBe(path);
    expect(linuxLauncher(root, "linux", "arm64")).toBeUndefined();
    expect(linuxLauncher(root, "darwin", "x64")).toBeUndefined();
    writeFileSync(path, "something else");
    expect(linuxLauncher(root, "linux", "x64")).toBeUndefined();
  });
});
