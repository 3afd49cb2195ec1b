/** What commander says of a wrong command line, as ours: what is wrong, how it is written, where the help is. */
import type { Command, CommanderError } from "commander";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { Failure } from "./failure.ts";
import { usage } from "./options.ts";

/** The command that words lead to: `hns fault` of `mullion hns fault`. */
export function commandOf(program: Command, argv: readonly string[]): Command {
  const [word, ...rest] = argv;
  const child = program.commands.find((command) => command.name() === word);
  return child === undefined ? program : commandOf(child, rest);
}

/** `mullion hns fault`. */
export function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

/** `mullion get <kind> [name...]`. */
function synopsis(command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const text = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? `<${text}>` : `[${text}]`;
  });
  return [nameOf(command), ...words].join(" ");
}

/** What follows an error of commander's code: a sentence of advice; `first` is its own sentence. */
type Advise = (command: Command, first: string) => string;

function wrongChoice(_command: Command, first: string): string {
  const [, given = ""] = /'([^']*)' is invalid/.exec(first) ?? [];
  const [, ...lists] = first.split("Allowed choices are ");
  const choices = (lists.at(-1) ?? "").split(", ");
  const [near = choices.find((choice) => given !== "" && choice.startsWith(given))] = nearestNames(
    given,
    choices,
    1,
  );
  return near === undefined ? "" : `Did you mean ${near}?`;
}

function tooMany(command: Command, first: string): string {
  const [, words = ""] = /got \d+: (.*)/.exec(first) ?? [];
  const isFileNeeded = command.options.some(({ short }) => short === "-f");
  if (command.registeredArguments.length > 0 || !isFileNeeded) return `Write: ${synopsis(command)}.`;
  return `Files are named with -f: ${nameOf(command)} -f ${words.split(", ").join(" -f ")}.`;
}

function unknownOption(command: Command, first: string): string {
  const [, name = ""] = /'([^']+)'/.exec(first) ?? [];
  if (name === "-v" && command.parent === null) return "Did you mean --version?";
  const takesPaths = command.registeredArguments.some((argument) => argument.name() === "path");
  return name === "-f" && takesPaths ? `Files stand alone: ${synopsis(command)}.` : "";
}

const ADVICE: Readonly<Record<string, Advise>> = {
  "commander.missingArgument": (command) => `Write: ${synopsis(command)}.`,
  "commander.excessArguments": tooMany,
  "commander.invalidArgument": wrongChoice,
  "commander.unknownOption": unknownOption,
};

/** commander's sentence without prefix, its suggestion or ours as advice, and the help of the verb that was meant. */
export function usageFailure(error: CommanderError, program: Command, argv: readonly string[]): Failure {
  const [first = "", ...rest] = error.message.replace(/^error: /, "").split("\n");
  const command = commandOf(program, argv);
  const sentence = first
    .replace(/^command-argument value ('.*') is invalid for argument '(.*?)'/, "value $1 is invalid for <$2>")
    .replace("unknown command", "unknown verb")
    .replace(/\.$/, "");
  const suggestion = rest.join(" ").replace(/^\(|\)$/g, "");
  const advice = suggestion === "" ? (ADVICE[error.code]?.(command, sentence) ?? "") : suggestion;
  return usage(sentence, `${advice === "" ? "" : `${advice} `}See: ${nameOf(command)} --help`);
}

/** `help WORD` of a word that is no verb; commander would show the help of the program. */
export function unknownHelp(program: Command, argv: readonly string[]): Failure | undefined {
  const [first, ...words] = argv;
  if (first !== "help" || words.length === 0) return undefined;
  const [word = ""] = words;
  const names = program.commands.map((command) => command.name());
  if (word.startsWith("-") || word === "help" || names.includes(word)) return undefined;
  const [near] = nearestNames(word, names, 1);
  return usage(
    `unknown verb '${word}'`,
    `${near === undefined ? "" : `Did you mean ${near}? `}See: mullion --help`,
  );
}
