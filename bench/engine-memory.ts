/** What does a port cost before its first packet, and a known connection? Bytes on the heap, and what they replace. */
import type { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import { makeOverlayPort, makePort, segmentOf, sendOnce } from "./engine-fixture.ts";
import { publishFigure } from "./measure.ts";

const PORTS = 10_000;
const FLOWS = 100_000;

function usedBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

/** Bytes that stay for each of `count` things that `make` makes. */
function bytesEach<Kept>(count: number, make: () => Kept): { readonly bytes: number; readonly kept: Kept } {
  const before = usedBytes();
  const kept = make();
  return { bytes: (usedBytes() - before) / count, kept };
}

function report(name: string, bytes: number): void {
  publishFigure("Memory", name, bytes, "bytes");
  process.stdout.write(`  ${name.padEnd(34)} ${bytes.toFixed(0).padStart(6)} bytes\n`);
}

export function run(): void {
  process.stdout.write(`\nMemory of ports and flows\n`);
  const ports = bytesEach(PORTS, () => Array.from({ length: PORTS }, () => makePort(true)));
  report("port with rules, no packet yet", ports.bytes);
  ports.kept.length = 0;
  for (const [name, port] of [
    ["flow, plain", makePort(false)],
    ["flow, NAT", makePort(true)],
    ["flow, VXLAN out", makeOverlayPort()],
  ] as const satisfies readonly (readonly [string, VfpPort])[]) {
    const frames = Array.from({ length: 1_000 }, (_, index) => segmentOf(index));
    const flows = bytesEach(FLOWS, () => {
      for (let from = 0; from < FLOWS; from += frames.length) {
        sendOnce(
          port,
          frames.map((_, index) => segmentOf(from + index)),
        );
      }
      return port;
    });
    report(name, flows.bytes);
  }
}
