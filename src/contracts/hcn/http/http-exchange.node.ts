/** How a call of HNS reaches the service: its address with the token, and one answer to one request. */
import { LIMITS } from "#core/base/limits.ts";
import { HcnError } from "../error.ts";
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { errorCode } from "#core/base/thrown.ts";
import { writeOwnerFile } from "#core/base/owner-only.node.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** Where the service listens. */
export type HttpAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly token: string };

/** A request of this machine's service. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** How long it may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** Carries requests to one address. */
export interface HttpExchange {
  /**
   * The body of the answer, whatever its status.
   * @throws Error named `TimeoutError` when it took too long, one with a `code` when the system refused, and HcnError
   * HCN_E_INVALID_JSON when the answer is longer than `LIMITS.httpResponseBytesMax`.
   */
  exchange(request: HttpRequest): Promise<string>;
  close(): void;
}

/** `unix:/run/mullion/hns.sock`, `npipe:////./pipe/mullion-hns` or `http://127.0.0.1:8080`, as `MULLION_HNS` takes it. */
export function formatHttpAddress(address: HttpAddress): string {
  if ("socketPath" in address) {
    const { socketPath } = address;
    return isPipeName(socketPath) ? formatPipeUrl(socketPath) : `unix:${socketPath}`;
  }
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `http://${host}:${address.port}`;
}

/** An answer longer than a program can hold. */
export function answerTooLong(): HcnError {
  return new HcnError("HCN_E_INVALID_JSON", {
    detail: `The answer is longer than ${LIMITS.httpResponseBytesMax} bytes`,
  });
}

// Names of Windows' pipes, where a service listens that is a Unix socket elsewhere.

/** The pipe of the node's service. */
export const DEFAULT_PIPE = "\\\\.\\pipe\\mullion-hns";

const PIPE = /^[\\/]{2}[.?][\\/]pipe[\\/](.+)$/i;

/** True for `\\.\pipe\NAME`, also with slashes. */
export function isPipeName(path: string): boolean {
  return PIPE.test(path);
}

/** `\\.\pipe\NAME` of what follows `npipe:`: `////./pipe/NAME`, as other programs write it, or the name itself. */
export function parsePipeUrl(rest: string): string | undefined {
  const name = PIPE.exec(rest.replace(/^\/\/(?=\/\/)/, ""))?.[1];
  return name === undefined ? undefined : `\\\\.\\pipe\\${name}`;
}

/** `npipe:////./pipe/NAME`. */
export function formatPipeUrl(path: string): string {
  return `npipe://${path.replaceAll("\\", "/")}`;
}

// The token of a service on loopback TCP: a file that only its owner can read.

const OTHERS = 0o077;
const TOKEN_BYTES = 32;
const TOKEN_LENGTH_MIN = 16;
const FILE_BYTES_MAX = 4_096;

/** A file that cannot hold the token. The message is for people: what is wrong, and what to do. */
export class TokenFileError extends Error {
  override readonly name = "TokenFileError";
}

function isMissing(error: unknown): boolean {
  return errorCode(error) === "ENOENT";
}

/** Makes the file with a new token. It is never there with other rights, and an existing one is not touched. */
function makeToken(path: string): string {
  const token = randomBytes(TOKEN_BYTES).toString("hex");
  writeOwnerFile(path, `${token}\n`);
  return token;
}

function checkRights(path: string): void {
  const facts = statSync(path);
  if (!facts.isFile() || facts.size > FILE_BYTES_MAX)
    throw new TokenFileError(WORDS.tokenFileInvalid({ path }));
  if (process.platform === "win32") return;
  if ((facts.mode & OTHERS) !== 0) throw new TokenFileError(WORDS.tokenFileReadableByOthers({ path }));
  const uid = process.getuid?.();
  if (uid !== undefined && facts.uid !== uid && facts.uid !== 0)
    throw new TokenFileError(`${path} belongs to another user. Name a file of your own.`);
}

/**
 * The token in a file that is there.
 * @throws TokenFileError when others can read it, or it holds no token; an error of the system when it cannot be read.
 */
export function readTokenFile(path: string): string {
  checkRights(path);
  const token = readFileSync(path, "utf8").trim();
  if (new RegExp(`^[\\x21-\\x7e]{${TOKEN_LENGTH_MIN},}$`).test(token)) return token;
  throw new TokenFileError(WORDS.tokenInvalid({ path, tokenLengthMin: TOKEN_LENGTH_MIN }));
}

/** The token in a file, which is made for its owner alone when it is missing. @throws as `readTokenFile`. */
export function openTokenFile(path: string): string {
  try {
    return readTokenFile(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return makeToken(path);
  }
}
