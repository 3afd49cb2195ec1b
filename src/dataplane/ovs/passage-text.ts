/** A packet's way through logical flows in the words of ovn-trace: what a trace of a cluster and `mullion ovn trace` both print. */
import type { LogicalStep } from "#core/base/recorder.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import type { Step } from "./logical-pipeline.ts";
import type { LogicalFlowRow } from "./southbound.ts";

/** A pipeline that the packet came to. */
interface ToldPipeline {
  /** `ingress(dp="sw0", inport="web")`. */
  readonly title: string;
  /** The frame as it was there. */
  readonly frame: Uint8Array;
  readonly steps: readonly LogicalStep[];
}

/** The northbound object that a flow was written for; undefined for none. */
type ObjectOf = (row: LogicalFlowRow) => string | undefined;

function withoutComments(text: string): string {
  const [first = "", ...others] = text.split("/*");
  return first + others.map((part) => part.split("*/").slice(1).join("*/")).join("");
}

/** Actions on lines of their own, comments left out, as ovn-trace prints them. */
function actionLines(actions: string): readonly string[] {
  const lines: string[] = [];
  let depth = 0;
  let isQuoted = false;
  let line = "";
  for (const character of withoutComments(actions)) {
    line += character;
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (character === "{" || character === "(") depth += 1;
    if (character === "}" || character === ")") depth -= 1;
    if (character !== ";" || depth > 0) continue;
    lines.push(line.trim());
    line = "";
  }
  if (line.trim() !== "") lines.push(line.trim());
  return lines.filter((each) => each !== ";");
}

/** ovn-trace leaves out flows that do nothing but go on. */
function tellFlow(
  { flow: { row, refusal } }: Extract<Step, { kind: "flow" }>,
  objectOf: ObjectOf,
): LogicalStep[] {
  const { id, match, priority, table, stage } = row;
  if (match === "1" && row.actions.trim() === "next;") return [];
  const source = row.source === "" ? "" : ` (${row.source})`;
  const object = objectOf(row);
  const text = `${String(table).padStart(2)}. ${stage}${source}: ${match}, priority ${priority}, uuid ${id.slice(0, 8)}`;
  const actions = [...actionLines(row.actions), ...(refusal === undefined ? [] : [`*** ${refusal}`])];
  return [
    {
      kind: "flow",
      text,
      uuid: id,
      stage,
      table,
      priority,
      match,
      actions,
      ...(object === undefined ? {} : { object }),
    },
  ];
}

function tellStep(step: Exclude<Step, { kind: "pipeline" }>, objectOf: ObjectOf): readonly LogicalStep[] {
  switch (step.kind) {
    case "flow":
      return tellFlow(step, objectOf);
    case "tracked": {
      const to = step.backEnd === undefined || step.action.includes("(") ? "" : ` /* to ${step.backEnd} */`;
      return [{ kind: "tracked", text: `${step.action}${to} (ct_state=${step.state})` }];
    }
    case "made":
      return [{ kind: "made", text: step.name }];
    case "output":
      return [{ kind: "output", text: `/* output to "${step.port}", type "${step.type}" */` }];
  }
}

/** What happened to a packet, pipeline by pipeline. Steps in front of the first one are left out: there are none. */
export function tellPassage(
  network: Pick<LogicalNetwork, "datapaths">,
  steps: readonly Step[],
  objectOf: ObjectOf = ({ object }) => object,
): readonly ToldPipeline[] {
  const told: { readonly title: string; readonly frame: Uint8Array; readonly steps: LogicalStep[] }[] = [];
  for (const step of steps) {
    if (step.kind !== "pipeline") {
      told.at(-1)?.steps.push(...tellStep(step, objectOf));
      continue;
    }
    const name = network.datapaths.get(step.datapath)?.name ?? step.datapath;
    const out = step.pipeline === "egress" ? `, outport="${step.outport}"` : "";
    const title = `${step.pipeline}(dp="${name}", inport="${step.inport}"${out})`;
    told.push({ title, frame: step.frame, steps: [] });
  }
  return told;
}
