/** Streams of notifications over HTTP: one per scope, as long as there is a listener. */
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { createInterface } from "node:readline";
import {
  type HcnNotification,
  NOTIFICATION_TYPES,
  type NotificationScope,
  checkScope,
  formatScope,
} from "../client.ts";
import { ZERO_GUID } from "../guid.ts";
import { HTTP_NOTIFICATIONS_PATH, parseHttpNotification } from "./http-protocol.ts";
import { parseAnswerText } from "../description/json.ts";

const OK = 200;

type Listener = (notification: HcnNotification) => void;

/** A registration of its own, so that one function can be registered twice. */
interface Registration {
  readonly listener: Listener;
}

interface Stream {
  readonly request: ClientRequest;
  readonly registrations: Set<Registration>;
  /** Resolves when the service has registered the listener, or does not answer. */
  readonly registered: Promise<void>;
}

const GOODBYE: HcnNotification = Object.freeze({
  type: NOTIFICATION_TYPES.ServiceDisconnect,
  status: 0,
  data: Object.freeze({ ID: ZERO_GUID, Flags: 0 }),
});

function report(stream: Stream, notification: HcnNotification): void {
  for (const { listener } of stream.registrations) listener(notification);
}

export class NotificationStreams {
  private readonly optionsOf: (path: string) => RequestOptions;
  /** By the query of their path. */
  private readonly open = new Map<string, Stream>();

  /** `optionsOf` says how a path of the service is requested. */
  constructor(optionsOf: (path: string) => RequestOptions) {
    this.optionsOf = optionsOf;
  }

  /** @throws HcnError HCN_E_GUID_CONVERSION_FAILURE. */
  subscribe(listener: Listener, scope: NotificationScope): () => void {
    const query = formatScope(checkScope(scope));
    const stream = this.open.get(query) ?? this.start(query);
    const registration: Registration = { listener };
    stream.registrations.add(registration);
    return () => {
      stream.registrations.delete(registration);
      if (stream.registrations.size === 0) this.end(query, stream);
    };
  }

  /** Resolves when all listeners are registered with the service. */
  async registered(): Promise<void> {
    if (this.open.size > 0) await Promise.all([...this.open.values()].map((stream) => stream.registered));
  }

  /** Ends all streams; no listener hears of it. */
  close(): void {
    for (const [query, stream] of this.open) {
      stream.registrations.clear();
      this.end(query, stream);
    }
  }

  private start(query: string): Stream {
    const outgoing = request(this.optionsOf(`${HTTP_NOTIFICATIONS_PATH}${query}`));
    const registrations = new Set<Registration>();
    const registered = new Promise<void>((resolve) => {
      outgoing.on("response", (response) => {
        resolve();
        void this.read(query, stream, response);
      });
      outgoing.on("error", () => {
        resolve();
        this.disconnected(query, stream);
      });
    });
    const stream: Stream = { request: outgoing, registrations, registered };
    this.open.set(query, stream);
    outgoing.end();
    return stream;
  }

  private async read(query: string, stream: Stream, response: IncomingMessage): Promise<void> {
    try {
      if (response.statusCode !== OK) response.destroy();
      for await (const line of createInterface({ input: response })) {
        const notification = line === "" ? undefined : parseHttpNotification(parseAnswerText(line));
        // The end of the stream says the same, and also when the service had no time to say it.
        if (notification !== undefined && notification.type !== NOTIFICATION_TYPES.ServiceDisconnect)
          report(stream, notification);
      }
    } catch {
      // A stream that breaks off ends like one that was closed: listeners hear that the service is gone.
    }
    this.disconnected(query, stream);
  }

  /** The service went away: registrations are dead, and a program that wants to hear more subscribes again. */
  private disconnected(query: string, stream: Stream): void {
    if (this.open.get(query) !== stream) return;
    this.open.delete(query);
    report(stream, GOODBYE);
    stream.registrations.clear();
  }

  private end(query: string, stream: Stream): void {
    if (this.open.get(query) !== stream) return;
    this.open.delete(query);
    stream.request.destroy();
  }
}
