import { describe, expect, it } from "vitest";
import { NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { ENDPOINT_STATES } from "#contracts/hcn/documents/endpoint.ts";
import type { HcnError } from "#contracts/hcn/error.ts";
import {
  addNamespaceContainer,
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteNamespace,
  getEndpointById,
  getNamespaceById,
  getNamespaceContainerIds,
  getNamespaceEndpointIds,
  listNamespaces,
  removeNamespaceContainer,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

async function nodeWithEndpoint(): Promise<HnsNode & { networkId: string; endpointId: string }> {
  const node = hnsNode();
  const network = await createNetwork(node.client, CBR0);
  const endpoint = await createEndpoint(node.client, network.ID, { Name: "web" });
  return { ...node, networkId: network.ID, endpointId: endpoint.ID };
}

describe("namespaces", () => {
  it("HCN-025 HCN-026 types can be made and deleted again and again; a fresh one is empty", async () => {
    const { client } = hnsNode();
    for (const type of [undefined, "Host", "HostDefault", "Guest", "GuestDefault", "Host"] as const) {
      const namespace = await createNamespace(client, type);
      expect(namespace.Type).toBe(type ?? "Host");
      expect(await getNamespaceContainerIds(client, namespace.ID)).toEqual([]);
      expect(await getNamespaceEndpointIds(client, namespace.ID)).toEqual([]);
      await deleteNamespace(client, namespace.ID);
    }
  });

  it("comings and goings are told", async () => {
    const { client } = hnsNode();
    const heard: unknown[] = [];
    client.subscribe(({ type, data }) => heard.push([type, data.ID]));
    const { ID } = await createNamespace(client);
    await deleteNamespace(client, ID);
    expect(heard).toEqual([
      [NOTIFICATION_TYPES.NamespaceCreate, ID],
      [NOTIFICATION_TYPES.NamespaceDelete, ID],
    ]);
  });

  it("HCN-052 containerd's document, only a schema version of 0.0, makes one", async () => {
    const { client } = hnsNode();
    const id = await client.create("Namespace", { SchemaVersion: { Major: 0, Minor: 0 } });
    expect(await getNamespaceById(client, id)).toMatchObject({ ID: id, Type: "Host", NamespaceId: 2 });
  });

  it("compartments have small growing numbers, whatever the request says; HostDefault is compartment 1", async () => {
    const { client } = hnsNode();
    const numbers: unknown[] = [];
    for (let index = 0; index < 3; index++) {
      const id = await client.create("Namespace", {
        Type: "Host",
        NamespaceId: 5,
        SchemaVersion: { Major: 2, Minor: 0 },
      });
      numbers.push((await getNamespaceById(client, id)).NamespaceId);
    }
    expect(numbers).toEqual([2, 3, 4]);
    expect((await createNamespace(client, "HostDefault")).NamespaceId).toBe(1);
  });

  it("the default namespace of the host is there from the start and stays", async () => {
    const { client } = hnsNode();
    const [first, ...others] = await listNamespaces(client);
    expect(others).toEqual([]);
    expect(first).toMatchObject({ Type: "HostDefault", NamespaceId: 1 });
    await expect(deleteNamespace(client, first!.ID)).rejects.toMatchObject({
      code: "HCN_E_REQUEST_UNSUPPORTED",
    });
  });

  it("an endpoint in a second namespace is refused (hcn.md §9.16)", async () => {
    const { client, endpointId } = await nodeWithEndpoint();
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, endpointId);
    const error = await addNamespaceEndpoint(client, namespace.ID, endpointId).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS", hresult: 0x803b002b });
  });

  it("HCN-088 the state is 1 in a namespace, 3 with a container, 1 again without", async () => {
    const { client, endpointId } = await nodeWithEndpoint();
    const namespace = await createNamespace(client);
    const state = async (): Promise<unknown> => (await getEndpointById(client, endpointId)).State;
    expect(await state()).toBe(ENDPOINT_STATES.Created);
    await addNamespaceEndpoint(client, namespace.ID, endpointId);
    expect(await state()).toBe(ENDPOINT_STATES.Created);
    await addNamespaceContainer(client, namespace.ID, "c1");
    expect(await state()).toBe(ENDPOINT_STATES.AttachedSharing);
    expect(await getNamespaceContainerIds(client, namespace.ID)).toEqual(["c1"]);
    await removeNamespaceContainer(client, namespace.ID, "c1");
    expect(await state()).toBe(ENDPOINT_STATES.Created);
  });

  it("an endpoint that comes after the container is shared at once", async () => {
    const { client, endpointId } = await nodeWithEndpoint();
    const namespace = await createNamespace(client);
    await addNamespaceContainer(client, namespace.ID, "c1");
    await addNamespaceEndpoint(client, namespace.ID, endpointId);
    expect(await getEndpointById(client, endpointId)).toMatchObject({
      State: 3,
      Health: { Extra: { SharedContainers: ["c1"] } },
    });
  });

  it("HCN-065 a namespace with containers is not deleted; with endpoints only it is, and they stay", async () => {
    const { client, endpointId, datapath } = await nodeWithEndpoint();
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, endpointId);
    await addNamespaceContainer(client, namespace.ID, "c1");
    await expect(deleteNamespace(client, namespace.ID)).rejects.toMatchObject({
      code: "HCN_E_REQUEST_UNSUPPORTED",
      hresult: 0x803b0015,
    });
    expect(await getNamespaceById(client, namespace.ID)).toMatchObject({ State: 4 });
    await removeNamespaceContainer(client, namespace.ID, "c1");
    await deleteNamespace(client, namespace.ID);
    expect(await getEndpointById(client, endpointId)).not.toHaveProperty("HostComputeNamespace");
    expect(datapath.listVnics()).toEqual([]);
    expect(datapath.listCompartments()).toEqual([]);
  });

  it("HCN-103 what is gone already is ERROR_NOT_FOUND, which containerd takes for success", async () => {
    const { client, endpointId } = await nodeWithEndpoint();
    const namespace = await createNamespace(client);
    await expect(removeNamespaceEndpoint(client, namespace.ID, endpointId)).rejects.toMatchObject({
      code: "ERROR_NOT_FOUND",
    });
    await deleteNamespace(client, namespace.ID);
    await expect(deleteNamespace(client, namespace.ID)).rejects.toMatchObject({ code: "ERROR_NOT_FOUND" });
    await expect(addNamespaceEndpoint(client, namespace.ID, endpointId)).rejects.toMatchObject({
      code: "ERROR_NOT_FOUND",
    });
  });

  it("a namespace id that is no GUID is refused before any call (CNI)", async () => {
    const { client, endpointId } = await nodeWithEndpoint();
    await expect(addNamespaceEndpoint(client, "cni-1234", endpointId)).rejects.toMatchObject({
      code: "HCN_E_GUID_CONVERSION_FAILURE",
      explanation: "cni-namespace-not-guid",
    });
  });

  it("an endpoint in a Guest namespace has no vNIC here, and its health data say so", async () => {
    const { client, endpointId, datapath } = await nodeWithEndpoint();
    const namespace = await createNamespace(client, "Guest");
    await addNamespaceEndpoint(client, namespace.ID, endpointId);
    expect(datapath.listVnics()).toEqual([]);
    expect(JSON.stringify((await getEndpointById(client, endpointId)).Health)).toContain("utility VM");
  });

  it("an endpoint in HostDefault is attached to the host", async () => {
    const { client, endpointId, datapath } = await nodeWithEndpoint();
    const namespace = await createNamespace(client, "HostDefault");
    await addNamespaceEndpoint(client, namespace.ID, endpointId);
    expect(datapath.listVnics()).toMatchObject([{ compartmentId: 1, interfaceName: "vEthernet (web)" }]);
  });

  it("the vNIC has the endpoint's addresses, routes, MAC and name resolution", async () => {
    const { client, endpointId, datapath } = await nodeWithEndpoint();
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, endpointId);
    expect(datapath.listVnics()).toMatchObject([
      {
        compartmentId: 2,
        interfaceName: "vEthernet (web)",
        routes: [{ metric: 256 }],
        dns: { domain: "cluster.local", search: [], servers: [0x0a60000a] },
      },
    ]);
  });

  it("a second GuestDefault is refused, a second HostDefault is not (hcn.md §4.5)", async () => {
    const { client } = hnsNode();
    const first = await createNamespace(client, "GuestDefault");
    await expect(createNamespace(client, "GuestDefault")).rejects.toMatchObject({
      code: "GCN_E_DEFAULTNAMESPACE_EXISTS",
      hresult: 0x803b0029,
    });
    await deleteNamespace(client, first.ID);
    await createNamespace(client, "GuestDefault");
    await createNamespace(client, "HostDefault");
    await createNamespace(client, "HostDefault");
  });

  it("numbers of compartments are not used again", async () => {
    const { client } = hnsNode();
    const first = await createNamespace(client, "Host");
    await deleteNamespace(client, first.ID);
    expect((await createNamespace(client, "Host")).NamespaceId).toBe(first.NamespaceId! + 1);
  });

  it("the v2 view has the compartment among its resources (hcn.md §9.16)", async () => {
    const { client } = hnsNode();
    const namespace = await createNamespace(client, "Host");
    const guid = namespace.NamespaceGuid!.toUpperCase();
    expect(namespace.Health?.Extra).toMatchObject({
      Resources: {
        AdditionalParams: {},
        AllocationOrder: 1,
        Allocators: [
          {
            AdditionalParams: {},
            AllocationOrder: 0,
            CompartmentGuid: guid,
            CompartmentId: 2,
            CompartmentType: 0,
            Flags: 0,
            IsPolicy: false,
            State: 3,
            Tag: "Network Compartment",
          },
        ],
        CompartmentOperationTime: 0,
        Flags: 0,
        PortOperationTime: 0,
        State: 1,
        SwitchOperationTime: 0,
        VfpOperationTime: 0,
      },
    });
  });

  it("the v1 view is complete, and says 0.0 where containerd wrote it (hcn.md §2.4)", async () => {
    const { client, endpointId } = await nodeWithEndpoint();
    const id = await client.create("Namespace", { SchemaVersion: { Major: 0, Minor: 0 } });
    await addNamespaceEndpoint(client, id, endpointId);
    await addNamespaceContainer(client, id, "c1");
    const document = await client.query("Namespace", id);
    expect(Object.keys(document)).toEqual([
      "ActivityId",
      "AdditionalParams",
      "CompartmentGuid",
      "CompartmentId",
      "Containers",
      "Flags",
      "Health",
      "ID",
      "IsDefault",
      "Policies",
      "ResourceList",
      "Resources",
      "SchemaVersion",
      "State",
      "Version",
    ]);
    expect(document).toMatchObject({
      CompartmentId: 2,
      Containers: ["c1"],
      ID: id.toUpperCase(),
      IsDefault: false,
      ResourceList: [
        { Type: "Container", Data: { Id: "c1" } },
        { Type: "Endpoint", Data: { Id: endpointId } },
      ],
      SchemaVersion: { Major: 0, Minor: 0 },
      State: 1,
    });
    expect((await getNamespaceById(client, id)).SchemaVersion).toEqual({ Major: 2, Minor: 0 });
  });

  it.each(["ws2019", "ws2022"])(
    "what containers used once takes others on %s or not (hcn.md §4.5)",
    async (profile) => {
      const { client } = hnsNode({ profile });
      const network = await createNetwork(client, CBR0);
      const endpoint = await createEndpoint(client, network.ID, { Name: "web" });
      const namespace = await createNamespace(client);
      await addNamespaceEndpoint(client, namespace.ID, endpoint.ID);
      for (const id of ["c1", "c2"]) await addNamespaceContainer(client, namespace.ID, id);
      // As long as one is in it, others come and go.
      await removeNamespaceContainer(client, namespace.ID, "c2");
      await addNamespaceContainer(client, namespace.ID, "c2");
      for (const id of ["c1", "c2"]) await removeNamespaceContainer(client, namespace.ID, id);
      const outcome = async (namespaceId: string): Promise<unknown> =>
        addNamespaceContainer(client, namespaceId, "c3").then(
          () => "attached",
          (error: unknown) => (error as HcnError).code,
        );
      const expected = profile === "ws2019" ? "HCN_E_NAMESPACE_ATTACH_FAILED" : "attached";
      expect(await outcome(namespace.ID)).toBe(expected);
      await removeNamespaceEndpoint(client, namespace.ID, endpoint.ID);
      const other = await createNamespace(client);
      await addNamespaceEndpoint(client, other.ID, endpoint.ID);
      // On Windows Server 2022 the container is in the first namespace still, where the endpoint was.
      expect(await outcome(other.ID)).toBe(expected);
    },
  );

  it("with the defect namespace-deletion-stuck it stays in State 4 for good", async () => {
    const { client } = hnsNode({ quirks: { "namespace-deletion-stuck": "on" } });
    const namespace = await createNamespace(client);
    await addNamespaceContainer(client, namespace.ID, "c1");
    const refusal = { hresult: 0x803b0015 };
    await expect(deleteNamespace(client, namespace.ID)).rejects.toMatchObject(refusal);
    await removeNamespaceContainer(client, namespace.ID, "c1");
    expect(await getNamespaceById(client, namespace.ID)).toMatchObject({ State: 4 });
    await expect(deleteNamespace(client, namespace.ID)).rejects.toMatchObject(refusal);
  });

  it("without it, it is as before when its containers are gone", async () => {
    const { client } = hnsNode();
    const namespace = await createNamespace(client);
    await addNamespaceContainer(client, namespace.ID, "c1");
    await expect(deleteNamespace(client, namespace.ID)).rejects.toMatchObject({ hresult: 0x803b0015 });
    await removeNamespaceContainer(client, namespace.ID, "c1");
    expect(await getNamespaceById(client, namespace.ID)).toMatchObject({ State: 1 });
    await deleteNamespace(client, namespace.ID);
  });
});
