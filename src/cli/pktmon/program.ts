/**
 * The command line of `pktmon`, as far as it counts: `pktmon counters` with the options of Windows' tool (dataplane.md
 * §7.12). Packets themselves are written by `mullion trace --pcap`. What is Mullion's own is spelled `--mullion-…`.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { describeKnownError } from "#cluster/api/error-details.ts";
import { type ClusterTarget, connectCluster } from "../mullion/cluster/cluster-target.ts";
import type { Connect } from "../vfpctrl/program.ts";
import { SilentFailure } from "../mullion/failure.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { startTool } from "../programs/start-tool.ts";
import { COUNTER_TYPES, type CounterType, countersJson, formatCounters } from "./format-counters.ts";

const USAGE = `pktmon counters [--type all|flow|drop] [--zero] [--drop-reason] [--include-hidden] [--json]

  -t, --type           what to show (default: all)
  -z, --zero           components that counted nothing, too
  -r, --drop-reason    why packets were dropped
  -i, --include-hidden taken, and changes nothing: no component is hidden
  --json               as JSON

Options of Mullion:
  --mullion-file FILE     a cluster file to look into; may be repeated (default: the running cluster)
  --mullion-name NAME     which running cluster (default: MULLION_NAME, or default)
  --mullion-socket PATH   the running cluster that listens there
  --mullion-node NODE     one node (default: all Windows nodes)
`;

class UsageError extends Error {}

interface Words {
  readonly isHelp: boolean;
  readonly type: CounterType;
  readonly withZero: boolean;
  readonly withReasons: boolean;
  readonly isJson: boolean;
  readonly node: string | undefined;
  readonly target: ClusterTarget;
}

const FLAGS: Readonly<Record<string, "zero" | "reasons" | "json" | "hidden" | "help">> = {
  "--zero": "zero",
  "-z": "zero",
  "--drop-reason": "reasons",
  "-r": "reasons",
  "--include-hidden": "hidden",
  "-i": "hidden",
  "--json": "json",
  "--help": "help",
  "-h": "help",
  "/?": "help",
};

const VALUED: Readonly<Record<string, "type" | "file" | "name" | "socket" | "node">> = {
  "--type": "type",
  "-t": "type",
  "--mullion-file": "file",
  "--mullion-name": "name",
  "--mullion-socket": "socket",
  "--mullion-node": "node",
};

function parseWords(argv: readonly string[]): Words {
  const [command, ...rest] = argv;
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  const words = command === undefined || FLAGS[command] === "help" ? ["--help"] : rest;
  if (command !== undefined && FLAGS[command] !== "help" && command !== "counters")
    throw new UsageError(
      ["start", "stop", "etl2txt", "etl2pcap"].includes(command)
        ? `pktmon ${command} is not served: write packets with mullion trace --pcap FILE`
        : `there is no command ${command}`,
    );
  while (words.length > 0) {
    const word = words.shift() ?? "";
    const flag = FLAGS[word];
    const name = VALUED[word];
    if (word === "--live")
      throw new UsageError("--live needs packets that continue; a simulated cluster has none");
    if (flag !== undefined) flags.add(flag);
    else if (name === undefined) throw new UsageError(`there is no option ${word}`);
    else addToList(values, name, words.shift() ?? missing(word));
  }
  const type = values.get("type")?.at(-1) ?? "all";
  if (!isCounterType(type)) throw new UsageError(`--type is ${COUNTER_TYPES.join(", ")}, not ${type}`);
  return {
    isHelp: flags.has("help"),
    type,
    withZero: flags.has("zero"),
    withReasons: flags.has("reasons"),
    isJson: flags.has("json"),
    node: values.get("node")?.at(-1),
    target: {
      files: values.get("file") ?? [],
      isRecursive: false,
      name: values.get("name")?.at(-1),
      socket: values.get("socket")?.at(-1),
    },
  };
}

function missing(word: string): never {
  throw new UsageError(`${word} needs a value`);
}

function isCounterType(text: string): text is CounterType {
  return (COUNTER_TYPES as readonly string[]).includes(text);
}

/** Runs one command line and returns the exit code. Faults are told on standard error. */
export async function runPktmon(
  argv: readonly string[],
  terminal: Terminal,
  connect: Connect = connectCluster,
): Promise<number> {
  try {
    const words = parseWords(argv);
    if (words.isHelp) {
      terminal.stdout(USAGE);
      return 0;
    }
    const client = await connect(words.target, terminal);
    const { items } = await client.packetCounters(words.node);
    if (words.isJson) terminal.stdout(`${JSON.stringify(countersJson(items, words), undefined, 2)}\n`);
    else terminal.stdout(formatCounters(items, words));
    return 0;
  } catch (error) {
    if (error instanceof SilentFailure) return 1;
    if (error instanceof UsageError) {
      terminal.stderr(`pktmon: ${error.message}\n\n${USAGE}`);
      return 1;
    }
    const known = describeKnownError(error);
    if (known === undefined) throw error;
    terminal.stderr(`pktmon: ${known.message}\n    ${known.advice}\n`);
    return 1;
  }
}

/** The executable `pktmon`. */
export function startPktmon(): Promise<void> {
  return startTool(runPktmon);
}
