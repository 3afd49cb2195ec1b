/** Compute systems, as every `HcnClient` keeps them whose service keeps them, too. */
import { expect, it } from "vitest";
import { HCS_NOTIFICATION_TYPES, type HcnClient, type HcnNotification } from "#contracts/hcn/client.ts";
import {
  addNetworkAdapter,
  containerDocument,
  removeNetworkAdapter,
} from "#contracts/hcn/compute-systems.ts";
import {
  createEndpoint,
  createNamespace,
  createNetwork,
  getEndpointById,
} from "#contracts/hcn/operations.ts";

const NETWORK = {
  Name: "cbr0",
  Type: "L2Bridge",
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

/** The tests; `current` gives the client of the test that runs. */
export function describeComputeSystems(current: () => HcnClient): void {
  it("compute systems: a container in a namespace, hot attach, and its end (hcn.md §4.5)", async () => {
    const client = current();
    const systems = client.computeSystems!;
    expect(await systems.list()).toEqual([]);
    const network = await createNetwork(client, NETWORK);
    const endpoint = await createEndpoint(client, network.ID, { Name: "web" });
    const namespace = await createNamespace(client, "Host");
    await systems.create("c1", containerDocument(namespace.ID));
    await addNetworkAdapter(systems, "c1", endpoint.ID);
    expect(await systems.list()).toEqual([
      {
        Id: "c1",
        SystemType: "Container",
        Owner: "containerd-shim-runhcs-v1.exe",
        RuntimeId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        State: "Running",
        Namespace: namespace.ID,
        NetworkAdapters: [{ EndpointId: endpoint.ID }],
      },
    ]);
    expect(await getEndpointById(client, endpoint.ID)).toMatchObject({ State: 3 });
    await removeNetworkAdapter(systems, "c1", endpoint.ID);
    await systems.terminate("c1");
    expect(await systems.list()).toEqual([]);
    await expect(systems.terminate("c1")).rejects.toMatchObject({
      code: "HCS_E_SYSTEM_NOT_FOUND",
      hresult: 0xc037010e,
    });
    await expect(systems.create("c2", {})).rejects.toMatchObject({
      code: "HCS_E_SYSTEM_INVALID_CONFIGURATION",
      hresult: 0x8037010d,
    });
  });

  it("a registration of a compute system hears its end, and nobody else does (HCS: SystemExited)", async () => {
    const client = current();
    const systems = client.computeSystems!;
    const heard: HcnNotification[] = [];
    const others: HcnNotification[] = [];
    await systems.create("vm 1", { VirtualMachine: {} });
    await systems.create("vm2", { VirtualMachine: {} });
    client.subscribe((notification) => heard.push(notification), { computeSystem: "vm 1" });
    client.subscribe((notification) => others.push(notification), { computeSystem: "vm2" });
    client.subscribe((notification) => others.push(notification));
    await systems.terminate("vm 1");
    await expect.poll(() => heard.map(({ type }) => type)).toEqual([HCS_NOTIFICATION_TYPES.SystemExited]);
    expect(heard[0]).toMatchObject({ computeSystem: "vm 1", data: { Data: { Status: 0 } } });
    expect(others).toEqual([]);
  });
}
