/** Options that several verbs share: what they hold, and what it means. */
import { type Edition, parseEdition } from "#core/catalogue/edition.ts";
import type { ShardNumber } from "#cluster/verify/report.ts";
import type { ClusterTarget, InputPaths, RunningName } from "./cluster/cluster-target.ts";
import { parseIp } from "#core/net/ip.ts";
import { Failure } from "./failure.ts";
import { SERVER_INPUT } from "./read-inputs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

/** Runs a verb and keeps its exit code; `wine` has that of the program which it runs. */
export type Run = (verb: () => Promise<number>) => Promise<void>;

export function usage(message: string, advice: string): Failure {
  return new Failure("bad-usage", message, advice);
}

/** An option that may be given more than once. */
export function collect(text: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), text];
}

/** The reader of a flag that takes from 1 to `max`. It fails with `advice`, which says how to write one. */
export function countFor(
  flag: string,
  { max, advice = "Write digits alone." }: { readonly max: number; readonly advice?: string },
): (text: string) => number {
  return (text) => {
    const count = /^\d{1,10}$/.test(text) ? Number(text) : 0;
    if (count >= 1 && count <= max) return count;
    throw usage(`${flag} takes a number from 1 to ${max}, not ${JSON.stringify(text)}`, advice);
  };
}

/** What `--as-documented` names. @throws Failure for no edition. */
export function editionOf(text: string): Edition {
  const edition = parseEdition(text);
  if (typeof edition === "string") return edition;
  throw usage(`--as-documented: ${edition.problem}`, edition.advice);
}

export interface EditionOptions {
  readonly asDocumented?: Edition;
}

/** The edition that the options name. @throws Failure without an input that a cluster is built from. */
export function editionAsked({ asDocumented }: EditionOptions, { files }: InputPaths): Edition | undefined {
  if (asDocumented !== undefined && files.length === 0)
    throw usage(WORDS.asDocumentedNeedsFile, WORDS.adviceAsDocumentedNeedsFile);
  return asDocumented;
}

function badShard(text: string, why: string): Failure {
  return usage(`--shard: ${why}`, WORDS.adviceShardSyntax({ text: JSON.stringify(text) }));
}

/** Of an Indexed Job: which pod this is, counted from 0. */
const JOB_INDEX = "JOB_COMPLETION_INDEX";

function shardOfJob(text: string): number {
  const index = process.env[JOB_INDEX];
  if (index === undefined) throw badShard(text, WORDS.shardAutoWithoutJobIndex({ jobIndex: JOB_INDEX }));
  if (!/^\d{1,6}$/.test(index))
    throw badShard(text, `${JOB_INDEX} is ${JSON.stringify(index)}, and not a number from 0`);
  return Number(index) + 1;
}

/** `2/4`, or `auto/4` in a pod of an Indexed Job. @throws Failure for what is no shard. */
export function parseShard(text: string): ShardNumber {
  const [, which = "", of = ""] = /^(auto|\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  if (which === "") throw badShard(text, "this is not the number of a shard");
  const count = Number(of);
  const index = which === "auto" ? shardOfJob(text) : Number(which);
  if (count === 0) throw badShard(text, "there are no 0 shards");
  if (index === 0) throw badShard(text, "shards are counted from 1");
  if (index <= count) return { index, count };
  const why = which === "auto" ? ` (${JOB_INDEX} is ${index - 1}, counted from 0)` : "";
  throw badShard(text, `there is no shard ${index} of ${count}${why}`);
}

export interface FileOptions {
  readonly file?: readonly string[];
  readonly recursive?: boolean;
}

export interface NameOptions {
  readonly name?: string;
  readonly socket?: string;
}

export interface TargetOptions extends FileOptions, NameOptions {
  readonly kubeconfig?: string;
}

export function runningName({ name, socket }: NameOptions): RunningName {
  if (name !== undefined && socket !== undefined)
    throw usage("--name and --socket both say which cluster is meant", "Leave one of them out.");
  return { name, socket };
}

export function inputPaths({ file = [], recursive = false }: FileOptions): InputPaths {
  if (recursive && file.length === 0) throw usage("-R needs -f", "Name a folder with -f.");
  return { files: file, isRecursive: recursive };
}

export function clusterTarget(options: TargetOptions): ClusterTarget {
  const running = runningName(options);
  const { kubeconfig } = options;
  const server = kubeconfig === undefined ? [] : [`${SERVER_INPUT}${kubeconfig}`];
  const { files, isRecursive } = inputPaths(options);
  const inputs = { files: [...files, ...server], isRecursive };
  if (inputs.files.length > 0 && (running.name !== undefined || running.socket !== undefined)) {
    throw usage(WORDS.fileConflictsWithRunning, WORDS.adviceFileOrRunning);
  }
  return { ...running, ...inputs };
}

/** Where a server of Mullion listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0: the system chooses. */
  readonly port: number;
}

const PORT_MAX = 65_535;

/** `127.0.0.1:6443`, `localhost:0`, `[::1]:6443`. @throws Failure. */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const [, ipv6, name = "", digits = ""] = match ?? [];
  const host = ipv6 ?? (name === "localhost" ? "127.0.0.1" : name);
  const port = Number(digits);
  const isAny = host === "0.0.0.0" || host === "::";
  if (match !== null && parseIp(host) !== undefined && port <= PORT_MAX && !isAny) return { host, port };
  throw usage(`--listen ${JSON.stringify(text)} is not an address with a port`, WORDS.adviceListenAddress);
}
