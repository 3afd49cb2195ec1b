/**
 * Requests of a program that lives for some milliseconds, one after the other over one connection. Node's client for HTTP
 * takes twelve milliseconds of the processor until its first answer is there, in a program of forty (bench/cni-add.ts);
 * a socket and a few lines of text take five.
 */
import { type Socket, connect } from "node:net";
import { HttpAnswer } from "./http-answer.node.ts";
import type { HttpAddress, HttpExchange, HttpRequest } from "./http-exchange.node.ts";

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
