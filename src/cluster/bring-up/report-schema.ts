/** The JSON Schema of `mullion bring-up -o json`, published as schemas/bring-up.v1alpha1.json. */
import { type JsonSchema, closedObject, described } from "#core/base/json-schema.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { RUNTIMES, SCRIPT_SETS } from "./options.ts";
import { CHANGE_KINDS, STEP_OUTCOMES } from "./report.ts";

const TEXT = { type: "string" } as const;
const NUMBER = { type: "number" } as const;
const INTEGER = { type: "integer" } as const;

function list(items: JsonSchema, description: string): JsonSchema {
  return { type: "array", items, description };
}

const CHANGE = closedObject("Something that the step changed.", {
  kind: { enum: CHANGE_KINDS },
  name: described(TEXT, "The path, the name in HNS, the route, the annotation …"),
  change: { enum: ["created", "changed", "deleted"] },
  detail: described(TEXT, "What it is now; of what is gone, what it was. May be empty."),
});

const FINDING = closedObject("What is wrong.", {
  code: described({ enum: KNOWLEDGE_CODES }, "mullion explain CODE says more."),
  message: TEXT,
});

const STEP = closedObject("One step of a script.", {
  run: described(INTEGER, "Which run of the script, from 1."),
  number: described(INTEGER, "From 1, over all runs."),
  script: described(TEXT, "The file that holds the step; `by hand` for manual steps."),
  name: TEXT,
  command: described(TEXT, "What it runs, with its arguments."),
  outcome: described(
    { enum: STEP_OUTCOMES },
    "went-on: something was wrong, and the script continued. ended: the script ended here; its caller continues. waits: forever. skipped: its script had ended before.",
  ),
  beganMs: described(NUMBER, "Virtual time, in milliseconds."),
  tookMs: described(NUMBER, "Virtual time, in milliseconds."),
  output: list(
    TEXT,
    "Output of the step, and of the node's programs during it; repeated lines are merged and counted.",
  ),
  changes: list(CHANGE, "On the node and of its Node object, by kind and name."),
  findings: list(FINDING, "In the order in which they were met."),
});

const PROCESS = closedObject("A program that was started.", {
  name: { enum: ["kubelet", "flanneld", "kube-proxy"] },
  commandLine: TEXT,
  state: { enum: ["running", "ended"] },
  log: list(TEXT, "Its last lines."),
});

const FILE = closedObject("A file on the node's disk.", { path: TEXT, text: TEXT });

export const BRING_UP_SCHEMA: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "What mullion bring-up -o json prints",
  ...closedObject("A bring-up of one Windows node.", {
    apiVersion: { const: "mullion/v1alpha1" },
    kind: { const: "BringUp" },
    node: TEXT,
    scripts: { enum: SCRIPT_SETS },
    runtime: { enum: RUNTIMES },
    networkMode: described({ enum: ["overlay", "l2bridge"] }, "The scripts' words for vxlan and host-gw."),
    flanneld: described(TEXT, "The release that ran."),
    outcome: described(
      { enum: ["up", "up-with-findings", "not-up"] },
      "up-with-findings: the script went through and all programs run, but something is not as it should be.",
    ),
    tookMs: described(NUMBER, "Virtual time, in milliseconds."),
    steps: list(STEP, "In order, those of all runs."),
    processes: list(PROCESS, "In the order in which they were started."),
    files: list(FILE, "All files on the node's disk at the end, by path."),
  }),
};
