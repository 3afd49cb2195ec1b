/** The verbs of a running cluster on the command line: `up`, `apply`, `delete`, `down`. */
import type { OvnRemote } from "#cluster/ovn/remote-southbound.node.ts";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { LiveOptions, LiveRuntime } from "#cluster/live/live-cluster.node.ts";
import { parseSelections } from "../get/kinds.ts";
import {
  type NameOptions,
  type Run,
  type TargetOptions,
  inputPaths,
  runningName,
  usage,
} from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import type { Verbs } from "../verbs.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

interface UpOptions extends TargetOptions {
  readonly foreground?: boolean;
  readonly held?: boolean;
  readonly live?: boolean;
  readonly liveBridge?: string;
  readonly liveAs?: string;
  readonly livePod?: readonly string[];
  readonly liveHns?: readonly string[];
  readonly ovnRemote?: string;
  readonly privateKey?: string;
  readonly certificate?: string;
  readonly caCert?: string;
}

/** What is asked of the segment between the nodes; undefined: nothing, it is simulated. */
function liveOptions(options: UpOptions): LiveOptions | undefined {
  const { live = false, liveBridge: bridge, liveAs: node, livePod: pods = [] } = options;
  const runtimes = (options.liveHns ?? []).map(parseRuntime);
  if (bridge !== undefined && node !== undefined)
    throw usage("--live-bridge and --live-as exclude each other", WORDS.adviceLiveBridgeOrNode);
  const isLive = live || bridge !== undefined || node !== undefined || pods.length > 0 || runtimes.length > 0;
  return isLive ? { bridge, node, pods, runtimes } : undefined;
}

/** `NODE=SOCKET`; the process that holds the cluster runs in another folder. */
function parseRuntime(text: string): LiveRuntime {
  const at = text.indexOf("=");
  const [node, socket] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (node === "" || socket === "")
    throw usage(
      `--live-hns takes NODE=SOCKET, not ${JSON.stringify(text)}`,
      "For example: --live-hns win-1=/tmp/win-1.sock",
    );
  return { node, socket: resolve(socket) };
}

/** The process that holds the cluster runs in another folder: paths of sockets are told from the root. */
function absoluteRemote(remote: string): string {
  const each = remote.split(",").map((text) => text.trim());
  return each.map((text) => (text.startsWith("unix:") ? `unix:${resolve(text.slice(5))}` : text)).join(",");
}

/** The southbound database that was named, with the files for TLS; undefined: none. */
function ovnRemote(options: UpOptions): OvnRemote | undefined {
  const { ovnRemote: remote, privateKey, certificate, caCert } = options;
  if (remote === undefined && [privateKey, certificate, caCert].some((path) => path !== undefined))
    throw usage(WORDS.upTlsWithoutRemote, "For example: --ovn-remote ssl:10.0.0.1:6642");
  if (remote === undefined) return undefined;
  const absolute = (path: string | undefined): string | undefined => path && resolve(path);
  return {
    remote: absoluteRemote(remote),
    privateKey: absolute(privateKey),
    certificate: absolute(certificate),
    caCertificate: absolute(caCert),
  };
}

export function addUp(program: Command, run: Run, up: Verbs["up"], terminal: Terminal): void {
  addVerb(program, "up").action((options: UpOptions) =>
    run(() => {
      const isHeld = options.held === true;
      return up(
        {
          inputs: inputPaths(options),
          running: isHeld ? { name: options.name, socket: options.socket } : runningName(options),
          isForeground: options.foreground === true,
          isHeld,
          live: liveOptions(options),
          ovnRemote: ovnRemote(options),
        },
        terminal,
      );
    }),
  );
}

interface UiOptions extends TargetOptions {
  readonly hns?: string | true;
  readonly listen: string;
  readonly open: boolean;
}

export function addUi(program: Command, run: Run, ui: Verbs["ui"], terminal: Terminal): void {
  addVerb(program, "ui").action((reports: readonly string[], options: UiOptions) =>
    run(() => {
      const { listen, open } = options;
      const target = { inputs: inputPaths(options), running: runningName(options) };
      const hns = options.hns === true ? "" : options.hns;
      const isCluster = target.inputs.files.length > 0 || options.name !== undefined;
      if ([reports.length > 0, hns !== undefined, isCluster].filter(Boolean).length > 1)
        throw usage(WORDS.uiOneSubject, "Leave all but one of them out.");
      return ui({ ...target, reports, hns, listen, opensBrowser: open }, terminal);
    }),
  );
}

interface ChangeOptions extends TargetOptions {
  readonly namespace: string;
}

export function addApply(program: Command, run: Run, apply: Verbs["apply"], terminal: Terminal): void {
  addVerb(program, "apply").action((options: ChangeOptions) =>
    run(() => {
      const inputs = inputPaths(options);
      if (inputs.files.length === 0) throw usage("no file is given", "Name manifests with -f.");
      return apply({ inputs, running: runningName(options), namespace: options.namespace }, terminal);
    }),
  );
}

interface DeleteOptions extends ChangeOptions {
  readonly ignoreNotFound?: boolean;
}

export function addDelete(program: Command, run: Run, remove: Verbs["delete"], terminal: Terminal): void {
  addVerb(program, "delete").action((what: readonly string[], options: DeleteOptions) =>
    run(() => {
      const inputs = inputPaths(options);
      const selections = what.length === 0 ? [] : parseSelections(what);
      if (selections.length + inputs.files.length === 0)
        throw usage("nothing to delete is given", "Name objects, such as pod web, or manifests with -f.");
      if (selections.some(({ objects }) => objects.length === 0))
        throw usage("a kind is given and no name", "Write the names behind it, such as pod web.");
      return remove(
        {
          inputs,
          running: runningName(options),
          namespace: options.namespace,
          selections,
          isMissingGood: options.ignoreNotFound === true,
        },
        terminal,
      );
    }),
  );
}

export function addDown(program: Command, run: Run, down: Verbs["down"], terminal: Terminal): void {
  addVerb(program, "down").action((options: NameOptions) => run(() => down(runningName(options), terminal)));
}
