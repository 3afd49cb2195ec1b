/**
 * One piece of YAML or JSON to a plain value, as Kubernetes reads it: YAML 1.1 as far as the API machinery has it
 * (yes and on are truth values, 0755 is octal, dates and 1:30 are text), field names are text, no anchors are left.
 * Everything is bounded before anything recursive runs; what is wrong is a value with its offset.
 */
import {
  type Alias,
  Composer,
  type Document,
  type Pair,
  type ParsedNode,
  type ScalarTag,
  type Tags,
  isAlias,
  isMap,
  isScalar,
  isSeq,
} from "yaml";
import { LIMITS } from "#core/base/limits.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FieldPath } from "./field-path.ts";
import { stepsOf } from "./field-path.ts";
import { offsetsInJson } from "./json-offsets.ts";
import { isNestedDeeper } from "./json-pieces.ts";
import type { Piece } from "./piece.ts";
import { PlainYamlReader } from "./plain-yaml.ts";
import {
  composed,
  type YamlFault,
  faultOf,
  findDeepToken,
  findExcessToken,
  isOfIndentationAlone,
  tokensOf,
} from "./yaml-syntax.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** A fault of a text, with its code. */
export interface TextFault extends YamlFault {
  readonly code: KnowledgeCode;
}

export type ValueReading =
  /** One value per document of the text; a piece holds more than one only after a line of three dots. */
  { readonly values: readonly unknown[] } | { readonly faults: readonly TextFault[] };

/** Whole numbers: octal with a zero before them, and with prefixes. */
const INTEGER: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][\d_]*)$/,
  resolve(text: string): number {
    const digits = text.replaceAll("_", "").replace(/^[-+]/, "");
    const size = Number(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase());
    return text.startsWith("-") ? -size : size;
  },
};

/** Other numbers: there is a digit before the exponent, so that e-1 is a text. */
const FLOAT: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^[-+]?(?:\.\d+|\d[\d_]*(?:\.[\d_]*)?)(?:[eE][-+]?\d+)?$/,
  resolve: (text: string): number => Number(text.replaceAll("_", "")),
};

/** What JSON has no word for. */
const NO_NUMBER: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  resolve: (): number => Number.NaN,
};

/**
 * YAML 1.1 as Kubernetes' reader (goyaml.v2 of sigs.k8s.io/yaml, `resolve.go`) has it: numbers by rules of their own, no
 * dates, numbers to the base 60, bytes, sets and ordered maps.
 */
function kubernetesTags(tags: Tags): Tags {
  const kept = tags.filter((tag) => {
    if (typeof tag === "string") return true;
    return !/int|float|timestamp|binary|omap|pairs|set$/.test(tag.tag);
  });
  return [...kept, INTEGER, FLOAT, NO_NUMBER];
}

function tooLarge(offset: number, message: string): TextFault {
  const advice = "Leave out what the question does not need.";
  return { code: "manifest-too-large", offset, message, advice };
}

function invalid(offset: number, message: string, advice: string): TextFault {
  return { code: "manifest-invalid-yaml", offset, message, advice };
}

/** YAML 1.1 with the numbers of Kubernetes' reader, or YAML 1.2 as the library has it. */
type Language = "kubernetes" | "1.2";

/** Longer texts with a fault are not read a second time. */
const UNINDENTED_CHARACTERS_MAX = 262_144;

type Composed = readonly Document.Parsed[] | { readonly faults: readonly TextFault[] };

/**
 * The documents of a text, or its first faults. What Kubernetes' reader takes and the YAML specification does not is looked
 * for in a second reading, since the first one finds a missing bracket where it is missing.
 */
function compose(text: string, language: Language = "kubernetes"): Composed {
  const read = composeOnce(text, language, false);
  if (!("faults" in read) || language !== "kubernetes" || text.length > UNINDENTED_CHARACTERS_MAX)
    return read;
  if (read.faults.some(({ code }) => code !== "manifest-invalid-yaml")) return read;
  const unindented = composeOnce(text, language, true);
  return "faults" in unindented ? read : unindented;
}

function composeOnce(text: string, language: Language, isUnindented: boolean): Composed {
  if (text.length > LIMITS.manifestDocumentCharactersMax) {
    const mebi = LIMITS.manifestDocumentCharactersMax / 1_048_576;
    return { faults: [tooLarge(0, `a document has more than ${mebi} Mi characters`)] };
  }
  const excess = findExcessToken(text, LIMITS.manifestDocumentTokensMax);
  if (excess !== undefined) {
    const message = `a document has more than ${LIMITS.manifestDocumentTokensMax} lines and values`;
    return { faults: [tooLarge(excess, message)] };
  }
  const tokens = tokensOf(text, { isUnindented });
  const deep = findDeepToken(tokens);
  if (deep !== undefined) return { faults: [tooLarge(deep.offset, deep.message)] };
  const composer = new Composer({
    ...(language === "1.2" ? { version: "1.2" } : { version: "1.1", customTags: kubernetesTags }),
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
  });
  const documents = composed<Document>(() =>
    composer.compose(tokens, false, text.length),
  ) as Document.Parsed[];
  const errors = documents
    .flatMap((document) => document.errors)
    .filter((error) => !(isUnindented && isOfIndentationAlone(error)));
  if (errors.length === 0) return documents;
  return { faults: errors.map((error) => ({ code: "manifest-invalid-yaml", ...faultOf(error) })) };
}

/** Thrown inside this file only, to leave the recursion at the first fault. */
class Stop extends Error {
  readonly fault: TextFault;

  constructor(fault: TextFault) {
    super(fault.message);
    this.fault = fault;
  }
}

function isMerge(pair: Pair): boolean {
  return isScalar(pair.key) && pair.key.source === "<<" && pair.key.type === "PLAIN";
}

/** Turns the nodes of one document into plain values. The depth of the text is known to be small. */
class PlainValues {
  private readonly anchors = new Map<string, ParsedNode>();
  private readonly open = new Set<ParsedNode>();
  private aliasLevel = 0;
  private aliasedValues = 0;

  of(node: ParsedNode | null): unknown {
    if (node === null) return null;
    if (this.aliasLevel > 0) this.countAliased(node);
    if (isAlias(node)) return this.ofAlias(node);
    if (typeof node.anchor === "string") this.anchors.set(node.anchor, node);
    if (isScalar(node)) return this.ofScalar(node.value, node);
    this.open.add(node);
    const value = isSeq(node)
      ? node.items.map((item) => this.of(item as ParsedNode | null))
      : this.ofMap(node);
    this.open.delete(node);
    return value;
  }

  private countAliased(node: ParsedNode): void {
    if (++this.aliasedValues <= LIMITS.aliasedValuesMax) return;
    const message = `the aliases of this document stand for more than ${LIMITS.aliasedValuesMax} values`;
    throw new Stop(tooLarge(node.range[0], message));
  }

  private ofAlias(alias: Alias.Parsed): unknown {
    const target = this.anchors.get(alias.source);
    if (target === undefined || this.open.has(target)) {
      const message =
        target === undefined
          ? `the alias *${alias.source} has no anchor before it`
          : `the alias *${alias.source} is used inside its own value`;
      const advice = `Write &${alias.source} at the value that is meant, before this place.`;
      throw new Stop(invalid(alias.range[0], message, advice));
    }
    this.aliasLevel++;
    const value = this.of(target);
    this.aliasLevel--;
    return value;
  }

  private ofScalar(value: unknown, node: ParsedNode): unknown {
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    const source = isScalar(node) ? (node.source ?? value) : "";
    // The library takes "." and "E2" for numbers; Go's reader wants a digit, and reads text.
    if (typeof source === "string" && Number.isNaN(value) && !/^[-+]?\.(?:nan|inf)$/i.test(source))
      return source;
    throw new Stop(invalid(node.range[0], `${source} cannot be said in JSON`, "Put it in quotes."));
  }

  private ofMap(node: ParsedNode): Record<string, unknown> {
    const fields = new Map<string, unknown>();
    const merged = new Map<string, unknown>();
    for (const pair of isMap(node) ? node.items : []) {
      if (isMerge(pair)) {
        this.merge(pair.value, merged);
        continue;
      }
      const name = this.nameOf(pair.key, node);
      if (fields.has(name)) {
        const message = `the field ${JSON.stringify(name)} is given twice`;
        const key = pair.key as ParsedNode | null;
        throw new Stop(invalid(key?.range[0] ?? node.range[0], message, "Keep one of the two."));
      }
      fields.set(name, this.of(pair.value));
    }
    for (const [name, value] of merged) if (!fields.has(name)) fields.set(name, value);
    return Object.fromEntries(fields);
  }

  /** `<<: *defaults` takes over the fields of one mapping, or of several, the first of which wins. */
  private merge(node: ParsedNode | null, merged: Map<string, unknown>): void {
    const value = this.of(node);
    for (const source of Array.isArray(value) ? value : [value]) {
      if (typeof source !== "object" || source === null || Array.isArray(source)) {
        const message = WORDS.mergeKeyNotMapping;
        throw new Stop(invalid(node?.range[0] ?? 0, message, "Write an alias of a mapping behind <<."));
      }
      for (const [name, field] of Object.entries(source as object))
        if (!merged.has(name)) merged.set(name, field);
    }
  }

  /** A field's name; numbers and truth values stand for their text, as in Kubernetes. */
  private nameOf(key: ParsedNode | null, map: ParsedNode): string {
    if (isAlias(key)) {
      const value = this.ofAlias(key);
      if (typeof value === "string") return value;
    }
    if (isScalar(key) && typeof key.value === "string") return key.value;
    if (isScalar(key) && (typeof key.value === "number" || typeof key.value === "boolean"))
      return String(key.value);
    const offset = key?.range[0] ?? map.range[0];
    throw new Stop(invalid(offset, "a field's name must be text", "Write name: value."));
  }
}

/** The values of a YAML text, or what is wrong with it. `reader`: one for all the texts of a dump. */
export function readYaml(text: string, reader: PlainYamlReader = new PlainYamlReader()): ValueReading {
  const plain = text.length > LIMITS.manifestDocumentCharactersMax ? undefined : reader.read(text);
  return plain === undefined ? readAnyYaml(text) : { values: [plain.value] };
}

/** The values of a piece of YAML. */
export function readYamlPiece(piece: Piece, reader: PlainYamlReader): ValueReading {
  const { bytes } = piece;
  if (bytes === undefined || bytes.length > LIMITS.manifestDocumentCharactersMax)
    return readYaml(piece.text, reader);
  const plain = reader.readBytes(bytes);
  return plain === undefined ? readAnyYaml(piece.text) : { values: [plain.value] };
}

/** The same by the library alone, which knows the whole language. */
export function readAnyYaml(text: string, language?: Language): ValueReading {
  const documents = compose(text, language);
  if ("faults" in documents) return documents;
  try {
    return { values: documents.map((document) => new PlainValues().of(document.contents)) };
  } catch (error) {
    if (error instanceof Stop) return { faults: [error.fault] };
    throw error;
  }
}

/** The value of a JSON text, or what is wrong with it. What JSON refuses may still be YAML. */
export function readJson(text: string, reader?: PlainYamlReader): ValueReading {
  if (isNestedDeeper(text, LIMITS.documentDepthMax)) {
    return { faults: [tooLarge(0, `values are nested more than ${LIMITS.documentDepthMax} levels deep`)] };
  }
  try {
    return { values: [JSON.parse(text)] };
  } catch {
    return readYaml(text, reader);
  }
}

/** The offset of a field; of the nearest value around it, when it is not there itself. */
function offsetIn(contents: ParsedNode | null, path: FieldPath | undefined): number {
  let node = contents;
  let offset = node?.range[0] ?? 0;
  for (const step of stepsOf(path)) {
    if (isSeq(node) && typeof step === "number") {
      node = (node.items[step] as ParsedNode | null | undefined) ?? null;
      offset = node?.range[0] ?? offset;
    } else if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
      if (pair === undefined) break;
      const key = pair.key as ParsedNode | null;
      node = pair.value;
      offset = key?.range[0] ?? offset;
    } else break;
  }
  return offset;
}

/** The offsets of fields of the first document of a text. The text is parsed again: places are seldom asked for. */
export function offsetsOf(
  text: string,
  paths: readonly (FieldPath | undefined)[],
  reader: PlainYamlReader = new PlainYamlReader(),
): readonly number[] {
  if (text.length > LIMITS.manifestDocumentCharactersMax) return offsetsInAnyYaml(text, paths);
  const inJson = /^\s*[[{]/.test(text) ? offsetsInJson(text, paths) : undefined;
  return inJson ?? reader.offsets(text, paths) ?? offsetsInAnyYaml(text, paths);
}

/** The same by the library alone. */
export function offsetsInAnyYaml(text: string, paths: readonly (FieldPath | undefined)[]): readonly number[] {
  const documents = compose(text);
  if ("faults" in documents) return paths.map(() => 0);
  const contents = documents[0]?.contents ?? null;
  return paths.map((path) => offsetIn(contents, path));
}

/** Where a field stands in a text: its name, and its value. Of what is not there, the nearest thing around it. */
export interface FieldRange {
  /** Of the name; of the value itself, for the items of a list. */
  readonly start: number;
  readonly end: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

function rangeIn(contents: ParsedNode | null, path: FieldPath | undefined): FieldRange {
  let node = contents;
  let [valueStart, valueEnd] = node?.range ?? [0, 0];
  let [start, end] = [valueStart, valueEnd];
  for (const step of stepsOf(path)) {
    let key: ParsedNode | null = null;
    if (isSeq(node) && typeof step === "number" && step < node.items.length)
      node = node.items[step] as ParsedNode | null;
    else if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
      if (pair === undefined) break;
      key = pair.key as ParsedNode | null;
      node = pair.value;
    } else break;
    [valueStart, valueEnd] = node?.range ?? key?.range ?? [start, end];
    [start, end] = key?.range ?? [valueStart, valueEnd];
  }
  return { start, end, valueStart, valueEnd };
}

/** The places of fields of the first document of a text. */
export function rangesOf(text: string, paths: readonly (FieldPath | undefined)[]): readonly FieldRange[] {
  const documents = compose(text);
  const contents = "faults" in documents ? null : (documents[0]?.contents ?? null);
  return paths.map((path) => rangeIn(contents, path));
}
