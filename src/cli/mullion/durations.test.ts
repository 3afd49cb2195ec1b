// One way to write a time, wherever the program takes one: the flags are the program's own.
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { readDuration } from "#core/base/duration.ts";
import { allVerbs } from "#test/support/cli/all-verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { createProgram, runMullion } from "./program.ts";

/** What people write, in milliseconds. */
const FORMS: readonly (readonly [text: string, ms: number])[] = [
  ["500ms", 500],
  ["1.5s", 1_500],
  ["90s", 90_000],
  ["1m30s", 90_000],
  ["5m", 300_000],
  ["0.1m", 6_000],
];
const NO_TIMES = ["soon", "5x", "1 s", "s", "90sec", "1e3s", "٣s", "--5s", ""];

describe("times", () => {
  it.each([...FORMS, ["2h", 7_200_000], ["1d", 86_400_000], ["0", 0]] as const)("%s", (text, ms) => {
    expect(readDuration(text)).toBe(ms);
  });

  it.each([...NO_TIMES, "90", "1h30"])("%j is none", (text) => {
    expect(readDuration(text)).toBeUndefined();
  });
});

/** Where each flag or argument puts its time, and what has to stand besides. `TIME` is the time. */
const PLACES: Readonly<Record<string, readonly [words: string, field: readonly string[], bareMs?: number]>> =
  {
    "pass <time>": ["pass TIME", ["milliseconds"]],
    "node set-clock <by>": ["node set-clock win-1 TIME", ["change", "byMs"]],
    "hns serve --address-delay": ["hns serve --address-delay TIME", ["addressDelayMs"], 1],
    "hns fault add --delay": ["hns fault add delay --delay TIME", ["action", "fault", "delayMs"], 1],
    "hns fault add --jitter": [
      "hns fault add delay --delay 1 --jitter TIME",
      ["action", "fault", "jitterMs"],
      1,
    ],
    "hns fault add --down": [
      "hns fault add crash --state keep --down TIME",
      ["action", "fault", "downMs"],
      1,
    ],
    "resolve --interval": ["resolve pod/a web --times 2 --interval TIME", ["intervalMs"]],
    "top --interval": ["top --interval TIME", ["intervalMs"]],
    "doctor --pause": ["doctor collected --watch --pause TIME", ["watchEveryMs"]],
    "bring-up --patience": ["bring-up -f c.yaml --patience TIME", ["patienceMs"], 1_000],
  };

/** Every flag and argument that is called a time, or says in its help that it is one. */
function placesOf(command: Command, path: readonly string[] = []): readonly string[] {
  const verb = path.join(" ");
  const words = command.registeredArguments.filter(({ description }) => /\b\d+[smh]\b/.test(description));
  const flags = command.options.filter(({ flags: text, description }) =>
    /<(?:time|ms|seconds|minutes|duration)>|milliseconds|\bseconds\b/.test(`${text} ${description}`),
  );
  return [
    ...words.map((argument) => `${verb} <${argument.name()}>`),
    ...flags.map(({ long }) => `${verb} ${long ?? ""}`),
    ...command.commands.flatMap((child) => placesOf(child, [...path, child.name()])),
  ];
}

async function asked(
  words: string,
  time: string,
): Promise<{ readonly request: unknown; readonly errors: string; readonly code: number }> {
  let request: unknown;
  const verbs = allVerbs(async (given) => {
    request = given;
    return Promise.resolve(0);
  });
  const terminal = new MemoryTerminal();
  const argv = words.split(" ").map((word) => (word === "TIME" ? time : word));
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { request, errors: terminal.errors, code };
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
}

describe("times on the command line", () => {
  it("are all in the table", () => {
    const program = createProgram(
      allVerbs(async () => Promise.resolve(0)),
      new MemoryTerminal(),
      "0",
      async () => Promise.resolve(),
    );
    expect(placesOf(program).toSorted()).toEqual(Object.keys(PLACES).toSorted());
  });

  it.each(Object.entries(PLACES))("%s takes every form, and tells what is none", async (_, place) => {
    const [words, field, bareMs] = place;
    for (const [text, ms] of FORMS) {
      // --patience has a second at least.
      if (bareMs === 1_000 && ms < 1_000) continue;
      const { request, errors } = await asked(words, text);
      expect([errors, at(request, field)]).toEqual(["", ms]);
    }
    if (bareMs !== undefined) expect(at((await asked(words, "40")).request, field)).toBe(40 * bareMs);
    for (const text of ["soon", "5x", "90sec"]) {
      const { code, errors } = await asked(words, text);
      expect(code).toBe(2);
      expect(errors).toMatch(/ takes a time.*, not "/);
      expect(errors).toContain("Write an amount with its unit: 500ms, 1.5s, 90s, 1m30s, 2h.");
    }
  });
});

describe("times of a cluster file", () => {
  const head = "apiVersion: mullion/v1alpha1\nkind: Cluster\nmetadata: { name: x }\n";
  const delayed = (delay: string): string =>
    `${head}network: { plugin: flannel }\nnodes: [{ name: w, os: windows, address: 10.0.0.11, addressDelay: ${delay} }]\n`;
  const leased = (lease: string): string =>
    `${head}network: { driver: Transparent, ipam: dhcp }
underlay: { subnet: 10.0.0.0/16, dhcp: { range: 10.0.8.0/24, leaseSeconds: ${lease} } }
nodes: [{ name: w, os: windows, address: 10.0.0.11 }]\n`;

  it.each([
    ["20", 20_000],
    ["20s", 20_000],
    ["1m30s", 90_000],
    ["500ms", 500],
    ['"20"', 20_000],
  ])("addressDelay: %s", (delay, addressDelayMs) => {
    const parsed = parseClusterFile(delayed(delay), "c.yaml");
    expect(parsed).toMatchObject({ cluster: { nodes: [{ addressDelayMs }] } });
  });

  it.each([
    ["600", 600],
    ["10m", 600],
    ["1.5h", 5_400],
    // A DHCP server counts in whole seconds.
    ["90500ms", 91],
  ])("leaseSeconds: %s", (lease, leaseSeconds) => {
    const parsed = parseClusterFile(leased(lease), "c.yaml");
    expect(parsed).toMatchObject({ cluster: { underlay: { dhcp: { leaseSeconds } } } });
  });

  it("leaseSeconds: a time below the least is refused, with both ends of what is allowed", () => {
    const parsed = parseClusterFile(leased("1s"), "c.yaml");
    expect(parsed).toMatchObject({ problems: [{ advice: "Write a time from 1m to 365d." }] });
    for (const lease of ["1m", "365d"])
      expect(parseClusterFile(leased(lease), "c.yaml")).not.toHaveProperty("problems");
  });

  it.each([
    ["11m", '"11m" is not a number of seconds, or a time'],
    ["1.5", "1.5 is not a number of seconds, or a time"],
    ["[]", "must be a number of seconds, or a time"],
    ["soon", '"soon" is not a number of seconds, or a time'],
  ])("addressDelay: %s is refused", (delay, message) => {
    const parsed = parseClusterFile(delayed(delay), "c.yaml");
    const problem = {
      path: "nodes[0].addressDelay",
      message: expect.stringContaining(message) as string,
      advice: "Write a time from 0s to 10m.",
    };
    expect(parsed).toMatchObject({ problems: [problem] });
  });
});
