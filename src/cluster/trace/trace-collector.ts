/** Listens to a followed packet and its answer, and keeps what a report needs. */
import type { PacketTag, Recorder, TraceEvent } from "#core/base/recorder.ts";

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

  /**
   * The events of one direction: up to its second `send` (a repetition) or the end. A Linux stack translates a packet
   * of its own before it is sent, so such steps in front of a `send` belong to it.
   */
  legOf(tag: 1 | 2): readonly HeardEvent[] {
    const all = this.heard.filter((each) => each.tag === tag);
    const first = all.findIndex(({ event }) => event.kind === "send");
    let again = all.findIndex(({ event }, index) => index > first && event.kind === "send");
    if (first < 0 || again < 0) return all;
    while (isOwnTranslation(all[again - 1], all[again])) again--;
    return all.slice(0, again);
  }
}

function isOwnTranslation(before: HeardEvent | undefined, sent: HeardEvent | undefined): boolean {
  if (before?.event.kind !== "translate" || sent === undefined) return false;
  return before.event.node === sent.event.node && before.atMs === sent.atMs;
}
