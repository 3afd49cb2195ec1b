/**
 * Completion scripts of four shells. Each walks the words before the cursor to the verb that they lead to, as commander
 * does, and offers what may follow there; without anything to offer it leaves the word to the shell: files.
 */
import { quotePosix } from "#core/base/shell-quoting.ts";
import { completion } from "#data/words.js";

const WORDS = completion();

export interface CompletionOption {
  /** `-o` and `--output`. */
  readonly names: readonly string[];
  /** The next word is its value. */
  readonly takesValue: boolean;
  /** All values that there are; empty: any. */
  readonly values: readonly string[];
  readonly description: string;
}

/** A verb, a group of verbs, or the program itself. */
export interface CompletionPlace {
  /** `/hns/fault`; empty for the program. */
  readonly path: string;
  readonly words: readonly CompletionWord[];
  readonly options: readonly CompletionOption[];
}

/** A verb, or one of the values that an argument may have. */
export interface CompletionWord {
  readonly name: string;
  readonly description: string;
  /** Leads to a place of its own. */
  readonly isVerb: boolean;
}

type Script = (places: readonly CompletionPlace[]) => string;

function verbPaths(places: readonly CompletionPlace[]): readonly string[] {
  return places.map(({ path }) => path).filter((path) => path !== "");
}

/** `/trace:-o`: options that take a value, each name with what it may be. */
function valueRows(places: readonly CompletionPlace[]): readonly (readonly [string, CompletionOption])[] {
  return places.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap((option) => option.names.map((name) => [`${path}:${name}`, option] as const)),
  );
}

/** Branches of a `case`, which bash and zsh write alike. */
function branches(rows: readonly (readonly [string, string])[]): readonly string[] {
  return rows.map(([key, then]) => `    ${quotePosix(key)}) ${then} ;;`);
}

/** What bash and zsh share: whether a word leads further, and whether an option takes a value. */
function walkFunctions(places: readonly CompletionPlace[]): readonly string[] {
  const test = (name: string, keys: readonly string[]): readonly string[] => [
    `${name}() {`,
    '  case "$1" in',
    ...branches(keys.map((key) => [key, "return 0"] as const)),
    "  esac",
    "  return 1",
    "}",
  ];
  const takers = valueRows(places).map(([key]) => key);
  return [...test("_mullion_is_verb", verbPaths(places)), ...test("_mullion_takes_value", takers)];
}

/** A function of a place, or of an option at a place: what `make` says of the words that there are. */
function listFunction(
  name: string,
  rows: readonly (readonly [string, readonly string[]])[],
  make: (words: string) => string,
): readonly string[] {
  const filled = rows.filter(([, words]) => words.length > 0);
  return [
    `${name}() {`,
    '  case "$1" in',
    ...branches(filled.map(([key, words]) => [key, make(words.join(" "))] as const)),
    "  esac",
    "}",
  ];
}

/** Works in bash 3.2, which macOS has: no associative arrays, no mapfile. */
function bash(places: readonly CompletionPlace[]): string {
  const print = (words: string): string => `echo ${quotePosix(words)}`;
  const words = places.map((place) => [place.path, place.words.map(({ name }) => name)] as const);
  const options = places.map((place) => [place.path, place.options.flatMap(({ names }) => names)] as const);
  const values = valueRows(places).map(([key, option]) => [key, option.values] as const);
  const lines = [
    "# Completion of mullion for bash. Printed by: mullion completion bash",
    ...walkFunctions(places),
    ...listFunction("_mullion_words", words, print),
    ...listFunction("_mullion_options", options, print),
    ...listFunction("_mullion_values", values, print),
    WORDS.bash,
  ];
  return `${lines.join("\n")}\n`;
}

/** `name:description`, with the colons of the name escaped, as \`_describe\` reads it. */
function zshItem(name: string, description: string): string {
  return quotePosix(`${name.replaceAll(":", "\\:")}:${description}`);
}

function zsh(places: readonly CompletionPlace[]): string {
  const offer = (items: string): string => `offered=(${items})`;
  const words = places.map(
    (place) => [place.path, place.words.map(({ name, description }) => zshItem(name, description))] as const,
  );
  const optionItems = ({ names, description }: CompletionOption): readonly string[] =>
    names.map((name) => zshItem(name, description));
  const options = places.map((place) => [place.path, place.options.flatMap(optionItems)] as const);
  const values = valueRows(places).map(
    ([key, option]) => [key, option.values.map((value) => zshItem(value, ""))] as const,
  );
  const lines = [
    "#compdef mullion",
    "# Completion of mullion for zsh. Printed by: mullion completion zsh",
    ...walkFunctions(places),
    ...listFunction("_mullion_words", words, offer),
    ...listFunction("_mullion_options", options, offer),
    ...listFunction("_mullion_values", values, offer),
    WORDS.zsh,
  ];
  return `${lines.join("\n")}\n`;
}

/** Within quotation marks fish knows two escapes. */
function fishQuote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function fishOption({ names, takesValue, values, description }: CompletionOption): string {
  const spelled = names.map((name) =>
    name.startsWith("--") ? `-l ${fishQuote(name.slice(2))}` : `-s ${fishQuote(name.slice(1))}`,
  );
  const value = values.length > 0 ? [`-x -a ${fishQuote(values.join(" "))}`] : takesValue ? ["-r", "-F"] : [];
  return [...spelled, ...value, `-d ${fishQuote(description)}`].join(" ");
}

function fish(places: readonly CompletionPlace[]): string {
  const list = (words: readonly string[]): string => words.map((word) => fishQuote(word)).join(" ");
  const lines = [
    "# Completion of mullion for fish. Printed by: mullion completion fish",
    `set -g __mullion_verbs ${list(verbPaths(places))}`,
    `set -g __mullion_takes_value ${list(valueRows(places).map(([key]) => key))}`,
    WORDS.fish,
    "complete -c mullion -e",
    ...places.flatMap(({ path, words, options }) => {
      const begin = `complete -c mullion -n ${fishQuote(`__mullion_at '${path}'`)}`;
      return [
        ...words.map(
          ({ name, description }) => `${begin} -f -a ${fishQuote(name)} -d ${fishQuote(description)}`,
        ),
        ...options.map((option) => `${begin} ${fishOption(option)}`),
      ];
    }),
  ];
  return `${lines.join("\n")}\n`;
}

function csvRow(...cells: readonly string[]): string {
  return cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",");
}

/** Works in Windows PowerShell 5.1, too. Names of options differ by case (-r, -R): no hash table, and -ceq. */
function powershell(places: readonly CompletionPlace[]): string {
  const rows = places.flatMap(({ path, words, options }) => [
    ...words.map(({ name, isVerb, description }) =>
      csvRow(path, isVerb ? "verb" : "word", name, "", description),
    ),
    ...options.flatMap(({ names, takesValue, values, description }) =>
      names.map((name) => csvRow(path, takesValue ? "value" : "flag", name, values.join(" "), description)),
    ),
  ]);
  const lines = [
    "# Completion of mullion for PowerShell. Printed by: mullion completion powershell",
    "Register-ArgumentCompleter -Native -CommandName mullion, mullion.cmd, mullion.ps1 -ScriptBlock {",
    "  param($wordToComplete, $commandAst, $cursorPosition)",
    "  $rows = @'",
    "place,kind,name,values,description",
    ...rows,
    "'@ | ConvertFrom-Csv",
    WORDS.powershell,
  ];
  return `${lines.join("\n")}\n`;
}

export type CompletionShell = "bash" | "zsh" | "fish" | "powershell";

/** Each shell's script for the places given. */
export const COMPLETION_SCRIPTS: Readonly<Record<CompletionShell, Script>> = { bash, zsh, fish, powershell };
