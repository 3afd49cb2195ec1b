import { describe, expect, it } from "vitest";
import { type HcnClient, type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { listNetworks } from "#contracts/hcn/operations.ts";
import { createHns } from "../../local-hns.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
/** EnableNonPersistent and EnableFlowSteering: the query by which WSL asks for mirrored networks (hcn.md §5.1). */
const MIRRORED_QUERY = { ...V2, Filter: '{"Flags":72}' };
const SYNCHRONIZED = { RequestType: "Update", ResourceType: "State", Settings: { State: "Synchronized" } };

async function mirroredNode(): Promise<{ client: HcnClient; networkId: string; again: () => HcnClient }> {
  const hns = createHns({ profile: "ws2025" });
  await hns.client.enumerate("Network", MIRRORED_QUERY);
  await hns.advance(60_000);
  const mirrored = (await listNetworks(hns.client)).filter((network) => network.Type === "Mirrored");
  expect(mirrored.length).toBeGreaterThan(0);
  const again = (): HcnClient => {
    const other = createHns({ profile: "ws2025", seed: "other" });
    void other.advance(60_000);
    other.service.restore(hns.service.export());
    return other.client;
  };
  return { client: hns.client, networkId: mirrored[0]!.ID, again };
}

async function interfacesOf(client: HcnClient, id: string): Promise<unknown> {
  const document: JsonObject = await client.query("GuestNetworkService", id, V2);
  return document["MirroredInterfaces"];
}

describe("a guest network service that mirrors the host", () => {
  it("has the endpoints of mirrored networks as interfaces, and tells of them (hcn.md §2.11, §9.25)", async () => {
    const { client, networkId, again } = await mirroredNode();
    const id = await client.create("GuestNetworkService", { ...V2, MirrorHostNetworking: true, Flags: 1 });
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification), { guestNetworkService: id });
    const endpoint = await client.create("Endpoint", { ...V2, Name: "mirror" }, { network: networkId });
    const shown = (State: string): object => ({
      EndpointId: endpoint,
      InterfaceGuid: endpoint,
      State,
      MissedNotifications: "None",
    });
    expect(await interfacesOf(client, id)).toEqual([shown("Created")]);
    await client.modify("GuestNetworkService", id, SYNCHRONIZED);
    expect(await interfacesOf(client, id)).toEqual([shown("Synchronized")]);
    const { GuestNetworkServiceStateChanged, GuestNetworkServiceInterfaceStateChanged } = NOTIFICATION_TYPES;
    expect(heard.map(({ type, data }) => [type, data.Data])).toEqual([
      [
        GuestNetworkServiceInterfaceStateChanged,
        { State: "Created", Interfaces: [{ EndpointId: endpoint, State: "Created" }] },
      ],
      [GuestNetworkServiceStateChanged, { State: "Synchronized" }],
      [
        GuestNetworkServiceInterfaceStateChanged,
        { State: "Synchronized", Interfaces: [{ EndpointId: endpoint, State: "Synchronized" }] },
      ],
    ]);
    // What is stored is the same service, interfaces included.
    expect(await interfacesOf(again(), id)).toEqual([shown("Synchronized")]);
    await client.delete("Endpoint", endpoint);
    expect(await interfacesOf(client, id)).toBeUndefined();
  });

  it("one that does not mirror has no interfaces", async () => {
    const { client, networkId } = await mirroredNode();
    const id = await client.create("GuestNetworkService", { ...V2 });
    await client.create("Endpoint", { ...V2 }, { network: networkId });
    expect(await interfacesOf(client, id)).toBeUndefined();
  });
});
