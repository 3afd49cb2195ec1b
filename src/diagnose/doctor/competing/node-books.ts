/** What a node's evidence holds, by what is asked of it: each book is made once, and only when it is asked for. */
import type { Ip } from "#core/net/ip.ts";
import { byId } from "../checks/load-balancers.ts";
import { type FrontEnd, byVip, frontEndsOf, serves } from "../checks/front-ends.ts";
import type {
  ClusterEvidence,
  EndpointRecord,
  KindOfEvidence,
  KubeRecord,
  LoadBalancerRecord,
  NodeEvidence,
} from "../evidence.ts";
import { isPartial } from "../evidence.ts";

/** An address and a port of a Service. */
export interface At {
  readonly vip: Ip;
  readonly port: number;
  /** 6 TCP, 17 UDP. */
  readonly protocol: number;
}

function keyOf({ vip, port, protocol }: At): string {
  return `${vip} ${port} ${protocol}`;
}

export class NodeBooks {
  readonly node: NodeEvidence;
  readonly cluster: ClusterEvidence;
  private services: ReadonlyMap<string, FrontEnd> | undefined;
  private loads: ReadonlyMap<Ip, readonly LoadBalancerRecord[]> | undefined;
  private endpoints: ReadonlyMap<string, EndpointRecord> | undefined;

  constructor(node: NodeEvidence, cluster: ClusterEvidence) {
    this.node = node;
    this.cluster = cluster;
  }

  /** What Kubernetes says of a Service's port. */
  frontEnd(at: At): FrontEnd | undefined {
    this.services ??= new Map(frontEndsOf(this.cluster).map((each) => [keyOf(each), each]));
    return this.services.get(keyOf(at));
  }

  /** Load balancers that are seen to serve a Service's port. */
  loadBalancers(at: At): readonly LoadBalancerRecord[] {
    this.loads ??= byVip(this.node.loadBalancers.filter(({ ports }) => ports !== undefined));
    return (this.loads.get(at.vip) ?? []).filter((each) => serves(each, at));
  }

  get endpointsById(): ReadonlyMap<string, EndpointRecord> {
    this.endpoints ??= byId(this.node.endpoints);
    return this.endpoints;
  }

  endpointsAt(address: Ip): readonly EndpointRecord[] {
    return this.node.endpoints.filter(({ addresses }) => addresses.includes(address));
  }

  /** The node whose pods have this range. */
  nodeBehind(range: string): KubeRecord<"Node"> | undefined {
    return this.cluster.nodes.find(({ object: { spec } }) => spec?.podCIDR === range);
  }

  /** True where everything of a kind was read: then something can be seen to be there once only. */
  hasAll(kind: KindOfEvidence): boolean {
    return !isPartial(kind, this.node, this.cluster);
  }
}
