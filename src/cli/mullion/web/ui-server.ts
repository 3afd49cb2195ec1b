/**
 * Serves the pages of `web/` with the control API of a running cluster below them. Everything lies below a random token, the
 * first part of each path: who does not know it gets nothing. A request under another name (DNS rebinding) or from
 * another page is refused before that.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from "node:http";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import { describeError, statusOf } from "#cluster/api/error-details.ts";
import { notRunning } from "#cluster/api/socket-transport.node.ts";
import type { ClusterPlace } from "#cluster/api/state-folder.node.ts";
import { LIMITS } from "#core/base/limits.ts";
import { isOwnHost } from "#core/base/tcp-access.node.ts";
import { isKnowledgeCode } from "#core/catalogue/codes.ts";
import { getEntry } from "#diagnose/catalogue/catalogue.ts";
import type { ListenAddress } from "../options.ts";
import { EXAMINATIONS, type Examination, type Watcher } from "./examine.ts";
import { asFailure } from "../hns/connect.ts";
import { HnsSource } from "./hns-source.ts";
import { escapeHtml, fill, openWebPage } from "./pages.ts";
import type { BringUpState, UiAbout } from "./about.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

export interface UiServerOptions {
  /** What is below `api/`: a cluster that runs, an HNS that runs; nothing below a report. */
  readonly source: ClusterPlace | HnsSource | undefined;
  readonly address: ListenAddress;
  readonly about: UiAbout;
  /** How far the bring-up of the cluster is; absent: it is up. */
  readonly bringUp?: () => BringUpState;
  /** Answers `GET /run/lint` with the files of the command line, and `POST` with those of the page. */
  readonly examine: (verb: Examination, body: string | undefined, watcher?: Watcher) => Promise<string>;
}

const TOKEN_BYTES = 18;
/** Only its own parts, its own API, and in no frame of another page. */
const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const JSON_TYPE = "application/json";
const HTML_TYPE = "text/html; charset=utf-8";
const LINES_TYPE = "application/x-ndjson";
const NOT_FOUND = 404;
const FORBIDDEN = 403;
const MISDIRECTED = 421;
const TOO_LARGE = 413;
const WRONG_METHOD = 405;
const OK = 200;

class Refusal extends Error {
  readonly status: number;
  readonly details: ErrorDetails;

  constructor(status: number, message: string, advice: string) {
    super(message);
    this.status = status;
    this.details = { code: "api-request-invalid", message, advice };
  }
}

function equalTokens(given: string, token: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** The origin that a browser names for a page which came from here. */
function checkOrigin({ headers }: IncomingMessage, own: string): void {
  const { host, origin } = headers;
  if (!isOwnHost(host, own))
    throw new Refusal(MISDIRECTED, WORDS.uiOtherHost({ host: host ?? "" }), WORDS.adviceUiAddress);
  const site = headers["sec-fetch-site"];
  const isForeign = origin !== undefined && origin !== `http://${host ?? ""}`;
  if (
    isForeign ||
    site === "cross-site" ||
    (site === "same-site" && headers["sec-fetch-dest"] !== "document")
  )
    throw new Refusal(FORBIDDEN, WORDS.uiOtherOrigin, WORDS.adviceUiAddress);
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > LIMITS.apiRequestBytesMax)
      throw new Refusal(TOO_LARGE, "the request is too large", "Send fewer files.");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { ...HEADERS, "content-type": type }).end(body);
}

/** A refusal as whoever typed an address reads it; nothing below the token is shown to them, not even a style. */
function refusalPage({ message, advice }: ErrorDetails): string {
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">',
    '<meta name="viewport" content="width=device-width"><title>Mullion</title>',
    `<main><h1>${escapeHtml(message)}</h1><p>${escapeHtml(advice ?? "")}</p></main></html>\n`,
  ].join("");
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const [status, details] =
    error instanceof Refusal ? [error.status, error.details] : [statusOf(error), describeError(error)];
  if (response.req.headers["sec-fetch-dest"] === "document" && error instanceof Refusal)
    return send(response, status, HTML_TYPE, refusalPage(details));
  return send(response, status, JSON_TYPE, JSON.stringify({ error: details }));
}

/** Hands a request on to the cluster's socket, and its answer back piece by piece: events are a stream. */
function passOn(
  incoming: IncomingMessage,
  response: ServerResponse,
  path: string,
  place: ClusterPlace,
): void {
  const { method = "GET", headers } = incoming;
  const lastId = headers["last-event-id"];
  const passed = {
    ...(headers["content-type"] === undefined ? {} : { "content-type": headers["content-type"] }),
    ...(lastId === undefined ? {} : { "last-event-id": lastId }),
  };
  const asked = request({ socketPath: place.socket, host: "mullion", method, path, headers: passed });
  asked.on("error", () => sendError(response, notRunning(place)));
  asked.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? OK, {
      ...HEADERS,
      "content-type": answer.headers["content-type"] ?? JSON_TYPE,
    });
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  response.on("close", () => asked.destroy());
  incoming.pipe(asked);
}

const API = "v1alpha1/";

async function answerApi(
  incoming: IncomingMessage,
  response: ServerResponse,
  path: string,
  source: UiServerOptions["source"],
): Promise<void> {
  if (source === undefined)
    throw new Refusal(NOT_FOUND, "there is no cluster behind a report", WORDS.adviceUiAddress);
  if (!(source instanceof HnsSource)) return passOn(incoming, response, `/${path}`, source);
  const [asked] = splitAt(path, "?");
  const below = asked.startsWith(API) ? asked.slice(API.length) : asked;
  if (below === "events") return source.stream(incoming, response, HEADERS);
  const body = incoming.method === "POST" ? await readBody(incoming) : "";
  let answer: object;
  try {
    answer = await source.answer(incoming.method ?? "GET", below, body);
  } catch (error) {
    throw asFailure(error);
  }
  return send(response, OK, JSON_TYPE, JSON.stringify(answer));
}

/**
 * Long work: a line of JSON for each step, `{ "progress": text }`, and a last one with `answer` or `error`. Who closes the
 * connection ends it.
 */
async function answerInLines(
  incoming: IncomingMessage,
  response: ServerResponse,
  examine: UiServerOptions["examine"],
): Promise<void> {
  const body = incoming.method === "POST" ? await readBody(incoming) : undefined;
  const write = (line: string): void => {
    if (!response.headersSent) response.writeHead(OK, { ...HEADERS, "content-type": LINES_TYPE });
    response.write(`${line}\n`);
  };
  const stopped = new Promise<void>((resolve) => {
    response.on("close", resolve);
  });
  const tell = (progress: string): void => {
    if (!response.closed) write(JSON.stringify({ progress }));
  };
  try {
    write(`{"answer":${await examine("compare", body, { tell, stopped })}}`);
  } catch (error) {
    // What is refused at once has its status.
    if (!response.headersSent) throw error;
    if (!response.closed) write(JSON.stringify({ error: describeError(error) }));
  }
  response.end();
}

/** What the catalogue says of codes, `a,b,c`. */
function explain(codes: string): string {
  const known = codes.split(",").filter(isKnowledgeCode);
  return JSON.stringify(Object.fromEntries(known.map((code) => [code, getEntry(code)])));
}

interface Files {
  readonly page: () => string;
  readonly script: string;
  readonly style: string;
  readonly icon: string;
}

/** What stands before the first `separator`, and what behind it. */
function splitAt(text: string, separator: string): readonly [before: string, behind: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

async function answerBelowToken(
  incoming: IncomingMessage,
  response: ServerResponse,
  path: string,
  options: UiServerOptions,
  files: Files,
): Promise<void> {
  const { pathname, search } = new URL(path, "http://ui");
  const [first, rest] = splitAt(pathname.slice(1), "/");
  if (first === "api") return answerApi(incoming, response, `${rest}${search}`, options.source);
  const examination = first === "run" ? EXAMINATIONS.find((each) => each === rest) : undefined;
  if (examination === "compare") return answerInLines(incoming, response, options.examine);
  if (examination !== undefined) {
    const body = incoming.method === "POST" ? await readBody(incoming) : undefined;
    return send(response, OK, JSON_TYPE, await options.examine(examination, body));
  }
  if (incoming.method !== "GET")
    throw new Refusal(WRONG_METHOD, `${incoming.method ?? ""} is not for pages`, WORDS.adviceUiAddress);
  if (first === "bring-up") return send(response, OK, JSON_TYPE, JSON.stringify(options.bringUp?.() ?? UP));
  if (first === "explain") return send(response, OK, JSON_TYPE, explain(decodeURIComponent(rest)));
  if (first === "ui.js") return send(response, OK, "text/javascript; charset=utf-8", files.script);
  if (first === "style.css") return send(response, OK, "text/css; charset=utf-8", files.style);
  if (first === "icon.svg") return send(response, OK, "image/svg+xml", files.icon);
  if (first.includes(".")) throw new Refusal(NOT_FOUND, `there is no ${first}`, WORDS.adviceUiAddress);
  // Every other path is a page, which the script opens.
  return send(response, OK, HTML_TYPE, files.page());
}

const UP: BringUpState = { isUp: true, text: "", done: 0, total: 0, elapsedMs: 0 };

export class UiServer {
  /** Where the pages are, with the token. */
  readonly url: string;
  private readonly server: Server;

  private constructor(server: Server, url: string) {
    this.server = server;
    this.url = url;
  }

  /** Starts to listen. @throws an error of the system when it cannot. */
  static async listen(options: UiServerOptions): Promise<UiServer> {
    const { host, port } = options.address;
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const { script, style, icon, template } = await openWebPage("ui");
    const page = (): string => {
      const isComingUp = options.bringUp?.().isUp === false;
      const about: UiAbout = { ...options.about, ...(isComingUp ? { isComingUp } : {}) };
      return fill(template, { base: `/${token}`, about: escapeHtml(JSON.stringify(about)) });
    };
    const files = { script, style, icon, page };
    const server = createServer((incoming, response) => {
      const url = incoming.url ?? "/";
      const end = url.slice(1).search(/[/?]/);
      const [given, path] = end < 0 ? [url.slice(1), ""] : [url.slice(1, end + 1), url.slice(end + 1)];
      const work = async (): Promise<void> => {
        checkOrigin(incoming, host);
        if (!equalTokens(given, token))
          throw new Refusal(FORBIDDEN, WORDS.uiWrongToken, WORDS.adviceUiAddress);
        await answerBelowToken(incoming, response, path === "" ? "/" : path, options, files);
      };
      work().catch((error: unknown) => sendError(response, error));
    });
    server.maxConnections = LIMITS.httpConnectionsMax;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve();
      });
    });
    const bound = server.address();
    const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
    const name = host.includes(":") ? `[${host}]` : host;
    return new UiServer(server, `http://${name}:${boundPort}/${token}/`);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeAllConnections();
    await closed;
  }
}
