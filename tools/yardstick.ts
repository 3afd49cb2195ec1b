/**
 * How fast a processor is at this moment, in the unit that limits of processor time are set in. The same virtual machine was
 * seen to take 190 s and 345 s for the same tests, alone: its processors are shared with others that nothing here can see.
 * So a limit of seconds holds for a machine as fast as the one on which it was set, and is stretched on a slower one.
 */
const PIECES = 10;
/** What a sample took in milliseconds where the limits were set. */
const REFERENCE_MILLISECONDS = 5;
/** A machine that is slower still is not waited for. */
const SLOWNESS_MAX = 2.5;

/** Work as tests do it: objects, texts, numbers from texts, a map, a sort. */
function work(): number {
  const rows = Array.from({ length: 300 }, (_, i) => ({
    name: `pod-${i}`,
    ip: `10.${i & 255}.${(i * 7) & 255}.${(i * 13) & 255}`,
    labels: { app: `a${i % 7}`, tier: "web" },
  }));
  const names = new Map<number, string>();
  for (const { ip, name } of JSON.parse(JSON.stringify(rows)) as typeof rows) {
    const address = ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
    names.set(address, `${names.get(address) ?? ""}${name}`);
  }
  return [...names].toSorted(([a], [b]) => a - b).length;
}

/** Milliseconds of processor time that this thread takes for one sample. Waiting for a processor does not count. */
export function sampleSpeed(): number {
  const begin = process.threadCpuUsage();
  for (let i = 0; i < PIECES; i++) work();
  const { user, system } = process.threadCpuUsage(begin);
  return (user + system) / 1_000;
}

/** How many times as long as on the reference this machine takes: the median of the samples, between 1 and 2.5. */
export function slownessOf(samples: readonly number[]): number {
  const median = samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)];
  return Math.min(Math.max((median ?? 0) / REFERENCE_MILLISECONDS, 1), SLOWNESS_MAX);
}
