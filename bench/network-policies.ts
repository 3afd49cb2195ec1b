/**
 * What does it cost a node that one more node joins its overlay network, or leaves it? One RemoteSubnetRoute comes or goes among
 * 50 to 5 000, on a node with a source VIP and pods. Processor time: a ratio near 1 says that a change costs that change.
 */
import { Prng } from "#core/base/prng.ts";
import { publishFigure } from "./measure.ts";
import { BenchOverlay } from "./overlay-fixture.ts";

const PEERS = [50, 100, 500, 1_000, 5_000];
const PODS = [1, 10, 100];
/** So many come, then so many others go, again and again: there are about as many as before. */
const BATCH = 20;
const BATCHES = 40;

interface Cost {
  readonly addUs: number;
  readonly removeUs: number;
}

/** Processor time of this process in microseconds. */
function processorUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Nodes that leave stand anywhere among the others. */
function measure(peers: number, pods: number): Cost {
  const node = new BenchOverlay(pods);
  const others = Array.from({ length: peers }, (_, index) => index);
  for (const peer of others) node.change("Add", peer);
  const cost = { addUs: 0, removeUs: 0 };
  const prng = new Prng(1);
  globalThis.gc?.();
  for (let batch = 0; batch < BATCHES; batch++) {
    const coming = Array.from({ length: BATCH }, (_, index) => peers + batch * BATCH + index);
    const leaving = coming.map(() => others.splice(prng.below(others.length), 1)[0] ?? 0);
    const started = processorUs();
    for (const peer of coming) node.change("Add", peer);
    const between = processorUs();
    for (const peer of leaving) node.change("Remove", peer);
    cost.addUs += (between - started) / (BATCH * BATCHES);
    cost.removeUs += (processorUs() - between) / (BATCH * BATCHES);
    others.push(...coming);
  }
  node.expectRoutes(peers);
  return cost;
}

function printRows(title: string, rows: readonly (readonly [string, Cost])[]): void {
  process.stdout.write(`\n${title}\n`);
  const [, first] = rows[0] ?? ["", { addUs: Number.NaN, removeUs: Number.NaN }];
  for (const [name, { addUs, removeUs }] of rows) {
    publishFigure(title, `${name}, comes`, addUs / first.addUs);
    publishFigure(title, `${name}, goes`, removeUs / first.removeUs);
    process.stdout.write(
      `  ${name.padEnd(12)}  comes ${addUs.toFixed(0).padStart(6)} µs ${(addUs / first.addUs).toFixed(2).padStart(6)} ×` +
        `  goes ${removeUs.toFixed(0).padStart(6)} µs ${(removeUs / first.removeUs).toFixed(2).padStart(6)} ×\n`,
    );
  }
}

export function run(): void {
  // Compiles what is measured.
  measure(PEERS[1] ?? 0, PODS[1] ?? 0);
  printRows(
    "One route to another node's subnet, on a node with 10 pods",
    PEERS.map((peers) => [`${peers} nodes`, measure(peers, 10)]),
  );
  printRows(
    "One route among 500, by pods",
    PODS.map((pods) => [`${pods} pods`, measure(500, pods)]),
  );
}
