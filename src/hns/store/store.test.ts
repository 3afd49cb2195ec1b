import { describeObjectStore } from "#test/support/hns/store.suite.ts";
import { MemoryObjectStore } from "./stored-object.ts";

describeObjectStore("the store in memory", async () => {
  const store = new MemoryObjectStore();
  return Promise.resolve({
    store,
    reopen: async () => Promise.resolve(store),
    close: async () => Promise.resolve(),
  });
});
