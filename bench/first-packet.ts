/** What does the first packet of a connection cost: the walk through all layers and the flows it makes? */
import { Packet } from "#core/wire/packet.ts";
import { makePort, segmentOf, sendOnce } from "./engine-fixture.ts";
import { type Candidate, measure, printTable } from "./measure.ts";

const CONNECTIONS = 5_000;

function firstPackets(name: string, nat: boolean): Candidate {
  const frames = Array.from({ length: CONNECTIONS }, (_, index) => segmentOf(index));
  return {
    name,
    operations: CONNECTIONS,
    run: () => sendOnce(makePort(nat), frames),
  };
}

function copies(): Candidate {
  const frames = Array.from({ length: CONNECTIONS }, (_, index) => segmentOf(index));
  return {
    name: "copy of the frame",
    operations: CONNECTIONS,
    run: () => frames.reduce((sum, frame) => sum + Packet.fromFrame(frame).length, 0),
  };
}

export function run(): void {
  const rows = measure([
    copies(),
    firstPackets("first packet, plain", false),
    firstPackets("first packet, NAT", true),
  ]);
  printTable(`First packet of each of ${CONNECTIONS} connections`, rows, "copy of the frame");
}
