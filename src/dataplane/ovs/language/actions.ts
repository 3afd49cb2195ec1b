/** Actions of logical flows, compiled to data (ovn-sb(5), Logical_Flow, "actions"). */
import type { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { type FieldBits, bitsOf, checkWidth, portName, readField } from "./match.ts";
import { type FieldName, OVN_LANGUAGE } from "./symbols.ts";
import { LanguageError, TokenReader } from "./tokens.ts";

const DEPTH_MAX = 16;
const ACTIONS_MAX = 1_024;

export type Pipeline = "ingress" | "egress";

/** What is read or written: bits of a field, or the name of a port. */
export type Place =
  | { readonly kind: "field"; readonly field: FieldBits }
  | { readonly kind: "port"; readonly port: "inport" | "outport" };

/** An argument of an action. */
export type Argument =
  | Place
  | { readonly kind: "constant"; readonly value: bigint; readonly mask: bigint | undefined }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "option"; readonly name: string; readonly values: readonly Argument[] };

export type Action =
  | { readonly kind: "next"; readonly pipeline: Pipeline | undefined; readonly table: number | undefined }
  | { readonly kind: "output" }
  | { readonly kind: "decrement-ttl" }
  | { readonly kind: "load"; readonly to: FieldBits; readonly value: bigint; readonly mask: bigint }
  | { readonly kind: "load-port"; readonly to: "inport" | "outport"; readonly name: string }
  | { readonly kind: "move" | "exchange"; readonly to: Place; readonly from: Place }
  /** A function by name; `to` takes its result. */
  | {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: readonly Argument[];
      readonly to: Place | undefined;
    }
  /** Actions on a packet that `name` makes. */
  | { readonly kind: "nested"; readonly name: string; readonly actions: readonly Action[] };

const NESTED: ReadonlySet<string> = new Set(OVN_LANGUAGE.texts("nested"));

/** Functions without a result. */
const CALLS: ReadonlySet<string> = new Set(OVN_LANGUAGE.texts("calls"));

/** Functions whose result is assigned. */
const RESULTS: ReadonlySet<string> = new Set(OVN_LANGUAGE.texts("results"));

class ActionParser {
  private readonly reader: TokenReader;
  private count = 0;

  constructor(source: string) {
    this.reader = new TokenReader(source);
  }

  all(): readonly Action[] {
    const { reader } = this;
    if (reader.token.text === "drop") {
      reader.take();
      reader.expect(";");
      const behind = reader.take();
      if (behind.kind !== "end") throw new LanguageError(behind.position, "drop stands alone");
      return [];
    }
    const actions: Action[] = [];
    while (reader.token.kind !== "end") actions.push(this.action(0));
    return actions;
  }

  private action(depth: number): Action {
    const { reader } = this;
    const { position, text } = reader.token;
    this.count += 1;
    if (this.count > ACTIONS_MAX)
      throw new LanguageError(position, `a flow has at most ${ACTIONS_MAX} actions`);
    if (depth > DEPTH_MAX) throw new LanguageError(position, `actions nest at most ${DEPTH_MAX} deep`);
    if (reader.token.kind !== "name") throw reader.fail("an action");
    const behind = reader.following.text;
    if (NESTED.has(text) && behind === "{") return this.nested(depth);
    if (behind === "=" || behind === "<->" || behind === "--" || behind === "[") return this.assignment();
    reader.take();
    let action: Action;
    if (text === "next") action = this.next();
    else if (text === "output") action = { kind: "output" };
    else if (CALLS.has(text)) {
      action = { kind: "call", name: text, arguments: this.argumentsInParentheses(), to: undefined };
    } else throw new LanguageError(position, `${text} is not an action`);
    reader.expect(";");
    return action;
  }

  private nested(depth: number): Action {
    const { reader } = this;
    const name = reader.take().text;
    reader.expect("{");
    const actions: Action[] = [];
    while (!reader.accept("}")) {
      if (reader.token.text === "drop" && actions.length === 0) reader.take();
      else actions.push(this.action(depth + 1));
    }
    reader.accept(";");
    return { kind: "nested", name, actions };
  }

  private next(): Action {
    const { reader } = this;
    let pipeline: Pipeline | undefined;
    let table: number | undefined;
    if (!reader.accept("(")) return { kind: "next", pipeline, table };
    while (!reader.accept(")")) {
      if (reader.token.kind === "constant") table = reader.number("a table", 254);
      else {
        const { position } = reader.token;
        const name = reader.name("pipeline or table");
        reader.expect("=");
        if (name === "table") table = reader.number("a table", 254);
        else {
          const value = reader.name("ingress or egress");
          if (name !== "pipeline" || (value !== "ingress" && value !== "egress")) {
            throw new LanguageError(
              position,
              "next takes pipeline=ingress, pipeline=egress and table=NUMBER",
            );
          }
          pipeline = value;
        }
      }
      reader.accept(",");
    }
    return { kind: "next", pipeline, table };
  }

  private assignment(): Action {
    const { reader } = this;
    const { position } = reader.token;
    const { name, symbol } = readField(reader);
    if (reader.accept("--")) {
      if (name !== "ip.ttl") throw new LanguageError(position, "only ip.ttl is counted down");
      reader.expect(";");
      return { kind: "decrement-ttl" };
    }
    const to = placeOf(name, symbol, position);
    const isExchange = reader.accept("<->");
    if (!isExchange) reader.expect("=");
    const action = this.assigned(to, isExchange);
    reader.expect(";");
    return action;
  }

  private assigned(to: Place, isExchange: boolean): Action {
    const { reader } = this;
    const { token } = reader;
    if (token.kind === "name" && RESULTS.has(token.text)) {
      if (isExchange) throw reader.fail("a field");
      reader.take();
      return { kind: "call", name: token.text, arguments: this.argumentsInParentheses(), to };
    }
    if (token.kind === "name") {
      const { name, symbol } = readField(reader);
      const from =
        symbol.kind === "field"
          ? ({ kind: "field", field: bitsOf(symbol) } as const)
          : placeOf(name, symbol, token.position);
      if (widthOf(to) !== widthOf(from)) throw new LanguageError(token.position, `${name} has another width`);
      return { kind: isExchange ? "exchange" : "move", to, from };
    }
    if (isExchange) throw reader.fail("a field");
    if (to.kind === "port") {
      if (token.kind !== "text") throw reader.fail("the name of a port in quotes");
      reader.take();
      return { kind: "load-port", to: to.port, name: portName(token.text) };
    }
    if (token.kind !== "constant") throw reader.fail("a constant or a field");
    reader.take();
    const { field } = to;
    checkWidth(token.constant, field.width, token.position);
    const full = (1n << BigInt(field.width)) - 1n;
    return {
      kind: "load",
      to: field,
      value: token.constant.value,
      mask: (token.constant.mask ?? full) & full,
    };
  }

  private argumentsInParentheses(): readonly Argument[] {
    const { reader } = this;
    const found: Argument[] = [];
    if (!reader.accept("(")) return found;
    while (!reader.accept(")")) {
      found.push(this.argument());
      if (!reader.accept(",")) reader.accept(";");
    }
    return found;
  }

  private argument(): Argument {
    const { reader } = this;
    const { token } = reader;
    if (token.kind !== "name" || reader.following.text !== "=") return this.value();
    reader.take();
    reader.expect("=");
    const values: Argument[] = [];
    const isBraced = reader.accept("{");
    while (!this.endsOption(isBraced)) {
      values.push(this.value());
      if (isBraced) reader.accept(",");
      else if (reader.is(",") && reader.following.kind !== "name") reader.take();
    }
    if (isBraced) reader.expect("}");
    return { kind: "option", name: token.text, values };
  }

  private endsOption(isBraced: boolean): boolean {
    const { reader } = this;
    if (reader.token.kind === "end") throw reader.fail(isBraced ? "}" : ")");
    return isBraced ? reader.is("}") : reader.is(")") || reader.is(";") || reader.is(",");
  }

  /** A field, a constant, a text, a word; addresses of back ends carry a port. */
  private value(): Argument {
    const { reader } = this;
    const { token } = reader;
    // `obs_point=$cookie` of `sample` is no address set: the name stands for the flow.
    if (token.kind === "text" || token.kind === "set" || token.kind === "group") {
      reader.take();
      return { kind: "text", text: token.text };
    }
    if (token.kind === "name") {
      if (!isField(token.text)) return { kind: "text", text: reader.take().text };
      const { name, symbol } = readField(reader);
      return symbol.kind === "field"
        ? { kind: "field", field: bitsOf(symbol) }
        : placeOf(name, symbol, token.position);
    }
    const isBracketed = reader.accept("[");
    const address = reader.token;
    if (address.kind !== "constant") throw reader.fail("an argument");
    reader.take();
    if (isBracketed) reader.expect("]");
    const { value, mask } = address.constant;
    if (!reader.accept(":")) return { kind: "constant", value, mask };
    const port = reader.number("a port", 65_535);
    return { kind: "text", text: `${isBracketed ? `[${address.text}]` : address.text}:${port}` };
  }
}

function isField(name: string): boolean {
  return /^(?:inport|outport|x{0,2}reg\d)$/.test(name) || name.includes(".");
}

function placeOf(name: string, symbol: FieldName, position: number): Place {
  if (symbol.kind === "port") return { kind: "port", port: symbol.base };
  if (symbol.kind === "field" && !symbol.isNominal) return { kind: "field", field: bitsOf(symbol) };
  if (symbol.kind === "field" && name.startsWith("icmp6.")) return { kind: "field", field: bitsOf(symbol) };
  throw new LanguageError(position, `${name} cannot be written`);
}

function widthOf(place: Place): number {
  return place.kind === "port" ? 0 : place.field.width;
}

/** Compiles the text of a flow's actions; an empty list drops. @throws LanguageError */
export function parseActions(source: string): readonly Action[] {
  return new ActionParser(source).all();
}

/** What a packet must be for an action to be carried out on it: the flow matches no other (ovn-sb(5), "Prerequisite"). */
const NEEDS: CheckedFields = OVN_LANGUAGE.within("needs");

/** The matches that all of these need besides that of their flow. */
export function needsOf(actions: readonly Action[]): ReadonlySet<string> {
  const needs = new Set<string>();
  for (const action of actions) {
    if (action.kind === "decrement-ttl") needs.add("ip");
    if (action.kind !== "call" && action.kind !== "nested") continue;
    const need =
      NEEDS.optionalText(action.name) ??
      (action.name.startsWith("ct_") && action.name !== "ct_clear" ? "ip" : "");
    if (need !== "") needs.add(need);
  }
  return needs;
}
