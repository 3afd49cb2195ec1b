import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FileStateStore } from "./file-state-store.node.ts";
import { StateLockTimeout } from "./memory.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-azure-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const store = (flockProgram: string) =>
  new FileStateStore({ folder, name: "azure-vnet", waitMs: 30, flockProgram });

it.each(["", ...(process.platform === "linux" ? ["flock"] : [])])(
  "CNI-136 keeps a text, and one process out of it at a time (lock program %j)",
  async (program) => {
    await store(program).withLock(async (state) => {
      expect(await state.read()).toBeUndefined();
      await state.write("one");
      await state.write("two");
      await expect(store(program).withLock(() => Promise.resolve())).rejects.toThrowError(StateLockTimeout);
    });
    expect(readFileSync(join(folder, "azure-vnet.json"), "utf8")).toBe("two");
    expect(await store(program).withLock((state) => state.read())).toBe("two");
    expect(readdirSync(folder).toSorted()).toEqual(["azure-vnet.json", "azure-vnet.lock"]);
  },
);

it("lets go after a failure", async () => {
  await expect(store("").withLock(() => Promise.reject(new Error("no")))).rejects.toThrowError("no");
  await expect(store("").withLock((state) => state.read())).resolves.toBeUndefined();
});

it("a folder that cannot be made is told in the system's words", async () => {
  const blocked = join(folder, "file");
  writeFileSync(blocked, "");
  const options = { folder: join(blocked, "below"), name: "azure-vnet", waitMs: 30, flockProgram: "" };
  await expect(new FileStateStore(options).withLock((state) => state.read())).rejects.toThrowError(
    /not a directory/,
  );
});
