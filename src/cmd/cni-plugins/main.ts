/**
 * The entry point of the CNI executables: the real process, the real HNS, the real files. One file for all of
 * them; what only one needs is imported only then, because a plugin's process lives for one call.
 */
import { readFileSync, readSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LIMITS } from "../../base/limits.ts";
import { CNI_CODES, CniError, formatCniError } from "../../cni/error.ts";
import { formatJson } from "../../cni/json.ts";
import type { Compat, Environment } from "../../cni/parameters.ts";
import type { CniPlugin, Platform } from "../../cni/plugin.ts";
import { type CniProcess, type PluginStatus, runPlugin } from "../../cni/program.ts";

/** A plugin with what is to be done when its call is over. */
interface OpenPlugin {
  readonly plugin: CniPlugin;
  close(): Promise<void>;
}

/** The executables lie beside `src/` and beside `dist/` alike. */
const BIN_FOLDER = fileURLToPath(new URL("../../../bin", import.meta.url));

const COMPAT_FLAG = "--mullion-compat=";
const COMPAT_VARIABLE = "MULLION_COMPAT";

/** The temper: the flag, else the variable, else `better`. @throws CniError for another word. */
export function chooseCompat(args: readonly string[], env: Environment): Compat {
  const flag = args.find((arg) => arg.startsWith(COMPAT_FLAG))?.slice(COMPAT_FLAG.length);
  const word = flag ?? env[COMPAT_VARIABLE] ?? "";
  if (word === "" || word === "better") return "better";
  if (word === "reference") return "reference";
  const name = flag === undefined ? COMPAT_VARIABLE : "--mullion-compat";
  throw new CniError(
    CNI_CODES.invalidEnvironment,
    `${name} is ${JSON.stringify(word)}; write "reference" or "better"`,
  );
}

const CHUNK_BYTES = 65_536;
const STDIN_DESCRIPTOR = 0;

/** Reads stdin to its end, at most one byte more than a configuration may have. */
function readAllOfStdin(): string {
  const chunks: Buffer[] = [];
  for (let length = 0; length <= LIMITS.jsonBytesMax; ) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const count = readSync(STDIN_DESCRIPTOR, chunk);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    length += count;
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function readStream(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

async function readStdin(): Promise<string> {
  try {
    return readAllOfStdin();
  } catch (error) {
    // Windows ends a pipe with EOF as an error; a pipe that does not block has to be waited for.
    if (errorCode(error) === "EOF") return "";
    if (errorCode(error) === "EAGAIN") return readStream();
    throw error;
  }
}

function realProcess(compat: Compat): CniProcess {
  return {
    // Delegates inherit the temper.
    env: { ...process.env, [COMPAT_VARIABLE]: compat },
    platform: process.platform as Platform,
    readStdin,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
  };
}

async function openHostLocal(compat: Compat): Promise<OpenPlugin> {
  const [{ HostLocal }, { FileLeaseStore, describeSystemError }] = await Promise.all([
    import("../../plugins/host-local/plugin.ts"),
    import("../../plugins/host-local/file-lease-store.node.ts"),
  ]);
  const { platform } = process;
  const store = new FileLeaseStore({
    platform,
    waitMs: LIMITS.leaseLockWaitMs,
    flockProgram: platform === "linux" ? "flock" : "",
  });
  const files = {
    readText: (path: string): Promise<string> =>
      Promise.resolve()
        .then(() => readFileSync(path, "utf8"))
        .catch((error: unknown) => {
          throw new Error(describeSystemError(error), { cause: error });
        }),
  };
  return { plugin: new HostLocal({ store, compat, files }), close: () => Promise.resolve() };
}

async function openWinBridge(compat: Compat): Promise<OpenPlugin> {
  const [{ WinBridge }, { RunnerDelegate }, { LazyHcnClient }, { OwnPluginRunner }] = await Promise.all([
    import("../../plugins/win-bridge/plugin.ts"),
    import("../../cni/delegate.ts"),
    import("./lazy-hcn-client.ts"),
    import("./own-plugin-runner.ts"),
  ]);
  const client = new LazyHcnClient(async () => {
    const { findHns } = await import("../../hcn/find-hns.node.ts");
    return findHns({ variables: process.env });
  });
  const runner = new OwnPluginRunner({
    platform: process.platform as Platform,
    binFolder: BIN_FOLDER,
    open: async (name) => (name === "host-local" ? (await openHostLocal(compat)).plugin : undefined),
  });
  const delegate = new RunnerDelegate(runner);
  return { plugin: new WinBridge({ client, delegate, compat }), close: () => client.close() };
}

/** The plugins by the names of their executables. */
const PLUGINS: Readonly<Record<string, (compat: Compat) => Promise<OpenPlugin>>> = {
  "host-local": openHostLocal,
  "win-bridge": openWinBridge,
};

async function run(name: string): Promise<PluginStatus> {
  const open = PLUGINS[name];
  if (open === undefined) {
    throw new CniError(
      CNI_CODES.internal,
      `there is no plugin "${name}"; there are ${Object.keys(PLUGINS).join(", ")}`,
    );
  }
  const compat = chooseCompat(process.argv.slice(2), process.env);
  const opened = await open(compat);
  try {
    return await runPlugin(opened.plugin, realProcess(compat));
  } finally {
    await opened.close();
  }
}

/** Runs the plugin `name` once, with this process' environment, stdin and stdout. Sets the exit status. */
export async function main(name: string): Promise<void> {
  // A caller that does not read any more is none of the plugin's business.
  process.stdout.on("error", () => undefined);
  try {
    process.exitCode = await run(name);
  } catch (error) {
    const failure = error instanceof CniError ? error : new CniError(CNI_CODES.internal, String(error));
    process.stdout.write(formatJson(formatCniError(failure), 4));
    process.exitCode = 1;
  }
}
