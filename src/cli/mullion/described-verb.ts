/** Verbs as data/facts/verbs.yaml describes them: their help, their arguments and options. The file says what its fields are. */
import { verbs } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { fillHoles } from "#core/base/words.ts";
import { Argument, type Command, Option } from "commander";
import { DOCUMENTED_YEARS } from "#core/catalogue/edition.ts";
import { collect, editionOf, parseShard } from "./options.ts";
import { nameOf } from "./usage-faults.ts";

/** What a value may be: one of some words, or what a reader makes of it and of the value that was given before. */
type Values = readonly string[] | ((text: string, previous: never) => unknown);

/** What code adds to the description of a verb. */
export interface VerbCode {
  /** Values of options and arguments by their names: `--port`, `shell`; others are texts. */
  readonly values?: Readonly<Record<string, Values>>;
  /** What comes into the holes of texts. */
  readonly holes?: Readonly<Record<string, string>>;
}

/** Values of options that verbs share. */
const SHARED_VALUES = { "--as-documented": editionOf, "--shard": parseShard } as const;

/** Adds what the file says of a verb and its code of one command. */
class Description {
  private readonly table = CheckedFields.ofTable(verbs());
  private readonly command: Command;
  private readonly values: ReadonlyMap<string, Values>;
  private readonly holes: Readonly<Record<string, string>>;

  constructor(command: Command, { values = {}, holes = {} }: VerbCode) {
    this.command = command;
    this.values = new Map(Object.entries({ ...SHARED_VALUES, ...values }));
    this.holes = {
      editions: DOCUMENTED_YEARS.join(", "),
      exitCodes: this.table.text("exitCodes"),
      ...holes,
    };
  }

  add(): void {
    const row = this.table.within("verbs").within(nameOf(this.command));
    this.command
      .summary(this.textOf(row, "summary"))
      .description(this.textOf(row, "description"))
      .aliases(row.texts("aliases"))
      .addHelpText("after", `\n${this.textOf(row, "help")}`);
    const usage = row.optionalText("usage");
    if (usage !== undefined) this.command.usage(usage);
    if (row.has("arguments")) this.addArguments(row.within("arguments"));
    this.addOptions(row, "options");
    row.end();
  }

  private textOf(row: CheckedFields, field: string): string {
    return fillHoles(row.optionalText(field) ?? "", this.holes);
  }

  /** What stands below a name: a text alone is the help. */
  private detailsOf(row: CheckedFields, name: string): CheckedFields {
    const help = row.take(name);
    return typeof help === "string" ? new CheckedFields({ help }, () => name) : row.within(name);
  }

  private addArguments(row: CheckedFields): void {
    for (const name of row.names()) {
      const details = this.detailsOf(row, name);
      const argument = new Argument(name, this.textOf(details, "help")).default(details.take("initial"));
      details.end();
      this.take(argument.name(), argument);
      this.command.addArgument(argument);
    }
  }

  private addOptions(row: CheckedFields, field: string): void {
    for (const [index, each] of row.list(field).entries())
      if (typeof each === "string") this.addOptions(this.table.within("shared"), each);
      else for (const name of row.item(field, index).names()) this.addOption(row.item(field, index), name);
  }

  /** An option, or a heading with the options below it. */
  private addOption(row: CheckedFields, name: string): void {
    if (name.endsWith(":")) {
      this.command.optionsGroup(name);
      this.addOptions(row, name);
      return;
    }
    const details = this.detailsOf(row, name);
    const option = new Option(name, this.textOf(details, "help"))
      .default(details.take("initial"))
      .hideHelp(details.isSet("isHidden"))
      .makeOptionMandatory(details.isSet("isNeeded"));
    if (details.isSet("repeats")) option.argParser(collect);
    details.end();
    this.take(option.long ?? name, option);
    this.command.addOption(option);
  }

  private take(name: string, taker: Argument | Option): void {
    const values = this.values.get(name);
    if (typeof values === "function") taker.argParser(values as (text: string, previous: unknown) => unknown);
    else if (values !== undefined) taker.choices(values);
  }
}

/** Gives a command what the file says of it. @throws Error where the file is wrong. */
export function describeVerb(command: Command, code: VerbCode = {}): Command {
  new Description(command, code).add();
  return command;
}

/** A verb below a program or a group of verbs, as the file describes it. @throws Error where the file is wrong. */
export function addVerb(parent: Command, name: string, code: VerbCode = {}): Command {
  return describeVerb(parent.command(name), code);
}
