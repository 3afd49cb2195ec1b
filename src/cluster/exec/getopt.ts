/**
 * Options as GNU's getopt reads them: letters that may stand together (`-sS`), values behind them or in the next word, long names
 * with `=`, operands anywhere, and nothing but operands behind `--`.
 */

/** By spelling: what it is called here; with `=` at its end, it takes a value. */
export type OptionTable = Readonly<Record<string, string>>;

export interface GivenOptions {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
  /** The first word that the table does not have, or whose value is missing. */
  readonly unknown: string | undefined;
}

class Reader {
  readonly flags = new Set<string>();
  readonly values = new Map<string, string>();
  readonly operands: string[] = [];
  unknown: string | undefined;
  private readonly table: OptionTable;
  private readonly words: string[];

  constructor(table: OptionTable, args: readonly string[]) {
    this.table = table;
    this.words = [...args];
  }

  read(): GivenOptions {
    for (let word = this.words.shift(); word !== undefined; word = this.words.shift()) {
      if (word === "--") this.operands.push(...this.words.splice(0));
      else if (word.startsWith("--")) this.takeLong(word);
      else if (word.startsWith("-") && word.length > 1) this.takeLetters(word);
      else this.operands.push(word);
    }
    return this;
  }

  private takeLong(word: string): void {
    const [spelling = "", ...rest] = word.split("=");
    if (!this.take(spelling, rest.length === 0 ? undefined : rest.join("="))) this.unknown ??= word;
  }

  private takeLetters(word: string): void {
    // `-max`, as ip spells its options.
    if (Object.hasOwn(this.table, word)) {
      if (!this.take(word, undefined)) this.unknown ??= word;
      return;
    }
    for (let at = 1; at < word.length; at++) {
      const letter = `-${word.charAt(at)}`;
      const rest = word.slice(at + 1);
      if (this.table[letter]?.endsWith("=") === true) {
        if (!this.take(letter, rest === "" ? undefined : rest)) this.unknown ??= word;
        return;
      }
      if (!this.take(letter, undefined)) this.unknown ??= word;
    }
  }

  /** @returns false for an option that there is not, and for one whose value is missing or too many. */
  private take(spelling: string, given: string | undefined): boolean {
    const name = Object.hasOwn(this.table, spelling) ? this.table[spelling] : undefined;
    if (name === undefined) return false;
    if (!name.endsWith("=")) {
      this.flags.add(name);
      return given === undefined;
    }
    const value = given ?? this.words.shift();
    if (value !== undefined) this.values.set(name.slice(0, -1), value);
    return value !== undefined;
  }
}

export function readOptions(table: OptionTable, args: readonly string[]): GivenOptions {
  return new Reader(table, args).read();
}

/** A number from `least` to `most`, whole unless fractions are taken; undefined for another text. */
export function numberOf(
  text: string | undefined,
  {
    least,
    most,
    isWhole = true,
  }: { readonly least: number; readonly most: number; readonly isWhole?: boolean },
): number | undefined {
  if (text === undefined || !(isWhole ? /^\d{1,10}$/ : /^\d{1,10}(\.\d{1,6})?$/).test(text)) return undefined;
  const value = Number(text);
  return value >= least && value <= most ? value : undefined;
}
