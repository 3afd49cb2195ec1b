/** `mullion ovn` on the command line. */
import type { Command } from "commander";
import type { OvnDatabaseName } from "#cluster/views/ovn-view.ts";
import { type Run, type TargetOptions, clusterTarget } from "../options.ts";
import { TEXT_FORMATS, type TextFormat } from "../print-document.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import type { OvnVerbs } from "./verbs.ts";

interface TraceOptions extends TargetOptions {
  readonly ct: readonly string[];
}

function addTrace(ovn: Command, run: Run, trace: OvnVerbs["trace"], terminal: Terminal): void {
  addVerb(ovn, "trace").action((first: string, second: string | undefined, options: TraceOptions) =>
    run(() => {
      const [datapath, microflow] = second === undefined ? [undefined, first] : [first, second];
      const target = clusterTarget(options);
      return trace({ target, datapath, microflow, states: options.ct }, terminal);
    }),
  );
}

function addShow(
  parent: Command,
  database: OvnDatabaseName,
  run: Run,
  show: OvnVerbs["show"],
  terminal: Terminal,
): void {
  addVerb(parent, "show").action((object: string | undefined, options: TargetOptions) =>
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
  addVerb(parent, "list", { values: { "--output": TEXT_FORMATS } }).action(
    (table: string, records: readonly string[], options: TargetOptions & { readonly output: TextFormat }) =>
      run(() =>
        list({ database, target: clusterTarget(options), table, records, output: options.output }, terminal),
      ),
  );
}

function addFlows(parent: Command, run: Run, listFlows: OvnVerbs["listFlows"], terminal: Terminal): void {
  addVerb(parent, "lflow-list").action((datapath: string | undefined, options: TargetOptions) =>
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
  const parent = addVerb(ovn, database);
  if (verbs.show !== undefined) addShow(parent, database, run, verbs.show, terminal);
  if (verbs.list !== undefined) addList(parent, database, run, verbs.list, terminal);
  if (database === "sb" && verbs.listFlows !== undefined) addFlows(parent, run, verbs.listFlows, terminal);
}

export function addOvn(program: Command, run: Run, verbs: Partial<OvnVerbs>, terminal: Terminal): void {
  const ovn = addVerb(program, "ovn");
  if (verbs.show !== undefined) {
    addDatabase(ovn, "nb", run, verbs, terminal);
    addDatabase(ovn, "sb", run, verbs, terminal);
  }
  if (verbs.trace !== undefined) addTrace(ovn, run, verbs.trace, terminal);
}
