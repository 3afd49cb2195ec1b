/** How a call of HNS reaches the service: one request, one answer. */
import { LIMITS } from "#core/base/limits.ts";
import { HcnError } from "../error.ts";

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
