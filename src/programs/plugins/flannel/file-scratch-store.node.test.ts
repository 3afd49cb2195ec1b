import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileScratchStore } from "./file-scratch-store.node.ts";

describe("scratch files on the disk", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "mullion-scratch-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("CNI-EX-C1 makes the folder for its owner alone, and files of mode 0600", async () => {
    const store = new FileScratchStore();
    const folder = join(root, "cni", "flannel");
    expect(await store.list(folder)).toEqual([]);
    expect(await store.read(folder, "SBX")).toBeUndefined();
    await store.write(folder, "SBX", "{}");
    expect(await store.read(folder, "SBX")).toBe("{}");
    expect(await store.list(folder)).toEqual(["SBX"]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "SBX")).mode & 0o777).toBe(0o600);
    await store.remove(folder, "SBX");
    await store.remove(folder, "SBX");
    expect(await store.list(folder)).toEqual([]);
  });

  it("is replaced whole, through no link", async () => {
    const store = new FileScratchStore();
    const victim = join(root, "victim");
    writeFileSync(victim, "precious");
    symlinkSync(victim, join(root, "SBX"));
    await store.write(root, "SBX", "{}");
    expect([readFileSync(victim, "utf8"), readFileSync(join(root, "SBX"), "utf8")]).toEqual([
      "precious",
      "{}",
    ]);
    const reader = openSync(join(root, "SBX"), "r");
    await store.write(root, "SBX", "[]");
    expect([readFileSync(reader, "utf8"), await store.read(root, "SBX")]).toEqual(["{}", "[]"]);
    closeSync(reader);
    expect(await store.list(root)).toEqual(["SBX", "victim"]);
  });

  it("says in the system's words what cannot be done", async () => {
    const store = new FileScratchStore();
    const file = join(root, "file");
    writeFileSync(file, "");
    await expect(store.write(file, "SBX", "{}")).rejects.toThrow(/^mkdir .*file/);
    await expect(store.read(file, "SBX")).rejects.toThrow("not a directory");
  });
});
