// One flag, one spelling: the lists are those of the program.
import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { allVerbs } from "#test/support/cli/all-verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { createProgram } from "./program.ts";

interface Flag {
  readonly verb: string;
  readonly option: Option;
}

function flagsOf(command: Command, path: readonly string[] = []): readonly Flag[] {
  const own = command.options.map((option) => ({ verb: path.join(" "), option }));
  return [...own, ...command.commands.flatMap((child) => flagsOf(child, [...path, child.name()]))];
}

const PROGRAM = createProgram(
  allVerbs(async () => Promise.resolve(0)),
  new MemoryTerminal(),
  "0",
  async () => Promise.resolve(),
);
const FLAGS = flagsOf(PROGRAM).filter(({ option }) => !option.hidden);

/** Flags that mean several things, with what stands for their value in each. */
const SEVERAL: Readonly<Record<string, readonly string[]>> = {
  // A card of a machine, and one with the length of its subnet.
  "--adapter": ["<name=address/length>", "<name=address>"],
  // Behind doctor's flags stand the paths of files, so it takes the socket from the environment.
  "--hns": ["[socket]", ""],
  // An object of HNS has a GUID, a fault a name.
  "--id": ["<guid>", "<name>"],
  // By name or id where a person creates; HNS' own id in a plan of faults.
  "--network": ["<name>", "<guid>"],
  "--profile": ["<build>", "<builds>"],
};

function places(flags: readonly Flag[]): readonly string[] {
  return flags.map(({ verb, option }) => `${verb} ${option.flags}`);
}

describe("flags", () => {
  it("have one short letter each, and no letter has two", () => {
    for (const [long, found] of Map.groupBy(FLAGS, ({ option }) => option.long ?? ""))
      expect(new Set(found.map(({ option }) => option.short)).size, places(found).join(", ") + long).toBe(1);
    for (const [short, found] of Map.groupBy(FLAGS, ({ option }) => option.short)) {
      if (short === undefined) continue;
      expect([...new Set(found.map(({ option }) => option.long))], short).toHaveLength(1);
    }
  });

  it("call their value by one name", () => {
    for (const [long, found] of Map.groupBy(FLAGS, ({ option }) => option.long ?? "")) {
      const values = [...new Set(found.map(({ option }) => /[<[].*$/.exec(option.flags)?.[0] ?? ""))];
      expect(values.toSorted(), long).toEqual((SEVERAL[long] ?? values.slice(0, 1)).toSorted());
    }
  });

  it("say when they may be repeated, in one way", () => {
    for (const { verb, option } of FLAGS) {
      expect(option.description, `${verb} ${option.flags}`).not.toMatch(/often as|repeatable|several times/);
      let first: unknown;
      try {
        first = option.parseArg?.("x=10.0.0.1/24", undefined);
      } catch {
        // It takes words of a list.
        first = option.argChoices;
      }
      if (Array.isArray(first) && option.argChoices === undefined)
        expect(option.description, `${verb} ${option.flags}`).toMatch(/; (?:may be repeated|several)/);
    }
  });

  it("-o is a format everywhere", () => {
    const output = FLAGS.filter(({ option }) => option.short === "-o");
    expect(output.filter(({ option }) => option.argChoices === undefined)).toEqual([]);
    expect(output.length).toBeGreaterThan(20);
  });

  it("have a line of help that says what they do", () => {
    const bare = FLAGS.filter(({ option }) => !/^[-A-Za-z0-9"[]/.test(option.description));
    expect(places(bare)).toEqual([]);
    expect(places(FLAGS.filter(({ option }) => option.description.endsWith(".")))).toEqual([]);
  });
});

describe("texts of help", () => {
  const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];

  it("leave the breaks of lines within a paragraph to the terminal", () => {
    const texts = all(PROGRAM).flatMap((command) => [
      command.description(),
      ...[...command.options, ...command.registeredArguments].map(({ description }) => description),
    ]);
    expect(texts.length).toBeGreaterThan(200);
    expect(texts.filter((text) => /\S\n\S/.test(text))).toEqual([]);
  });
});
