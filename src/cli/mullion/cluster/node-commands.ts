/** The verbs that let something happen to a running cluster: `node`, `control-plane`, `pass`. */
import type { Command } from "commander";
import { NODE_FAULT_NAMES, type NodeChange } from "#cluster/life/node-change.ts";
import { RESTART_STATES, type RestartState } from "#hns/failures/faults/fault.ts";
import { formatQuirkSetting, parseQuirk } from "#core/catalogue/quirks.ts";
import { DURATION_FORMS, readDuration } from "#core/base/duration.ts";
import { parseDuration } from "../duration.ts";
import { type NameOptions, type Run, runningName, usage } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import type { Verbs } from "../verbs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

/** `+1h`, `-30m`: a duration with a sign. */
function parseStep(text: string): number {
  const [, sign = "", amount = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  const ms = readDuration(amount);
  if (ms === undefined)
    throw usage(
      WORDS.setClockTimeInvalid({ text: JSON.stringify(text) }),
      `Write an amount with its unit: ${DURATION_FORMS}.`,
    );
  return Math.round(sign === "-" ? -ms : ms);
}

interface NodeOptions extends NameOptions {
  readonly state?: RestartState;
  readonly podCidr?: string;
}

const COMMANDS: readonly NodeChange["do"][] = ["reboot", "stop", "start", "restart-hns", "leave", "rejoin"];

function changeOf(name: NodeChange["do"], options: NodeOptions): NodeChange {
  const { state, podCidr } = options;
  if (name === "restart-hns") return { do: name, ...(state === undefined ? {} : { state }) };
  if (name === "rejoin") return { do: name, ...(podCidr === undefined ? {} : { podCIDR: podCidr }) };
  return { do: name as "reboot" | "stop" | "start" | "leave" };
}

/** `set-quirk NODE NAME=SETTING…`: one defect after the other. */
function addSetQuirk(parent: Command, run: Run, node: Verbs["node"], terminal: Terminal): void {
  addVerb(parent, "set-quirk").action((name: string, texts: readonly string[], options: NameOptions) =>
    run(async () => {
      const changes = texts.map((text) => {
        const parsed = parseQuirk(text);
        if ("problem" in parsed) throw usage(parsed.problem, WORDS.adviceQuirks);
        return {
          do: "set-quirk" as const,
          quirk: parsed.name,
          setting: formatQuirkSetting(parsed.setting),
        };
      });
      for (const change of changes)
        await node({ running: runningName(options), nodes: [name], change }, terminal);
      return 0;
    }),
  );
}

function faultChange(text: string): Extract<NodeChange, { readonly do: "set-fault" }> {
  const [name = "", given = "on", ...rest] = text.split("=");
  const fault = NODE_FAULT_NAMES.find((each) => each === name);
  if (fault === undefined || !["on", "off"].includes(given) || rest.length > 0)
    throw usage(`there is no fault ${JSON.stringify(text)}`, WORDS.adviceNodeFaults);
  return { do: "set-fault", fault, isOn: given === "on" };
}

/** `set-fault NODE NAME=SETTING…`: one fault after the other. */
function addSetFault(parent: Command, run: Run, node: Verbs["node"], terminal: Terminal): void {
  addVerb(parent, "set-fault").action((name: string, texts: readonly string[], options: NameOptions) =>
    run(async () => {
      for (const change of texts.map(faultChange))
        await node({ running: runningName(options), nodes: [name], change }, terminal);
      return 0;
    }),
  );
}

export function addNode(program: Command, run: Run, node: Verbs["node"], terminal: Terminal): void {
  const parent = addVerb(program, "node");
  for (const name of COMMANDS)
    addVerb(parent, name, { values: { "--state": RESTART_STATES } }).action(
      (nodes: readonly string[], options: NodeOptions) =>
        run(() => {
          if (options.podCidr !== undefined && nodes.length > 1)
            throw usage("--pod-cidr is the range of one node", "Let the others join with separate commands.");
          return node({ running: runningName(options), nodes, change: changeOf(name, options) }, terminal);
        }),
    );
  addSetQuirk(parent, run, node, terminal);
  addSetFault(parent, run, node, terminal);
  addVerb(parent, "set-clock").action((name: string, by: string, options: NameOptions) =>
    run(() =>
      node(
        {
          running: runningName(options),
          nodes: [name],
          change: { do: "set-clock", byMs: parseStep(by) },
        },
        terminal,
      ),
    ),
  );
}

export function addControlPlane(
  program: Command,
  run: Run,
  controlPlane: Verbs["controlPlane"],
  terminal: Terminal,
): void {
  const parent = addVerb(program, "control-plane");
  for (const [name, apiServer] of [
    ["stop", "down"],
    ["start", "up"],
  ] as const)
    addVerb(parent, name).action((options: NameOptions) =>
      run(() => controlPlane({ running: runningName(options), apiServer }, terminal)),
    );
}

export function addPass(program: Command, run: Run, pass: Verbs["pass"], terminal: Terminal): void {
  addVerb(program, "pass").action((time: string, options: NameOptions) =>
    run(() =>
      pass(
        { running: runningName(options), milliseconds: Math.round(parseDuration(time, { name: "pass" })) },
        terminal,
      ),
    ),
  );
}
