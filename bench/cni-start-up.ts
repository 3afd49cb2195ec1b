/**
 * What does it cost to start a CNI plugin as a process? Against a Node that does nothing. The bundles are what a package
 * starts (tools/bundle-programs.ts), the sources what a clone does.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bundlePrograms } from "../tools/bundle-programs.ts";
import { type Candidate, measure, printTable } from "./measure.ts";

const RUNS_PER_ROUND = 3;
const FROM_SOURCE = ["bin/start.cjs", "--source", "win-bridge"];

interface PluginRun {
  readonly name: string;
  readonly argv: readonly string[];
  /** The environment of run number `count`. */
  readonly env?: (count: number) => Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** What the output must hold, so that a failing plugin is not measured as a fast one. */
  readonly expects: string;
}

function started({ name, argv, env, stdin = "", expects }: PluginRun): Candidate {
  let count = 0;
  return {
    name,
    operations: RUNS_PER_ROUND,
    run: () => {
      let bytes = 0;
      for (let i = 0; i < RUNS_PER_ROUND; i++) {
        const result = spawnSync(process.execPath, argv, {
          input: stdin,
          env: { PATH: process.env["PATH"] ?? "", ...env?.(count++) },
          encoding: "utf8",
        });
        if (!result.stdout.includes(expects)) {
          throw new Error(`${name} did not do its work: ${result.stdout}${result.stderr}`);
        }
        bytes += result.stdout.length;
      }
      return bytes;
    },
  };
}

/** Every run is a container of its own. */
function hostLocal(program: string, folder: string): PluginRun {
  const ipam = { type: "host-local", dataDir: folder, ranges: [[{ subnet: "10.0.0.0/8" }]] };
  return {
    name: "host-local, ADD",
    argv: [program],
    env: (count) => ({
      CNI_COMMAND: "ADD",
      CNI_CONTAINERID: `bench-${count}`,
      CNI_NETNS: "none",
      CNI_IFNAME: "eth0",
      CNI_PATH: "bin",
    }),
    stdin: JSON.stringify({ cniVersion: "1.0.0", name: "bench", ipam }),
    expects: '"address": "10.0.0.',
  };
}

export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-bench-"));
  try {
    // In the clone, because mullion looks for its package.
    const programs = resolve("out", "bench", "programs");
    await bundlePrograms(process.cwd(), programs);
    const bundle = (name: string): string => join(programs, `${name}.cjs`);
    const version = { env: () => ({ CNI_COMMAND: "VERSION" }), expects: "supportedVersions" };
    const rows = measure([
      started({ name: "node -e 0", argv: ["-e", "0"], expects: "" }),
      started({ name: "win-bridge, VERSION", argv: [bundle("win-bridge")], ...version }),
      started({ name: "win-bridge, VERSION, from the source", argv: FROM_SOURCE, ...version }),
      started({ name: "host-local, VERSION", argv: [bundle("host-local")], ...version }),
      started(hostLocal(bundle("host-local"), folder)),
      started({ name: "mullion --version", argv: [bundle("mullion"), "--version"], expects: "0." }),
    ]);
    printTable("Start of a program as a process", rows, "node -e 0");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
