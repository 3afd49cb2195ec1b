/** What `data/` holds, read field by field. Data that is wrong is our fault: it throws, and says in which file and line. */
import type { Table } from "#data/facts.js";
import { type Fields, isFields } from "../base/json.ts";
import { type KnowledgeCode, isKnowledgeCode } from "./codes.ts";

/** Where a field stands, by the names that lead to it. */
export type PlaceOf = (path: readonly string[]) => string;

export class CheckedFields {
  private readonly fields: Fields;
  private readonly placeOf: PlaceOf;
  private readonly read = new Set<string>();

  constructor(value: unknown, placeOf: PlaceOf) {
    this.placeOf = placeOf;
    this.fields = isFields(value) ? value : this.fail("no fields");
  }

  static ofTable(table: Table): CheckedFields {
    return new CheckedFields(table.value, (path) => table.placeOf(path));
  }

  text(field: string): string {
    return this.optionalText(field) ?? this.fail(`${field} is missing`);
  }

  optionalText(field: string): string | undefined {
    const value = this.take(field);
    if (value === undefined || typeof value === "string") return value;
    return this.fail(`${field} is not a text`, field);
  }

  /** A list of texts; empty where there is none. */
  texts(field: string): readonly string[] {
    const value = this.take(field) ?? [];
    if (Array.isArray(value) && value.every((each) => typeof each === "string")) return Object.freeze(value);
    return this.fail(`${field} is not a list of texts`, field);
  }

  /** Lists of texts in a list; empty where there is none. */
  lists(field: string): readonly (readonly string[])[] {
    return this.list(field).map((each) => {
      if (Array.isArray(each) && each.every((text) => typeof text === "string")) return Object.freeze(each);
      return this.fail(`${field} is not a list of lists of texts`, field);
    });
  }

  /** One of some words. */
  optionalWord<Word extends string>(field: string, words: readonly Word[]): Word | undefined {
    const value = this.optionalText(field);
    return value === undefined ? undefined : this.toWord(field, value, words);
  }

  /** What a field holds, as one of some words. */
  toWord<Word extends string>(field: string, value: unknown, words: readonly Word[]): Word {
    return words.find((each) => each === value) ?? this.fail(`${field}: ${String(value)} is unknown`, field);
  }

  /** Some of some words, as a list or as one; empty where there is none. */
  words<Word extends string>(field: string, words: readonly Word[]): readonly Word[] {
    const value = this.take(field) ?? [];
    const list: readonly unknown[] = Array.isArray(value) ? (value as readonly unknown[]) : [value];
    return list.map((each) => this.toWord(field, each, words));
  }

  word<Word extends string>(field: string, words: readonly Word[]): Word {
    return this.optionalWord(field, words) ?? this.fail(`${field} is missing`);
  }

  optionalNumber(field: string): number | undefined {
    const value = this.take(field);
    if (value === undefined || typeof value === "number") return value;
    return this.fail(`${field} is not a number`, field);
  }

  number(field: string): number {
    return this.optionalNumber(field) ?? this.fail(`${field} is missing`);
  }

  isSet(field: string): boolean {
    const value = this.take(field) ?? false;
    return typeof value === "boolean" ? value : this.fail(`${field} is neither true nor false`, field);
  }

  code(field: string): KnowledgeCode {
    return this.optionalCode(field) ?? this.fail(`${field} is missing`);
  }

  optionalCode(field: string): KnowledgeCode | undefined {
    const value = this.optionalText(field);
    return value === undefined ? undefined : this.toCode(field, value);
  }

  /** A list of codes; empty where there is none. */
  codes(field: string): readonly KnowledgeCode[] {
    return this.texts(field).map((each) => this.toCode(field, each));
  }

  /** The fields of a field. */
  within(field: string): CheckedFields {
    return new CheckedFields(this.take(field), (path) => this.placeOf([field, ...path]));
  }

  /** The fields of each item of a list; empty where there is none. */
  items(field: string): readonly CheckedFields[] {
    return this.list(field).map((_, index) => this.item(field, index));
  }

  /** The fields of one item of a list. */
  item(field: string, index: number): CheckedFields {
    const placeOf: PlaceOf = (path) => this.placeOf([field, String(index), ...path]);
    return new CheckedFields(this.list(field)[index], placeOf);
  }

  /** A list, unchecked; empty where there is none. */
  list(field: string): readonly unknown[] {
    const value = this.take(field) ?? [];
    return Array.isArray(value) ? (value as readonly unknown[]) : this.fail(`${field} is not a list`, field);
  }

  /** All fields, each with those that it has. */
  rows(): readonly (readonly [name: string, row: CheckedFields])[] {
    return Object.keys(this.fields).map((name) => [name, this.within(name)] as const);
  }

  /** The names of all fields. */
  names(): readonly string[] {
    return Object.keys(this.fields);
  }

  has(field: string): boolean {
    return Object.hasOwn(this.fields, field);
  }

  /** What a field holds, unchecked. */
  take(field: string): unknown {
    this.read.add(field);
    return this.fields[field];
  }

  /** @throws Error where there is a field that was not asked for. */
  end(): void {
    const unknown = Object.keys(this.fields).filter((field) => !this.read.has(field));
    if (unknown.length > 0) this.fail(`unknown: ${unknown.join(", ")}`, unknown[0]);
  }

  /** @throws Error that says where the field stands, or all of them. */
  fail(why: string, field?: string): never {
    throw new Error(`${this.placeOf(field === undefined ? [] : [field])}: ${why}`);
  }

  private toCode(field: string, value: string): KnowledgeCode {
    return isKnowledgeCode(value)
      ? value
      : this.fail(`${field}: ${value} is no code of the catalogue`, field);
  }
}
