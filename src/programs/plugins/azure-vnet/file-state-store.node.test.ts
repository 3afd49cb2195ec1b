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

it.each(["", ...(process.platform === "linux" ? ["flock"] : [])])(
  "two calls of one process wait for each other (lock program %j)",
  async (program) => {
    const patient = new FileStateStore({ folder, name: "azure-vnet", waitMs: 5_000, flockProgram: program });
    const order: string[] = [];
    const call = (name: string): Promise<void> =>
      patient.withLock(async () => {
        order.push(`${name} begins`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} ends`);
      });
    await Promise.all([call("one"), call("two")]);
    const [first] = order[0]?.split(" ") ?? [];
    const second = first === "one" ? "two" : "one";
    expect(order).toEqual([`${first} begins`, `${first} ends`, `${second} begins`, `${second} ends`]);
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
