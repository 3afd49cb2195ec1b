import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import {
  addNetworkAdapter,
  containerDocument,
  networkAdapterRequest,
  removeNetworkAdapter,
} from "#contracts/hcn/compute-systems.ts";
import {
  addNamespaceContainer,
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteNamespace,
  getEndpointById,
  getNamespaceContainerIds,
  getNamespaceEndpointIds,
  removeNamespaceContainer,
} from "#contracts/hcn/operations.ts";
import { attachHnsEndpoint, detachHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { CBR0, type HnsNode, type HnsNodeOptions, hnsNode } from "#test/support/hns/hns-node.ts";

const MISSING = "0fb28d70-306c-469d-9690-3245a82d882a";
const VM = "641313e1-7ae8-4ddb-94e5-3215f3a0b218";

interface Node extends HnsNode {
  readonly a: string;
  readonly b: string;
  readonly remote: string;
}

async function node(options: HnsNodeOptions & { readonly flags?: number } = {}): Promise<Node> {
  const made = hnsNode(options);
  const network = await createNetwork(made.client, { ...CBR0, Flags: options.flags ?? 0 });
  const a = await createEndpoint(made.client, network.ID, { Name: "a" });
  const b = await createEndpoint(made.client, network.ID, { Name: "b" });
  const remote = await createEndpoint(made.client, network.ID, {
    IpConfigurations: [{ IpAddress: "10.244.9.37" }],
    Flags: 1,
  });
  return { ...made, a: a.ID, b: b.ID, remote: remote.ID };
}

/** What Docker's HCS documents look like: schema 1. */
function oldContainer(...EndpointList: readonly string[]): JsonObject {
  return { SystemType: "Container", Name: "c", Owner: "docker", EndpointList };
}

function attach(ContainerId: string): { readonly SystemType: "Container"; readonly ContainerId: string } {
  return { SystemType: "Container", ContainerId };
}

describe("containers in a namespace", () => {
  it("start in it, share its endpoints, and leave it when they end", async () => {
    const { client, a } = await node();
    const systems = client.computeSystems;
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, a);
    await systems.create("c1", containerDocument(namespace.ID.toUpperCase()));
    await systems.create("c2", {
      SchemaVersion: { Major: 2, Minor: 1 },
      HostingSystemId: VM,
      HostedSystem: { Container: { Networking: { NetworkSharedContainerName: "c1" } } },
    });
    expect(await getNamespaceContainerIds(client, namespace.ID)).toEqual(["c1", "c2"]);
    expect(await getEndpointById(client, a)).toMatchObject({
      State: 3,
      Health: { Extra: { SharedContainers: ["c1", "c2"] } },
    });
    await expect(deleteNamespace(client, namespace.ID)).rejects.toMatchObject({ hresult: 0x803b0015 });
    await systems.terminate("c1");
    await systems.terminate("c2");
    expect(await getNamespaceContainerIds(client, namespace.ID)).toEqual([]);
    expect((await getEndpointById(client, a)).State).toBe(1);
    await deleteNamespace(client, namespace.ID);
  });

  it("that were added by name belong to it when the registry knows them", async () => {
    const { client } = await node();
    const namespace = await createNamespace(client);
    await client.computeSystems.create("c1", oldContainer());
    await addNamespaceContainer(client, namespace.ID, "c1");
    expect(await client.computeSystems.list()).toMatchObject([{ Id: "c1", Namespace: namespace.ID }]);
    const other = await createNamespace(client);
    await expect(addNamespaceContainer(client, other.ID, "c1")).rejects.toMatchObject({
      code: "HCN_E_NAMESPACE_ATTACH_FAILED",
    });
    await removeNamespaceContainer(client, namespace.ID, "c1");
    expect((await client.computeSystems.list())[0]).not.toHaveProperty("Namespace");
  });

  it("do not start in one that is not there (0x803b002e), and nothing is left of them", async () => {
    const { client } = await node();
    await expect(client.computeSystems.create("c1", containerDocument(MISSING))).rejects.toMatchObject({
      code: "HCN_E_NAMESPACE_ATTACH_FAILED",
    });
    expect(await client.computeSystems.list()).toEqual([]);
  });

  it("hot attach puts the endpoint into the namespace, detach takes it out", async () => {
    const { client, datapath, a } = await node();
    const namespace = await createNamespace(client);
    await client.computeSystems.create("c1", containerDocument(namespace.ID));
    await addNetworkAdapter(client.computeSystems, "c1", a);
    expect(await getNamespaceEndpointIds(client, namespace.ID)).toEqual([a]);
    expect(datapath.listVnics()).toMatchObject([{ compartmentId: namespace.NamespaceId }]);
    await expect(addNetworkAdapter(client.computeSystems, "c1", a)).rejects.toMatchObject({
      hresult: 0x803b0014,
    });
    await removeNetworkAdapter(client.computeSystems, "c1", a);
    expect(await getNamespaceEndpointIds(client, namespace.ID)).toEqual([]);
  });
});

describe("containers without a namespace", () => {
  it("have a compartment of their own while they or an endpoint of theirs are there", async () => {
    const { client, datapath, a, b } = await node();
    await client.computeSystems.create("c1", oldContainer(a, b));
    const [compartment] = datapath.listCompartments();
    expect(datapath.listVnics().map(({ compartmentId }) => compartmentId)).toEqual([
      compartment,
      compartment,
    ]);
    expect((await client.computeSystems.list())[0]?.NetworkAdapters).toEqual([
      { EndpointId: a },
      { EndpointId: b },
    ]);
    await client.computeSystems.terminate("c1");
    expect(datapath.listVnics()).toEqual([]);
    expect(datapath.listCompartments()).toEqual([]);
  });

  it("an endpoint attached to several is shared (State 3), and goes with the last (hcn.md §4.4)", async () => {
    const { client, datapath, a } = await node();
    for (const id of ["c1", "c2"]) await client.computeSystems.create(id, oldContainer());
    await attachHnsEndpoint(client, a, attach("c1"));
    await attachHnsEndpoint(client, a, attach("c2"));
    expect(await client.query("Endpoint", a)).toMatchObject({ State: 3, SharedContainers: ["c1", "c2"] });
    await client.computeSystems.terminate("c1");
    expect(datapath.listVnics()).toHaveLength(1);
    await detachHnsEndpoint(client, a, attach("c2"));
    expect(await client.query("Endpoint", a)).toMatchObject({ State: 1, SharedContainers: [] });
    expect(datapath.listCompartments()).toEqual([]);
  });

  it("NetworkSharedContainerName gives a container the endpoints of another", async () => {
    const { client, a } = await node();
    await client.computeSystems.create("c1", oldContainer(a));
    await client.computeSystems.create("c2", { ...oldContainer(), NetworkSharedContainerName: "c1" });
    expect(await client.query("Endpoint", a)).toMatchObject({ SharedContainers: ["c1", "c2"] });
  });

  it("DisableSharing (128) refuses the second: 0x803b001d", async () => {
    const { client, a, b } = await node({ flags: 128 });
    for (const id of ["c1", "c2"]) await client.computeSystems.create(id, oldContainer());
    await attachHnsEndpoint(client, a, attach("c1"));
    await expect(attachHnsEndpoint(client, a, attach("c2"))).rejects.toMatchObject({ hresult: 0x803b001d });
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, b);
    await addNamespaceContainer(client, namespace.ID, "c3");
    await expect(addNamespaceContainer(client, namespace.ID, "c4")).rejects.toMatchObject({
      hresult: 0x803b001d,
    });
  });

  it("that enter a namespace later leave both when they end", async () => {
    const { client, datapath, a, b } = await node();
    await client.computeSystems.create("c1", oldContainer(a));
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, b);
    await addNamespaceContainer(client, namespace.ID, "c1");
    await client.computeSystems.terminate("c1");
    expect(datapath.listVnics().map(({ compartmentId }) => compartmentId)).toEqual([namespace.NamespaceId]);
    for (const id of [a, b])
      expect(await client.query("Endpoint", id)).toMatchObject({ SharedContainers: [] });
  });

  it("deleting the endpoint leaves the container without it", async () => {
    const { client, datapath, a } = await node();
    await client.computeSystems.create("c1", oldContainer(a));
    await deleteEndpoint(client, a);
    expect(datapath.listVnics()).toEqual([]);
    expect((await client.computeSystems.list())[0]?.NetworkAdapters).toEqual([]);
    await client.computeSystems.terminate("c1");
    expect(datapath.listCompartments()).toEqual([]);
  });
});

describe("virtual machines", () => {
  it("have ports for the adapters of their document, and for those that come later", async () => {
    const { client, a, b } = await node();
    await client.computeSystems.create(VM, {
      SchemaVersion: { Major: 2, Minor: 1 },
      VirtualMachine: { Devices: { NetworkAdapters: { nic0: { EndpointId: a } } } },
    });
    await client.computeSystems.modify(VM, {
      ResourcePath: "VirtualMachine/Devices/NetworkAdapters/4f60f2e3-8a9a-46c3-a8e3-3c57f4a79330",
      RequestType: "Add",
      Settings: { EndpointId: b, MacAddress: "00-15-5D-01-02-03" },
    });
    expect(await getEndpointById(client, b)).toMatchObject({
      State: 2,
      Health: {
        Extra: {
          VirtualMachine: VM,
          Resources: { Allocators: [{ EndpointPortGuid: "4F60F2E3-8A9A-46C3-A8E3-3C57F4A79330" }] },
        },
      },
    });
    await client.computeSystems.modify(VM, {
      ResourcePath: "VirtualMachine/Devices/NetworkAdapters/4f60f2e3-8a9a-46c3-a8e3-3c57f4a79330",
      RequestType: "Remove",
    });
    expect((await client.computeSystems.list())[0]?.NetworkAdapters).toEqual([{ EndpointId: a }]);
    await client.computeSystems.terminate(VM);
    expect((await getEndpointById(client, a)).State).toBe(1);
  });

  it("v1 attach names the machine in VirtualNicName (hcn.md §1.7)", async () => {
    const { client, a } = await node();
    const request = { SystemType: "VirtualMachine", VirtualNicName: `${VM}--${a}` } as const;
    await expect(attachHnsEndpoint(client, a, request)).rejects.toMatchObject({ hresult: 0xc037010e });
    await client.computeSystems.create(VM, { SystemType: "VirtualMachine" });
    await attachHnsEndpoint(client, a, request);
    expect(await client.query("Endpoint", a)).toMatchObject({ State: 2, VirtualMachine: VM });
    await expect(attachHnsEndpoint(client, a, request)).rejects.toMatchObject({ hresult: 0x803b0014 });
    await detachHnsEndpoint(client, a, request);
    expect(await client.query("Endpoint", a)).toMatchObject({ State: 1 });
    await expect(
      attachHnsEndpoint(client, a, { SystemType: "VirtualMachine", VirtualNicName: "nic" }),
    ).rejects.toMatchObject({ hresult: 0x8037010d });
  });

  it("v1 attach reads a name of a megabyte of hyphens in time", async () => {
    const { client, a } = await node();
    const before = process.cpuUsage().user;
    await expect(
      attachHnsEndpoint(client, a, {
        SystemType: "VirtualMachine",
        VirtualNicName: `-${"--".repeat(500_000)}\n`,
      }),
    ).rejects.toMatchObject({ hresult: 0xc037010e });
    expect(process.cpuUsage().user - before).toBeLessThan(2_000_000);
  });
});

describe("refusals", () => {
  it.each<[string, JsonObject]>([
    ["nothing", {}],
    ["an endpoint in upper case", oldContainer(MISSING.toUpperCase())],
    ["an endpoint in braces", oldContainer(`{${MISSING}}`)],
    ["a namespace that is not a GUID", { Container: { Networking: { Namespace: "pod" } } }],
    ["a container that is not an object", { Container: 7 }],
    ["an unknown type", { SystemType: "Host" }],
  ])("a document with %s is invalid (0x8037010d)", async (_name, document) => {
    const { client } = await node();
    await expect(client.computeSystems.create("c1", document)).rejects.toMatchObject({ hresult: 0x8037010d });
    expect(await client.computeSystems.list()).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ["another resource", { ResourceType: "Memory", RequestType: "Add", Settings: 1 }],
    ["no endpoint", { ResourceType: "Network", RequestType: "Add" }],
    ["another request", { ResourceType: "Network", RequestType: "Update", Settings: MISSING }],
    ["an endpoint in upper case", networkAdapterRequest("Add", MISSING.toUpperCase())],
  ])("a change of %s is invalid", async (_name, request) => {
    const { client } = await node();
    await client.computeSystems.create("c1", oldContainer());
    await expect(client.computeSystems.modify("c1", request)).rejects.toMatchObject({ hresult: 0x8037010d });
  });

  it("an id is given once; a system or an endpoint that is gone is not found", async () => {
    const { client, a, remote } = await node();
    await client.computeSystems.create("c1", oldContainer());
    await expect(client.computeSystems.create("c1", oldContainer())).rejects.toMatchObject({
      code: "HCS_E_SYSTEM_ALREADY_EXISTS",
      hresult: 0x8037010f,
    });
    await expect(addNetworkAdapter(client.computeSystems, "gone", a)).rejects.toMatchObject({
      hresult: 0xc037010e,
    });
    await expect(addNetworkAdapter(client.computeSystems, "c1", MISSING)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
    await expect(addNetworkAdapter(client.computeSystems, "c1", remote)).rejects.toMatchObject({
      code: "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION",
    });
    await expect(removeNetworkAdapter(client.computeSystems, "c1", a)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_ATTACHED",
    });
  });

  it("a container with one endpoint that cannot be attached does not start, and takes none", async () => {
    const { client, datapath, a, remote } = await node();
    await expect(client.computeSystems.create("c1", oldContainer(a, remote))).rejects.toMatchObject({
      code: "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION",
    });
    expect(await client.computeSystems.list()).toEqual([]);
    expect(datapath.listVnics()).toEqual([]);
    expect(datapath.listCompartments()).toEqual([]);
  });
});

describe("the service and the node come back", () => {
  it("a restart of the service leaves containers and what they are attached to", async () => {
    const { client, service, datapath, a } = await node();
    await client.computeSystems.create("c1", oldContainer(a));
    const before = [await client.computeSystems.list(), datapath.listVnics()];
    service.restart("keep");
    expect([await client.computeSystems.list(), datapath.listVnics()]).toEqual(before);
  });

  it("what was stored comes back in the compartment of its container, and detached where that is gone", async () => {
    const { client, service, datapath, a } = await node();
    await client.computeSystems.create("c1", oldContainer(a));
    await client.computeSystems.create(VM, { SystemType: "VirtualMachine" });
    const stored = service.export();
    service.restore(stored);
    expect(await client.query("Endpoint", a)).toMatchObject({ State: 3, SharedContainers: ["c1"] });
    expect(datapath.listVnics()).toHaveLength(1);
    const other = hnsNode();
    const notes = other.service.restore(stored);
    expect(JSON.stringify(notes)).toContain("There is no container c1");
    expect(await other.client.query("Endpoint", a)).toMatchObject({ State: 1, SharedContainers: [] });
  });

  it("while HNS is down nothing starts and nothing is attached (0x800706ba); what runs is listed and ends", async () => {
    const { client, service, a } = await node();
    await client.computeSystems.create("c1", oldContainer());
    service.stop();
    await expect(client.computeSystems.create("c2", oldContainer(a))).rejects.toMatchObject({
      hresult: 0x800706ba,
    });
    await expect(addNetworkAdapter(client.computeSystems, "c1", a)).rejects.toMatchObject({
      hresult: 0x800706ba,
    });
    expect(await client.computeSystems.list()).toMatchObject([{ Id: "c1" }]);
    await client.computeSystems.terminate("c1");
    expect(await client.computeSystems.list()).toEqual([]);
  });

  it("a reboot ends them all", async () => {
    const { client, service, datapath, a, b } = await node();
    await client.computeSystems.create("c1", oldContainer(a));
    await client.computeSystems.create(VM, { SystemType: "VirtualMachine" });
    await addNetworkAdapter(client.computeSystems, VM, b);
    service.reboot();
    expect(await client.computeSystems.list()).toEqual([]);
    expect(datapath.listCompartments()).toEqual([]);
    for (const id of [a, b]) expect(await client.query("Endpoint", id)).toMatchObject({ State: 1 });
  });
});
