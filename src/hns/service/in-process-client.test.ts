import { describe, expect, it } from "vitest";
import { describeHcnClient } from "#test/support/hns/client.suite.ts";
import { type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { createEndpoint, createNetwork, deleteNetwork } from "#contracts/hcn/operations.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { InProcessHcnClient } from "./in-process-client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsService } from "./hns-service.ts";
import { type StoredChange, type StoredObject, MemoryObjectStore } from "../store/stored-object.ts";
import { loadService } from "../durable-hns.node.ts";

describeHcnClient("the client in process", async () => Promise.resolve(hnsNode().client));

/** A store that can be full, or not even be read. */
class FailingStore extends MemoryObjectStore {
  isFull = false;
  isBroken = false;

  override async write(changes: readonly StoredChange[]): Promise<void> {
    // As a disk does, it takes its time.
    await Promise.resolve();
    if (this.isFull) throw new HcnError("ERROR_DISK_FULL");
    return super.write(changes);
  }

  override async list(): Promise<readonly StoredObject[]> {
    if (this.isBroken) throw new Error("broken");
    return super.list();
  }
}

async function withStore(): Promise<{
  readonly client: InProcessHcnClient;
  readonly store: FailingStore;
  readonly service: HnsService;
}> {
  const { service } = hnsNode();
  const store = new FailingStore();
  await loadService(service, store, 1);
  return { client: new InProcessHcnClient(service, store), store, service };
}

describe("the client in process", () => {
  it("stores what a call changed before it answers", async () => {
    const store = new MemoryObjectStore();
    const client = new InProcessHcnClient(hnsNode().service, store);
    const network = await createNetwork(client, CBR0);
    expect(await store.list()).toContainEqual(
      expect.objectContaining({
        kind: "Network",
        id: network.ID,
        document: expect.objectContaining({ Name: "cbr0" }) as unknown,
      }),
    );
    await deleteNetwork(client, network.ID);
    expect((await store.list()).map((change) => change.kind)).toEqual(["Namespace"]);
  });

  it("fails a call whose change cannot be stored, and has the objects as before", async () => {
    const { client, store, service } = await withStore();
    const network = await createNetwork(client, CBR0);
    const endpoint = await createEndpoint(client, network.ID, { Name: "first" });
    const before = service.export();
    store.isFull = true;
    const calls = [
      createEndpoint(client, network.ID, { Name: "second" }),
      client.delete("Endpoint", endpoint.ID),
      deleteNetwork(client, network.ID),
    ];
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({
        status: "rejected",
        reason: { code: "ERROR_DISK_FULL", hresult: 0x8007_0070 },
      });
    }
    expect(service.export()).toEqual(before);
    store.isFull = false;
    await deleteNetwork(client, network.ID);
    expect(await client.enumerate("Endpoint")).toEqual([]);
  });

  it("tells nobody of what could not be stored", async () => {
    const { client, store } = await withStore();
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification));
    store.isFull = true;
    await expect(createNetwork(client, CBR0)).rejects.toThrow(HcnError);
    expect(heard).toEqual([]);
  });

  it("answers again as soon as its store can be read", async () => {
    const { client, store } = await withStore();
    store.isFull = true;
    store.isBroken = true;
    await expect(createNetwork(client, CBR0)).rejects.toThrow("broken");
    await expect(client.enumerate("Network")).rejects.toThrow("broken");
    store.isBroken = false;
    expect(await client.enumerate("Network")).toEqual([]);
  });

  it("says good-bye to its listeners when it closes", async () => {
    const { client } = hnsNode();
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification));
    await client.close();
    expect(heard.map((notification) => notification.type)).toEqual([NOTIFICATION_TYPES.ServiceDisconnect]);
  });
});
