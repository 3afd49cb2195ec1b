/** What all readers of YAML ask of the library: tokens of bounded depth, and its faults in words for people. */
import { type CST, Lexer, Parser, type YAMLError } from "yaml";
import { LIMITS } from "#core/base/limits.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** A fault of a text, at an offset of it. */
export interface YamlFault {
  readonly offset: number;
  /** One sentence without a full stop. */
  readonly message: string;
  readonly advice: string;
}

/** The offset of the first character of YAML's structure that is one too many: the parser needs memory for each. */
export function findExcessToken(text: string, max: number): number | undefined {
  let structure = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Line feed, comma, colon, question mark, and both kinds of brackets; a hyphen before a blank.
    if (unit === 10 || unit === 44 || unit === 58 || unit === 63 || unit === 91 || unit === 93) structure++;
    else if (unit === 123 || unit === 125) structure++;
    else if (unit === 45 && text.charCodeAt(i + 1) === 32) structure++;
    if (structure > max) return i;
  }
  return undefined;
}

/** A text with more faults than this is read no further. */
const FAULTS_MAX = 200;

type Lexemes = Generator<string, unknown>;

/** Steps of the library's lexer that its types keep to themselves. */
interface LexerSteps {
  /** How far the lines that go on have to be indented. */
  indentNext: number;
  lex(text: string): Generator<string, void>;
  parseQuotedScalar(): Lexemes;
  parseFlowCollection(): Lexemes;
}

/**
 * Inside quotes and brackets Kubernetes' reader asks for no indentation (goyaml.v2 of sigs.k8s.io/yaml, scannerc.go:
 * yaml_parser_scan_flow_scalar, yaml_parser_unroll_indent), where the YAML specification does.
 */
class UnindentedLexer extends (Lexer as unknown as new () => LexerSteps) {
  override *parseQuotedScalar(): Lexemes {
    return yield* this.unindented(super.parseQuotedScalar());
  }

  override *parseFlowCollection(): Lexemes {
    return yield* this.unindented(super.parseFlowCollection());
  }

  private *unindented(step: Lexemes): Lexemes {
    const { indentNext } = this;
    this.indentNext = 0;
    const next = yield* step;
    this.indentNext = indentNext;
    return next;
  }
}

/** What the library says of a bracket that closes at the left, which Kubernetes' reader takes. */
export function isOfIndentationAlone({ code, message }: YAMLError): boolean {
  return code === "BAD_INDENT" && message.startsWith("Flow end indicator");
}

export interface TokenOptions {
  /** Hears the offsets at which lines begin. */
  readonly onNewLine?: (offset: number) => void;
  /** Lines inside quotes and brackets begin where they like. A bracket that is missing is noticed at the end of the text then. */
  readonly isUnindented?: boolean;
}

/** The tokens of a text up to its first faults. */
export function tokensOf(text: string, { onNewLine, isUnindented = false }: TokenOptions = {}): CST.Token[] {
  const parser = new Parser(onNewLine);
  const tokens: CST.Token[] = [];
  let faults = 0;
  onNewLine?.(0);
  const lexer = isUnindented ? new UnindentedLexer() : new Lexer();
  for (const lexeme of lexer.lex(text)) {
    for (const token of parser.next(lexeme)) {
      tokens.push(token);
      if (token.type === "error") faults++;
    }
    if (faults >= FAULTS_MAX) break;
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

/**
 * What `compose` makes, without the call stacks of the library's faults: a text of a million quotes has half a million
 * faults, and the stacks take five times as long as all the rest.
 */
export function composed<T>(compose: () => Iterable<T>): T[] {
  const frames = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return [...compose()];
  } finally {
    Error.stackTraceLimit = frames;
  }
}

type Nested = { readonly token: CST.Token; readonly depth: number };

function childrenOf(token: CST.Token): (CST.Token | null | undefined)[] {
  if (token.type === "document") return [token.value];
  if (!("items" in token)) return [];
  return token.items.flatMap((item) => [item.key, item.value]);
}

/** Finds a token nested deeper than the limit, without recursion. Nothing recursive may run before it is asked. */
export function findDeepToken(tokens: readonly CST.Token[]): Omit<YamlFault, "advice"> | undefined {
  const open: Nested[] = tokens.map((token) => ({ token, depth: 0 }));
  for (let nested = open.pop(); nested !== undefined; nested = open.pop()) {
    if (nested.depth > LIMITS.documentDepthMax) {
      const message = `values are nested more than ${LIMITS.documentDepthMax} levels deep`;
      return { offset: nested.token.offset, message };
    }
    for (const child of childrenOf(nested.token)) {
      if (child !== null && child !== undefined) open.push({ token: child, depth: nested.depth + 1 });
    }
  }
  return undefined;
}

/** The library's sentences without the position that it may add, and without the full stop. */
function plainMessage(message: string): string {
  const [first = ""] = message.split("\n");
  const text = first.replace(/ at line \d+, column \d+:?$/, "").replace(/[.:]$/, "");
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const ADVICE: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "Indent with spaces.",
  BAD_INDENT: WORDS.adviceBadIndent,
  MISSING_CHAR: "Close what is open before this place, or quote the value.",
  UNEXPECTED_TOKEN: WORDS.adviceUnexpectedToken,
  BLOCK_AS_IMPLICIT_KEY: WORDS.adviceBlockAsImplicitKey,
  MULTILINE_IMPLICIT_KEY: 'Write "field: value"; the colon may be missing.',
};
const ADVICE_DEFAULT = "Correct the YAML here, or in the line before.";

/** An error or warning of the library, with what to do about it. */
export function faultOf(error: YAMLError): YamlFault {
  // The library calls a bracket that is missing a fault of indentation, because it cannot tell.
  const code = /\band end with a\b/.test(error.message) ? "MISSING_CHAR" : error.code;
  return {
    offset: error.pos[0],
    message: plainMessage(error.message),
    advice: ADVICE[code] ?? ADVICE_DEFAULT,
  };
}
