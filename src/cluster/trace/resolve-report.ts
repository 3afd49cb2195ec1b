/** What a resolution says: the JSON of `mullion resolve -o json` (schemas/resolve.v1alpha1.json). */
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { LIMIT_REASON } from "../session/flow-limit.ts";
import { TRACE_END, TRACE_RESOLUTION } from "./trace-report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** Commands by whose rules a name can be looked up; all but `nslookup` ask the system. */
export const LOOKUP_PROGRAMS = ["system", "Resolve-DnsName", "nslookup", "ping"] as const;
export type LookupProgram = (typeof LOOKUP_PROGRAMS)[number];

/** One lookup of one sender. */
export const NAME_LOOKUP = {
  text: (): string => WORDS.nameLookup,
  base: (): typeof TRACE_RESOLUTION => TRACE_RESOLUTION,
  fields: {
    from: (): typeof TRACE_END => TRACE_END,
    number: { is: "number", text: "Which lookup of this sender it is, counted from 1." },
    afterMs: { is: "number", text: "When it began, counted from the first lookup of this sender." },
    tookMs: { is: "number", text: "Until the result was known." },
  },
  optional: {
    notJudged: {
      list: (): typeof LIMIT_REASON => LIMIT_REASON,
      text: "Why the outcome may be another on the real cluster.",
    },
  },
} as const;
export type NameLookupReport = ValueOf<typeof NAME_LOOKUP>;

export const RESOLUTION_REPORT = {
  text: "How some senders resolve one name.",
  document: "Resolution",
  fields: {
    name: { is: "text", text: "As it was asked for." },
    as: { is: (): typeof LOOKUP_PROGRAMS => LOOKUP_PROGRAMS, text: "The command whose rules hold." },
    lookups: {
      list: (): typeof NAME_LOOKUP => NAME_LOOKUP,
      text: (): string => WORDS.resolutionReportLookups,
    },
  },
} as const;
export type ResolutionReport = ValueOf<typeof RESOLUTION_REPORT>;

export const RESOLUTION_SCHEMA: JsonSchema = documentSchema(
  "Mullion resolution of a name",
  RESOLUTION_REPORT,
);
