import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Prng } from "../../base/prng.ts";
import { parseClusterFile } from "./parse-cluster-file.ts";

/** `SEED=N npm run test:long` replays a run; without it each run draws its own. */
const SEED = process.env["SEED"] ?? String(Math.floor(Math.random() * 0x7fff_ffff));
const EXAMPLES = readdirSync("examples").map((name) => readFileSync(`examples/${name}/cluster.yaml`, "utf8"));
const PIECES = [
  "[",
  "]",
  "{",
  "}",
  ": ",
  "- ",
  "\n",
  "\t",
  "  ",
  "*a ",
  "&a ",
  "? ",
  "|\n",
  "'",
  '"',
  "#",
  "!!x ",
  "~",
  "1e9",
  "\u0000",
  "\ud800",
  "é",
  "---\n",
  "...\n",
  "%YAML 1.1\n",
  "<<: ",
];

/** Cuts, repeats and replaces parts of a text. */
function damage(text: string, prng: Prng): string {
  let damaged = text;
  for (let round = prng.below(6); round >= 0; round--) {
    const at = prng.below(damaged.length + 1);
    const until = Math.min(damaged.length, at + prng.below(40));
    const piece = PIECES[prng.below(PIECES.length)] ?? "";
    const choices = [
      damaged.slice(0, at) + damaged.slice(until),
      damaged.slice(0, at) + piece + damaged.slice(at),
      damaged.slice(0, at) + piece + damaged.slice(until),
      damaged.slice(0, until) + damaged.slice(at),
      damaged.slice(0, at) + damaged.slice(at, until).repeat(1 + prng.below(5)) + damaged.slice(until),
    ];
    damaged = choices[prng.below(choices.length)] ?? damaged;
  }
  return damaged;
}

describe(`damaged cluster files, replay: SEED=${SEED} npm run test:long -- src/cluster/file`, () => {
  const prng = new Prng(SEED);
  it("give a cluster, or problems with a place inside the file", () => {
    for (let round = 0; round < 30_000; round++) {
      const text = damage(EXAMPLES[round % EXAMPLES.length] ?? "", prng);
      const result = parseClusterFile(text, "fuzz.yaml");
      const problems = "problems" in result ? result.problems : [];
      const isSound = "cluster" in result || problems.length > 0;
      const lineCount = text.split("\n").length + 1;
      const outside = problems.filter(({ line, column }) => line < 1 || column < 1 || line > lineCount);
      expect({ isSound, outside, text: isSound && outside.length === 0 ? "" : text }).toEqual({
        isSound: true,
        outside: [],
        text: "",
      });
    }
  });
});
