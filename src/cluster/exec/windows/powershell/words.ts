/** Words of a line of PowerShell: the properties of what a pipeline made, and quotes. */

/** Signs that are words of their own. */
const ALONE = new Set(["|", "{", "}", ";"]);

/** Stands before the name of a property that is asked of what a pipeline made. */
export const MEMBER = ".";

/** `(PIPELINE).Name`: each name becomes a stage of its own behind the pipeline. Another line stays as it is. */
export function membersAsStages(line: string): string {
  const end = line.lastIndexOf(").");
  if (!line.startsWith("(") || end < 0) return line;
  const behind = line.slice(end + 2);
  const pipe = behind.indexOf("|");
  const names = (pipe < 0 ? behind : behind.slice(0, pipe)).trim();
  if (!/^[\w.]+$/.test(names)) return line;
  const stages = names.split(MEMBER).map((name) => `| ${MEMBER} ${name}`);
  return [line.slice(1, end), ...stages, pipe < 0 ? "" : behind.slice(pipe)].join(" ");
}

/** A word that blanks or signs would take apart, as it would have to be typed. */
export function quoteWord(word: string): string {
  return /[\s|;{}()]/.test(word) && !ALONE.has(word) && !word.includes("|") && !word.startsWith("{")
    ? `'${word}'`
    : word;
}
