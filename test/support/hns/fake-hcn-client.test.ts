import { describe, expect, it } from "vitest";
import {
  createEndpoint,
  createLoadBalancer,
  createNetwork,
  listLoadBalancers,
  modifyLoadBalancer,
} from "#contracts/hcn/operations.ts";
import { requestHns } from "#contracts/hcn/v1-operations.ts";
import { FakeHcnClient } from "./fake-hcn-client.ts";

const PORTS = [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }] as const;

describe("the fake HNS", () => {
  it("echoes load balancers, and notes what was asked for", async () => {
    const client = new FakeHcnClient();
    const document = { HostComputeEndpoints: ["a"], FrontendVIPs: ["10.96.0.7"], PortMappings: PORTS };
    const made = await createLoadBalancer(client, document);
    expect(made).toMatchObject({ ...document, State: 2 });
    await modifyLoadBalancer(client, made.ID, { ...document, HostComputeEndpoints: ["a", "b"] });
    expect(await listLoadBalancers(client)).toMatchObject([
      { ID: made.ID, HostComputeEndpoints: ["a", "b"] },
    ]);
    expect(client.calls.map(({ call }) => call)).toEqual(["create LoadBalancer", "modify LoadBalancer"]);
  });

  it("lists and deletes them by v1", async () => {
    const client = new FakeHcnClient();
    const id = "3599612c-54b4-4b9d-9258-4fc5e2100549";
    client.put("LoadBalancer", { ID: id, HostComputeEndpoints: ["A"] });
    expect(await requestHns(client, "GET", "/policylists/")).toMatchObject([
      { ID: id.toUpperCase(), References: ["/endpoints/A"] },
    ]);
    await requestHns(client, "DELETE", `/policylists/${id.toUpperCase()}`);
    expect(await listLoadBalancers(client)).toEqual([]);
    await expect(requestHns(client, "DELETE", `/policylists/${id}`)).rejects.toMatchObject({
      code: "ERROR_NOT_FOUND",
    });
  });

  it("takes remote endpoints whatever address they have", async () => {
    const client = new FakeHcnClient();
    const { ID } = await createNetwork(client, { Name: "cbr0", Type: "L2Bridge" });
    const IpConfigurations = [{ IpAddress: "10.244.2.10" }];
    const remote = await createEndpoint(client, ID, {
      IpConfigurations,
      Flags: 1,
      MacAddress: "02-11-0a-f4-02-0a",
    });
    expect(remote).toMatchObject({ IpConfigurations, Flags: 1, MacAddress: "02-11-0a-f4-02-0a" });
    await createEndpoint(client, ID, { IpConfigurations });
    await expect(createEndpoint(client, ID, { IpConfigurations })).rejects.toMatchObject({
      code: "ERROR_OBJECT_ALREADY_EXISTS",
    });
  });
});
