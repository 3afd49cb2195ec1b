/** `mullion vfp` on the command line. */
import type { Command } from "commander";
import { type Run, type TargetOptions, clusterTarget } from "../options.ts";
import { TEXT_FORMATS, type TextFormat } from "../print-document.ts";
import { LIST_FORMATS, type ListFormat } from "../table.ts";
import { addVerb } from "../described-verb.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { ClusterTarget } from "../cluster/cluster-target.ts";

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

interface PortsOptions extends TargetOptions {
  readonly node?: string;
  readonly output: ListFormat;
}

interface TextOptions extends TargetOptions {
  readonly output: TextFormat;
}

function addPorts(vfp: Command, run: Run, ports: VfpVerbs["ports"], terminal: Terminal): void {
  addVerb(vfp, "ports", { values: { "--output": LIST_FORMATS } }).action((options: PortsOptions) =>
    run(() => {
      const { node, output } = options;
      return ports({ target: clusterTarget(options), node, output }, terminal);
    }),
  );
}

function addShow(vfp: Command, run: Run, show: VfpVerbs["show"], terminal: Terminal): void {
  addVerb(vfp, "show", { values: { "--output": TEXT_FORMATS } }).action(
    (subject: string, options: TextOptions) =>
      run(() => show({ target: clusterTarget(options), subject, output: options.output }, terminal)),
  );
}

function addDiff(vfp: Command, run: Run, diff: VfpVerbs["diff"], terminal: Terminal): void {
  addVerb(vfp, "diff", { values: { "--output": TEXT_FORMATS } }).action(
    (left: string, right: string, options: TextOptions) =>
      run(() => diff({ target: clusterTarget(options), left, right, output: options.output }, terminal)),
  );
}

export function addVfp(program: Command, run: Run, verbs: Partial<VfpVerbs>, terminal: Terminal): void {
  const vfp = addVerb(program, "vfp");
  if (verbs.ports !== undefined) addPorts(vfp, run, verbs.ports, terminal);
  if (verbs.show !== undefined) addShow(vfp, run, verbs.show, terminal);
  if (verbs.diff !== undefined) addDiff(vfp, run, verbs.diff, terminal);
}
