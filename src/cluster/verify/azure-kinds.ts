/** What tells nodes and pods in a virtual network of Azure apart: the rules and routes that are about one and not another. */
import { type Ip, prefixContains } from "#core/net/ip.ts";
import type { SecurityGroup, SecuritySide } from "#dataplane/fabric/azure/security-group.ts";
import type { VirtualNetworkSpec, VirtualNic } from "#dataplane/fabric/azure/virtual-network.ts";
import type { Cluster } from "../cluster.ts";

/** What limits tell apart among pods and nodes, by reference; empty for what is like any other. */
export interface LimitKinds {
  kindOf(reference: string): string;
}

function isNamed(side: SecuritySide, ip: Ip, { applicationGroups, address }: VirtualNic): boolean {
  if (side.kind === "ranges") return side.ranges.some((range) => prefixContains(range, ip));
  return (
    side.kind === "groups" && address === ip && side.groups.some((each) => applicationGroups.includes(each))
  );
}

/** Rules that name the address itself, not all of its network. */
function rulesAbout(groups: readonly SecurityGroup[], ip: Ip, nic: VirtualNic): readonly string[] {
  return groups.flatMap(({ name, rules }) =>
    rules.flatMap((rule) => {
      const sides = [rule.source, rule.destination]
        .map((side) => (isNamed(side, ip, nic) ? "1" : "0"))
        .join("");
      return sides === "00" ? [] : `${name}/${rule.direction}/${rule.priority}/${sides}`;
    }),
  );
}

function kindIn({ subnets, nics }: VirtualNetworkSpec, nic: VirtualNic, ip: Ip): string {
  const own = subnets.find(({ prefix }) => prefixContains(prefix, nic.address));
  const all = [...subnets, ...nics].flatMap(({ securityGroup }) => securityGroup ?? []);
  const routes = subnets.flatMap((subnet) =>
    subnet.routes.filter(({ prefix }) => prefixContains(prefix, ip)).map(({ nextHopType }) => nextHopType),
  );
  const isOwnNextHop = subnets.some((subnet) => subnet.routes.some(({ nextHop }) => nextHop === nic.address));
  const words = [
    own?.name,
    nic.securityGroup?.name,
    nic.isForwarding,
    isOwnNextHop,
    nic.applicationGroups.join(),
    [...new Set(rulesAbout(all, ip, nic))].join(),
    routes.join(),
  ];
  return words.join(" ");
}

/** `kinds`, and apart from one another whom the virtual network treats otherwise. */
export function withAzureKinds({ file, nodes, pods }: Cluster, kinds: LimitKinds): LimitKinds {
  const { azure } = file.underlay;
  if (azure === undefined) return kinds;
  const known = new Map<string, string>();
  const add = (reference: string, machine: string, ip: Ip): void => {
    const nic = azure.nics.find((each) => each.machine === machine);
    if (nic !== undefined) known.set(reference, kindIn(azure, nic, ip));
  };
  for (const { spec } of nodes) add(`node/${spec.name}`, spec.name, spec.address);
  for (const { spec, address, node } of pods)
    add(`pod/${spec.namespace}/${spec.name}`, node.spec.name, address);
  return { kindOf: (reference) => [kinds.kindOf(reference), known.get(reference)].filter(Boolean).join(" ") };
}
