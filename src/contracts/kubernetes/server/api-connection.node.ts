/** Requests to an API server: whole answers, and streams of lines. Every failure is a `KubeError`. */
import {
  type ClientRequest,
  Agent as PlainAgent,
  type IncomingMessage,
  request as requestPlain,
} from "node:http";
import { type RequestOptions, Agent as TlsAgent, request as requestTls } from "node:https";
import { StringDecoder } from "node:string_decoder";
import type { KubeConfig } from "@kubernetes/client-node";
import { LIMITS } from "#core/base/limits.ts";
import { KubeError, errorOfAnswer, unreachable } from "../error.ts";
import { type ApiServerPlace, loadKubeconfig } from "./kubeconfig.node.ts";

const REQUEST_TIMEOUT_MS = 30_000;
/** Programs that give tokens ask servers of their own. */
const CREDENTIALS_TIMEOUT_MS = 60_000;
const UNAUTHORIZED = 401;
/** Servers send a bookmark about once a minute; a stream that is silent for so long is a connection that is dead. */
const SILENCE_MAX_MS = 150_000;
const KEEP_ALIVE_MS = 30_000;

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `/api/v1/nodes?limit=500` */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

/** What a stream of lines tells; `onEnd` is called once, without an error when the server has ended it properly. */
export interface LineListener {
  readonly onLine: (line: string) => void;
  readonly onEnd: (error: KubeError | undefined) => void;
}

function describe(error: unknown): string {
  // A name with several addresses fails with an error for each.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(describe).join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** A kept connection was gone before a request that may be repeated got its answer. */
class StaleConnection extends Error {}

/** @throws Error when `work` takes too long. */
async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing within ${timeoutMs / 1_000} s`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export class ApiConnection {
  private readonly place: ApiServerPlace;
  private config: KubeConfig;
  /** What is known of the user was of no use, so the next request begins with the kubeconfig. */
  private isStale = false;
  private readonly server: URL;
  private readonly userAgent: string;
  /** Keeps connections for the next request; that of the official client makes a new one for each. */
  private readonly agent: PlainAgent | TlsAgent;
  private readonly open = new Set<ClientRequest>();
  private isClosed = false;

  private constructor(place: ApiServerPlace, config: KubeConfig, userAgent: string) {
    this.place = place;
    this.config = config;
    this.server = new URL(config.getCurrentCluster()?.server ?? "");
    this.userAgent = userAgent;
    const options = { keepAlive: true };
    this.agent = this.server.protocol === "https:" ? new TlsAgent(options) : new PlainAgent(options);
  }

  /** Nothing is sent yet. @throws KubeError `kubeconfig-unusable`. */
  static async open(place: ApiServerPlace, userAgent: string): Promise<ApiConnection> {
    return new ApiConnection(place, await loadKubeconfig(place), userAgent);
  }

  /** `https://10.0.0.1:6443` */
  get address(): string {
    return this.server.origin;
  }

  /** The JSON that the server answers. @throws KubeError. */
  async call(request: ApiRequest): Promise<unknown> {
    const answer = await this.send(request, REQUEST_TIMEOUT_MS);
    const text = await this.readAll(request, answer);
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299) throw errorOfAnswer(status, text, answer.headers["retry-after"]);
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw unreachable(`${this.nameOf(request)}: the answer is not JSON`, cause);
    }
  }

  /** Reads lines until the server ends them or the returned function is called. */
  stream(path: string, { onLine, onEnd }: LineListener): () => void {
    const request: ApiRequest = { method: "GET", path };
    let isWanted = true;
    let answer: IncomingMessage | undefined;
    const end = (error: KubeError | undefined): void => {
      if (!isWanted) return;
      isWanted = false;
      answer?.destroy();
      onEnd(error);
    };
    const follow = async (): Promise<void> => {
      try {
        answer = await this.send(request, REQUEST_TIMEOUT_MS);
        if (!isWanted) {
          answer.destroy();
          return;
        }
        if (answer.statusCode !== 200) {
          const text = await this.readAll(request, answer);
          throw errorOfAnswer(answer.statusCode ?? 0, text, answer.headers["retry-after"]);
        }
        this.readLines(request, answer, { onLine: (line) => isWanted && onLine(line), onEnd: end });
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        end(error);
      }
    };
    void follow();
    return () => {
      isWanted = false;
      answer?.destroy();
    };
  }

  /** Cuts everything that is under way. */
  close(): void {
    this.isClosed = true;
    for (const request of this.open) request.destroy();
    this.open.clear();
    this.agent.destroy();
  }

  private nameOf({ method, path }: ApiRequest): string {
    return `${method} ${this.address}${path.split("?")[0] ?? ""}`;
  }

  private async optionsOf(
    { method, path, contentType }: ApiRequest,
    body: string | undefined,
  ): Promise<RequestOptions> {
    const prefix = this.server.pathname.replace(/\/$/, "");
    const options: RequestOptions = {
      method,
      host: this.server.hostname.replace(/^\[|\]$/g, ""),
      port: this.server.port === "" ? undefined : Number(this.server.port),
      path: `${prefix}${path}`,
      headers: {},
    };
    await this.addCredentials(options);
    // Through a proxy the official client's agent knows the way.
    if ((this.config.getCurrentCluster()?.proxyUrl ?? "") === "") options.agent = this.agent;
    const { Authorization: authorization, ...headers } = options.headers as Record<string, string>;
    options.headers = {
      ...headers,
      // Editors end the last line of a file with a token.
      ...(authorization === undefined ? {} : { authorization: authorization.trim() }),
      accept: "application/json",
      "user-agent": this.userAgent,
      ...(body === undefined
        ? {}
        : {
            "content-type": contentType ?? "application/json",
            "content-length": String(Buffer.byteLength(body)),
          }),
    };
    return options;
  }

  /** Certificates, tokens, the authority of the server. @throws KubeError `kubeconfig-unusable`. */
  private async addCredentials(options: RequestOptions): Promise<void> {
    if (this.isStale) this.config = await loadKubeconfig(this.place);
    this.isStale = false;
    try {
      await inTime(this.config.applyToHTTPSOptions(options), CREDENTIALS_TIMEOUT_MS);
    } catch (cause) {
      // A certificate, a token file or a program that gives tokens: it may be there at the next attempt.
      this.isStale = true;
      throw new KubeError("kubeconfig-unusable", 0, `no credentials: ${describe(cause)}`, { cause });
    }
  }

  /** Sends a request and waits for the head of its answer. */
  private async send(request: ApiRequest, timeoutMs: number): Promise<IncomingMessage> {
    try {
      return await this.sendOnce(request, timeoutMs);
    } catch (error) {
      // The server has closed a kept connection at the very moment when it was used again.
      if (error instanceof StaleConnection) return this.sendOnce(request, timeoutMs);
      throw error;
    }
  }

  private async sendOnce(request: ApiRequest, timeoutMs: number): Promise<IncomingMessage> {
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const options = await this.optionsOf(request, body);
    if (this.isClosed) throw unreachable(`${this.nameOf(request)}: the connection was closed`);
    return new Promise<IncomingMessage>((resolve, reject) => {
      const begin = this.server.protocol === "https:" ? requestTls : requestPlain;
      const sent = begin(options, (answer) => {
        clearTimeout(timer);
        // As client-go does it: this request is lost, the next one has new credentials.
        this.isStale ||= answer.statusCode === UNAUTHORIZED;
        resolve(answer);
      });
      const timer = setTimeout(
        () => sent.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`)),
        timeoutMs,
      );
      this.open.add(sent);
      sent.on("close", () => {
        clearTimeout(timer);
        this.open.delete(sent);
        reject(unreachable(`${this.nameOf(request)}: the connection was closed`));
      });
      sent.on("error", (error: NodeJS.ErrnoException) => {
        const reported = `${this.nameOf(request)}: ${describe(error)}`;
        const isStale = sent.reusedSocket && error.code === "ECONNRESET" && request.method === "GET";
        reject(isStale ? new StaleConnection(reported) : unreachable(reported, error));
      });
      sent.on("socket", (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
      sent.end(body);
    });
  }

  private async readAll(request: ApiRequest, answer: IncomingMessage): Promise<string> {
    const parts: Buffer[] = [];
    let size = 0;
    answer.setTimeout(REQUEST_TIMEOUT_MS, () => answer.destroy(new Error("the answer stopped halfway")));
    try {
      for await (const part of answer as AsyncIterable<Buffer>) {
        size += part.length;
        if (size > LIMITS.httpResponseBytesMax)
          throw new Error(`the answer is longer than ${LIMITS.httpResponseBytesMax} bytes`);
        parts.push(part);
      }
    } catch (error) {
      throw unreachable(`${this.nameOf(request)}: ${describe(error)}`, error);
    }
    return Buffer.concat(parts).toString("utf8");
  }

  private readLines(request: ApiRequest, answer: IncomingMessage, { onLine, onEnd }: LineListener): void {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    const fail = (why: string, cause?: unknown): void =>
      onEnd(unreachable(`${this.nameOf(request)}: ${why}`, cause));
    answer.setTimeout(SILENCE_MAX_MS, () => fail("no message for too long"));
    answer.on("data", (part: Buffer) => {
      const text = rest + decoder.write(part);
      const lines = text.split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LIMITS.kubeObjectBytesMax) {
        fail(`a line is longer than ${LIMITS.kubeObjectBytesMax} bytes`);
        return;
      }
      for (const line of lines) if (line.trim() !== "") onLine(line);
    });
    answer.on("end", () => onEnd(undefined));
    answer.on("error", (error) => fail(describe(error), error));
    answer.on("close", () => fail("the connection was cut"));
  }
}
