/**
 * What the user does not want to hear, and why. On an object: the annotation
 * `mullion.dev/lint-ignore: "code: reason"` (several: one per line, or with semicolons). In `.mullion-lint.yaml`:
 *
 *     ignore:
 *       - code: host-network-unsupported
 *         paths: ["legacy/**"]
 *         reason: these run on Linux only
 *
 * A suppression without a reason is a finding itself, and suppresses nothing.
 */
import { isKnowledgeCode } from "#core/catalogue/codes.ts";
import { readYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import type { LintDocument, Locate, LintPlace } from "./input/document.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { fieldsAt, listAt, textAt, valueAt } from "./input/fields.ts";
import { locateInYaml } from "./input/locate.ts";
import type { SourceText } from "#core/base/source-text.ts";
import { logAndErrors } from "#data/words.js";

const WORDS = logAndErrors();

export const IGNORE_ANNOTATION = "mullion.dev/lint-ignore";
export const CONFIGURATION_FILE = ".mullion-lint.yaml";

/** A finding about a suppression itself. */
export interface SuppressionFault {
  readonly at: LintPlace;
  readonly message: string;
  readonly fix: string;
}

export interface Suppression {
  /** A code, or `*` for all. */
  readonly code: string;
  readonly reason: string;
}

function wordOf(entry: string): { readonly code: string; readonly reason: string } {
  const colon = entry.indexOf(":");
  if (colon < 0) return { code: entry.trim(), reason: "" };
  return { code: entry.slice(0, colon).trim(), reason: entry.slice(colon + 1).trim() };
}

function faultOf(code: string, reason: string): string | undefined {
  if (code !== "*" && !isKnowledgeCode(code)) return `${JSON.stringify(code)} is not a code of the catalogue`;
  return reason === "" ? `${code} is suppressed without a reason` : undefined;
}

/** The annotation of one object. */
export function suppressionsOf(document: LintDocument): {
  readonly suppressions: readonly Suppression[];
  readonly faults: readonly SuppressionFault[];
} {
  const text = textAt(document.value, "metadata", "annotations", IGNORE_ANNOTATION);
  if (text === undefined) return NOTHING;
  const suppressions: Suppression[] = [];
  const faults: SuppressionFault[] = [];
  const at: LintPlace = { path: ["metadata", "annotations", IGNORE_ANNOTATION] };
  for (const entry of text.split(/[\n;]/)) {
    if (entry.trim() === "") continue;
    const { code, reason } = wordOf(entry);
    const message = faultOf(code, reason);
    if (message === undefined) suppressions.push({ code, reason });
    else faults.push({ at, message, fix: 'Write "code: reason"; mullion lint --list shows all codes.' });
  }
  return { suppressions, faults };
}

const NOTHING = Object.freeze({ suppressions: Object.freeze([]), faults: Object.freeze([]) });

/** One entry of the file. */
interface FileSuppression extends Suppression {
  readonly patterns: readonly Glob[];
}

/** What `.mullion-lint.yaml` says. */
export interface LintConfiguration {
  readonly source: SourceText | undefined;
  readonly entries: readonly FileSuppression[];
  readonly faults: readonly SuppressionFault[];
  readonly locate: Locate;
}

export const NO_LINT_CONFIGURATION: LintConfiguration = Object.freeze({
  source: undefined,
  entries: Object.freeze([]),
  faults: Object.freeze([]),
  locate: () => [],
});

/** `*` stands for anything but a slash, `**` for anything. A pattern fits the end of a path, or one of its folders. */
class Glob {
  private readonly parts: readonly string[];

  constructor(glob: string) {
    this.parts = glob.replace(/^\.?\//, "").match(/(?:\*\*\/?)+|[^]/g) ?? [];
  }

  /** Follows all ways at once: a pattern of many stars takes no longer than one of as many letters. */
  test(path: string): boolean {
    let places = new Set<number>();
    for (let at = 0; at <= path.length; at++) {
      const isEdge = at === 0 || path[at - 1] === "/";
      if (isEdge) this.enter(places, 0);
      const isEnd = at === path.length || path[at] === "/";
      if (isEnd && places.has(this.parts.length)) return true;
      const next = new Set<number>();
      for (const place of places) {
        const part = this.parts[place] ?? "";
        if (part.startsWith("**") || (part === "*" && path[at] !== "/")) this.enter(next, place);
        else if (part === path[at] || (part === "?" && path[at] !== "/")) this.enter(next, place + 1);
      }
      places = next;
    }
    return false;
  }

  /** A star may stand for nothing. */
  private enter(places: Set<number>, place: number): void {
    let last = place;
    while (this.parts[last]?.startsWith("*") === true) places.add(last++);
    places.add(last);
  }
}

function readEntry(
  entry: unknown,
  index: number,
): { readonly entry?: FileSuppression; readonly fault?: SuppressionFault } {
  const at: LintPlace = { path: ["ignore", index] };
  const fix = WORDS.adviceSuppressionFields;
  if (!isFields(entry)) return { fault: { at, message: "an entry of ignore is a mapping", fix } };
  const code = textAt(entry, "code") ?? "";
  const reason = (textAt(entry, "reason") ?? "").trim();
  const message = faultOf(code, reason);
  if (message !== undefined) return { fault: { at, message, fix } };
  const paths = listAt(entry, "paths").filter((path) => typeof path === "string");
  return { entry: { code, reason, patterns: paths.map((path) => new Glob(path)) } };
}

/** Reads `.mullion-lint.yaml`. What is wrong in it is a finding. */
export function readConfiguration(source: SourceText): LintConfiguration {
  const read = readYaml(source.text);
  const locate = locateInYaml(source.text, 0, []);
  const fault = (message: string, offset = 0): LintConfiguration => ({
    source,
    entries: [],
    locate,
    faults: [{ at: { offset }, message, fix: "See docs/reference/lint.md." }],
  });
  if ("faults" in read) return fault(read.faults[0]?.message ?? "the YAML is broken", read.faults[0]?.offset);
  const [value] = read.values;
  if (value === null || value === undefined) return { ...NO_LINT_CONFIGURATION, source, locate };
  if (!isFields(value)) return fault("the file is a mapping with the field ignore");
  return configurationOf(source, value, locate);
}

function configurationOf(source: SourceText, value: Fields, locate: Locate): LintConfiguration {
  const faults: SuppressionFault[] = [];
  const entries: FileSuppression[] = [];
  for (const key of Object.keys(value))
    if (key !== "ignore")
      faults.push({
        at: { path: [key] },
        message: `there is no field ${JSON.stringify(key)} here`,
        fix: "Only ignore is known.",
      });
  const list = valueAt(value, "ignore");
  if (list !== undefined && list !== null && !Array.isArray(list))
    faults.push({
      at: { path: ["ignore"] },
      message: "ignore is a list",
      fix: "Begin each entry with - code:.",
    });
  for (const [index, item] of listAt(fieldsAt(value), "ignore").entries()) {
    const { entry, fault } = readEntry(item, index);
    if (entry !== undefined) entries.push(entry);
    if (fault !== undefined) faults.push(fault);
  }
  return { source, entries, faults, locate };
}

/** The entry of the file that silences `code` in `file`. */
export function suppressedByFile(
  configuration: LintConfiguration,
  code: string,
  file: string,
): Suppression | undefined {
  const path = file.replaceAll("\\", "/");
  return configuration.entries.find(
    (entry) =>
      (entry.code === "*" || entry.code === code) &&
      (entry.patterns.length === 0 || entry.patterns.some((pattern) => pattern.test(path))),
  );
}
