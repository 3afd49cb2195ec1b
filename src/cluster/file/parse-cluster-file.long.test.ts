import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { parseClusterFile } from "./parse-cluster-file.ts";
import { YAML_PIECES, damageText } from "#test/support/damaged-text.ts";

/** `SEED=N npm run test:long` replays a run; without it each run draws its own. */
const SEED = process.env["SEED"] ?? String(Math.floor(Math.random() * 0x7fff_ffff));
const EXAMPLES = readdirSync("examples")
  .map((name) => `examples/${name}/cluster.yaml`)
  .filter((path) => existsSync(path))
  .map((path) => readFileSync(path, "utf8"));

describe(`damaged cluster files, replay: SEED=${SEED} npm run test:long -- file/`, () => {
  const prng = new Prng(SEED);
  it("give a cluster, or problems with a place inside the file", () => {
    for (let round = 0; round < 30_000; round++) {
      const text = damageText(EXAMPLES[round % EXAMPLES.length] ?? "", YAML_PIECES, prng);
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
