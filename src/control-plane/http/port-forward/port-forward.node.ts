/**
 * `kubectl port-forward` over a WebSocket: the messages together are a stream of SPDY frames (k8s.io/apimachinery,
 * pkg/util/httpstream/spdy; k8s.io/kubelet, pkg/cri/streaming/portforward). Each connection to the local port is two streams of one
 * request id: `data`, and `error`, on which a failure is told.
 */
import type { Log } from "#core/base/log.ts";
import { isPort } from "#core/net/port-range.ts";
import type { PodAccess, PodConnection, PodPlace } from "../pod-access.ts";
import type { WebSocketConnection } from "../websocket.node.ts";
import { HeaderReader } from "./header-reader.node.ts";
import {
  FrameReader,
  SpdyError,
  type SpdyFrame,
  writeData,
  writePing,
  writeReply,
  writeReset,
} from "./spdy-frames.ts";

export const PORT_FORWARD_PROTOCOL = "SPDY/3.1+portforward.k8s.io";
/** Of one frame with data, as kubelets send them. */
const PIECE_BYTES = 32_768;
const STREAMS_MAX = 2_000;
/** How often open connections are looked at: their pod may be gone. */
const LOOK_MS = 500;
const NO_BYTES = new Uint8Array(0);

/** One connection of a client. */
interface Forwarded {
  readonly port: number;
  errorStream: number | undefined;
  dataStream: number | undefined;
  connection: PodConnection | undefined;
  /** Nothing more comes of it, and nothing more is taken. */
  isOver: boolean;
}

export interface PortForwardOptions {
  readonly place: PodPlace;
  readonly access: PodAccess;
  readonly log: Log;
}

/** All connections through one `kubectl port-forward`. What comes is done in its order, and nothing is read meanwhile. */
export class PortForward {
  private readonly options: PortForwardOptions;
  private readonly frames = new FrameReader();
  private readonly headers = new HeaderReader();
  private readonly forwarded = new Map<string, Forwarded>();
  private readonly byStream = new Map<number, Forwarded>();
  private connection: WebSocketConnection | undefined;
  private work: Promise<void> = Promise.resolve();
  private hasReplied = false;
  private isClosed = false;
  private readonly look: NodeJS.Timeout;

  constructor(options: PortForwardOptions) {
    this.options = options;
    this.look = setInterval(() => this.enqueue(() => this.lookAtAll()), LOOK_MS);
  }

  /** Once, before anything comes. */
  begin(connection: WebSocketConnection): void {
    this.connection = connection;
  }

  readonly received = (message: Buffer): void => {
    this.connection?.pause();
    this.enqueue(async () => {
      for (const frame of this.frames.push(message)) await this.take(frame);
      this.connection?.resume();
    });
  };

  readonly closed = (): void => {
    this.isClosed = true;
    clearInterval(this.look);
    this.headers.close();
    for (const { connection } of this.forwarded.values()) void connection?.close();
  };

  private enqueue(work: () => Promise<void>): void {
    this.work = this.work
      .then(async () => (this.isClosed ? undefined : work()))
      .catch((error: unknown) => {
        if (!(error instanceof SpdyError)) this.options.log.write("error", "port-forward failed", { error });
        this.connection?.close();
      });
  }

  private async take(frame: SpdyFrame): Promise<void> {
    if (frame.kind === "ping") await this.send(writePing(frame.id));
    else if (frame.kind === "go-away") this.connection?.close();
    else if (frame.kind === "headers") await this.headers.read(frame.block);
    else if (frame.kind === "syn-stream")
      await this.open(frame.streamId, await this.headers.read(frame.block));
    else if (frame.kind === "data") await this.takeData(frame.streamId, frame.bytes, frame.isLast);
    else if (frame.kind === "reset") await this.end(this.byStream.get(frame.streamId));
  }

  private async send(bytes: Uint8Array): Promise<void> {
    await this.connection?.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  private async open(streamId: number, headers: ReadonlyMap<string, string>): Promise<void> {
    const type = headers.get("streamtype");
    const port = Number(headers.get("port"));
    // Clients of before Kubernetes 1.4 gave none, and had one connection at a time.
    const request = headers.get("requestid") ?? "";
    const isKnown = type === "data" || type === "error";
    const one = this.forwarded.get(request) ?? newForwarded(port);
    const other = type === "data" ? one.dataStream : one.errorStream;
    const isFull = this.byStream.size >= STREAMS_MAX;
    if (!isKnown || !isPort(port) || other !== undefined || isFull || this.byStream.has(streamId)) {
      await this.send(writeReset(streamId));
      return;
    }
    if (type === "data") one.dataStream = streamId;
    else one.errorStream = streamId;
    this.forwarded.set(request, one);
    this.byStream.set(streamId, one);
    await this.send(writeReply(streamId, !this.hasReplied));
    this.hasReplied = true;
    if (one.dataStream !== undefined && one.errorStream !== undefined) await this.connect(one);
  }

  private async connect(one: Forwarded): Promise<void> {
    const { access, place } = this.options;
    const connection = await access.connect(place, one.port);
    if (typeof connection === "string") await this.fail(one, connection);
    else one.connection = connection;
  }

  private async takeData(streamId: number, bytes: Uint8Array, isLast: boolean): Promise<void> {
    const one = this.byStream.get(streamId);
    if (one === undefined || one.dataStream !== streamId) return;
    await this.exchange(one, bytes, isLast);
  }

  private async exchange(one: Forwarded, bytes: Uint8Array, isLast: boolean): Promise<void> {
    if (one.isOver || one.connection === undefined) return;
    const answer = await one.connection.exchange(bytes, isLast);
    for (const part of answer.bytes)
      for (let at = 0; at < part.length; at += PIECE_BYTES)
        await this.send(writeData(one.dataStream ?? 0, part.subarray(at, at + PIECE_BYTES), false));
    if (answer.failure !== undefined) await this.fail(one, answer.failure);
    else if (answer.isFinished) await this.finish(one);
  }

  private async lookAtAll(): Promise<void> {
    for (const one of this.forwarded.values()) await this.exchange(one, NO_BYTES, false);
  }

  /** Tells the failure as a kubelet does (k8s.io/kubelet, pkg/cri/streaming/portforward/httpstream.go). */
  private async fail(one: Forwarded, text: string): Promise<void> {
    const { place } = this.options;
    const message = `error forwarding port ${one.port} to pod ${place.name}, uid : ${text}`;
    if (one.errorStream !== undefined)
      await this.send(writeData(one.errorStream, Buffer.from(message), false));
    await this.finish(one);
  }

  private async finish(one: Forwarded): Promise<void> {
    if (one.isOver) return;
    one.isOver = true;
    await one.connection?.close();
    for (const streamId of [one.errorStream, one.dataStream])
      if (streamId !== undefined) await this.send(writeData(streamId, NO_BYTES, true));
    this.forget(one);
  }

  /** The client gave it up. */
  private async end(one: Forwarded | undefined): Promise<void> {
    if (one === undefined || one.isOver) return;
    one.isOver = true;
    await one.connection?.close();
    if (one.errorStream !== undefined) await this.send(writeData(one.errorStream, NO_BYTES, true));
    this.forget(one);
  }

  private forget(one: Forwarded): void {
    for (const [request, each] of this.forwarded) if (each === one) this.forwarded.delete(request);
    for (const [streamId, each] of this.byStream) if (each === one) this.byStream.delete(streamId);
  }
}

function newForwarded(port: number): Forwarded {
  return { port, errorStream: undefined, dataStream: undefined, connection: undefined, isOver: false };
}
