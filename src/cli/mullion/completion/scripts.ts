/**
 * Completion scripts of four shells. Each walks the words before the cursor to the verb that they lead to, as commander
 * does, and offers what may follow there; without anything to offer it leaves the word to the shell: files.
 */
import { quotePosix } from "#core/base/shell-quoting.ts";

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

/** A function that prints words for a place, or for an option at a place. */
function listFunction(
  name: string,
  rows: readonly (readonly [string, readonly string[]])[],
): readonly string[] {
  const filled = rows.filter(([, words]) => words.length > 0);
  return [
    `${name}() {`,
    '  case "$1" in',
    ...branches(filled.map(([key, words]) => [key, `echo ${quotePosix(words.join(" "))}`] as const)),
    "  esac",
    "}",
  ];
}

/** Works in bash 3.2, which macOS has: no associative arrays, no mapfile. */
const BASH_WALK = `_mullion() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place="" option="" word offered i
  local IFS=$' \\t\\n'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    # bash cuts --output=json into three words.
    if [[ -n $option && $word == "=" ]]; then continue; fi
    if [[ -n $option ]]; then option=""; continue; fi
    case "$word" in
      --) return ;;
      -*) if _mullion_takes_value "$place:$word"; then option="$word"; fi ;;
      *) if _mullion_is_verb "$place/$word"; then place="$place/$word"; fi ;;
    esac
  done
  if [[ $current == "=" ]]; then current=""; fi
  if [[ -n $option ]]; then offered="$(_mullion_values "$place:$option")"
  elif [[ $current == -* ]]; then offered="$(_mullion_options "$place")"
  else offered="$(_mullion_words "$place")"
  fi
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o bashdefault -o default -F _mullion mullion`;

function bash(places: readonly CompletionPlace[]): string {
  const lines = [
    "# Completion of mullion for bash. Printed by: mullion completion bash",
    ...walkFunctions(places),
    ...listFunction(
      "_mullion_words",
      places.map(({ path, words }) => [path, words.map(({ name }) => name)] as const),
    ),
    ...listFunction(
      "_mullion_options",
      places.map(({ path, options }) => [path, options.flatMap(({ names }) => names)] as const),
    ),
    ...listFunction(
      "_mullion_values",
      valueRows(places).map(([key, { values }]) => [key, values] as const),
    ),
    BASH_WALK,
  ];
  return `${lines.join("\n")}\n`;
}

const ZSH_WALK = `_mullion() {
  local place="" option="" word
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $option ]]; then option=""; continue; fi
    case "$word" in
      --) _files; return ;;
      -*) if _mullion_takes_value "$place:$word"; then option="$word"; fi ;;
      *) if _mullion_is_verb "$place/$word"; then place="$place/$word"; fi ;;
    esac
  done
  if [[ -z $option && $PREFIX == --*=* ]]; then
    option="\${PREFIX%%=*}"
    compset -P 1 '*='
  fi
  if [[ -n $option ]]; then _mullion_values "$place:$option"
  elif [[ $PREFIX == -* ]]; then _mullion_options "$place"
  else _mullion_words "$place"
  fi
  if (( \${#offered} )); then _describe mullion offered; else _files; fi
}
# The file may be loaded by name, from a folder of fpath, or read with source.
if [[ $funcstack[1] == _mullion ]]; then _mullion "$@"; else compdef _mullion mullion; fi`;

/** `name:description`, with the colons of the name escaped, as \`_describe\` reads it. */
function zshItem(name: string, description: string): string {
  return quotePosix(`${name.replaceAll(":", "\\:")}:${description}`);
}

function zsh(places: readonly CompletionPlace[]): string {
  const fill = (name: string, rows: readonly (readonly [string, readonly string[]])[]): readonly string[] => [
    `${name}() {`,
    '  case "$1" in',
    ...branches(
      rows
        .filter(([, items]) => items.length > 0)
        .map(([key, items]) => [key, `offered=(${items.join(" ")})`] as const),
    ),
    "  esac",
    "}",
  ];
  const lines = [
    "#compdef mullion",
    "# Completion of mullion for zsh. Printed by: mullion completion zsh",
    ...walkFunctions(places),
    ...fill(
      "_mullion_words",
      places.map(({ path, words }) => [
        path,
        words.map(({ name, description }) => zshItem(name, description)),
      ]),
    ),
    ...fill(
      "_mullion_options",
      places.map(({ path, options }) => [
        path,
        options.flatMap(({ names, description }) => names.map((name) => zshItem(name, description))),
      ]),
    ),
    ...fill(
      "_mullion_values",
      valueRows(places).map(([key, { values }]) => [key, values.map((value) => zshItem(value, ""))]),
    ),
    ZSH_WALK,
  ];
  return `${lines.join("\n")}\n`;
}

/** Within quotation marks fish knows two escapes. */
function fishQuote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

const FISH_WALK = `function __mullion_place
    set -l place ''
    set -l option ''
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if test -n "$option"
            set option ''
            continue
        end
        switch $word
            case --
                echo --
                return
            case '-*'
                if contains -- "$place:$word" $__mullion_takes_value
                    set option $word
                end
            case '*'
                if contains -- "$place/$word" $__mullion_verbs
                    set place "$place/$word"
                end
        end
    end
    echo "at:$place"
end
function __mullion_at
    test (__mullion_place) = "at:$argv[1]"
end`;

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
    FISH_WALK,
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

/** Works in Windows PowerShell 5.1, too. Names of options differ by case (-r, -R): no hash table, and -ceq. */
const POWERSHELL_WALK = `  $place = ''
  $option = ''
  $begin = ''
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
  foreach ($word in $words) {
    if ($option -ne '') { $option = ''; continue }
    if ($word -ceq '--') { return }
    if ($word.StartsWith('-')) {
      if ($rows | Where-Object { $_.place -ceq $place -and $_.kind -ceq 'value' -and $_.name -ceq $word }) { $option = $word }
    }
    elseif ($rows | Where-Object { $_.place -ceq $place -and $_.kind -ceq 'verb' -and $_.name -ceq $word }) {
      $place = "$place/$word"
    }
  }
  $current = $wordToComplete
  if ($option -eq '' -and $current -cmatch '^(--[^=]+)=(.*)$') {
    $option = $Matches[1]
    $current = $Matches[2]
    $begin = "$option="
  }
  $here = @($rows | Where-Object { $_.place -ceq $place })
  if ($option -ne '') {
    $offered = @($here | Where-Object { $_.kind -ceq 'value' -and $_.name -ceq $option } |
      ForEach-Object { $_.values -split ' ' } | Where-Object { $_ -ne '' } |
      ForEach-Object { @{ name = $_; description = $_ } })
  }
  elseif ($current.StartsWith('-')) { $offered = @($here | Where-Object { $_.kind -cin 'value', 'flag' }) }
  else { $offered = @($here | Where-Object { $_.kind -cin 'verb', 'word' }) }
  $offered | Where-Object { $_.name.StartsWith($current, [StringComparison]::Ordinal) } | ForEach-Object {
    $text = $begin + $_.name
    [System.Management.Automation.CompletionResult]::new($text, $_.name, 'ParameterValue', $_.description)
  }
}`;

function csvRow(...cells: readonly string[]): string {
  return cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",");
}

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
    POWERSHELL_WALK,
  ];
  return `${lines.join("\n")}\n`;
}

export type CompletionShell = "bash" | "zsh" | "fish" | "powershell";

/** Each shell's script for the places given. */
export const COMPLETION_SCRIPTS: Readonly<Record<CompletionShell, Script>> = { bash, zsh, fish, powershell };
