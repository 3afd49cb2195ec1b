/** `mullion hns serve`: the HNS of a node without networks, for programs that speak HCN. */
import { randomInt } from "node:crypto";
import { resolve } from "node:path";
import { messageOf } from "#core/base/thrown.ts";
import { RealClock } from "#core/base/real-clock.node.ts";
import { defaultSocketPath } from "#contracts/hcn/http/find-hns.node.ts";
import { formatHttpAddress } from "#contracts/hcn/http/http-client.node.ts";
import { ForeignFileError, checkOwnFolder } from "#core/base/owner-only.node.ts";
import { TokenFileError, openTokenFile } from "#contracts/hcn/http/http-exchange.node.ts";
import { HnsHttpServer, type ListenAddress } from "#hns/http/http-server.node.ts";
import { type LocalHns, type LocalHnsOptions, createHns } from "#hns/local-hns.ts";
import { type DurableHns, openHns } from "#hns/durable-hns.node.ts";
import type { ServedFacts } from "#hns/http/http-app.node.ts";
import type { StateFolder } from "#hns/store/state-folder.node.ts";
import { StateFolderError } from "#hns/store/folder-files.node.ts";
import type { RestoreNote } from "#hns/store/stored-object.ts";
import { PROFILE_NAMES, parseProfile } from "#core/catalogue/profiles.ts";
import { PluginService } from "../../cni-plugins/plugin-service.ts";
import { Failure, describeSystemError } from "../failure.ts";
import { usage } from "../options.ts";
import { processLog } from "../../output.ts";
import { type ExitCode, type Terminal, howToEnd } from "../terminal.ts";
import { parseAdapters, parseHnsVersion, parseListen } from "./serve-options.ts";
import type { HnsServeRequest } from "./verbs.ts";
import type { FaultInjector } from "#hns/failures/faults/fault-injector.ts";
import { parseQuirk } from "#core/catalogue/quirks.ts";
import { applyFile } from "./fault.ts";
import { asFaultFailure } from "./fault-request.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/**
 * Sets defects and puts plans in force, and says which.
 * @throws Failure for a defect that is none, and for a plan that cannot be read.
 */
export async function beginFaults(
  faults: FaultInjector,
  { quirks, faults: plans }: Pick<HnsServeRequest, "quirks" | "faults">,
  terminal: Terminal,
): Promise<void> {
  for (const text of quirks) {
    const parsed = parseQuirk(text);
    if ("problem" in parsed)
      throw usage(`--quirk ${JSON.stringify(text)}: ${parsed.problem}`, "See docs/reference/hns-faults.md.");
    await faults.setQuirk(parsed.name, parsed.setting);
  }
  const ids: string[] = [];
  try {
    for (const path of plans) ids.push(...(await applyFile(faults, path, terminal)));
  } catch (error) {
    throw asFaultFailure(error);
  }
  if (quirks.length > 0) terminal.stdout(`Defects set: ${quirks.join(", ")}\n`);
  if (ids.length > 0) terminal.stdout(`Faults in force: ${ids.join(", ")}\n`);
}

const NOTES_MAX = 20;
const MEMORY = "memory";
const SEED_MAX = 2 ** 47;

/** Where the service listens, and what programs have to know to find it. */
interface Place {
  readonly address: ListenAddress;
  readonly tokenFile: string | undefined;
}

function checkProfile(text: string): void {
  if (parseProfile(text) !== undefined) return;
  throw usage(
    `there is no Windows profile ${JSON.stringify(text)}`,
    `Profiles are: ${PROFILE_NAMES.join(", ")}. A build such as 10.0.20348.2582 will do, too.`,
  );
}

function readToken(path: string): string {
  try {
    return openTokenFile(path);
  } catch (error) {
    if (error instanceof TokenFileError) throw usage("the token cannot be used", error.message);
    throw usage(
      `the token file ${JSON.stringify(path)} cannot be used: ${describeSystemError(error)}`,
      WORDS.adviceTokenFile,
    );
  }
}

/** @throws Failure for options that contradict each other, and for a token that cannot be used. */
function placeOf({ listen, socket, tokenFile }: HnsServeRequest): Place {
  if (listen === undefined) {
    if (tokenFile !== undefined)
      throw usage("--token-file belongs to --listen", "A socket needs no token: only you can open it.");
    const path = socket ?? defaultSocketPath(process.env, process.getuid?.() ?? 0);
    return { address: { socketPath: path }, tokenFile: undefined };
  }
  if (socket !== undefined)
    throw usage("--socket and --listen both say where to listen", "Leave one of them out.");
  if (tokenFile === undefined) {
    throw usage("--listen needs --token-file", WORDS.adviceListenNeedsToken);
  }
  const { host, port } = parseListen(listen);
  return { address: { host, port, token: readToken(tokenFile) }, tokenFile: resolve(tokenFile) };
}

interface Running {
  readonly hns: LocalHns;
  /** What was found in the state folder and is not as it was. */
  readonly notes: readonly RestoreNote[];
  /** `memory`, or the state folder. */
  readonly store: string;
  readonly folder?: StateFolder;
  readonly stop: () => Promise<void>;
}

/** @throws Failure when the folder cannot be used. */
async function openFolder(path: string, options: LocalHnsOptions): Promise<DurableHns> {
  try {
    checkOwnFolder(path);
    return await openHns(path, options);
  } catch (error) {
    if (error instanceof ForeignFileError)
      throw usage(
        `the state folder cannot be used: ${error.message}`,
        "Name a folder of your own with --data.",
      );
    if (error instanceof StateFolderError) throw usage("the state folder cannot be used", error.message);
    throw error;
  }
}

/** A service that runs by itself: with the machine's time, and ids that differ from run to run, as on Windows. */
async function openService(request: HnsServeRequest): Promise<Running> {
  const log = processLog();
  let running: LocalHns | undefined;
  const clock = new RealClock({
    afterTask: () => {
      running?.client.flush().catch((error: unknown) => log.write("error", "change not stored", { error }));
    },
  });
  const options: LocalHnsOptions = {
    profile: request.profile,
    ...(request.hnsVersion !== undefined && { hnsVersion: parseHnsVersion(request.hnsVersion) }),
    adapters: parseAdapters(request.adapters),
    seed: randomInt(SEED_MAX),
    clock,
    epochMs: Date.now(),
    networking: { addressDelayMs: request.addressDelayMs },
  };
  if (request.data === undefined) {
    const hns = createHns(options);
    running = hns;
    const stop = async (): Promise<void> => {
      clock.stop();
      await hns.client.close();
    };
    return { hns, notes: [], store: MEMORY, stop };
  }
  const path = resolve(request.data);
  const durable = await openFolder(path, options);
  running = durable;
  const stop = async (): Promise<void> => {
    clock.stop();
    await durable.close();
  };
  return { hns: durable, notes: durable.notes, store: path, folder: durable.folder, stop };
}

async function startServer({ hns, store, folder }: Running, { address }: Place): Promise<HnsHttpServer> {
  const facts = (): ServedFacts => ({
    profile: hns.windows.profile.name,
    store,
    ...(store !== MEMORY && { storeWrites: hns.client.storedChanges }),
    ...(folder !== undefined && { storeFault: folder.fault, storeFaults: folder.faults }),
  });
  const { client } = hns;
  try {
    return await HnsHttpServer.listen({ client, address, facts, log: processLog() });
  } catch (error) {
    const where = "socketPath" in address ? address.socketPath : `${address.host}:${address.port}`;
    throw new Failure(
      "bad-usage",
      `cannot listen on ${JSON.stringify(where)}: ${describeSystemError(error)}`,
      `Name another place with ${"socketPath" in address ? "--socket" : "--listen"}.`,
    );
  }
}

/**
 * Calls of plugins, from launchers of Linux. Without it they start Node: a name that is too long for a socket is no fault.
 */
async function startPlugins({ hns }: Running, { address }: Place): Promise<PluginService | undefined> {
  if (process.platform !== "linux" || !("socketPath" in address)) return undefined;
  const log = processLog();
  try {
    return await PluginService.listen({ client: hns.client, socketPath: address.socketPath, log });
  } catch (error) {
    log.write("warn", "no socket for plugins", { error: messageOf(error) });
    return undefined;
  }
}

/** How curl asks for the health of the service, to try it out. */
function curlOf(url: string, { address, tokenFile }: Place): string {
  if ("socketPath" in address) return `curl --unix-socket ${address.socketPath} http://hns/healthz`;
  return `curl -H "Authorization: Bearer $(cat ${tokenFile ?? ""})" ${url}/healthz`;
}

/** What of the stored objects is not as it was; the first few, because a broken folder may hold thousands. */
function reportNotes(notes: readonly RestoreNote[], terminal: Terminal): void {
  for (const { kind, id, text } of notes.slice(0, NOTES_MAX)) terminal.stderr(`${kind} ${id}: ${text}\n`);
  const hidden = notes.length - NOTES_MAX;
  if (hidden > 0) terminal.stderr(`… and ${hidden} more\n`);
}

/** What is served, where, and how programs come to it. */
function announce(running: Running, server: HnsHttpServer, place: Place, terminal: Terminal): void {
  const { address, tokenFile } = place;
  const { windows, service } = running.hns;
  const version = `${service.version.Major}.${service.version.Minor}`;
  const url = formatHttpAddress(
    "port" in address ? { ...address, port: server.port ?? address.port } : address,
  );
  const adapters = service.adapterNames.join(", ");
  const keeping = running.store === MEMORY ? "in memory: nothing is kept" : `kept in ${running.store}`;
  terminal.stdout(
    `HNS ${version} of ${windows.profile.title}, on ${adapters}, ${keeping}. No packets move.\n`,
  );
  if (windows.hns !== undefined)
    terminal.stdout(`${WORDS.hnsVersionInferred({ version, name: windows.profile.name })}\n`);
  if (windows.note !== undefined) terminal.stdout(`${windows.note}\n`);
  for (const text of running.folder?.recoveries ?? []) terminal.stderr(`${running.store}: ${text}\n`);
  reportNotes(running.notes, terminal);
  terminal.stdout(`\n  export MULLION_HNS=${url}\n`);
  if (tokenFile !== undefined) terminal.stdout(`  export MULLION_HNS_TOKEN_FILE=${tokenFile}\n`);
  terminal.stdout(`\nTry: ${curlOf(url, place)}\n${howToEnd(process.pid, process.platform)}`);
}

/** Serves until the user ends it. @throws Failure when the profile is unknown or the place cannot be had. */
export async function serve(request: HnsServeRequest, terminal: Terminal): Promise<ExitCode> {
  checkProfile(request.profile);
  const place = placeOf(request);
  const running = await openService(request);
  let server: HnsHttpServer;
  let plugins: PluginService | undefined;
  try {
    running.hns.client.faults.logTo(processLog());
    await beginFaults(running.hns.client.faults, request, terminal);
    server = await startServer(running, place);
    plugins = await startPlugins(running, place);
  } catch (error) {
    await running.stop();
    throw error;
  }
  const stopped = terminal.untilInterrupted();
  announce(running, server, place, terminal);
  await stopped;
  await plugins?.close();
  await server.close();
  await running.stop();
  return 0;
}
