/** Load balancers of Services (control-planes.md §4.2, "Services → Load_Balancer"). */
import { mapOf, setOf } from "#contracts/ovsdb/client.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { EndpointSlice, Service, ServicePort } from "#contracts/kubernetes/objects.ts";
import { parseIpv4 } from "#core/net/ip.ts";
import { type WantedRows, reference } from "../wanted-rows.ts";
import type { OvnInput, OvnNode } from "./input.ts";
import type { Groups } from "./topology.ts";

/** What a back end that talks to itself through its Service is seen as (`V4OVNServiceHairpinMasqueradeIP`). */
const HAIRPIN_ADDRESS = "169.254.169.5";
const AFFINITY_SECONDS = 10_800;

interface BackEnd {
  readonly target: string;
  readonly node: string | undefined;
}

function backEndsOf(slices: readonly EndpointSlice[], port: ServicePort): readonly BackEnd[] {
  return slices.flatMap((slice) => {
    const found = (slice.ports ?? []).find(
      ({ name = "", protocol = "TCP" }) =>
        (name ?? "") === (port.name ?? "") && protocol === (port.protocol ?? "TCP"),
    );
    if (found?.port === undefined || slice.addressType !== "IPv4") return [];
    return (slice.endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses, nodeName }) =>
        addresses.map((address) => ({
          target: `${address}:${String(found.port)}`,
          node: nodeName ?? undefined,
        })),
      );
  });
}

function isIpv4(text: string | undefined): text is string {
  return text !== undefined && parseIpv4(text) !== undefined;
}

/** Addresses of a Service that are the same on every node. */
function addressesOf({ spec, status }: Service): {
  readonly inside: readonly string[];
  readonly outside: readonly string[];
} {
  const inside = (spec?.clusterIPs ?? [spec?.clusterIP]).filter(isIpv4);
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  return { inside, outside: [...(spec?.externalIPs ?? []), ...ingress].filter(isIpv4) };
}

function optionsOf({ spec }: Service, skipsSnat: boolean): Readonly<Record<string, string>> {
  const seconds = spec?.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS;
  return {
    event: "false",
    reject: "true",
    hairpin_snat_ip: HAIRPIN_ADDRESS,
    skip_snat: String(skipsSnat),
    ...(spec?.sessionAffinity === "ClientIP" ? { affinity_timeout: String(seconds) } : {}),
  };
}

class ServiceBalancers {
  /** By group: who is in it. */
  readonly members = { cluster: [] as string[], switches: [] as string[], routers: [] as string[] };
  /** By switch or router of a node. */
  readonly ofNode = new Map<string, string[]>();
  private readonly wanted: WantedRows;

  constructor(wanted: WantedRows) {
    this.wanted = wanted;
  }

  put(
    service: Service,
    protocol: string,
    suffix: string,
    vips: Readonly<Record<string, string>>,
    skipsSnat = false,
  ): string {
    const { namespace, name: own } = service.metadata;
    const name = `Service_${namespace}/${own}_${protocol}_${suffix}`;
    return this.wanted.put("Load_Balancer", name, {
      name,
      protocol: protocol.toLowerCase(),
      vips: mapOf(vips),
      options: mapOf(optionsOf(service, skipsSnat)),
      external_ids: mapOf({ "k8s.ovn.org/kind": "Service", "k8s.ovn.org/owner": `${namespace}/${own}` }),
    });
  }

  attach(holder: string, id: string): void {
    const ids = this.ofNode.get(holder) ?? [];
    this.ofNode.set(holder, ids);
    ids.push(id);
  }
}

function targets(backEnds: readonly BackEnd[], node?: string): string {
  return backEnds
    .filter((backEnd) => node === undefined || backEnd.node === node)
    .map(({ target }) => target)
    .join(",");
}

/** VIPs of one protocol: of all nodes alike, of inside and outside, and of one node. */
function putProtocol(
  balancers: ServiceBalancers,
  service: Service,
  protocol: string,
  { slices, nodes }: { slices: readonly EndpointSlice[]; nodes: readonly OvnNode[] },
): void {
  const ports = (service.spec?.ports ?? []).filter((port) => (port.protocol ?? "TCP") === protocol);
  const { inside, outside } = addressesOf(service);
  const isLocalOutside = service.spec?.externalTrafficPolicy === "Local";
  const isLocalInside = service.spec?.internalTrafficPolicy === "Local";
  const all = ports.map((port) => ({ port, backEnds: backEndsOf(slices, port) }));
  const vipsFor = (addresses: readonly string[], node?: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      all.flatMap(({ port, backEnds }) =>
        addresses.map((address) => [`${address}:${port.port}`, targets(backEnds, node)] as const),
      ),
    );
  const common = [...(isLocalInside ? [] : inside), ...(isLocalOutside ? [] : outside)];
  if (common.length > 0)
    balancers.members.cluster.push(balancers.put(service, protocol, "cluster", vipsFor(common)));
  for (const node of nodes) {
    if (isLocalInside)
      balancers.attach(
        node.name,
        balancers.put(service, protocol, `node_switch_${node.name}`, vipsFor(inside, node.name)),
      );
    const ofNode = all.flatMap(({ port, backEnds }) =>
      port.nodePort === undefined || port.nodePort === 0
        ? []
        : [
            [
              `${node.gateway.address}:${port.nodePort}`,
              targets(backEnds, isLocalOutside ? node.name : undefined),
            ] as const,
          ],
    );
    const vips = { ...Object.fromEntries(ofNode), ...(isLocalOutside ? vipsFor(outside, node.name) : {}) };
    if (Object.keys(vips).length === 0) continue;
    const suffix = isLocalOutside ? `node_local_router_${node.name}` : `node_router+switch_${node.name}`;
    const id = balancers.put(service, protocol, suffix, vips, isLocalOutside);
    balancers.attach(`GR_${node.name}`, id);
    if (!isLocalOutside) for (const each of nodes) balancers.attach(each.name, id);
  }
}

/** The groups that switches and routers name; who is in them is put later. */
export function groupsOf(wanted: WantedRows): Groups {
  const group = (name: string): string => wanted.put("Load_Balancer_Group", name, { name });
  return {
    cluster: group("clusterLBGroup"),
    switches: group("clusterSwitchLBGroup"),
    routers: group("clusterRouterLBGroup"),
  };
}

export function putServices(wanted: WantedRows, { services, slices, nodes }: OvnInput): void {
  const balancers = new ServiceBalancers(wanted);
  for (const service of services) {
    if (service.spec?.type === "ExternalName") continue;
    const { namespace, name } = service.metadata;
    const own = slices.filter(
      ({ metadata }) => metadata.namespace === namespace && metadata.labels?.[SERVICE_NAME_LABEL] === name,
    );
    const protocols = new Set((service.spec?.ports ?? []).map(({ protocol = "TCP" }) => protocol));
    for (const protocol of protocols) putProtocol(balancers, service, protocol, { slices: own, nodes });
  }
  const name = "clusterLBGroup";
  wanted.put("Load_Balancer_Group", name, {
    name,
    load_balancer: setOf(balancers.members.cluster.map(reference)),
  });
  for (const node of nodes)
    for (const [table, holder] of [
      ["Logical_Switch", node.name],
      ["Logical_Router", `GR_${node.name}`],
    ] as const)
      wanted.put(table, holder, {
        ...wanted.get(table, holder),
        load_balancer: setOf((balancers.ofNode.get(holder) ?? []).map(reference)),
      });
}
