/**
 * Texts as one word of a command line, for each shell; the only place that knows how (tools/tidy.ts holds it). Where a shell
 * has no way to write a character between its quotes, the text is refused: it comes from a configuration, a name or an
 * answer, and a command that does something else is worse than none.
 */

/** A text that cannot stand in a command line. */
export class QuotingError extends Error {
  override readonly name = "QuotingError";
}

/** For shells of POSIX (POSIX.1-2024, 2.2.2): between single quotes nothing has a meaning. */
export function quotePosix(text: string): string {
  if (text.includes("\0")) throw new QuotingError(`${JSON.stringify(text)} holds a NUL`);
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * For PowerShell between single quotes. Five characters open and close such a text, the typographic ones as well as the
 * plain one, and each stands for itself when it is written twice (about_Quoting_Rules; CharTraits.IsSingleQuote).
 */
export function quotePowerShell(text: string): string {
  if (text.includes("\0")) throw new QuotingError(`${JSON.stringify(text)} holds a NUL`);
  return `'${text.replaceAll(/['\u2018-\u201b]/g, "$&$&")}'`;
}

const NAMES = { powershell: "PowerShell", cmd: "cmd.exe" } as const;

/**
 * What ends a text in double quotes, or is taken out of it: PowerShell's four quotation marks, variables and escapes
 * (about_Quoting_Rules); cmd's variables, also with delayed expansion, and its escape, which counts outside of quotes. A
 * control character ends a line, and a fullwidth quotation mark becomes a plain one in code pages of Windows.
 */
const UNQUOTABLE = {
  powershell: /["\u201c-\u201e\uff02$`]|\p{Cc}/u,
  cmd: /["\u201c-\u201e\uff02%!^]|\p{Cc}/u,
} as const;

/**
 * In double quotes, for lines that have to be those of upstream.
 * @throws QuotingError for a text that holds what the shell would read.
 */
export function quoteDouble(text: string, shell: "powershell" | "cmd"): string {
  const [found] = UNQUOTABLE[shell].exec(text) ?? [];
  if (found === undefined) return `"${text}"`;
  throw new QuotingError(
    `${JSON.stringify(text)} cannot stand in a line for ${NAMES[shell]}, because of ${JSON.stringify(found)}`,
  );
}
