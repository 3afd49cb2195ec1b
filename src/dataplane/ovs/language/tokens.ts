/**
 * The tokens of OVN's match and action languages (ovn-sb(5), Logical_Flow). Texts come from a database, so that their size
 * is bounded, and a fault names its place.
 */
import { parseIp } from "#core/net/ip.ts";

/** Characters of one match or action text. */
const CHARACTERS_MAX = 262_144;

/** What is wrong in a text, and where: `position` counts characters from 0. */
export class LanguageError extends Error {
  override readonly name = "LanguageError";
  readonly position: number;

  constructor(position: number, problem: string) {
    super(`${problem} (at character ${position + 1})`);
    this.position = position;
  }
}

/** A constant with the bits that count. `width` tells how it was written: 32, 48 or 128 bits for addresses, 0 for numbers. */
export interface Constant {
  readonly value: bigint;
  readonly mask: bigint | undefined;
  readonly width: 0 | 32 | 48 | 128;
}

export type Token = { readonly position: number } & (
  | { readonly kind: "name" | "text" | "symbol" | "set" | "group"; readonly text: string }
  | { readonly kind: "constant"; readonly text: string; readonly constant: Constant }
  | { readonly kind: "end"; readonly text: "" }
);

const BLANKS = /(?:[ \t\r\n]|\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/[^\n]*)+/y;
const MAC = /[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?![0-9a-f:])/iy;
const IPV6 = /[0-9a-f]{0,4}:(?=[0-9a-f]{0,4}:)[0-9a-f:.]*/iy;
const IPV4 = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/y;
const INTEGER = /0x[0-9a-f]{1,32}|\d{1,39}/iy;
const NAME = /[A-Za-z_][A-Za-z0-9_.]*/y;
const TEXT = /"(?:[^"\\]|\\.)*"/y;
const REFERENCE = /[$@][A-Za-z_0-9.]+/y;
const SYMBOL = /<->|&&|\|\||==|!=|<=|>=|--|\.\.|[()[\]{}<>!=,;:]/y;

const FULL = { 32: (1n << 32n) - 1n, 48: (1n << 48n) - 1n, 128: (1n << 128n) - 1n } as const;

class Scanner {
  readonly tokens: Token[] = [];
  private readonly source: string;
  private at = 0;

  constructor(source: string) {
    this.source = source;
  }

  scan(): readonly Token[] {
    this.take(BLANKS);
    while (this.at < this.source.length) {
      this.tokens.push(this.next());
      this.take(BLANKS);
    }
    this.tokens.push({ kind: "end", text: "", position: this.at });
    return this.tokens;
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  private next(): Token {
    const position = this.at;
    const constant = this.constant();
    if (constant !== undefined) {
      return { kind: "constant", text: this.source.slice(position, this.at), constant, position };
    }
    const name = this.take(NAME);
    if (name !== undefined) return { kind: "name", text: name, position };
    const quoted = this.take(TEXT);
    if (quoted !== undefined) return { kind: "text", text: unquote(quoted, position), position };
    const reference = this.take(REFERENCE);
    if (reference !== undefined) {
      return { kind: reference.startsWith("$") ? "set" : "group", text: reference.slice(1), position };
    }
    const symbol = this.take(SYMBOL);
    if (symbol !== undefined) return { kind: "symbol", text: symbol, position };
    throw new LanguageError(
      position,
      `${JSON.stringify(this.source.charAt(position))} is not part of the language`,
    );
  }

  private constant(): Constant | undefined {
    const start = this.at;
    const plain = this.plain();
    if (plain === undefined || this.source.charAt(this.at) !== "/") return plain;
    if (this.source.startsWith("/*", this.at) || this.source.startsWith("//", this.at)) return plain;
    this.at += 1;
    const mask = this.mask(plain, start);
    // Bits outside the mask do not count: `10.0.0.3/16` is the network that it is in.
    return { ...plain, value: plain.value & mask, mask };
  }

  private mask(plain: Constant, start: number): bigint {
    const mask = this.plain();
    if (mask === undefined) throw new LanguageError(this.at, "a mask is missing behind /");
    const bits = plain.width === 0 ? 128 : plain.width;
    let value = mask.value;
    if (plain.width !== 0 && plain.width !== 48 && mask.width === 0) {
      if (mask.value > BigInt(bits)) throw new LanguageError(start, `a prefix length is at most ${bits}`);
      value = FULL[plain.width] ^ ((1n << (BigInt(bits) - mask.value)) - 1n);
    } else if (mask.width !== plain.width) {
      throw new LanguageError(start, "a value and its mask are of different kinds");
    }
    return value;
  }

  private plain(): Constant | undefined {
    const mac = this.take(MAC);
    if (mac !== undefined)
      return { value: BigInt(`0x${mac.replaceAll(":", "")}`), mask: undefined, width: 48 };
    const start = this.at;
    const address = this.take(IPV6) ?? this.take(IPV4);
    if (address !== undefined) {
      const ip = parseIp(address);
      if (ip === undefined) throw new LanguageError(start, `${address} is not an address`);
      return { value: BigInt(ip), mask: undefined, width: typeof ip === "number" ? 32 : 128 };
    }
    const integer = this.take(INTEGER);
    return integer === undefined ? undefined : { value: BigInt(integer), mask: undefined, width: 0 };
  }
}

function unquote(quoted: string, position: number): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    throw new LanguageError(position, `${quoted} is not a string`);
  }
}

/** The tokens of `source`, the last one of kind `end`. @throws LanguageError */
function tokenize(source: string): readonly Token[] {
  if (source.length > CHARACTERS_MAX)
    throw new LanguageError(0, `a text has at most ${CHARACTERS_MAX} characters`);
  return new Scanner(source).scan();
}

/** Reads tokens one after another. */
export class TokenReader {
  private readonly tokens: readonly Token[];
  private index = 0;

  constructor(source: string) {
    this.tokens = tokenize(source);
  }

  get token(): Token {
    return this.tokens[this.index] ?? { kind: "end", text: "", position: 0 };
  }

  /** The token behind the present one. */
  get following(): Token {
    return this.tokens[this.index + 1] ?? this.token;
  }

  take(): Token {
    const { token } = this;
    if (token.kind !== "end") this.index += 1;
    return token;
  }

  is(symbol: string): boolean {
    return this.token.kind === "symbol" && this.token.text === symbol;
  }

  /** Takes `symbol` if it is next. */
  accept(symbol: string): boolean {
    const found = this.is(symbol);
    if (found) this.index += 1;
    return found;
  }

  expect(symbol: string): void {
    if (!this.accept(symbol)) throw this.fail(symbol);
  }

  name(what: string): string {
    if (this.token.kind !== "name") throw this.fail(what);
    return this.take().text;
  }

  /** A number without a mask, at most `max`. */
  number(what: string, max: number): number {
    const { token } = this;
    if (token.kind !== "constant" || token.constant.mask !== undefined) throw this.fail(what);
    if (token.constant.value > BigInt(max))
      throw new LanguageError(token.position, `${what} is at most ${max}`);
    this.take();
    return Number(token.constant.value);
  }

  fail(expected: string): LanguageError {
    const { token } = this;
    const found = token.kind === "end" ? "the end" : JSON.stringify(token.text);
    return new LanguageError(token.position, `${expected} expected, found ${found}`);
  }
}
