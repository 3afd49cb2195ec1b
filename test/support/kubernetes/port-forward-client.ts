/** The client's half of `kubectl port-forward`: SPDY/3.1 frames in the messages of a WebSocket, over TLS. */
import { request as requestTls } from "node:https";
import type { Duplex } from "node:stream";
import { constants, createDeflate } from "node:zlib";
import type { KubeConfig } from "@kubernetes/client-node";
import { headerDictionary } from "#control-plane/http/port-forward/header-reader.node.ts";
import { FrameReader, writeData } from "#control-plane/http/port-forward/spdy-frames.ts";

/** What came of one connection. */
export interface Forwarded {
  readonly bytes: Buffer;
  /** What the error stream told; empty when all was well. */
  readonly error: string;
}

function masked(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x82;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  // A mask of zeros is a mask.
  return Buffer.concat([head, payload]);
}

function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const texts = Object.entries(headers).flat();
  const block = Buffer.alloc(4);
  block.writeUInt32BE(texts.length / 2);
  return Buffer.concat([
    block,
    ...texts.map((text) => {
      const bytes = Buffer.alloc(4 + text.length, `0000${text}`);
      bytes.writeUInt32BE(text.length);
      return bytes;
    }),
  ]);
}

export class PortForwardClient {
  private readonly deflate = createDeflate({ dictionary: headerDictionary() });
  private readonly frames = new FrameReader();
  private readonly parts = new Map<number, Buffer[]>();
  private readonly ended = new Set<number>();
  private waiting: Buffer = Buffer.alloc(0);
  private nextStream = 1;
  private opening: Promise<void> = Promise.resolve();
  private wakeUps: (() => void)[] = [];
  isClosed = false;
  private readonly socket: Duplex;

  private constructor(socket: Duplex, head: Buffer) {
    this.socket = socket;
    socket.on("data", (bytes: Buffer) => this.take(bytes));
    socket.on("close", () => this.close());
    socket.on("error", () => this.close());
    this.take(head);
  }

  static async open(config: KubeConfig, path: string): Promise<PortForwardClient> {
    const { server = "", caData = "" } = config.getCurrentCluster() ?? {};
    const headers = {
      authorization: `Bearer ${config.getCurrentUser()?.token ?? ""}`,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io",
    };
    return new Promise((resolve, reject) => {
      const request = requestTls(`${server}${path}`, {
        ca: Buffer.from(caData, "base64"),
        headers,
        agent: false,
      });
      request.on("upgrade", (_, socket, head) => resolve(new PortForwardClient(socket, head)));
      request.on("response", ({ statusCode }) => reject(new Error(`status ${statusCode}`)));
      request.on("error", reject);
      request.end();
    });
  }

  /** One connection: sends `bytes`, ends its stream, and reads until the server ends both. */
  async exchange(
    port: number,
    bytes: Uint8Array,
    options: { readonly isHeldOpen?: boolean } = {},
  ): Promise<Forwarded> {
    const [error, data] = [this.nextStream, this.nextStream + 2];
    this.nextStream += 4;
    this.opening = this.openBoth(error, data, port);
    await this.opening;
    this.send(writeData(error, new Uint8Array(0), true));
    for (let at = 0; at < bytes.length; at += 32_768)
      this.send(writeData(data, bytes.subarray(at, at + 32_768), false));
    if (options.isHeldOpen !== true) this.send(writeData(data, new Uint8Array(0), true));
    while (!this.isClosed && !(this.ended.has(error) && this.ended.has(data)))
      await new Promise<void>((resolve) => this.wakeUps.push(resolve));
    const read = (stream: number): Buffer => Buffer.concat(this.parts.get(stream) ?? []);
    return { bytes: read(data), error: read(error).toString() };
  }

  /** Sends bytes that are anything. */
  send(bytes: Uint8Array): void {
    this.socket.write(masked(bytes));
  }

  end(): void {
    this.socket.destroy();
  }

  /** One compressor for all streams: what opens a stream goes out in the order in which it was compressed. */
  private async openBoth(error: number, data: number, port: number): Promise<void> {
    const before = this.opening;
    const headers = { port: String(port), requestid: String(error) };
    await before;
    await this.open(error, { streamtype: "error", ...headers });
    await this.open(data, { streamtype: "data", ...headers });
  }

  private async open(stream: number, headers: Readonly<Record<string, string>>): Promise<void> {
    const parts: Buffer[] = [];
    const hear = (part: Buffer): number => parts.push(part);
    this.deflate.on("data", hear);
    await new Promise<void>((resolve) => {
      this.deflate.write(headerBlock(headers), () => this.deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    });
    this.deflate.off("data", hear);
    const block = Buffer.concat(parts);
    const head = Buffer.alloc(18);
    head.writeUInt32BE(0x8003_0001, 0);
    head.writeUInt32BE(block.length + 10, 4);
    head.writeUInt32BE(stream, 8);
    this.send(Buffer.concat([head, block]));
  }

  private wake(): void {
    for (const wakeUp of this.wakeUps.splice(0)) wakeUp();
  }

  private close(): void {
    this.isClosed = true;
    this.wake();
  }

  private take(bytes: Buffer): void {
    this.waiting = Buffer.concat([this.waiting, bytes]);
    for (;;) {
      const { waiting } = this;
      const short = (waiting[1] ?? 0) & 0x7f;
      const begin = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (waiting.length < begin) return;
      const length =
        short === 127 ? Number(waiting.readBigUInt64BE(2)) : short === 126 ? waiting.readUInt16BE(2) : short;
      if (waiting.length < begin + length) return;
      this.waiting = waiting.subarray(begin + length);
      if (waiting[0] === 0x82) this.takeFrames(waiting.subarray(begin, begin + length));
    }
  }

  private takeFrames(bytes: Uint8Array): void {
    for (const frame of this.frames.push(bytes)) {
      if (frame.kind !== "data") continue;
      const parts = this.parts.get(frame.streamId) ?? [];
      parts.push(Buffer.from(frame.bytes));
      this.parts.set(frame.streamId, parts);
      if (frame.isLast) this.ended.add(frame.streamId);
    }
    this.wake();
  }
}
