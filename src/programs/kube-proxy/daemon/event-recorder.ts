/** Events that kube-proxy writes to the API server (kube-proxy.md §6): what happened, to which object, how often. */
import type { Repair } from "../report.ts";

interface EventSubject {
  readonly kind: "Node" | "Service";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ProxyServerEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly regarding: EventSubject;
  readonly message: string;
}

/** One event as it is to be stored, for the first time or again. */
export interface RecordedEvent extends ProxyServerEvent {
  /** Of the Event object. */
  readonly name: string;
  /** Events of what has no namespace stand in `default`. */
  readonly namespace: string;
  /** How often it has happened. */
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Stores an event. What it cannot do it reports by rejecting; events are no reason to end. */
export type EventSink = (event: RecordedEvent) => Promise<void>;

/** Equal events within this time are one that is counted, as client-go's series. */
const SERIES_MS = 360_000;
/** Different events that are remembered. */
const REMEMBERED_MAX = 1_024;
/** Events that may wait for a server that does not answer; more are dropped. */
const WAITING_MAX = 256;

interface EventRecorderOptions {
  readonly sink: EventSink;
  readonly wallMs: () => number;
  readonly failed: (error: unknown, event: RecordedEvent) => void;
}

export class EventRecorder {
  private readonly options: EventRecorderOptions;
  private readonly known = new Map<string, RecordedEvent>();
  private written: Promise<void> = Promise.resolve();
  private waiting = 0;
  /** What the newest name ends in. */
  private lastStamp = 0n;

  constructor(options: EventRecorderOptions) {
    this.options = options;
  }

  record(event: ProxyServerEvent): void {
    const nowMs = this.options.wallMs();
    const { kind, namespace, name } = event.regarding;
    const key = [event.type, event.reason, event.action, kind, namespace, name, event.message].join("\n");
    const before = this.known.get(key);
    const isSeries = before !== undefined && nowMs - before.lastMs < SERIES_MS;
    const recorded: RecordedEvent = isSeries
      ? { ...before, count: before.count + 1, lastMs: nowMs }
      : {
          ...event,
          name: `${name}.${this.stamp(nowMs)}`,
          namespace: namespace === "" ? "default" : namespace,
          count: 1,
          firstMs: nowMs,
          lastMs: nowMs,
        };
    this.known.delete(key);
    this.known.set(key, recorded);
    const [oldest] = this.known.keys();
    if (this.known.size > REMEMBERED_MAX && oldest !== undefined) this.known.delete(oldest);
    if (this.waiting >= WAITING_MAX) return;
    this.waiting++;
    this.written = this.written.then(() => this.write(recorded));
  }

  /** Resolves when everything recorded so far is stored, or given up. */
  flush(): Promise<void> {
    return this.written;
  }

  /** As client-go names events: by the time in nanoseconds. Those of one moment are a nanosecond apart. */
  private stamp(nowMs: number): string {
    const now = BigInt(Math.round(nowMs * 1_000)) * 1_000n;
    this.lastStamp = now > this.lastStamp ? now : this.lastStamp + 1n;
    return this.lastStamp.toString(16);
  }

  private async write(event: RecordedEvent): Promise<void> {
    try {
      await this.options.sink(event);
    } catch (error) {
      this.options.failed(error, event);
    } finally {
      this.waiting--;
    }
  }
}

/** A Node as events name it: kubelet's nodes have their name for a uid there. */
export function nodeSubject(name: string): EventSubject {
  return { kind: "Node", namespace: "", name, uid: name };
}

export function serviceSubject(namespace: string, name: string): EventSubject {
  return { kind: "Service", namespace, name, uid: `${namespace}/${name}` };
}

export function repairEvent(hostname: string, { service, message, code }: Repair): ProxyServerEvent {
  const regarding =
    service === undefined ? nodeSubject(hostname) : serviceSubject(service.namespace, service.name);
  const text = `${hostname}: ${message} [${code}]`;
  return { type: "Warning", reason: "RepairedHNS", action: "Repair", regarding, message: text };
}
