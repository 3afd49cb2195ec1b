/** `mullion hns fault …` and `mullion hns quirk …` on the command line. */
import { Argument, type Command, Option } from "commander";
import { HCN_KINDS } from "#contracts/hcn/client.ts";
import {
  COST_MODELS,
  CALL_OPERATIONS,
  RESTART_STATES,
  type RestartState,
} from "#hns/failures/faults/fault.ts";
import { EFFECT_MEANINGS } from "#hns/failures/faults/fault-fields.ts";
import { parseQuirk } from "#core/catalogue/quirks.ts";
import { EXIT_CODES, type Run, collect, examples, usage } from "../options.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { EFFECT_NAMES, type FaultOptions, type HnsFaultAction, parseFaultOptions } from "./fault-request.ts";
import type { HnsVerbs } from "./verbs.ts";
import { hnsCommands } from "#data/words.js";

const WORDS = hnsCommands();

interface SocketOption {
  readonly socket?: string;
}

type Act = (options: SocketOption, action: () => HnsFaultAction) => Promise<void>;

const SOCKET = WORDS.socketOption;

function subcommand(parent: Command, name: string, summary: string, description: string): Command {
  return parent.command(name).summary(summary).description(description).option("--socket <path>", SOCKET);
}

function addOutput(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "how to print them").choices(LIST_FORMATS).default("table"),
  );
}

function effectsHelp(): string {
  const width = Math.max(...EFFECT_NAMES.map((name) => name.length));
  const lines = EFFECT_NAMES.map((name) => `  ${name.padEnd(width)}  ${EFFECT_MEANINGS[name]}\n`);
  return `\nEffects:\n${lines.join("")}`;
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
  subcommand(fault, "add", "put a fault, or a plan of faults, in force", WORDS.faultAddDescription)
    .addArgument(new Argument("[effect]", "what happens to the calls"))
    .addOption(
      new Option("-f, --file <path>", "a plan of faults as JSON; may be repeated").argParser(collect),
    )
    .option("--id <name>", "by which it is listed and removed")
    .optionsGroup("Which calls:")
    .addOption(new Option("--operation <name>", "what they do").choices(CALL_OPERATIONS))
    .addOption(new Option("--kind <kind>", "the kind of object").choices(HCN_KINDS))
    .option("--object <guid>", "the object")
    .option("--name <name>", "the name in the document of a create")
    .option("--method <method>", "v1: GET, POST or DELETE")
    .option("--path <path>", "v1: /policylists/*")
    .optionsGroup("Which of them it strikes:")
    .option("--nth <n>", "the nth")
    .option("--after <n>", "none of the first n")
    .option("--every <n>", "every nth")
    .option("--rate <p>", "with this likelihood, 0 to 1")
    .option("--times <n>", "n at most")
    .option("--seed <text>", "where chance comes from")
    .optionsGroup("What the effect needs:")
    .option("--error <error>", "fail, stop: HCN_E_PORT_ALREADY_EXISTS or 0x803b0013")
    .option("--carried-out", "fail, hang: the call is carried out anyway")
    .option("--delay <time>", "delay: how much later the answer comes")
    .option("--jitter <time>", "delay: up to so much more")
    .addOption(new Option("--model <name>", "cost: whose times").choices(COST_MODELS))
    .option("--factor <x>", "cost: times as long")
    .addOption(new Option("--state <state>", "crash: what happens to the objects").choices(RESTART_STATES))
    .option("--down <time>", "crash: how long calls get no answer")
    .option("--network <guid>", "stale-endpoint: its network")
    .option("--address <ip>", "stale-endpoint: a remote endpoint with this address")
    .addHelpText(
      "after",
      effectsHelp() +
        examples(
          WORDS.faultAddExample,
          "mullion hns fault add delay --delay 2s --jitter 500ms --kind Endpoint",
          "mullion hns fault add hang --method DELETE --path '/policylists/*' --times 1",
          "mullion hns fault add crash --state forget-load-balancers --kind LoadBalancer --nth 20",
          "mullion hns fault add cost --model ws2019",
          "mullion hns fault add -f plan.json",
        ),
    )
    .action((effect: string | undefined, options: AddOptions & FaultOptions) =>
      act(options, () => addAction(effect, options)),
    );
}

function addLists(fault: Command, act: Act): void {
  addOutput(
    subcommand(
      fault,
      "list",
      "list the faults in force",
      "Lists the faults in force, and what each has struck.",
    ),
  )
    .addHelpText("after", examples("mullion hns fault list", "mullion hns fault list -o json"))
    .action((options: SocketOption & { output: ListFormat }) =>
      act(options, () => ({ verb: "list", output: options.output })),
    );
  subcommand(fault, "remove", "remove faults", "Removes faults; calls that hang on them continue.")
    .addArgument(new Argument("<id...>", "as fault list shows them"))
    .addHelpText("after", examples("mullion hns fault remove fault-1"))
    .action((ids: readonly string[], options: SocketOption) => act(options, () => ({ verb: "remove", ids })));
  subcommand(fault, "clear", "remove all faults", "Removes all faults; calls that hang on them continue.")
    .addHelpText("after", examples("mullion hns fault clear"))
    .action((options: SocketOption) => act(options, () => ({ verb: "clear" })));
  subcommand(fault, "release", "let hanging calls continue", WORDS.faultReleaseDescription)
    .addArgument(new Argument("[id]", "the fault that they hang on"))
    .addHelpText("after", examples("mullion hns fault release", "mullion hns fault release fault-1"))
    .action((id: string | undefined, options: SocketOption) => act(options, () => ({ verb: "release", id })));
}

function addEvents(fault: Command, act: Act): void {
  subcommand(
    fault,
    "forget-loadbalancers",
    "let HNS forget load balancers",
    WORDS.faultForgetLoadBalancersDescription,
  )
    .addArgument(new Argument("[id...]", "ids of load balancers (default: all)"))
    .addHelpText("after", examples("mullion hns fault forget-loadbalancers"))
    .action((ids: readonly string[], options: SocketOption) =>
      act(options, () => ({ verb: "forget-loadbalancers", ids })),
    );
  subcommand(fault, "restart", "restart the service", WORDS.faultRestartDescription)
    .addOption(new Option("--state <state>", "what happens to the objects").choices(RESTART_STATES))
    .addHelpText(
      "after",
      examples("mullion hns fault restart", "mullion hns fault restart --state forget-load-balancers"),
    )
    .action((options: SocketOption & { state?: RestartState }) =>
      act(options, () => ({ verb: "restart", state: options.state })),
    );
  subcommand(fault, "reboot", "restart the node", WORDS.faultRebootDescription)
    .addHelpText("after", examples("mullion hns fault reboot"))
    .action((options: SocketOption) => act(options, () => ({ verb: "reboot" })));
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
  const quirk = hns
    .command("quirk")
    .summary(WORDS.quirkSummary)
    .description(WORDS.quirkDescription)
    .addHelpText(
      "after",
      examples("mullion hns quirk list", "mullion hns quirk set reattach-refused=off") + EXIT_CODES,
    );
  addOutput(
    subcommand(quirk, "list", "list the defects of HNS and how each is set", WORDS.quirkListDescription),
  )
    .addHelpText("after", examples("mullion hns quirk list", "mullion hns quirk list -o wide"))
    .action((options: SocketOption & { output: ListFormat }) =>
      act(options, () => ({ verb: "list-quirks", output: options.output })),
    );
  subcommand(quirk, "set", "turn defects on and off", WORDS.quirkSetDescription)
    .addArgument(new Argument("<name=setting...>", "defects and their settings"))
    .addHelpText(
      "after",
      examples("mullion hns quirk set reattach-refused=off", "mullion hns quirk set service-deadlock=0.01@7"),
    )
    .action((texts: readonly string[], options: SocketOption) => act(options, () => quirkSettings(texts)));
}

export function addFaults(hns: Command, run: Run, verb: HnsVerbs["fault"], terminal: Terminal): void {
  const act: Act = ({ socket }, action) =>
    run(async () => verb({ target: { files: [], socket }, action: action() }, terminal));
  const fault = hns
    .command("fault")
    .summary("break a running HNS on demand, and repair it")
    .description(WORDS.faultDescription)
    .addHelpText(
      "after",
      examples("mullion hns fault list", "mullion hns fault restart", "mullion hns fault clear") + EXIT_CODES,
    );
  addAdd(fault, act);
  addLists(fault, act);
  addEvents(fault, act);
  addQuirk(hns, act);
}
