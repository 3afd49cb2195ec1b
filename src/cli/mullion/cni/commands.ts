/** `mullion cni` on the command line: one function per verb. */
import type { Command } from "commander";
import { type Run, usage } from "../options.ts";
import { TEXT_FORMATS, type TextFormat } from "../print-document.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import { type CapabilityOptions, readCapabilityOptions } from "./capability-options.ts";
import { type AttachmentCommand, type CniTarget, type CniVerbs, type KeptAttachment } from "./verbs.ts";

interface TargetOptions {
  readonly confDir?: string;
  readonly pluginDir?: readonly string[];
  readonly cacheDir?: string;
  readonly output: TextFormat;
}

interface AttachOptions extends TargetOptions, CapabilityOptions {
  readonly containerId?: string;
  readonly ifname?: string;
  readonly args?: string;
}

function cniTarget(list: string, { confDir, pluginDir = [], cacheDir, output }: TargetOptions): CniTarget {
  return { list, confFolder: confDir, pluginFolders: pluginDir, cacheFolder: cacheDir, output };
}

function addAttach(
  cni: Command,
  command: AttachmentCommand,
  run: Run,
  attach: CniVerbs["attach"],
  terminal: Terminal,
): void {
  const name = command.toLowerCase();
  addVerb(cni, name, { values: { "--output": TEXT_FORMATS } }).action(
    (list: string, netns: string | undefined, options: AttachOptions) =>
      run(() => {
        const { containerId, ifname, args } = options;
        const capabilityArgs = readCapabilityOptions(options);
        const target = cniTarget(list, options);
        return attach(
          { target, command, netns, containerId, ifName: ifname, args, capabilityArgs },
          terminal,
        );
      }),
  );
}

function readKept(text: string): KeptAttachment {
  const [containerId = "", ifName, ...more] = text.split("/");
  if (containerId === "" || ifName === "" || more.length > 0)
    throw usage(`--keep cannot be ${JSON.stringify(text)}`, "Write CONTAINER or CONTAINER/INTERFACE.");
  return { containerId, ifName };
}

interface GcOptions extends TargetOptions {
  readonly keep?: readonly string[];
  readonly keepNone?: boolean;
}

function addGc(cni: Command, run: Run, gc: CniVerbs["gc"], terminal: Terminal): void {
  addVerb(cni, "gc", { values: { "--output": TEXT_FORMATS } }).action((list: string, options: GcOptions) =>
    run(() => {
      if (options.keep !== undefined && options.keepNone === true)
        throw usage("--keep and --keep-none contradict each other", "Leave one of them out.");
      const keep = options.keepNone === true ? [] : options.keep?.map(readKept);
      return gc({ target: cniTarget(list, options), keep }, terminal);
    }),
  );
}

function addSimple(
  cni: Command,
  name: "status" | "version",
  run: Run,
  verb: CniVerbs["status"],
  terminal: Terminal,
): void {
  addVerb(cni, name, { values: { "--output": TEXT_FORMATS } }).action(
    (list: string, options: TargetOptions) => run(() => verb(cniTarget(list, options), terminal)),
  );
}

export function addCni(program: Command, run: Run, verbs: Partial<CniVerbs>, terminal: Terminal): void {
  const cni = addVerb(program, "cni");
  if (verbs.attach !== undefined) {
    for (const command of ["ADD", "DEL", "CHECK"] as const)
      addAttach(cni, command, run, verbs.attach, terminal);
  }
  if (verbs.gc !== undefined) addGc(cni, run, verbs.gc, terminal);
  if (verbs.status !== undefined) addSimple(cni, "status", run, verbs.status, terminal);
  if (verbs.version !== undefined) addSimple(cni, "version", run, verbs.version, terminal);
}
