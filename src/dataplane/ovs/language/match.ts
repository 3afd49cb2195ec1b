/**
 * Matches of logical flows, compiled to data: a tree of comparisons joined by `and` and `or`, with what each field needs
 * written out. Negation is taken inwards first and needs are added afterwards, so that `!(ip4.src == 1.2.3.4)` is true of
 * IPv4 packets only, as in OVN (ovn-sb(5), "Expressions"). Address sets and port groups stay names: a change of one costs
 * that set, not the matches that name it.
 */
import { type FieldName, type FieldSymbol, SYMBOLS } from "./symbols.ts";
import { type Constant, LanguageError, TokenReader } from "./tokens.ts";

const DEPTH_MAX = 64;

export type Relation = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** Bits of a field: `width` of them from `low` on. */
export interface FieldBits {
  readonly base: string;
  readonly low: number;
  readonly width: number;
}

export type Match =
  | { readonly kind: "constant"; readonly value: boolean }
  | { readonly kind: "and" | "or"; readonly of: readonly Match[] }
  | {
      readonly kind: "compare";
      readonly field: FieldBits;
      readonly relation: Relation;
      readonly value: bigint;
      readonly mask: bigint;
    }
  | {
      readonly kind: "address-set";
      readonly field: FieldBits;
      readonly name: string;
      readonly isNegated: boolean;
    }
  | {
      readonly kind: "port";
      readonly field: "inport" | "outport";
      readonly name: string;
      readonly isNegated: boolean;
    }
  | {
      readonly kind: "port-group";
      readonly field: "inport" | "outport";
      readonly name: string;
      readonly isNegated: boolean;
    }
  | { readonly kind: "resident"; readonly port: string; readonly isNegated: boolean };

const RELATIONS: ReadonlySet<string> = new Set<Relation>(["==", "!=", "<", "<=", ">", ">="]);
const OPPOSITE: Readonly<Record<Relation, Relation>> = {
  "==": "!=",
  "!=": "==",
  "<": ">=",
  "<=": ">",
  ">": "<=",
  ">=": "<",
};
const MIRRORED: Readonly<Record<Relation, Relation>> = {
  "==": "==",
  "!=": "!=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

export function isRelation(text: string): text is Relation {
  return RELATIONS.has(text);
}

/** A field's name with its bits; `[3]` and `[0..7]` behind it choose some. */
export function readField(reader: TokenReader): { readonly name: string; readonly symbol: FieldName } {
  const { position } = reader.token;
  const name = reader.name("a field");
  const symbol = SYMBOLS.get(name);
  if (symbol === undefined) throw new LanguageError(position, `${name} is not the name of a field`);
  if (!reader.is("[")) return { name, symbol };
  if (symbol.kind !== "field") throw new LanguageError(position, `${name} has no bits to choose from`);
  if (symbol.isNominal) throw new LanguageError(position, `${name} has no bits to choose from`);
  reader.take();
  const low = reader.number("a bit", symbol.width - 1);
  const high = reader.accept("..") ? reader.number("a bit", symbol.width - 1) : low;
  reader.expect("]");
  if (high < low) throw new LanguageError(position, "the lower bit stands first");
  return { name, symbol: { ...symbol, low: symbol.low + low, width: high - low + 1 } };
}

export function bitsOf({ base, low, width }: FieldSymbol): FieldBits {
  return { base, low, width };
}

/** Checks that a constant fits into `width` bits. */
export function checkWidth(constant: Constant, width: number, position: number): void {
  const fits = constant.value >> BigInt(width) === 0n;
  if (!fits) throw new LanguageError(position, `the constant does not fit into ${width} bits`);
}

interface Value {
  readonly position: number;
  readonly item:
    | { readonly kind: "constant"; readonly constant: Constant }
    | { readonly kind: "text" | "set" | "group"; readonly text: string };
}

class MatchParser {
  private readonly reader: TokenReader;
  private readonly expanded: ReadonlyMap<string, Match>;
  private depth = 0;

  constructor(reader: TokenReader, expanded: ReadonlyMap<string, Match>) {
    this.reader = reader;
    this.expanded = expanded;
  }

  /** `isNegated`: gives the opposite of what is written. */
  any(isNegated: boolean): Match {
    this.depth += 1;
    if (this.depth > DEPTH_MAX) {
      throw new LanguageError(this.reader.token.position, `parentheses nest at most ${DEPTH_MAX} deep`);
    }
    const first = this.one(isNegated);
    const symbol = this.reader.is("&&") ? "&&" : "||";
    const of = [first];
    while (this.reader.accept(symbol)) of.push(this.one(isNegated));
    if (this.reader.is("&&") || this.reader.is("||")) {
      throw new LanguageError(this.reader.token.position, "&& and || need parentheses when used together");
    }
    this.depth -= 1;
    if (of.length === 1) return first;
    return { kind: (symbol === "&&") === isNegated ? "or" : "and", of };
  }

  private one(isNegated: boolean): Match {
    const { reader } = this;
    if (reader.accept("!")) {
      this.depth += 1;
      if (this.depth > DEPTH_MAX) throw reader.fail(`at most ${DEPTH_MAX} levels`);
      const inner = this.one(!isNegated);
      this.depth -= 1;
      return inner;
    }
    if (reader.accept("(")) {
      const inner = this.any(isNegated);
      reader.expect(")");
      return inner;
    }
    const { token } = reader;
    if (token.kind === "name") return this.named(isNegated);
    if (token.kind !== "constant" && token.kind !== "text" && !reader.is("{")) {
      if (token.kind !== "set" && token.kind !== "group") throw reader.fail("a comparison");
    }
    if (token.kind === "constant" && !isRelation(reader.following.text)) {
      const value = reader.number("0 or 1", 1);
      return { kind: "constant", value: (value === 1) !== isNegated };
    }
    return this.mirrored(isNegated);
  }

  private named(isNegated: boolean): Match {
    const { reader } = this;
    const { text, position } = reader.token;
    if (text === "is_chassis_resident") {
      reader.take();
      reader.expect("(");
      if (reader.token.kind !== "text") throw reader.fail("a port in quotes");
      const port = reader.take().text;
      reader.expect(")");
      return { kind: "resident", port, isNegated };
    }
    const { name, symbol } = readField(reader);
    const relation = reader.token.text;
    if (symbol.kind === "predicate") return expand(symbol.match, isNegated, this.expanded);
    if (!isRelation(relation) || reader.token.kind !== "symbol")
      return this.bit(name, symbol, isNegated, position);
    reader.take();
    return this.comparison(symbol, relation, this.values(), isNegated);
  }

  private bit(name: string, symbol: FieldName, isNegated: boolean, position: number): Match {
    if (symbol.kind !== "field" || symbol.width !== 1) {
      throw new LanguageError(position, `${name} needs a comparison: it is more than one bit`);
    }
    return this.compare(symbol, isNegated ? "!=" : "==", { value: 1n, mask: undefined, width: 0 }, position);
  }

  /** `5 <= tcp.dst`, `5 <= tcp.dst < 10`. */
  private mirrored(isNegated: boolean): Match {
    const { reader } = this;
    const values = this.values();
    const relation = reader.take().text;
    if (!isRelation(relation)) throw reader.fail("a comparison");
    const { symbol } = readField(reader);
    const first = this.comparison(symbol, MIRRORED[relation], values, isNegated);
    const second = reader.token.text;
    if (!isRelation(second) || reader.token.kind !== "symbol") return first;
    if (second.charAt(0) !== relation.charAt(0) || relation === "==" || relation === "!=") {
      throw reader.fail("a second bound of the same direction");
    }
    reader.take();
    return {
      kind: isNegated ? "or" : "and",
      of: [first, this.comparison(symbol, second, this.values(), isNegated)],
    };
  }

  private values(): readonly Value[] {
    const { reader } = this;
    if (!reader.accept("{")) return [this.value()];
    const values = [this.value()];
    reader.accept(",");
    while (!reader.is("}")) {
      values.push(this.value());
      reader.accept(",");
    }
    reader.expect("}");
    return values;
  }

  private value(): Value {
    const token = this.reader.token;
    if (token.kind === "constant") {
      this.reader.take();
      return { position: token.position, item: { kind: "constant", constant: token.constant } };
    }
    if (token.kind !== "text" && token.kind !== "set" && token.kind !== "group")
      throw this.reader.fail("a constant");
    this.reader.take();
    return { position: token.position, item: { kind: token.kind, text: token.text } };
  }

  private comparison(
    symbol: FieldName,
    relation: Relation,
    values: readonly Value[],
    isNegated: boolean,
  ): Match {
    const isSet =
      values.length > 1 || values.some(({ item }) => item.kind === "set" || item.kind === "group");
    if (isSet && relation !== "==" && relation !== "!=") {
      throw new LanguageError(values[0]?.position ?? 0, "sets are compared by == or != only");
    }
    const asked = isNegated ? OPPOSITE[relation] : relation;
    const of = values.map((value) => this.single(symbol, asked, value));
    const [only] = of;
    if (only !== undefined && of.length === 1) return only;
    return { kind: asked === "==" ? "or" : "and", of };
  }

  private single(symbol: FieldName, relation: Relation, { item, position }: Value): Match {
    if (symbol.kind === "predicate") throw new LanguageError(position, "a predicate is not compared");
    const isNegated = relation === "!=";
    if (symbol.kind === "port") {
      if (relation !== "==" && relation !== "!=")
        throw new LanguageError(position, "ports are compared by == or !=");
      if (item.kind === "text")
        return { kind: "port", field: symbol.base, name: portName(item.text), isNegated };
      if (item.kind === "group")
        return { kind: "port-group", field: symbol.base, name: item.text, isNegated };
      throw new LanguageError(position, `${symbol.base} takes a port in quotes or a group`);
    }
    if (item.kind === "constant") return this.compare(symbol, relation, item.constant, position);
    if (item.kind !== "set") throw new LanguageError(position, "a number or an address is expected");
    return this.needed(symbol, { kind: "address-set", field: bitsOf(symbol), name: item.text, isNegated });
  }

  private compare(symbol: FieldSymbol, relation: Relation, constant: Constant, position: number): Match {
    checkWidth(constant, symbol.width, position);
    const isOrder = relation !== "==" && relation !== "!=";
    if (isOrder && (symbol.isNominal || constant.mask !== undefined)) {
      throw new LanguageError(position, "only == and != go with masks and kinds");
    }
    const full = (1n << BigInt(symbol.width)) - 1n;
    const mask = (constant.mask ?? full) & full;
    return this.needed(symbol, {
      kind: "compare",
      field: bitsOf(symbol),
      relation,
      value: constant.value,
      mask,
    });
  }

  private needed(symbol: FieldSymbol, match: Match): Match {
    if (symbol.needs === "") return match;
    return { kind: "and", of: [expand(symbol.needs, false, this.expanded), match] };
  }

  end(): void {
    if (this.reader.token.kind !== "end") throw this.reader.fail("the end");
  }
}

/** What names stand for and need, by text: each is read once, when this file is loaded. */
const EXPANDED: ReadonlyMap<string, Match> = readExpansions();

/** What a name stands for may itself hold names. */
function readExpansions(): ReadonlyMap<string, Match> {
  const read = new Map<string, Match>();
  for (const symbol of SYMBOLS.values()) {
    const text = symbol.kind === "predicate" ? symbol.match : symbol.kind === "field" ? symbol.needs : "";
    if (text !== "") read.set(text, new MatchParser(new TokenReader(text), read).any(false));
  }
  return read;
}

/** The match that a name stands for, of those that are `known` and else read. Its negation is that of the whole, needs included. */
function expand(text: string, isNegated: boolean, known: ReadonlyMap<string, Match>): Match {
  const inner = known.get(text) ?? new MatchParser(new TokenReader(text), known).any(false);
  return isNegated ? opposite(inner) : inner;
}

/** The match that is true where `match` is not. */
function opposite(match: Match): Match {
  switch (match.kind) {
    case "constant":
      return { kind: "constant", value: !match.value };
    case "and":
    case "or":
      return { kind: match.kind === "and" ? "or" : "and", of: match.of.map((part) => opposite(part)) };
    case "compare":
      return { ...match, relation: OPPOSITE[match.relation] };
    case "address-set":
    case "port":
    case "port-group":
    case "resident":
      return { ...match, isNegated: !match.isNegated };
  }
}

/** The name of no port: its key is 0, which a packet without one has, too. */
export function portName(text: string): string {
  return text === "none" ? "" : text;
}

/** `match` where all of `needs` hold as well. */
export function withNeeds(match: Match, needs: ReadonlySet<string>): Match {
  if (needs.size === 0) return match;
  return { kind: "and", of: [match, ...[...needs].map((each) => expand(each, false, EXPANDED))] };
}

/** Compiles the text of a match. @throws LanguageError */
export function parseMatch(source: string): Match {
  const parser = new MatchParser(new TokenReader(source), EXPANDED);
  const match = parser.any(false);
  parser.end();
  return match;
}
