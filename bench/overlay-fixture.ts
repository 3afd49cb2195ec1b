/** A node with an overlay network, as flannel makes it: its policies, a source VIP and pods. */
import type { JsonObject } from "#core/base/json.ts";
import type { HnsService } from "#hns/service/hns-service.ts";
import { formatIp, type Ipv4 } from "#core/net/ip.ts";
import { V2 } from "./hns-documents.ts";
import { addBenchPod, makeBenchHns } from "./load-balancer-fixture.ts";

const VNI = 4_096;
/** 10.244.1.2, which load balancers send from, and the first pod's. */
const FIRST_POD = 0x0af4_0102;
/** 11.0.0.0/24 and 172.16.0.1 are the first other node's. */
const FIRST_SUBNET = 0x0b00_0000;
const FIRST_NODE = 0xac10_0001;

const NETWORK = {
  Name: "vxlan0",
  Type: "Overlay",
  Policies: [
    { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
    { Type: "HostRoute", Settings: {} },
  ],
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.0.0/16",
          Policies: [{ Type: "VSID", Settings: { IsolationId: VNI } }],
          Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
  SchemaVersion: V2,
};

function routeTo(peer: number): JsonObject {
  return {
    Type: "RemoteSubnetRoute",
    Settings: {
      DestinationPrefix: `${formatIp((FIRST_SUBNET + peer * 256) as Ipv4)}/24`,
      IsolationId: VNI,
      ProviderAddress: formatIp((FIRST_NODE + peer) as Ipv4),
      DistributedRouterMacAddress: "00-15-5d-01-02-03",
    },
  };
}

export class BenchOverlay {
  private readonly hns: HnsService;
  private readonly network: string;

  constructor(pods: number) {
    this.hns = makeBenchHns();
    this.network = this.hns.create("Network", NETWORK);
    for (let index = 0; index < pods; index++)
      addBenchPod(this.hns, this.network, (FIRST_POD + index) as Ipv4);
  }

  /** One node joins, or leaves. */
  change(requestType: "Add" | "Remove", peer: number): void {
    this.hns.modify("Network", this.network, {
      ResourceType: "Policy",
      RequestType: requestType,
      Settings: { Policies: [routeTo(peer)] },
    });
    this.hns.takeNotifications();
    this.hns.dropChanges();
  }

  /** @throws Error when the network has another number of routes. */
  expectRoutes(count: number): void {
    const { Policies = [] } = this.hns.query("Network", this.network) as {
      Policies?: readonly JsonObject[];
    };
    const found = Policies.filter((policy) => policy["Type"] === "RemoteSubnetRoute").length;
    if (found !== count) throw new Error(`there are ${found} routes, not ${count}`);
  }
}
