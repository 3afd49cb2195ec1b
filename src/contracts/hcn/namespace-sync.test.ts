import { describe, expect, it } from "vitest";
import { NAMESPACE_TYPES } from "./documents/namespace.ts";
import { type PodShims, syncNamespace } from "./compute-systems.ts";

const ID = "7cb720c0-ac4c-4266-92e1-dc277b2a9b94";

/** Shims that note what they are asked, and answer `answer`. */
class NotedShims implements PodShims {
  readonly asked: string[] = [];
  private readonly answer: () => boolean;

  constructor(answer: () => boolean) {
    this.answer = answer;
  }

  async requestSync(namespace: string): Promise<boolean> {
    this.asked.push(namespace);
    return Promise.resolve(this.answer());
  }
}

describe("syncNamespace (hcn.md §4.5)", () => {
  it.each(NAMESPACE_TYPES.filter((type) => type !== "Guest"))(
    "HCN-029 a namespace of type %s has nothing to sync",
    async (Type) => {
      const shims = new NotedShims(() => true);
      expect(await syncNamespace({ ID, Type }, shims)).toBe(false);
      expect(shims.asked).toEqual([]);
    },
  );

  it("HCN-029 a Guest's without a registry entry succeeds", async () => {
    const shims = new NotedShims(() => false);
    expect(await syncNamespace({ ID, Type: "Guest" }, shims)).toBe(false);
    expect(shims.asked).toEqual([ID]);
  });

  it("a Guest's with a shim is synchronised by it, and its failure is told", async () => {
    expect(await syncNamespace({ ID, Type: "Guest" }, new NotedShims(() => true))).toBe(true);
    const failing = new NotedShims(() => {
      throw new Error("the pipe is broken");
    });
    await expect(syncNamespace({ ID, Type: "Guest" }, failing)).rejects.toThrow(
      `failed to sync namespace ${ID} with shim`,
    );
  });
});
