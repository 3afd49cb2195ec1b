/** `mullion verify --profile A,B` and `--before FILE`: the same flows on several builds, or earlier and now. */
import { parse } from "yaml";
import {
  type ComparedReport,
  type ComparedSide,
  type VerifyComparison,
  compareVerifications,
  isVerification,
  readVerification,
} from "#cluster/verify/compare.ts";
import type { KeptResults } from "#cluster/verify/kept/kept-results.ts";
import type { InputText } from "#cluster/session/session.ts";
import { type VerifyReport, WHOLE } from "#cluster/verify/report.ts";
import type { FileOverrides } from "#cluster/file/parse-cluster-file.ts";
import { reportOf } from "#cluster/verify/shard.ts";
import { type ClusterTarget, connectRunning } from "./cluster/cluster-target.ts";
import { readClusterInputs } from "./cluster/read-cluster-inputs.ts";
import { Failure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";
import type { ComparisonRequest } from "./verify-comparison-options.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Why a report of before saves nothing. */
const NO_STATE = WORDS.beforeReportWithoutState;

/** Verifies the cluster that the texts describe. */
async function verifyInputs(
  inputs: readonly InputText[],
  terminal: Terminal,
  overrides: FileOverrides = {},
  known?: KeptResults,
): Promise<VerifyReport> {
  const common = { inputs, overrides, shard: WHOLE, workers: 1, allowed: [], command: "" };
  const request = known === undefined ? common : { ...common, known };
  // All that simulates: what asks a running cluster starts without it.
  const { runVerification } = await import("./verify-run.ts");
  const { withKept } = await import("#cluster/verify/kept/verify-again.ts");
  const { part, isInterrupted, kept } = await runVerification(request, terminal);
  if (!isInterrupted) return withKept(reportOf([part]), kept);
  const advice = WORDS.adviceVerifyEachSide;
  throw new Failure(
    "verification-incomplete",
    "a comparison that is stopped has nothing to show",
    advice,
    130,
  );
}

/** The terminal, on which a side says which one it is. */
function namedOn(terminal: Terminal, label: string): Terminal {
  const own: Partial<Terminal> = {
    status: (text) => terminal.status(text === "" ? "" : `${label}: ${text}`),
  };
  // Derived, not spread: a terminal may be of a class.
  return Object.assign(Object.create(terminal) as Terminal, own);
}

/** Runs the verification of a target, on the first build that is named and as an edition that is named. */
async function verifyTarget(
  target: ClusterTarget,
  terminal: Terminal,
  { profiles, asDocumented }: Pick<ComparisonRequest, "profiles" | "asDocumented">,
  known: KeptResults,
): Promise<VerifyReport> {
  if (target.files.length === 0) return (await connectRunning(target)).verify();
  const inputs = await readClusterInputs(target.files, target.isRecursive, terminal);
  return verifyInputs(inputs, terminal, { build: profiles[0]?.build, asDocumented }, known);
}

/** A report as it may be, in JSON or as -o yaml writes it; undefined for what is none. */
function parseReport(text: string): unknown {
  const isJson = text.trimStart().startsWith("{");
  if (!isJson && !/^kind: Verification\r?$/m.test(text)) return undefined;
  try {
    return isJson ? (JSON.parse(text) as unknown) : (parse(text) as unknown);
  } catch {
    return undefined;
  }
}

function reportIn(value: unknown, file: string): ComparedReport {
  const report = readVerification(value);
  if ("cells" in report) return report;
  throw new Failure(
    "bad-usage",
    WORDS.verifyReportInvalid({ file: JSON.stringify(file), field: report.field }),
    WORDS.adviceVerifyReport,
  );
}

/** The earlier state: a report as it was written, or an input that is verified now. */
async function earlier(
  before: readonly string[],
  isRecursive: boolean,
  terminal: Terminal,
  known: KeptResults,
): Promise<{ readonly report: ComparedReport; readonly nothingKept: string | undefined }> {
  const inputs = await readClusterInputs(before, isRecursive, terminal);
  const [first, ...others] = inputs;
  const parsed = first === undefined || others.length > 0 ? undefined : parseReport(first.text);
  const isReport = first !== undefined && isVerification(parsed);
  return isReport
    ? { report: reportIn(parsed, first.name), nothingKept: NO_STATE }
    : { report: await verifyInputs(inputs, terminal, {}, known), nothingKept: undefined };
}

/** The sides of the comparison that is asked for, in the order of their columns; undefined when none is. */
async function sidesOf(
  request: ComparisonRequest,
  target: ClusterTarget,
  terminal: Terminal,
): Promise<readonly ComparedSide[]> {
  const { profiles, before, asDocumented } = request;
  if (before.length > 0) {
    const { KeptResults: Known } = await import("#cluster/verify/kept/kept-results.ts");
    const known = new Known();
    const { report, nothingKept } = await earlier(
      before,
      target.isRecursive,
      namedOn(terminal, "before"),
      known,
    );
    const now = await verifyTarget(target, namedOn(terminal, "now"), request, known);
    return [
      { label: "before", report },
      { label: "now", report: now, nothingKept: target.files.length === 0 ? undefined : nothingKept },
    ];
  }
  const inputs = await readClusterInputs(target.files, target.isRecursive, terminal);
  const sides: ComparedSide[] = [];
  for (const { label, build } of profiles) {
    const report = await verifyInputs(inputs, namedOn(terminal, label), { build, asDocumented });
    sides.push({ label, report });
  }
  return sides;
}

/** The comparison; undefined when the request asks for none. `judged`: the reports whose findings count. */
export async function compareAsAsked(
  request: ComparisonRequest,
  target: ClusterTarget,
  terminal: Terminal,
): Promise<
  { readonly comparison: VerifyComparison; readonly judged: readonly ComparedReport[] } | undefined
> {
  if (request.before.length === 0 && request.profiles.length < 2) return undefined;
  const sides = await sidesOf(request, target, terminal);
  const judged = request.before.length > 0 ? sides.slice(-1) : sides;
  return {
    comparison: compareVerifications(sides),
    judged: judged.map(({ report }) => report),
  };
}
