import { describe, expect, it } from "vitest";
import { describeHcnClient } from "../hcn/client.suite.ts";
import type { HcnNotification } from "../hcn/client.ts";
import { NOTIFICATION_TYPES } from "../hcn/notification.ts";
import { createNetwork, deleteNetwork } from "../hcn/operations.ts";
import { CBR0, hnsNode } from "../testing/hns-node.ts";
import { InProcessHcnClient } from "./in-process-client.ts";
import { MemoryObjectStore } from "./store.ts";

describeHcnClient("the client in process", async () => Promise.resolve(hnsNode().client));

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
    await deleteNetwork(client, network.ID!);
    expect((await store.list()).map((change) => change.kind)).toEqual(["Namespace"]);
  });

  it("fails a call whose change cannot be stored", async () => {
    const store = {
      write: async () => Promise.reject(new Error("disk full")),
      list: async () => Promise.resolve([]),
    };
    const client = new InProcessHcnClient(hnsNode().service, store);
    await expect(createNetwork(client, CBR0)).rejects.toThrow("disk full");
  });

  it("says good-bye to its listeners when it closes", async () => {
    const { client } = hnsNode();
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification));
    await client.close();
    expect(heard.map((notification) => notification.type)).toEqual([NOTIFICATION_TYPES.ServiceDisconnect]);
  });
});
