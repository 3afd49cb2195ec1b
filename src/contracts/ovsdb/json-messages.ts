/** Cuts a stream of JSON objects without anything between them into messages, as OVSDB sends them (RFC 7047, 4). */
import { LIMITS } from "#core/base/limits.ts";

/** A stream that is none of JSON objects, or a message that is too long. */
export class JsonStreamError extends Error {
  override readonly name = "JsonStreamError";
}

export class JsonMessages {
  private text = "";
  /** How far `text` was looked at, and what was open there. */
  private at = 0;
  private depth = 0;
  private isInText = false;
  private isEscaped = false;

  /** Takes a piece of the stream. @returns the messages that it completes. @throws JsonStreamError, SyntaxError */
  take(piece: string): readonly unknown[] {
    this.text += piece;
    if (this.text.length > LIMITS.manifestFileCharactersMax)
      throw new JsonStreamError(`a message has more than ${LIMITS.manifestFileCharactersMax} characters`);
    const messages: unknown[] = [];
    let start = 0;
    for (; this.at < this.text.length; this.at++) {
      if (!this.step(this.text[this.at] ?? "")) continue;
      messages.push(JSON.parse(this.text.slice(start, this.at + 1)));
      start = this.at + 1;
    }
    this.text = this.text.slice(start);
    this.at -= start;
    return messages;
  }

  /** @returns true where a message ends */
  private step(character: string): boolean {
    if (this.isInText) {
      if (this.isEscaped) this.isEscaped = false;
      else if (character === "\\") this.isEscaped = true;
      else if (character === '"') this.isInText = false;
      return false;
    }
    if (character === '"') this.isInText = true;
    else if (character === "{" || character === "[") this.depth += 1;
    else if (character === "}" || character === "]") {
      this.depth -= 1;
      if (this.depth < 0) throw new JsonStreamError("it closes what is not open");
      return this.depth === 0;
    }
    return false;
  }
}
