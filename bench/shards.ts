/**
 * What do two shards of `mullion verify` take, as two processes at the same time, against the whole in one? Each is the
 * command line that a CI matrix runs, and says at its end what it took. The dump of 100 nodes is the smallest of
 * `large-clusters`. Processors that others use as well disturb the two more than the one.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DUMP_SIZES, largeDump } from "#test/support/cluster/large-dump.ts";
import { publishFigure } from "./measure.ts";

/** What a process took. */
interface Cost {
  /** Of the wall. */
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly GiB: number;
}

const TABLE = "Two shards beside the whole";
/** A part may take so much of the whole. */
const GOAL = 0.7;
const KIB_PER_GIB = 2 ** 20;

/** Loaded into the process that is measured: nothing outside of it knows its memory once it has ended. */
const TELLS_COST = `data:text/javascript,process.on("exit",()=>{
  const {maxRSS,userCPUTime,systemCPUTime}=process.resourceUsage();
  process.stderr.write("\\n"+JSON.stringify({maxRSS,us:userCPUTime+systemCPUTime})+"\\n");
});`.replaceAll("\n", "");

async function runVerify(dump: string, out: string, flags: readonly string[]): Promise<Cost> {
  const begun = performance.now();
  const report = openSync(out, "w");
  const words = ["--import", TELLS_COST, "bin/start.cjs", "mullion", "verify", "-f", dump, "--workers", "1"];
  const child = spawn(process.execPath, [...words, ...flags], { stdio: ["ignore", report, "pipe"] });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  closeSync(report);
  if (status !== 0) throw new Error(`verify ${flags.join(" ")} ends with ${status}: ${said}`);
  const { maxRSS, us } = JSON.parse(said.trim().split("\n").at(-1) ?? "") as Record<"maxRSS" | "us", number>;
  return {
    seconds: (performance.now() - begun) / 1_000,
    processorSeconds: us / 1e6,
    GiB: maxRSS / KIB_PER_GIB,
  };
}

function tell(name: string, { seconds, processorSeconds, GiB }: Cost): void {
  process.stdout.write(
    `  ${name.padEnd(10)} ${seconds.toFixed(1)} s, ${processorSeconds.toFixed(1)} s of processors, ${GiB.toFixed(2)} GiB\n`,
  );
}

function tellRatio(row: string, value: number): void {
  publishFigure(TABLE, row, value);
  process.stdout.write(
    `  ${row}: ${value.toFixed(2)} ×, goal ${GOAL} ×${value <= GOAL ? "" : ", not met"}\n`,
  );
}

export async function run(): Promise<void> {
  process.stdout.write(`\n${TABLE}\n`);
  const folder = mkdtempSync(join(tmpdir(), "mullion-bench-shards-"));
  try {
    const dump = join(folder, "dump.yaml");
    const file = openSync(dump, "w");
    for (const item of largeDump(DUMP_SIZES["100"])) writeSync(file, item);
    closeSync(file);
    const out = (name: string): string => join(folder, `${name}.json`);
    const whole = await runVerify(dump, out("whole"), ["-o", "json"]);
    tell("the whole", whole);
    const parts = await Promise.all(
      ["1/2", "2/2"].map((shard, index) => runVerify(dump, out(String(index)), ["--shard", shard])),
    );
    for (const [index, part] of parts.entries()) tell(`shard ${index + 1}`, part);
    for (const index of parts.keys())
      if (!readFileSync(out(String(index)), "utf8").includes('"VerificationShard"'))
        throw new Error("a shard says what it has found");
    const most = (of: (part: Cost) => number): number => Math.max(...parts.map(of));
    tellRatio("time until both have ended", most(({ seconds }) => seconds) / whole.seconds);
    tellRatio("processors of one", most(({ processorSeconds }) => processorSeconds) / whole.processorSeconds);
    tellRatio("memory of one", most(({ GiB }) => GiB) / whole.GiB);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
