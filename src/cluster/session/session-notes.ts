/**
 * What is worth knowing about a running cluster as it is, beside what the control plane sees: pods without a network,
 * nodes without a machine, ports that are taken, Services that a kube-proxy cannot serve. What many pods share is told
 * once.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { listed, plural } from "#core/base/text-layout.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import type { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { controllerOf, isFinished } from "#contracts/kubernetes/pod.ts";
import type { KubeKind, Node, Pod } from "#contracts/kubernetes/objects.ts";
import { type Prefix, formatPrefix, parseIpv4, prefixContains } from "#core/net/ip.ts";
import { BUILT_IN } from "./built-in-objects.ts";
import type { NodeSpec } from "../file/cluster-file.ts";
import type { FlannelTrouble } from "../flannel/flannel-daemons.ts";
import type { HybridOverlayTrouble } from "../hybrid-overlay/hybrid-overlay-daemons.ts";
import type { RouteTrouble } from "../networks/cloud-routes.ts";
import type { PodOutcome, PodRemark } from "../pods/pod-outcome.ts";
import type { OvnNetwork } from "../ovn/ovn-network.ts";
import { WAITS } from "../pods/running-pods.ts";
import type { ServiceTrouble } from "../services/service-proxies.ts";
import type { ClusterTrouble } from "./session.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** What may not have come up in a cluster. */
export interface TroubleSources {
  readonly leftOut: readonly NodeLeftOut[];
  readonly flannel: readonly FlannelTrouble[];
  readonly hybridOverlay: readonly HybridOverlayTrouble[];
  readonly cloudRoutes: readonly RouteTrouble[];
  readonly services: readonly ServiceTrouble[];
  readonly pods: readonly PodOutcome[];
  readonly withoutNode: ReturnType<MemoryKube["podsWithoutNode"]>;
  /** The Node objects. */
  readonly nodes: readonly Node[];
  /** Rows of OVN's northbound database that are not as the cluster file has them, or that nothing comes of; and flows. */
  readonly ovnLeftOut: OvnNetwork["leftOut"];
}

/**
 * What did not come up in a cluster: flanneld and kube-proxy of nodes, pods that have no network, and containers that
 * cannot run. Nodes before pods: the pods' trouble is often the node's. What concerns one Service alone shows in its flows.
 */
export function clusterTroubles({
  leftOut,
  flannel,
  hybridOverlay,
  cloudRoutes,
  services,
  pods,
  withoutNode,
  nodes,
  ovnLeftOut,
}: TroubleSources): readonly ClusterTrouble[] {
  const onNode = (node: string, program: string, { code, message }: FlannelTrouble["finding"]) =>
    troubleOn(node, code, message.startsWith(`${program} `) ? message : `${program}: ${message}`);
  return [
    ...leftOut.map(({ node, text }) => troubleOn(node, "node-without-machine", text)),
    ...nodes.flatMap(nodeNotReady),
    ...flannel.map(({ node, finding }) => onNode(node, "flanneld", finding)),
    ...hybridOverlay.map(({ node, finding }) => onNode(node, "hybrid-overlay-node", finding)),
    ...cloudRoutes.map((trouble) => ({ reference: `node/${trouble.node}`, ...trouble })),
    ...services
      .filter(({ name }) => name === "")
      .map(({ node, finding }) => onNode(node, "kube-proxy", finding)),
    ...outsideRange(pods),
    ...nodesThatWait(pods),
    ...pods.flatMap(podTroubles),
    ...withoutNode.map(({ pod: { metadata }, code, reason }) => ({
      reference: `pod/${metadata.namespace}/${metadata.name}`,
      node: "",
      code,
      text: reason,
    })),
    ...ovnLeftOut.map((each) => ({ reference: "network", node: "", ...each })),
  ];
}

function troubleOn(node: string, code: KnowledgeCode, text: string): ClusterTrouble {
  return { reference: `node/${node}`, node, code, text };
}

/** What a kubelet or whoever sets up networks says of a node that is well. */
const WELL: Readonly<Record<string, string>> = { Ready: "True", NetworkUnavailable: "False" };

/** A node that is not ready where the objects come from: here its machine is well, and so its flows say nothing about it. */
function nodeNotReady({ metadata, status }: Node): readonly ClusterTrouble[] {
  // Those of an API server have a time; others are of this cluster.
  const told = (status?.conditions ?? []).filter(
    ({ lastTransitionTime }) => lastTransitionTime !== undefined,
  );
  const bad = told.find((each) => each.status !== (WELL[each.type] ?? each.status));
  if (bad === undefined) return [];
  const condition = [`${bad.type} ${bad.status}`, bad.reason, bad.message].filter((part) => part).join(", ");
  return [troubleOn(metadata.name, "node-not-ready", WORDS.nodeNotReady({ condition }))];
}

const OUTSIDE_RANGE = "pod-address-outside-range";

/**
 * Pods of a dump whose addresses are of a network that is not here, such as the nodes' own: the dump shows them with a
 * network, so that every answer leaves them out.
 */
function outsideRange(pods: readonly PodOutcome[]): readonly ClusterTrouble[] {
  const byNode = new Map<string, string[]>();
  for (const { pod, running, remarks } of pods) {
    if (running !== undefined || !remarks.some(({ code }) => code === OUTSIDE_RANGE)) continue;
    addToList(byNode, pod.spec?.nodeName ?? "", keyOf(pod));
  }
  return [...byNode].map(([node, keys]) => {
    const names = listed(keys);
    const text =
      keys.length === 1
        ? WORDS.podWithoutNetwork({ names })
        : WORDS.podsWithoutNetwork({ pods: plural(keys.length, "pod"), names });
    return troubleOn(node, OUTSIDE_RANGE, text);
  });
}

/**
 * One pod that waits in a dump is its cluster's business; where all pods of a node wait, its network may be what is
 * missing, and nothing is known of it.
 */
function nodesThatWait(pods: readonly PodOutcome[]): readonly ClusterTrouble[] {
  const withNetwork = pods.filter(({ running }) => running?.spec.network !== "host");
  const waiting = withNetwork.filter(({ remarks }) => remarks.some(({ code }) => code === WAITS));
  return grouped(waiting, ({ pod }) => pod.spec?.nodeName ?? "").flatMap((group) => {
    const node = group[0].pod.spec?.nodeName ?? "";
    const isWhole = withNetwork.every(({ pod, running }) => pod.spec?.nodeName !== node || !running);
    if (!isWhole) return [];
    const names = listed(group.map(({ pod }) => keyOf(pod)));
    return troubleOn(node, WAITS, WORDS.nodeWithoutPodNetworks({ names }));
  });
}

function podTroubles({ pod, running, remarks }: PodOutcome): readonly ClusterTrouble[] {
  const { namespace, name } = pod.metadata;
  // Pods whose addresses no range here has come together, by node; what the input shows waiting waits here as there.
  return remarks
    .filter(({ code, isTrouble }) =>
      running === undefined ? code !== OUTSIDE_RANGE && code !== WAITS : isTrouble === true,
    )
    .map(({ code, text }) => ({
      reference: `pod/${namespace}/${name}`,
      node: pod.spec?.nodeName ?? "",
      code,
      text,
    }));
}

/** The nodes of the cluster by name. */
type Machines = ReadonlyMap<string, NodeSpec>;

/** A remark about one pod. */
export interface PodNote {
  readonly pod: Pod;
  readonly remark: PodRemark;
}

const ADVICE: Partial<Record<KnowledgeCode, string>> = {
  "host-network-unsupported":
    "Make it a HostProcess pod (securityContext.windowsOptions.hostProcess: true), or take hostNetwork out.",
  "dns-host-network-policy-unsupported": "Write dnsPolicy ClusterFirst, or dnsPolicy None with a dnsConfig.",
  "pod-waits-in-input": WORDS.advicePodWaitsInInput,
  "pod-port-in-use": "Give the pods of the node's network different ports.",
  "ipam-range-exhausted": "Give the node a larger podCIDR, or the pods more nodes.",
  "dhcp-range-exhausted": "Make underlay.dhcp.range larger, take exclusions out, or add a server.",
  "dhcp-no-lease": "Write underlay.dhcp.range, make it larger, or write macSpoofing: on.",
  "pod-address-outside-range": WORDS.advicePodAddressOutsideRange,
};

/** Where a note stands. */
type NotePlace = Pick<FileProblem, "file" | "line" | "column">;

function note(
  code: KnowledgeCode,
  place: NotePlace,
  message: string,
  advice: string = ADVICE[code] ?? `More: mullion explain ${code}.`,
): FileProblem {
  return { code, ...place, path: "", message, advice };
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Where an object stands in a text of the user's; nowhere for one that every cluster has. */
function placeOf(kube: MemoryKube, kind: KubeKind, namespace: string, name: string): NotePlace {
  const place = kube.placeOf(kind, namespace, name);
  return place.file === BUILT_IN ? { file: "", line: 0, column: 0 } : place;
}

/** What made the pod, as its user knows it: a ReplicaSet of a Deployment is the Deployment. */
function makerOf(pod: Pod, kube: MemoryKube): string | undefined {
  const { namespace } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner === undefined) return undefined;
  const set = owner.kind === "ReplicaSet" ? kube.get("ReplicaSet", namespace, owner.name) : undefined;
  const top = set === undefined ? owner : (controllerOf(set) ?? owner);
  return `${top.kind} ${namespace}/${top.name}`;
}

function grouped<T>(items: readonly T[], keyOfItem: (item: T) => string): readonly (readonly [T, ...T[]])[] {
  return [...Map.groupBy(items, keyOfItem).values()] as [T, ...T[]][];
}

function subjectOf(pods: readonly [Pod, ...Pod[]], kube: MemoryKube): string {
  const [first] = pods;
  const maker = makerOf(first, kube);
  if (maker === undefined) return `pod ${keyOf(first)}`;
  return pods.length === 1 ? `a pod of ${maker}` : `${pods.length} pods of ${maker}`;
}

/** One note for the pods of one maker that share a remark. */
function notesByMaker(notes: readonly PodNote[], kube: MemoryKube): readonly FileProblem[] {
  const groups = grouped(notes, ({ pod, remark }) =>
    [makerOf(pod, kube) ?? keyOf(pod), remark.code, remark.text].join("\n"),
  );
  return groups.map((group) => {
    const [{ pod, remark }] = group;
    const pods = group.map((each) => each.pod) as [Pod, ...Pod[]];
    const nodes = listed([...new Set(pods.map(({ spec }) => spec?.nodeName ?? ""))].toSorted());
    const place = placeOf(kube, "Pod", pod.metadata.namespace, pod.metadata.name);
    return note(remark.code, place, `${subjectOf(pods, kube)} on ${nodes}: ${remark.text}`);
  });
}

/** Why a node cannot give addresses to its pods: where nodes share a subnet, another one may have them. */
function whyStrange(ips: readonly string[], range: Prefix | undefined): string {
  const addresses = listed(ips);
  if (range === undefined) return `its pod range does not hold ${addresses}`;
  const isOfOthers = ips.every((text) => {
    const ip = parseIpv4(text);
    return ip !== undefined && prefixContains(range, ip);
  });
  if (isOfOthers) return `another node of its subnet has ${addresses} for pods`;
  return `its pod range ${formatPrefix(range)} does not hold ${addresses}`;
}

/** A dump of a network that Mullion does not have says the same of every pod: once for each node. */
function strangeAddresses(
  notes: readonly PodNote[],
  kube: MemoryKube,
  machines: Machines,
): readonly FileProblem[] {
  return grouped(notes, ({ pod }) => pod.spec?.nodeName ?? "").map((group) => {
    const [{ pod, remark }] = group;
    const node = pod.spec?.nodeName ?? "";
    const range = machines.get(node);
    const which = group.length === 1 ? `pod ${keyOf(pod)} has` : `${group.length} pods have`;
    const ips = group.map((each) => each.pod.status?.podIP ?? "");
    const message = `node ${node}: ${which} no network, because ${whyStrange(ips, range?.podCIDR)}`;
    return note(remark.code, placeOf(kube, "Node", "", node), message);
  });
}

/** What the kubelets have to say. */
export function podNotes(
  notes: readonly PodNote[],
  kube: MemoryKube,
  machines: Machines,
): readonly FileProblem[] {
  const isStrange = ({ remark }: PodNote): boolean => remark.code === "pod-address-outside-range";
  return [
    ...strangeAddresses(notes.filter(isStrange), kube, machines),
    ...notesByMaker(
      notes.filter((each) => !isStrange(each)),
      kube,
    ),
  ];
}

/** What keeps flanneld from its work on a node. */
export function networkProgramNotes(
  program: string,
  troubles: readonly FlannelTrouble[],
  kube: MemoryKube,
): readonly FileProblem[] {
  return troubles.map(({ node, finding: { code, message } }) =>
    note(code, placeOf(kube, "Node", "", node), `${program} on ${node}: ${message}`),
  );
}

/** A node that the input has and the cluster does not. */
export interface NodeLeftOut {
  readonly node: string;
  /** One sentence without a full stop. */
  readonly text: string;
}

/** True for a pod that the input shows at work. */
function isShownRunning(pod: Pod): boolean {
  return pod.status?.phase === "Running" || (!isFinished(pod) && pod.status?.podIP !== undefined);
}

/**
 * Nodes without a machine that the input has as objects, or shows pods at work on. A pod that waits for a node which is
 * nowhere waits on a real cluster, too.
 */
export function nodesLeftOut(kube: MemoryKube, machines: Machines): readonly NodeLeftOut[] {
  const nodes = kube.objects("Node").map(({ metadata }) => metadata.name);
  const running = kube.objects("Pod").filter(isShownRunning);
  const names = [...nodes, ...running.flatMap(({ spec }) => spec?.nodeName ?? [])];
  return [...new Set(names)]
    .filter((name) => !machines.has(name))
    .map((node) => {
      const own = running.filter(({ spec }) => spec?.nodeName === node).map(keyOf);
      const what = nodes.includes(node) ? "has no machine" : "is not described";
      const whose =
        own.length === 0
          ? ""
          : `: ${plural(own.length, "pod")} that the input shows running ${own.length === 1 ? "has" : "have"} no network here: ${listed(own)}`;
      return { node, text: `node ${node} ${what}${whose}` };
    });
}

/** Nodes that pods stand on, or that are there, and that have no machine. */
export function machineNotes(kube: MemoryKube, machines: Machines): readonly FileProblem[] {
  const pods = kube
    .objects("Pod")
    .filter(({ spec }) => spec?.nodeName !== undefined && !machines.has(spec.nodeName));
  const names = new Map(kube.objects("Node").map(({ metadata }) => [metadata.name, 0]));
  for (const { spec } of pods) names.set(spec?.nodeName ?? "", (names.get(spec?.nodeName ?? "") ?? 0) + 1);
  return [...names]
    .filter(([name]) => !machines.has(name))
    .map(([name, count]) => {
      const isThere = kube.get("Node", "", name) !== undefined;
      const [first] = pods.filter(({ spec }) => spec?.nodeName === name);
      const place =
        isThere || first === undefined
          ? placeOf(kube, "Node", "", name)
          : placeOf(kube, "Pod", first.metadata.namespace, first.metadata.name);
      const which =
        count === 0
          ? "nothing runs on it"
          : `${plural(count, "pod")} on it do${count === 1 ? "es" : ""} not run`;
      const what = isThere ? "has no machine" : "is not described";
      const advice = isThere
        ? WORDS.adviceNodeInternalIP
        : WORDS.adviceNodeName({ listed: listed([...machines.keys()]) });
      return note("node-without-machine", place, `node ${name} ${what}: ${which}`, advice);
    });
}

/** What the kube-proxies could not do, once for each Service. */
export function serviceNotes(troubles: readonly ServiceTrouble[], kube: MemoryKube): readonly FileProblem[] {
  const groups = grouped(troubles, ({ namespace, name, finding }) =>
    [namespace, name, finding.code, finding.message].join("\n"),
  );
  return groups.map((group) => {
    const [{ namespace, name, finding }] = group;
    const nodes = listed(group.map(({ node }) => node));
    const place =
      name === "" ? placeOf(kube, "Node", "", group[0].node) : placeOf(kube, "Service", namespace, name);
    const subject = name === "" ? "kube-proxy" : `Service ${namespace}/${name}`;
    return note(finding.code, place, `${finding.message} (${subject} on ${nodes})`);
  });
}
