/** `mullion ovn` on the command line. */
import type { Command } from "commander";
import type { OvnDatabaseName } from "#cluster/views/ovn-view.ts";
import {
  type Run,
  type TargetOptions,
  addFileOptions,
  addNameOptions,
  clusterTarget,
  examples,
} from "../options.ts";
import { type TextFormat, outputOption } from "../print-document.ts";
import type { Terminal } from "../terminal.ts";
import type { OvnVerbs } from "./verbs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();
const MICROFLOW = `'inport == "default_web" && eth.src == 0a:58:0a:f4:00:05 && tcp.dst == 80'`;

const CLUSTER = "examples/ovn-transparent/cluster.yaml";

/** A packet of a pod of that cluster to a Service of it. */
const TO_SERVICE = `'inport == "default_client" && eth.src == 0a:58:0a:80:00:03 && eth.dst == 0a:58:0a:80:00:01 && ip4.src == 10.128.0.3 && ip4.dst == 10.96.0.20 && tcp.dst == 80'`;

interface TraceOptions extends TargetOptions {
  readonly ct: readonly string[];
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function addTrace(ovn: Command, run: Run, trace: OvnVerbs["trace"], terminal: Terminal): void {
  const command = ovn
    .command("trace")
    .summary(WORDS.ovnTraceSummary)
    .description(WORDS.ovnTraceDescription)
    .argument("<microflow>", WORDS.ovnTraceMicroflow)
    .argument("[microflow]", "the microflow, behind the name of a datapath");
  addNameOptions(addFileOptions(command, WORDS.ovnTraceFile))
    .option("--ct <state>", WORDS.ovnTraceState, collect, [])
    .addHelpText(
      "after",
      examples(
        `mullion ovn trace -f ${CLUSTER} ${TO_SERVICE}`,
        `mullion ovn trace -f sb.db -f nb.db ${MICROFLOW}`,
        `mullion ovn trace -f flows.txt --ct new,trk ${MICROFLOW}`,
      ) + `\n${WORDS.ovnTraceExitCodes}\n`,
    )
    .action((first: string, second: string | undefined, options: TraceOptions) =>
      run(() => {
        const [datapath, microflow] = second === undefined ? [undefined, first] : [first, second];
        const target = clusterTarget(options);
        return trace({ target, datapath, microflow, states: options.ct }, terminal);
      }),
    );
}

function addTarget(command: Command): Command {
  return addNameOptions(addFileOptions(command, WORDS.ovnFiles));
}

function addShow(
  parent: Command,
  database: OvnDatabaseName,
  run: Run,
  show: OvnVerbs["show"],
  terminal: Terminal,
): void {
  const command = parent
    .command("show")
    .summary(WORDS.ovnShowSummary)
    .description(WORDS.ovnShowDescription)
    .argument("[object]", database === "nb" ? "a switch or a router" : "a chassis");
  addTarget(command)
    .addHelpText(
      "after",
      examples(
        `mullion ovn ${database} show -f ${CLUSTER}`,
        `mullion ovn ${database} show -f ${database}.db`,
      ),
    )
    .action((object: string | undefined, options: TargetOptions) =>
      run(() => show({ database, target: clusterTarget(options), object }, terminal)),
    );
}

function addList(
  parent: Command,
  database: OvnDatabaseName,
  run: Run,
  list: OvnVerbs["list"],
  terminal: Terminal,
): void {
  const command = parent
    .command("list")
    .summary(WORDS.ovnListSummary)
    .description(WORDS.ovnListDescription)
    .argument(
      "<table>",
      database === "nb" ? "such as Logical_Switch_Port, ACL" : "such as Port_Binding, Chassis",
    )
    .argument("[record...]", "UUIDs or names");
  const example = database === "nb" ? "Logical_Switch_Port default_web" : "Port_Binding default_web";
  addTarget(command)
    .addOption(outputOption())
    .addHelpText("after", examples(`mullion ovn ${database} list ${example} -f ${CLUSTER}`))
    .action(
      (table: string, records: readonly string[], options: TargetOptions & { readonly output: TextFormat }) =>
        run(() =>
          list(
            { database, target: clusterTarget(options), table, records, output: options.output },
            terminal,
          ),
        ),
    );
}

function addFlows(parent: Command, run: Run, listFlows: OvnVerbs["listFlows"], terminal: Terminal): void {
  const command = parent
    .command("lflow-list")
    .summary(WORDS.ovnFlowsSummary)
    .description(WORDS.ovnFlowsDescription)
    .argument("[datapath]", "the switch or router");
  addTarget(command)
    .addHelpText(
      "after",
      examples(`mullion ovn sb lflow-list win-1 -f ${CLUSTER}`, "mullion ovn sb lflow-list -f sb.db"),
    )
    .action((datapath: string | undefined, options: TargetOptions) =>
      run(() => listFlows({ target: clusterTarget(options), datapath }, terminal)),
    );
}

function addDatabase(
  ovn: Command,
  database: OvnDatabaseName,
  run: Run,
  verbs: Partial<OvnVerbs>,
  terminal: Terminal,
): void {
  const what = database === "nb" ? "northbound" : "southbound";
  const parent = ovn
    .command(database)
    .summary(`show the ${what} database`)
    .description(`Shows the ${what} database of a cluster, or a saved one.`)
    .addHelpText("after", examples(`mullion ovn ${database} show -f ${CLUSTER}`));
  if (verbs.show !== undefined) addShow(parent, database, run, verbs.show, terminal);
  if (verbs.list !== undefined) addList(parent, database, run, verbs.list, terminal);
  if (database === "sb" && verbs.listFlows !== undefined) addFlows(parent, run, verbs.listFlows, terminal);
}

export function addOvn(program: Command, run: Run, verbs: Partial<OvnVerbs>, terminal: Terminal): void {
  const ovn = program
    .command("ovn")
    .summary(WORDS.ovnSummary)
    .description(WORDS.ovnDescription)
    .addHelpText(
      "after",
      examples(`mullion ovn nb show -f ${CLUSTER}`, `mullion ovn trace -f sb.db -f nb.db ${MICROFLOW}`),
    );
  if (verbs.show !== undefined) {
    addDatabase(ovn, "nb", run, verbs, terminal);
    addDatabase(ovn, "sb", run, verbs, terminal);
  }
  if (verbs.trace !== undefined) addTrace(ovn, run, verbs.trace, terminal);
}
