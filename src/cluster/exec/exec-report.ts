/** What a command printed: the JSON of `mullion exec -o json` (schemas/exec.v1alpha1.json). */
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { LIMIT_REASON } from "../session/flow-limit.ts";
import { TRACE_END, TRACE_LEG } from "../trace/trace-report.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const EXEC_WALK = {
  text: "A packet that the command sent.",
  fields: { forward: (): typeof TRACE_LEG => TRACE_LEG },
  optional: { reply: (): typeof TRACE_LEG => TRACE_LEG },
} as const;
export type ExecWalk = ValueOf<typeof EXEC_WALK>;

export const EXEC_REPORT = {
  text: (): string => WORDS.execReport,
  document: "ExecReport",
  fields: {
    from: (): typeof TRACE_END => TRACE_END,
    os: ["windows", "linux"],
    command: { list: "text", text: "The program and its arguments, as they were given." },
    isListed: {
      is: "boolean",
      text: (): string => WORDS.execReportIsListed,
    },
    isChange: {
      is: "boolean",
      text: (): string => WORDS.execReportIsChange,
    },
    stdout: { is: "text", text: "With the line ends of the system." },
    stderr: { is: "text", text: "With the line ends of the system." },
    exitCode: { is: "integer", text: (): string => WORDS.execReportExitCode },
    tookMs: { is: "number", text: "Virtual time until it ended." },
  },
  optional: {
    walks: { list: (): typeof EXEC_WALK => EXEC_WALK, text: (): string => WORDS.execReportWalks },
    notJudged: {
      list: (): typeof LIMIT_REASON => LIMIT_REASON,
      text: "Why the pods' network is not that of the real cluster.",
    },
    isCut: { is: "boolean", text: "More was sent than is kept: the last walks are missing." },
  },
} as const;
export type ExecReport = ValueOf<typeof EXEC_REPORT>;

export const EXEC_SCHEMA: JsonSchema = documentSchema("Mullion command on a pod or node", EXEC_REPORT);
