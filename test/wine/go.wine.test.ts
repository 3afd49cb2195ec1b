/**
 * Windows programs in Go that link hcsshim, as CNI plugins and kube-proxy do, under Wine against `mullion hns serve`.
 * They are in test/wine/go; their tests' names are the rows here.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CallRecord } from "#cli/mullion/wine/call-record.ts";
import { type WinePrefix, prepareWinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import { EXAMPLE_TEST, HCN_TEST, PROGRAM, buildGoPrograms } from "./go-programs.ts";
import {
  type ProgramResult,
  ROOT,
  type TestDaemon,
  hangEnumerations,
  listenersOf,
  resultOf,
  startDaemon,
  waitingCallsOf,
} from "./test-daemon.ts";

type Variables = Readonly<Record<string, string>>;

interface JsonFields {
  readonly ID: string;
  readonly Dns?: object;
  readonly Health?: object;
  readonly Type?: string;
}

/** Compiling hcsshim for the first time takes minutes on a small machine. */
const BUILD_MS = 900_000;

/** As `mullion wine` keeps it for its user. */
const CACHE = join(ROOT, "out", "wine", "cache");

let prefix: WinePrefix;
let daemon: TestDaemon;

beforeAll(async () => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
  prefix = await prepareWinePrefix(join(CACHE, "mullion", "wine-prefix"), join(ROOT, "dist", "shim"));
  buildGoPrograms();
}, BUILD_MS);

afterAll(() => {
  execFileSync(prefix.server, ["-w"], { env: { ...process.env, ...prefix.variables }, stdio: "ignore" });
});

/** The command line of Mullion, with a service that it starts itself unless `variables` name one. */
function mullion(args: readonly string[], variables: Variables = {}): ChildProcess {
  const env = { ...process.env, MULLION_HNS: "", XDG_CACHE_HOME: CACHE, ...variables };
  return spawn(process.execPath, [join(ROOT, "bin", "mullion.js"), ...args], { env });
}

/** Without the command line in between: a test can kill it. */
function program(args: readonly string[], variables: Variables = daemon.variables): ChildProcess {
  return spawn(prefix.wine, [PROGRAM, ...args], {
    env: { ...process.env, ...variables, ...prefix.variables },
  });
}

const GOOD: ProgramResult = { code: 0, stdout: "", stderr: "" };

/** Starts the program that listens, waits until it does, and lets `happen` before it goes on. */
async function runWhile(happen: () => void): Promise<ProgramResult> {
  const child = program(["listen"]);
  const result = resultOf(child);
  if (child.stdout !== null) await once(child.stdout, "data");
  happen();
  child.stdin?.end("killed\n");
  return result;
}

const TESTS: readonly (readonly [name: string, about: string])[] = [
  ["TestNetworkLife", "created, listed, got by name and by id, deleted, not found"],
  ["TestNetworkPolicies", "a route to another node's pods is added to an Overlay network and removed"],
  ["TestEndpointLife", "created, got by name, listed by network, deleted, not found"],
  ["TestRemoteEndpoint", "a pod of another node, with its provider address"],
  ["TestAcls", "added, replaced and removed, on L2Bridge and on Overlay"],
  ["TestPodLife", "namespace, endpoint with its policies, attach, detach, all of it gone"],
  ["TestPortMapping", "published once; a second time IsPortAlreadyExistsError"],
  ["TestLoadBalancerLife", "created, a back end more and one fewer, listed, deleted, not found"],
  ["TestLoadBalancerClash", "the same address and port twice: IsPortAlreadyExistsError"],
  ["TestSdnRouteLife", "created, got by id, listed, deleted, not found"],
  ["TestNotFound", "IsNotFoundError and hcsshim's texts for each kind of object"],
  ["TestErrorRecords", "HRESULT and error record of refused calls"],
  ["TestServiceNotifications", "networks and namespaces that come and go"],
  ["TestNetworkNotifications", "endpoints that are attached and detached"],
  ["TestV1", "networks, endpoints and policy lists of HNS v1, which v2 sees"],
  ["TestV1Errors", "texts of refusals of HNS v1"],
  ["TestV1Version", "/globals/version in both packages"],
  ["TestHotAttach", "a container that runs gets an endpoint and loses it; hcsshim hears of its end"],
];

/** A test of what only newer versions of HNS have. */
const NEWER = "TestNewerPolicies";

describe("tests of hcsshim's calls, by mullion wine", () => {
  let shared: TestDaemon;

  beforeAll(async () => {
    shared = await startDaemon();
  });

  afterAll(async () => {
    await shared.stop();
  });

  it.each(TESTS)("%s: %s", async (name) => {
    const words = ["wine", "--", HCN_TEST, "-test.v", "-test.run", `^${name}$`];
    const { code, stdout } = await resultOf(mullion(words, shared.variables));
    expect(stdout).toContain(`--- PASS: ${name} `);
    expect(code).toBe(0);
  });

  it(`${NEWER}: sets of addresses, ACLs of a network and tiers of ACLs, on Server 2025`, async () => {
    const words = ["wine", "--profile", "ws2025", "--", HCN_TEST, "-test.v", "-test.run", `^${NEWER}$`];
    const { code, stdout } = await resultOf(mullion(words));
    expect(stdout).toContain(`--- PASS: ${NEWER} `);
    expect(code).toBe(0);
  });

  it("are all named here", async () => {
    const { stdout } = await resultOf(mullion(["wine", "--", HCN_TEST, "-test.list", "."], shared.variables));
    const there = stdout.split(/\r?\n/).filter((line) => line.startsWith("Test"));
    expect(there.toSorted()).toEqual([...TESTS.map(([name]) => name), NEWER].toSorted());
  });

  it("leave nothing behind", async () => {
    const { stdout } = await resultOf(
      mullion(["hns", "get", "networks,endpoints,loadbalancers,routes", "-o", "name"], shared.variables),
    );
    expect(stdout).toBe("");
  });
});

/** Which of hcsshim's features a build has (hcn.md §7.1, §7.2): 9.5, 13.3 and 15.4. */
const FEATURES: readonly (readonly [profile: string, absent: readonly string[]])[] = [
  [
    "ws2019",
    [
      "AclSupportForProtocol252",
      "SessionAffinity",
      "IPv6DualStack",
      "SetPolicy",
      "VxlanPort",
      "L4WfpProxy",
      "TierAcl",
      "NetworkACL",
      "NestedIpSet",
      "DisableHostPort",
      "ModifyLoadbalancer",
      "Accelnet",
    ],
  ],
  ["ws2022", ["TierAcl", "NetworkACL", "NestedIpSet", "DisableHostPort", "ModifyLoadbalancer", "Accelnet"]],
  ["ws2025", []],
];

describe("examples/windows-program", () => {
  it("passes its tests, on a service of its own", async () => {
    const { code, stdout } = await resultOf(mullion(["wine", "--", EXAMPLE_TEST, "-test.v"]));
    expect(stdout.match(/^--- PASS: \w+/gm)).toEqual([
      "--- PASS: TestEnsureNetworkTwice",
      "--- PASS: TestPod",
    ]);
    expect(code).toBe(0);
  });
});

describe("profiles", () => {
  it.each(FEATURES)("GetCachedSupportedFeatures on %s", async (profile, absent) => {
    const { code, stdout } = await resultOf(
      mullion(["wine", "--profile", profile, "--", PROGRAM, "features"]),
    );
    expect(code).toBe(0);
    const features = Object.entries(JSON.parse(stdout) as Readonly<Record<string, unknown>>);
    expect(features.filter(([, value]) => value === false).map(([name]) => name)).toEqual(absent);
    expect(features).toContainEqual(["DSR", true]);
  });

  it.each([
    // 15.4, as Server 2025 was released, takes the call; older versions do not have it (hcn.md §7.1).
    ["ws2022", { Modified: false, IsNotImplemented: true }],
    ["ws2025", { Modified: true, IsNotImplemented: false }],
  ])("a load balancer is modified on %s", async (profile, expected) => {
    const { stdout } = await resultOf(mullion(["wine", "--profile", profile, "--", PROGRAM, "modify"]));
    expect(JSON.parse(stdout)).toMatchObject(expected);
  });
});

describe("a program in Go, seen from outside", () => {
  beforeEach(async () => {
    daemon = await startDaemon();
  });

  afterEach(async () => {
    await daemon.stop();
  });

  it("what it made is what mullion hns get shows", async () => {
    const { code, stdout } = await resultOf(program(["pod"]));
    expect(code).toBe(0);
    const made = Object.entries(JSON.parse(stdout) as Readonly<Record<string, JsonFields>>);
    expect(made.map(([kind]) => kind)).toEqual(["Endpoint", "LoadBalancer", "Namespace", "Network"]);
    for (const [kind, object] of made) {
      const shown = await resultOf(mullion(["hns", "get", kind, object.ID, "-o", "json"], daemon.variables));
      // HNS leaves out what has its default, such as the type NAT (hcn.md §1.6); hcsshim fills it in.
      const { Dns: _dns, Health: _health, Type, ...reported } = object;
      const seen = JSON.parse(shown.stdout) as JsonFields;
      expect(seen).toMatchObject(reported);
      expect(seen.Type ?? "NAT").toBe(Type ?? "NAT");
    }
    const table = await resultOf(mullion(["hns", "get", "loadbalancers"], daemon.variables));
    expect(table.stdout).toMatch(/10\.96\.0\.10 +80:8080\/TCP +172\.30\.\d+\.\d+/);
  });

  it("--trace-calls shows each call: the native sequences of hcsshim's helpers", async () => {
    const file = join(CACHE, "calls.jsonl");
    const words = ["wine", "--trace-calls", file, "--", PROGRAM, "pod"];
    const { code, stderr } = await resultOf(mullion(words, daemon.variables));
    expect(code).toBe(0);
    expect(stderr).toMatch(/^12 calls in /);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const calls = lines.map((line) => JSON.parse(line) as CallRecord);
    // hcn.md §1.5: Create, then Query; an endpoint opens its network; a modify opens, modifies and queries.
    expect(calls.map((call) => call.function)).toEqual([
      "HcnCreateNetwork",
      "HcnQueryNetworkProperties",
      "HcnCreateNamespace",
      "HcnQueryNamespaceProperties",
      "HcnOpenNetwork",
      "HcnCreateEndpoint",
      "HcnQueryEndpointProperties",
      "HcnOpenNamespace",
      "HcnModifyNamespace",
      "HcnQueryNamespaceProperties",
      "HcnCreateLoadBalancer",
      "HcnQueryLoadBalancerProperties",
    ]);
    expect(calls.map((call) => call.hresult)).toEqual(calls.map(() => "0x00000000"));
    expect(calls[8]?.arguments["settings"]).toMatchObject({ RequestType: "Add", ResourceType: "Endpoint" });
  });

  it("50 at once", async () => {
    expect(await resultOf(program(["network"]))).toEqual(GOOD);
    const many = Array.from({ length: 50 }, (_, index) => program(["one", `pod-${index}`]));
    const results = await Promise.all(many.map(resultOf));
    expect(results.filter(({ code, stderr }) => code !== 0 || stderr !== "")).toEqual([]);
    const left = await resultOf(mullion(["hns", "get", "endpoints", "-o", "name"], daemon.variables));
    expect(left.stdout).toBe("");
  });

  it("when it is killed, the service forgets its registration and keeps what it made", async () => {
    const child = program(["listen"]);
    if (child.stdout !== null) await once(child.stdout, "data");
    expect(await listenersOf(daemon)).toBe(1);
    child.kill("SIGKILL");
    await expect.poll(() => listenersOf(daemon)).toBe(0);
    const left = await resultOf(mullion(["hns", "get", "networks"], daemon.variables));
    expect(left.stdout).toContain("nat");
  });

  it("when the service is killed, calls end with RPC_S_SERVER_UNAVAILABLE, and it hears ServiceDisconnect", async () => {
    const result = await runWhile(() => daemon.process.kill("SIGKILL"));
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout).toMatch(/hcnEnumerateNetworks failed in Win32: .*\(0x6ba\) \{"Success":false/);
  });

  /** Starts a program whose first call the service does not answer, and waits until it waits. */
  async function startWaiting(variables: Variables): Promise<{ readonly result: Promise<ProgramResult> }> {
    await hangEnumerations(daemon);
    const result = resultOf(program(["one", "pod-a"], { ...daemon.variables, ...variables }));
    await expect.poll(() => waitingCallsOf(daemon)).toBe(1);
    return { result };
  }

  const UNAVAILABLE = /^hcnEnumerateNetworks failed in Win32: .*\(0x6ba\) \{"Success":false/;

  it("when the service is killed while a call waits, the call ends with RPC_S_SERVER_UNAVAILABLE", async () => {
    const { result } = await startWaiting({});
    daemon.process.kill("SIGKILL");
    expect(await result).toMatchObject({ code: 1, stderr: expect.stringMatching(UNAVAILABLE) as string });
  });

  it("when the service does not answer, the call ends after MULLION_HNS_TIMEOUT_MS", async () => {
    const { result } = await startWaiting({ MULLION_HNS_TIMEOUT_MS: "3000" });
    expect(await result).toMatchObject({ code: 1, stderr: expect.stringMatching(UNAVAILABLE) as string });
  });
});
