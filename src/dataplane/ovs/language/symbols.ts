/**
 * The fields that matches and actions name: their widths, what must hold before they mean something, and the names that
 * stand for a part of a field or for a whole match (ovn-sb(5), "Symbols").
 */
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { ovnLanguage } from "#data/facts.js";

/** Names of fields and of actions. */
export const OVN_LANGUAGE: CheckedFields = CheckedFields.ofTable(ovnLanguage());

/** A field of a packet or of its metadata. */
export interface FieldSymbol {
  readonly kind: "field";
  readonly base: string;
  readonly low: number;
  readonly width: number;
  /** A match that must hold first; empty for none. */
  readonly needs: string;
  /** Only equality may be asked for, and nothing assigned: the field decides which others exist. */
  readonly isNominal: boolean;
}

/** `inport`, `outport`: names of ports. */
export interface PortSymbol {
  readonly kind: "port";
  readonly base: "inport" | "outport";
}

/** A name for a match. */
export interface PredicateSymbol {
  readonly kind: "predicate";
  readonly match: string;
}

export type FieldName = FieldSymbol | PortSymbol | PredicateSymbol;

/** Registers overlap: `reg0` is the highest quarter of `xxreg0`, which is where all of them are kept. */
function registers(): Map<string, FieldName> {
  const names = new Map<string, FieldName>();
  const add = (name: string, base: string, low: number, width: number): void => {
    names.set(name, { kind: "field", base, low, width, needs: "", isNominal: false });
  };
  for (let wide = 0; wide < 2; wide++) {
    add(`xxreg${wide}`, `xxreg${wide}`, 0, 128);
    for (let half = 0; half < 2; half++) add(`xreg${wide * 2 + half}`, `xxreg${wide}`, 64 * (1 - half), 64);
    for (let part = 0; part < 4; part++) add(`reg${wide * 4 + part}`, `xxreg${wide}`, 32 * (3 - part), 32);
  }
  add("reg8", "xreg4", 32, 32);
  add("reg9", "xreg4", 0, 32);
  return names;
}

function rowsOf(field: "fields" | "parts"): string[][] {
  return OVN_LANGUAGE.texts(field).map((row) => row.split(" "));
}

function makeSymbols(): ReadonlyMap<string, FieldName> {
  const names = registers();
  names.set("inport", { kind: "port", base: "inport" });
  names.set("outport", { kind: "port", base: "outport" });
  for (const [name = "", width = "", needs = ""] of rowsOf("fields")) {
    const base = name.replace("!", "");
    names.set(base, { kind: "field", base, low: 0, width: Number(width), needs, isNominal: base !== name });
  }
  for (const [name = "", base = "", low = "", width = "", needs = ""] of rowsOf("parts")) {
    names.set(name, { kind: "field", base, low: Number(low), width: Number(width), needs, isNominal: false });
  }
  const predicates = OVN_LANGUAGE.within("predicates");
  for (const name of predicates.names()) names.set(name, { kind: "predicate", match: predicates.text(name) });
  return names;
}

/** Every name of a field. */
export const SYMBOLS: ReadonlyMap<string, FieldName> = makeSymbols();
