/** The packed package on the oldest and the newest line of Node that it promises, in an empty folder. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { linuxLauncher } from "#cli/programs/launchers.ts";
import { PROGRAM_NAMES as NAMES, TOOLS } from "../../tools/bundle-programs.ts";
import { type Ended, ROOT, environment, installNode, makeProject, pack } from "./packed.ts";

const MANIFEST = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
};
const PLUGINS = NAMES.filter((name) => !TOOLS.includes(name));
const SUBPATHS = Object.keys(MANIFEST.exports)
  .filter((path) => path !== "./package.json")
  .map((path) => `mullion${path.slice(1)}`);

/** What each door has to have; one name is enough to see that the right file is behind it. */
const ONE_NAME: Readonly<Record<string, string>> = {
  mullion: "tracePacket",
  "mullion/net": "parseIp",
  "mullion/wire": "formatFrame",
  "mullion/vfp": "VfpPort",
  "mullion/hcn": "createNetwork",
  "mullion/hcn/node": "findHns",
  "mullion/hns": "createHns",
  "mullion/hns/node": "HnsHttpServer",
  "mullion/cni": "runPlugin",
  "mullion/cluster": "openCluster",
};

/** The size that a reader of a pipeline's log would call large: programs, two Windows binaries, the library, texts and their
 * sources, pages for browsers, compressed. */
const TARBALL_BYTES_MAX = 7_500_000;

let tarball = "";
let project = "";
/** The installed package. */
let installed = "";
const nodes = new Map<number, string>();
const folders: string[] = [];

beforeAll(() => {
  tarball = pack();
  project = makeProject(tarball, "@types/node@22");
  installed = join(project, "node_modules", "mullion");
  folders.push(project);
  nodes.set(24, join(ROOT, "node_modules", "node", "bin", "node"));
  const older = installNode(22);
  nodes.set(22, older);
  folders.push(join(dirname(older), "..", "..", ".."));
}, 600_000);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}, 120_000);

describe("the tarball", () => {
  it("is what publint wants", async () => {
    const bytes = readFileSync(tarball);
    const archive = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  it("has the DLLs and a launcher for each executable", () => {
    for (const name of ["computenetwork.dll", "vmcompute.dll", "bcryptprimitives.dll"])
      expect(existsSync(join(installed, "dist", "shim", name)), name).toBe(true);
    for (const name of NAMES)
      for (const file of [`${name}.exe`, `${name}.cjs`])
        expect(existsSync(join(installed, "dist", "programs", file)), file).toBe(true);
  });

  it("has the launchers for Linux, with their hashes", () => {
    for (const arch of ["x64", "arm64"])
      expect(linuxLauncher(installed, "linux", arch), arch).toBe(
        join(installed, "dist", "programs", `launcher-linux-${arch}`),
      );
  });

  it("has no sources, no tests, nothing that no public module and no program needs", () => {
    const files = globSync("**/*", { cwd: installed, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
    expect(files.filter((file) => /\.(?:test|suite)\.|\.tsbuildinfo$|\.map$|\.c$|\.h$/.test(file))).toEqual(
      [],
    );
    expect(files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))).toEqual(
      files.filter((file) => /^examples\/.*\/main\.ts$/.test(file)),
    );
    expect(new Set(files.filter((file) => file.includes("/")).map((file) => file.split("/")[0]))).toEqual(
      new Set(["bin", "data", "dist", "docs", "examples", "schemas"]),
    );
    expect(files.filter((file) => /^dist\/(?:cmd|testing|api)\//.test(file))).toEqual([]);
    expect(readFileSync(tarball).length).toBeLessThan(TARBALL_BYTES_MAX);
  });
});

/** Compiles files of the project. */
function compile(files: readonly string[], ...more: readonly string[]): Ended {
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--types", "node"];
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  return end(process.execPath, [compiler, ...options, ...more, ...files], { cwd: project });
}

describe("for TypeScript", () => {
  const GOOD: Ended = { status: 0, stdout: "", stderr: "" };

  it("every subpath has types, and all of ours hold", () => {
    const imports = SUBPATHS.map((path, i) => `import * as door${i} from "${path}";`);
    const uses = SUBPATHS.map(
      (path, i) => `export const use${i}: unknown = door${i}.${ONE_NAME[path] ?? ""};`,
    );
    writeFileSync(join(project, "consumer.ts"), `${[...imports, ...uses].join("\n")}\n`);
    expect(compile(["consumer.ts"], "--skipLibCheck")).toEqual(GOOD);
    // Without skipLibCheck the compiler reads every type of every package.
    expect(compile(["consumer.ts"])).toEqual(GOOD);
    expect(existsSync(join(project, "node_modules", "@kubernetes"))).toBe(false);
  });

  it("they hold for bundlers, too, and for CommonJS", () => {
    const bundler = ["--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"];
    expect(compile(["consumer.ts"], ...bundler)).toEqual(GOOD);
    const lines = SUBPATHS.map(
      (path, i) => `import door${i} = require("${path}");\nexport const use${i}: unknown = door${i};`,
    );
    writeFileSync(join(project, "consumer.cts"), `${lines.join("\n")}\n`);
    expect(compile(["consumer.cts"], "--skipLibCheck")).toEqual(GOOD);
  });

  it("the examples compile as they are", () => {
    for (const name of EXAMPLES)
      cpSync(join(installed, "examples", name, "main.ts"), join(project, `${name}.ts`));
    const files = EXAMPLES.map((name) => `${name}.ts`);
    expect(compile(files, "--skipLibCheck")).toEqual(GOOD);
  });

  it("a name that there is not is refused", () => {
    const text = 'import { noSuchName } from "mullion/hcn";\nconsole.log(noSuchName);\n';
    writeFileSync(join(project, "wrong.ts"), text);
    expect(compile(["wrong.ts"], "--skipLibCheck").stdout).toContain("noSuchName");
  });
});

/** Programs of the package, and what they print on any Node. */
const EXAMPLES = globSync("examples/*/main.ts", { cwd: ROOT }).map((path) => basename(dirname(path)));

interface Options {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

function end(program: string, args: readonly string[], { cwd, env, input = "" }: Options): Ended {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    input,
    encoding: "utf8",
    timeout: 120_000,
    ...(env !== undefined && { env }),
  });
  if (error !== undefined) throw error;
  return { status: status ?? -1, stdout, stderr };
}

describe.each([22, 24])("on Node %i", (major) => {
  let variables: Record<string, string> = {};
  const node = (): string => nodes.get(major) ?? "";

  /** Runs `mullion` as npm has linked it, and any other program as `mullion programs install` has put it there. */
  function bin(name: string, args: readonly string[], given: Partial<Options> = {}): Ended {
    const folder = name === "mullion" ? join(project, "node_modules", ".bin") : join(project, `cni-${major}`);
    return end(join(folder, name), args, { cwd: project, ...given, env: { ...variables, ...given.env } });
  }

  beforeAll(() => {
    const home = join(project, `home-${major}`);
    mkdirSync(home);
    variables = environment(node(), home);
    const programs = join(project, `cni-${major}`);
    mkdirSync(programs);
    bin("mullion", ["programs", "install", programs]);
  });

  it("mullion alone is on the path, and runs the other programs", () => {
    const linked = readdirSync(join(project, "node_modules", ".bin"));
    expect(linked.filter((name) => NAMES.includes(name))).toEqual(["mullion"]);
    const { status, stdout } = bin("mullion", ["run", "win-bridge"], { env: { CNI_COMMAND: "VERSION" } });
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { cniVersion: "1.1.0" }]);
    const version = bin("mullion", ["run", "kube-proxy", "--version"]);
    expect([version.status, version.stdout]).toEqual([
      0,
      expect.stringContaining("Kubernetes v1.") as string,
    ]);
  });

  it("mullion cni finds the plugins of the package", () => {
    const ipam = { type: "host-local", subnet: "10.3.0.0/24", dataDir: join(project, `cni-leases-${major}`) };
    const input = JSON.stringify({ cniVersion: "1.0.0", name: "n", plugins: [{ type: "host-local", ipam }] });
    const { status, stdout, stderr } = bin("mullion", ["cni", "add", "-", "none", "--container-id", "a"], {
      input,
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ ips: [{ address: "10.3.0.2/24" }] });
  });

  it("mullion --version", () => {
    expect(end(node(), ["--version"], { cwd: project }).stdout).toMatch(new RegExp(`^v${major}\\.`));
    expect(bin("mullion", ["--version"])).toEqual({
      status: 0,
      stdout: `${MANIFEST.version}\n`,
      stderr: "",
    });
  });

  it("mullion up of an example, get, verify, down", () => {
    const file = join(installed, "examples", "mixed-services", "cluster.yaml");
    const up = bin("mullion", ["up", "-f", file]);
    expect(up.status, up.stderr).toBe(0);
    try {
      expect(bin("mullion", ["get", "pods", "-A"]).stdout).toContain("ledger-0");
      expect(bin("mullion", ["get", "hnsnetworks"]).stdout).toContain("L2Bridge");
    } finally {
      expect(bin("mullion", ["down"]).status).toBe(0);
    }
    const verify = bin("mullion", ["verify", "-f", file]);
    expect(verify.status, verify.stderr).toBe(0);
  });

  it("mullion demo finds its example", () => {
    expect(bin("mullion", ["demo"]).status).toBe(0);
  });

  it("hnsdiag, on a dump, and without a service", () => {
    const dump = join(installed, "examples", "node-dump", "hnsdiag.txt");
    const { status, stdout } = bin("hnsdiag", ["list", "all", "--mullion-file", dump]);
    expect([status, stdout]).toEqual([0, expect.stringContaining("flannel.4096") as string]);
    const none = bin("hnsdiag", ["list", "all"], { env: { MULLION_HNS: "unix:/nowhere/hns.sock" } });
    expect([none.status, none.stderr]).toEqual([1, expect.stringContaining("/nowhere/hns.sock") as string]);
  });

  it("doctor reads files in threads", () => {
    const folder = join(installed, "examples", "broken-node", "collected");
    const [one, two] = ["1", "2"].map((threads) => bin("mullion", ["doctor", folder, "--threads", threads]));
    expect(two).toEqual(one);
    expect([one?.status, one?.stdout]).toEqual([1, expect.stringMatching(/\S/) as string]);
  });

  it("vfpctrl and pktmon, on a cluster file", () => {
    const file = join(installed, "examples", "two-windows-nodes", "cluster.yaml");
    const ports = bin("vfpctrl", ["/list-vmswitch-port", "--mullion-file", file]);
    expect([ports.status, ports.stdout]).toEqual([0, expect.stringContaining("ExternalPort") as string]);
    const counters = bin("pktmon", ["counters", "--mullion-file", file]);
    expect([counters.status, counters.stderr]).toEqual([0, ""]);
    const tools = ["agnhost", "flanneld", "hnsdiag", "kube-proxy", "mullion", "ovnkube", "pktmon", "vfpctrl"];
    expect([...TOOLS].toSorted()).toEqual(tools);
  });

  it("kube-proxy: its version, and what it needs", () => {
    const version = bin("kube-proxy", ["--version", "--mullion-kubernetes=1.31"]);
    expect([version.status, version.stdout]).toEqual([0, `Kubernetes v1.31.0+mullion.${MANIFEST.version}\n`]);
    const none = bin("kube-proxy", ["--kubeconfig=/nowhere/config"]);
    expect([none.status, none.stderr]).toEqual([1, expect.stringContaining("/nowhere/config") as string]);
  });

  it("flanneld: its version, and what it needs", () => {
    const version = bin("flanneld", ["--version"]);
    expect([version.status, version.stdout + version.stderr]).toEqual([
      0,
      expect.stringContaining(MANIFEST.version) as string,
    ]);
    const none = bin("flanneld", ["--kube-subnet-mgr", "--net-config-path=/nowhere/net-conf.json"]);
    expect([none.status, none.stderr]).toEqual([
      1,
      expect.stringContaining("/nowhere/net-conf.json") as string,
    ]);
  });

  it("ovnkube: its flags, and what it needs", () => {
    const help = bin("ovnkube", ["--help"]);
    expect([help.status, help.stdout + help.stderr]).toEqual([
      0,
      expect.stringContaining("--init-node") as string,
    ]);
    const none = bin("ovnkube", ["--init-node", "win-1", "--k8s-kubeconfig", "/nowhere/config"]);
    expect([none.status, none.stderr]).toEqual([1, expect.stringContaining("/nowhere/config") as string]);
  });

  it("the plugins: VERSION, and an address", () => {
    expect(PLUGINS).toEqual(expect.arrayContaining(["win-bridge", "win-overlay", "flannel", "host-local"]));
    for (const name of PLUGINS) {
      const { status, stdout } = bin(name, [], { env: { CNI_COMMAND: "VERSION" } });
      expect([status, JSON.parse(stdout)]).toMatchObject([0, { cniVersion: "1.1.0" }]);
    }
    const dataDir = join(project, `leases-${major}`);
    const ipam = { type: "host-local", subnet: "10.1.0.0/24", dataDir };
    const call = { CNI_CONTAINERID: "SBX", CNI_NETNS: "none", CNI_IFNAME: "eth0", CNI_PATH: project };
    const { status, stdout } = bin("host-local", [], {
      env: { ...call, CNI_COMMAND: "ADD" },
      input: JSON.stringify({ cniVersion: "1.0.0", name: "n", ipam }),
    });
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { ips: [{ address: "10.1.0.2/24" }] }]);
  });

  it("mullion wine runs a Windows program, or says how to get Wine", () => {
    const program = join(ROOT, "out", "shim", "shim-test.exe");
    // The prefix that other tests made; without one it takes seconds.
    const env = { XDG_CACHE_HOME: join(ROOT, "out", "wine", "cache") };
    const { status, stdout, stderr } = bin("mullion", ["wine", "--", program, "pod"], { env });
    if (existsSync("/usr/lib/wine/wine64")) expect([status, stdout, stderr]).toEqual([0, "", ""]);
    else expect([status, stderr]).toEqual([2, expect.stringContaining("apt-get install") as string]);
  });

  it.each(SUBPATHS)("imports %s", (path) => {
    const name = ONE_NAME[path] ?? "";
    const code = `import { ${name} } from "${path}"; console.log(typeof ${name});`;
    const { status, stdout, stderr } = end(node(), ["--input-type=module", "-e", code], { cwd: project });
    expect([status, stdout, stderr]).toEqual([0, "function\n", ""]);
  });

  it("the bundles find koffi, which calls HNS's DLL on Windows", () => {
    const bundle = JSON.stringify(join(installed, "dist", "programs", "win-bridge.cjs"));
    const code = `console.log(typeof require("node:module").createRequire(${bundle})("koffi").load)`;
    const { stdout } = end(node(), ["--input-type=commonjs", "-e", code], { cwd: project });
    expect(stdout).toBe("function\n");
  });

  it("requires every subpath from CommonJS", () => {
    const code = SUBPATHS.map((path) => `console.log(typeof require("${path}").${ONE_NAME[path] ?? ""})`);
    const { status, stdout } = end(node(), ["--input-type=commonjs", "-e", code.join(";")], { cwd: project });
    expect([status, stdout]).toEqual([0, "function\n".repeat(SUBPATHS.length)]);
  });

  it.each(EXAMPLES)("runs a copy of the example %s", (name) => {
    const copy = join(project, `${name}.ts`);
    if (!existsSync(copy)) cpSync(join(installed, "examples", name, "main.ts"), copy);
    // What an example reads lies beside it.
    const texts = readdirSync(join(installed, "examples", name)).filter((each) => each.endsWith(".txt"));
    for (const text of texts) cpSync(join(installed, "examples", name, text), join(project, text));
    const isPlugin = name === "cni-plugin";
    const file = join(installed, "examples", "two-windows-nodes", "cluster.yaml");
    const { status, stdout, stderr } = end(node(), [copy, file], {
      cwd: project,
      env: { ...variables, ...(isPlugin && { CNI_COMMAND: "VERSION" }) },
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout.length).toBeGreaterThan(20);
  });
});

describe("npm pack on a machine without the compiler for Windows", () => {
  const SOURCE = join(ROOT, "shim", "core", "text.c");
  let tools = "";
  const buildAll = (): { readonly status: number | null; readonly stderr: string } =>
    end(process.execPath, [join(ROOT, "tools", "build.ts"), "--all"], { cwd: ROOT, env: { PATH: tools } });

  beforeAll(() => {
    tools = join(project, "tools");
    mkdirSync(tools);
    for (const name of ["node", "npm", "make", "gcc", "sh"]) {
      const found = execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
      writeFileSync(join(tools, name), `#!/bin/sh\nexec ${found} "$@"\n`, { mode: 0o755 });
    }
  });

  it("works with what was built, while no source is newer", () => {
    expect(buildAll()).toMatchObject({ status: 0 });
  });

  it("fails when a source is newer, and says how to install it", () => {
    const { atime, mtime } = statSync(SOURCE);
    utimesSync(SOURCE, new Date(), new Date());
    try {
      const { status, stderr } = buildAll();
      expect(status).toBe(2);
      expect(stderr).toContain("apt-get install --no-install-recommends gcc-mingw-w64-x86-64");
    } finally {
      utimesSync(SOURCE, atime, mtime);
    }
  });
});
