/** `mullion ui`: the running cluster, or one of files, in a browser. */
import { spawn } from "node:child_process";
import { alreadyRunning } from "#cluster/api/server.node.ts";
import { notRunning } from "#cluster/api/socket-transport.node.ts";
import { type ClusterPlace, listNames } from "#cluster/api/state-folder.node.ts";
import { isFields } from "#core/base/json.ts";
import { findRunning } from "../cluster/cluster-target.ts";
import { holdCluster } from "../cluster/hold-cluster.ts";
import { readClusterInputs } from "../cluster/read-cluster-inputs.ts";
import { announce, checkSystem, progressLines } from "../cluster/up.ts";
import { doctor } from "../doctor.ts";
import { Failure } from "../failure.ts";
import { lint } from "../lint.ts";
import { parseListenAddress, usage } from "../options.ts";
import { processLog } from "../process-log.ts";
import { type ExitCode, type Terminal, howToEnd } from "../terminal.ts";
import type { DoctorRequest, LintRequest, UiRequest } from "../verbs.ts";
import { UiServer } from "./ui-server.ts";
import { commandLine, commands } from "#data/words.js";

const WORDS = commands();
const OPTION_WORDS = commandLine();

/** Texts that a page has sent, by name. @throws Failure for what is none. */
function textsOf(body: string): ReadonlyMap<string, string> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw usage("the request is not JSON", WORDS.adviceUiInputs);
  }
  const inputs: unknown = isFields(value) ? value["inputs"] : undefined;
  if (!Array.isArray(inputs)) throw usage("the request has no inputs", WORDS.adviceUiInputs);
  const texts = new Map<string, string>();
  for (const input of inputs as unknown[]) {
    const { name, text } = isFields(input) ? input : {};
    if (typeof name !== "string" || typeof text !== "string" || name === "" || name === "-")
      throw usage("an input lacks name or text", WORDS.adviceUiInputs);
    texts.set(name, text);
  }
  return texts;
}

/** The terminal with its output kept; with `texts` it knows no files but these. */
function keepingTerminal(terminal: Terminal, texts: ReadonlyMap<string, string> | undefined): KeptOutput {
  const chunks: string[] = [];
  const read = (path: string): string => {
    const text = texts?.get(path);
    if (text === undefined) throw Object.assign(new Error(path), { code: "ENOENT" });
    return text;
  };
  const screen: Partial<Terminal> = {
    stdout: (text) => void chunks.push(text),
    stderr: () => undefined,
    status: () => undefined,
  };
  const files: Partial<Terminal> = {
    readFile: async (path) => Promise.resolve(read(path)),
    readBytes: async (path) => Promise.resolve(new TextEncoder().encode(read(path))),
    readChunks: async () => Promise.resolve(undefined),
    listFolder: async () => Promise.resolve(undefined),
  };
  // Derived, not spread: a terminal may be of a class.
  const own = Object.assign(Object.create(terminal) as Terminal, screen, texts === undefined ? {} : files);
  return { terminal: own, output: () => chunks.join("") };
}

interface KeptOutput {
  readonly terminal: Terminal;
  readonly output: () => string;
}

const DOCTOR: Omit<DoctorRequest, "paths"> = {
  output: "json",
  kubeconfig: undefined,
  isRedacted: false,
  isLong: true,
};

const LINT: Omit<LintRequest, "paths"> = {
  profile: undefined,
  kubernetes: undefined,
  isWindows: false,
  format: "json",
  severity: "info",
  failOn: "error",
  isList: false,
  isLong: true,
  shard: undefined,
};

/** Runs `lint` or `doctor`, as their verbs do, and answers their JSON. */
async function examine(
  verb: "lint" | "doctor",
  body: string | undefined,
  files: readonly string[],
  terminal: Terminal,
): Promise<string> {
  const texts = body === undefined ? undefined : textsOf(body);
  const paths = texts === undefined ? files : [...texts.keys()];
  if (paths.length === 0) return "null";
  const kept = keepingTerminal(terminal, texts);
  if (verb === "doctor") await doctor({ ...DOCTOR, paths }, kept.terminal);
  else await lint({ ...LINT, paths }, kept.terminal);
  return kept.output();
}

/** What opens an address on this desktop; undefined where there is none. */
function opener(): readonly [string, ...string[]] | undefined {
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["cmd", "/c", "start", ""];
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  return (DISPLAY ?? WAYLAND_DISPLAY ?? "") === "" ? undefined : ["xdg-open"];
}

function openBrowser(url: string): void {
  const [program, ...args] = opener() ?? [];
  if (program === undefined) return;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  // The address is on the screen; who has no such program opens it by hand.
  child.on("error", () => undefined);
  child.unref();
}

async function serve(place: ClusterPlace, request: UiRequest, terminal: Terminal): Promise<UiServer> {
  const { files } = request.inputs;
  const address = parseListenAddress(request.listen);
  let server: UiServer;
  try {
    server = await UiServer.listen({
      place,
      address,
      examine: (verb, body) => examine(verb, body, files, terminal),
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (!["EADDRINUSE", "EADDRNOTAVAIL", "EACCES"].includes(code)) throw error;
    throw new Failure(
      "bad-usage",
      `cannot listen on ${request.listen}: ${code}`,
      OPTION_WORDS.adviceListenAddress,
    );
  }
  terminal.stdout(`\n  page: ${server.url}\n\n${howToEnd(process.pid, process.platform)}`);
  if (request.opensBrowser && terminal.isInteractive) openBrowser(server.url);
  return server;
}

/** Brings the cluster up, for the other verbs as well, and serves it until it is ended. */
async function serveFiles(place: ClusterPlace, request: UiRequest, terminal: Terminal): Promise<void> {
  const { files, isRecursive } = request.inputs;
  const inputs = await readClusterInputs(files, isRecursive, terminal);
  terminal.stderr("Bringing the cluster up …\n");
  let server: UiServer | undefined;
  const held = holdCluster({
    place,
    inputs,
    report: progressLines(terminal),
    onReady: async (started) => {
      announce(started, terminal);
      server = await serve(place, request, terminal);
      return true;
    },
    untilInterrupted: () => terminal.untilInterrupted(),
    log: processLog(),
  });
  try {
    await held;
  } finally {
    await server?.close();
  }
  terminal.stderr("The cluster is down.\n");
}

export async function ui(request: UiRequest, terminal: Terminal): Promise<ExitCode> {
  checkSystem();
  parseListenAddress(request.listen);
  const { place, isRunning } = await findRunning(request.running);
  if (request.inputs.files.length > 0) {
    if (isRunning) throw alreadyRunning(place);
    await serveFiles(place, request, terminal);
    return 0;
  }
  if (!isRunning) throw notRunning(place, listNames(process.env));
  const server = await serve(place, request, terminal);
  await terminal.untilInterrupted();
  await server.close();
  return 0;
}
