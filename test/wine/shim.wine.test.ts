/**
 * A program in C that knows nothing but the names of Windows' DLLs, against `mullion hns serve`: as a Windows program
 * under Wine, and as a Linux program against the same code with gcc's sanitizers. Its scenarios are in shim/test.
 */
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  GOOD,
  type Start,
  type Variables,
  closePrograms,
  openPrograms,
  startOnWine,
  startSanitized,
  startWatchedForRaces,
} from "./programs.ts";
import {
  ROOT,
  type ProgramResult,
  type TestDaemon,
  listenersOf,
  resultOf,
  startDaemon,
} from "./test-daemon.ts";

let daemon: TestDaemon;

beforeAll(openPrograms);
afterAll(closePrograms);

beforeEach(async () => {
  daemon = await startDaemon();
});

afterEach(async () => {
  await daemon.stop();
});

const FILE_OF_NOTHING: Variables = {
  MULLION_HNS_TOKEN: "",
  MULLION_HNS_TOKEN_FILE: join(ROOT, "no", "such", "token"),
};

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
  ["on Linux, watched by sanitizers", startSanitized],
])("a program that loads computenetwork and vmcompute, %s", (_, start) => {
  it.each([
    ["pod", "an L2Bridge network, an endpoint, an ACL, a namespace, attach and detach"],
    ["service", "an Overlay network and a load balancer"],
    ["routes", "SDN routes"],
    ["endpoint", "counters and addresses"],
    ["features", "the hidden queries of the service"],
    ["guest", "a guest network service, its states and ports"],
    ["v1", "HNS v1 through HNSCall, and both its ways to refuse"],
    ["errors", "HRESULTs and records"],
    ["handles", "none, invented, of another kind, closed, closed twice"],
    ["texts", "without an end, nowhere, at odd addresses, absurdly long, half a character"],
    ["notifications", "of the service and of a network, and their end"],
    ["reentry", "callbacks that call, register, take themselves out, or are taken out while they run"],
    ["systems", "hot attach to a virtual machine"],
    ["exit", "registrations of compute systems hear of the end of theirs"],
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
    // Of the service and of a compute system.
    expect(await listenersOf(daemon)).toBe(2);
    child.kill("SIGKILL");
    await expect.poll(() => listenersOf(daemon)).toBe(0);
    expect(await resultOf(start(["pod"], daemon.variables))).toEqual(GOOD);
  });

  it.each<readonly [string, Variables, string, string]>([
    ["a wrong token", { MULLION_HNS_TOKEN: "wrong" }, "80070005", "Bearer <token of this service>"],
    ["no service named", { MULLION_HNS: "" }, "800706ba", "mullion hns serve"],
    ["nobody who listens", { MULLION_HNS: "http://127.0.0.1:1" }, "800706ba", "Nothing listens"],
    ["another machine", { MULLION_HNS: "http://10.0.0.1:80" }, "800706ba", "http://127.0.0.1:PORT"],
    ["a token file that is not there", FILE_OF_NOTHING, "800706ba", "MULLION_HNS_TOKEN_FILE"],
  ])("%s: refused, and the record says why", async (_title, variables, hresult, detail) => {
    const given = { ...daemon.variables, ...variables };
    const refused = await resultOf(start(["refused", hresult], given));
    expect(refused).toEqual({ code: 0, stdout: expect.stringContaining(detail) as string, stderr: "" });
    expect(await resultOf(start(["unheard", hresult], given))).toEqual(GOOD);
  });
});

describe("callbacks on Linux, watched for races", () => {
  it.each(["notifications", "reentry", "exit", "systems"])("%s", async (scenario) => {
    expect(await resultOf(startWatchedForRaces([scenario], daemon.variables))).toEqual(GOOD);
  });

  it("a daemon that is killed", async () => {
    const result = await runWhile(startWatchedForRaces, "killed", daemon.variables, () =>
      daemon.process.kill("SIGKILL"),
    );
    expect(result).toMatchObject({ code: 0, stderr: "" });
  });
});
