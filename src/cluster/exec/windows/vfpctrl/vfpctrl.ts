/**
 * `vfpctrl` on a node (dataplane.md §7): the answers of the executable, of this node's ports. Images of containers do not have it. What
 * cannot be done is a line `ERROR: …`; the exit code of that is not known, so it is 1, as the executable has it.
 */
import type { ClusterNode } from "../../../cluster.ts";
import { RequestError } from "../../../request-error.ts";
import { listNodePorts, viewNodePort } from "../../../views/vfp-ports.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../../command.ts";
import type { Machine } from "../../machine.ts";
import { unknownCommand } from "../../shells.ts";
import { CommandError, PORT_COMMANDS } from "./answers.ts";
import { SWITCH_COMMANDS, portAnswer, readVfpctrlLine, switchAnswer } from "./command-line.ts";

const NAME = "vfpctrl";
const anyOf = (verbs: readonly string[]): string => verbs.map((verb) => `/${verb}`).join("|");
const SELECTION = ["[/layer LAYER]", "[/group GROUP]", "[/rule RULE]", "[/format 1]"];
const USAGES: readonly string[] = [
  [NAME, anyOf(SWITCH_COMMANDS), "[/format 1]", "(on nodes)"].join(" "),
  [NAME, "/port PORT", anyOf(Object.keys(PORT_COMMANDS)), ...SELECTION, "(on nodes)"].join(" "),
];

function answer({ cluster }: Machine, { spec: { name } }: ClusterNode, args: readonly string[]) {
  const words = readVfpctrlLine(args);
  const { verb, port, isHelp, isJson } = words;
  if (verb === undefined || isHelp)
    return notBuilt({ name: NAME, usages: USAGES }, args.join(" ") || "without a command");
  if (port === undefined || SWITCH_COMMANDS.includes(verb))
    return switchAnswer(verb, isJson, listNodePorts(cluster, name));
  return portAnswer(verb, words, viewNodePort(cluster, port, name).listing);
}

function run(machine: Machine, args: readonly string[]): CommandOutput {
  const node = machine.cluster.nodes.find(({ host }) => host.root === machine.compartment);
  if (node?.hns === undefined) return unknownCommand("cmd", NAME);
  try {
    return { stdout: answer(machine, node, args), exitCode: 0 };
  } catch (error) {
    const isKnown =
      error instanceof CommandError || (error instanceof RequestError && error.code !== "bad-usage");
    if (!isKnown) throw error;
    return { stdout: [`ERROR: ${error.message}`], exitCode: 1 };
  }
}

export const VFPCTRL: ListedCommand = { name: NAME, os: "windows", usages: USAGES, run };
