/** `mullion ui`: a cluster, an HNS or what doctor found, in a browser. */
import { spawn } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { alreadyRunning } from "#cluster/api/server.node.ts";
import { notRunning } from "#cluster/api/socket-transport.node.ts";
import { type ClusterPlace, listNames } from "#cluster/api/state-folder.node.ts";
import { PROFILE_NAMES } from "#core/catalogue/profiles.ts";
import { startBeside } from "../cluster/background.ts";
import { findRunning } from "../cluster/cluster-target.ts";
import { readClusterInputs } from "../cluster/read-cluster-inputs.ts";
import { announce, checkSystem, progressLines } from "../cluster/up.ts";
import { Failure } from "../failure.ts";
import { parseListenAddress } from "../options.ts";
import { type ExitCode, type Terminal, howToEnd } from "../terminal.ts";
import type { UiRequest } from "../verbs.ts";
import type { BringUpState, UiAbout } from "./about.ts";
import { examine, readDoctor } from "./examine.ts";
import { withHns } from "../hns/connect.ts";
import { HnsSource } from "./hns-source.ts";
import { UiServer, type UiServerOptions } from "./ui-server.ts";
import { commandLine } from "#data/words.js";

const OPTION_WORDS = commandLine();

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

/** What the pages are over, and what is asked of it. */
type Pages = Pick<UiServerOptions, "source" | "about" | "bringUp" | "examine">;

async function serve(pages: Pages, request: UiRequest, terminal: Terminal): Promise<UiServer> {
  const address = parseListenAddress(request.listen);
  let server: UiServer;
  try {
    server = await UiServer.listen({ ...pages, address });
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

/** Serves pages until they are ended. */
async function serveUntilEnded(pages: Pages, request: UiRequest, terminal: Terminal): Promise<ExitCode> {
  const server = await serve(pages, request, terminal);
  await terminal.untilInterrupted();
  await server.close();
  return 0;
}

function pagesOfCluster(place: ClusterPlace, { inputs, running }: UiRequest, terminal: Terminal): Pages {
  const target = { ...inputs, ...running };
  const hasFiles = target.files.length > 0;
  const about: UiAbout = { kind: "cluster", name: "", hasFiles, profiles: PROFILE_NAMES };
  return {
    source: place,
    about,
    examine: (verb, body, watcher) => examine(verb, body, target, terminal, watcher),
  };
}

const NO_CLUSTER = { files: [], isRecursive: false, name: undefined, socket: undefined };

/** The HNS of `mullion hns serve`. @throws Failure when none answers. */
async function serveHns(socket: string, request: UiRequest, terminal: Terminal): Promise<ExitCode> {
  const target = { files: [], socket: socket === "" ? undefined : socket };
  return withHns(target, terminal, async (connection) => {
    // Who does not answer is told now, not on a page.
    await connection.client.enumerate("Network");
    const pages: Pages = {
      source: new HnsSource(connection),
      about: { kind: "hns", name: connection.where, hasFiles: false, profiles: [] },
      examine: (verb, body) => examine(verb, body, NO_CLUSTER, terminal),
    };
    return serveUntilEnded(pages, request, terminal);
  });
}

/** A report that `doctor -o json` has written; or what doctor says of files and folders, each time that a page asks. */
async function serveReport(request: UiRequest, terminal: Terminal): Promise<ExitCode> {
  const { reports: paths } = request;
  const read = (): Promise<string> => readDoctor(paths, terminal);
  // What cannot be read is told now, not on a page.
  await read();
  const pages: Pages = {
    source: undefined,
    about: { kind: "doctor", name: paths.join(", "), hasFiles: false, profiles: [] },
    examine: (verb, body) =>
      verb === "doctor" && body === undefined ? read() : examine(verb, body, NO_CLUSTER, terminal),
  };
  return serveUntilEnded(pages, request, terminal);
}

/** A cluster that takes longer than this to come up shows its progress on the page. */
const SHOWN_AFTER_MS = 2_000;

/** How far the bring-up is, for the page. */
class BringUp {
  private readonly beganMs = performance.now();
  private step = { text: "", done: 0, total: 0 };
  private isUp = false;

  tell(text: string, done: number, total: number): void {
    this.step = { text, done, total };
  }

  end(): void {
    this.isUp = true;
  }

  state(): BringUpState {
    return { isUp: this.isUp, ...this.step, elapsedMs: Math.round(performance.now() - this.beganMs) };
  }
}

/**
 * Brings the cluster up, for the other verbs as well, and serves it until it is ended. It lives in a process beside this one, so
 * that pages are answered while it works.
 */
async function serveFiles(place: ClusterPlace, request: UiRequest, terminal: Terminal): Promise<void> {
  const { files, isRecursive } = request.inputs;
  const inputs = await readClusterInputs(files, isRecursive, terminal);
  terminal.stderr("Bringing the cluster up …\n");
  const bringUp = new BringUp();
  const lines = progressLines(terminal);
  const cluster = startBeside(
    { place, live: undefined, ovnRemote: undefined },
    inputs,
    (text, done, total) => {
      bringUp.tell(text, done, total);
      lines(text, done, total);
    },
  );
  const pages: Pages = { ...pagesOfCluster(place, request, terminal), bringUp: () => bringUp.state() };
  let server: UiServer | undefined;
  try {
    const isSlow = wait(SHOWN_AFTER_MS, true, { ref: false });
    if ((await Promise.race([cluster.isUp, isSlow])) === true) server = await serve(pages, request, terminal);
    const started = await cluster.isUp;
    announce(started, terminal);
    bringUp.end();
    server ??= await serve(pages, request, terminal);
    await Promise.race([terminal.untilInterrupted(), cluster.ended]);
  } finally {
    await server?.close();
    await cluster.end();
  }
  terminal.stderr("The cluster is down.\n");
}

export async function ui(request: UiRequest, terminal: Terminal): Promise<ExitCode> {
  parseListenAddress(request.listen);
  if (request.reports.length > 0) return serveReport(request, terminal);
  if (request.hns !== undefined) return serveHns(request.hns, request, terminal);
  checkSystem();
  const { place, isRunning } = await findRunning(request.running);
  if (request.inputs.files.length > 0) {
    if (isRunning) throw alreadyRunning(place);
    await serveFiles(place, request, terminal);
    return 0;
  }
  if (!isRunning) throw notRunning(place, listNames(process.env));
  return serveUntilEnded(pagesOfCluster(place, request, terminal), request, terminal);
}
