/** Rules over the text of CNI configurations and of flannel's net-conf: what Go's JSON reader refuses or misunderstands. */
import { fileNameOf } from "#core/base/text-edges.ts";
import { cniView } from "../views/cni-view.ts";
import { isPlaceholder, shown } from "../views/address-ranges.ts";
import { hnsView } from "../views/hns-view.ts";
import type { LintDocument } from "../input/document.ts";
import type { LintPath } from "../input/fields.ts";
import { isFields } from "#core/base/json.ts";
import type { JsonTrapKind } from "../input/json-text.ts";
import { type LintRule, type RuleFinding, rule } from "../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

const READ_BY_GO = ["cni", "flannel"] as const;

/** Files that somebody fills in before a program reads them. A ConfigMap's text may be filled in by its installer. */
export function isFilledInLater(document: LintDocument): boolean {
  return (
    document.host !== undefined ||
    /\.(?:tmpl|tpl|j2|jinja2?|erb|in|dist)$|template/i.test(fileNameOf(document.source.file))
  );
}

function trapRule(
  code: LintRule["code"],
  kinds: readonly JsonTrapKind[],
  say: (message: string) => Pick<RuleFinding, "message" | "fix">,
): LintRule {
  return rule(code, READ_BY_GO, function* (document) {
    for (const { kind, offset, end, message } of document.traps)
      if (kinds.includes(kind)) yield { at: { offset, length: end - offset }, ...say(message) };
  });
}

const NO_BREAK_SPACE = trapRule("json-no-break-space", ["no-break-space"], (message) => ({
  message: `${message} is between the values, and strict JSON readers stop there`,
  fix: "Replace all no-break spaces in the file with spaces.",
}));

const COMMENT = trapRule("json-comment", ["comment"], (message) => ({
  message: `${message} is in a file that is read as strict JSON`,
  fix: "Remove the comment.",
}));

const TRAILING_COMMA = trapRule("json-trailing-comma", ["trailing-comma"], (message) => ({
  message: `${message}: strict JSON allows none`,
  fix: "Remove the comma.",
}));

const DUPLICATE_KEY = trapRule("json-duplicate-key", ["duplicate-key"], (message) => ({ message }));

const INVALID = trapRule("json-invalid", ["syntax", "control-character"], (message) => ({ message }));

/** cni.md §10.2: Go's decoder refuses the mark, and a file in UTF-16 altogether. */
const BYTE_ORDER_MARK = rule("json-byte-order-mark", READ_BY_GO, function* (document) {
  const { source, host } = document;
  if (host !== undefined || (!source.hasByteOrderMark && source.encoding === "utf-8")) return;
  const isWide = source.encoding !== "utf-8";
  yield {
    at: { offset: 0 },
    message: isWide ? WORDS.fileIsUtf16 : WORDS.fileHasByteOrderMark,
    fix: "Write it as UTF-8 without a mark: [IO.File]::WriteAllText(path, text).",
  };
});

interface FoundText {
  readonly path: LintPath;
  readonly text: string;
}

function* textsIn(value: unknown, path: LintPath): Generator<FoundText> {
  if (typeof value === "string") yield { path, text: value };
  else if (Array.isArray(value))
    for (const [index, item] of (value as unknown[]).entries()) yield* textsIn(item, [...path, index]);
  else if (isFields(value))
    for (const [key, item] of Object.entries(value)) yield* textsIn(item, [...path, key]);
}

/** Policies and subnets; names are whatever their owner likes. */
function* textsOfHns(document: LintDocument): Generator<FoundText> {
  const { policies, subnets } = hnsView(document);
  for (const { path, value } of policies) yield* textsIn(value, path);
  for (const { path, prefix, policies: own } of subnets) {
    if (prefix !== undefined) yield* textsIn(prefix.value, prefix.path ?? path);
    for (const policy of own) yield* textsIn(policy.value, policy.path);
  }
}

/** containerd#5729: the endpoint is made and degrades; the pod fails later, with another message. */
const PLACEHOLDER = rule("placeholder-left", [...READ_BY_GO, "hns"], function* (document, context) {
  if (isFilledInLater(document) || (document.kind === "cni" && !cniView(document, context).isWindows)) return;
  const texts = document.kind === "hns" ? textsOfHns(document) : textsIn(document.value, []);
  for (const { path, text } of texts)
    if (isPlaceholder(text))
      yield {
        at: { path, part: "value" },
        message: `${shown(text)} is a placeholder that is not filled in`,
      };
});

/** `"C:\run\flannel"`: `\r` and `\f` are control characters in JSON. */
const CONTROL_IN_PATH = rule("path-with-control-character", READ_BY_GO, function* (document) {
  for (const { path, text } of textsIn(document.value, []))
    if (/^[A-Za-z]:[^]*[\b\f\n\r\t]/.test(text))
      yield {
        at: { path, part: "value" },
        message: WORDS.backslashNotEscaped({ text: shown(text) }),
        fix: "Write each backslash twice, or use slashes: C:/run/flannel.",
      };
});

export const JSON_FILE_RULES: readonly LintRule[] = [
  NO_BREAK_SPACE,
  BYTE_ORDER_MARK,
  COMMENT,
  TRAILING_COMMA,
  DUPLICATE_KEY,
  INVALID,
  PLACEHOLDER,
  CONTROL_IN_PATH,
];
