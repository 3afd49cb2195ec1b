/**
 * A program in C that knows nothing but the names of Windows' DLLs, against `mullion hns serve`: as a Windows program
 * under Wine, and as a Linux program against the same code. The scenarios are in shim/test/shim-test.c.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type WinePrefix, prepareWinePrefix } from "../../src/cmd/mullion/wine/wine-prefix.ts";
import {
  ROOT,
  type ProgramResult,
  type TestDaemon,
  listenersOf,
  resultOf,
  startDaemon,
} from "./test-daemon.ts";

const PROGRAMS = join(ROOT, "out", "shim");

let prefix: WinePrefix;
let daemon: TestDaemon;

beforeAll(async () => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
  prefix = await prepareWinePrefix(join(ROOT, "out", "wine", "prefix"), join(ROOT, "dist", "shim"));
});

afterAll(() => {
  execFileSync(prefix.server, ["-w"], { env: { ...process.env, ...prefix.variables }, stdio: "ignore" });
});

beforeEach(async () => {
  daemon = await startDaemon();
});

afterEach(async () => {
  await daemon.stop();
});

type Variables = Readonly<Record<string, string>>;
type Start = (args: readonly string[], variables: Variables) => ChildProcess;

function startOnLinux(args: readonly string[], variables: Variables): ChildProcess {
  const env = { ...process.env, ...variables, LD_LIBRARY_PATH: PROGRAMS };
  return spawn(join(PROGRAMS, "shim-test"), args, { env });
}

function startOnWine(args: readonly string[], variables: Variables): ChildProcess {
  const env = { ...process.env, ...variables, ...prefix.variables };
  return spawn(prefix.wine, [join(PROGRAMS, "shim-test.exe"), ...args], { env });
}

const GOOD: ProgramResult = { code: 0, stdout: "", stderr: "" };

/** Starts the program that listens, waits until it does, and lets `happen` before it goes on. */
async function runWhile(
  start: Start,
  word: "killed" | "frozen",
  variables: Variables,
  happen: () => void,
): Promise<ProgramResult> {
  const child = start(["lost"], variables);
  const result = resultOf(child);
  if (child.stdout !== null) await once(child.stdout, "data");
  happen();
  child.stdin?.end(`${word}\n`);
  return result;
}

describe.each<readonly [string, Start]>([
  ["under Wine", startOnWine],
  ["on Linux", startOnLinux],
])("a program that loads computenetwork and vmcompute, %s", (_, start) => {
  it.each([
    ["pod", "an L2Bridge network, an endpoint, an ACL, a namespace, attach and detach"],
    ["service", "an Overlay network and a load balancer"],
    ["v1", "HNS v1 through HNSCall"],
    ["errors", "HRESULTs and records; bad handles, texts without end, absurd lengths"],
    ["notifications", "callbacks, one that calls back in and takes itself out"],
    ["systems", "hot attach to a virtual machine"],
  ])("%s: %s", async (scenario) => {
    expect(await resultOf(start([scenario], daemon.variables))).toEqual(GOOD);
  });

  it("50 programs at once", async () => {
    expect(await resultOf(start(["nat"], daemon.variables))).toEqual(GOOD);
    const many = Array.from({ length: 50 }, (__, index) => start(["one", `pod-${index}`], daemon.variables));
    const results = await Promise.all(many.map(resultOf));
    expect(results.filter((result) => result.code !== 0)).toEqual([]);
  });

  it("a daemon that is killed: RPC_S_SERVER_UNAVAILABLE and ServiceDisconnect", async () => {
    const result = await runWhile(start, "killed", daemon.variables, () => daemon.process.kill("SIGKILL"));
    expect(result).toMatchObject({ code: 0, stderr: "" });
  });

  it("a daemon that does not answer: RPC_S_SERVER_UNAVAILABLE when the time is over", async () => {
    const variables = { ...daemon.variables, MULLION_HNS_TIMEOUT_MS: "1000" };
    const result = await runWhile(start, "frozen", variables, () => daemon.process.kill("SIGSTOP"));
    expect(result).toMatchObject({ code: 0, stderr: "" });
  });

  it("a program that is killed leaves the daemon, without its registration", async () => {
    const child = start(["lost"], daemon.variables);
    if (child.stdout !== null) await once(child.stdout, "data");
    expect(await listenersOf(daemon)).toBe(1);
    child.kill("SIGKILL");
    await expect.poll(() => listenersOf(daemon)).toBe(0);
    expect(await resultOf(start(["pod"], daemon.variables))).toEqual(GOOD);
  });

  it("a wrong token: E_ACCESSDENIED", async () => {
    const result = await resultOf(start(["nat"], { ...daemon.variables, MULLION_HNS_TOKEN: "wrong" }));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("0x80070005");
  });

  it("no daemon named: the record says what to set", async () => {
    const result = await resultOf(start(["nat"], { MULLION_HNS: "" }));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("0x800706ba");
    expect(result.stderr).toContain("mullion hns serve");
  });
});
