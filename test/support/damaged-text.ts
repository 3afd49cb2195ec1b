/** Text damaged at random, for readers that must bear anything. */
import type { Prng } from "#core/base/prng.ts";

/** Pieces that mean something to a reader of YAML. */
export const YAML_PIECES: readonly string[] = [
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

/** Cuts, repeats and replaces parts of `text`; `pieces` are what is put in. */
export function damageText(text: string, pieces: readonly string[], prng: Prng): string {
  let damaged = text;
  for (let round = prng.below(6); round >= 0; round--) {
    const at = prng.below(damaged.length + 1);
    const until = Math.min(damaged.length, at + prng.below(40));
    const piece = pieces[prng.below(pieces.length)] ?? "";
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
