/**
 * Branches that are counted as a source runs: where each begins, and the text with a counter in each. Lines stay as they
 * are, so that stacks and messages lead to the source.
 */
import { parseAst } from "rolldown/parseAst";
import { assert } from "#core/base/assert.ts";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Edit {
  readonly at: number;
  readonly text: string;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

/** Types have no branches. */
const SKIPPED = /^TS(?!AsExpression|NonNull|Satisfies)/;

class Branches {
  readonly edits: Edit[] = [];
  count = 0;

  private expression(value: unknown): void {
    if (!isNode(value)) return;
    this.edits.push({ at: value.start, text: `(__b(${this.count++}),` }, { at: value.end, text: ")" });
  }

  visit(node: Node): void {
    if (SKIPPED.test(node.type)) return;
    switch (node.type) {
      case "BlockStatement":
        this.edits.push({ at: node.start + 1, text: `__b(${this.count++});` });
        break;
      case "SwitchCase": {
        const [first] = node["consequent"] as readonly Node[];
        if (first !== undefined) this.edits.push({ at: first.start, text: `__b(${this.count++});` });
        break;
      }
      case "ConditionalExpression":
        this.expression(node["consequent"]);
        this.expression(node["alternate"]);
        break;
      case "LogicalExpression":
        this.expression(node["right"]);
        break;
      default:
    }
    for (const child of Object.values(node).flat()) if (isNode(child)) this.visit(child);
  }
}

/** Texts that stand in a source: what a parser compares with, so that a fuzzer can guess it. */
export function listTexts(code: string): readonly string[] {
  const found = new Set<string>();
  const visit = (node: Node): void => {
    const { value } = node as { readonly value?: unknown };
    if (node.type === "Literal" && typeof value === "string" && /^[!-~]{2,24}$/.test(value)) found.add(value);
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child);
  };
  visit(parseAst(code, { lang: "ts" }) as unknown as Node);
  return [...found];
}

/** The text with a counter in each branch; `__branches.of(path, count)` on `globalThis` gives what counts. */
export function countBranches(code: string, path: string): string {
  const branches = new Branches();
  branches.visit(parseAst(code, { lang: "ts" }) as unknown as Node);
  // At one place what ends comes before what begins, and what is around begins first.
  const edits = branches.edits
    .map((edit, order) => ({ ...edit, order, ends: edit.text === ")" }))
    .toSorted((a, b) => a.at - b.at || Number(b.ends) - Number(a.ends) || a.order - b.order);
  let built = `const __b=globalThis.__branches.of(${JSON.stringify(path)},${branches.count});`;
  let at = 0;
  for (const edit of edits) {
    built += code.slice(at, edit.at) + edit.text;
    at = edit.at;
  }
  return built + code.slice(at);
}

/** More than all sources have. */
const BRANCHES_MAX = 1 << 20;
/** A count is a byte. */
const COUNT_MAX = 255;

/** Counts of all branches of the files that are loaded, side by side. */
export class BranchCounts {
  private readonly counts = new Uint8Array(BRANCHES_MAX);
  private readonly touched = new Uint32Array(BRANCHES_MAX);
  private touchedCount = 0;
  private used = 0;
  readonly texts: Set<string> = new Set();

  /** What a file calls as it is loaded. */
  of(_path: string, count: number): (branch: number) => void {
    const base = this.used;
    this.used += count;
    assert(this.used <= BRANCHES_MAX, "there are fewer branches than BRANCHES_MAX");
    const { counts, touched } = this;
    return (branch) => {
      const at = base + branch;
      const before = counts[at] as number;
      if (before === 0) touched[this.touchedCount++] = at;
      if (before < COUNT_MAX) counts[at] = before + 1;
    };
  }

  /** How many branches there are in what is loaded. */
  get total(): number {
    return this.used;
  }

  /** The branches that ran since the last call. */
  take(): readonly number[] {
    const branches = [...this.touched.subarray(0, this.touchedCount)];
    for (const at of branches) this.counts[at] = 0;
    this.touchedCount = 0;
    return branches;
  }

  /**
   * Adds to `known` what ran since the last call: for each branch a bit for how often, in steps that double.
   * @returns how many of them it did not have.
   */
  takeInto(known: KnownBranches): number {
    const { counts, touched } = this;
    let fresh = 0;
    for (let i = 0; i < this.touchedCount; i++) {
      const at = touched[i] as number;
      const bit = 1 << (31 - Math.clz32(counts[at] as number));
      counts[at] = 0;
      const before = known[at] as number;
      if ((before & bit) !== 0) continue;
      known[at] = before | bit;
      fresh++;
    }
    this.touchedCount = 0;
    return fresh;
  }
}

/** Bits by branch. */
export type KnownBranches = Uint8Array;

export function noBranches(): KnownBranches {
  return new Uint8Array(BRANCHES_MAX);
}
