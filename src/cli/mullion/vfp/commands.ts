/** `mullion vfp` on the command line. */
import { type Command, Option } from "commander";
import {
  EXAMPLE,
  type Run,
  type TargetOptions,
  addTargetOptions,
  clusterTarget,
  examples,
} from "../options.ts";
import { type TextFormat, outputOption } from "../print-document.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { commandLine } from "#data/words.js";
import type { ClusterTarget } from "../cluster/cluster-target.ts";

const WORDS = commandLine();

// What each verb of `mullion vfp` is given.

export interface VfpPortsRequest {
  readonly target: ClusterTarget;
  readonly node: string | undefined;
  readonly output: ListFormat;
}

export interface VfpShowRequest {
  readonly target: ClusterTarget;
  /** A file of vfpctrl's text or JSON, or a port: its GUID, friendly name, address, `pod/NAMESPACE/NAME`. */
  readonly subject: string;
  readonly output: TextFormat;
}

export interface VfpDiffRequest {
  readonly target: ClusterTarget;
  readonly left: string;
  readonly right: string;
  readonly output: TextFormat;
}

export interface VfpVerbs {
  readonly ports: (request: VfpPortsRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly show: (request: VfpShowRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly diff: (request: VfpDiffRequest, terminal: Terminal) => Promise<ExitCode>;
}

const SUBJECT = `\n${WORDS.vfpSubjectHelp}\n`;

interface PortsOptions extends TargetOptions {
  readonly node?: string;
  readonly output: ListFormat;
}

interface TextOptions extends TargetOptions {
  readonly output: TextFormat;
}

function addPorts(vfp: Command, run: Run, ports: VfpVerbs["ports"], terminal: Terminal): void {
  const command = vfp
    .command("ports")
    .summary("list the switch ports of Windows nodes")
    .description("Lists the switch ports of Windows nodes, with what they dropped.");
  addTargetOptions(command)
    .option("--node <name>", "only those of this node")
    .addOption(
      new Option("-o, --output <format>", "how to print them").choices(LIST_FORMATS).default("table"),
    )
    .addHelpText(
      "after",
      examples(`mullion vfp ports -f ${EXAMPLE}`, "mullion vfp ports --node win-1 -o wide"),
    )
    .action((options: PortsOptions) =>
      run(() => {
        const { node, output } = options;
        return ports({ target: clusterTarget(options), node, output }, terminal);
      }),
    );
}

function addShow(vfp: Command, run: Run, show: VfpVerbs["show"], terminal: Terminal): void {
  const command = vfp
    .command("show")
    .summary(WORDS.vfpShowSummary)
    .description(WORDS.vfpShowDescription)
    .argument("<port|file>", "a port of the cluster, or a file");
  addTargetOptions(command)
    .addOption(outputOption())
    .addHelpText(
      "after",
      SUBJECT +
        examples(`mullion vfp show pod/client -f ${EXAMPLE}`, "mullion vfp show vfpOutput.txt#GUID -o json"),
    )
    .action((subject: string, options: TextOptions) =>
      run(() => show({ target: clusterTarget(options), subject, output: options.output }, terminal)),
    );
}

function addDiff(vfp: Command, run: Run, diff: VfpVerbs["diff"], terminal: Terminal): void {
  const command = vfp
    .command("diff")
    .summary("say how the rules of two ports or dumps differ")
    .description(WORDS.vfpDiffDescription)
    .argument("<left>", "a port of the cluster, or a file")
    .argument("<right>", "the other");
  addTargetOptions(command)
    .addOption(outputOption())
    .addHelpText(
      "after",
      SUBJECT +
        examples(
          "mullion vfp diff good-node.txt bad-node.txt",
          `mullion vfp diff win-1:host win-2:host -f ${EXAMPLE}`,
          "mullion vfp diff win-1:pod/web node-rules.json -o json",
        ) +
        "\nExit codes: 0 no difference, 1 differences, 2 bad usage or bad input.\n",
    )
    .action((left: string, right: string, options: TextOptions) =>
      run(() => diff({ target: clusterTarget(options), left, right, output: options.output }, terminal)),
    );
}

export function addVfp(program: Command, run: Run, verbs: Partial<VfpVerbs>, terminal: Terminal): void {
  const vfp = program
    .command("vfp")
    .summary(WORDS.vfpSummary)
    .description(WORDS.vfpDescription)
    .addHelpText(
      "after",
      examples(
        `mullion vfp ports -f ${EXAMPLE}`,
        `mullion vfp show pod/client -f ${EXAMPLE}`,
        "mullion vfp diff good-node.txt bad-node.txt",
      ) + "\nExit codes: 0 success, 1 differences, 2 bad usage or bad input.\n",
    );
  if (verbs.ports !== undefined) addPorts(vfp, run, verbs.ports, terminal);
  if (verbs.show !== undefined) addShow(vfp, run, verbs.show, terminal);
  if (verbs.diff !== undefined) addDiff(vfp, run, verbs.diff, terminal);
}
