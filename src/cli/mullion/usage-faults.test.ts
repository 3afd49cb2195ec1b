// What a newcomer types wrong: the answer says how it is written, and where the help of that verb is.
import { describe, expect, it } from "vitest";
import { allVerbs } from "#test/support/cli/all-verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";

const VERBS = allVerbs(async () => Promise.resolve(0));

async function refused(line: string): Promise<string> {
  const terminal = new MemoryTerminal();
  const argv = line.split(" ");
  const code = await runMullion({ argv, verbs: VERBS, terminal, version: "1.2.3", isDebug: false });
  expect([code, terminal.output]).toEqual([2, ""]);
  return terminal.errors;
}

describe("a command line that is wrong", () => {
  it.each([
    ["verify c.yaml", "Files are named with -f: mullion verify -f c.yaml. See: mullion verify --help"],
    ["vfp ports a b", "Files are named with -f: mullion vfp ports -f a -f b. See: mullion vfp ports --help"],
    ["down x", "Write: mullion down. See: mullion down --help"],
    ["lint -f c.yaml", "Files stand alone: mullion lint [path...]. See: mullion lint --help"],
    ["hns get", "Write: mullion hns get <kind> [name...]. See: mullion hns get --help"],
    ["hns serve --data", "See: mullion hns serve --help"],
    ["hns fault ad", "Did you mean add? See: mullion hns fault --help"],
    ["kube serve", "See: mullion kube serve --help"],
    ["lint --severity warn", "Did you mean warning? See: mullion lint --help"],
    ["get pods -o yml", "Did you mean yaml? See: mullion get --help"],
    ["help verfy", "Did you mean verify? See: mullion --help"],
    ["help nosuch", "See: mullion --help"],
    ["-v", "Did you mean --version? See: mullion --help"],
  ])("%s", async (line, advice) => {
    expect((await refused(line)).split("\n").slice(1)).toEqual([`    ${advice}`, ""]);
  });

  it("names the argument that has a wrong value", async () => {
    expect(await refused("completion tcsh")).toMatch(
      /^mullion: value 'tcsh' is invalid for <shell>\. Allowed choices are bash, zsh, fish, powershell \[bad-usage\]\n/,
    );
  });
});
