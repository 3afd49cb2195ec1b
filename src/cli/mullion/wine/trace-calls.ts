/**
 * Stands between Windows programs and a service of HNS, and writes down what they ask and what they are answered; at the
 * end, how often each function was called, how long it took, and what was refused.
 */
import { isOwnHost } from "#core/base/tcp-access.node.ts";
import { closeSync, writeSync } from "node:fs";
import { openNamedFile } from "#core/base/owner-only.node.ts";
import {
  Agent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  createServer,
  request as httpRequest,
} from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { HTTP_NOTIFICATIONS_PATH, HTTP_VERSION_HEADER } from "#contracts/hcn/http/http-protocol.ts";
import {
  type TraceRecord,
  recordCall,
  recordNotification,
  type CallRecord,
  isRefused,
} from "./call-record.ts";
import { formatCells } from "../table.ts";

interface Tally {
  calls: number;
  milliseconds: number;
  readonly refusals: Map<string, number>;
}

/** Adds up calls, so that their records need not be kept. */
export class CallSummary {
  private readonly tallies = new Map<string, Tally>();
  private notifications = 0;

  add(record: TraceRecord): void {
    if (record.event === "notification") this.notifications++;
    else this.addCall(record);
  }

  private addCall(record: CallRecord): void {
    const tally: Tally = this.tallies.get(record.function) ?? {
      calls: 0,
      milliseconds: 0,
      refusals: new Map(),
    };
    this.tallies.set(record.function, tally);
    tally.calls++;
    tally.milliseconds += record.milliseconds;
    if (!isRefused(record)) return;
    const reason = record.name ?? (record.hresult === "0x00000000" ? "refused by HNS v1" : record.hresult);
    tally.refusals.set(reason, (tally.refusals.get(reason) ?? 0) + 1);
  }

  /** A line, and a table of the functions in the order of their first calls. */
  format(file: string): string {
    const rows = [...this.tallies].map(([name, { calls, milliseconds, refusals }]) => [
      name,
      String(calls),
      (milliseconds / calls).toFixed(1),
      [...refusals].map(([reason, count]) => `${count} ${reason}`).join(", "),
    ]);
    const tallies = [...this.tallies.values()];
    const calls = tallies.reduce((sum, tally) => sum + tally.calls, 0);
    const milliseconds = tallies.reduce((sum, tally) => sum + tally.milliseconds, 0);
    const line = `${calls} calls in ${milliseconds.toFixed(0)} ms, ${this.notifications} notifications: ${file}\n`;
    if (calls === 0) return line;
    return (
      line + formatCells([["FUNCTION", "CALLS", "MS EACH", "REFUSED"], ...rows], [false, true, true, false])
    );
  }
}

/** Others on the machine need not read what the objects of a node look like. */
const MISDIRECTED = 421;
const FILE_MODE = 0o600;

export interface CallTracer {
  /** What programs take in place of the service's address. */
  readonly address: string;
  /** Ends it. Answers the summary. @throws the first error of the system with which the file was written. */
  close(): Promise<string>;
}

/** What the service takes; the DLLs send no more. */
const REQUEST_MAX = 10 << 20;

/** Each side sees the version of the other. */
function versionOf(headers: IncomingMessage["headers"]): OutgoingHttpHeaders {
  const version = headers[HTTP_VERSION_HEADER];
  return version === undefined ? {} : { [HTTP_VERSION_HEADER]: version };
}

/** What belongs to one connection, or is set anew. */
const OWN_HEADERS: readonly string[] = [
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
];

/** What has to go on: the token, and the versions by which DLL and service know whether they fit. */
function headersOf({ headers }: IncomingMessage): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name)));
}

class Tracer {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly summary = new CallSummary();
  private readonly service: string;
  private readonly file: number;
  private fault: Error | undefined;

  constructor(service: string, file: number) {
    this.service = service;
    this.file = file;
  }

  private write(record: TraceRecord): void {
    this.summary.add(record);
    if (this.fault !== undefined) return;
    try {
      writeSync(this.file, `${JSON.stringify(record)}\n`);
    } catch (error) {
      this.fault = error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Asks the service; the body ends when the service has answered all of it. */
  private async ask(incoming: IncomingMessage, body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const outgoing = httpRequest(new URL(incoming.url ?? "/", this.service), {
      agent: this.agent,
      method: incoming.method,
      headers: { ...headersOf(incoming), "content-length": Buffer.byteLength(body) },
      signal,
    });
    // What goes wrong once it answers shows in the answer.
    outgoing.on("error", () => {});
    outgoing.end(body);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    return answer;
  }

  /** Passes one request on. Where the service breaks off, the program sees the same. */
  async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const at = new Date().toISOString();
    const began = performance.now();
    const path = incoming.url ?? "/";
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    const milliseconds = (): number => performance.now() - began;
    let request = "";
    try {
      if (!(Number(incoming.headers["content-length"] ?? 0) <= REQUEST_MAX))
        throw new RangeError("The request is too long");
      request = await text(incoming);
      const answer = await this.ask(incoming, request, gone.signal);
      const status = answer.statusCode ?? 0;
      if (status === 200 && path.startsWith(HTTP_NOTIFICATIONS_PATH)) {
        this.write(
          recordCall({
            at,
            milliseconds: milliseconds(),
            path,
            request,
            answer: { status, body: '{"result":null}' },
          }),
        );
        await this.passStream(answer, outgoing);
        return;
      }
      const body = await text(answer);
      this.write(recordCall({ at, milliseconds: milliseconds(), path, request, answer: { status, body } }));
      const type = answer.headers["content-type"] ?? "application/json";
      outgoing
        .writeHead(status, {
          ...versionOf(answer.headers),
          "content-type": type,
          "content-length": Buffer.byteLength(body),
        })
        .end(body);
    } catch (error) {
      const failure = gone.signal.aborted
        ? "The program did not wait for the answer"
        : `The service broke off: ${String(error)}`;
      this.write(recordCall({ at, milliseconds: milliseconds(), path, request, failure }));
      outgoing.destroy();
    }
  }

  private async passStream(answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const type = answer.headers["content-type"] ?? "application/json";
    outgoing.writeHead(200, { ...versionOf(answer.headers), "content-type": type });
    outgoing.flushHeaders();
    let unfinished = "";
    try {
      for await (const part of answer.setEncoding("utf8") as AsyncIterable<string>) {
        const lines = (unfinished + part).split("\n");
        unfinished = lines.pop() ?? "";
        for (const line of lines) {
          const record = recordNotification(new Date().toISOString(), line);
          if (record !== undefined) this.write(record);
        }
        outgoing.write(part);
      }
      outgoing.end();
    } catch {
      // The service or the program went away; either sees that the other did.
      outgoing.destroy();
    }
  }

  end(file: string): string {
    this.agent.destroy();
    closeSync(this.file);
    if (this.fault !== undefined) throw this.fault;
    return this.summary.format(file);
  }
}

/**
 * Listens on a free port of this machine for what is meant for `service`. Each call is in `file` as soon as it is
 * answered.
 * @throws an error of the system when the file cannot be written.
 */
export async function traceCalls(service: string, file: string): Promise<CallTracer> {
  const tracer = new Tracer(service, openNamedFile(file, FILE_MODE));
  const server = createServer((incoming, outgoing) => {
    if (isOwnHost(incoming.headers.host, "127.0.0.1")) void tracer.pass(incoming, outgoing);
    else outgoing.writeHead(MISDIRECTED).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      return tracer.end(file);
    },
  };
}
