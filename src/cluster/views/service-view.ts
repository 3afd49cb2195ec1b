/** Services on Windows nodes: what kube-proxy wants, which load balancers HNS has, and how many rules they came to. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { ValueOf } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { LOAD_BALANCER_KINDS } from "#programs/kube-proxy/report.ts";
import type { FrontEndPlace, ServicePortStatus } from "#programs/kube-proxy/mod.ts";
import { ipProtocolName } from "#core/wire/ip-protocol.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { type LoadBalancerSummary, inventoryLoadBalancers } from "./inventory.ts";
import { selectWindowsNodes } from "./vfp-ports.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** One front end of a Service on one node, or a load balancer that stands for none. */
export const SERVICE_FRONT_END = {
  text: (): string => WORDS.serviceFrontEnd,
  fields: {
    node: "text",
    namespace: { is: "text", text: "Empty for stale ones." },
    name: { is: "text", text: "Of the Service; empty for stale ones." },
    vip: { is: "text", text: "Empty: every address of the node." },
    port: "integer",
    protocol: { is: "text", text: "TCP, UDP, SCTP." },
    state: {
      is: ["programmed", "missing", "stale"],
      text: (): string => WORDS.serviceFrontEndState,
    },
    backEnds: { list: "text", text: "Addresses, as HNS has them." },
    rules: { is: "integer", text: "Rules of VFP, on all ports of the node together." },
    matchedPackets: { is: "integer", text: (): string => WORDS.serviceFrontEndMatched },
    findings: {
      list: {
        text: "Why it is missing, or differs from its definition.",
        fields: { code: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES, message: "text" },
      },
    },
  },
  optional: {
    frontEnd: {
      is: (): typeof LOAD_BALANCER_KINDS => LOAD_BALANCER_KINDS,
      text: "Absent for stale ones.",
    },
    loadBalancer: { is: "text", text: "The id of the load balancer of HNS." },
  },
} as const;
export type ServiceFrontEnd = ValueOf<typeof SERVICE_FRONT_END>;

/** The rules of a load balancer on the ports of a node. */
interface RuleCount {
  readonly rules: number;
  readonly matchedPackets: number;
}

const NO_RULES: RuleCount = { rules: 0, matchedPackets: 0 };

/** What each load balancer has of rules on the ports of a node, and how often they decided. */
function countRules(node: ClusterNode): ReadonlyMap<Guid, RuleCount> {
  const counts = new Map<Guid, RuleCount>();
  const layers = (node.hns?.listSwitches() ?? [])
    .flatMap((each) => each.listPorts())
    .flatMap(({ vfp }) => vfp.layers);
  for (const layer of layers)
    for (const rule of layer.groups.flatMap((group) => group.rules)) {
      const { provenance, action } = rule;
      if (provenance.object !== "HostComputeLoadBalancer") continue;
      const id = provenance.id.toLowerCase();
      const { rules, matchedPackets } = counts.get(id) ?? NO_RULES;
      // Another rule of the same load balancer meets the packet as well: the host's half of direct server return, SNAT.
      const matched = action.type === "lbnat" && action.rewrites !== "mac" ? layer.matchCount(rule) : 0;
      counts.set(id, { rules: rules + 1, matchedPackets: matchedPackets + matched });
    }
  return counts;
}

/** What of HNS one node has, by identifier. */
interface NodeHns {
  readonly node: string;
  readonly loadBalancers: ReadonlyMap<Guid, LoadBalancerSummary>;
  readonly rules: ReadonlyMap<Guid, RuleCount>;
}

function frontEndOf(status: ServicePortStatus, place: FrontEndPlace, hns: NodeHns): ServiceFrontEnd {
  const { namespace, name, protocol } = status;
  const { kind, vip, port, id } = place;
  const loadBalancer = id === undefined ? undefined : hns.loadBalancers.get(id.toLowerCase());
  const reported = status.findings
    .filter(({ frontEnd }) => frontEnd === undefined || (frontEnd.kind === kind && frontEnd.vip === vip))
    .map(({ code, message }) => ({ code, message }));
  const lost =
    id === undefined || loadBalancer !== undefined
      ? []
      : [{ code: "hns-load-balancers-lost", message: WORDS.loadBalancerLost({ id }) } as const];
  return {
    node: hns.node,
    namespace,
    name,
    frontEnd: kind,
    vip,
    port,
    protocol,
    state: loadBalancer === undefined ? "missing" : "programmed",
    ...(id === undefined || loadBalancer === undefined ? {} : { loadBalancer: id }),
    backEnds: loadBalancer?.BackEnds ?? [],
    ...((id === undefined ? undefined : hns.rules.get(id.toLowerCase())) ?? NO_RULES),
    findings: [...lost, ...reported],
  };
}

function staleOne(id: Guid, loadBalancer: LoadBalancerSummary, { node, rules }: NodeHns): ServiceFrontEnd {
  const [mapping] = loadBalancer.PortMappings ?? [];
  return {
    node,
    namespace: "",
    name: "",
    vip: loadBalancer.FrontendVIPs?.[0] ?? "",
    port: mapping?.ExternalPort ?? 0,
    protocol: ipProtocolName(mapping?.Protocol ?? 0),
    state: "stale",
    loadBalancer: id,
    backEnds: loadBalancer.BackEnds,
    ...(rules.get(id) ?? NO_RULES),
    findings: [],
  };
}

/**
 * Every front end on the Windows nodes, or on one of them. `statusesOn` tells what the kube-proxy of a node knows.
 * @throws RequestError for a node that does not exist, or runs Linux.
 */
export async function viewServices(
  cluster: Cluster,
  statusesOn: (node: string) => readonly ServicePortStatus[] | undefined,
  nodeName: string | undefined,
): Promise<readonly ServiceFrontEnd[]> {
  const found: ServiceFrontEnd[] = [];
  for (const node of selectWindowsNodes(cluster, nodeName)) {
    const { name } = node.spec;
    const statuses = statusesOn(name);
    if (statuses === undefined) continue;
    const listed = await inventoryLoadBalancers(cluster, name);
    const loadBalancers = new Map(listed.map(({ object }) => [object.ID.toLowerCase(), object]));
    const hns: NodeHns = { node: name, loadBalancers, rules: countRules(node) };
    for (const status of statuses)
      for (const place of status.places) found.push(frontEndOf(status, place, hns));
    const held = new Set(statuses.flatMap(({ places }) => places.map(({ id }) => id?.toLowerCase())));
    for (const [id, loadBalancer] of loadBalancers)
      if (!held.has(id)) found.push(staleOne(id, loadBalancer, hns));
  }
  return found;
}
