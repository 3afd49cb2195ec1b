/** Notifications to those who listen over HTTP: one JSON object per line. */
import type { ServerResponse } from "node:http";
import { LIMITS } from "#core/base/limits.ts";
import type { HcnClient, HcnNotification, NotificationScope } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ZERO_GUID } from "#contracts/hcn/guid.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/notification.ts";

const GOODBYE: HcnNotification = Object.freeze({
  type: NOTIFICATION_TYPES.ServiceDisconnect,
  status: 0,
  data: Object.freeze({ ID: ZERO_GUID, Flags: 0 }),
});

/** An empty line so often, so that both ends notice when the other is gone. */
const KEEP_ALIVE_MS = 15_000;

function nameOf(type: number): string {
  const found = Object.entries(NOTIFICATION_TYPES).find(([, number]) => number === type);
  return found === undefined ? String(type) : found[0];
}

export class NotificationFeed {
  private readonly client: HcnClient;
  /** Each with what ends its registration. */
  private readonly streams = new Map<ServerResponse, () => void>();
  private readonly count: (type: string) => void;
  private stopCounting: () => void;
  private readonly keepAlive: NodeJS.Timeout;

  /** `count` hears the name of each notification of the service. */
  constructor(client: HcnClient, count: (type: string) => void) {
    this.client = client;
    this.count = count;
    this.stopCounting = this.startCounting();
    this.keepAlive = setInterval(() => {
      for (const stream of this.streams.keys()) this.write(stream, "\n");
    }, KEEP_ALIVE_MS);
    this.keepAlive.unref();
  }

  /** Goes on when the service behind the client has restarted. */
  private startCounting(): () => void {
    return this.client.subscribe(({ type }) => {
      this.count(nameOf(type));
      if (type === NOTIFICATION_TYPES.ServiceDisconnect) this.stopCounting = this.startCounting();
    }, "all");
  }

  /** Streams that are open. */
  get size(): number {
    return this.streams.size;
  }

  /** Makes a stream of a response. @throws HcnError when too many are open. */
  open(response: ServerResponse, scope: NotificationScope): void {
    if (this.streams.size >= LIMITS.notificationStreamsMax) {
      throw new HcnError("HCN_E_REQUEST_UNSUPPORTED", {
        detail: `${LIMITS.notificationStreamsMax} streams of notifications are open already; close one of them`,
      });
    }
    const unsubscribe = this.client.subscribe((notification) => {
      this.write(response, `${JSON.stringify(notification)}\n`);
      if (notification.type === NOTIFICATION_TYPES.ServiceDisconnect) this.end(response);
    }, scope);
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.flushHeaders();
    this.streams.set(response, unsubscribe);
    response.on("close", () => this.forget(response));
  }

  /** Says good-bye to everybody (hcn.md §1.4). */
  close(): void {
    this.stopCounting();
    clearInterval(this.keepAlive);
    for (const stream of this.streams.keys()) {
      this.write(stream, `${JSON.stringify(GOODBYE)}\n`);
      this.end(stream);
    }
  }

  private write(stream: ServerResponse, line: string): void {
    stream.write(line);
    // Whoever does not read is cut off, and hears that the service disconnected.
    if (stream.writableLength > LIMITS.notificationBytesWaitingMax) stream.destroy();
  }

  private end(stream: ServerResponse): void {
    this.forget(stream);
    stream.end();
  }

  private forget(stream: ServerResponse): void {
    this.streams.get(stream)?.();
    this.streams.delete(stream);
  }
}
