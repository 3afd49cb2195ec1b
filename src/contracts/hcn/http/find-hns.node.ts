/**
 * Finds the node's HNS, as every program does that is not run in the service's own process:
 * 1. `MULLION_HNS`: `unix:/path/to.sock`, on Windows `npipe:////./pipe/NAME`, or `http://127.0.0.1:PORT` with the token
 *    in `MULLION_HNS_TOKEN`, or in the file `MULLION_HNS_TOKEN_FILE`;
 * 2. the node's default socket or pipe: see `defaultSocketPath`;
 * 3. on Windows, Windows' own HNS through its DLL. Not run on Windows: see `dll/`.
 */
import { existsSync, lstatSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "../client.ts";
import { DllHcnClient } from "../dll/dll-client.node.ts";
import { type NativeLibraries, windowsLibraries } from "../dll/native-calls.node.ts";
import { HcnError } from "../error.ts";
import { HttpHcnClient } from "./http-client.node.ts";
import {
  DEFAULT_PIPE,
  type HttpAddress,
  type HttpExchange,
  parsePipeUrl,
  readTokenFile,
} from "./http-exchange.node.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

export type Variables = Readonly<Record<string, string | undefined>>;

export interface FindHnsOptions {
  /** Environment variables of the program. */
  readonly variables: Variables;
  /** Default: the machine's. */
  readonly platform?: string;
  /** The user's id; default: the process's. */
  readonly uid?: number;
  /** How long a call may take, in milliseconds. */
  readonly timeoutMs?: number;
  /** Makes what carries the calls to a service of Mullion's; default: a pool of connections. */
  readonly exchange?: (address: HttpAddress) => HttpExchange;
}

const ROOT_SOCKET = "/run/mullion/hns.sock";
const SOCKET_NAME = join("mullion", "hns.sock");

/**
 * Where the node's service listens when nothing else is set: `/run/mullion/hns.sock` for root, else
 * `$XDG_RUNTIME_DIR/mullion/hns.sock`, else `mullion-<uid>/hns.sock` in the folder for temporary files. On Windows it is
 * the pipe `\\.\pipe\mullion-hns`.
 */
export function defaultSocketPath(
  variables: Variables,
  uid: number,
  platform: string = process.platform,
): string {
  if (platform === "win32") return DEFAULT_PIPE;
  if (uid === 0) return ROOT_SOCKET;
  const runtime = variables["XDG_RUNTIME_DIR"] ?? "";
  if (runtime !== "") return join(runtime, SOCKET_NAME);
  return join(tmpdir(), `mullion-${uid}`, "hns.sock");
}

function badVariable(name: string, value: string, expected: string): HcnError {
  return new HcnError("RPC_S_SERVER_UNAVAILABLE", {
    detail: `The environment variable ${name} is ${JSON.stringify(value)}; it must be ${expected}`,
    explanation: "hns-unreachable",
  });
}

const LOOPBACK: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

function parseHttpUrl(text: string, token: string | undefined): HttpAddress {
  const expected = "unix:/path/to.sock, npipe:////./pipe/NAME or http://127.0.0.1:PORT";
  if (!URL.canParse(text)) throw badVariable("MULLION_HNS", text, expected);
  const url = new URL(text);
  const isPlain = url.protocol === "http:" && url.pathname === "/" && url.username === "";
  // A URL does not keep the port 80, the default of its scheme.
  if (!isPlain || !/:\d+\/?$/.test(text)) throw badVariable("MULLION_HNS", text, expected);
  if (!LOOPBACK.includes(url.hostname))
    throw badVariable("MULLION_HNS", text, "a loopback address: HNS is a service of its own node");
  if (token === undefined || token === "")
    throw badVariable("MULLION_HNS_TOKEN", "", "the token of the service, which loopback TCP needs");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port: url.port === "" ? 80 : Number(url.port), token };
}

/**
 * Parses `MULLION_HNS`.
 * @throws HcnError RPC_S_SERVER_UNAVAILABLE that says what to write.
 */
export function parseHnsAddress(text: string, token?: string): HttpAddress {
  if (text.startsWith("npipe:")) {
    const pipe = parsePipeUrl(text.slice("npipe:".length));
    if (pipe === undefined) throw badVariable("MULLION_HNS", text, "npipe:////./pipe/NAME");
    return { socketPath: pipe };
  }
  if (!text.startsWith("unix:")) return parseHttpUrl(text, token);
  const socketPath = text.slice("unix:".length).replace(/^\/\/\//, "/");
  if (!socketPath.startsWith("/")) throw badVariable("MULLION_HNS", text, "unix: and an absolute path");
  return { socketPath };
}

/** The token, or what its file holds. @throws HcnError RPC_S_SERVER_UNAVAILABLE when that cannot be read. */
function tokenOf(variables: Variables): string | undefined {
  const path = variables["MULLION_HNS_TOKEN_FILE"] ?? "";
  const token = variables["MULLION_HNS_TOKEN"] ?? "";
  if (token !== "" || path === "") return token;
  try {
    return readTokenFile(path);
  } catch (error) {
    const why = messageOf(error);
    throw badVariable("MULLION_HNS_TOKEN_FILE", path, `a file with the token of the service (${why})`);
  }
}

/** True when the socket is there. In a shared folder its directory has to belong to the user (or to root). */
function isUsableSocket(path: string, uid: number): boolean {
  try {
    const directory = lstatSync(dirname(path));
    const socket = lstatSync(path);
    const isOwn = directory.uid === uid || directory.uid === 0;
    return socket.isSocket() && directory.isDirectory() && isOwn;
  } catch {
    return false;
  }
}

/** Windows' own libraries. Where Windows says nothing, it is where it is mostly. */
function librariesOf(variables: Variables): NativeLibraries {
  return windowsLibraries(variables["SystemRoot"] ?? "C:\\Windows");
}

/**
 * Finds the service. The first call shows whether it answers.
 * @throws HcnError RPC_S_SERVER_UNAVAILABLE that lists where it was looked for and what to do.
 */
export function findHns(options: FindHnsOptions): HcnClient {
  const { timeoutMs, exchange } = options;
  const found = lookUp(options);
  if ("computeNetwork" in found) return new DllHcnClient(found);
  return new HttpHcnClient({
    address: found,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(exchange !== undefined && { exchange: exchange(found) }),
  });
}

/**
 * Where a service of Mullion's listens.
 * @throws HcnError RPC_S_SERVER_UNAVAILABLE that lists where it was looked for and what to do.
 */
export function findHnsAddress(options: FindHnsOptions): HttpAddress {
  const found = lookUp(options);
  if (!("computeNetwork" in found)) return found;
  throw noHnsFound([WORDS.onlyWindowsHns]);
}

function noHnsFound(looked: readonly string[]): HcnError {
  return new HcnError("RPC_S_SERVER_UNAVAILABLE", {
    detail: WORDS.hnsNotFound({ looked: looked.join("; ") }),
    explanation: "hns-unreachable",
  });
}

function lookUp(options: FindHnsOptions): HttpAddress | NativeLibraries {
  const { variables } = options;
  const platform = options.platform ?? process.platform;
  const wanted = variables["MULLION_HNS"] ?? "";
  if (wanted !== "") return parseHnsAddress(wanted, tokenOf(variables));
  const looked = ["MULLION_HNS is not set"];
  if (platform !== "win32") {
    const uid = options.uid ?? process.getuid?.() ?? -1;
    const socketPath = defaultSocketPath(variables, uid);
    if (isUsableSocket(socketPath, uid)) return { socketPath };
    looked.push(`there is no socket ${socketPath}`);
  } else {
    if (existsSync(DEFAULT_PIPE)) return { socketPath: DEFAULT_PIPE };
    looked.push(`there is no pipe ${DEFAULT_PIPE}`);
    const libraries = librariesOf(variables);
    if (existsSync(libraries.computeNetwork)) return libraries;
    looked.push(`there is no ${libraries.computeNetwork}: the Windows feature Containers is not installed`);
  }
  throw noHnsFound(looked);
}
