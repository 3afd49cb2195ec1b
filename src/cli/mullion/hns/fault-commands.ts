/** `mullion hns fault …` and `mullion hns quirk …` on the command line. */
import type { Command } from "commander";
import { HCN_KINDS } from "#contracts/hcn/client.ts";
import {
  COST_MODELS,
  CALL_OPERATIONS,
  RESTART_STATES,
  type RestartState,
} from "#hns/failures/faults/fault.ts";
import { EFFECT_MEANINGS } from "#hns/failures/faults/fault-fields.ts";
import { parseQuirk } from "#core/catalogue/quirks.ts";
import { type Run, usage } from "../options.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import { EFFECT_NAMES, type FaultOptions, type HnsFaultAction, parseFaultOptions } from "./fault-request.ts";
import type { HnsVerbs } from "./verbs.ts";

interface SocketOption {
  readonly socket?: string;
}

type Act = (options: SocketOption, action: () => HnsFaultAction) => Promise<void>;

function effectsHelp(): string {
  const width = Math.max(...EFFECT_NAMES.map((name) => name.length));
  return EFFECT_NAMES.map((name) => `${name.padEnd(width)}  ${EFFECT_MEANINGS[name]}`).join("\n  ");
}

interface AddOptions extends SocketOption {
  readonly file?: readonly string[];
  readonly seed?: string;
}

function addAction(effect: string | undefined, options: AddOptions & FaultOptions): HnsFaultAction {
  const { file = [], socket: _socket, seed, ...others } = options;
  if (file.length > 0) {
    if (effect !== undefined || seed !== undefined || Object.keys(others).length > 0)
      throw usage("-f names plans, and the rest a fault", "Leave one of them out.");
    return { verb: "apply", files: file };
  }
  if (effect === undefined)
    throw usage("no effect is named", `Effects are: ${EFFECT_NAMES.join(", ")}. Or name a plan with -f.`);
  return { verb: "add", fault: parseFaultOptions(effect, others), seed };
}

function addAdd(fault: Command, act: Act): void {
  const values = {
    "--operation": CALL_OPERATIONS,
    "--kind": HCN_KINDS,
    "--model": COST_MODELS,
    "--state": RESTART_STATES,
  };
  addVerb(fault, "add", { values, holes: { effects: effectsHelp() } }).action(
    (effect: string | undefined, options: AddOptions & FaultOptions) =>
      act(options, () => addAction(effect, options)),
  );
}

function addLists(fault: Command, act: Act): void {
  addVerb(fault, "list", { values: { "--output": LIST_FORMATS } }).action(
    (options: SocketOption & { output: ListFormat }) =>
      act(options, () => ({ verb: "list", output: options.output })),
  );
  addVerb(fault, "remove").action((ids: readonly string[], options: SocketOption) =>
    act(options, () => ({ verb: "remove", ids })),
  );
  addVerb(fault, "clear").action((options: SocketOption) => act(options, () => ({ verb: "clear" })));
  addVerb(fault, "release").action((id: string | undefined, options: SocketOption) =>
    act(options, () => ({ verb: "release", id })),
  );
}

function addEvents(fault: Command, act: Act): void {
  addVerb(fault, "forget-loadbalancers").action((ids: readonly string[], options: SocketOption) =>
    act(options, () => ({ verb: "forget-loadbalancers", ids })),
  );
  addVerb(fault, "restart", { values: { "--state": RESTART_STATES } }).action(
    (options: SocketOption & { state?: RestartState }) =>
      act(options, () => ({ verb: "restart", state: options.state })),
  );
  addVerb(fault, "reboot").action((options: SocketOption) => act(options, () => ({ verb: "reboot" })));
}

function quirkSettings(texts: readonly string[]): HnsFaultAction {
  const settings = texts.map((text) => {
    const parsed = parseQuirk(text);
    if ("problem" in parsed) throw usage(parsed.problem, "Defects are listed by: mullion hns quirk list");
    return parsed;
  });
  return { verb: "set-quirks", settings };
}

function addQuirk(hns: Command, act: Act): void {
  const quirk = addVerb(hns, "quirk");
  addVerb(quirk, "list", { values: { "--output": LIST_FORMATS } }).action(
    (options: SocketOption & { output: ListFormat }) =>
      act(options, () => ({ verb: "list-quirks", output: options.output })),
  );
  addVerb(quirk, "set").action((texts: readonly string[], options: SocketOption) =>
    act(options, () => quirkSettings(texts)),
  );
}

export function addFaults(hns: Command, run: Run, verb: HnsVerbs["fault"], terminal: Terminal): void {
  const act: Act = ({ socket }, action) =>
    run(async () => verb({ target: { files: [], socket }, action: action() }, terminal));
  const fault = addVerb(hns, "fault");
  addAdd(fault, act);
  addLists(fault, act);
  addEvents(fault, act);
  addQuirk(hns, act);
}
