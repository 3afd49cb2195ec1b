import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isShimBuilt } from "./build-shim.ts";
import { PROGRAM_NAMES } from "./bundle-programs.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "mullion-shim-"));
});
afterAll(() => rmSync(root, { recursive: true }));

function write(path: string, seconds: number): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  utimesSync(file, seconds, seconds);
}

it("what the compilers make is taken as it is only when it is whole and newer than its sources", () => {
  write("shim/core/call.c", 100);
  write("launcher/launcher.c", 100);
  for (const name of ["bcryptprimitives", "computenetwork", "vmcompute"]) write(`dist/shim/${name}.dll`, 200);
  expect(isShimBuilt(root)).toBe(false);
  for (const name of PROGRAM_NAMES) write(`dist/programs/${name}.exe`, 200);
  expect(isShimBuilt(root)).toBe(false);
  write("dist/programs/launchers.json", 200);
  expect(isShimBuilt(root)).toBe(true);
  write("shim/README.md", 300);
  expect(isShimBuilt(root)).toBe(true);
  write("launcher/launcher.c", 300);
  expect(isShimBuilt(root)).toBe(false);
});
