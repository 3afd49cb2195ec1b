import { execFileSync } from "node:child_process";
import type { Command } from "commander";
import { parse } from "yaml";
import { beforeAll, describe, expect, it } from "vitest";
import { allVerbs } from "#test/support/cli/all-verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { createProgram, runMullion } from "../program.ts";

const VERBS = allVerbs(async () => Promise.resolve(0));

async function script(shell: string): Promise<string> {
  const terminal = new MemoryTerminal();
  const argv = ["completion", shell];
  const exitCode = await runMullion({ argv, verbs: VERBS, terminal, version: "1.2.3", isDebug: false });
  expect([exitCode, terminal.errors]).toEqual([0, ""]);
  return terminal.output;
}

/** Words as bash cuts a line, and where the cursor stands. */
const LINES: readonly (readonly [line: string, words: readonly string[], offered: RegExp])[] = [
  ["verbs by their beginning", ["mullion", "tr"], /^trace$/],
  ["all verbs", ["mullion", ""], /^trace resolve exec get verify up .*completion help$/],
  ["verbs of a group", ["mullion", "hns", "fault", "re"], /^remove release restart reboot$/],
  ["options of a verb", ["mullion", "trace", "--pc"], /^--pcap --pcap-on$/],
  ["options behind arguments", ["mullion", "trace", "pod/a", "pod/b", "--prot"], /^--protocol$/],
  ["both cases of a short option", ["mullion", "get", "-"], /(?=.*-n )(?=.*-A )(?=.*-R )(?=.*-o )(?=.*-h )/],
  ["values of an option", ["mullion", "trace", "--protocol", ""], /^tcp udp icmp dns$/],
  ["values of a short option", ["mullion", "get", "pods", "-o", "y"], /^yaml$/],
  ["values behind an equals sign", ["mullion", "get", "--output", "=", "j"], /^json$/],
  ["values when the cursor is behind the equals sign", ["mullion", "lint", "--severity", "="], /^info war/],
  ["nothing for a file, which is bash's own", ["mullion", "trace", "-f", ""], /^$/],
  ["no verb where a value stands", ["mullion", "get", "-n", "hns", "-A", "fault", "ad"], /^$/],
  [
    "verbs behind a value that is called like one",
    ["mullion", "hns", "get", "--socket", "hns", "--v"],
    /--v1/,
  ],
  ["shells", ["mullion", "completion", "p"], /^powershell$/],
  ["verbs behind help", ["mullion", "help", "ver"], /^verify version$/],
  ["nothing behind --", ["mullion", "wine", "--", "--"], /^$/],
  ["no older names", ["mullion", "lint", "--form"], /^$/],
];

describe("the script for bash", () => {
  let answers: readonly string[] = [];

  beforeAll(async () => {
    const quoted = (word: string): string => `'${word}'`;
    const asks = LINES.map(
      ([, words]) =>
        `COMP_WORDS=(${words.map(quoted).join(" ")}); COMP_CWORD=${words.length - 1}; _mullion; echo "\${COMPREPLY[*]}"`,
    );
    // The script comes on standard input, and is read as the page has it.
    const text = ["set -u", 'eval "$(cat)"', ...asks, "complete -p mullion"].join("\n");
    const input = await script("bash");
    const printed = execFileSync("bash", ["--norc", "-c", text], { input, encoding: "utf8" });
    answers = printed.split("\n");
  });

  it.each(LINES.map(([title, words, offered], index) => [title, words, offered, index] as const))(
    "offers %s",
    (_title, _words, offered, index) => {
      expect(answers[index]).toMatch(offered);
    },
  );

  it("leaves what it does not know to bash: files", () => {
    expect(answers[LINES.length]).toBe("complete -o bashdefault -o default -F _mullion mullion");
  });
});

interface Shown {
  readonly path: readonly string[];
  readonly verbs: readonly string[];
  readonly options: readonly string[];
  readonly values: readonly string[];
}

/** What the program has, from commander's own lists. */
function shown(command: Command, path: readonly string[] = []): readonly Shown[] {
  const options = command.options.filter(({ hidden }) => !hidden);
  return [
    {
      path,
      verbs: command.commands.map((verb) => verb.name()),
      options: options.flatMap(({ long }) => long ?? []),
      values: options.flatMap(({ argChoices = [] }) => argChoices),
    },
    ...command.commands.flatMap((verb) => shown(verb, [...path, verb.name()])),
  ];
}

function program(): Command {
  return createProgram(VERBS, new MemoryTerminal(), "1.2.3", async () => Promise.resolve());
}

/** The lines of a script that speak of one place. */
const PLACE_LINES: Readonly<Record<string, (lines: readonly string[], path: string) => readonly string[]>> = {
  zsh: (lines, path) =>
    lines.filter((line) => {
      const [, key = ""] = /^ {4}'([^']*)'\) /.exec(line) ?? [];
      return key === path || key.startsWith(`${path}:`);
    }),
  fish: (lines, path) => lines.filter((line) => line.includes(`'__mullion_at \\'${path}\\''`)),
  powershell: (lines, path) => lines.filter((line) => line.startsWith(`"${path}",`)),
};

describe.each(["zsh", "fish", "powershell"])("the script for %s", (shell) => {
  it("holds every verb, option and value at its place", async () => {
    const lines = (await script(shell)).split("\n");
    for (const { path, verbs, options, values } of shown(program())) {
      const place = path.map((name) => `/${name}`).join("");
      const words = (PLACE_LINES[shell]?.(lines, place) ?? []).join("\n").split(/[^\w-]+/);
      const spelled = shell === "fish" ? options.map((name) => name.slice(2)) : options;
      expect(words, place).toEqual(expect.arrayContaining([...verbs, ...spelled]));
      expect(words, place).toEqual(expect.arrayContaining(values.flatMap((value) => value.split(/[^\w-]+/))));
    }
  });
});

it("hands zsh verbs and options with their descriptions", async () => {
  const text = await script("zsh");
  expect(text).toContain("'trace:follow one packet and its answer, step by step'");
  const options = [...text.matchAll(/'(--[a-z-]+):([^']*)'/g)];
  expect(options.length).toBeGreaterThan(200);
  expect(options.filter(([, , description]) => description === "")).toEqual([]);
});

it("hands a description that each shell takes", async () => {
  const menus = (await script("powershell")).split("\n").filter((line) => line.startsWith('"'));
  expect(menus.length).toBeGreaterThan(200);
  // PowerShell refuses a menu entry without a description.
  expect(menus.filter((line) => line.endsWith(',""'))).toEqual([]);
  expect(parse(`[${menus[0] ?? ""}]`)).toEqual([
    "",
    "verb",
    "trace",
    "",
    "follow one packet and its answer, step by step",
  ]);
});

it("refuses other shells and names those it knows", async () => {
  const terminal = new MemoryTerminal();
  const argv = ["completion", "tcsh"];
  const exitCode = await runMullion({ argv, verbs: VERBS, terminal, version: "1.2.3", isDebug: false });
  expect(exitCode).toBe(2);
  expect(terminal.errors).toMatch(/Allowed choices are bash, zsh, fish, powershell/);
});
