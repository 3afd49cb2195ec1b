import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { ScriptedPlugin, resultWith } from "#test/support/cni/scripted-plugin.ts";
import { CniError, PluginPanic } from "./error.ts";
import { PARAMETERS, interfaceNameViolation } from "./plugin-input.ts";
import { type CniPlugin, runPlugin } from "./plugin.ts";
import { SPEC_VERSIONS } from "./version.ts";

const CONFIG = { cniVersion: "1.1.0", name: "cbr0", type: "scripted" };
const ALL = `["0.1.0" "0.2.0" "0.3.0" "0.3.1" "0.4.0" "1.0.0" "1.1.0"]`;

interface Row {
  readonly id: string;
  readonly situation: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: unknown;
  readonly code: number;
  readonly msg: string | RegExp;
  readonly details?: string;
}

/** cni.md §1.3, §1.4 and §8: what the skeleton refuses before a plugin runs. */
const REFUSALS: readonly Row[] = [
  {
    id: "CNI-002",
    situation: "unknown verb",
    env: { CNI_COMMAND: "PATCH" },
    code: 4,
    msg: "unknown CNI_COMMAND: PATCH",
  },
  {
    id: "CNI-003",
    situation: "ADD without CNI_NETNS and CNI_IFNAME names both",
    env: { CNI_NETNS: undefined, CNI_IFNAME: "" },
    code: 4,
    msg: "required env variables [CNI_NETNS,CNI_IFNAME] missing",
  },
  {
    id: "CNI-005",
    situation: "GC without CNI_PATH",
    env: { CNI_COMMAND: "GC", CNI_PATH: "" },
    code: 4,
    msg: "required env variables [CNI_PATH] missing",
  },
  {
    id: "CNI-005",
    situation: "upstream: STATUS without CNI_PATH",
    env: { CNI_COMMAND: "STATUS", CNI_PATH: "" },
    code: 4,
    msg: "required env variables [CNI_PATH] missing",
  },
  {
    id: "CNI-006",
    situation: "container ID that begins with -",
    env: { CNI_CONTAINERID: "-abc" },
    code: 4,
    msg: "invalid characters in containerID",
    details: "-abc",
  },
  {
    id: "CNI-006",
    situation: "container ID with /",
    env: { CNI_CONTAINERID: "a/b" },
    code: 4,
    msg: "invalid characters in containerID",
    details: "a/b",
  },
  {
    id: "CNI-007",
    situation: "interface name of 16 characters",
    env: { CNI_IFNAME: "abcdefghijklmnop" },
    code: 4,
    msg: "interface name is too long",
    details: "interface name should be less than 16 characters",
  },
  {
    id: "CNI-007",
    situation: "interface name of 16 bytes in 8 characters",
    env: { CNI_IFNAME: "éééééééé" },
    code: 4,
    msg: "interface name is too long",
    details: "interface name should be less than 16 characters",
  },
  {
    id: "CNI-007",
    situation: "interface name of 16 bytes in 4 characters",
    env: { CNI_IFNAME: "🪟🪟🪟🪟" },
    code: 4,
    msg: "interface name is too long",
    details: "interface name should be less than 16 characters",
  },
  {
    id: "CNI-007",
    situation: "interface name .",
    env: { CNI_IFNAME: "." },
    code: 4,
    msg: "interface name is . or ..",
  },
  {
    id: "CNI-007",
    situation: "interface name ..",
    env: { CNI_IFNAME: ".." },
    code: 4,
    msg: "interface name is . or ..",
  },
  {
    id: "CNI-007",
    situation: "interface name with :",
    env: { CNI_IFNAME: "eth:0" },
    code: 4,
    msg: "interface name contains / or : or whitespace characters",
  },
  {
    id: "CNI-007",
    situation: "interface name with white space",
    env: { CNI_IFNAME: "eth 0" },
    code: 4,
    msg: "interface name contains / or : or whitespace characters",
  },
  {
    id: "CNI-008",
    situation: "stdin is not JSON",
    stdin: "not json",
    code: 6,
    msg: /^error unmarshall network config: /,
  },
  {
    id: "CNI-008",
    situation: "stdin begins with a byte order mark",
    stdin: '\ufeff{"name":"n"}',
    code: 6,
    msg: /^error unmarshall network config: .*byte order mark/,
  },
  {
    id: "CNI-008",
    situation: "stdin is a list",
    stdin: [],
    code: 6,
    msg: /^error unmarshall network config: /,
  },
  {
    id: "CNI-008",
    situation: "name is a number",
    stdin: { name: 5 },
    code: 6,
    msg: /^error unmarshall network config: .*"name"/,
  },
  {
    id: "CNI-009",
    situation: "no name",
    stdin: { cniVersion: "1.0.0" },
    code: 7,
    msg: "missing network name",
  },
  { id: "CNI-009", situation: "null", stdin: "null", code: 7, msg: "missing network name" },
  {
    id: "CNI-157",
    situation: "a space in the name",
    stdin: { ...CONFIG, name: "a b" },
    code: 7,
    msg: "invalid characters found in network name",
    details: "a b",
  },
  {
    id: "CNI-011",
    situation: "version 1.2.0",
    stdin: { ...CONFIG, cniVersion: "1.2.0" },
    code: 1,
    msg: "incompatible CNI versions",
    details: `config is "1.2.0", plugin supports ${ALL}`,
  },
  {
    id: "CNI-013",
    situation: "CHECK with 0.3.1",
    env: { CNI_COMMAND: "CHECK" },
    stdin: { ...CONFIG, cniVersion: "0.3.1" },
    code: 1,
    msg: "config version does not allow CHECK",
  },
  {
    id: "CNI-013",
    situation: "CHECK with a version beyond the plugin's",
    env: { CNI_COMMAND: "CHECK" },
    stdin: { ...CONFIG, cniVersion: "9.0.0" },
    code: 1,
    msg: "plugin version does not allow CHECK",
  },
  {
    id: "CNI-014",
    situation: "GC with 1.0.0",
    env: { CNI_COMMAND: "GC" },
    stdin: { ...CONFIG, cniVersion: "1.0.0" },
    code: 1,
    msg: "config version does not allow GC",
  },
  {
    id: "CNI-014",
    situation: "STATUS with 1.0.0",
    env: { CNI_COMMAND: "STATUS" },
    stdin: { ...CONFIG, cniVersion: "1.0.0" },
    code: 1,
    msg: "config version does not allow STATUS",
  },
  {
    id: "CNI-014",
    situation: "STATUS with a version that is none",
    env: { CNI_COMMAND: "STATUS" },
    stdin: { ...CONFIG, cniVersion: "x" },
    code: 6,
    msg: 'failed to convert major version part "x": strconv.Atoi: parsing "x": invalid syntax',
  },
  {
    id: "CNI-014",
    situation: "GC with a version of four parts",
    env: { CNI_COMMAND: "GC" },
    stdin: { ...CONFIG, cniVersion: "1.2.3.4" },
    code: 6,
    msg: 'invalid version "1.2.3.4": too many parts',
  },
];

it.each(REFUSALS)("$id $situation", async ({ env, stdin, code, msg, details }) => {
  const plugin = new ScriptedPlugin();
  const run = await runWithTexts(plugin, { env: env ?? {}, stdin: stdin ?? CONFIG });
  expect(run.status).toBe(1);
  const error = errorOf(run);
  expect(error.code).toBe(code);
  expect(error).toMatchObject({
    msg: typeof msg === "string" ? msg : (msg.exec(error.msg)?.input ?? msg.source),
  });
  expect(error.details).toBe(details);
  expect(plugin.requests).toEqual([]);
});

describe("what the skeleton lets through", () => {
  it("CNI-001 no CNI_COMMAND: says what it is on stderr, exit 0", async () => {
    const run = await runWithTexts(new ScriptedPlugin("win-bridge"), { env: { CNI_COMMAND: "" } });
    expect(run.status).toBe(0);
    expect(run.stdout).toBe("");
    expect(run.stderr).toContain("CNI win-bridge plugin");
    expect(run.stderr).toContain(`CNI protocol versions supported: ${SPEC_VERSIONS.join(", ")}\n`);
  });

  it("CNI-004 DEL without CNI_NETNS", async () => {
    const plugin = new ScriptedPlugin();
    const run = await runWithTexts(plugin, { env: { CNI_COMMAND: "DEL", CNI_NETNS: "" }, stdin: CONFIG });
    expect(run).toMatchObject({ status: 0, stdout: "" });
    expect(plugin.requests[0]).toMatchObject({ command: "DEL", netns: "", containerId: "SBX" });
  });

  it("CNI-005 hardened: every verb but GC without CNI_PATH", async () => {
    for (const verb of ["ADD", "DEL", "CHECK", "STATUS"]) {
      const env = { CNI_COMMAND: verb, CNI_PATH: "" };
      expect(await runWithTexts(new ScriptedPlugin("p", "hardened"), { env, stdin: CONFIG })).toMatchObject({
        status: 0,
      });
    }
  });

  it("CNI-010 VERSION with garbage on stdin", async () => {
    const env = { CNI_COMMAND: "VERSION", CNI_CONTAINERID: "", CNI_NETNS: "", CNI_IFNAME: "", CNI_PATH: "" };
    expect(await runWithTexts(new ScriptedPlugin(), { env, stdin: "garbage" })).toMatchObject({
      status: 0,
      stdout:
        '{"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}\n',
    });
  });

  it("CNI-012 no cniVersion: read as 0.1.0, answered in its shape", async () => {
    const run = await runWithTexts(new ScriptedPlugin(), { stdin: { name: "cbr0" } });
    expect(JSON.parse(run.stdout)).toEqual({ cniVersion: "0.1.0", ip4: { ip: "10.244.3.2/24" }, dns: {} });
  });

  it("CNI-015 a verb without handler: exit 0 silently", async () => {
    const plugin: CniPlugin = {
      name: "bare",
      compat: "upstream",
      supportedVersions: SPEC_VERSIONS,
      add: () => Promise.resolve(resultWith("10.0.0.1/8")),
      del: () => Promise.resolve(),
    };
    for (const verb of ["CHECK", "STATUS", "GC"]) {
      expect(await runWithTexts(plugin, { env: { CNI_COMMAND: verb }, stdin: CONFIG })).toMatchObject({
        status: 0,
        stdout: "",
        stderr: "",
      });
    }
  });

  it("CNI-158 what a plugin says goes to stderr; stdout holds the result alone", async () => {
    const plugin = new ScriptedPlugin();
    plugin.add = (request) => {
      request.warn("odd");
      return Promise.resolve(resultWith("10.244.3.2/24"));
    };
    const run = await runWithTexts(plugin, { stdin: CONFIG });
    expect(run.stderr).toBe("odd\n");
    expect(run.stdout).toBe(
      '{\n    "cniVersion": "1.1.0",\n    "ips": [\n        {\n            "address": "10.244.3.2/24"\n        }\n    ]\n}',
    );
  });
});

describe("errors on stdout (cni.md §1.6)", () => {
  it.each([
    [
      "an error of the contract keeps its code",
      new CniError(11, "busy", { details: "wait" }),
      { code: 11, msg: "busy", details: "wait" },
    ],
    ["any other error is 999", new Error("disk on fire"), { code: 999, msg: "disk on fire" }],
  ])("%s", async (_name, failure, expected) => {
    const plugin = new ScriptedPlugin();
    plugin.failures.set("ADD", failure);
    const run = await runWithTexts(plugin, { stdin: CONFIG });
    expect(run.status).toBe(1);
    expect(errorOf(run)).toEqual(expected);
    expect(run.stdout).toMatch(/^\{\n {4}"code": /);
    expect(run.stdout.endsWith("}")).toBe(true);
  });

  it("says where an error is explained: on stdout in hardened mode, beside it in upstream mode", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const plugin = new ScriptedPlugin("p", compat);
      plugin.failures.set("ADD", new CniError(999, "no", { knowledge: "ipam-range-exhausted" }));
      const run = await runWithTexts(plugin, { stdin: CONFIG });
      expect(run.explained).toBe("ipam-range-exhausted");
      expect(errorOf(run).details).toBe(
        compat === "hardened" ? 'see "mullion explain ipam-range-exhausted"' : undefined,
      );
    }
  });

  it("where upstream panics: status 2, stderr only", async () => {
    const plugin = new ScriptedPlugin();
    plugin.failures.set("ADD", new PluginPanic("runtime error: index out of range [0] with length 0"));
    expect(await runWithTexts(plugin, { stdin: CONFIG })).toMatchObject({
      status: 2,
      stdout: "",
      stderr: "panic: runtime error: index out of range [0] with length 0\n",
    });
  });

  it("reports stdin that cannot be read", async () => {
    const out: string[] = [];
    const status = await runPlugin(new ScriptedPlugin(), {
      env: { CNI_COMMAND: "ADD", CNI_CONTAINERID: "a", CNI_NETNS: "n", CNI_IFNAME: "eth0", CNI_PATH: "/" },
      platform: "linux",
      readStdin: () => Promise.reject(new Error("EISDIR")),
      stdout: (text) => void out.push(text),
      stderr: () => undefined,
    });
    expect(status).toBe(1);
    expect(JSON.parse(out.join(""))).toEqual({ code: 5, msg: "error reading from stdin: EISDIR" });
  });
});

it("the table of parameters lists the variables in the order of validation", () => {
  expect(PARAMETERS.map(({ name }) => name)).toEqual([
    "CNI_COMMAND",
    "CNI_CONTAINERID",
    "CNI_NETNS",
    "CNI_IFNAME",
    "CNI_ARGS",
    "CNI_PATH",
    "CNI_NETNS_OVERRIDE",
  ]);
});

it("whatever the environment and stdin hold: a status, and on failure one error object", async () => {
  const word = fc.oneof(
    fc.constantFrom("ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION", "", "eth0"),
    fc.string(),
  );
  const names = PARAMETERS.map(({ name }) => name);
  const env = fc.dictionary(fc.constantFrom(...names), word);
  const stdin = fc.oneof(
    fc.string(),
    fc.json(),
    fc.jsonValue().map((value) => JSON.stringify({ name: "n", cniVersion: value })),
  );
  await fc.assert(
    fc.asyncProperty(env, stdin, async (variables, text) => {
      const run = await runWithTexts(new ScriptedPlugin(), { env: variables, stdin: text });
      expect([0, 1]).toContain(run.status);
      const isError = run.status === 1 && typeof errorOf(run).code === "number" && errorOf(run).msg !== "";
      expect(isError).toBe(run.status === 1);
    }),
    { numRuns: 500 },
  );
});

// containernetworking/cni, pkg/utils: at most 15 bytes, as Linux has it (IFNAMSIZ).
it.each([
  ["abcdefghijklmno", true],
  ["abcdefghijklmnop", false],
  ["abcdefghijklmé", true],
  ["abcdefghijklmnéo", false],
  ["abcdefghijkl€", true],
  ["abcdefghijklm€", false],
  ["abcdefghijk🪟", true],
  ["abcdefghijkl🪟", false],
])("CNI-007 the interface name %s is short enough: %s", (name, isShort) => {
  expect(interfaceNameViolation(name) === undefined).toBe(isShort);
});
