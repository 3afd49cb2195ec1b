/** Answers of the servers of kube-proxy, as values: another part listens. */

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers a request for a path, without its query. */
export type HttpHandler = (path: string) => HttpAnswer | Promise<HttpAnswer>;

/** A server that runs. */
export interface Listener {
  /** Where it listens: `127.0.0.1:10249`. */
  readonly address: string;
  close(): Promise<void>;
}

/** Opens a server. Rejects with an error that says why it cannot listen. */
export type Listen = (address: string, handler: HttpHandler) => Promise<Listener>;

export const JSON_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "Content-Type": "application/json",
  "X-Content-Type-Options": "nosniff",
});

export const TEXT_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "Content-Type": "text/plain; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
});

export function textAnswer(status: number, body: string): HttpAnswer {
  return { status, headers: TEXT_HEADERS, body };
}

/** As Go's server mux says it. */
export const NOT_FOUND: HttpAnswer = Object.freeze(textAnswer(404, "404 page not found\n"));
