/**
 * What every `ObjectStore` keeps, wherever it keeps it. `open` gives an empty store; `reopen` the same one as another
 * process would find it afterwards, where that makes a difference.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ObjectStore, StoredChange, StoredKind, StoredObject } from "#hns/store/stored-object.ts";

export interface StoreUnderTest {
  readonly store: ObjectStore;
  reopen(): Promise<ObjectStore>;
  close(): Promise<void>;
}

export function storedObject(kind: StoredKind, id: string, name: string): StoredObject {
  return { kind, id, document: { ID: id, Name: name }, internal: { mac: 5 } };
}

export function putOf(object: StoredObject): StoredChange {
  return { kind: object.kind, id: object.id, object };
}

function removalOf({ kind, id }: StoredObject): StoredChange {
  return { kind, id, object: undefined };
}

export function describeObjectStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} keeps the contract of stores`, () => {
    let tested: StoreUnderTest;
    const write = async (...changes: readonly StoredChange[]): Promise<void> => tested.store.write(changes);
    const first = storedObject("Network", "n1", "first");
    const second = storedObject("Endpoint", "e1", "second");

    beforeEach(async () => {
      tested = await open();
    });

    afterEach(async () => tested.close());

    it("begins empty", async () => {
      expect(await tested.store.list()).toEqual([]);
    });

    it("gives back what was written, also to whoever opens it next", async () => {
      await write(putOf(first), putOf(second));
      expect(await tested.store.list()).toEqual([first, second]);
      expect(await (await tested.reopen()).list()).toEqual([first, second]);
    });

    it("keeps the place of an object that changes, and puts a new one last", async () => {
      await write(putOf(first), putOf(storedObject("Network", "n2", "other")));
      const changed = storedObject("Network", "n1", "changed");
      await write(putOf(changed), putOf(second));
      expect((await tested.store.list()).map((object) => object.document["Name"])).toEqual([
        "changed",
        "other",
        "second",
      ]);
    });

    it("tells kinds with the same id apart", async () => {
      const twin = storedObject("Endpoint", "n1", "twin");
      await write(putOf(first), putOf(twin));
      await write(removalOf(first));
      expect(await tested.store.list()).toEqual([twin]);
    });

    it("forgets what was removed, and takes the removal of nothing", async () => {
      await write(putOf(first));
      await write(removalOf(first), removalOf(second));
      expect(await (await tested.reopen()).list()).toEqual([]);
    });

    it("carries out writes that wait at the same time in their order", async () => {
      await Promise.all([
        write(putOf(first)),
        write(removalOf(first)),
        write(putOf(storedObject("Network", "n1", "again"))),
      ]);
      expect(await tested.store.list()).toEqual([storedObject("Network", "n1", "again")]);
    });

    it("keeps any text and number of JSON", async () => {
      const document = {
        ID: "n1",
        Text: 'line\n"quoted" \u{1f980} \u0000',
        Number: 64_424_509_440,
        Empty: {},
        List: [null],
      };
      await write({ kind: "Network", id: "n1", object: { ...first, document } });
      expect((await (await tested.reopen()).list())[0]?.document).toEqual(document);
    });
  });
}
