/**
 * The command line of `hnsdiag`: `list` and `delete`, as Windows' tool of that name has them. What is Mullion's own is
 * spelled `--mullion-…`.
 */
import { textOf } from "#core/base/json.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HNSDIAG_KINDS, type ListedKind, formatDetails, formatTables } from "#hns/dump/hnsdiag-tables.ts";
import { fromDump } from "#hns/dump/as-given.ts";
import { HcnError, formatHresult } from "#contracts/hcn/error.ts";
import { Failure, SilentFailure } from "../mullion/failure.ts";
import { type HnsConnection, type HnsServiceTarget, withHns } from "../mullion/hns/connect.ts";
import { HNS_OBJECT_KINDS, type HnsKindNames } from "../mullion/hns/hns-kinds.ts";
import { QUERY_V1, listObjects } from "../mullion/hns/list-objects.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { startTool } from "../mullion/process-terminal.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

const USAGE = `${WORDS.hnsdiagUsage}\n`;

/** In the order in which `list all` prints them. */
const KINDS: readonly HnsKindNames[] = HNS_OBJECT_KINDS.filter(({ kind }) =>
  HNSDIAG_KINDS.some((each) => each.kind === kind),
);
const PLURALS: readonly string[] = KINDS.map(({ plural }) => plural);
const VERBS: readonly string[] = ["list", "delete"];

interface Words {
  readonly plain: readonly string[];
  readonly isDetailed: boolean;
  readonly isHelp: boolean;
  readonly target: HnsServiceTarget;
}

/** Wrong words: the usage says what is right. */
class UsageError extends Error {}

function parseWords(argv: readonly string[]): Words {
  const plain: string[] = [];
  const files: string[] = [];
  let socket: string | undefined;
  let [isDetailed, isHelp] = [false, false];
  const words = [...argv];
  const valueOf = (option: string): string => {
    const value = words.shift();
    if (value === undefined) throw new UsageError(`${option} needs a value`);
    return value;
  };
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "--mullion-socket") socket = valueOf(word);
    else if (word === "--mullion-file") files.push(valueOf(word));
    else if (/^[-/](?:\?|h|-help)$/.test(word)) isHelp = true;
    else if (/^-[dfl]+$/.test(word)) isDetailed ||= word.includes("d");
    else if (word.startsWith("-")) throw new UsageError(`there is no option ${word}`);
    else plain.push(word);
  }
  return { plain, isDetailed, isHelp, target: { files, socket } };
}

/** What a person probably meant. */
function meant(word: string, names: readonly string[]): string {
  const [near] = nearestNames(word, names, 1);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

function requireKinds(word: string | undefined, withAll: boolean): readonly HnsKindNames[] {
  if (withAll && word?.toLowerCase() === "all") return KINDS;
  const found = KINDS.find(({ plural }) => plural === word?.toLowerCase());
  if (found !== undefined) return [found];
  if (word === undefined) throw new UsageError("a kind is missing");
  throw new UsageError(`there is no kind ${word}${meant(word, [...PLURALS, ...(withAll ? ["all"] : [])])}`);
}

async function list(
  { client, dumped }: HnsConnection,
  kinds: readonly HnsKindNames[],
  ids: readonly string[],
): Promise<readonly ListedKind[]> {
  const wanted = ids.map((id) => id.toLowerCase());
  const listed: ListedKind[] = [];
  for (const names of kinds) {
    const shown = await listObjects(client, names.kind, QUERY_V1);
    const all =
      dumped === undefined ? shown : fromDump(dumped, names.kind, shown, { isV1: true, isAdding: true });
    const documents = all.filter(
      (each) => ids.length === 0 || wanted.includes(textOf(each["ID"]).toLowerCase()),
    );
    listed.push({ plural: names.plural, documents });
  }
  return listed;
}

async function deleteObjects(
  client: HcnClient,
  kind: HnsKindNames,
  ids: readonly string[],
  terminal: Terminal,
): Promise<number> {
  if (ids.length === 0)
    throw new UsageError(`the IDs of ${kind.noun} are missing; hnsdiag list ${kind.plural} shows them`);
  let failures = 0;
  for (const id of ids) {
    try {
      await client.delete(kind.kind, id);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      failures++;
      terminal.stderr(
        `${kind.singular} ${id}: ${error.toRecord().Error.trim()} (${formatHresult(error.hresult)})\n`,
      );
    }
  }
  return failures === 0 ? 0 : 1;
}

async function perform(words: Words, terminal: Terminal): Promise<number> {
  const [verb, kind, ...ids] = words.plain;
  if (verb === undefined || words.isHelp) {
    terminal.stdout(USAGE);
    return 0;
  }
  if (!VERBS.includes(verb.toLowerCase()))
    throw new UsageError(`there is no command ${verb}${meant(verb, VERBS)}`);
  const kinds = requireKinds(kind, verb.toLowerCase() === "list");
  return withHns(words.target, terminal, async (connection) => {
    const [first] = kinds;
    if (verb.toLowerCase() === "delete" && first !== undefined)
      return deleteObjects(connection.client, first, ids, terminal);
    const listed = await list(connection, kinds, ids);
    terminal.stdout(words.isDetailed ? connection.asWritten(formatDetails(listed)) : formatTables(listed));
    return 0;
  });
}

/** Runs one command line and returns the exit code. Faults are told on standard error. */
export async function runHnsdiag(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await perform(parseWords(argv), terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.stderr(`hnsdiag: ${error.message}\n\n${USAGE}`);
      return 1;
    }
    if (error instanceof SilentFailure) return 1;
    if (error instanceof Failure) {
      terminal.stderr(`hnsdiag: ${error.message}\n    ${error.advice}\n`);
      return 1;
    }
    if (error instanceof HcnError) {
      terminal.stderr(`hnsdiag: ${error.message} (${formatHresult(error.hresult)})\n`);
      return 1;
    }
    throw error;
  }
}

/** The executable `hnsdiag`. */
export function startHnsdiag(): Promise<void> {
  return startTool(runHnsdiag);
}
