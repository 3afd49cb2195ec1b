// A log that does not fit into the memory, read by the program as users start it.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";

const folder = mkdtempSync(join(tmpdir(), "mullion-long-log-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MIB = 1_048_576;
/** Far less than the file: what is read as a whole does not fit. */
const HEAP_MIB = 128;

// kubernetes/kubernetes#100962, below some hundred MiB of what kube-proxy logs all day. Longer files are the same once more, so
// one that is just too long to be read as a whole shows it, and costs seconds; 2 GB were measured by hand.
const CAUSE =
  'E0409 13:34:04.7 3560 proxier.go:998] "Source Vip endpoint creation failed" err="hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f)"\n';

it("streams what is longer than the limit of inputs, in a small heap", () => {
  const path = join(folder, "kube-proxy.log");
  const line = 'I0409 13:33:59.0 3560 proxier.go:1201] "Hns LoadBalancer resource created" name="web"\n';
  const piece = Buffer.from(line.repeat(Math.ceil(MIB / line.length)));
  const file = openSync(path, "w");
  let bytes = 0;
  while (bytes <= LIMITS.inputBytesMax) bytes += writeSync(file, piece);
  bytes += writeSync(file, CAUSE);
  closeSync(file);
  const options = {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` },
  } as const;
  const { stdout, stderr } = spawnSync(
    "node",
    ["bin/mullion.js", "doctor", folder, "-o", "json", "--threads", "1"],
    options,
  );
  expect(stderr).toBe("");
  const { findings } = JSON.parse(stdout) as DoctorReport;
  expect(findings.map(({ code }) => code)).toEqual(["hcn-e-addr-invalid-or-reserved"]);
  const lines = Math.ceil(MIB / line.length) * ((bytes - CAUSE.length) / piece.length);
  expect(findings[0]?.evidence[0]).toMatchObject({ file: path, line: lines + 1 });
}, 120_000);
