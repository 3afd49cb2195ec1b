/**
 * The two modes of the programs. `upstream` behaves as the real component, known defects included; `hardened` repairs them.
 * The first is the default of emulated nodes, the second of executables that run on their own.
 */
export type Compat = "upstream" | "hardened";

/** The mode that a word names, by its name or by its older one (older names of the modes are read, never printed). */
export function parseCompat(text: string): Compat | undefined {
  switch (text) {
    case "upstream":
    case "reference":
      return "upstream";
    case "hardened":
    case "better":
      return "hardened";
    default:
      return undefined;
  }
}

/** The mode that the user of a program asks for; a program on its own is `hardened` unless it is told otherwise. */
export function chooseMode(word: string): Compat | undefined {
  return word === "" ? "hardened" : parseCompat(word);
}

/** What each mode has. */
export type ByMode<T> = Readonly<Record<Compat, T>>;

/** What a mode has by rows of differences. */
export type Differences<
  Rows extends Readonly<Record<string, readonly [upstream: unknown, hardened: unknown]>>,
> = {
  readonly [Row in keyof Rows]: Rows[Row][number];
};

/** Makes a table of differences, whose rows say what `upstream` has and what `hardened` has, into one object for each. */
export function byMode<T extends object>(
  rows: {
    readonly [Row in keyof T]: readonly [upstream: T[Row], hardened: T[Row]];
  },
): ByMode<T> {
  const entries = Object.entries<readonly [upstream: unknown, hardened: unknown]>(rows);
  const column = (index: 0 | 1): T =>
    Object.freeze(Object.fromEntries(entries.map(([row, values]) => [row, values[index]]))) as T;
  return Object.freeze({ upstream: column(0), hardened: column(1) });
}
