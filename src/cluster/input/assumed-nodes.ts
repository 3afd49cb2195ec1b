/**
 * The machines of manifests that bring no Node: of the builds that their pods ask for, under the names and with the labels
 * that their selectors ask for. Whoever writes `nodeSelector: { agentpool: win }` has such a node.
 */
import { listed } from "#core/base/text-layout.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type WindowsProfile, getProfile, parseNodeBuild } from "#core/catalogue/profiles.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { type Ipv4, formatIp, parseIpv4 } from "#core/net/ip.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import { profilesAskedFor, specPlatform } from "#contracts/kubernetes/container-image.ts";
import { labelsAskedFor } from "#contracts/kubernetes/node-labels.ts";
import type { KubeObject, Node, Pod, PodSpec } from "#contracts/kubernetes/objects.ts";
import { podSpecOf, withClassOf } from "#contracts/kubernetes/runtime-class.ts";

/** Nodes without any address count up from here. */
export const FIRST_ADDRESS = (10 * 2 ** 24 + 11) as Ipv4;
/** Linux nodes count up from here. */
const FIRST_LINUX_ADDRESS = (FIRST_ADDRESS + 10) as Ipv4;
/** As many as have an address between the two. */
const OF_ONE_SYSTEM_MAX = 10;
/** Names that a message lists; the rest is counted. */
const KEYS_MAX = 4;

type NodeOs = "windows" | "linux";

/** A node that nobody described. */
interface AssumedNode {
  name: string;
  readonly os: NodeOs;
  readonly build: string | undefined;
  readonly labels: Map<string, string>;
  /** Its name is one that a pod asks for. */
  isNamed: boolean;
}

/** What a pod asks of its node. */
interface Wish {
  readonly os: NodeOs | undefined;
  readonly build: string | undefined;
  readonly name: string | undefined;
  readonly labels: readonly (readonly [string, string])[];
}

/** Labels that every kubelet gives its node by itself. */
const OWN_LABELS: ReadonlySet<string> = new Set([
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "kubernetes.io/hostname",
  "node.kubernetes.io/windows-build",
]);

/** Names that no node of a cluster file has. */
const TAKEN: ReadonlySet<string> = new Set(["router", "outside"]);

/** The specifications of all pods that objects make, each with what its class asks for. */
function podSpecsOf(objects: readonly KubeObject[]): readonly PodSpec[] {
  const classes = new Map(
    objects.flatMap((object) => (object.kind === "RuntimeClass" ? [[object.metadata.name, object]] : [])),
  );
  return objects.flatMap((object) => {
    const spec = podSpecOf(object);
    return spec === undefined ? [] : [withClassOf(spec, classes)];
  });
}

function wishOf(spec: PodSpec): Wish {
  const asked = labelsAskedFor(spec);
  const { os, build } = specPlatform(spec, asked);
  const told = spec.nodeName ?? asked.get("kubernetes.io/hostname");
  const name = told !== undefined && isDnsName(told) && !TAKEN.has(told) ? told : undefined;
  return {
    // Pods for Windows show it somewhere.
    os: os ?? (name === undefined ? undefined : "linux"),
    build: build?.name,
    name,
    labels: [...asked].filter(([key]) => !OWN_LABELS.has(key)),
  };
}

function suits({ os, build, name, labels }: Wish, node: AssumedNode): boolean {
  if (os !== undefined && node.os !== os) return false;
  if (build !== undefined && node.build !== build) return false;
  if (name !== undefined && node.isNamed && node.name !== name) return false;
  return labels.every(([key, value]) => (node.labels.get(key) ?? value) === value);
}

/** The nodes of a cluster whose manifests say nothing of them. */
class AssumedNodes {
  readonly nodes: AssumedNode[] = [];

  add(os: NodeOs, build: string | undefined): AssumedNode {
    const number = this.nodes.filter((node) => node.os === os).length + 1;
    const prefix = os === "windows" ? "win" : "linux";
    const node = {
      name: `${prefix}-${number}`,
      os,
      build,
      labels: new Map<string, string>(),
      isNamed: false,
    };
    this.nodes.push(node);
    return node;
  }

  /** Makes room for a pod. More systems of one kind than there are addresses for stay away, and the pod stays Pending. */
  grant(wish: Wish): void {
    const { name, labels } = wish;
    if (name === undefined && labels.length === 0) return;
    const isThere = name !== undefined && this.nodes.some((node) => node.name === name);
    const suiting = this.nodes.filter((node) => suits(wish, node) && (!isThere || node.name === name));
    const chosen = name === undefined ? suiting : suiting.slice(0, 1);
    const [first] = chosen;
    const nodes = first === undefined ? this.further(wish) : chosen;
    for (const node of nodes) {
      for (const [key, value] of labels) node.labels.set(key, value);
      if (name !== undefined) {
        node.name = name;
        node.isNamed = true;
      }
    }
  }

  private further({ os, build }: Wish): readonly AssumedNode[] {
    const alike = this.nodes.find(
      (node) => (os ?? node.os) === node.os && (build ?? node.build) === node.build,
    );
    if (alike === undefined) return [];
    const count = this.nodes.filter((node) => node.os === alike.os).length;
    return count < OF_ONE_SYSTEM_MAX ? [this.add(alike.os, alike.build)] : [];
  }

  /** As the cluster file lists them. */
  written(): readonly JsonObject[] {
    const counts: Record<NodeOs, number> = { windows: 0, linux: 0 };
    const first: Record<NodeOs, Ipv4> = { windows: FIRST_ADDRESS, linux: FIRST_LINUX_ADDRESS };
    return this.nodes
      .toSorted((a, b) => Number(a.os === "linux") - Number(b.os === "linux"))
      .map(({ name, os, build, labels }) => ({
        name,
        os,
        ...(build !== undefined && { build }),
        address: formatIp((first[os] + counts[os]++) as Ipv4),
        ...(labels.size > 0 && { labels: Object.fromEntries(labels) }),
      }));
  }

  /** Keys of the labels, and names, that the nodes have because pods ask for them. */
  asked(): { readonly keys: readonly string[]; readonly names: readonly string[] } {
    return {
      keys: [...new Set(this.nodes.flatMap(({ labels }) => [...labels.keys()]))],
      names: this.nodes.filter(({ isNamed }) => isNamed).map(({ name }) => name),
    };
  }
}

function formatCount(count: number, what: string): string {
  if (count === 1) return `a ${what}`;
  return `${count === 2 ? "two" : count} ${what}s`;
}

/** What a message says of the nodes: how many of which, and what they have because pods ask for it. */
function describe(nodes: AssumedNodes, profiles: readonly WindowsProfile[], isAsked: boolean): string {
  const titles = [...new Set(profiles.map(({ title }) => title))];
  const countOf = (os: NodeOs): number => nodes.nodes.filter((node) => node.os === os).length;
  const windows =
    titles.length === 1
      ? formatCount(countOf("windows"), `${titles[0]} node`)
      : countOf("windows") === titles.length
        ? `one node each of ${titles.join(" and ")}`
        : `${countOf("windows")} nodes of ${titles.join(" and ")}`;
  const reason = isAsked ? ", which pods ask for by image or selector," : "";
  const { keys, names } = nodes.asked();
  const told = [
    ...(names.length > 0 ? [`the names that pods ask for (${listed(names, KEYS_MAX)})`] : []),
    ...(keys.length > 0 ? [`the labels that selectors ask for (${listed(keys, KEYS_MAX)})`] : []),
  ];
  const having = told.length === 0 ? "" : `, with ${told.join(" and ")}`;
  return `${windows}${reason} and ${formatCount(countOf("linux"), "Linux node")}${having}`;
}

/**
 * The nodes that pods of a dump stand on, when the dump has no Nodes: by the name and the address that each pod has of its
 * node, with the system, the build and the labels that its pods show; none without such pods.
 */
export function nodesOfPods(objects: readonly KubeObject[]): readonly Node[] {
  const byNode = new Map<string, Pod[]>();
  for (const object of objects)
    if (object.kind === "Pod" && parseIpv4(object.status?.hostIP ?? "") !== undefined)
      addToList(byNode, object.spec?.nodeName ?? "", object);
  byNode.delete("");
  return [...byNode].map(([name, pods]) => nodeOfPods(name, pods));
}

function nodeOfPods(name: string, pods: readonly Pod[]): Node {
  const specs = podSpecsOf(pods);
  const wishes = specs.map(wishOf);
  const isWindows = specs.some((spec) => specPlatform(spec, labelsAskedFor(spec)).os === "windows");
  const asked = profilesAskedFor(specs).at(-1);
  const build =
    isWindows && asked !== undefined ? { "node.kubernetes.io/windows-build": `10.0.${asked.build}` } : {};
  const operatingSystem = isWindows ? "windows" : "linux";
  const labels = Object.fromEntries(wishes.flatMap((wish) => wish.labels));
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      namespace: "",
      uid: "",
      labels: { ...labels, ...build, "kubernetes.io/os": operatingSystem },
    },
    status: {
      addresses: [{ type: "InternalIP", address: pods[0]?.status?.hostIP ?? "" }],
      nodeInfo: { operatingSystem },
    },
    // What a kubelet tells besides, nothing shows.
  } as unknown as Node;
}

/** Labels of a node beside those that every kubelet gives. */
export function ownLabels({ metadata }: Node): JsonObject {
  return Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => !OWN_LABELS.has(key)));
}

/**
 * The machines of manifests that bring none, as a cluster file lists them, and what a message says of them; `builds` are those
 * that node groups have, for pods that ask for none.
 */
export function assumedNodes(
  objects: readonly KubeObject[],
  builds: readonly string[] = [],
): {
  readonly nodes: readonly JsonObject[];
  readonly text: string;
} {
  const specs = podSpecsOf(objects);
  const asked = profilesAskedFor(specs);
  const told = builds.flatMap((build) => parseNodeBuild(build)?.profile ?? []);
  const [first = getProfile("ws2022"), ...others] = asked.length > 0 ? asked : told;
  const profiles = others.length === 0 ? [first, first] : [first, ...others];
  const nodes = new AssumedNodes();
  for (const { name } of profiles) nodes.add("windows", name);
  nodes.add("linux", undefined);
  for (const spec of specs) nodes.grant(wishOf(spec));
  return { nodes: nodes.written(), text: describe(nodes, profiles, asked.length > 0) };
}
