/**
 * Objects in protobuf, as clients written in Go prefer to send what they create (k8s.io/apimachinery,
 * `runtime/serializer/protobuf`). Only requests are read; answers are JSON, which the same clients take.
 */
import { encodeBase64 } from "hono/utils/encode";
import { LIMITS } from "#core/base/limits.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { type MessageField, Messages } from "#contracts/kubernetes/messages.ts";

/** What every message begins with: `k8s` and a zero. */
const MAGIC: readonly number[] = [0x6b, 0x38, 0x73, 0x00];

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH = 2;
const FIXED_32 = 5;

function broken(why: string): KubeError {
  return new KubeError("kubernetes-request-invalid", 400, `the protobuf body is broken: ${why}`);
}

interface Field {
  readonly number: number;
  /** Of a varint. */
  readonly value: bigint;
  readonly bytes: Uint8Array;
}

const NO_BYTES: Uint8Array = new Uint8Array();

/** The fields of a message, in order. */
class Fields {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  *[Symbol.iterator](): Generator<Field> {
    while (this.at < this.bytes.length) {
      const tag = Number(this.varint());
      const number = Math.floor(tag / 8);
      const type = tag & 7;
      if (type === VARINT) yield { number, value: this.varint(), bytes: NO_BYTES };
      else if (type === LENGTH) yield { number, value: 0n, bytes: this.take(Number(this.varint())) };
      else if (type === FIXED_64) yield { number, value: 0n, bytes: this.take(8) };
      else if (type === FIXED_32) yield { number, value: 0n, bytes: this.take(4) };
      else throw broken(`a field of the wire type ${type}`);
    }
  }

  private varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw broken("it ends within a number");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw broken("a number has more than ten bytes");
  }

  private take(length: number): Uint8Array {
    const end = this.at + length;
    if (!(length >= 0) || end > this.bytes.length) throw broken("it ends within a field");
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

function textOf(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw broken("a text is not written in UTF-8");
  }
}

const MS_PER_SECOND = 1_000;
const NANOS_PER_MICRO = 1_000;

/** RFC 3339, with microseconds where the type has them; undefined for no time. */
function timeOf(bytes: Uint8Array, hasMicros: boolean): string | undefined {
  let [seconds, nanos] = [0, 0];
  for (const { number, value } of new Fields(bytes)) {
    if (number === 1) seconds = Number(value);
    if (number === 2) nanos = Number(value);
  }
  if (seconds === 0 && nanos === 0) return undefined;
  const date = new Date(seconds * MS_PER_SECOND);
  if (Number.isNaN(date.getTime())) throw broken("a time that there is not");
  const text = date.toISOString().replace(/\.\d+Z$/, "");
  const micros = String(Math.floor(nanos / NANOS_PER_MICRO)).padStart(6, "0");
  return hasMicros ? `${text}.${micros}Z` : `${text}Z`;
}

/** A number or a text; undefined for the 0 that stands for none. */
function intOrString(bytes: Uint8Array): number | string | undefined {
  let [type, number, text] = [0n, 0n, ""];
  for (const field of new Fields(bytes)) {
    if (field.number === 1) type = field.value;
    if (field.number === 2) number = field.value;
    if (field.number === 3) text = textOf(field.bytes);
  }
  if (type === 1n) return text === "" ? undefined : text;
  return number === 0n ? undefined : Number(number);
}

function firstText(bytes: Uint8Array): string | undefined {
  for (const { number, bytes: inside } of new Fields(bytes)) if (number === 1) return textOf(inside);
  return undefined;
}

/** Types that are one value in JSON. */
const SPECIAL: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = Object.freeze({
  "meta/v1.Time": (bytes: Uint8Array) => timeOf(bytes, false),
  "meta/v1.MicroTime": (bytes: Uint8Array) => timeOf(bytes, true),
  "intstr.IntOrString": intOrString,
  "resource.Quantity": firstText,
  // Who set which field, and objects of other kinds: of no use here.
  "meta/v1.FieldsV1": () => undefined,
  "runtime.RawExtension": () => undefined,
});

/** Numbers that Go holds by pointer: a 0 that was sent is meant. All other ones are always sent, and 0 is none. */
const ZERO_COUNTS: ReadonlySet<string> = new Set([
  "replicas",
  "terminationGracePeriodSeconds",
  "activeDeadlineSeconds",
  "parallelism",
  "completions",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "revisionHistoryLimit",
  "progressDeadlineSeconds",
  "tolerationSeconds",
  "runAsUser",
  "runAsGroup",
  "fsGroup",
  "priority",
  "partition",
  "leaseTransitions",
  "gracePeriodSeconds",
]);

function fieldsByNumber(): ReadonlyMap<string, ReadonlyMap<number, MessageField>> {
  const messages = new Messages();
  const fieldsOf = (name: string): ReadonlyMap<number, MessageField> =>
    new Map(messages.fieldsOf(name).map((field) => [field.number, field]));
  return new Map(messages.names().map((name) => [name, fieldsOf(name)]));
}

/** The fields of each message by number. */
const MESSAGES = fieldsByNumber();
const NO_FIELDS: ReadonlyMap<number, MessageField> = new Map();

/** A value as JSON has it; undefined for one that says nothing. */
function valueOf(name: string, type: string, field: Field, depth: number): unknown {
  if (type === "string") {
    const text = textOf(field.bytes);
    return text === "" ? undefined : text;
  }
  if (type === "bool") return field.value !== 0n;
  if (type === "bytes") return encodeBase64(field.bytes.slice().buffer);
  if (/^u?int(32|64)$/.test(type)) {
    return field.value === 0n && !ZERO_COUNTS.has(name) ? undefined : Number(field.value);
  }
  const special = Object.hasOwn(SPECIAL, type) ? SPECIAL[type] : undefined;
  return special === undefined ? messageOf(type, field.bytes, depth + 1) : special(field.bytes);
}

/** A mapping's entry: key and value. */
function entryOf(name: string, type: string, bytes: Uint8Array, depth: number): readonly [string, unknown] {
  let key = "";
  let value: unknown;
  for (const field of new Fields(bytes)) {
    if (field.number === 1) key = textOf(field.bytes);
    if (field.number === 2) value = valueOf(name, type, field, depth);
  }
  return [key, value ?? (type === "string" ? "" : undefined)];
}

/** A message that grows field by field. */
class Message {
  private readonly values = new Map<string, unknown>();
  private readonly lists = new Map<string, unknown[]>();
  private readonly mappings = new Map<string, Map<string, unknown>>();

  add({ name, type, form }: MessageField, field: Field, depth: number): void {
    if (form === "mapping") {
      const entries = this.mappings.get(name) ?? new Map<string, unknown>();
      this.mappings.set(name, entries);
      entries.set(...entryOf(name, type, field.bytes, depth));
      return;
    }
    const value = valueOf(name, type, field, depth);
    if (form === "list") {
      const items = this.lists.get(name) ?? [];
      this.lists.set(name, items);
      items.push(value ?? (type === "string" ? "" : {}));
    } else if (form === "inline") {
      for (const [inner, each] of Object.entries(value as object)) this.values.set(inner, each);
    } else if (value !== undefined) this.values.set(name, value);
  }

  toJson(): Readonly<Record<string, unknown>> {
    const mappings = [...this.mappings].map(
      ([name, entries]) => [name, Object.fromEntries(entries)] as const,
    );
    return Object.fromEntries([...this.values, ...this.lists, ...mappings]);
  }
}

function messageOf(message: string, bytes: Uint8Array, depth: number): Readonly<Record<string, unknown>> {
  if (depth > LIMITS.documentDepthMax) throw broken("it is nested too deep");
  const types = MESSAGES.get(message) ?? NO_FIELDS;
  const result = new Message();
  for (const field of new Fields(bytes)) {
    const known = types.get(field.number);
    // A field of a later version than this one: Kubernetes passes it over as well.
    if (known !== undefined) result.add(known, field, depth);
  }
  return result.toJson();
}

/** The name of a message here. Options of deletions come under the version of any group. */
function messageName(apiVersion: string, kind: string): string {
  return kind === "DeleteOptions" ? "meta/v1.DeleteOptions" : `${apiVersion}.${kind}`;
}

/** The object of a body in protobuf, as its JSON would be. @throws KubeError `kubernetes-request-invalid`. */
export function decodeProtobuf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  if (!MAGIC.every((byte, index) => bytes[index] === byte))
    throw broken("it does not begin as Kubernetes' do");
  let [apiVersion, kind] = ["", ""];
  let raw: Uint8Array = NO_BYTES;
  for (const field of new Fields(bytes.subarray(MAGIC.length))) {
    if (field.number === 1) {
      for (const inner of new Fields(field.bytes)) {
        if (inner.number === 1) apiVersion = textOf(inner.bytes);
        if (inner.number === 2) kind = textOf(inner.bytes);
      }
    }
    if (field.number === 2) raw = field.bytes;
  }
  const message = messageName(apiVersion, kind);
  if (!MESSAGES.has(message)) {
    throw new KubeError(
      "kubernetes-request-invalid",
      400,
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  }
  return { ...messageOf(message, raw, 0), apiVersion, kind };
}
