/**
 * What does a service cost: a packet of a known connection, the first one among ten thousand services, and the
 * programming of one more service?
 */
import type { Group } from "#dataplane/vfp/group.ts";
import type { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import { makePort, segmentOf, sendOnce, sender } from "./engine-fixture.ts";
import { BACK_ENDS, BenchNode, backEndsOf, dsrGroup } from "./load-balancer-fixture.ts";
import { type Candidate, measure, measureAllocation, printTable, publishFigure } from "./measure.ts";

const OPERATIONS = 100_000;
const FLOWS = 1_000;
const FRAMES = Array.from({ length: FLOWS }, (_, index) => segmentOf(index));
const FIRST_PACKETS = 2_000;
const SERVICES = 10_000;

function portWith(group: Group | undefined): VfpPort {
  const port = makePort(false);
  if (group !== undefined) port.setGroups("LB_DSR", [group]);
  return port;
}

function hits(name: string, group: Group | undefined): Candidate {
  const send = sender(portWith(group), FRAMES);
  send(FLOWS);
  return { name, operations: OPERATIONS, run: () => send(OPERATIONS) };
}

function firstPackets(name: string, group: Group | undefined): Candidate {
  const frames = Array.from({ length: FIRST_PACKETS }, (_, index) => segmentOf(index));
  return {
    name,
    operations: FIRST_PACKETS,
    isCollectedBefore: true,
    run: () => sendOnce(portWith(group), frames),
  };
}

const PODS = 10;

/** Programs `count` services on a fresh node once: each round would begin with another state. */
function programming(count: number, isDsr: boolean): number {
  const node = new BenchNode(PODS);
  const started = process.hrtime.bigint();
  node.addServices(count, isDsr);
  return Number(process.hrtime.bigint() - started) / count;
}

function printProgramming(isDsr: boolean): void {
  programming(500, isDsr);
  const counts = [SERVICES / 10, SERVICES];
  const rows = counts.map((count) => {
    const ns = programming(count, isDsr);
    return { name: `${count} services`, ns, minNs: ns };
  });
  const title = `Programming one service of ${BACK_ENDS} back ends on ${PODS} pods, ${isDsr ? "DSR" : "non-DSR"}`;
  printTable(title, rows, `${SERVICES / 10} services`);
}

export function run(): void {
  const ten = backEndsOf(BACK_ENDS);
  const one = dsrGroup(1, ten);
  const wide = dsrGroup(1, backEndsOf(1_024));
  const many = dsrGroup(SERVICES, ten);
  const hit = measure([
    hits("flow hit, plain", undefined),
    hits("flow hit, lbnat, 10 back ends", one),
    hits("flow hit, lbnat, 1024 back ends", wide),
    hits("flow hit, lbnat, 10 000 services", many),
  ]);
  printTable(`Flow hit, ${FLOWS} flows (66-byte frame, parse included)`, hit, "flow hit, plain");
  const send = sender(portWith(many), FRAMES);
  send(FLOWS);
  const bytes = measureAllocation(OPERATIONS, () => void send(OPERATIONS));
  publishFigure("Allocated per hit", "lbnat", bytes, "bytes");
  process.stdout.write(`  allocated per lbnat hit: ${bytes.toFixed(2)} bytes\n`);
  const first = measure([
    firstPackets("first packet, plain", undefined),
    firstPackets("first packet, 1 service", one),
    firstPackets("first packet, 1024 back ends", wide),
    firstPackets("first packet, 10 000 services", many),
  ]);
  printTable(`First packet of each of ${FIRST_PACKETS} connections`, first, "first packet, plain");
  printProgramming(true);
  printProgramming(false);
}
