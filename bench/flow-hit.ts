/**
 * What does a packet of a known connection cost? Against the frames' coming alone, and a plain `Map` look-up. Each kind is
 * measured frame by frame and in bursts of 32; connections come in random order, which no cache foresees, and once in the order
 * in which they were made.
 */
import { BURST_FRAMES_MAX } from "#dataplane/vfp/burst.ts";
import type { VfpDirection } from "#dataplane/vfp/rule.ts";
import type { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import { Arrivals, type Order } from "./arrivals.ts";
import { makeOverlayPort, makePort } from "./engine-fixture.ts";
import { type Candidate, measure, measureAllocation, printTable, publishFigure } from "./measure.ts";

/** Less than a millisecond's worth, in whole bursts. */
const OPERATIONS = 160 * BURST_FRAMES_MAX;
const ROUNDS = 181;
const ALLOCATING_OPERATIONS = 1_000_000;
const FLOOR = "a frame comes";

function arrivalOnly(flows: number): Candidate {
  const arrivals = new Arrivals(flows, "random");
  return { name: FLOOR, operations: OPERATIONS, run: () => arrivals.take(OPERATIONS) };
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

/** A kind of flow that is timed. */
interface Kind {
  readonly name: string;
  readonly direction: VfpDirection;
  readonly makePort: () => VfpPort;
}

const NAT: Kind = { name: "NAT", direction: "out", makePort: () => makePort(true) };
const KINDS: readonly Kind[] = [
  { name: "plain", direction: "out", makePort: () => makePort(false) },
  NAT,
  { name: "VXLAN out", direction: "out", makePort: makeOverlayPort },
  { name: "VXLAN in", direction: "in", makePort: makeOverlayPort },
];

/** The rows of one kind, all on one port that has all its flows already. */
function rowsOf({ name, direction, makePort: make }: Kind, flows: number): Candidate[] {
  const port = make();
  new Arrivals(flows, "made", direction).sendEach(port, flows);
  const each = (label: string, order: Order): Candidate => {
    const arrivals = new Arrivals(flows, order, direction);
    return { name: label, operations: OPERATIONS, run: () => arrivals.sendEach(port, OPERATIONS) };
  };
  const arrivals = new Arrivals(flows, "random", direction);
  const together: Candidate = {
    name: `${name}, bursts of ${BURST_FRAMES_MAX}`,
    operations: OPERATIONS,
    run: () => arrivals.sendBursts(port, OPERATIONS),
  };
  const isOrderReported = flows > 1 && name === NAT.name;
  return [
    each(name, "random"),
    ...(isOrderReported ? [each(`${name}, in the order they were made`, "made")] : []),
    together,
  ];
}

function title(flows: number): string {
  return `Flow hit, ${flows} flow${flows === 1 ? "" : "s"} (66-byte frame, arrival and parse included)`;
}

function printAllocation({ name, direction, makePort: make }: Kind): void {
  const port = make();
  const arrivals = new Arrivals(1_000, "random", direction);
  arrivals.sendEach(port, 1_000);
  const each = measureAllocation(
    ALLOCATING_OPERATIONS,
    () => void arrivals.sendEach(port, ALLOCATING_OPERATIONS),
  );
  const together = measureAllocation(
    ALLOCATING_OPERATIONS,
    () => void arrivals.sendBursts(port, ALLOCATING_OPERATIONS),
  );
  publishFigure("Allocated per hit", name, Math.max(each, together), "bytes");
  process.stdout.write(
    `  allocated per hit, ${name}: ${each.toFixed(2)} bytes, in bursts ${together.toFixed(2)}\n`,
  );
}

export function run(): void {
  for (const flows of [1, 1_000]) {
    const floor = [arrivalOnly(flows), mapLookup(flows)];
    const rows = measure([...floor, ...KINDS.flatMap((kind) => rowsOf(kind, flows))], ROUNDS);
    printTable(title(flows), rows, FLOOR);
  }
  // From here on each port is measured alone: together they would ask for four times as many flows of one cache, and of one heap.
  const isLarge = process.env["BENCH_LARGE"] === "1";
  for (const flows of isLarge ? [100_000, 1_000_000] : [100_000]) {
    for (const kind of KINDS) {
      const rows = measure([arrivalOnly(flows), ...rowsOf(kind, flows)], ROUNDS);
      printTable(`${title(flows)}, ${kind.name}`, rows, FLOOR);
    }
  }
  for (const kind of KINDS) printAllocation(kind);
}
