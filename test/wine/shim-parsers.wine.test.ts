/** The shim's parsers of JSON, HTTP and text, built with gcc's sanitizers: a seeded fuzz, and Node's own as a peer. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { fuzzC } from "../../tools/fuzz/c-targets.ts";
import { ROOT } from "./test-daemon.ts";

const PROGRAM = join(ROOT, "out", "shim", "sanitized", "shim-fuzz");
const ROUNDS = 200_000;
const SAMPLES = 4_000;
const SEED = 20_261_122;

beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
});

/** Lines that the program answers for texts, one each. */
function ask(question: "json" | "escape", texts: readonly Buffer[]): readonly string[] {
  const input = texts.flatMap((text) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(text.length);
    return [size, text];
  });
  const result = spawnSync(PROGRAM, [question], { input: Buffer.concat(input), maxBuffer: 1 << 28 });
  expect([result.status, result.stderr.toString()]).toEqual([0, ""]);
  return result.stdout.toString().trimEnd().split("\n");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

it(`${ROUNDS} rounds of broken documents and lying services: no crash, no leak, no hang`, () => {
  const args = [String(SEED), String(ROUNDS)];
  const result = spawnSync(PROGRAM, args, { timeout: 100_000, killSignal: "SIGKILL" });
  const said = result.stdout.toString();
  expect([result.signal, result.status, result.stderr.toString()], `shim-fuzz ${args.join(" ")}`).toEqual([
    null,
    0,
    "",
  ]);
  const [documents = 0, answers = 0, lines = 0] = [...said.matchAll(/\d+/g)].map(Number);
  // A fuzz in which everything is refused, or nothing, would find little.
  for (const good of [documents, answers]) {
    expect(good).toBeGreaterThan(ROUNDS / 20);
    expect(good).toBeLessThan(ROUNDS);
  }
  expect(lines).toBeGreaterThan(ROUNDS / 2);
});

it("libFuzzer with the inputs that it has kept finds nothing in some seconds; without clang this says what to install", () => {
  const kept = JSON.parse(
    readFileSync(join(ROOT, "test", "corpora", "shim.json"), "utf8"),
  ) as readonly string[];
  const corpus = kept.map((text) => Buffer.from(text, "base64"));
  const result = fuzzC("shim", corpus, { seed: SEED, seconds: 5, keep: false, findings: "out/fuzz" });
  expect(result.finding).toBeUndefined();
  expect(result.runs).toBeGreaterThan(corpus.length);
});

it("what the shim takes for JSON is what Node takes for it", () => {
  const part = fc.oneof(
    fc.string({
      unit: fc.constantFrom("[", "]", "{", "}", '"', ",", ":", "\\", "-", "+", ".", "e", "0", "1"),
      maxLength: 3,
    }),
    fc.constantFrom(" ", "\t", "\n", "/", "null", "true", "\\u00e9", "\\ud800", "é", "\0"),
    fc.json({ maxDepth: 3 }),
  );
  const texts = fc.sample(
    fc.oneof(
      fc.json(),
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join("")),
    ),
    { numRuns: SAMPLES, seed: SEED },
  );
  const answers = ask(
    "json",
    texts.map((text) => Buffer.from(text)),
  );
  expect(texts.filter((text, index) => (answers[index] === "1") !== isJson(text))).toEqual([]);
  expect(answers.filter((answer) => answer === "1").length).toBeGreaterThan(SAMPLES / 4);
  expect(answers.filter((answer) => answer === "0").length).toBeGreaterThan(SAMPLES / 4);
});

it("a text in UTF-16 becomes the JSON string that Node reads as the same text, halves of pairs too", () => {
  const texts = fc.sample(
    fc.string({ unit: fc.nat({ max: 65_535 }).map((unit) => String.fromCharCode(unit)) }),
    {
      numRuns: SAMPLES,
      seed: SEED,
    },
  );
  const answers = ask(
    "escape",
    texts.map((text) => Buffer.from(text, "utf16le")),
  );
  expect(answers.map((answer) => JSON.parse(answer) as string)).toEqual(texts);
});
