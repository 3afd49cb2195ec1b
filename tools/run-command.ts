/** Runs command lines of mullion and of the tools of Windows in this process, on a terminal and files in memory. */
import { runHnsdiag } from "#cli/hnsdiag/program.ts";
import { runPktmon } from "#cli/pktmon/program.ts";
import { runVfpctrl } from "#cli/vfpctrl/program.ts";
import { bringUp } from "#cli/mullion/cluster/bring-up.ts";
import { demo } from "#cli/mullion/demo.ts";
import { get } from "#cli/mullion/get/get.ts";
import { dump } from "#cli/mullion/hns/dump.ts";
import { get as getHns } from "#cli/mullion/hns/get.ts";
import { lint } from "#cli/mullion/lint.ts";
import { merge } from "#cli/mullion/merge.ts";
import { runMullion } from "#cli/mullion/program.ts";
import { realPrograms } from "#cli/mullion/programs/programs.ts";
import { resolve, trace } from "#cli/mullion/trace.ts";
import type { Verbs } from "#cli/mullion/verbs.ts";
import { doctor } from "#cli/mullion/doctor.ts";
import { exec } from "#cli/mullion/exec.ts";
import { list as listOvn, listFlows, show as showOvn } from "#cli/mullion/ovn/show.ts";
import { trace as traceFlows } from "#cli/mullion/ovn/trace.ts";
import { verify } from "#cli/mullion/verify.ts";
import { diff, ports, show } from "#cli/mullion/vfp/vfp.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";

/** For what works on the machine: it has its help, and cannot be run here. */
async function notHere(): Promise<never> {
  return Promise.reject(new Error("this verb works on the machine and is not run here"));
}

/** All verbs, so that the help and the advice for a wrong word are those of the executable. */
export const VERBS: Verbs = {
  trace,
  resolve,
  exec,
  get,
  verify,
  merge,
  lint,
  doctor,
  bringUp,
  demo,
  up: notHere,
  ui: notHere,
  shell: notHere,
  logs: notHere,
  capture: notHere,
  top: notHere,
  apply: notHere,
  delete: notHere,
  down: notHere,
  node: notHere,
  controlPlane: notHere,
  pass: notHere,
  ovn: { trace: traceFlows, show: showOvn, list: listOvn, listFlows },
  cni: { attach: notHere, gc: notHere, status: notHere, version: notHere },
  docker: { create: notHere, list: notHere, inspect: notHere, remove: notHere },
  hns: {
    get: getHns,
    dump,
    create: notHere,
    modify: notHere,
    delete: notHere,
    serve: notHere,
    watch: notHere,
    restore: notHere,
    check: notHere,
    repair: notHere,
    fault: notHere,
  },
  kube: { serve: notHere },
  vfp: { ports, show, diff },
  wine: notHere,
  programs: { list: realPrograms().list, install: notHere, remove: notHere, run: notHere },
};

/** Programs other than mullion itself. */
const PROGRAMS: Readonly<
  Record<string, (argv: readonly string[], terminal: MemoryTerminal) => Promise<number>>
> = { hnsdiag: runHnsdiag, vfpctrl: runVfpctrl, pktmon: runPktmon };

/** What a command printed, and the files that it wrote. */
export interface CommandRun {
  readonly exitCode: number;
  readonly terminal: MemoryTerminal;
}

/** Runs one command line: the program and its words. Files that it writes stay in memory. */
export async function runCommand(
  [program = "", ...argv]: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<CommandRun> {
  const terminal = new MemoryTerminal(files);
  const run = PROGRAMS[program];
  const exitCode =
    run === undefined
      ? await runMullion({ argv, verbs: VERBS, terminal, version: "0", isDebug: true })
      : await run(argv, terminal);
  return { exitCode, terminal };
}
