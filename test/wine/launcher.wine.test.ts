/**
 * The launchers of launcher/, as Windows programs under Wine: with a node.exe that prints what it was given. With Node for
 * Windows itself they are in plugins.wine.test.ts.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  cpSync,
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
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type WinePrefix, prepareWinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { createNetwork, listNetworks } from "#contracts/hcn/operations.ts";
import { type ProgramResult, ROOT, resultOf } from "./test-daemon.ts";
import { windowsNode, windowsPath } from "./windows-node.ts";

const LAUNCHER = join(ROOT, "out", "launcher", "launcher.exe");
const FAKE_NODE = join(ROOT, "out", "launcher", "node.exe");
const PROGRAMS = join(ROOT, "dist", "programs");

let prefix: WinePrefix;
/**
 * A program that runs all the time. Without one Wine ends Windows' services between two programs, and the next program
 * starts them again, with its own streams, which then stay open as long as any service runs.
 */
let keeper: ChildProcess;
/** A folder with a name that is neither ASCII nor without blanks. */
let folder = "";

beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build.ts"), "--all"], { stdio: "inherit" });
});

beforeAll(async () => {
  prefix = await prepareWinePrefix(join(ROOT, "out", "wine", "prefix"), join(ROOT, "dist", "shim"));
  const env = { ...process.env, ...prefix.variables };
  keeper = spawn(prefix.wine, [FAKE_NODE, "wait"], { env, stdio: "ignore" });
});

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "mullion-launcher-")), "Größe ネット 🪟");
  mkdirSync(folder);
  copyFileSync(LAUNCHER, join(folder, "win-bridge.exe"));
  writeFileSync(join(folder, "win-bridge.cjs"), "");
});

afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

afterAll(() => {
  keeper.kill("SIGKILL");
  execFileSync(prefix.server, ["-w"], { env: { ...process.env, ...prefix.variables }, stdio: "ignore" });
});

interface Given {
  readonly args?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly cwd?: string;
  /** Where the standard error goes; default: to the test. */
  readonly errors?: number;
}

function start(program: string, given: Given = {}, detached = false): ChildProcess {
  const { args = [], variables = {}, cwd, errors = "pipe" } = given;
  const env = { ...process.env, CNI_COMMAND: "", MULLION_NODE: "", ...prefix.variables, ...variables };
  return spawn(prefix.wine, [program, ...args], { env, cwd, detached, stdio: ["pipe", "pipe", errors] });
}

function run(program: string, given: Given = {}): Promise<ProgramResult> {
  const child = start(program, given);
  child.stdin?.end(given.stdin ?? "");
  return resultOf(child);
}

function own(name: string): string {
  return join(folder, name);
}

/** The lines of the fake node.exe that begin with `word`. */
function linesOf(stdout: string, word: string): readonly string[] {
  const lines = stdout.split("\n").filter((line) => line.startsWith(`${word} `));
  return lines.map((line) => line.slice(word.length + 1));
}

/** Command lines of this machine's processes that name the folder. */
function processesOf(text: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    })
    .filter((line) => line.includes(text));
}

describe("a launcher with a node.exe beside it", () => {
  beforeEach(() => copyFileSync(FAKE_NODE, own("node.exe")));

  it("gives Node the bundle of its own name, and its arguments as they were", async () => {
    const args = [
      "plain",
      "two words",
      "",
      'in "quotes"',
      '"',
      "back\\slash\\",
      'both \\" \\\\" \\\\\\"',
      "C:\\Program Files\\x\\",
      "%PATH% ^& | <>",
      "Grüße ネット 🪟",
    ];
    const { code, stdout, stderr } = await run(own("win-bridge.exe"), { args });
    expect(linesOf(stdout, "argument")).toEqual([windowsPath(own("win-bridge.cjs")), ...args]);
    expect([code, stderr]).toEqual([0, "to the standard error\r\n"]);
  });

  it("passes environment, standard input and exit code", async () => {
    const variables = { MULLION_TEST: "Grüße 🪟", MULLION_TEST_STATUS: "7" };
    const { code, stdout } = await run(own("win-bridge.exe"), { variables, stdin: '{"name":"ネット"}' });
    expect(linesOf(stdout, "MULLION_TEST")).toEqual(["Grüße 🪟"]);
    expect(linesOf(stdout, "input")).toEqual(['{"name":"ネット"}']);
    expect(code).toBe(7);
  });

  it("is found through a symbolic link in a folder of its own", async () => {
    const links = join(folder, "..", "links");
    mkdirSync(links);
    symlinkSync(own("win-bridge.exe"), join(links, "win-bridge.exe"));
    const { code, stdout } = await run(join(links, "win-bridge.exe"), { args: ["x"] });
    expect(code).toBe(0);
    expect(linesOf(stdout, "argument").at(0)).toMatch(/\\win-bridge\.cjs$/);
  });

  it("takes Node along when it is killed", async () => {
    const child = start(own("win-bridge.exe"), { args: ["wait"] });
    const result = resultOf(child);
    if (child.stdout !== null) await once(child.stdout, "data");
    const seen = (): readonly string[] => processesOf("win-bridge.cjs");
    expect(seen().filter((line) => line.includes("node.exe"))).toHaveLength(1);
    child.kill("SIGKILL");
    await result;
    await expect.poll(seen).toEqual([]);
  });

  it("leaves Ctrl-C to Node, and ends as Node does", async () => {
    const child = start(own("win-bridge.exe"), { args: ["wait"] }, true);
    const result = resultOf(child);
    if (child.stdout !== null) await once(child.stdout, "data");
    process.kill(-(child.pid ?? 0), "SIGINT");
    const { code, stdout } = await result;
    expect([code, stdout]).toEqual([9, expect.stringMatching(/^process \d+\ninterrupted\n$/) as string]);
  });
});

describe("where it looks for Node", () => {
  it("MULLION_NODE before what lies beside it", async () => {
    copyFileSync(FAKE_NODE, own("other.exe"));
    writeFileSync(own("node.exe"), "no program");
    const variables = { MULLION_NODE: windowsPath(own("other.exe")) };
    expect((await run(own("win-bridge.exe"), { variables })).code).toBe(0);
  });

  it("PATH, with quotes, without folders that depend on the current one", async () => {
    const elsewhere = join(folder, "..", "nodejs");
    mkdirSync(elsewhere);
    copyFileSync(FAKE_NODE, join(elsewhere, "node.exe"));
    // Wine puts this before PATH.
    const WINEPATH = `relative;C:\\none;"${windowsPath(elsewhere)}"`;
    expect((await run(own("win-bridge.exe"), { variables: { WINEPATH } })).code).toBe(0);
    const relative = { WINEPATH: "nodejs;..\\nodejs;\\nodejs;." };
    const { stderr } = await run(own("win-bridge.exe"), { variables: relative, cwd: elsewhere });
    expect(stderr).toContain("there is no node.exe beside it and none in PATH");
  });
});

describe("what it says when it cannot start", () => {
  it("no node.exe: two lines and 2; for a runtime an error object and 1", async () => {
    const advice =
      "Install Node 22.18 or later from https://nodejs.org, or set MULLION_NODE to the path of node.exe.";
    const message = "win-bridge: there is no node.exe beside it and none in PATH";
    expect(await run(own("win-bridge.exe"))).toEqual({
      code: 2,
      stdout: "",
      stderr: `${message}\n    ${advice}\n`,
    });
    const { code, stdout, stderr } = await run(own("win-bridge.exe"), { variables: { CNI_COMMAND: "ADD" } });
    expect([code, stderr]).toEqual([1, ""]);
    expect(JSON.parse(stdout)).toEqual({ code: 999, msg: message, details: advice });
  });

  it("MULLION_NODE that names no file, also when there is another Node", async () => {
    copyFileSync(FAKE_NODE, own("node.exe"));
    const MULLION_NODE = 'C:\\no "such"\\node.exe';
    const { code, stdout } = await run(own("win-bridge.exe"), {
      variables: { MULLION_NODE, CNI_COMMAND: "DEL" },
    });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      msg: `win-bridge: MULLION_NODE names no file: ${MULLION_NODE}`,
    });
  });

  it("no bundle of its name: it was copied alone, or renamed", async () => {
    copyFileSync(FAKE_NODE, own("node.exe"));
    copyFileSync(LAUNCHER, own("renamed.exe"));
    const { code, stderr } = await run(own("renamed.exe"));
    expect(code).toBe(2);
    expect(stderr).toContain("renamed.cjs");
    expect(stderr).toContain("Copy both");
  });

  it("a node.exe that is none", async () => {
    writeFileSync(own("node.exe"), "no program");
    const { code, stderr } = await run(own("win-bridge.exe"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/^win-bridge: cannot start .*node\.exe: .*\(error \d+\)\n/);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Words of `sc` for a service: its state as `sc query` shows it. Without pipes, which services might hold. */
async function control(
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly said: string }> {
  const path = own("sc.txt");
  const output = openSync(path, "w");
  const env = { ...process.env, ...prefix.variables };
  const child = spawn(prefix.wine, ["sc", ...words], { env, stdio: ["ignore", output, output] });
  await once(child, "exit");
  closeSync(output);
  return { code: child.exitCode ?? -1, said: readFileSync(path, "utf8") };
}

async function stateOf(name: string): Promise<string | undefined> {
  return /STATE\s+: \d+ +(\w+)/.exec((await control("query", name)).said)?.[1];
}

/** Registers a service, starts it, and takes it away in the end, however that comes. */
async function withService(name: string, commandLine: string, use: () => Promise<void>): Promise<void> {
  // What a run that was killed has left.
  await control("stop", name);
  await control("delete", name);
  expect((await control("create", name, "binPath=", commandLine)).code).toBe(0);
  try {
    await control("start", name);
    await use();
  } finally {
    await control("stop", name);
    await expect.poll(() => stateOf(name), POLL).toBe("STOPPED");
    await control("delete", name);
  }
}

const POLL = { timeout: 40_000, interval: 200 };

describe("a launcher as a Windows service", () => {
  it("is started, says what Node says in its log, and gives Node Ctrl-C when it is stopped", async () => {
    copyFileSync(FAKE_NODE, own("node.exe"));
    const log = own("agent log.txt");
    const flag = `--windows-service="${windowsPath(log)}"`;
    const line = `"${windowsPath(own("win-bridge.exe"))}" ${flag} first "second word" wait`;
    const said = (): string => (existsSync(log) ? readFileSync(log, "utf8") : "");
    await withService("mullion-test", line, async () => {
      await expect.poll(() => stateOf("mullion-test"), POLL).toBe("RUNNING");
      await expect.poll(said, POLL).toMatch(/^process \d+\n$/);
      const [node = ""] = processesOf("win-bridge.cjs").filter((text) => text.includes("node.exe"));
      expect(
        node
          .split("\0")
          .filter((word) => word !== "")
          .slice(-3),
      ).toEqual(["first", "second word", "wait"]);
    });
    expect(said()).toMatch(/^process \d+\ninterrupted\n$/);
    expect(processesOf("win-bridge.cjs")).toEqual([]);
  });

  it("without Node it ends with an error, and its log says why", async () => {
    const log = own("agent.log");
    const line = `"${windowsPath(own("win-bridge.exe"))}" --windows-service="${windowsPath(log)}" serve`;
    await withService("mullion-test", line, async () => {
      await expect.poll(() => stateOf("mullion-test"), POLL).toBe("STOPPED");
      expect(readFileSync(log, "utf8")).toContain("there is no node.exe beside it and none in PATH");
    });
  });

  it("started by hand it says how services are registered", async () => {
    copyFileSync(FAKE_NODE, own("node.exe"));
    const { code, stdout, stderr } = await run(own("win-bridge.exe"), { args: ["--windows-service"] });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("--windows-service is for the service control manager");
    expect(stderr).toContain("sc.exe create");
  });

  it("hns serve on Node for Windows answers while it runs, and ends in order", async () => {
    const port = await freePort();
    const [log, token] = [own("hns.log"), own("hns.token")];
    copyFileSync(windowsNode(), own("node.exe"));
    const serve = `hns serve --listen 127.0.0.1:${port} --token-file "${windowsPath(token)}"`;
    // Services have no environment of the user's, so Node is found in the launcher's folder: that of a copy.
    copyFileSync(LAUNCHER, own("mullion.exe"));
    cpSync(PROGRAMS, folder, { recursive: true, filter: (path) => !path.endsWith(".exe") });
    writeFileSync(own("package.json"), readFileSync(join(ROOT, "package.json")));
    const line = `"${windowsPath(own("mullion.exe"))}" --windows-service="${windowsPath(log)}" ${serve}`;
    await withService("mullion-hns", line, async () => {
      const answer = (): Promise<number> =>
        fetch(`http://127.0.0.1:${port}/healthz`).then(
          ({ status }) => status,
          () => 0,
        );
      await expect.poll(answer, POLL).toBeGreaterThan(0);
      const client = findHns({
        variables: {
          MULLION_HNS: `http://127.0.0.1:${port}`,
          MULLION_HNS_TOKEN: readFileSync(token, "utf8").trim(),
        },
      });
      await createNetwork(client, { Name: "nat", Type: "NAT" });
      expect(await listNetworks(client)).toHaveLength(1);
      await client.close();
    });
    expect(readFileSync(log, "utf8")).toContain(`127.0.0.1:${port}`);
  });
});
