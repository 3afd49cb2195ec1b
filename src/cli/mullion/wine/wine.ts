/** `mullion wine`: a Windows program under Wine, with the DLLs of shim/ and a service that answers them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync } from "node:fs";
import { constants, homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readTokenFile } from "#contracts/hcn/http/http-exchange.node.ts";
import { packageRoot } from "../../installation.ts";
import { Failure } from "../failure.ts";
import { usage } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import type { WineRequest } from "../verbs.ts";
import { traceCalls } from "./trace-calls.ts";
import { EXECUTABLE_HEAD, describeUnfit } from "./windows-executable.ts";
import { WineMissingError, type WinePrefix, prepareWinePrefix } from "./wine-prefix.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** The address stands among the first lines. */
const SAID_MAX = 65_536;

type Variables = Readonly<Record<string, string>>;

/** A service, and how to end it. */
interface Service {
  readonly variables: Variables;
  readonly stop: () => Promise<void>;
}

function prefixFolder(): string {
  const cache = process.env["XDG_CACHE_HOME"] ?? "";
  return join(cache === "" ? join(homedir(), ".cache") : cache, "mullion", "wine-prefix");
}

async function openPrefix(): Promise<WinePrefix> {
  try {
    return await prepareWinePrefix(prefixFolder(), join(packageRoot(), "dist", "shim"));
  } catch (error) {
    if (error instanceof WineMissingError)
      throw usage("Windows programs cannot be run here", `${error.message}.`);
    throw error;
  }
}

/** The service that the user named. Its token goes into a variable: paths mean something else to Windows programs. */
function givenService(address: string, { profile, data, adapters }: WineRequest): Service {
  if (profile !== undefined || data !== undefined || adapters.length > 0) {
    throw usage(WORDS.wineOptionsNeedPrivateService, "Leave them out, or unset MULLION_HNS.");
  }
  if (!address.startsWith("http://")) {
    throw usage(
      `MULLION_HNS is ${JSON.stringify(address)}, which Windows programs cannot reach`,
      'Start the service with "mullion hns serve --listen 127.0.0.1:PORT --token-file FILE".',
    );
  }
  const file = process.env["MULLION_HNS_TOKEN_FILE"] ?? "";
  const token = process.env["MULLION_HNS_TOKEN"] ?? "";
  const found = token === "" && file !== "" ? readTokenFile(file) : token;
  return { variables: { MULLION_HNS: address, MULLION_HNS_TOKEN: found }, stop: async () => {} };
}

/** The address that `hns serve` prints. Reading goes on: it ends when nobody reads it. @throws Failure when it ended. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolveAddress, reject) => {
    let said = "";
    child.stdout?.on("data", (part: Buffer) => {
      if (said.length < SAID_MAX) said += part.toString();
      const found = /MULLION_HNS=(http:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolveAddress(found);
    });
    child.once("exit", () =>
      reject(new Failure("bad-usage", "the service did not start", "Its output is above.")),
    );
  });
}

async function ownService({ profile, data, adapters }: WineRequest): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-wine-"));
  const tokenFile = join(folder, "token");
  const options = [
    "--listen",
    "127.0.0.1:0",
    "--token-file",
    tokenFile,
    ...(profile === undefined ? [] : ["--profile", profile]),
    ...(data === undefined ? [] : ["--data", data]),
    ...adapters.flatMap((adapter) => ["--adapter", adapter]),
  ];
  // Apart from the terminal: Ctrl-C is for the program, and the service is there until it has ended.
  const child = spawn(process.execPath, [process.argv[1] ?? "", "hns", "serve", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const exit = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await exit;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const address = await addressOf(child);
    const token = readFileSync(tokenFile, "utf8").trim();
    return { variables: { MULLION_HNS: address, MULLION_HNS_TOKEN: token }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs it with the streams of this process; its exit code, or 128 and the signal that ended it, as shells say it. */
async function runProgram(
  prefix: WinePrefix,
  { program, args }: WineRequest,
  service: Variables,
): Promise<number> {
  const env = { ...process.env, ...prefix.variables, ...service };
  const child = spawn(prefix.wine, [resolve(program), ...args], { env, stdio: "inherit" });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", pass).on("SIGTERM", pass);
  try {
    await once(child, "exit");
  } finally {
    process.off("SIGINT", pass).off("SIGTERM", pass);
  }
  return child.exitCode ?? 128 + (child.signalCode === null ? 0 : constants.signals[child.signalCode]);
}

/** Lets a program run on `service` while its calls are written down. @throws Failure when the file cannot be written. */
async function runTraced(
  file: string,
  service: Variables,
  terminal: Terminal,
  run: (variables: Variables) => Promise<number>,
): Promise<number> {
  const fail = (error: unknown): Failure =>
    usage(`the calls could not be written: ${String(error)}`, "Name a file that can be written.");
  const address = service["MULLION_HNS"] ?? "";
  const tracer = await traceCalls(address, file).catch((error: unknown) => Promise.reject(fail(error)));
  try {
    return await run({ ...service, MULLION_HNS: tracer.address });
  } finally {
    const summary = await tracer.close().catch((error: unknown) => Promise.reject(fail(error)));
    terminal.stderr(summary);
  }
}

/** Wine itself says little of a program that it cannot run, or nothing. @throws Failure. */
function checkProgram(path: string): void {
  const name = JSON.stringify(path);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    throw usage(`there is no program ${name}`, "Name the path of an .exe file.");
  // Wine has an interpreter for them.
  if (/\.(?:bat|cmd)$/i.test(path)) return;
  const head = Buffer.alloc(EXECUTABLE_HEAD);
  const file = openSync(path, "r");
  try {
    const unfit = describeUnfit(head.subarray(0, readSync(file, head)));
    if (unfit !== undefined) throw usage(`${name} ${unfit}`, "Name an .exe file for Windows on x64.");
  } finally {
    closeSync(file);
  }
}

/** @throws Failure when the program or Wine is missing, or the service cannot be had. */
export async function wine(request: WineRequest, terminal: Terminal): Promise<number> {
  checkProgram(request.program);
  const address = process.env["MULLION_HNS"] ?? "";
  const service = address === "" ? await ownService(request) : givenService(address, request);
  try {
    // Last: Windows' services end some seconds after they were started for nothing.
    const prefix = await openPrefix();
    const run = (variables: Variables): Promise<number> => runProgram(prefix, request, variables);
    if (request.traceCalls === undefined) return await run(service.variables);
    return await runTraced(request.traceCalls, service.variables, terminal, run);
  } finally {
    await service.stop();
  }
}
