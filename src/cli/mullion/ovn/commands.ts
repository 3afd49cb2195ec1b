/** `mullion ovn` on the command line. */
import type { Command } from "commander";
import { type Run, examples } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import type { OvnVerbs } from "./verbs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();
const MICROFLOW = `'inport == "default_web" && eth.src == 0a:58:0a:f4:00:05 && tcp.dst == 80'`;

interface TraceOptions {
  readonly file: readonly string[];
  readonly ct: readonly string[];
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function addTrace(ovn: Command, run: Run, trace: OvnVerbs["trace"], terminal: Terminal): void {
  ovn
    .command("trace")
    .summary(WORDS.ovnTraceSummary)
    .description(WORDS.ovnTraceDescription)
    .argument("<microflow>", WORDS.ovnTraceMicroflow)
    .argument("[microflow]", "the microflow, behind the name of a datapath")
    .requiredOption("-f, --file <path>", WORDS.ovnTraceFile, collect, [])
    .option("--ct <state>", WORDS.ovnTraceState, collect, [])
    .addHelpText(
      "after",
      examples(
        `mullion ovn trace -f sb.db -f nb.db ${MICROFLOW}`,
        `mullion ovn trace -f flows.txt --ct new,trk ${MICROFLOW}`,
      ) + `\n${WORDS.ovnTraceExitCodes}\n`,
    )
    .action((first: string, second: string | undefined, options: TraceOptions) =>
      run(() => {
        const [datapath, microflow] = second === undefined ? [undefined, first] : [first, second];
        return trace({ files: options.file, datapath, microflow, states: options.ct }, terminal);
      }),
    );
}

export function addOvn(program: Command, run: Run, verbs: Partial<OvnVerbs>, terminal: Terminal): void {
  const ovn = program
    .command("ovn")
    .summary(WORDS.ovnSummary)
    .description(WORDS.ovnDescription)
    .addHelpText("after", examples(`mullion ovn trace -f sb.db -f nb.db ${MICROFLOW}`));
  if (verbs.trace !== undefined) addTrace(ovn, run, verbs.trace, terminal);
}
