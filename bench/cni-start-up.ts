/** What does it cost to start a CNI plugin as a process? Against a Node that does nothing. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Candidate, measure, printTable } from "./measure.ts";

const RUNS_PER_ROUND = 3;

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
function hostLocal(folder: string): PluginRun {
  const ipam = { type: "host-local", dataDir: folder, ranges: [[{ subnet: "10.0.0.0/8" }]] };
  return {
    name: "host-local, ADD",
    argv: ["bin/host-local"],
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

export function run(): void {
  const folder = mkdtempSync(join(tmpdir(), "mullion-bench-"));
  try {
    const version = { env: () => ({ CNI_COMMAND: "VERSION" }), expects: "supportedVersions" };
    const rows = measure([
      started({ name: "node -e 0", argv: ["-e", "0"], expects: "" }),
      started({ name: "win-bridge, VERSION", argv: ["bin/win-bridge"], ...version }),
      started({ name: "host-local, VERSION", argv: ["bin/host-local"], ...version }),
      started(hostLocal(folder)),
    ]);
    printTable("Start of a CNI plugin as a process", rows, "node -e 0");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
