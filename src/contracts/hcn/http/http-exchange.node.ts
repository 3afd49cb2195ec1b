/** How a call of HNS reaches the service: one request, one answer. */
import { LIMITS } from "#core/base/limits.ts";
import { HcnError } from "../error.ts";
import { formatPipeUrl, isPipeName } from "./pipe-name.ts";

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
