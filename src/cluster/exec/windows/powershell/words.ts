/** A line of PowerShell as words: quotes are taken away; pipes, braces and semicolons are words of their own. */

const ALONE = new Set(["|", "{", "}", ";"]);

export function powershellWords(line: string): readonly string[] {
  const words: string[] = [];
  let word = "";
  let isWord = false;
  let quote = "";
  const end = (): void => {
    if (isWord) words.push(word);
    word = "";
    isWord = false;
  };
  for (const sign of line) {
    if (quote !== "") {
      if (sign === quote) quote = "";
      else word += sign;
    } else if (sign === "'" || sign === '"') {
      quote = sign;
      isWord = true;
    } else if (ALONE.has(sign)) {
      end();
      words.push(sign);
    } else if (sign.trim() === "") end();
    else {
      word += sign;
      isWord = true;
    }
  }
  end();
  return words;
}

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
