/**
 * The command line of `vfpctrl`, as Windows' tool of that name has it: `/name value` in any order. The executable of that name and
 * `mullion exec` on a node read it here, and print what stands here.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { ListedPort } from "#dataplane/vfp/listing/listing.ts";
import type { NodePort } from "../../../views/vfp-ports.ts";
import {
  CommandError,
  PORT_COMMANDS,
  type ListingSelection,
  forwardingText,
  listPortsJson,
  listPortsText,
} from "./answers.ts";

const LIST_PORTS = "list-vmswitch-port";
const FORWARDING = "get-switch-forwarding-settings";
/** Commands about switches, which name no port. */
export const SWITCH_COMMANDS: readonly string[] = [LIST_PORTS, FORWARDING];
const SAMPLE = "sample-unified-flow";
const VERBS: readonly string[] = [...SWITCH_COMMANDS, SAMPLE, ...Object.keys(PORT_COMMANDS)];

/** Options with a value, in vfpctrl's own spelling. */
const VALUED: readonly string[] = ["port", "layer", "group", "rule", "format", "switch"];

export interface VfpctrlWords extends ListingSelection {
  readonly verb: string | undefined;
  readonly isHelp: boolean;
  readonly port: string | undefined;
  readonly isJson: boolean;
  /** Values of options that are spelled `--mullion-NAME`. */
  readonly own: ReadonlyMap<string, readonly string[]>;
}

/** Values by the names of options; those that may come several times keep them all. */
class WordReader {
  readonly values = new Map<string, string[]>();
  readonly own = new Map<string, string[]>();
  verb: string | undefined;
  isHelp = false;
  private readonly words: string[];
  private readonly ownNames: readonly string[];

  constructor(argv: readonly string[], ownNames: readonly string[]) {
    this.words = [...argv];
    this.ownNames = ownNames;
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
      if (!this.ownNames.includes(name)) throw new CommandError(`there is no option --mullion-${name}`);
      addToList(this.own, name, own[2] ?? this.next(word));
      return;
    }
    const option = /^[/-]([a-z-]+|\?)(?::(.*))?$/i.exec(word);
    if (option === null) throw new CommandError(`${JSON.stringify(word)} is not an option`);
    const name = (option[1] ?? "").toLowerCase();
    if (name === "?" || name === "h" || name === "help" || name === "-help") this.isHelp = true;
    else if (VALUED.includes(name)) addToList(this.values, name, option[2] ?? this.next(word));
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
    if (name === SAMPLE && /^\d/.test(this.words[0] ?? "")) this.words.shift();
  }

  private next(word: string): string {
    const value = this.words.shift();
    if (value === undefined) throw new CommandError(`${word} needs a value`);
    return value;
  }
}

/** @throws CommandError for a line that is not one. */
export function readVfpctrlLine(argv: readonly string[], ownNames: readonly string[] = []): VfpctrlWords {
  const reader = new WordReader(argv, ownNames);
  reader.read();
  const format = reader.get("format");
  if (format !== undefined && format !== "0" && format !== "1")
    throw new CommandError(`/format is 0 for text or 1 for JSON, not ${JSON.stringify(format)}`);
  const port = reader.get("port");
  const { verb, isHelp, own } = reader;
  if (verb !== undefined && !isHelp && !SWITCH_COMMANDS.includes(verb) && port === undefined)
    throw new CommandError("the port is missing: /port PORT");
  return {
    verb,
    isHelp,
    port,
    layer: reader.get("layer"),
    group: reader.get("group"),
    rule: reader.get("rule"),
    isJson: format === "1",
    own,
  };
}

function jsonLines(value: object): readonly string[] {
  return JSON.stringify(value, undefined, 2).split("\n");
}

/** What a command about switches prints. */
export function switchAnswer(verb: string, isJson: boolean, ports: readonly NodePort[]): readonly string[] {
  if (verb === FORWARDING) return forwardingText(ports, verb);
  return isJson ? jsonLines(listPortsJson(ports)) : listPortsText(ports, verb);
}

/** What a command about a port prints. @throws CommandError when what it names is not there. */
export function portAnswer(verb: string, words: VfpctrlWords, listing: ListedPort): readonly string[] {
  const command = PORT_COMMANDS[verb === SAMPLE ? "list-unified-flow" : verb];
  if (command === undefined) throw new CommandError(`there is no command /${verb}`);
  return words.isJson && command.json !== undefined
    ? jsonLines(command.json(listing, words))
    : command.text(listing, verb, words);
}
