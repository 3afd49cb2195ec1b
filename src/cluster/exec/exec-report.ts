/** What a command printed: the JSON of `mullion exec -o json` (schemas/exec.v1alpha1.json). */
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { TRACE_END } from "../trace/trace-report.ts";

export const EXEC_REPORT = {
  text: "What a command printed on a pod or node, and how it ended.",
  document: "ExecReport",
  fields: {
    from: (): typeof TRACE_END => TRACE_END,
    os: ["windows", "linux"],
    command: { list: "text", text: "The program and its arguments, as they were given." },
    isListed: {
      is: "boolean",
      text: "False for a command that Mullion does not have; mullion exec --list names those.",
    },
    isChange: {
      is: "boolean",
      text: "True when it changed the pod or node: of a running cluster, for good.",
    },
    stdout: { is: "text", text: "With the line ends of the system." },
    stderr: { is: "text", text: "With the line ends of the system." },
    exitCode: { is: "integer", text: "Of the program, or of the shell that does not know it." },
    tookMs: { is: "number", text: "Virtual time until it ended." },
  },
} as const;
export type ExecReport = ValueOf<typeof EXEC_REPORT>;

export const EXEC_SCHEMA: JsonSchema = documentSchema("Mullion command on a pod or node", EXEC_REPORT);
