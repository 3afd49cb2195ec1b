/**
 * The server's end of a WebSocket (RFC 6455) with binary messages: the handshake, frames of the client without their masks,
 * messages put together, pings answered. No extension is taken. What breaks the protocol ends the connection with 1002.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** RFC 6455 §1.3. */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const FINAL = 0x80;
const MASKED = 0x80;
const CLOSE_NORMAL = 1_000;
const CLOSE_PROTOCOL_ERROR = 1_002;
const CLOSE_TOO_BIG = 1_009;
/** Of a whole message. kubectl sends 32 KiB at a time. */
const MESSAGE_BYTES_MAX = 1_048_576;
const CONTROL_BYTES_MAX = 125;

export interface WebSocketOwner {
  readonly received: (message: Buffer) => void;
  /** Once, however it ended. */
  readonly closed: () => void;
}

interface Frame {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The next frame of `bytes` and where it ends; a number: the code that the connection is closed with. */
function readFrame(bytes: Buffer): { readonly frame: Frame; readonly end: number } | "incomplete" | number {
  if (bytes.length < 2) return "incomplete";
  const [first = 0, second = 0] = bytes;
  // Extensions would use the reserved bits; a client masks each frame.
  if ((first & 0x70) !== 0 || (second & MASKED) === 0) return CLOSE_PROTOCOL_ERROR;
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const maskAt = 2 + lengthBytes;
  if (bytes.length < maskAt + 4) return "incomplete";
  const length =
    lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const opcode = first & 0x0f;
  const isControl = opcode >= OPCODE.close;
  if (isControl && (length > CONTROL_BYTES_MAX || (first & FINAL) === 0)) return CLOSE_PROTOCOL_ERROR;
  if (length > MESSAGE_BYTES_MAX) return CLOSE_TOO_BIG;
  const begin = maskAt + 4;
  if (bytes.length < begin + length) return "incomplete";
  const payload = Buffer.from(bytes.subarray(begin, begin + length));
  for (let at = 0; at < length; at++) payload[at] = (payload[at] ?? 0) ^ (bytes[maskAt + (at & 3)] ?? 0);
  return { frame: { isFinal: (first & FINAL) !== 0, opcode, payload }, end: begin + length };
}

function frameHead(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([FINAL | opcode, length]);
  if (length < 65_536) {
    const head = Buffer.from([FINAL | opcode, 126, 0, 0]);
    head.writeUInt16BE(length, 2);
    return head;
  }
  const head = Buffer.alloc(10);
  head[0] = FINAL | opcode;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** The words of a header that lists them with commas. */
export function listedIn(header: string | undefined): readonly string[] {
  return (header ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** True for a request that asks for a WebSocket of this version. */
export function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return (
    method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    headers["sec-websocket-version"] === "13" &&
    /^[A-Za-z0-9+/]{22}==$/.test(headers["sec-websocket-key"] ?? "")
  );
}

export class WebSocketConnection {
  private readonly socket: Duplex;
  private readonly owner: WebSocketOwner;
  private waiting: Buffer = Buffer.alloc(0);
  private parts: Buffer[] = [];
  private partsBytes = 0;
  private isClosed = false;

  /** Answers the handshake of a request for which `asksForWebSocket` holds. `head`: what came with it. */
  constructor(
    request: IncomingMessage,
    socket: Duplex,
    options: { readonly protocol: string; readonly head: Buffer; readonly owner: WebSocketOwner },
  ) {
    this.socket = socket;
    this.owner = options.owner;
    const key = request.headers["sec-websocket-key"] ?? "";
    const accept = createHash("sha1")
      .update(key + KEY_SUFFIX)
      .digest("base64");
    socket.write(
      [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        `Sec-WebSocket-Accept: ${accept}`,
        `Sec-WebSocket-Protocol: ${options.protocol}`,
        "\r\n",
      ].join("\r\n"),
    );
    socket.on("data", (bytes: Buffer) => this.take(bytes));
    socket.on("error", () => this.end());
    socket.on("close", () => this.end());
    if (options.head.length > 0) this.take(options.head);
  }

  /** Sends a binary message. @returns when the client, or the system, has taken it. */
  async send(message: Buffer): Promise<void> {
    if (this.isClosed) return;
    this.socket.write(frameHead(OPCODE.binary, message.length));
    if (this.socket.write(message)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.socket.off("drain", done);
        this.socket.off("close", done);
        resolve();
      };
      this.socket.once("drain", done);
      this.socket.once("close", done);
    });
  }

  /** Reads nothing more from the client until `resume`. What was read already is still given to the owner. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    if (!this.isClosed) this.socket.resume();
  }

  /** Says goodbye and ends the connection. */
  close(code: number = CLOSE_NORMAL): void {
    if (this.isClosed) return;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.socket.end(Buffer.concat([frameHead(OPCODE.close, payload.length), payload]));
    this.end();
  }

  private take(bytes: Buffer): void {
    this.waiting = this.waiting.length === 0 ? bytes : Buffer.concat([this.waiting, bytes]);
    while (!this.isClosed) {
      const read = readFrame(this.waiting);
      if (read === "incomplete") return;
      if (typeof read === "number") {
        this.close(read);
        return;
      }
      this.waiting = this.waiting.subarray(read.end);
      this.handle(read.frame);
    }
  }

  private handle({ isFinal, opcode, payload }: Frame): void {
    if (opcode === OPCODE.close) this.close();
    else if (opcode === OPCODE.ping)
      this.socket.write(Buffer.concat([frameHead(OPCODE.pong, payload.length), payload]));
    else if (opcode !== OPCODE.pong) this.gather(isFinal, opcode, payload);
  }

  private gather(isFinal: boolean, opcode: number, payload: Buffer): void {
    const isFirst = opcode === OPCODE.binary || opcode === OPCODE.text;
    if (isFirst === this.parts.length > 0 || (!isFirst && opcode !== OPCODE.continuation)) {
      this.close(CLOSE_PROTOCOL_ERROR);
      return;
    }
    this.partsBytes += payload.length;
    if (this.partsBytes > MESSAGE_BYTES_MAX) {
      this.close(CLOSE_TOO_BIG);
      return;
    }
    this.parts.push(payload);
    if (!isFinal) return;
    const message = Buffer.concat(this.parts);
    this.parts = [];
    this.partsBytes = 0;
    this.owner.received(message);
  }

  private end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.owner.closed();
  }
}
