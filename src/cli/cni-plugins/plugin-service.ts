/**
 * Plugins for launchers (launcher/linux): beside the socket of HNS lies one on which a service of Mullion takes calls of
 * plugins, and runs them in its own process. A launcher sends what the call is; the service asks for the configuration
 * when the plugin reads it, and answers with what it said. A call that it cannot make as a process of the caller's would,
 * it declines before anything has happened.
 */
import { readlinkSync, unlinkSync } from "node:fs";
import { type Server, type Socket, createServer } from "node:net";
import { LIMITS } from "#core/base/limits.ts";
import type { Log } from "#core/base/log.ts";
import { messageOf } from "#core/base/thrown.ts";
import { visibleText } from "#core/base/visible-text.ts";
import type { Environment } from "#contracts/cni/plugin-input.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { listenOnSocket } from "#contracts/hcn/http/unix-socket.node.ts";
import { packageRoot } from "../installation.ts";
import { parseMark } from "../programs/launcher-mark.ts";
import { type PluginOpener, runPluginCall } from "./plugin-process.ts";

/** What a launcher appends to the path of the socket of HNS. */
export const PLUGIN_SOCKET_SUFFIX = ".cni";

const MAGIC = "mullcni1";
const HEAD_LENGTH_BYTES = 12;
const HEAD_BYTES_MAX = 1_048_576;
/** What a launcher reads at most: it ends with the chunk that is too much. */
const STDIN_BYTES_MAX = LIMITS.jsonBytesMax + 2 * 65_536;
/** How long a launcher may take to say what it wants. */
const PATIENCE_MS = 30_000;

const SERVED: ReadonlyMap<string, () => Promise<PluginOpener>> = new Map([
  ["win-bridge", async () => (await import("./open-main-plugin.ts")).openWinBridge],
  ["win-overlay", async () => (await import("./open-main-plugin.ts")).openWinOverlay],
  ["flannel", async () => (await import("./open-meta-plugins.ts")).openFlannel],
  ["nat", async () => (await import("./open-sdn-plugin.ts")).openSdnPlugin("nat")],
  ["sdnbridge", async () => (await import("./open-sdn-plugin.ts")).openSdnPlugin("sdnbridge")],
  ["sdnoverlay", async () => (await import("./open-sdn-plugin.ts")).openSdnPlugin("sdnoverlay")],
  ["azure-vnet", async () => (await import("./open-azure-vnet.ts")).openAzureVnet],
  ["azure-vnet-stateless", async () => (await import("./open-azure-vnet.ts")).openAzureVnetStateless],
  ["azure-vnet-ipam", async () => (await import("./open-azure-vnet.ts")).openAzureIpam("azure-vnet-ipam")],
  [
    "azure-vnet-ipamv6",
    async () => (await import("./open-azure-vnet.ts")).openAzureIpam("azure-vnet-ipamv6"),
  ],
  ["host-local", async () => (await import("./open-host-local.ts")).openHostLocal],
  ["mullion-netns", async () => (await import("./open-meta-plugins.ts")).openMullionNetns],
]);

/** The service does not take this call: the launcher starts Node. */
class Declined extends Error {}
/** The launcher went away, or sent what no launcher sends. */
class Broken extends Error {}

/** Where a process looks at files and networks. */
interface Standpoint {
  readonly folder: string;
  readonly namespaces: readonly string[];
}

const NAMESPACES = ["mnt", "net", "pid"] as const;

function ownStandpoint(): Standpoint {
  return {
    folder: process.cwd(),
    namespaces: NAMESPACES.map((name) => readlinkSync(`/proc/self/ns/${name}`)),
  };
}

/** What a launcher says of its call. */
interface CallHead {
  readonly mark: string;
  readonly standpoint: Standpoint;
  readonly args: readonly string[];
  readonly env: Environment;
}

function parseHead(text: string): CallHead {
  const words = text.split("\0");
  // Each word ends with a zero.
  words.pop();
  const [mark = "", folder = "", ...rest] = words;
  const namespaces = rest.splice(0, NAMESPACES.length);
  const end = rest.indexOf("");
  if (end < 0) throw new Broken("the arguments have no end");
  const env = rest.slice(end + 1).map((word): readonly [string, string] => {
    const at = word.indexOf("=");
    return at < 0 ? [word, ""] : [word.slice(0, at), word.slice(at + 1)];
  });
  return {
    mark,
    standpoint: { folder, namespaces },
    args: rest.slice(0, end),
    env: Object.fromEntries(env),
  };
}

/** Reads a socket piece by piece. */
class SocketReader {
  private readonly socket: Socket;
  private readonly chunks: AsyncIterator<Buffer, undefined>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.socket = socket;
    this.chunks = (socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer, undefined>)[
      Symbol.asyncIterator
    ]();
  }

  async read(bytes: number): Promise<Buffer> {
    const parts = [this.rest];
    let length = this.rest.length;
    while (length < bytes) {
      const next = await this.chunks.next();
      if (next.done === true || this.socket.destroyed) throw new Broken("the launcher went away");
      parts.push(next.value);
      length += next.value.length;
    }
    const all = parts.length === 1 ? this.rest : Buffer.concat(parts);
    this.rest = all.subarray(bytes);
    return all.subarray(0, bytes);
  }

  async readLength(max: number): Promise<number> {
    const length = (await this.read(4)).readUInt32LE();
    if (length > max) throw new Broken(`${length} bytes, which are too many`);
    return length;
  }
}

async function readHead(reader: SocketReader): Promise<CallHead> {
  const magic = (await reader.read(HEAD_LENGTH_BYTES - 4)).toString("latin1");
  if (magic !== MAGIC) throw new Broken("not a call of a launcher");
  const length = await reader.readLength(HEAD_BYTES_MAX);
  return parseHead((await reader.read(length)).toString("utf8"));
}

function answerOf(status: number, stdout: string, stderr: string): Buffer {
  // What people read goes through the same gate as in a process (../output.ts).
  const [out, said] = [Buffer.from(visibleText(stdout)), Buffer.from(visibleText(stderr))];
  const lengths = Buffer.alloc(1 + 3 * 4);
  lengths.write("A", "latin1");
  for (const [index, value] of [status, out.length, said.length].entries())
    lengths.writeUInt32LE(value, 1 + index * 4);
  return Buffer.concat([lengths, said, out]);
}

export interface PluginServiceOptions {
  /** HNS, which this process serves. */
  readonly client: HcnClient;
  /** Of HNS; that of the plugins lies beside it. */
  readonly socketPath: string;
  readonly log: Log;
}

export class PluginService {
  private readonly options: PluginServiceOptions;
  private readonly server: Server;
  private readonly calls = new Set<Promise<void>>();
  private readonly path: string;
  private readonly own: Standpoint = ownStandpoint();

  private constructor(options: PluginServiceOptions) {
    this.options = options;
    this.path = `${options.socketPath}${PLUGIN_SOCKET_SUFFIX}`;
    this.server = createServer((socket) => this.take(socket));
    this.server.maxConnections = LIMITS.httpConnectionsMax;
  }

  /** @throws Error when the socket cannot be had. */
  static async listen(options: PluginServiceOptions): Promise<PluginService> {
    const service = new PluginService(options);
    await listenOnSocket(service.server, service.path);
    return service;
  }

  /** Ends when the calls under way have ended. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    await Promise.all(this.calls);
    await closed;
    try {
      unlinkSync(this.path);
    } catch {
      // Somebody took the socket away already: so does Node itself where it made it.
    }
  }

  private take(socket: Socket): void {
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.on("error", () => undefined);
    const call = this.answer(socket)
      .catch((error: unknown) => {
        if (error instanceof Declined) socket.end("D");
        else {
          this.options.log.write("warn", "call of a plugin", { error: messageOf(error) });
          socket.destroy();
        }
      })
      .finally(() => this.calls.delete(call));
    this.calls.add(call);
  }

  private async answer(socket: Socket): Promise<void> {
    const reader = new SocketReader(socket);
    const head = await readHead(reader);
    const open = await this.openerOf(head);
    const [out, said]: [string[], string[]] = [[], []];
    let declined: Declined | undefined;
    const status = await runPluginCall(open, {
      args: head.args,
      env: head.env,
      folder: head.standpoint.folder,
      hns: this.options.client,
      readStdin: async () => {
        socket.write("R");
        const length = await reader.readLength(STDIN_BYTES_MAX);
        const text = (await reader.read(length)).toString("utf8");
        socket.setTimeout(0);
        if (head.standpoint.folder !== this.own.folder && hasRelativePaths(text)) {
          declined = new Declined();
          throw declined;
        }
        return text;
      },
      stdout: (text) => out.push(text),
      stderr: (text) => said.push(text),
    });
    if (declined !== undefined) throw declined;
    if (!socket.destroyed) socket.end(answerOf(status, out.join(""), said.join("")));
  }

  /** @throws Declined for what a process of the caller's would do otherwise. */
  private async openerOf({ mark, standpoint, args, env }: CallHead): Promise<PluginOpener> {
    const launcher = parseMark(mark);
    const open = SERVED.get(launcher?.program ?? "");
    const sees = standpoint.namespaces.join() === this.own.namespaces.join();
    const paths = (env["CNI_PATH"] ?? "").split(":");
    const isPlaced = standpoint.folder === this.own.folder || paths.every((path) => path.startsWith("/"));
    const isCall = !args.some((word) => word === "-v" || word === "--version");
    if (open === undefined || launcher?.root !== packageRoot() || !sees || !isPlaced || !isCall)
      throw new Declined();
    return open();
  }
}

/** Of what plugins read: `dataDir`, `resolvConf`, `subnetFile`, `stateDir` and their like. */
const PATH_KEY = /(?:dir|file|conf|path)$/i;

/** Whether a configuration names files from where its reader stands; true for a text that cannot be read: who reads it says so. */
function hasRelativePaths(configurationText: string): boolean {
  let isFound = false;
  try {
    JSON.parse(configurationText, (key, value: unknown) => {
      isFound ||= typeof value === "string" && value !== "" && PATH_KEY.test(key) && !value.startsWith("/");
      return value;
    });
  } catch {
    return true;
  }
  return isFound;
}
