/**
 * What does a packet of a known connection cost? Against a bare copy of the frame and a plain `Map` look-up.
 */
import { Packet } from "../src/wire/packet.ts";
import type { VfpPort } from "../src/vfp/vfp-port.ts";
import { makeOverlayPort, makePort, segmentOf, sender, tunnelledSegmentOf } from "./engine-fixture.ts";
import { type Candidate, measure, measureAllocation, printTable } from "./measure.ts";

const OPERATIONS = 100_000;

function framesOf(flows: number): Uint8Array[] {
  return Array.from({ length: flows }, (_, index) => segmentOf(index));
}

function copyOnly(frames: readonly Uint8Array[]): Candidate {
  const packet = Packet.ofLength(frames[0]?.length ?? 0);
  let at = 0;
  return {
    name: "copy of the frame",
    operations: OPERATIONS,
    run: () => {
      for (let i = 0; i < OPERATIONS; i++) {
        const frame = frames[at];
        at = at + 1 === frames.length ? 0 : at + 1;
        if (frame !== undefined) packet.bytes.set(frame, packet.start);
      }
      return packet.bytes[packet.start] ?? 0;
    },
  };
}

function mapLookup(flows: number): Candidate {
  const map = new Map<number, { packets: number }>();
  for (let index = 0; index < flows; index++) map.set(index * 7919, { packets: 0 });
  let at = 0;
  return {
    name: "plain Map look-up, number key",
    operations: OPERATIONS,
    run: () => {
      let found = 0;
      for (let i = 0; i < OPERATIONS; i++) {
        const flow = map.get(at * 7919);
        at = at + 1 === flows ? 0 : at + 1;
        if (flow !== undefined) found += ++flow.packets;
      }
      return found;
    },
  };
}

function engine(
  name: string,
  port: VfpPort,
  frames: readonly Uint8Array[],
  direction: "out" | "in" = "out",
): Candidate {
  const send = sender(port, frames, direction);
  // Every flow is made before the first round.
  send(frames.length);
  return { name, operations: OPERATIONS, run: () => send(OPERATIONS) };
}

export function run(): void {
  const counts = process.env["BENCH_LARGE"] === "1" ? [1, 1_000, 100_000, 1_000_000] : [1, 1_000, 100_000];
  for (const flows of counts) {
    const frames = framesOf(flows);
    const tunnelled = Array.from({ length: flows }, (_, index) => tunnelledSegmentOf(index));
    const rows = measure([
      copyOnly(frames),
      mapLookup(flows),
      engine("flow hit, plain", makePort(false), frames),
      engine("flow hit, NAT", makePort(true), frames),
      engine("flow hit, VXLAN out", makeOverlayPort(), frames),
      engine("flow hit, VXLAN in", makeOverlayPort(), tunnelled, "in"),
    ]);
    printTable(
      `Flow hit, ${flows} flow${flows === 1 ? "" : "s"} (66-byte frame, parse included)`,
      rows,
      "copy of the frame",
    );
  }
  const frames = framesOf(1_000);
  const tunnelled = Array.from({ length: 1_000 }, (_, index) => tunnelledSegmentOf(index));
  for (const [name, send] of [
    ["NAT", sender(makePort(true), frames)],
    ["VXLAN out", sender(makeOverlayPort(), frames)],
    ["VXLAN in", sender(makeOverlayPort(), tunnelled, "in")],
  ] as const) {
    send(1_000);
    const bytes = measureAllocation(OPERATIONS, () => void send(OPERATIONS));
    process.stdout.write(`  allocated per hit, ${name}: ${bytes.toFixed(2)} bytes\n`);
  }
}
