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

/** One followed packet, and what answered it. */
export interface HeardWalk {
  readonly forward: HeardEvent[];
  readonly reply: HeardEvent[];
}

export class TraceCollector implements Recorder {
  readonly heard: HeardEvent[] = [];
  private readonly eventsMax: number;

  constructor(eventsMax: number = EVENTS_MAX) {
    this.eventsMax = eventsMax;
  }

  /** Nothing more is kept. */
  get isFull(): boolean {
    return this.heard.length >= this.eventsMax;
  }

  record(tag: PacketTag, event: TraceEvent, frame: Uint8Array, nowMs: number): void {
    if (this.isFull) return;
    this.heard.push({ tag, event, frame: frame.slice(), atMs: nowMs });
  }

  /**
   * The events of one direction: up to its second `send` (a repetition) or the end. A Linux stack translates a packet
   * of its own before it is sent, so such steps in front of a `send` belong to it. What a program that has taken the packet
   * sends on is no repetition.
   */
  legOf(tag: 1 | 2): readonly HeardEvent[] {
    const all = this.heard.filter((each) => each.tag === tag);
    const first = all.findIndex(({ event }) => event.kind === "send");
    let again = all.findIndex(
      ({ event }, index) => index > first && event.kind === "send" && !isPassedOn(all, first, index),
    );
    if (first < 0 || again < 0) return all;
    while (isOwnTranslation(all[again - 1], all[again])) again--;
    return all.slice(0, again);
  }

  /** Of a program that sends one packet after the other, and waits for the answer: each `send` begins a walk. */
  listWalks(): readonly HeardWalk[] {
    const walks: HeardWalk[] = [];
    for (const [index, each] of this.heard.entries()) {
      if (walks.length === 0 || this.isBegin(index)) walks.push({ forward: [], reply: [] });
      walks.at(-1)?.[each.tag === 1 ? "forward" : "reply"].push(each);
    }
    return walks;
  }

  /** True for a `send`, and for the first of the translations that a Linux stack makes in front of it. */
  private isBegin(index: number): boolean {
    const own = this.heard[index];
    if (own?.tag !== 1 || isTranslationOn(own.event.node, this.heard[index - 1])) return false;
    let at = index;
    while (isTranslationOn(own.event.node, this.heard[at])) at++;
    const next = this.heard[at];
    return next?.tag === 1 && next.event.kind === "send" && next.event.node === own.event.node;
  }
}

/** True where the one who has taken the packet last sends it on, and is not the one who sent it first. */
function isPassedOn(all: readonly HeardEvent[], first: number, index: number): boolean {
  const [origin, taken, sent] = [all[first], all[index - 1], all[index]].map((each) => each?.event);
  if (taken?.kind !== "deliver" || sent === undefined || origin === undefined) return false;
  const isSame = (a: TraceEvent, b: TraceEvent): boolean => a.node === b.node && a.place === b.place;
  return isSame(taken, sent) && !isSame(origin, sent);
}

function isTranslationOn(node: string, heard: HeardEvent | undefined): boolean {
  return heard?.tag === 1 && heard.event.kind === "translate" && heard.event.node === node;
}

function isOwnTranslation(before: HeardEvent | undefined, sent: HeardEvent | undefined): boolean {
  if (before?.event.kind !== "translate" || sent === undefined) return false;
  return before.event.node === sent.event.node && before.atMs === sent.atMs;
}
