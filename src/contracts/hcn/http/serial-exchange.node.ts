/**
 * Requests of a program that lives for some milliseconds, one after the other over one connection. Node's client for HTTP
 * takes twelve milliseconds of the processor until its first answer is there, in a program of forty (bench/cni-add.ts);
 * a socket and a few lines of text take five.
 */
import { type Socket, connect } from "node:net";
import {
  type HttpAddress,
  type HttpExchange,
  type HttpRequest,
  answerTooLong,
} from "./http-exchange.node.ts";
import { LIMITS } from "#core/base/limits.ts";

// Reads one answer of HTTP/1.1 from the bytes of a connection, in whatever pieces they come (RFC 9112 §6, §7): a body
// of a known length, in chunks, or up to the end of the connection. For `SerialExchange`; everybody else has Node's
// client.

const HEAD_END = "\r\n\r\n";
/** More than any service of ours sends in front of a body. */
const HEAD_BYTES_MAX = 65_536;
/** The longest line before a chunk: a length in hexadecimal digits. Extensions are not for us. */
const CHUNK_LINE_MAX = 1_024;

/** How the end of a body is known. */
type Framing = "length" | "chunks" | "connection";

function brokenAnswer(why: string): Error {
  return new Error(`the answer is not HTTP: ${why}`);
}

export class HttpAnswer {
  /** True when the connection can carry another request. */
  keepsConnection = true;
  isComplete = false;
  private rest: Buffer = Buffer.alloc(0);
  /** Pieces that wait to be joined, so that a long body is not copied with each. */
  private pieces: Buffer[] = [];
  private waiting = 0;
  private framing: Framing | undefined;
  /** Bytes that have to be there before it makes sense to look again. */
  private wanted = 0;
  private readonly body: Buffer[] = [];
  private bodyLength = 0;

  /** Takes bytes of the connection. @throws Error when they are no answer, HcnError when it is too long. */
  push(bytes: Buffer): void {
    this.pieces.push(bytes);
    this.waiting += bytes.length;
    if (this.rest.length + this.waiting < this.wanted) return;
    this.rest = Buffer.concat([this.rest, ...this.pieces]);
    this.pieces = [];
    this.waiting = 0;
    this.read();
  }

  /** The connection has ended. @throws Error with the code ECONNRESET when that was too early. */
  end(): void {
    if (this.isComplete) return;
    if (this.framing !== "connection")
      throw Object.assign(new Error("the connection ended within an answer"), { code: "ECONNRESET" });
    this.isComplete = true;
  }

  /** The body as text. */
  text(): string {
    return Buffer.concat(this.body).toString("utf8");
  }

  private read(): void {
    if (this.framing === undefined && !this.readHead()) return;
    if (this.framing === "chunks") {
      while (!this.isComplete && this.readChunk());
      return;
    }
    if (this.framing === "length" && this.rest.length < this.wanted) return;
    this.take(this.framing === "length" ? this.wanted : this.rest.length);
    this.isComplete = this.framing === "length";
  }

  /** @returns false when the head is not whole yet. */
  private readHead(): boolean {
    const end = this.rest.indexOf(HEAD_END);
    if (end < 0 && this.rest.length > HEAD_BYTES_MAX) throw brokenAnswer("its head does not end");
    if (end < 0) return false;
    const [status = "", ...lines] = this.rest.toString("latin1", 0, end).split("\r\n");
    if (!/^HTTP\/1\.[01] \d{3}/.test(status)) throw brokenAnswer(JSON.stringify(status.slice(0, 80)));
    this.rest = this.rest.subarray(end + HEAD_END.length);
    // 100 Continue and its like stand before the answer.
    if (/^\S+ 1\d\d/.test(status)) return this.readHead();
    this.readFraming(status, new Map(lines.map((line) => headerOf(line))));
    return true;
  }

  private readFraming(status: string, headers: ReadonlyMap<string, string>): void {
    const length = headers.get("content-length");
    const isBare = /^\S+ (?:204|304)/.test(status);
    if (/\bclose\b/i.test(headers.get("connection") ?? "")) this.keepsConnection = false;
    if (!isBare && /\bchunked\b/i.test(headers.get("transfer-encoding") ?? "")) this.framing = "chunks";
    else if (isBare || length !== undefined) {
      const bytes = isBare ? 0 : Number(length);
      if (!Number.isSafeInteger(bytes) || bytes < 0) throw brokenAnswer(`its length is ${length ?? ""}`);
      if (bytes > LIMITS.httpResponseBytesMax) throw answerTooLong();
      this.framing = "length";
      this.wanted = bytes;
    } else {
      this.framing = "connection";
      this.keepsConnection = false;
    }
  }

  /** @returns false when the next chunk is not whole yet. */
  private readChunk(): boolean {
    const end = this.rest.indexOf("\r\n");
    if (end < 0 || end > CHUNK_LINE_MAX) {
      if (this.rest.length > CHUNK_LINE_MAX) throw brokenAnswer("the length of a chunk does not end");
      return false;
    }
    const line = this.rest.toString("latin1", 0, end);
    const size = /^[\da-f]{1,8}(?=$|[;\s])/i.exec(line)?.[0];
    if (size === undefined) throw brokenAnswer(`a chunk has the length ${JSON.stringify(line)}`);
    const length = Number.parseInt(size, 16);
    if (length === 0) return this.readTrailer(end);
    if (this.bodyLength + length > LIMITS.httpResponseBytesMax) throw answerTooLong();
    this.wanted = end + 2 + length + 2;
    if (this.rest.length < this.wanted) return false;
    this.rest = this.rest.subarray(end + 2);
    this.take(length);
    if (this.rest.toString("latin1", 0, 2) !== "\r\n") throw brokenAnswer("a chunk does not end");
    this.rest = this.rest.subarray(2);
    this.wanted = 0;
    return true;
  }

  /** What follows the last chunk: lines that are not read, up to an empty one. */
  private readTrailer(begin: number): boolean {
    const end = this.rest.indexOf(HEAD_END, begin);
    if (end < 0 && this.rest.length > HEAD_BYTES_MAX) throw brokenAnswer("its trailer does not end");
    this.isComplete = end >= 0;
    return false;
  }

  private take(length: number): void {
    this.bodyLength += length;
    if (this.bodyLength > LIMITS.httpResponseBytesMax) throw answerTooLong();
    this.body.push(this.rest.subarray(0, length));
    this.rest = this.rest.subarray(length);
  }
}

function headerOf(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  if (colon < 1) throw brokenAnswer(`a header is ${JSON.stringify(line.slice(0, 80))}`);
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/** What is under way on the connection. */
interface Current {
  readonly answer: HttpAnswer;
  readonly done: (error?: Error) => void;
}

function timeoutError(): Error {
  const error = new Error("no answer in time");
  error.name = "TimeoutError";
  return error;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

export class SerialExchange implements HttpExchange {
  private readonly address: HttpAddress;
  private socket: Socket | undefined;
  private current: Current | undefined;
  /** Ends when the request before has its answer. */
  private previous: Promise<void> = Promise.resolve();

  constructor(address: HttpAddress) {
    this.address = address;
  }

  exchange(request: HttpRequest): Promise<string> {
    const result = this.previous.then(() => this.send(request));
    this.previous = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  close(): void {
    this.drop();
  }

  private send(request: HttpRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      const answer = new HttpAnswer();
      const timer = setTimeout(() => this.fail(timeoutError()), request.timeoutMs);
      const done = (error?: Error): void => {
        clearTimeout(timer);
        this.current = undefined;
        if (error === undefined) resolve(answer.text());
        else reject(error);
      };
      this.current = { answer, done };
      this.socket ??= this.connect();
      this.socket.write(this.format(request));
    });
  }

  private connect(): Socket {
    const { address } = this;
    const socket = connect("socketPath" in address ? { path: address.socketPath } : address);
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => this.receive(bytes));
    socket.on("error", (error) => this.fail(error));
    socket.on("close", () => this.lose(socket));
    return socket;
  }

  private receive(bytes: Buffer): void {
    const { current } = this;
    // Nothing was asked: what speaks first is no HTTP server.
    if (current === undefined) return this.drop();
    try {
      current.answer.push(bytes);
    } catch (error) {
      return this.fail(asError(error));
    }
    if (!current.answer.isComplete) return;
    if (!current.answer.keepsConnection) this.drop();
    current.done();
  }

  /** The connection is gone. */
  private lose(socket: Socket): void {
    if (this.socket !== socket) return;
    this.socket = undefined;
    const { current } = this;
    if (current === undefined) return;
    try {
      current.answer.end();
      current.done();
    } catch (error) {
      current.done(asError(error));
    }
  }

  private fail(error: Error): void {
    const { current } = this;
    this.drop();
    current?.done(error);
  }

  private drop(): void {
    const { socket } = this;
    this.socket = undefined;
    socket?.destroy();
  }

  private format({ method, path, body }: HttpRequest): string {
    const { address } = this;
    const token = "token" in address ? `authorization: Bearer ${address.token}\r\n` : "";
    const length = Buffer.byteLength(body);
    const head = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${token}`;
    return `${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
  }
}
