/**
 * Texts that a terminal cannot be steered with. Names, labels, keys and log lines come from others, and a terminal obeys
 * what it finds in them: ESC and the other control characters of C0, their twins of C1 (U+009B begins a command as ESC
 * and [ do), and the characters of Unicode that turn the direction of what follows (UAX #9, CVE-2021-42574).
 */

/** All of C0 but the line feed and the tab; DEL; C1; marks, embeddings, overrides and isolates of direction. */
const STEERING = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** What `styleText` of Node writes for the styles of a terminal, and nothing else that begins with ESC. */
const ESC = "\u001b";
const STYLE = new RegExp(`^${ESC}\\[(?:0|1|2|22|31|32|33|39)m`);

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * `text` with each steering character written as `\u001b` is: inside a text of JSON that stands for the same character.
 * `keepsStyles` leaves bold, dim and colours, for a terminal that shows them.
 */
export function visibleText(text: string, keepsStyles = false): string {
  return text.replace(STEERING, (character, index: number) => {
    if (character === "\n" || character === "\t") return character;
    // The line ends of Windows' programs.
    if (character === "\r" && text[index + 1] === "\n") return character;
    if (keepsStyles && character === ESC && STYLE.test(text.slice(index, index + 6))) return character;
    return escaped(character);
  });
}
