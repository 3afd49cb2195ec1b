/** The cluster that `-f` names. */
import { errorCode } from "#core/base/thrown.ts";
import type { ClusterFile } from "#cluster/file/cluster-file.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { formatProblem } from "#core/catalogue/file-problem.ts";
import { Failure, SilentFailure, describeSystemError } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Problems shown at once; more scroll the first ones away. */
const SHOWN_MAX = 20;

/**
 * Reads and parses a cluster file; `-` stands for standard input.
 * @throws Failure when it cannot be read; SilentFailure, after printing them, when it has problems.
 */
export async function readCluster(path: string, terminal: Terminal): Promise<ClusterFile> {
  let text: string;
  try {
    text = await terminal.readFile(path);
  } catch (error) {
    const isTooLarge = errorCode(error) === "EFBIG";
    throw new Failure(
      isTooLarge ? "cluster-file-too-large" : "cluster-file-unreadable",
      `cannot read the cluster file ${JSON.stringify(path)}: ${describeSystemError(error)}`,
      WORDS.adviceClusterFilePath,
    );
  }
  const result = parseClusterFile(text, path === "-" ? "standard input" : path);
  if ("cluster" in result) return result.cluster;
  const { problems } = result;
  for (const problem of problems.slice(0, SHOWN_MAX)) terminal.stderr(formatProblem(problem));
  const hidden = problems.length - SHOWN_MAX;
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  const more = hidden > 0 ? `, ${hidden} of them not shown` : "";
  terminal.stderr(`\n${count} in the cluster file${more}. Nothing was started.\n`);
  throw new SilentFailure(2);
}
