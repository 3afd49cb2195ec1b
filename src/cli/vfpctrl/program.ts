/**
 * The command line of `vfpctrl`, as Windows' tool of that name has it: `/name value` in any order, output with CR LF. What
 * is Mullion's own is spelled `--mullion-…`.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { ControlClient } from "#cluster/api/client.ts";
import { describeKnownError } from "#cluster/api/error-details.ts";
import type { LbDsrForm } from "#diagnose/vfp-text/lb-dsr-id.ts";
import { type ClusterTarget, connectCluster } from "../mullion/cluster/cluster-target.ts";
import { SilentFailure } from "../mullion/failure.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { startTool } from "../programs/start-tool.ts";
import {
  CommandError,
  PORT_COMMANDS,
  forwardingText,
  type ListingSelection,
  inLbDsrForm,
  listPortsJson,
  listPortsText,
} from "./answers.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Finds the cluster that is meant. */
export type Connect = (target: ClusterTarget, terminal: Terminal) => Promise<ControlClient>;

const LIST_PORTS = "list-vmswitch-port";
const FORWARDING = "get-switch-forwarding-settings";
/** Commands about switches, which name no port. */
const SWITCH_COMMANDS: readonly string[] = [LIST_PORTS, FORWARDING];
const VERBS: readonly string[] = [...SWITCH_COMMANDS, "sample-unified-flow", ...Object.keys(PORT_COMMANDS)];

const USAGE = `${WORDS.vfpctrlUsage({
  commands: Object.keys(PORT_COMMANDS)
    .map((name) => `    /${name}\n`)
    .join(""),
})}\n`;

/** Options with a value, in vfpctrl's own spelling. */
const VALUED: readonly string[] = ["port", "layer", "group", "rule", "format", "switch"];
const OWN: readonly string[] = ["file", "name", "socket", "node", "lb-dsr"];

interface Words extends ListingSelection {
  readonly verb: string | undefined;
  readonly isHelp: boolean;
  readonly port: string | undefined;
  readonly isJson: boolean;
  readonly node: string | undefined;
  readonly form: LbDsrForm;
  readonly target: ClusterTarget;
}

/** Values by the names of options; those that may come several times keep them all. */
class WordReader {
  readonly values = new Map<string, string[]>();
  verb: string | undefined;
  isHelp = false;
  private readonly words: string[];

  constructor(argv: readonly string[]) {
    this.words = [...argv];
  }

  read(): void {
    for (let word = this.words.shift(); word !== undefined; word = this.words.shift()) this.take(word);
  }

  get(name: string): string | undefined {
    return this.values.get(name)?.at(-1);
  }

  private take(word: string): void {
    const own = /^--mullion-([a-z-]+)(?:=(.*))?$/.exec(word);
    if (own !== null) {
      const name = own[1] ?? "";
      if (!OWN.includes(name)) throw new CommandError(`there is no option --mullion-${name}`);
      this.keep(`mullion-${name}`, own[2] ?? this.next(word));
      return;
    }
    const option = /^[/-]([a-z-]+|\?)(?::(.*))?$/i.exec(word);
    if (option === null) throw new CommandError(`${JSON.stringify(word)} is not an option`);
    const name = (option[1] ?? "").toLowerCase();
    if (name === "?" || name === "h" || name === "help" || name === "-help") this.isHelp = true;
    else if (VALUED.includes(name)) this.keep(name, option[2] ?? this.next(word));
    else this.takeVerb(name);
  }

  private takeVerb(name: string): void {
    if (!VERBS.includes(name)) {
      const [near] = nearestNames(name, VERBS, 1);
      throw new CommandError(
        `there is no command /${name}${near === undefined ? "" : `; did you mean /${near}?`}`,
      );
    }
    if (this.verb !== undefined) throw new CommandError(`/${this.verb} and /${name} are two commands`);
    this.verb = name;
    // Its sizes and flags: everything is shown.
    if (name === "sample-unified-flow" && /^\d/.test(this.words[0] ?? "")) this.words.shift();
  }

  private next(word: string): string {
    const value = this.words.shift();
    if (value === undefined) throw new CommandError(`${word} needs a value`);
    return value;
  }

  private keep(name: string, value: string): void {
    addToList(this.values, name, value);
  }
}

function readForm(text: string | undefined): LbDsrForm {
  if (text === undefined || text === "tag-first") return "tag-first";
  if (text === "tag-last") return "tag-last";
  throw new CommandError(`--mullion-lb-dsr is tag-first or tag-last, not ${JSON.stringify(text)}`);
}

function parseWords(argv: readonly string[]): Words {
  const reader = new WordReader(argv);
  reader.read();
  const format = reader.get("format");
  if (format !== undefined && format !== "0" && format !== "1")
    throw new CommandError(`/format is 0 for text or 1 for JSON, not ${JSON.stringify(format)}`);
  return {
    verb: reader.verb,
    isHelp: reader.isHelp,
    port: reader.get("port"),
    layer: reader.get("layer"),
    group: reader.get("group"),
    rule: reader.get("rule"),
    isJson: format === "1",
    node: reader.get("mullion-node"),
    form: readForm(reader.get("mullion-lb-dsr")),
    target: {
      files: reader.values.get("mullion-file") ?? [],
      isRecursive: false,
      name: reader.get("mullion-name"),
      socket: reader.get("mullion-socket"),
    },
  };
}

/** vfpctrl ends its lines as Windows does. */
function print(lines: readonly string[], terminal: Terminal): void {
  terminal.stdout(lines.map((line) => `${line}\r\n`).join(""));
}

function printJson(value: object, terminal: Terminal): void {
  terminal.stdout(`${JSON.stringify(value, undefined, 2).replaceAll("\n", "\r\n")}\r\n`);
}

async function perform(words: Words, terminal: Terminal, connect: Connect): Promise<void> {
  const { verb, port, node, isJson } = words;
  if (verb === undefined || words.isHelp) {
    terminal.stdout(USAGE);
    return;
  }
  const isOfSwitches = SWITCH_COMMANDS.includes(verb);
  if (!isOfSwitches && port === undefined) throw new CommandError("the port is missing: /port PORT");
  const client = await connect(words.target, terminal);
  if (isOfSwitches || port === undefined) {
    const { items } = await client.vfpPorts(node);
    if (verb === FORWARDING) {
      print(forwardingText(items, verb), terminal);
      return;
    }
    if (isJson) printJson(listPortsJson(items), terminal);
    else print(listPortsText(items, verb), terminal);
    return;
  }
  const command = PORT_COMMANDS[verb === "sample-unified-flow" ? "list-unified-flow" : verb];
  if (command === undefined) throw new CommandError(`there is no command /${verb}`);
  const listing = inLbDsrForm(await client.vfpPort(port, node), words.form);
  if (isJson && command.json !== undefined) printJson(command.json(listing, words), terminal);
  else print(command.text(listing, verb, words), terminal);
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
    await perform(parseWords(argv), terminal, connect);
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
