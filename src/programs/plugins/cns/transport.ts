/** The way to an HTTP service of the node: sockets in a process, a function in the emulator. */

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly url: string;
  readonly body?: string;
  /** How long everything may take, in milliseconds. */
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** Rejects when no answer came: nothing listens, the time is over, the answer is too large. */
export type HttpTransport = (request: HttpRequest) => Promise<HttpAnswer>;
