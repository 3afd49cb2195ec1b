import { describe, expect, it } from "vitest";
import { type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { ENDPOINT_STATES } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceContainer,
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  getEndpointById,
  listEndpoints,
  modifyEndpointPolicies,
  queryBy,
} from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const VM = "641313e1-7ae8-4ddb-94e5-3215f3a0b218";
const PORT = "4f60f2e3-8a9a-46c3-a8e3-3c57f4a79330";
/** hcn.md §9.21. */
const ADD_PORT: JsonObject = {
  ResourceType: "Port",
  RequestType: "Add",
  Settings: { PortId: PORT, VirtualNicName: `${VM}--${PORT}`, VirtualMachineId: VM },
};
const REMOVE_PORT: JsonObject = { ResourceType: "Port", RequestType: "Remove", Settings: {} };

interface Endpoints extends HnsNode {
  readonly network: string;
  readonly local: string;
  readonly remote: string;
}

async function node(): Promise<Endpoints> {
  const made = hnsNode();
  const network = await createNetwork(made.client, CBR0);
  const local = await createEndpoint(made.client, network.ID, { Name: "nic" });
  const remote = await createEndpoint(made.client, network.ID, {
    IpConfigurations: [{ IpAddress: "10.244.9.37" }],
    Flags: 1,
  });
  return { ...made, network: network.ID, local: local.ID, remote: remote.ID };
}

describe("the port of a virtual machine", () => {
  it("HCN-097 after Port Add the shim reads SwitchId and EndpointPortGuid among the allocators", async () => {
    const { client, local } = await node();
    await client.modify("Endpoint", local, ADD_PORT);
    const endpoint = await getEndpointById(client, local);
    expect(endpoint).toMatchObject({
      State: ENDPOINT_STATES.Attached,
      Health: {
        Extra: {
          VirtualMachine: VM,
          Resources: {
            Allocators: [
              {
                Tag: "Endpoint Port",
                SwitchId: expect.stringMatching(/^[0-9A-F-]{36}$/) as string,
                EndpointPortGuid: PORT.toUpperCase(),
                State: 3,
                IsPolicy: false,
              },
            ],
          },
        },
      },
    });
    expect(JSON.stringify(endpoint.Health)).toContain("NotEnforced");
  });

  it("endpoints of a machine are found by the filter VirtualMachine", async () => {
    const { client, local } = await node();
    expect(await listEndpoints(client, queryBy({ VirtualMachine: VM }))).toEqual([]);
    await client.modify("Endpoint", local, ADD_PORT);
    const found = await listEndpoints(client, queryBy({ VirtualMachine: VM.toUpperCase() }));
    expect(found.map(({ ID }) => ID)).toEqual([local]);
  });

  it("Port Remove takes no settings and gives the endpoint back", async () => {
    const { client, local } = await node();
    await client.modify("Endpoint", local, ADD_PORT);
    await client.modify("Endpoint", local, REMOVE_PORT);
    expect(await getEndpointById(client, local)).toMatchObject({ State: ENDPOINT_STATES.Created });
    await expect(client.modify("Endpoint", local, REMOVE_PORT)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_ATTACHED",
    });
  });

  it("an endpoint has one port, and is not in a namespace of the host then", async () => {
    const { client, local } = await node();
    await client.modify("Endpoint", local, ADD_PORT);
    await expect(client.modify("Endpoint", local, ADD_PORT)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_ALREADY_ATTACHED",
    });
    const host = await createNamespace(client, "Host");
    await expect(addNamespaceEndpoint(client, host.ID, local)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_ALREADY_ATTACHED",
    });
    const guest = await createNamespace(client, "Guest");
    await addNamespaceEndpoint(client, guest.ID, local);
    await addNamespaceContainer(client, guest.ID, "c1");
    // Hyper-V isolated pods have endpoints in state 2 (hcn.md §2.10).
    expect((await getEndpointById(client, local)).State).toBe(ENDPOINT_STATES.Attached);
  });

  it("a remote endpoint has none (0x803b000f), and settings without a machine are refused", async () => {
    const { client, local, remote } = await node();
    for (const request of [ADD_PORT, REMOVE_PORT]) {
      await expect(client.modify("Endpoint", remote, request)).rejects.toMatchObject({ hresult: 0x803b000f });
    }
    await expect(
      client.modify("Endpoint", local, { ...ADD_PORT, Settings: { PortId: PORT } }),
    ).rejects.toMatchObject({ code: "HCN_E_INVALID_JSON" });
  });

  it("attach, detach and deletion are told", async () => {
    const { client, network, local } = await node();
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification), { network });
    await client.modify("Endpoint", local, ADD_PORT);
    await deleteEndpoint(client, local);
    expect(heard.map(({ type, data }) => [type, data.ID])).toEqual([
      [NOTIFICATION_TYPES.NetworkEndpointAttached, local],
      [NOTIFICATION_TYPES.NetworkEndpointDetached, local],
    ]);
  });
});

describe("a degraded endpoint", () => {
  it("shows State 5 and its error, and refuses what is asked of it with 0x803b0017 (hcn.md §4.5)", async () => {
    const { client, service, local } = await node();
    const namespace = await createNamespace(client);
    service.degradeEndpoint(local, 0x803b0009);
    expect(await getEndpointById(client, local)).toMatchObject({
      State: ENDPOINT_STATES.Degraded,
      Health: { Data: { LastErrorCode: 0x803b0009 } },
    });
    const degraded = { code: "HCN_E_DEGRADED_OPERATION", hresult: 0x803b0017 };
    await expect(addNamespaceEndpoint(client, namespace.ID, local)).rejects.toMatchObject(degraded);
    await expect(modifyEndpointPolicies(client, local, "Add", [])).rejects.toMatchObject(degraded);
    await expect(client.modify("Endpoint", local, ADD_PORT)).rejects.toMatchObject(degraded);
  });

  it("in a namespace it keeps containers from starting: 0x803b002e", async () => {
    const { client, service, local } = await node();
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, local);
    service.degradeEndpoint(local, 0x803b0009);
    await expect(addNamespaceContainer(client, namespace.ID, "c1")).rejects.toMatchObject({
      code: "HCN_E_NAMESPACE_ATTACH_FAILED",
      hresult: 0x803b002e,
    });
  });

  it.each(["Refresh", "Reset"])("%s heals it, and it can be deleted at any time", async (RequestType) => {
    const { client, service, local } = await node();
    service.degradeEndpoint(local, 0x803b0009);
    await client.modify("Endpoint", local, { RequestType });
    expect(await getEndpointById(client, local)).toMatchObject({
      State: ENDPOINT_STATES.Created,
      Health: { Data: { LastErrorCode: 0 } },
    });
    service.degradeEndpoint(local, 0x803b0009);
    await deleteEndpoint(client, local);
    await expect(client.queryEndpointStats(local)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
  });
});

describe("Reset", () => {
  it("makes the vNIC anew where it was", async () => {
    const { client, datapath, local } = await node();
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, local);
    const before = datapath.listVnics();
    await client.modify("Endpoint", local, { RequestType: "Reset" });
    expect(datapath.listVnics()).toEqual(before);
    expect(before).toHaveLength(1);
  });

  it("of an unattached endpoint changes nothing, of a remote one is refused", async () => {
    const { client, datapath, local, remote } = await node();
    await client.modify("Endpoint", local, { RequestType: "Reset" });
    expect(datapath.listVnics()).toEqual([]);
    await expect(client.modify("Endpoint", remote, { RequestType: "Reset" })).rejects.toMatchObject({
      code: "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION",
    });
  });
});
