/** The verbs that let something happen to a running cluster: `node`, `control-plane`, `pass`. */
import { Argument, type Command, Option } from "commander";
import { NODE_FAULT_NAMES, type NodeChange } from "#cluster/life/node-change.ts";
import { RESTART_STATES, type RestartState } from "#hns/failures/faults/fault.ts";
import { formatQuirkSetting, parseQuirk } from "#core/catalogue/quirks.ts";
import { DURATION_FORMS, readDuration } from "#core/base/duration.ts";
import { parseDuration } from "../duration.ts";
import {
  EXIT_CODES,
  type NameOptions,
  type Run,
  addNameOptions,
  examples,
  runningName,
  usage,
} from "../options.ts";
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

interface NodeCommand {
  readonly name: NodeChange["do"];
  readonly summary: string;
  readonly description: string;
  readonly examples: readonly string[];
}

const COMMANDS: readonly NodeCommand[] = [
  {
    name: "reboot",
    summary: "let machines go down and come up",
    description: WORDS.nodeRebootDescription,
    examples: ["mullion node reboot win-1"],
  },
  {
    name: "stop",
    summary: "switch machines off",
    description: "Switches machines off, until: mullion node start.",
    examples: ["mullion node stop win-1"],
  },
  {
    name: "start",
    summary: "switch machines on",
    description: "Switches machines on that are off, and starts their programs.",
    examples: ["mullion node start win-1"],
  },
  {
    name: "restart-hns",
    summary: "restart HNS of Windows nodes",
    description: WORDS.nodeRestartHnsDescription,
    examples: ["mullion node restart-hns win-1", "mullion node restart-hns win-1 --state lose"],
  },
  {
    name: "leave",
    summary: "take nodes out of the cluster",
    description: WORDS.nodeLeaveDescription,
    examples: ["mullion node leave win-1"],
  },
  {
    name: "rejoin",
    summary: "let nodes join again",
    description: WORDS.nodeRejoinDescription,
    examples: ["mullion node rejoin win-1", "mullion node rejoin win-1 --pod-cidr 10.244.7.0/24"],
  },
];

function changeOf(name: NodeChange["do"], options: NodeOptions): NodeChange {
  const { state, podCidr } = options;
  if (name === "restart-hns") return { do: name, ...(state === undefined ? {} : { state }) };
  if (name === "rejoin") return { do: name, ...(podCidr === undefined ? {} : { podCIDR: podCidr }) };
  return { do: name as "reboot" | "stop" | "start" | "leave" };
}

/** `set-quirk NODE NAME=SETTING…`: one defect after the other. */
function addSetQuirk(parent: Command, run: Run, node: Verbs["node"], terminal: Terminal): void {
  addNameOptions(
    parent
      .command("set-quirk")
      .summary("turn defects of a Windows node on and off")
      .description(WORDS.nodeSetQuirkDescription)
      .addArgument(new Argument("<node>", "name of the node"))
      .addArgument(new Argument("<name=setting...>", "defects and their settings")),
  )
    .addHelpText(
      "after",
      examples(
        "mullion get quirks --node win-1",
        "mullion node set-quirk win-1 overlay-nodeport-ws2022=off",
        "mullion node set-quirk win-1 outbound-nat-rules-missing=0.5@7",
      ),
    )
    .action((name: string, texts: readonly string[], options: NameOptions) =>
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
  addNameOptions(
    parent
      .command("set-fault")
      .summary("let calls of a Windows node's programs to HNS fail")
      .description(WORDS.nodeSetFaultDescription)
      .addArgument(new Argument("<node>", "name of the node"))
      .addArgument(new Argument("<name=setting...>", "faults: on or off")),
  )
    .addHelpText(
      "after",
      examples(
        "mullion node set-fault win-1 load-balancers-refused",
        "mullion node set-fault win-1 load-balancers-refused=off",
      ),
    )
    .action((name: string, texts: readonly string[], options: NameOptions) =>
      run(async () => {
        for (const change of texts.map(faultChange))
          await node({ running: runningName(options), nodes: [name], change }, terminal);
        return 0;
      }),
    );
}

export function addNode(program: Command, run: Run, node: Verbs["node"], terminal: Terminal): void {
  const parent = program
    .command("node")
    .summary("let nodes of the running cluster reboot, leave and join again")
    .description(WORDS.nodeDescription)
    .addHelpText(
      "after",
      examples("mullion node reboot win-1", "mullion node restart-hns win-1 --state lose") + EXIT_CODES,
    );
  for (const each of COMMANDS) {
    const command = parent
      .command(each.name)
      .summary(each.summary)
      .description(each.description)
      .addArgument(new Argument("<node...>", "names of nodes"));
    addNameOptions(command);
    if (each.name === "restart-hns")
      command.addOption(new Option("--state <state>", "what happens to the objects").choices(RESTART_STATES));
    if (each.name === "rejoin")
      command.option("--pod-cidr <range>", "the range for its pods (default: the one that it had)");
    command
      .addHelpText("after", examples(...each.examples))
      .action((nodes: readonly string[], options: NodeOptions) =>
        run(() => {
          if (options.podCidr !== undefined && nodes.length > 1)
            throw usage("--pod-cidr is the range of one node", "Let the others join with separate commands.");
          return node(
            { running: runningName(options), nodes, change: changeOf(each.name, options) },
            terminal,
          );
        }),
      );
  }
  addSetQuirk(parent, run, node, terminal);
  addSetFault(parent, run, node, terminal);
  addNameOptions(
    parent
      .command("set-clock")
      .summary("let the clock of a machine jump")
      .description("Lets the clock of a machine jump, forwards or backwards.")
      .addArgument(new Argument("<node>", "name of the node"))
      .addArgument(new Argument("<by>", "how far: +1h, -30m")),
  )
    .addHelpText(
      "after",
      examples("mullion node set-clock win-1 +1h", "mullion node set-clock win-1 -- -30m"),
    )
    .action((name: string, by: string, options: NameOptions) =>
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
  const parent = program
    .command("control-plane")
    .summary("stop and start the API server of the running cluster")
    .description(WORDS.controlPlaneDescription)
    .addHelpText("after", examples("mullion control-plane stop", "mullion control-plane start") + EXIT_CODES);
  for (const [name, apiServer] of [
    ["stop", "down"],
    ["start", "up"],
  ] as const)
    addNameOptions(
      parent
        .command(name)
        .summary(`${name} the API server`)
        .description(
          name === "stop"
            ? WORDS.controlPlaneStopDescription
            : "Starts the API server again; programs continue from their last state.",
        ),
    )
      .addHelpText("after", examples(`mullion control-plane ${name}`))
      .action((options: NameOptions) =>
        run(() => controlPlane({ running: runningName(options), apiServer }, terminal)),
      );
}

export function addPass(program: Command, run: Run, pass: Verbs["pass"], terminal: Terminal): void {
  addNameOptions(
    program
      .command("pass")
      .summary("let time pass in the running cluster")
      .description(WORDS.timePassDescription)
      .addArgument(new Argument("<time>", "how long: 90s, 1m30s, 1h")),
  )
    .addHelpText("after", examples("mullion pass 2m"))
    .action((time: string, options: NameOptions) =>
      run(() =>
        pass(
          { running: runningName(options), milliseconds: Math.round(parseDuration(time, { name: "pass" })) },
          terminal,
        ),
      ),
    );
}
