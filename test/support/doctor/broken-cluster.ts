/** Running clusters that are broken in one way each, as HNS and its programs break them on real nodes. */
import {
  type SessionWorld,
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  podsOf,
  service,
} from "../cluster/session-world.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  type StoredLoadBalancer,
  createEndpoint,
  createLoadBalancer,
  deleteEndpoint,
  deleteLoadBalancer,
  listEndpoints,
  listLoadBalancers,
  listNetworks,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";

export const OVERLAY = "network: { plugin: flannel, driver: Overlay }\n";
export const NODE = "win-1";
const WORKLOADS = `${deployment("web", "windows", 4)}${deployment("back", "linux", 2)}${service(
  "web",
  "selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]",
)}${service("back", "type: NodePort, selector: { app: back }, ports: [{ port: 80, targetPort: 8080, nodePort: 31080 }]")}`;

/** Pods on all nodes, two Services. */
export async function soundWorld(fields: string, build?: string): Promise<SessionWorld> {
  const world = await openSessionWorld(clusterText(fields, build));
  await apply(world, WORKLOADS);
  return world;
}

/** The HNS of the node that is broken. */
export function clientOf({ session }: SessionWorld): HcnClient {
  return hcnClientOf(session.cluster.nodes.find(({ spec }) => spec.name === NODE)!);
}

async function loadBalancerAt(client: HcnClient, vip: string, port: number): Promise<StoredLoadBalancer> {
  const all = await listLoadBalancers(client);
  return all.find(
    ({ FrontendVIPs = [], PortMappings = [] }) =>
      FrontendVIPs.includes(vip) && PortMappings.some((each) => each.ExternalPort === port),
  )!;
}

function vipOf({ session }: SessionWorld, name: string): string {
  return (
    session.cluster.objects.Service.find(({ metadata }) => metadata.name === name)?.spec?.clusterIP ?? ""
  );
}

export interface Fault {
  readonly name: string;
  readonly code: string;
  readonly certainty: string;
  readonly isProved: boolean;
  readonly says: RegExp;
  readonly network?: string;
  /** It concerns all load balancers of the node. */
  readonly isOfAll?: boolean;
  /** Codes of what follows from it and is found, too. */
  readonly follows?: readonly string[];
  readonly breakIt: (world: SessionWorld, client: HcnClient) => Promise<unknown>;
}

export const FAULTS: readonly Fault[] = [
  {
    name: "HNS lost the load balancer of kube-dns",
    code: "load-balancer-missing",
    certainty: "likely",
    isProved: true,
    says: /no load balancer for \S+:53\/UDP of Service kube-system\/kube-dns/u,
    breakIt: async (world, client) =>
      deleteLoadBalancer(client, (await loadBalancerAt(client, vipOf(world, "kube-dns"), 53)).ID),
  },
  {
    name: "HNS lost all load balancers at its restart",
    isOfAll: true,
    code: "load-balancer-missing",
    certainty: "likely",
    isProved: true,
    says: /kube-dns/u,
    breakIt: async (_, client) => {
      // One stays: a list without any is not told from one that was not collected.
      const [, ...all] = await listLoadBalancers(client);
      for (const { ID } of all) await deleteLoadBalancer(client, ID);
    },
  },
  {
    name: "a load balancer kept the address of a pod that is gone",
    code: "load-balancer-back-ends-differ",
    certainty: "likely",
    isProved: true,
    says: /leads to 10\.244\.9\.9, which no slice of default\/web names/u,
    breakIt: async (world, client) => {
      const [network] = await listNetworks(client);
      const gone = await createEndpoint(client, network!.ID, {
        Name: "Ethernet",
        Flags: 1,
        MacAddress: "02-11-22-33-44-66",
        IpConfigurations: [{ IpAddress: "10.244.9.9", PrefixLength: 32 }],
      });
      const { ID, ...own } = await loadBalancerAt(client, vipOf(world, "web"), 80);
      await deleteLoadBalancer(client, ID);
      await createLoadBalancer(client, {
        ...own,
        HostComputeEndpoints: [...(own.HostComputeEndpoints ?? []).slice(1), gone.ID],
      });
    },
  },
  {
    name: "a load balancer of a Service that is gone",
    code: "load-balancer-without-service",
    certainty: "likely",
    isProved: false,
    says: /serves 10\.96\.77\.77, which is no Service's address/u,
    breakIt: async (_, client) => {
      const [first] = await listLoadBalancers(client);
      return createLoadBalancer(client, {
        HostComputeEndpoints: first!.HostComputeEndpoints!,
        FrontendVIPs: ["10.96.77.77"],
        PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 80 }],
      });
    },
  },
  {
    name: "an endpoint was deleted under its pod",
    code: "pod-without-endpoint",
    follows: [
      "load-balancer-back-end-unknown",
      "namespace-endpoint-missing",
      "load-balancer-back-ends-differ",
    ],
    certainty: "likely",
    isProved: true,
    says: /and no endpoint of HNS does/u,
    breakIt: async (world, client) => {
      const pod = podsOf(world, "web-").find(({ spec }) => spec?.nodeName === NODE)!;
      const endpoints = await listEndpoints(client);
      const own = endpoints.find(
        ({ IpConfigurations = [] }) => IpConfigurations[0]?.IpAddress === pod.status?.podIP,
      );
      return deleteEndpoint(client, own!.ID);
    },
  },
  {
    name: "flanneld did not add the route to another node",
    code: "remote-subnet-route-missing",
    certainty: "certain",
    isProved: true,
    network: OVERLAY,
    says: /has no RemoteSubnetRoute to 10\.244\.2\.0\/24 of node linux-1/u,
    breakIt: async (_, client) => {
      const network = (await listNetworks(client)).find(({ Type }) => Type === "Overlay")!;
      const gone = (network.Policies ?? []).filter(
        ({ Type, Settings }) =>
          Type === "RemoteSubnetRoute" && Settings?.["DestinationPrefix"] === "10.244.2.0/24",
      );
      return modifyNetworkPolicies(client, network.ID, "Remove", gone);
    },
  },
  {
    name: "the route to another node leads to an address that is none of a node",
    code: "remote-subnet-route-differs",
    certainty: "certain",
    isProved: true,
    network: OVERLAY,
    says: /the RemoteSubnetRoute to 10\.244\.2\.0\/24 has the address 10\.0\.0\.99 instead of/u,
    breakIt: async (_, client) => {
      const network = (await listNetworks(client)).find(({ Type }) => Type === "Overlay")!;
      const route = (network.Policies ?? []).find(
        ({ Type, Settings }) =>
          Type === "RemoteSubnetRoute" && Settings?.["DestinationPrefix"] === "10.244.2.0/24",
      )!;
      await modifyNetworkPolicies(client, network.ID, "Remove", [route]);
      const Settings = { ...route.Settings, ProviderAddress: "10.0.0.99" };
      return modifyNetworkPolicies(client, network.ID, "Add", [{ ...route, Settings }]);
    },
  },
];
