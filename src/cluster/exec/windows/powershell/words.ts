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

/** A word that blanks or signs would take apart, as it would have to be typed. */
export function quoteWord(word: string): string {
  return /[\s|;{}()]/.test(word) && !ALONE.has(word) && !word.includes("|") && !word.startsWith("{")
    ? `'${word}'`
    : word;
}
