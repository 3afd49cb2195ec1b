/** An Overlay network as flanneld leaves it on a Windows node: a range of its own, and the way to another node's. */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { createEndpoint, createNetwork } from "#contracts/hcn/operations.ts";

/** The network's name. */
export const OVERLAY = "vxlan0";
/** The address that host-local has set aside for kube-proxy. */
export const SOURCE_VIP = "10.244.1.2";
/** The pod of this node. */
export const LOCAL_POD = "10.244.1.4";
/** The other node: its address, its pods' range, and the MAC of its router. */
const OTHER = { address: "10.0.0.12", range: "10.244.2.0/24", mac: "00-15-5D-F2-00-02" } as const;
const VNI = 4096;

/** Makes the network and one pod of this node. `adapter`: the name of the adapter that it lies on; absent: the first. */
export async function addOverlayNetwork(client: HcnClient, adapter?: string): Promise<void> {
  const policies = [
    { Type: "DrMacAddress", Settings: { Address: "00-15-5D-F2-00-01" } },
    { Type: "HostRoute", Settings: {} },
    {
      Type: "RemoteSubnetRoute",
      Settings: {
        DestinationPrefix: OTHER.range,
        IsolationId: VNI,
        ProviderAddress: OTHER.address,
        DistributedRouterMacAddress: OTHER.mac,
      },
    },
  ];
  const named =
    adapter === undefined ? [] : [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: adapter } }];
  const network = await createNetwork(client, {
    Name: OVERLAY,
    Type: "Overlay",
    Policies: [...named, ...policies],
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: "10.244.1.0/24",
            Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
            Policies: [{ Type: "VSID", Settings: { IsolationId: VNI } }],
          },
        ],
      },
    ],
    SchemaVersion: { Major: 2, Minor: 0 },
  });
  await createEndpoint(client, network.ID ?? "", {
    Name: "pod",
    IpConfigurations: [{ IpAddress: LOCAL_POD, PrefixLength: 24 }],
    SchemaVersion: { Major: 2, Minor: 0 },
  });
}
