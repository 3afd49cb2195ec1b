/** What a CNI plugin and kube-proxy do on a node with an overlay: a network, pods in their sandboxes, a Service. */
import {
  type HcnClient,
  HcnError,
  type HostComputeEndpoint,
  addNamespaceEndpoint,
  createEndpoint,
  createLoadBalancer,
  createNamespace,
  createNetwork,
} from "mullion/hcn";
import { findHns } from "mullion/hcn/node";
import { createHns } from "mullion/hns";

const VSID = { Type: "VSID", Settings: { IsolationId: 4096 } };
const ROUTES = [{ NextHop: "10.42.6.1", DestinationPrefix: "0.0.0.0/0" }];
const SUBNET = { IpAddressPrefix: "10.42.6.0/24", Routes: ROUTES, Policies: [VSID] };

async function addPod(client: HcnClient, networkId: string, name: string): Promise<HostComputeEndpoint> {
  const sandbox = await createNamespace(client, "Host");
  const endpoint = await createEndpoint(client, networkId, { Name: name });
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
  const pods: HostComputeEndpoint[] = [];
  for (const name of ["web-0", "web-1"]) pods.push(await addPod(client, network.ID ?? "", name));
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
  const isGiven = process.env["MULLION_HNS"] !== undefined; // Else a service in this process.
  const client = isGiven ? findHns({ variables: process.env }) : createHns().client;
  try {
    for (const line of await runExample(client)) console.log(line);
  } catch (error) {
    process.exitCode = 1;
    console.error(error instanceof HcnError ? error.message : error);
  }
  await client.close();
}
