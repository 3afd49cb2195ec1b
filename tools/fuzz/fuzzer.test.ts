import { describe, expect, it, vi } from "vitest";

import { stripTypeScriptTypes } from "node:module";
import { Prng } from "#core/base/prng.ts";
import { change } from "./change-bytes.ts";
import { BranchCounts, countBranches, listTexts } from "./count-branches.ts";
import { fuzz, minimize } from "./fuzzer.ts";
import { C_TARGETS, buildCFuzzer } from "./c-targets.ts";

/** A reader with a defect behind three bytes and a word; nobody hits it by chance. */
const READER = `
export function read(bytes: Uint8Array): string {
  const text = String.fromCharCode(...bytes);
  if (bytes[0] !== 0x7b) return "none";
  if (bytes[1] === 0x5b && bytes.length > 4) {
    const rest = text.slice(2);
    if (rest.startsWith("Policies")) throw new TypeError("the defect");
    return rest.length > 9 ? "long" : "short";
  }
  switch (bytes[2]) {
    case 1:
      return "one";
    default:
      return (bytes[3] as number) > 9 || text === "" ? "more" : "less";
  }
}
`;

let loads = 0;
async function load(counts: BranchCounts): Promise<(bytes: Uint8Array) => string> {
  Object.assign(globalThis, { __branches: counts });
  const code = stripTypeScriptTypes(countBranches(READER, "reader.ts"));
  // A module is loaded once for each text.
  const url = `data:text/javascript,${encodeURIComponent(`${code}// ${loads++}`)}`;
  const { read } = (await import(/* @vite-ignore */ url)) as { readonly read: (bytes: Uint8Array) => string };
  return read;
}

const words = listTexts(READER).map((text) => new TextEncoder().encode(text));
const options = { words, nowMs: () => 0 };

describe("branches of a source", () => {
  it("are counted, and change nothing", async () => {
    const counts = new BranchCounts();
    const read = await load(counts);
    expect([
      read(Uint8Array.of(1)),
      read(Uint8Array.of(0x7b, 0, 1)),
      read(Uint8Array.of(0x7b, 0, 0, 10)),
    ]).toEqual(["none", "one", "more"]);
    counts.take();
    const once = read(Uint8Array.of(0x7b, 0, 1)) && counts.take();
    const again = read(Uint8Array.of(0x7b, 0, 1)) && counts.take();
    const other = read(Uint8Array.of(0x7b, 0, 0, 10)) && counts.take();
    expect(again).toEqual(once);
    expect(other).not.toEqual(once);
    expect(countBranches(READER, "reader.ts").split("\n")).toHaveLength(READER.split("\n").length);
  });

  it("texts of a source are words for guessing", () => {
    expect(listTexts(READER)).toContain("Policies");
  });
});

describe("a fuzzer that follows branches", () => {
  it("finds the defect, once, and says where", async () => {
    const counts = new BranchCounts();
    const target = { name: "reader", about: "", seeds: [Uint8Array.of(0)], run: await load(counts) };
    const isOver = (runs: number): boolean => runs >= 60_000;
    const { findings, corpus } = await fuzz(target, [], {
      ...options,
      seed: 1,
      counts,
      isOver,
    });
    expect(findings.map(({ what }) => what.split("\n")[0])).toEqual(["TypeError: the defect"]);
    expect(new TextDecoder("latin1").decode(findings[0]?.bytes)).toMatch(/^\{\[Policies/);
    const kept = await minimize(target, corpus, counts);
    expect(kept.length).toBeLessThanOrEqual(corpus.length);
    expect(new Set(kept.map((bytes) => target.run(bytes)))).toEqual(
      new Set(corpus.map((bytes) => target.run(bytes))),
    );
  });

  it("counts what takes too long as a finding", async () => {
    let now = 0;
    const run = (): void => void (now += 3_000);
    const target = { name: "slow", about: "", seeds: [Uint8Array.of(0)], run };
    const isOver = (runs: number): boolean => runs >= 3;
    const result = await fuzz(target, [], {
      ...options,
      seed: 1,
      counts: new BranchCounts(),
      isOver,
      nowMs: () => now,
    });
    expect(result.findings.map(({ what }) => what)).toEqual(["took 3000 ms"]);
  });

  it("makes the same inputs of the same seed", () => {
    const made = [1, 1, 2].map((seed) => {
      const prng = new Prng(seed);
      return Array.from({ length: 50 }, () =>
        [...change(Uint8Array.of(1, 2, 3, 0x39), prng, [], words)].join(),
      );
    });
    expect(made[1]).toEqual(made[0]);
    expect(made[2]).not.toEqual(made[0]);
  });
});

it.each(C_TARGETS)("fuzzing the %s without clang says what is missing, and how to go on", (name) => {
  vi.stubEnv("PATH", "");
  try {
    expect(() => buildCFuzzer(name)).toThrowError(
      /^clang is missing.*\n {2}apt-get install .*clang libclang-rt-14-dev\nOr name other targets with --target\.$/,
    );
  } finally {
    vi.unstubAllEnvs();
  }
});
