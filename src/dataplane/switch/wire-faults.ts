/** What goes wrong around a switch, as values: on the wire behind an uplink, and on the way out of a port. */
import { readU16 } from "#core/base/bytes.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

/** A UDP port that something below the node takes for itself. */
export interface TakenPort {
  readonly side: "source" | "destination";
  readonly port: number;
  readonly code: KnowledgeCode;
}

/** The adapter works and fails in turn. */
export interface Outages {
  readonly worksMs: number;
  readonly failsMs: number;
  /** When the first turn began, in milliseconds before the clock's zero. */
  readonly shiftMs: number;
  readonly code: KnowledgeCode;
}

export interface WireFaults {
  readonly takenUdp?: readonly TakenPort[];
  readonly outages?: Outages;
}

function isOut({ worksMs, failsMs, shiftMs }: Outages, nowMs: number): boolean {
  return (nowMs + shiftMs) % (worksMs + failsMs) >= worksMs;
}

/** Why a frame is lost on the wire; undefined: it is not. */
export function findWireFault(
  faults: WireFaults,
  bytes: Uint8Array,
  headers: Headers,
  nowMs: number,
): KnowledgeCode | undefined {
  const { outages, takenUdp = [] } = faults;
  if (outages !== undefined && isOut(outages, nowMs)) return outages.code;
  if (takenUdp.length === 0 || headers.protocol !== IpProtocol.udp || headers.transport < 0) return undefined;
  if (headers.family === 0 || headers.fragmentOffset !== 0) return undefined;
  const ports = {
    source: readU16(bytes, headers.transport),
    destination: readU16(bytes, headers.transport + 2),
  };
  return takenUdp.find(({ side, port }) => ports[side] === port)?.code;
}

const MS_PER_SECOND = 1_000;
/** Inferred: how much waits before the switch drops. */
const WAITING_BYTES_MAX = 65_536;

/**
 * Gives frames out one after the other at a rate. A known defect: TCP comes out of a port much slower than it went in
 * (dataplane.md §5.4, §9 F-28). Plain data.
 */
export class ReceivePace {
  readonly bytesPerSecond: number;
  private freeAtMs = 0;

  constructor(bytesPerSecond: number) {
    this.bytesPerSecond = bytesPerSecond;
  }

  /** How long a frame waits; undefined: too many wait already. */
  admit(bytes: number, nowMs: number): number | undefined {
    const startMs = Math.max(this.freeAtMs, nowMs);
    const waitMs = startMs - nowMs;
    if ((waitMs * this.bytesPerSecond) / MS_PER_SECOND > WAITING_BYTES_MAX) return undefined;
    this.freeAtMs = startMs + (bytes * MS_PER_SECOND) / this.bytesPerSecond;
    return waitMs;
  }
}
