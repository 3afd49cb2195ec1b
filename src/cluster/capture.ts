/** A trace as a capture file: each place where the packet is a frame becomes an interface of its own. */
import type { HeardEvent } from "./trace-collector.ts";
import { PcapngWriter } from "../device/pcapng.ts";

/** The moment that captures of simulated time count from: 2025-01-01, so that equal runs give equal files. */
export const CAPTURE_EPOCH_MS = 1_735_689_600_000;

/** Steps at which a frame stands on an interface, and in which direction seen from there. */
const CAPTURED = { send: "out", forward: "out", wire: "out", deliver: "in" } as const;

function isCaptured(kind: string): kind is keyof typeof CAPTURED {
  return Object.hasOwn(CAPTURED, kind);
}

/**
 * Writes the frames of a trace. Interfaces are named `node: place`; each packet carries what happened as its comment.
 * Times count from `epochMs`, so that equal traces give equal files.
 */
export function captureTrace(heard: readonly HeardEvent[], epochMs: number): Uint8Array {
  const writer = new PcapngWriter({ epochMs });
  const interfaces = new Map<string, number>();
  for (const { event, frame, atMs } of heard) {
    if (!isCaptured(event.kind)) continue;
    const name = `${event.node}: ${event.place}`;
    const known = interfaces.get(name) ?? writer.addInterface({ name });
    interfaces.set(name, known);
    writer.writePacket({
      interface: known,
      timestampMs: atMs,
      frame,
      comment: event.text,
      direction: CAPTURED[event.kind],
    });
  }
  return writer.bytes();
}
