/** `mullion completion`: what a shell may offer, read from the program itself. */
import type { Command, Option } from "commander";
import type { Run } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import type { CompletionOption, CompletionPlace, CompletionShell, CompletionWord } from "./scripts.ts";

const SHELLS: readonly CompletionShell[] = ["bash", "zsh", "fish", "powershell"];

/** A help in one line: menus of shells have no more. */
function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function describeOption({ short, long, required, argChoices, description }: Option): CompletionOption {
  return {
    names: [short, long].filter((name) => name !== undefined),
    takesValue: required,
    values: argChoices ?? [],
    description: firstLine(description),
  };
}

/** A command and all below it, as a help shows them: hidden verbs and options are left out. */
function describePlaces(command: Command, path: string): readonly CompletionPlace[] {
  const help = command.createHelp();
  const verbs = help.visibleCommands(command);
  const words = verbs.map(
    (verb): CompletionWord => ({
      name: verb.name(),
      description: firstLine(verb.summary() || verb.description()),
      isVerb: true,
    }),
  );
  // commander's own `help` takes the names of the verbs beside it.
  const asked = verbs.find((verb) => verb.name() === "help" && !command.commands.includes(verb));
  const others = words.filter(({ name }) => name !== "help");
  const values = command.registeredArguments.flatMap(({ argChoices = [] }) =>
    argChoices.map((name): CompletionWord => ({ name, description: name, isVerb: false })),
  );
  const options = help.visibleOptions(command).map(describeOption);
  return [
    { path, words: [...words, ...values], options },
    ...command.commands
      .filter((verb) => verbs.includes(verb))
      .flatMap((verb) => describePlaces(verb, `${path}/${verb.name()}`)),
    ...(asked === undefined
      ? []
      : [
          {
            path: `${path}/help`,
            words: others.map((word) => ({ ...word, isVerb: false })),
            options: [],
          },
        ]),
  ];
}

/** Added last: the script has the verbs of the program that it is printed by. */
export function addCompletion(program: Command, run: Run, terminal: Terminal): void {
  addVerb(program, "completion", { values: { shell: SHELLS } }).action((shell: CompletionShell) =>
    run(async () => {
      const { COMPLETION_SCRIPTS } = await import("./scripts.ts");
      terminal.stdout(COMPLETION_SCRIPTS[shell](describePlaces(program, "")));
      return 0;
    }),
  );
}
