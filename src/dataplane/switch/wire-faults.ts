/** What goes wrong on the wire behind an uplink, as values: known defects of adapters and of what is below a node. */
import { readU16 } from "#core/base/bytes.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

/** A UDP port that somebody below takes for itself. */
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
