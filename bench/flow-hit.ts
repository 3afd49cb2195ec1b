/**
 * What does a packet of a known connection cost? Against a bare copy of the frame and a plain `Map` look-up.
 */
import { Packet } from "../src/wire/packet.ts";
import type { VfpPort } from "../src/vfp/vfp-port.ts";
import { makeOverlayPort, makePort, segmentOf, sender, tunnelledSegmentOf } from "./engine-fixture.ts";
import { type Candidate, measure, measureAllocation, printTable } from "./measure.ts";

/** Less than a millisecond's worth. */
const OPERATIONS = 5_000;
const ROUNDS = 181;
const ALLOCATING_OPERATIONS = 1_000_000;

function framesOf(flows: number): Uint8Array[] {
  return Array.from({ length: flows }, (_, index) => segmentOf(index));
}

function tunnelledFramesOf(flows: number): Uint8Array[] {
  return Array.from({ length: flows }, (_, index) => tunnelledSegmentOf(index));
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

/** The kinds of flows that are timed. Each makes its port, with all its flows, when it is asked. */
const KINDS: readonly { readonly name: string; readonly make: (flows: number) => Candidate }[] = [
  { name: "plain", make: (flows) => engine("flow hit, plain", makePort(false), framesOf(flows)) },
  { name: "NAT", make: (flows) => engine("flow hit, NAT", makePort(true), framesOf(flows)) },
  { name: "VXLAN out", make: (flows) => engine("flow hit, VXLAN out", makeOverlayPort(), framesOf(flows)) },
  {
    name: "VXLAN in",
    make: (flows) => engine("flow hit, VXLAN in", makeOverlayPort(), tunnelledFramesOf(flows), "in"),
  },
];
/** From here on each port is made alone: four of them would not fit Node's default heap. */
const FLOWS_ALONE = 1_000_000;

function title(flows: number): string {
  return `Flow hit, ${flows} flow${flows === 1 ? "" : "s"} (66-byte frame, parse included)`;
}

export function run(): void {
  for (const flows of [1, 1_000, 100_000]) {
    const floor = [copyOnly(framesOf(flows)), mapLookup(flows)];
    const rows = measure([...floor, ...KINDS.map(({ make }) => make(flows))], ROUNDS);
    printTable(title(flows), rows, "copy of the frame");
  }
  if (process.env["BENCH_LARGE"] === "1") {
    for (const { make } of KINDS) {
      const rows = measure([copyOnly(framesOf(FLOWS_ALONE)), make(FLOWS_ALONE)], ROUNDS);
      printTable(title(FLOWS_ALONE), rows, "copy of the frame");
    }
  }
  const frames = framesOf(1_000);
  const tunnelled = tunnelledFramesOf(1_000);
  for (const [name, send] of [
    ["NAT", sender(makePort(true), frames)],
    ["VXLAN out", sender(makeOverlayPort(), frames)],
    ["VXLAN in", sender(makeOverlayPort(), tunnelled, "in")],
  ] as const) {
    send(1_000);
    const bytes = measureAllocation(ALLOCATING_OPERATIONS, () => void send(ALLOCATING_OPERATIONS));
    process.stdout.write(`  allocated per hit, ${name}: ${bytes.toFixed(2)} bytes\n`);
  }
}
