/**
 * What does a packet of a known connection cost under OVN's logical flows: to a pod of the same switch, into a GENEVE tunnel, and out of
 * one? Against the hit of the engine of VFP that does the same: plain, into VXLAN, out of it. All in one run, in turns.
 */
import { Arrivals } from "./arrivals.ts";
import { makeOverlayPort, makePort } from "./engine-fixture.ts";
import { type Candidate, measure, measureAllocation, printTable, publishFigure } from "./measure.ts";
import { OvnArrivals, type Way } from "./ovn-arrivals.ts";

const OPERATIONS = 5_120;
const ROUNDS = 181;
const ALLOCATING_OPERATIONS = 500_000;

interface Pair {
  readonly way: Way;
  readonly engine: string;
  readonly engineOf: (flows: number) => Candidate["run"];
}

function engineRun(port: ReturnType<typeof makePort>, flows: number, direction: "in" | "out") {
  new Arrivals(flows, "made", direction).sendEach(port, flows);
  const arrivals = new Arrivals(flows, "random", direction);
  return () => arrivals.sendEach(port, OPERATIONS);
}

const PAIRS: readonly Pair[] = [
  { way: "local", engine: "engine, plain", engineOf: (flows) => engineRun(makePort(false), flows, "out") },
  {
    way: "tunnel out",
    engine: "engine, VXLAN out",
    engineOf: (flows) => engineRun(makeOverlayPort(), flows, "out"),
  },
  {
    way: "tunnel in",
    engine: "engine, VXLAN in",
    engineOf: (flows) => engineRun(makeOverlayPort(), flows, "in"),
  },
];

function count(flows: number): string {
  return `${flows} flow${flows === 1 ? "" : "s"}`;
}

export function run(): void {
  // Each pair by itself: together they would ask for the flows of all in one cache of the processor.
  for (const flows of [1, 1_000]) {
    for (const { way, engine, engineOf } of PAIRS) {
      const arrivals = new OvnArrivals(way, flows);
      const rows = measure(
        [
          { name: engine, operations: OPERATIONS, run: engineOf(flows) },
          { name: "OVN", operations: OPERATIONS, run: () => arrivals.send(OPERATIONS) },
        ],
        ROUNDS,
      );
      printTable(`Hit, ${way}, ${count(flows)} (66-byte frame, arrival and parse included)`, rows, engine);
    }
  }
  for (const { way } of PAIRS) {
    const arrivals = new OvnArrivals(way, 1_000);
    const bytes = measureAllocation(ALLOCATING_OPERATIONS, () => void arrivals.send(ALLOCATING_OPERATIONS));
    publishFigure("Allocated per hit", way, bytes, "bytes");
    process.stdout.write(`  allocated per hit, ${way}: ${bytes.toFixed(2)} bytes\n`);
  }
}
