/**
 * What the input says of a node, as texts. Nodes are of one class where a renaming makes the texts of the one those of the
 * other: nothing that a program of a node reads tells the two apart then.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { serviceKeyOf } from "../cluster-objects.ts";
import { partText } from "./part-text.ts";
import { NOTHING_EXCHANGED, type Renaming } from "./renaming.ts";

const READ_AS = { renaming: NOTHING_EXCHANGED, idOf: (id: string) => id, isKnownMac: () => true };
/** All of a node in a cluster file. */
const SPEC_DEPTH = 8;

export class NodeFacts {
  private readonly cluster: Cluster;
  private readonly texts = new Map<string, string[]>();
  /** What belongs to no node, and may still name one. */
  private readonly common: readonly unknown[];
  /** The node that an address belongs to: its own, and those of its pods. */
  private readonly owners = new Map<string, string>();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    for (const { spec } of cluster.nodes) this.own(spec.name, formatIp(spec.address));
    for (const { node, address, address6 } of cluster.pods) {
      this.own(node.spec.name, formatIp(address));
      if (address6 !== undefined) this.own(node.spec.name, formatIp(address6));
    }
    const { nodes: _nodes, pods: _pods, network, networks, ipv6: _ipv6, ...rest } = cluster.file;
    const withoutRanges = [network, ...networks].map(({ ranges: _ranges, ...each }) => each);
    this.common = [rest, withoutRanges];
    this.readNodes();
    this.readServices();
    this.readSlices();
  }

  /** True where the input tells the nodes apart by nothing but what they call their own. */
  areAlike(one: ClusterNode, other: ClusterNode, renaming: Renaming): boolean {
    const reading = { ...READ_AS, renaming };
    if (partText(one.spec, reading, SPEC_DEPTH) !== partText(other.spec, READ_AS, SPEC_DEPTH)) return false;
    if (partText(this.common, reading, SPEC_DEPTH) !== partText(this.common, READ_AS, SPEC_DEPTH))
      return false;
    const here = this.of(one).map((text) => renaming.ofText(text));
    return here.toSorted().join("\n") === this.of(other).toSorted().join("\n");
  }

  private of({ spec }: ClusterNode): readonly string[] {
    return this.texts.get(spec.name) ?? [];
  }

  private own(node: string, address: string): void {
    this.owners.set(address, node);
  }

  private add(node: string | undefined, fact: readonly unknown[]): void {
    if (node === undefined) return;
    const text = NOTHING_EXCHANGED.ofText(JSON.stringify(fact));
    addToList(this.texts, node, text);
  }

  private readNodes(): void {
    for (const { metadata, spec } of this.cluster.objects.Node) {
      const labels = Object.entries(metadata.labels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
      this.add(metadata.name, ["node", labels, spec?.taints ?? [], spec?.unschedulable ?? false]);
    }
  }

  /** A node whose own address is a front end has something that others have not. */
  private readServices(): void {
    for (const { metadata, spec, status } of this.cluster.objects.Service) {
      const ingress = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
      for (const address of [...(spec?.externalIPs ?? []), ...ingress])
        this.add(this.owners.get(address), ["front end", metadata.namespace, metadata.name, address]);
    }
  }

  private readSlices(): void {
    for (const slice of this.cluster.objects.EndpointSlice) {
      const { metadata, ports } = slice;
      for (const { addresses, nodeName, targetRef, conditions, hints, zone } of slice.endpoints ?? []) {
        const pod = [targetRef?.kind, targetRef?.namespace, targetRef?.name];
        const service = [metadata.namespace, serviceKeyOf(slice), ports];
        const fact = ["back end", service, addresses, nodeName, pod, conditions, hints, zone];
        const owners = new Set([nodeName, ...addresses.map((address) => this.owners.get(address))]);
        for (const owner of owners) this.add(owner, fact);
      }
    }
  }
}
