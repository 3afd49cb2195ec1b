/**
 * The command line of `vfpctrl`, as Windows' tool of that name has it: `/name value` in any order, output with CR LF. What
 * is Mullion's own is spelled `--mullion-…`.
 */
import type { ControlClient } from "#cluster/api/client.ts";
import { describeKnownError } from "#cluster/api/error-details.ts";
import { CommandError, PORT_COMMANDS, inLbDsrForm } from "#cluster/exec/windows/vfpctrl/answers.ts";
import {
  SWITCH_COMMANDS,
  portAnswer,
  readVfpctrlLine,
  switchAnswer,
} from "#cluster/exec/windows/vfpctrl/command-line.ts";
import type { LbDsrForm } from "#dataplane/vfp/listing/lb-dsr-id.ts";
import { type ClusterTarget, connectCluster } from "../mullion/cluster/cluster-target.ts";
import { SilentFailure } from "../mullion/failure.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { startTool } from "../mullion/process-terminal.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Finds the cluster that is meant. */
export type Connect = (target: ClusterTarget, terminal: Terminal) => Promise<ControlClient>;

const USAGE = `${WORDS.vfpctrlUsage({
  commands: Object.keys(PORT_COMMANDS)
    .map((name) => `    /${name}\n`)
    .join(""),
})}\n`;

/** Options that the tool of Windows does not have: `--mullion-node`. */
const OWN: readonly string[] = ["file", "name", "socket", "node", "lb-dsr"];

function readForm(text: string | undefined): LbDsrForm {
  if (text === undefined || text === "tag-first") return "tag-first";
  if (text === "tag-last") return "tag-last";
  throw new CommandError(`--mullion-lb-dsr is tag-first or tag-last, not ${JSON.stringify(text)}`);
}

/** vfpctrl ends its lines as Windows does. */
function print(lines: readonly string[], terminal: Terminal): void {
  terminal.stdout(lines.map((line) => `${line}\r\n`).join(""));
}

async function perform(argv: readonly string[], terminal: Terminal, connect: Connect): Promise<void> {
  const words = readVfpctrlLine(argv, OWN);
  const { verb, port, isJson, own } = words;
  const [node, form] = ["node", "lb-dsr"].map((name) => own.get(name)?.at(-1));
  const lbDsr = readForm(form);
  if (verb === undefined || words.isHelp) {
    terminal.stdout(USAGE);
    return;
  }
  const target: ClusterTarget = {
    files: own.get("file") ?? [],
    isRecursive: false,
    name: own.get("name")?.at(-1),
    socket: own.get("socket")?.at(-1),
  };
  const client = await connect(target, terminal);
  if (port === undefined || SWITCH_COMMANDS.includes(verb)) {
    const { items } = await client.vfpPorts(node);
    print(switchAnswer(verb, isJson, items), terminal);
    return;
  }
  const listing = inLbDsrForm(await client.vfpPort(port, node), lbDsr);
  print(portAnswer(verb, words, listing), terminal);
}

/**
 * Runs one command line and returns the exit code. What cannot be done is a line `ERROR: …` on standard output, where
 * scripts look for it (dataplane.md §7.1); the exit code of a failure is not known, so it is 1.
 */
export async function runVfpctrl(
  argv: readonly string[],
  terminal: Terminal,
  connect: Connect = connectCluster,
): Promise<number> {
  try {
    await perform(argv, terminal, connect);
    return 0;
  } catch (error) {
    if (error instanceof SilentFailure) return 1;
    if (error instanceof CommandError) {
      print([`ERROR: ${error.message}`], terminal);
      terminal.stderr("See: vfpctrl /?\n");
      return 1;
    }
    const known = describeKnownError(error);
    if (known === undefined) throw error;
    print([`ERROR: ${known.message}`], terminal);
    terminal.stderr(`    ${known.advice}\n`);
    return 1;
  }
}

/** The executable `vfpctrl`. */
export function startVfpctrl(): Promise<void> {
  return startTool(runVfpctrl);
}
