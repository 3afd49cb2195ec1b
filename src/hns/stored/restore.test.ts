import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../hcn/client.ts";
import { CBR0, type HnsNode, hnsNode } from "../../testing/hns-node.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const KINDS = ["Network", "Namespace", "Endpoint", "LoadBalancer"] as const;

/** Everything that clients see of a service, in both dialects. */
function picture(node: HnsNode): unknown {
  return KINDS.map((kind) =>
    node.service
      .enumerate(kind)
      .map((id) => [
        node.service.query(kind, id, V2),
        node.service.query(kind, id, { SchemaVersion: { Major: 1, Minor: 0 } }),
      ]),
  );
}

function member(endpoint: string): JsonObject {
  return { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: endpoint } };
}

/** A node with something of everything. */
function busyNode(): HnsNode & {
  readonly network: string;
  readonly pod: string;
  readonly namespace: string;
} {
  const node = hnsNode();
  const { service } = node;
  const network = service.create("Network", { ...V2, ...CBR0 });
  const namespace = service.create("Namespace", { ...V2, Type: "Host" });
  const pod = service.create(
    "Endpoint",
    { ...V2, Name: "pod", IpConfigurations: [{ IpAddress: "10.244.2.7" }] },
    { network },
  );
  service.create("Endpoint", { ...V2, Name: "idle" }, { network });
  service.modify("Namespace", namespace, member(pod));
  service.modify("Namespace", namespace, {
    ResourceType: "Container",
    RequestType: "Add",
    Settings: { ContainerId: "c1" },
  });
  service.create(
    "Endpoint",
    { ...V2, Flags: 1, MacAddress: "02-11-0a-f4-03-05", IpConfigurations: [{ IpAddress: "10.244.3.5" }] },
    { network },
  );
  service.create("LoadBalancer", {
    ...V2,
    HostComputeEndpoints: [pod],
    FrontendVIPs: ["10.96.0.10"],
    PortMappings: [{ Protocol: 17, InternalPort: 53, ExternalPort: 53 }],
    Flags: 1,
  });
  return { ...node, network, pod, namespace };
}

describe("objects in stored form", () => {
  it("come back as they were, in another service", () => {
    const before = busyNode();
    const after = hnsNode({ seed: 2 });
    expect(after.service.restore(before.service.export())).toEqual([]);
    expect(picture(after)).toEqual(picture(before));
    expect(after.service.export()).toEqual(before.service.export());
    expect(after.datapath.listVnics()).toEqual(before.datapath.listVnics());
    expect(after.datapath.listCompartments()).toEqual(before.datapath.listCompartments());
  });
});
