/**
 * The servers of `agnhost netexec`, with which tests of Kubernetes ask a pod who it is and whom it saw
 * (https://github.com/kubernetes/kubernetes/blob/master/test/images/agnhost/netexec/netexec.go). What runs programs, writes
 * files or ends the server is refused.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer, get } from "node:http";
import { hostname } from "node:os";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { messageOf } from "#core/base/thrown.ts";

const CONNECTIONS_MAX = 1_024;
/** Of one `/dial`; upstream has no limit. */
const TRIES_MAX = 100;
const DIAL_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 1_048_576;
const STATUS = {
  ok: 200,
  bad: 400,
  forbidden: 403,
  notReady: 412,
  redirect: 302,
  min: 100,
  max: 999,
} as const;
const REFUSED: readonly string[] = ["/shell", "/upload", "/exit", "/shutdown"];
const INTEGER = /^[+-]?\d{1,9}$/;

export interface NetexecOptions {
  readonly httpPort: number;
  /** -1: none. */
  readonly udpPort: number;
  /** Gets a line for each request, as upstream logs it. */
  readonly log: (line: string) => void;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** `10.0.0.1:1234`, `[fd00::1]:1234`; what came over IPv4 has an address of IPv4. */
function addressOf(address = "", port = 0): string {
  const ip = parseIp(address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address);
  const text = ip === undefined ? address : formatIp(ip);
  return text.includes(":") ? `[${text}]:${port}` : `${text}:${port}`;
}

function echo(query: URLSearchParams): Answer {
  const [code, body] = [query.get("code") ?? "", query.get("msg") ?? ""];
  if (code === "") return { body };
  const status = INTEGER.test(code) ? Number(code) : undefined;
  if (status === undefined)
    return { body: `argument 'code' must be an integer or empty, got ${JSON.stringify(code)}\n` };
  // Go's server ends such a request without an answer; Node's may not send it either.
  if (status < STATUS.min || status > STATUS.max) return { status: STATUS.bad, body: "" };
  return { status, body };
}

function redirect(query: URLSearchParams): Answer {
  const code = query.get("code") ?? "";
  const status = INTEGER.test(code) ? Number(code) : STATUS.redirect;
  const isStatus = status >= STATUS.min && status <= STATUS.max;
  const location = encodeURI(query.get("location") ?? "");
  return { status: isStatus ? status : STATUS.redirect, headers: { Location: location }, body: "" };
}

async function dialHttp(host: string, port: number, request: string): Promise<string> {
  const signal = AbortSignal.timeout(DIAL_TIMEOUT_MS);
  const asked = get({ host, port, path: `/${request}`, agent: false, signal });
  const [response] = (await once(asked, "response", { signal })) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > ANSWER_BYTES_MAX) throw new Error("the answer is too long");
  }
  return text;
}

async function dialUdp(host: string, port: number, request: string): Promise<string> {
  const socket = createSocket(parseIp(host) !== undefined && host.includes(":") ? "udp6" : "udp4");
  try {
    socket.connect(port, host);
    await once(socket, "connect");
    socket.send(request);
    const signal = AbortSignal.timeout(DIAL_TIMEOUT_MS);
    const [message] = (await once(socket, "message", { signal })) as [Buffer];
    return message.toString();
  } finally {
    socket.close();
  }
}

const DIALERS: Readonly<Record<string, typeof dialHttp>> = { "": dialHttp, http: dialHttp, udp: dialUdp };

async function dial(query: URLSearchParams): Promise<Answer> {
  const [host, port, request] = ["host", "port", "request"].map((name) => query.get(name) ?? "");
  const tries = Number(query.get("tries") ?? "1");
  const dialer = DIALERS[(query.get("protocol") ?? "").toLowerCase()];
  const refuse = (body: string): Answer => ({ status: STATUS.bad, body: `${body}\n` });
  if (!Number.isInteger(tries) || tries < 0 || tries > TRIES_MAX)
    return refuse(`tries parameter is invalid. It is at most ${TRIES_MAX}`);
  if (request === undefined || request === "") return refuse("request parameter not specified.");
  if (dialer === undefined) return refuse(`unsupported protocol. ${query.get("protocol") ?? ""}`);
  if (host === undefined || host === "" || !INTEGER.test(port ?? "") || Number(port) > 0xffff)
    return refuse("host and/or port param are invalid.");
  const [responses, errors]: [string[], string[]] = [[], []];
  for (let count = 0; count < tries; count++)
    try {
      responses.push(await dialer(host, Number(port), request));
    } catch (error) {
      errors.push(messageOf(error));
    }
  const said = { ...(responses.length > 0 && { responses }), ...(errors.length > 0 && { errors }) };
  return { body: JSON.stringify(said) };
}

class Netexec {
  private readonly options: NetexecOptions;
  /** The UDP server listens; without one nobody is ready, as upstream. */
  isReady = false;

  constructor(options: NetexecOptions) {
    this.options = options;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.reply(request, response).catch(() => response.destroy());
  }

  /** The answer to a datagram. */
  answerDatagram(text: string, client: string): string {
    const [word, ...rest] = text.trim().split(" ");
    if (word === "hostname" || word === "hostName") return hostname();
    if (word === "clientip") return client;
    return word === "echo" ? rest.join(" ") : "";
  }

  private async reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status = STATUS.ok, headers = {}, body } = await this.answer(request);
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers }).end(body);
  }

  private async answer({ url = "/", headers, socket }: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams: query } = new URL(url, "http://server");
    this.options.log(`GET ${url}`);
    if (REFUSED.includes(pathname))
      return { status: STATUS.forbidden, body: `${pathname} is not served here\n` };
    switch (pathname) {
      case "/clientip":
        return { body: addressOf(socket.remoteAddress, socket.remotePort) };
      case "/hostname":
      case "/hostName":
        return { body: hostname() };
      case "/healthz":
        return { status: this.isReady ? STATUS.ok : STATUS.notReady, body: "" };
      case "/header":
        return { body: String(headers[(query.get("key") ?? "").toLowerCase()] ?? "") };
      case "/echo":
        return echo(query);
      case "/redirect":
        return redirect(query);
      case "/dial":
        return dial(query);
      default:
        return { body: `NOW: ${new Date().toISOString()}` };
    }
  }
}

/** Serves until the process ends. @throws Error when a port cannot be had. */
export async function serveNetexec(options: NetexecOptions): Promise<Server> {
  const netexec = new Netexec(options);
  if (options.udpPort !== -1) {
    const socket = createSocket({ type: "udp6", ipv6Only: false });
    socket.on("message", (message, { address, port }) => {
      const answer = netexec.answerDatagram(message.toString(), addressOf(address, port));
      // A client that went away is no news.
      if (answer !== "") socket.send(answer, port, address, () => undefined);
    });
    socket.bind(options.udpPort);
    await once(socket, "listening");
    options.log(`Started UDP server on port ${options.udpPort}`);
    netexec.isReady = true;
  }
  const server = createServer((request, response) => netexec.handle(request, response));
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(options.httpPort);
  await once(server, "listening");
  options.log(`Started HTTP server on port ${options.httpPort}`);
  return server;
}
