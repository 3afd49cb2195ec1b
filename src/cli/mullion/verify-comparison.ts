/** `mullion verify --profile A,B` and `--before FILE`: the same flows on several builds, or earlier and now. */
import { type Command, InvalidArgumentError } from "commander";
import { parse } from "yaml";
import { PROFILE_NAMES, type WindowsBuild, parseProfile } from "#core/catalogue/profiles.ts";
import {
  type ComparedReport,
  type ComparedSide,
  type VerifyComparison,
  compareVerifications,
  isVerification,
  readVerification,
} from "#cluster/verify/compare.ts";
import type { ObserveProgress } from "#cluster/verify/observe.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { type ClusterTarget, connectCluster, connectInputs } from "./cluster/cluster-target.ts";
import { readClusterInputs } from "./cluster/read-cluster-inputs.ts";
import { Failure } from "./failure.ts";
import { usage } from "./options.ts";
import type { Terminal } from "./terminal.ts";

/** A build of Windows as the user wrote it. */
export interface NamedBuild {
  readonly label: string;
  readonly build: WindowsBuild;
}

/** What is compared with what. */
export interface ComparisonRequest {
  /** The builds of all Windows nodes, one run each; none: each node has its own. */
  readonly profiles: readonly NamedBuild[];
  /** Files of an earlier state, or its report; none: nothing earlier. */
  readonly before: readonly string[];
  readonly failsOnChange: boolean;
}

export interface ComparisonOptions {
  readonly profile?: readonly NamedBuild[];
  readonly before?: readonly string[];
  readonly failOnChange?: boolean;
}

function parseProfiles(text: string): readonly NamedBuild[] {
  const builds = new Map<string, WindowsBuild>();
  for (const word of text.split(",").map((each) => each.trim())) {
    const build = parseProfile(word);
    if (build === undefined)
      throw usage(
        `${JSON.stringify(word)} is not a build of Windows`,
        `Write some of ${PROFILE_NAMES.join(",")}, with a revision if it matters (ws2022.2582).`,
      );
    if (builds.has(word.toLowerCase()))
      throw usage(`--profile names ${JSON.stringify(word)} twice`, "Name each build once.");
    builds.set(word.toLowerCase(), build);
  }
  return [...builds].map(([label, build]) => ({ label, build }));
}

function collect(path: string, previous: readonly string[] | undefined): readonly string[] {
  if (path === "") throw new InvalidArgumentError("it names no file");
  return [...(previous ?? []), path];
}

export function addComparisonOptions(command: Command): Command {
  return command
    .option(
      "--profile <builds>",
      "run all Windows nodes on this build; with several, as in ws2019,ws2022, compare them",
      parseProfiles,
    )
    .option(
      "--before <file>",
      "compare with an earlier report (-o json, -o yaml) or with an earlier input; may be repeated",
      collect,
    )
    .option("--fail-on-change", "with several builds or --before: end with 1 when an outcome changes");
}

/** What the options ask for. @throws Failure for options that do not go together. */
export function comparisonRequest(
  { profile: profiles = [], before = [], failOnChange = false }: ComparisonOptions,
  { files }: ClusterTarget,
  output: string,
): ComparisonRequest {
  const isComparing = before.length > 0 || profiles.length > 1;
  if (profiles.length > 0 && files.length === 0)
    throw usage(
      "--profile builds the cluster anew, and a running one has its builds",
      "Name the input with -f.",
    );
  if (before.length > 0 && profiles.length > 1)
    throw usage(
      "--before and several builds would be two comparisons",
      "Name one build, or leave out --before.",
    );
  if (failOnChange && !isComparing)
    throw usage(
      "--fail-on-change needs something to compare with",
      "Add --before FILE, or --profile ws2019,ws2022.",
    );
  if (isComparing && output === "junit")
    throw usage("a comparison has no form for JUnit", "Choose -o table, -o json or -o yaml.");
  return { profiles, before, failsOnChange: failOnChange };
}

/** Runs the verification of a target, on one build if one is named. */
export async function verifyTarget(
  target: ClusterTarget,
  terminal: Terminal,
  progress: ObserveProgress,
  profile?: NamedBuild,
): Promise<VerifyReport> {
  if (target.files.length === 0)
    return (await connectCluster(target, terminal, progress, "in the answer")).verify();
  const inputs = await readClusterInputs(target.files, target.isRecursive, terminal);
  return (await connectInputs(inputs, terminal, progress, "in the answer", profile?.build)).verify();
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
    `${JSON.stringify(file)} is not a report of mullion verify: ${report.field} is not as the schema has it`,
    "Write one with mullion verify -f FILE -o json; its schema is schemas/verify.v1alpha1.json.",
  );
}

/** The earlier state: a report as it was written, or an input that is verified now. */
async function earlier(
  before: readonly string[],
  isRecursive: boolean,
  terminal: Terminal,
  progress: ObserveProgress,
): Promise<ComparedReport> {
  const inputs = await readClusterInputs(before, isRecursive, terminal);
  const [first, ...others] = inputs;
  const parsed = first === undefined || others.length > 0 ? undefined : parseReport(first.text);
  if (first !== undefined && isVerification(parsed)) return reportIn(parsed, first.name);
  return (await connectInputs(inputs, terminal, progress, "in the answer")).verify();
}

/** The sides of the comparison that is asked for, in the order of their columns; undefined when none is. */
async function sidesOf(
  request: ComparisonRequest,
  target: ClusterTarget,
  terminal: Terminal,
  progress: ObserveProgress,
): Promise<readonly ComparedSide[]> {
  const { profiles, before } = request;
  if (before.length > 0) {
    const [profile] = profiles;
    return [
      { label: "before", report: await earlier(before, target.isRecursive, terminal, progress) },
      { label: "now", report: await verifyTarget(target, terminal, progress, profile) },
    ];
  }
  const inputs = await readClusterInputs(target.files, target.isRecursive, terminal);
  const sides: ComparedSide[] = [];
  for (const { label, build } of profiles) {
    const client = await connectInputs(inputs, terminal, progress, "in the answer", build);
    sides.push({ label, report: await client.verify() });
  }
  return sides;
}

/** The comparison; undefined when the request asks for none. `judged`: the reports whose findings count. */
export async function compareAsAsked(
  request: ComparisonRequest,
  target: ClusterTarget,
  terminal: Terminal,
  progress: ObserveProgress,
): Promise<
  { readonly comparison: VerifyComparison; readonly judged: readonly ComparedReport[] } | undefined
> {
  if (request.before.length === 0 && request.profiles.length < 2) return undefined;
  const sides = await sidesOf(request, target, terminal, progress);
  const judged = request.before.length > 0 ? sides.slice(-1) : sides;
  return {
    comparison: compareVerifications(sides),
    judged: judged.map(({ report }) => report),
  };
}
