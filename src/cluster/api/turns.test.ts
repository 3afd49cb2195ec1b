import { expect, test } from "vitest";
import { Turns } from "./held-cluster.ts";

test("work is done at once while nobody has a turn, and not at all while somebody has or waits for one", async () => {
  const turns = new Turns();
  const done: string[] = [];
  const note = (what: string) => (): void => void done.push(what);
  expect(turns.takeNow(note("first"))).toBe(true);
  expect(done).toEqual(["first"]);

  let end = (): void => undefined;
  const long = turns.take(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  const behind = turns.take(note("behind"));
  expect(turns.takeNow(note("between"))).toBe(false);
  await Promise.resolve();
  end();
  await long;
  expect(turns.takeNow(note("between"))).toBe(false);
  await behind;
  expect(done).toEqual(["first", "behind"]);
  expect(turns.takeNow(note("last"))).toBe(true);
});

test("a turn that fails is over", async () => {
  const turns = new Turns();
  await expect(turns.take(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(() =>
    turns.takeNow(() => {
      throw new Error("neither");
    }),
  ).toThrow("neither");
  expect(turns.takeNow(() => undefined)).toBe(true);
});
