/** Reference tables of JSON documents, from their shapes. */
import {
  type Field,
  type ObjectShape,
  type Shape,
  fieldOf,
  fieldsOf,
  isChoice,
  resolveShape,
  describe,
} from "#core/base/shape.ts";
import { formatMarkdownTable } from "./markdown-table.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { API_ROUTES, API_SHAPES, type ApiRoute } from "#cluster/api/schema.ts";
import { NODE_REQUEST } from "#cluster/life/node-change.ts";
import { NODE_EVENT, NOTE_EVENT, OBJECT_EVENT, PROGRESS_EVENT } from "#cluster/session/session.ts";
import { GAP_EVENT } from "#cluster/api/documents.ts";
import { EXEC_REPORT } from "#cluster/exec/exec-report.ts";
import { NAME_LOOKUP, RESOLUTION_REPORT } from "#cluster/trace/resolve-report.ts";
import { TRACE_LEG, TRACE_REPORT, TRACE_RESOLUTION, TRACE_STEP } from "#cluster/trace/trace-report.ts";
import { VERIFY_BASIS, VERIFY_CELL, VERIFY_FINDING, VERIFY_REPORT } from "#cluster/verify/report.ts";
import { VERIFY_COMPARISON } from "#cluster/verify/compare.ts";
import { BRING_UP_REPORT, STEP_REPORT } from "#cluster/bring-up/report.ts";
import { HNS_DUMP } from "#contracts/hcn/dumps.ts";
import { LINT_DOCUMENT, LINT_FINDING_DOCUMENT } from "#diagnose/lint/report/format-json.ts";
import { KNOWLEDGE_ENTRY } from "#diagnose/catalogue/entry.ts";
import {
  ERRORS_DOCUMENT,
  ERROR_DOCUMENT,
  EXPLANATION_LIST,
} from "#diagnose/catalogue/errors/error-documents.ts";
import { LOG_FINDINGS, LOG_FOLDER_FINDINGS } from "#diagnose/catalogue/log/findings.ts";
import { VFP_DIFFERENCES, VFP_LISTING } from "#diagnose/vfp-text/documents.ts";
import { CNI_REPORT } from "#cli/mullion/cni/report.ts";
import { CALL_RECORD, NOTIFICATION_RECORD } from "#cli/mullion/wine/call-record.ts";

/** Documents that verbs print, and parts of them with a table of their own. */
export const REPORT_SHAPES: Readonly<Record<string, Shape>> = {
  Trace: TRACE_REPORT,
  TraceLeg: TRACE_LEG,
  TraceStep: TRACE_STEP,
  TraceResolution: TRACE_RESOLUTION,
  Resolution: RESOLUTION_REPORT,
  NameLookup: NAME_LOOKUP,
  ExecReport: EXEC_REPORT,
  Verification: VERIFY_REPORT,
  VerificationBasis: VERIFY_BASIS,
  VerificationCell: VERIFY_CELL,
  VerificationFinding: VERIFY_FINDING,
  VerificationComparison: VERIFY_COMPARISON,
  BringUp: BRING_UP_REPORT,
  BringUpStep: STEP_REPORT,
  LintReport: LINT_DOCUMENT,
  LintFinding: LINT_FINDING_DOCUMENT,
  KnowledgeEntry: KNOWLEDGE_ENTRY,
  ErrorExplanation: ERRORS_DOCUMENT,
  KnownError: ERROR_DOCUMENT,
  ExplanationList: EXPLANATION_LIST,
  LogFindings: LOG_FINDINGS,
  LogFolderFindings: LOG_FOLDER_FINDINGS,
  CniReport: CNI_REPORT,
  CallRecord: CALL_RECORD,
  NotificationRecord: NOTIFICATION_RECORD,
  HnsDump: HNS_DUMP,
  VfpListing: VFP_LISTING,
  VfpDifferences: VFP_DIFFERENCES,
};

/** Names of shapes, and the page that has their table. */
const PLACES: ReadonlyMap<Shape, string> = new Map([
  ...Object.entries(API_SHAPES).map(([name, shape]): [Shape, string] => [
    shape,
    `[${name}](api.md#${name.toLowerCase()})`,
  ]),
  ...Object.entries(REPORT_SHAPES).map(([name, shape]): [Shape, string] => [
    shape,
    `[${name}](reports.md#${name.toLowerCase()})`,
  ]),
]);

function cell(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return formatMarkdownTable([head, ...rows].map((row) => row.map(cell)));
}

function describeValue(given: Shape): string {
  const place = PLACES.get(given);
  if (place !== undefined) return place;
  const shape = resolveShape(given);
  const found = PLACES.get(shape);
  if (found !== undefined) return found;
  if (shape === (KNOWLEDGE_CODES as Shape)) return "[a code](../../data/catalogue/README.md)";
  if (shape === "count" || shape === "position") return "integer";
  if (shape === "words") return "text";
  if (typeof shape === "string") return shape;
  if (isChoice(shape))
    return shape.map((each) => `\`${JSON.stringify(each).replaceAll('"', "")}\``).join(", ");
  if ("list" in shape) return `list: ${describeValue(shape.list)}`;
  if ("oneOf" in shape) return shape.oneOf.map(describeValue).join(", or ");
  if ("fields" in shape) return "object";
  const { type, enum: names } = shape.schema;
  if (Array.isArray(names)) return names.map((each) => `\`${String(each)}\``).join(", ");
  if (type === undefined) return "json";
  return type === "string" || typeof type !== "string" ? "text" : type;
}

/** The objects inside that have no table of their own. */
function innerOf(given: Shape, path: string): readonly [ObjectShape, string][] {
  if (PLACES.has(given)) return [];
  const shape = resolveShape(given);
  if (PLACES.has(shape) || typeof shape === "string" || isChoice(shape)) return [];
  if ("list" in shape) return innerOf(shape.list, `${path}[]`);
  if ("oneOf" in shape) return shape.oneOf.flatMap((each) => innerOf(each, path));
  return "fields" in shape ? [[shape, path]] : [];
}

function rowsOf(shape: ObjectShape, path: string): readonly (readonly string[])[] {
  const { required, optional } = fieldsOf(shape);
  const row = (name: string, field: Field, isOptional: boolean): readonly (readonly string[])[] => {
    const { is, text } = fieldOf(field);
    const target = resolveShape(is);
    const own = typeof target === "object" && "text" in target ? target.text : undefined;
    const place = path === "" ? name : `${path}.${name}`;
    const inner = innerOf(is, place).flatMap(([each, at]) => rowsOf(each, at));
    return [
      [
        `\`${place}\`${isOptional ? "?" : ""}`,
        describeValue(is),
        describe(text ?? (PLACES.has(target) ? "" : (own ?? ""))),
      ],
      ...inner,
    ];
  };
  return [
    ...Object.entries(required).flatMap(([name, field]) => row(name, field, false)),
    ...Object.entries(optional).flatMap(([name, field]) => row(name, field, true)),
  ];
}

const HEAD = ["Field", "Value", "Meaning"];

function formatShape(name: string, given: Shape): string {
  const shape = resolveShape(given);
  if (typeof shape === "object" && "oneOf" in shape) {
    const rows = shape.oneOf.flatMap((each) => {
      const one = resolveShape(each);
      return typeof one === "object" && "fields" in one ? rowsOf(one, "") : [];
    });
    const merged = new Map<string, readonly string[]>();
    for (const row of rows) {
      const [field = "", value = "", meaning = ""] = row;
      const before = merged.get(field)?.[1];
      const isNew = before === undefined || before === value;
      merged.set(field, [field, isNew ? value : `${before}, ${value}`, meaning]);
    }
    return `### ${name}\n\n${table(HEAD, [...merged.values()])}`;
  }
  if (typeof shape !== "object" || !("fields" in shape)) throw new Error(`${name} is no object`);
  const rows = rowsOf(shape, "");
  return `### ${name}\n\n${describe(shape.text)}\n\n${rows.length === 0 ? "It has no fields." : table(HEAD, rows)}`;
}

/** One table for each document. A question mark: the field may be absent. */
export function formatShapes(shapes: Readonly<Record<string, Shape>>): string {
  return Object.entries(shapes)
    .map(([name, shape]) => formatShape(name, shape))
    .join("\n\n");
}

/** The paths of the control API. */
export function formatRoutes(routes: readonly ApiRoute[] = API_ROUTES): string {
  return table(
    ["Path", "Answer", "What it does"],
    routes.map(({ method, path, query = [], request, answer, answers, text }) => {
      const asked =
        query.length === 0 ? "" : `?${query.map((name) => `${name.replace("!", "")}=`).join("&")}`;
      const body = request === undefined ? "" : ` ${describeValue(request)}`;
      return [`\`${method} ${path}${asked}\`${body}`, answers ?? describeValue(answer ?? "json"), text];
    }),
  );
}

/** What can happen to a node, by `do`. */
export function formatNodeActions(): string {
  const shapes: readonly ObjectShape[] = NODE_REQUEST.oneOf;
  return table(
    ["`do`", "What happens", "It takes"],
    shapes.map((shape) => {
      const own = Object.keys({ ...shape.fields, ...shape.optional }).filter((name) => name !== "do");
      return [
        describeValue(fieldOf(shape.fields["do"] ?? "text").is),
        describe(shape.text),
        own.map((name) => `\`${name}\``).join(", "),
      ];
    }),
  );
}

/** The types of events. */
export function formatEvents(): string {
  const events = [OBJECT_EVENT, NODE_EVENT, PROGRESS_EVENT, NOTE_EVENT, GAP_EVENT];
  return table(
    ["Type", "What happened"],
    events.map(({ fields, text }) => [`\`${fields.type[0]}\``, describe(text)]),
  );
}
