/**
 * The configuration file: YAML or JSON to a configuration. Upstream decodes strictly first; where only fields that it
 * does not know stand in the way, it says so in its log and goes on without them.
 */
import { isFields } from "#core/base/json.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { type FieldPath, below, formatPath } from "#contracts/kubernetes/text/field-path.ts";
import { offsetsOf, readJson, readYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import {
  API_VERSION,
  FIELDS,
  type FieldDefinition,
  type FieldType,
  KIND,
  type KubeProxyConfiguration,
  emptyConfiguration,
  setAt,
} from "./configuration.ts";
import { applyDefaults } from "./settings.ts";
import { parseDuration } from "./go-texts.ts";

export interface Decoded {
  /** With defaults; undefined when there are problems. */
  readonly configuration: KubeProxyConfiguration | undefined;
  /** Why the file cannot be used. */
  readonly problems: readonly FileProblem[];
  /** What is skipped. */
  readonly warnings: readonly FileProblem[];
}

interface Fault {
  readonly path: FieldPath | undefined;
  readonly message: string;
  readonly advice: string;
}

const EXAMPLE = `A file begins with\n        apiVersion: ${API_VERSION}\n        kind: ${KIND}`;

const WANTED: Readonly<Record<FieldType, string>> = {
  text: "a text",
  truth: "true or false",
  int32: "a whole number",
  number: "a number",
  duration: "a duration such as 30s, 1m or 1h30m, as text",
  texts: "a list of texts",
  truths: "names with true or false, such as {WinDSR: true}",
  quantity: "a size such as 64Ki",
  any: "",
};

const INT32_MAX = 2 ** 31 - 1;

/** The value as the configuration holds it; undefined when it is of another type. */
function convert(value: unknown, type: FieldType): unknown {
  switch (type) {
    case "text":
      return typeof value === "string" ? value : undefined;
    case "truth":
      return typeof value === "boolean" ? value : undefined;
    case "int32":
      return typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= INT32_MAX
        ? value
        : undefined;
    case "number":
      return typeof value === "number" ? value : undefined;
    case "duration":
      return typeof value === "string" ? parseDuration(value) : undefined;
    case "texts":
      return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
    case "truths":
      return isFields(value) && Object.values(value).every((item) => typeof item === "boolean")
        ? value
        : undefined;
    case "quantity":
      return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
    case "any":
      return value;
  }
}

/** Fields by path, and the sections that they stand in. */
const DEFINITIONS: ReadonlyMap<string, FieldDefinition> = new Map(FIELDS.map((field) => [field.path, field]));
const SECTIONS: ReadonlySet<string> = new Set(
  FIELDS.flatMap(({ path }) => {
    const steps = path.split(".");
    return steps.slice(1).map((_, index) => steps.slice(0, index + 1).join("."));
  }),
);

/** The names that may stand in a section; the empty path is the file itself. */
function namesIn(section: string): readonly string[] {
  const begin = section === "" ? "" : `${section}.`;
  const names = [...DEFINITIONS.keys(), ...SECTIONS]
    .filter((path) => path.startsWith(begin))
    .map((path) => path.slice(begin.length).split(".")[0] ?? "");
  return [...new Set(section === "" ? ["apiVersion", "kind", ...names] : names)];
}

/** Where a field of that name stands, when it stands elsewhere. */
function elsewhere(name: string): string | undefined {
  return [...DEFINITIONS.keys()].find((path) => path.split(".").pop() === name && path.includes("."));
}

function unknownField(name: string, section: string, path: FieldPath): Fault {
  const [near] = nearestNames(name, namesIn(section), 1);
  const place = elsewhere(name);
  const advice =
    near !== undefined
      ? `Did you mean ${near}? Names are exact; the field is skipped.`
      : place !== undefined
        ? `It is below ${place.slice(0, place.lastIndexOf("."))}; here it is skipped.`
        : `The field is skipped. Known here: ${namesIn(section).join(", ")}.`;
  return { path, message: `unknown field ${JSON.stringify(formatPath(path))}`, advice };
}

class Reader {
  readonly configuration = emptyConfiguration();
  readonly faults: Fault[] = [];
  readonly unknown: Fault[] = [];

  readSection(value: Readonly<Record<string, unknown>>, section: string, at: FieldPath | undefined): void {
    for (const [name, field] of Object.entries(value)) {
      if (section === "" && (name === "apiVersion" || name === "kind")) continue;
      const path = below(at, name);
      const key = section === "" ? name : `${section}.${name}`;
      const definition = DEFINITIONS.get(key);
      if (definition !== undefined) this.readField(field, definition, path);
      else if (!SECTIONS.has(key)) this.unknown.push(unknownField(name, section, path));
      else if (isFields(field)) this.readSection(field, key, path);
      else if (field !== null)
        this.fault(path, "must be a section with fields of its own", "Write its fields below it.");
    }
  }

  fault(path: FieldPath | undefined, message: string, advice: string): void {
    this.faults.push({ path, message, advice });
  }

  private readField(value: unknown, { path: key, type }: FieldDefinition, path: FieldPath): void {
    // Go leaves a field alone when it reads null.
    if (value === null) return;
    const converted = convert(value, type);
    if (converted !== undefined) setAt(this.configuration, key, converted);
    else this.fault(path, `is ${show(value)}, and must be ${WANTED[type]}`, adviceFor(value, type));
  }
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function adviceFor(value: unknown, type: FieldType): string {
  if (type === "text" && (typeof value === "number" || typeof value === "boolean"))
    return "Put it in quotes.";
  if (type === "duration" && typeof value === "number") return `Write ${value}s, if seconds are meant.`;
  if (type === "truth" && typeof value === "string") return "Write it without quotes: true or false.";
  return `Write ${WANTED[type]}.`;
}

function checkKind(value: Readonly<Record<string, unknown>>): Fault | undefined {
  const { apiVersion, kind } = value;
  if (kind === undefined || kind === "")
    return { path: undefined, message: "Object 'Kind' is missing", advice: `${EXAMPLE}.` };
  if (apiVersion === undefined || apiVersion === "")
    return { path: undefined, message: "Object 'apiVersion' is missing", advice: `${EXAMPLE}.` };
  if (kind !== KIND || apiVersion !== API_VERSION) {
    const path = below(undefined, kind === KIND ? "apiVersion" : "kind");
    const message = `no kind ${show(kind)} is registered for version ${show(apiVersion)}`;
    return { path, message, advice: `kube-proxy reads kind ${KIND} of ${API_VERSION} alone.` };
  }
  return undefined;
}

/** Line and column, from 1, of an offset. */
function placeAt(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

type ProblemCode = "kube-proxy-configuration-invalid" | "kube-proxy-field-unknown";

function placed(
  file: string,
  text: string,
  faults: readonly Fault[],
  code: ProblemCode,
): readonly FileProblem[] {
  if (faults.length === 0) return [];
  const offsets = offsetsOf(
    text,
    faults.map(({ path }) => path),
  );
  return faults.map(({ path, message, advice }, index) => ({
    code,
    file,
    ...placeAt(text, offsets[index] ?? 0),
    path: formatPath(path),
    message,
    advice,
  }));
}

/** Where fields stand in the file, for those who find fault with their values later. */
export function placeOfField(text: string, path: string): { readonly line: number; readonly column: number } {
  const [offset] = offsetsOf(text, [below(undefined, ...path.split("."))]);
  return placeAt(text, offset ?? 0);
}

/** Reads a configuration file. Never throws for what it holds. */
export function decodeConfiguration(file: string, source: string): Decoded {
  const text = source.replace(/^\uFEFF/, "");
  const reading = /^\s*\{/.test(text) ? readJson(text) : readYaml(text);
  if ("faults" in reading) {
    const problems = reading.faults.map(({ offset, message, advice }): FileProblem => {
      const place = placeAt(text, offset);
      return { code: "kube-proxy-configuration-invalid", file, ...place, path: "", message, advice };
    });
    return { configuration: undefined, problems, warnings: [] };
  }
  const [value] = reading.values;
  const empty: Fault = {
    path: undefined,
    message: text.trim() === "" ? "the file is empty: Object 'Kind' is missing" : "the file holds no object",
    advice: `${EXAMPLE}. "kube-proxy --write-config-to FILE" writes one with every field.`,
  };
  if (!isFields(value)) return invalid(file, text, [empty]);
  const wrongKind = checkKind(value);
  if (wrongKind !== undefined) return invalid(file, text, [wrongKind]);
  const reader = new Reader();
  reader.readSection(value, "", undefined);
  const warnings = placed(file, text, reader.unknown, "kube-proxy-field-unknown");
  if (reader.faults.length > 0) return { ...invalid(file, text, reader.faults), warnings };
  return { configuration: applyDefaults(reader.configuration), problems: [], warnings };
}

function invalid(file: string, text: string, faults: readonly Fault[]): Decoded {
  const problems = placed(file, text, faults, "kube-proxy-configuration-invalid");
  return { configuration: undefined, problems, warnings: [] };
}
