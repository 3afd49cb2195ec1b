/** Guest network services, reservations of ports and notifications, as every `HcnClient` keeps them. */
import { expect, it } from "vitest";
import {
  type HcnClient,
  type HcnNotification,
  NOTIFICATION_TYPES,
  type NotificationScope,
} from "#contracts/hcn/client.ts";
import { attachHnsEndpoint, HOST_ATTACH } from "#contracts/hcn/v1-operations.ts";
import { createEndpoint, createNetwork, deleteNetwork } from "#contracts/hcn/operations.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const MISSING = "0fb28d70-306c-469d-9690-3245a82d882a";
const VM = "641313e1-7ae8-4ddb-94e5-3215f3a0b218";

const NETWORK = {
  Name: "cbr0",
  Type: "L2Bridge",
  Flags: 8,
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.2.0/24",
          Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
} as const;

/** What a guest network service says of itself (hcn.md §2.11). */
const GUEST = {
  ...V2,
  VirtualMachineId: VM,
  MirrorHostNetworking: true,
  GnsRpcServerInformation: { EndpointType: "HvSocket", ObjectUuid: MISSING },
  Flags: 1,
} as const;

const state = (value: string | number): { RequestType: string; ResourceType: string; Settings: object } => ({
  RequestType: "Update",
  ResourceType: "State",
  Settings: { State: value },
});

/** Collects what a registration hears, as numbers and objects. */
function hear(client: HcnClient, scope?: NotificationScope): HcnNotification[] {
  const heard: HcnNotification[] = [];
  client.subscribe((notification) => heard.push(notification), scope);
  return heard;
}

function typesOf(heard: readonly HcnNotification[]): readonly number[] {
  return heard.map((notification) => notification.type);
}

function describeGuestNetworkServices(current: () => HcnClient): void {
  it("a guest network service is made, found, changed and deleted", async () => {
    const client = current();
    const id = await client.create("GuestNetworkService", { ...GUEST }, { id: MISSING });
    expect(id).toBe(MISSING);
    expect(await client.enumerate("GuestNetworkService")).toEqual([id]);
    expect(await client.query("GuestNetworkService", id.toUpperCase(), V2)).toMatchObject({
      ID: id,
      State: 1,
      VirtualMachineId: VM,
      MirrorHostNetworking: true,
      GnsRpcServerInformation: GUEST.GnsRpcServerInformation,
      Flags: 1,
    });
    await client.modify("GuestNetworkService", id, { ...state("synchronized") } as never);
    expect(await client.query("GuestNetworkService", id, V2)).toMatchObject({ State: 3 });
    await client.modify("GuestNetworkService", id, { ...state(4) } as never);
    expect(await client.query("GuestNetworkService", id, V2)).toMatchObject({ State: 4 });
    await client.delete("GuestNetworkService", id);
    expect(await client.enumerate("GuestNetworkService")).toEqual([]);
    await expect(client.delete("GuestNetworkService", id)).rejects.toMatchObject({ code: "ERROR_NOT_FOUND" });
  });

  it.each([
    [{ RequestType: "Update", ResourceType: "State", Settings: { State: "Awake" } }, "HCN_E_INVALID_JSON"],
    [{ RequestType: "Update", ResourceType: "State", Settings: {} }, "HCN_E_INVALID_JSON"],
    [{ RequestType: "Add", ResourceType: "State", Settings: { State: 1 } }, "HCN_E_REQUEST_UNSUPPORTED"],
    [{ RequestType: "Update", ResourceType: "Policy", Settings: {} }, "HCN_E_REQUEST_UNSUPPORTED"],
    [{ RequestType: "Update" }, "HCN_E_REQUEST_UNSUPPORTED"],
  ])("a guest network service refuses the change %j with %s and stays as it is", async (settings, code) => {
    const client = current();
    const id = await client.create("GuestNetworkService", { ...GUEST });
    const before = await client.query("GuestNetworkService", id, V2);
    await expect(client.modify("GuestNetworkService", id, settings as never)).rejects.toMatchObject({ code });
    expect(await client.query("GuestNetworkService", id, V2)).toEqual(before);
  });

  it("HcnQueryFeatures and HcnQueryMetrics tell what the service is and keeps", async () => {
    const client = current();
    await createNetwork(client, NETWORK);
    expect(await client.queryService("Features")).toMatchObject({ SchemaVersion: { Major: 2 } });
    expect(await client.queryService("Metrics")).toMatchObject({ Networks: 1, Endpoints: 0 });
  });
}

function describePorts(current: () => HcnClient): void {
  it("WSL's range: 4095 ports are asked for, and the end lies 4095 behind the start (hcn.md §1.3)", async () => {
    const client = current();
    const id = await client.create("GuestNetworkService", { ...GUEST });
    const range = await client.reservePorts(id, { portCount: 4_095 });
    expect(range.endingPort - range.startingPort).toBe(4_095);
    const second = await client.reservePorts(id, { portCount: 4_095 });
    expect(second.startingPort).toBeGreaterThan(range.endingPort);
    expect(await client.listPortReservations()).toMatchObject([
      { StartingPort: range.startingPort, EndingPort: range.endingPort, Protocol: 3, TargetPartitionId: VM },
      { StartingPort: second.startingPort },
    ]);
    await client.releasePorts(range.reservation);
    expect(await client.reservePorts(id, { portCount: 4_095 })).toMatchObject({
      startingPort: range.startingPort,
    });
  });

  /** Protocols: 1 TCP, 2 UDP, 3 both. Access: 1 exclusive, 2 shared. */
  it.each([
    [{ protocol: 1, access: 1 }, { protocol: 1, access: 1 }, "refused"],
    [{ protocol: 1, access: 1 }, { protocol: 2, access: 1 }, "taken"],
    [{ protocol: 3, access: 1 }, { protocol: 2, access: 1 }, "refused"],
    [{ protocol: 1, access: 2 }, { protocol: 1, access: 2 }, "taken"],
    [{ protocol: 1, access: 2 }, { protocol: 1, access: 1 }, "refused"],
    [{ protocol: 1, access: 1 }, { protocol: 3, access: 2 }, "refused"],
  ])("port 80 for %j and then for %j: %s", async (first, second, outcome) => {
    const client = current();
    const id = await client.create("GuestNetworkService", { ...GUEST });
    const { reservation } = await client.reservePorts(id, { ...first, port: 80 });
    const again = client.reservePorts(id, { ...second, port: 80 });
    if (outcome === "taken") {
      expect(await again).toMatchObject({ startingPort: 80, endingPort: 80 });
    } else {
      await expect(again).rejects.toMatchObject({ code: "HCN_E_PORT_ALREADY_EXISTS" });
      await client.releasePorts(reservation);
      expect(await client.reservePorts(id, { ...second, port: 80 })).toMatchObject({ startingPort: 80 });
    }
  });

  it.each([
    [{ protocol: 0, access: 1, port: 80 }, "ERROR_INVALID_PARAMETER"],
    [{ protocol: 4, access: 1, port: 80 }, "ERROR_INVALID_PARAMETER"],
    [{ protocol: 1, access: 3, port: 80 }, "ERROR_INVALID_PARAMETER"],
    [{ protocol: 1, access: 1, port: 0 }, "ERROR_INVALID_PARAMETER"],
    [{ protocol: 1, access: 1, port: 65_536 }, "ERROR_INVALID_PARAMETER"],
    [{ portCount: 0 }, "ERROR_INVALID_PARAMETER"],
    [{ portCount: 65_535 }, "HCN_E_PORT_ALREADY_EXISTS"],
  ])("the reservation %j is refused with %s", async (request, code) => {
    const client = current();
    const id = await client.create("GuestNetworkService", { ...GUEST });
    await expect(client.reservePorts(id, request)).rejects.toMatchObject({ code });
    expect(await client.listPortReservations()).toEqual([]);
  });

  it("a reservation ends once, and with its service; an unknown service has none", async () => {
    const client = current();
    const id = await client.create("GuestNetworkService", { ...GUEST });
    const { reservation } = await client.reservePorts(id, { protocol: 1, access: 1, port: 80 });
    await client.releasePorts(reservation.toUpperCase());
    await expect(client.releasePorts(reservation)).rejects.toMatchObject({ code: "ERROR_INVALID_PARAMETER" });
    await client.reservePorts(id, { protocol: 1, access: 1, port: 443 });
    await client.delete("GuestNetworkService", id);
    expect(await client.listPortReservations()).toEqual([]);
    await expect(client.reservePorts(MISSING, { portCount: 1 })).rejects.toMatchObject({
      code: "ERROR_NOT_FOUND",
    });
  });
}

function describeNotifications(current: () => HcnClient): void {
  it("each registration hears what its scope tells it (hcn.md §1.4)", async () => {
    const client = current();
    const network = await createNetwork(client, NETWORK);
    const other = await createNetwork(client, { ...NETWORK, Name: "cbr1", Flags: 0 });
    const guest = await client.create("GuestNetworkService", { ...GUEST });
    const service = hear(client);
    const ofNetwork = hear(client, { network: network.ID.toUpperCase() });
    const ofOther = hear(client, { network: other.ID });
    const ofGuest = hear(client, { guestNetworkService: guest });
    const all = hear(client, "all");
    const endpoint = await createEndpoint(client, network.ID, { Name: "web" });
    await attachHnsEndpoint(client, endpoint.ID, HOST_ATTACH);
    await client.modify("GuestNetworkService", guest, { ...state("Bootstrapping") } as never);
    await deleteNetwork(client, network.ID);
    await client.delete("GuestNetworkService", guest);
    const { NetworkEndpointAttached, NetworkEndpointDetached, GuestNetworkServiceStateChanged } =
      NOTIFICATION_TYPES;
    const { NetworkPreDelete, NetworkDelete, GuestNetworkServiceDelete } = NOTIFICATION_TYPES;
    await expect
      .poll(() => typesOf(service))
      .toEqual([NetworkPreDelete, NetworkDelete, GuestNetworkServiceDelete]);
    await expect.poll(() => typesOf(ofNetwork)).toEqual([NetworkEndpointAttached, NetworkEndpointDetached]);
    await expect.poll(() => typesOf(ofGuest)).toEqual([GuestNetworkServiceStateChanged]);
    await expect.poll(() => all.length).toBe(6);
    expect(ofOther).toEqual([]);
    // The flags of a network's events are the network's; the data of a state is its name.
    expect(ofNetwork[0]).toMatchObject({ data: { ID: endpoint.ID, Flags: 8 }, scope: network.ID });
    expect(ofGuest[0]?.data).toEqual({ ID: guest, Flags: 1, Data: { State: "Bootstrapping" } });
  });

  it("a scope that is no GUID is refused at once", () => {
    expect(() => hear(current(), { network: "cbr0" })).toThrow(
      expect.objectContaining({ code: "HCN_E_GUID_CONVERSION_FAILURE" }),
    );
  });

  it("two registrations of one listener end one by one", async () => {
    const client = current();
    const heard: number[] = [];
    const listener = ({ type }: HcnNotification): void => void heard.push(type);
    const first = client.subscribe(listener);
    const second = client.subscribe(listener);
    first();
    await client.create("Namespace", { ...V2, Type: "Host" });
    await expect.poll(() => heard).toEqual([NOTIFICATION_TYPES.NamespaceCreate]);
    second();
    await client.create("Namespace", { ...V2, Type: "Host" });
    expect(heard).toHaveLength(1);
  });
}

/** The tests; `current` gives the client of the test that runs. */
export function describeGuestCalls(current: () => HcnClient): void {
  describeGuestNetworkServices(current);
  describePorts(current);
  describeNotifications(current);
}
