/**
 * What objects that no renaming reads say of one node and not of another: its name, or ranges of addresses that hold what
 * it calls its own. Nodes with different marks are of different classes.
 */
import type { KubeKind } from "#contracts/kubernetes/objects.ts";
import { type Ip, type Prefix, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import { type PodKinds, rangesOf } from "./renaming-of.ts";

/** A renaming is read from these; what they say of a node is compared there. */
const READ_BY_RENAMING: ReadonlySet<KubeKind> = new Set(["Node", "Pod", "EndpointSlice", "Endpoints"]);
/** Nothing that a machine does follows from them. */
const WITHOUT_EFFECT: ReadonlySet<KubeKind> = new Set(["Event", "Lease"]);

const WORD = /[A-Za-z0-9][A-Za-z0-9.:-]*(?:\/\d{1,3})?/g;

/** Every word of the objects that no renaming reads. */
function wordsOf({ objects }: Cluster): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [kind, list] of Object.entries(objects) as readonly [KubeKind, readonly object[]][]) {
    if (READ_BY_RENAMING.has(kind) || WITHOUT_EFFECT.has(kind)) continue;
    for (const object of list)
      for (const [word] of JSON.stringify(object).matchAll(WORD)) {
        words.add(word);
        // A name with a domain, or with a port.
        const [label = word] = word.split(/[.:]/, 1);
        words.add(label);
      }
  }
  return words;
}

function rangeIn(word: string): Prefix | undefined {
  if (word.includes("/")) return parsePrefix(word);
  const address: Ip | undefined = parseIp(word);
  return address === undefined ? undefined : { address, length: typeof address === "number" ? 32 : 128 };
}

function overlap(one: Prefix, other: Prefix): boolean {
  if (typeof one.address !== typeof other.address) return false;
  return one.length <= other.length ? prefixContains(one, other.address) : prefixContains(other, one.address);
}

/** All that a node calls its own among addresses. */
function ownRanges(cluster: Cluster, node: ClusterNode, pods: readonly ClusterPod[]): readonly Prefix[] {
  return [
    ...[node.spec.address, ...pods.map(({ address }) => address)].map((address) => ({
      address,
      length: typeof address === "number" ? 32 : 128,
    })),
    ...rangesOf(cluster, node).flatMap((range) => range ?? []),
  ];
}

export class NodeMarks {
  private readonly cluster: Cluster;
  private readonly kinds: PodKinds;
  private readonly words: ReadonlySet<string>;
  private readonly ranges: readonly Prefix[];

  constructor(cluster: Cluster, kinds: PodKinds) {
    this.cluster = cluster;
    this.kinds = kinds;
    this.words = wordsOf(cluster);
    this.ranges = [...this.words].flatMap((word) => rangeIn(word) ?? []);
  }

  /** The same text for nodes of which the same is said. */
  of(node: ClusterNode): string {
    const { name, hostname } = node.spec;
    if (this.words.has(name) || this.words.has(hostname)) return name;
    const own = ownRanges(this.cluster, node, this.kinds.on(node));
    const marks = this.ranges.map((range) => own.some((each) => overlap(range, each)));
    return marks.map((mark) => (mark ? "x" : ".")).join("");
  }
}
