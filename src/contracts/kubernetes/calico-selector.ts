/**
 * Calico's selectors: expressions over labels, as in `app == 'web' && !has(test)`
 * (https://docs.tigera.io/calico/latest/reference/resources/globalnetworkpolicy#selectors, and its parser and tokenizer in
 * projectcalico/calico, libcalico-go/lib/selector). What is not read here is undefined, and never a selector that selects less.
 */
import type { Labels } from "./labels.ts";

/** Whether labels answer the expression. */
export type CalicoSelector = (labels: Labels) => boolean;

type Test = (value: string | undefined) => boolean;

interface Token {
  readonly kind: "mark" | "text" | "word";
  readonly value: string;
}

const LENGTH_MAX = 4_096;
const DEPTH_MAX = 64;

/** Blanks are spaces and tabs alone; texts have no escapes. */
const TOKEN = /[ \t]*(?:(==|!=|&&|\|\||[(){},!])|"([^"]*)"|'([^']*)'|([\w./-]+))/y;

function tokensOf(text: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  let end = text.length;
  while (end > 0 && " \t".includes(text.charAt(end - 1))) end--;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(text);
    if (match === null) return undefined;
    const [, mark, double, single, word] = match;
    if (mark !== undefined) tokens.push({ kind: "mark", value: mark });
    else if (word !== undefined) tokens.push({ kind: "word", value: word });
    else tokens.push({ kind: "text", value: double ?? single ?? "" });
  }
  return tokens;
}

/** Labels that Calico makes of a service account or of its namespace: nobody here knows them. */
const UNKNOWN_LABEL = /^(?:projectcalico\.org\/serviceaccount$|pcns\.|pcsa\.)/;

/** Operators behind a label, and what they ask of its value. What is absent is neither equal nor in a set. */
const COMPARISONS: Readonly<Record<string, (wanted: string) => Test>> = Object.freeze({
  "==": (wanted) => (value) => value === wanted,
  "!=": (wanted) => (value) => value !== wanted,
  contains: (wanted) => (value) => value?.includes(wanted) === true,
  "starts with": (wanted) => (value) => value?.startsWith(wanted) === true,
  "ends with": (wanted) => (value) => value?.endsWith(wanted) === true,
});

class Unreadable extends Error {}

class SelectorReader {
  private readonly tokens: readonly Token[];
  private at = 0;
  private depth = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  readAll(): CalicoSelector {
    const selector = this.readChain("||");
    if (this.at < this.tokens.length) throw new Unreadable();
    return selector;
  }

  private isNext(kind: Token["kind"], value?: string): boolean {
    const token = this.tokens[this.at];
    return token?.kind === kind && (value === undefined || token.value === value);
  }

  private take(kind: Token["kind"], value?: string): string {
    const token = this.tokens[this.at];
    if (token === undefined || !this.isNext(kind, value)) throw new Unreadable();
    this.at++;
    return token.value;
  }

  private takeIf(kind: Token["kind"], value: string): boolean {
    const isNext = this.isNext(kind, value);
    if (isNext) this.at++;
    return isNext;
  }

  /** `||` binds less than `&&`. */
  private readChain(operator: "||" | "&&"): CalicoSelector {
    const next = (): CalicoSelector => (operator === "||" ? this.readChain("&&") : this.readOperation());
    const parts = [next()];
    while (this.takeIf("mark", operator)) parts.push(next());
    return operator === "||"
      ? (labels) => parts.some((part) => part(labels))
      : (labels) => parts.every((part) => part(labels));
  }

  private readOperation(): CalicoSelector {
    let isNegated = false;
    while (this.takeIf("mark", "!")) isNegated = !isNegated;
    const inner = this.isNext("mark", "(") ? this.readGroup() : this.readTerm();
    return isNegated ? (labels) => !inner(labels) : inner;
  }

  private readGroup(): CalicoSelector {
    this.take("mark", "(");
    this.depth++;
    if (this.depth > DEPTH_MAX) throw new Unreadable();
    const inner = this.readChain("||");
    this.depth--;
    this.take("mark", ")");
    return inner;
  }

  private readTerm(): CalicoSelector {
    const word = this.take("word");
    if (this.isNext("mark", "(")) return this.readFunction(word);
    if (UNKNOWN_LABEL.test(word)) throw new Unreadable();
    const test = this.readTest();
    return (labels) => test(Object.hasOwn(labels, word) ? labels[word] : undefined);
  }

  private readFunction(name: string): CalicoSelector {
    this.take("mark", "(");
    const label = name === "has" ? this.take("word") : "";
    this.take("mark", ")");
    if (name === "has" && !UNKNOWN_LABEL.test(label)) return (labels) => Object.hasOwn(labels, label);
    if (name === "all" || name === "global") return () => true;
    throw new Unreadable();
  }

  private readTest(): Test {
    if (this.takeIf("word", "in")) return this.readSet(true);
    if (this.takeIf("word", "not")) {
      this.take("word", "in");
      return this.readSet(false);
    }
    let operator = this.isNext("mark") ? this.take("mark") : this.take("word");
    if (operator === "starts" || operator === "ends") operator = `${operator} ${this.take("word", "with")}`;
    const comparison = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined;
    if (comparison === undefined) throw new Unreadable();
    return comparison(this.take("text"));
  }

  private readSet(isIn: boolean): Test {
    const values = new Set<string>();
    this.take("mark", "{");
    while (this.isNext("text")) {
      values.add(this.take("text"));
      if (!this.takeIf("mark", ",")) break;
    }
    this.take("mark", "}");
    return (value) => (value !== undefined && values.has(value)) === isIn;
  }
}

/** An expression; an empty one selects everything. Undefined: Calico refuses it, or it asks for what is not known here. */
export function parseCalicoSelector(text: string): CalicoSelector | undefined {
  const tokens = text.length > LENGTH_MAX ? undefined : tokensOf(text);
  if (tokens === undefined) return undefined;
  if (tokens.length === 0) return () => true;
  try {
    return new SelectorReader(tokens).readAll();
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}
