/** The kernel's VXLAN device in the place of a Linux node, as flanneld makes it. */

/** Of the tests' and benchmarks' overlay: nodes 10.0.0.11 and .12 with 10.244.1.0/24 and .2.0/24 beside it. */
export const FLANNEL_DEVICE = {
  name: "flannel.4096",
  node: "10.0.0.21",
  pod: "10.244.3.1",
  peers: ["10.0.0.11", "10.0.0.12"],
} as const;

interface ListedNetworks {
  readonly items: readonly {
    readonly Policies: readonly {
      readonly Type: string;
      readonly Settings: Readonly<Record<string, string>>;
    }[];
  }[];
}

/** What Windows nodes know of each other's routers, by the node's address, as Linux spells it. */
function routerMacs({ items }: ListedNetworks): ReadonlyMap<string, string> {
  const routes = items.flatMap(({ Policies }) => Policies).filter(({ Type }) => Type === "RemoteSubnetRoute");
  return new Map(
    routes.map(({ Settings }) => [
      Settings["ProviderAddress"] ?? "",
      (Settings["DistributedRouterMacAddress"] ?? "").toLowerCase().replaceAll("-", ":"),
    ]),
  );
}

/** The programs to run in the node's namespace, one after the other. `networks` is what `mullion get networks -o json` prints. */
export function flannelDeviceCommands(
  networks: string,
  checksums: "udpcsum" | "noudpcsum",
): readonly (readonly string[])[] {
  const macs = routerMacs(JSON.parse(networks) as ListedNetworks);
  const { name, node, pod, peers } = FLANNEL_DEVICE;
  const link = `type vxlan id 4096 dstport 4789 local ${node} nolearning ${checksums}`;
  const lines = [
    `ip link add ${name} address ${macs.get(node)} ${link}`,
    `ip link set ${name} mtu 1450 up`,
    `ip address add ${pod}/32 dev ${name}`,
    ...peers.flatMap((peer, index) => {
      const gateway = `10.244.${index + 1}.0`;
      return [
        `ip neighbour replace ${gateway} lladdr ${macs.get(peer)} dev ${name} nud permanent`,
        `bridge fdb append ${macs.get(peer)} dev ${name} dst ${peer}`,
        `ip route add ${gateway}/24 via ${gateway} dev ${name} onlink src ${pod}`,
      ];
    }),
  ];
  return lines.map((line) => line.split(" "));
}
