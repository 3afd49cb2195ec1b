/** `mullion merge`: one report of what several machines have found out. */
import type { InputText } from "#cluster/session/session.ts";
import { VERIFY_SHARD, type VerifyShard, reportOf } from "#cluster/verify/shard.ts";
import { isFields, mappingOf } from "#core/base/json.ts";
import { badField } from "#core/base/shape.ts";
import { explainVerification } from "#diagnose/verify-text/explain-verification.ts";
import { LINT_SHARD, type LintShard, concludeLint } from "#diagnose/lint/shard.ts";
import { packageVersion } from "../installation.ts";
import { Failure } from "./failure.ts";
import { usage } from "./options.ts";
import { readInputs } from "./read-inputs.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { printLint } from "./lint.ts";
import type { MergeFormat, MergeRequest } from "./verbs.ts";
import { allowFindings, formatReport } from "./verify.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

interface Named<T> {
  readonly name: string;
  readonly part: T;
}

function differ(message: string, advice: string): Failure {
  return new Failure("shards-differ", message, advice);
}

const ADVICE = WORDS.adviceMergeShards;

/** What can be merged, by the kind of its documents. */
const SHAPES = { VerificationShard: VERIFY_SHARD, LintShard: LINT_SHARD } as const;
type AnyShard = VerifyShard | LintShard;

function isKind(kind: unknown): kind is keyof typeof SHAPES {
  return kind === "VerificationShard" || kind === "LintShard";
}

function partIn({ name, text }: InputText): AnyShard {
  const file = JSON.stringify(name);
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    const why = text.trim() === "" ? "it is empty: the shard has printed nothing" : "it is not JSON";
    throw differ(
      `${file} is no report of a shard: ${why}`,
      "See how that shard ended, and run it once more.",
    );
  }
  const kind = mappingOf(value)["kind"];
  if (!isFields(value) || !isKind(kind)) {
    const found = typeof kind === "string" ? `a ${kind}` : "something else";
    throw differ(`${file} is no report of a shard: it is ${found}`, WORDS.adviceShardReport);
  }
  const { subject } = value;
  const version = mappingOf(subject)["version"];
  if (typeof version === "string" && version !== packageVersion())
    throw differ(
      `${file} is of Mullion ${version}, and this is ${packageVersion()}`,
      "Merge with the version that the shards ran with.",
    );
  const field = badField(SHAPES[kind], value);
  if (field !== undefined) throw differ(WORDS.shardReportInvalid({ file, field }), ADVICE);
  return value as unknown as AnyShard;
}

/** What the flags of a shard have asked for; the same in all of them. */
function flagsOf(part: AnyShard): string {
  return part.kind === "LintShard"
    ? `--severity ${part.subject.severity} --fail-on ${part.subject.failOn}`
    : `--allow ${part.subject.allowed.join()}`;
}

/** The classes of nodes of which flows rest on others. */
function classesOf(part: AnyShard): string {
  if (part.kind === "LintShard") return "";
  return (part.classes ?? []).map(({ digest, nodes }) => `${digest} ${nodes}`).join();
}

/** What is different between two parts that are to be of one run; undefined when nothing is. */
function differenceOf(one: AnyShard, other: AnyShard): string | undefined {
  if (other.kind !== one.kind) return `a ${one.kind} and a ${other.kind}`;
  if (other.shard.count !== one.shard.count)
    return `of ${one.shard.count} and of ${other.shard.count} shards`;
  if (other.subject.input !== one.subject.input) return "of different inputs";
  if (flagsOf(other) !== flagsOf(one)) return `with different flags: ${flagsOf(one)}, ${flagsOf(other)}`;
  if (classesOf(other) !== classesOf(one)) return "of different classes of equal nodes";
  if (other.shard.index === one.shard.index) return `both shard ${one.shard.index} of ${one.shard.count}`;
  return undefined;
}

/** @throws Failure when the parts are not those of one run. */
function checkTogether(parts: readonly Named<AnyShard>[]): void {
  for (const [index, { name, part }] of parts.entries()) {
    const { shard } = part;
    if (shard.index > shard.count)
      throw differ(`${JSON.stringify(name)} is of shard ${shard.index} of ${shard.count}`, ADVICE);
    for (const before of parts.slice(0, index)) {
      const difference = differenceOf(before.part, part);
      if (difference !== undefined)
        throw differ(`${JSON.stringify(before.name)} and ${JSON.stringify(name)} are ${difference}`, ADVICE);
    }
  }
}

function noForm(what: string, output: MergeFormat): Failure {
  return usage(`${what} has no form ${output}`, "Choose -o text, json, yaml or junit.");
}

function mergeVerification(parts: readonly VerifyShard[], output: MergeFormat, terminal: Terminal): ExitCode {
  if (output === "sarif") throw noForm("a verification", output);
  const { allowed = [], command = "" } = parts[0]?.subject ?? {};
  const report = allowFindings(explainVerification(reportOf(parts)), allowed);
  terminal.stdout(formatReport(report, output === "text" ? "table" : output, command, terminal));
  return report.counts.findings === 0 ? 0 : 1;
}

async function mergeLint(
  [first, ...others]: readonly LintShard[],
  output: MergeFormat,
  terminal: Terminal,
): Promise<ExitCode> {
  if (output === "table") throw noForm("a report of lint", output);
  if (first === undefined) return 0;
  const { severity, failOn } = first.subject;
  const request = { severity, failOn, format: output, isLong: false };
  return printLint(concludeLint([first, ...others]), request, terminal);
}

/** @throws Failure for what are not the shards of one run. */
export async function merge({ paths, output }: MergeRequest, terminal: Terminal): Promise<ExitCode> {
  const inputs = await readInputs(paths, false, terminal);
  const parts = inputs.map((input) => ({ name: input.name, part: partIn(input) }));
  checkTogether(parts);
  const ordered = parts.map(({ part }) => part).toSorted((a, b) => a.shard.index - b.shard.index);
  const lint = ordered.filter((part) => part.kind === "LintShard");
  if (lint.length > 0) return mergeLint(lint, output, terminal);
  return mergeVerification(
    ordered.filter((part) => part.kind === "VerificationShard"),
    output,
    terminal,
  );
}
