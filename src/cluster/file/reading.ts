/** The state of one reading of a file: where things are, what went wrong, how much was expanded. */
import { type LineCounter, type ParsedNode, isAlias, isMap, isScalar, isSeq } from "yaml";
import { LIMITS } from "#core/base/limits.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import type { YamlText } from "./yaml-text.ts";

/** Where a value stands: an offset into the text, and the field's path. */
export interface ValuePlace {
  readonly offset: number;
  readonly path: string;
}

/** A value with its place, for checks that need more than one field. */
export interface Located<T> {
  readonly value: T;
  readonly place: ValuePlace;
}

/** What the items of a list hold. */
export function valuesOf<T>(items: readonly Located<T>[]): readonly T[] {
  return items.map(({ value }) => value);
}

/** More problems than this help nobody. */
const PROBLEMS_MAX = 200;

export class Reading {
  readonly problems: FileProblem[] = [];
  private readonly file: string;
  private readonly lines: LineCounter;
  private readonly aliases: YamlText["aliases"];
  private aliasLevel = 0;
  private aliasedValues = 0;

  constructor(file: string, lines: LineCounter, aliases: YamlText["aliases"] = new Map()) {
    this.file = file;
    this.lines = lines;
    this.aliases = aliases;
  }

  /** Adds a problem at a place. */
  report(code: KnowledgeCode, place: ValuePlace, message: string, advice: string, differs?: string): void {
    if (this.problems.length >= PROBLEMS_MAX) return;
    const { line, col } = this.lines.linePos(place.offset);
    this.problems.push({
      code,
      file: this.file,
      line: Math.max(line, 1),
      column: Math.max(col, 1),
      path: place.path,
      message,
      advice,
      ...(differs === undefined ? {} : { differs }),
    });
  }

  /** Adds a problem about a value. */
  reportValue(place: ValuePlace, message: string, advice: string, differs?: string): void {
    this.report("cluster-file-invalid-value", place, message, advice, differs);
  }

  /** Adds a problem about a field that does not go with the network's driver. */
  reportMismatch(place: ValuePlace, message: string, advice: string): void {
    this.report("cluster-file-driver-mismatch", place, message, advice);
  }

  /** Refuses a field that a program decides by itself, unless it says the same: `own`. */
  refuseOther(
    { value, place }: Located<unknown>,
    own: unknown,
    message: string,
    code: KnowledgeCode = "cluster-file-invalid-value",
  ): void {
    if (value !== undefined && value !== own) this.report(code, place, message, "Leave the field out.");
  }

  /** The line of an offset, from 1. */
  lineOf(offset: number): number {
    return Math.max(this.lines.linePos(offset).line, 1);
  }

  /**
   * Hands the value of `node` to `use`, with aliases resolved.
   * Undefined, with a problem, when the aliases of the file stand for too many values.
   */
  withValue<T>(
    node: ParsedNode,
    place: ValuePlace,
    use: (value: ParsedNode) => T | undefined,
  ): T | undefined {
    const target = isAlias(node) ? this.aliases.get(node) : node;
    if (target === undefined) return undefined;
    const isAliased = target !== node;
    if (isAliased || this.aliasLevel > 0) this.aliasedValues++;
    if (this.aliasedValues > LIMITS.aliasedValuesMax) {
      if (this.aliasedValues === LIMITS.aliasedValuesMax + 1) {
        this.report(
          "cluster-file-too-large",
          place,
          `the aliases of this file stand for more than ${LIMITS.aliasedValuesMax} values`,
          "Write repeated parts out; do not nest aliases of aliases.",
        );
      }
      return undefined;
    }
    if (!isAliased) return use(target);
    this.aliasLevel++;
    const result = isAlias(target) ? this.withValue(target, place, use) : use(target);
    this.aliasLevel--;
    return result;
  }
}

/** True for a value that says nothing: a key with nothing behind it, or null. */
export function isEmpty(node: ParsedNode | null): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

/** What a value is, in words, for messages. */
export function nameOf(node: ParsedNode): string {
  if (isMap(node)) return "a mapping";
  if (isSeq(node)) return "a list";
  if (!isScalar(node)) return "an alias";
  if (node.value === null) return "empty";
  if (typeof node.value === "string") return quote(node.value);
  return `the ${typeof node.value} ${node.source}`;
}

const QUOTED_MAX = 60;

/** A text of the user's in quotes, cut when it is long, control characters made visible. */
export function quote(text: string): string {
  const short = text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text;
  return JSON.stringify(short);
}
