/** Listens to a followed packet and its answer, and keeps what a report needs. */
import type { PacketTag, Recorder, TraceEvent } from "../base/recorder.ts";

/** An event with the frame as it was after it. */
export interface HeardEvent {
  readonly tag: PacketTag;
  readonly event: TraceEvent;
  readonly frame: Uint8Array;
  readonly atMs: number;
}

/** Retransmissions of a followed packet are followed, too; only the first pass of each is kept. */
const EVENTS_MAX = 2_000;

export class TraceCollector implements Recorder {
  readonly heard: HeardEvent[] = [];

  record(tag: PacketTag, event: TraceEvent, frame: Uint8Array, nowMs: number): void {
    if (this.heard.length >= EVENTS_MAX) return;
    this.heard.push({ tag, event, frame: frame.slice(), atMs: nowMs });
  }

  /** The events of one direction: from its first `send` up to the next one (a repetition) or the end. */
  legOf(tag: 1 | 2): readonly HeardEvent[] {
    const all = this.heard.filter((each) => each.tag === tag);
    const again = all.findIndex((each, index) => index > 0 && each.event.kind === "send");
    return again < 0 ? all : all.slice(0, again);
  }
}
