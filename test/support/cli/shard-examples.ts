/** The command lines of examples/verify-shards, as their files have them, for a shell or for this process. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

interface Container {
  readonly command: readonly string[];
  readonly args: readonly string[];
}

interface Job {
  readonly spec: {
    readonly completions?: number;
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

interface Workflow {
  readonly jobs: Readonly<
    Record<
      "verify" | "merge",
      {
        readonly strategy?: { readonly matrix: { readonly shard: readonly number[] } };
        readonly steps: readonly { readonly run?: string }[];
      }
    >
  >;
}

/** What a shell is given, once for each shard, and at the end. */
export interface ShardScripts {
  readonly shards: readonly { readonly env: Readonly<Record<string, string>>; readonly script: string }[];
  readonly merge: string;
}

function scriptOf({ spec }: Job): string {
  const [container] = spec.template.spec.containers;
  const [shell, flag] = container?.command ?? [];
  const [script] = container?.args ?? [];
  if (shell !== "sh" || flag !== "-c" || script === undefined) throw new Error("the Job runs a shell");
  return script;
}

/** The Job of the shards, and the one that merges. */
export const JOB_FILES = [
  "examples/verify-shards/job.yaml",
  "examples/verify-shards/merge-job.yaml",
] as const;

/** Of both Jobs: the environment is what the Job's controller sets, counted from 0. */
export function jobScripts(): ShardScripts {
  const [verify, merge] = JOB_FILES.map((file) => parse(readFileSync(file, "utf8")) as Job);
  if (verify === undefined || merge === undefined) throw new Error("there are two Jobs");
  const indexes = Array.from({ length: verify.spec.completions ?? 0 }, (_, index) => String(index));
  return {
    shards: indexes.map((index) => ({
      env: { JOB_COMPLETION_INDEX: index },
      script: scriptOf(verify),
    })),
    merge: scriptOf(merge),
  };
}

/** Of github-actions.yaml, with the numbers of the matrix put in as GitHub does. */
export function workflowScripts(): ShardScripts {
  const { jobs } = parse(readFileSync("examples/verify-shards/github-actions.yaml", "utf8")) as Workflow;
  const runOf = (job: Workflow["jobs"]["verify"]): string =>
    job.steps.flatMap(({ run }) => (run?.includes("mullion") === true ? [run] : [])).join("\n");
  return {
    shards: (jobs.verify.strategy?.matrix.shard ?? []).map((shard) => ({
      env: {},
      script: runOf(jobs.verify).replaceAll("${{ matrix.shard }}", String(shard)),
    })),
    merge: runOf(jobs.merge),
  };
}

/** The words of mullion in a script, and the file that its output goes to. */
export function wordsOf(
  script: string,
  env: Readonly<Record<string, string>>,
): { readonly argv: readonly string[]; readonly output: string | undefined } {
  const [, line = ""] = /(?:^|\s)mullion (.*)$/.exec(script) ?? [];
  const [words = "", output] = line.split(" > ");
  return {
    argv: words.split(" "),
    output: output?.replace("$JOB_COMPLETION_INDEX", env["JOB_COMPLETION_INDEX"] ?? ""),
  };
}
