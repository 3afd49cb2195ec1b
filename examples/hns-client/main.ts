/** What a CNI plugin and kube-proxy do on a node with an overlay: a network, pods in their sandboxes, a Service. */
import {
  type HcnClient,
  type HostComputeEndpoint,
  addNamespaceEndpoint,
  createEndpoint,
  createLoadBalancer,
  createNamespace,
  createNetwork,
} from "mullion/hcn";
import { findHns } from "mullion/hcn/node";
import { createHns } from "mullion/hns";

const ADAPTERS = [{ name: "Ethernet", addresses: ["192.168.1.212/24"] }];
const DEFAULT_ROUTE = { NextHop: "10.42.6.1", DestinationPrefix: "0.0.0.0/0" };
const VSID = { Type: "VSID", Settings: { IsolationId: 4096 } };
const SUBNET = { IpAddressPrefix: "10.42.6.0/24", Routes: [DEFAULT_ROUTE], Policies: [VSID] };

async function addPod(client: HcnClient, networkId: string, name: string): Promise<HostComputeEndpoint> {
  const sandbox = await createNamespace(client, "Host");
  const endpoint = await createEndpoint(client, networkId, { Name: name, Routes: [DEFAULT_ROUTE] });
  await addNamespaceEndpoint(client, sandbox.ID ?? "", endpoint.ID ?? "");
  return endpoint;
}

/** Makes everything, and returns what a person wants to see of it. */
export async function runExample(client: HcnClient): Promise<readonly string[]> {
  const network = await createNetwork(client, {
    Name: "flannel.4096",
    Type: "Overlay",
    Ipams: [{ Type: "Static", Subnets: [SUBNET] }],
    Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
  });
  const pods = [
    await addPod(client, network.ID ?? "", "web-0"),
    await addPod(client, network.ID ?? "", "web-1"),
  ];
  const service = await createLoadBalancer(client, {
    HostComputeEndpoints: pods.map((pod) => pod.ID ?? ""),
    FrontendVIPs: ["10.96.0.80"],
    PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
    Flags: 1,
  });
  return [
    `network ${network.Name} ${network.Type}`,
    ...pods.map((pod) => `endpoint ${pod.Name} ${pod.IpConfigurations?.[0]?.IpAddress} ${pod.MacAddress}`),
    `load balancer ${service.FrontendVIPs?.join()} with ${service.HostComputeEndpoints?.length} back ends`,
  ];
}

if (import.meta.filename === process.argv[1]) {
  // A service that runs, where MULLION_HNS says; else one in this process.
  const client =
    process.env["MULLION_HNS"] === undefined
      ? createHns({ adapters: ADAPTERS }).client
      : findHns({ variables: process.env });
  for (const line of await runExample(client)) console.log(line);
  await client.close();
}
