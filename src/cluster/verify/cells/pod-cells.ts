/** Cells between pods, nodes and the outside. */
import type { FlowName, FlowProtocol } from "#core/catalogue/expectations.ts";
import { type Cell, type CellTarget, makeCell } from "./cell.ts";
import { type RepresentativePair, representativePairs, ringPairs } from "../classes.ts";
import { isOrdinary, pairFacts, relationOf } from "../facts.ts";
import type {
  VerifyModel,
  VerifyNode,
  VerifyOutside,
  VerifyPod,
  VerifyPort,
  VerifySender,
} from "../model.ts";

/**
 * Where every pod and node answers in the copy that is verified, besides its own ports. On a node TCP is the kubelet's, which is
 * there without a copy as well.
 */
export const VERIFY_PORT = 10_250;

/** Up to here classes with policies of their own are paired with each other. */
const SPECIAL_PAIRS_MAX = 400;

const PROTOCOLS: readonly FlowProtocol[] = ["tcp", "udp", "icmp"];

/** A host outside that serves UDP 53 may be a name server, which answers questions and nothing else. */
function isNameServer(traceEnd: VerifySender, { protocol, port }: VerifyPort): boolean {
  return traceEnd.kind === "outside" && protocol === "udp" && port === 53;
}

/** The port that a protocol of `party` is asked on: its own first one, else the one that verify opens. */
export function portOf(traceEnd: VerifySender, protocol: FlowProtocol): number {
  if (protocol === "icmp") return 0;
  const ports =
    traceEnd.kind === "node" ? [] : traceEnd.ports.filter((port) => !isNameServer(traceEnd, port));
  const own = ports.find((port) => port.protocol === protocol);
  return own?.port ?? VERIFY_PORT;
}

/** The names by which the servers of a machine or a pod answer. */
function answerersOf(traceEnd: VerifySender, port: number): readonly string[] | undefined {
  // A port of a node may belong to one of its own programs or to a pod in its network.
  if (traceEnd.kind === "node") return port === VERIFY_PORT ? [traceEnd.name] : undefined;
  if (traceEnd.kind === "outside") return [traceEnd.reference];
  // So may the port that verify opens for a pod that lives there.
  return traceEnd.isHostNetwork && port === VERIFY_PORT ? undefined : [traceEnd.serverName];
}

export function targetOf(traceEnd: VerifySender, protocol: FlowProtocol, name?: string): CellTarget {
  const port = portOf(traceEnd, protocol);
  return {
    reference: traceEnd.reference,
    address: traceEnd.address,
    name,
    port,
    answerers: protocol === "icmp" ? undefined : answerersOf(traceEnd, port),
  };
}

interface PairOptions {
  readonly name?: string | undefined;
  readonly standsFor?: number;
}

function pairCell(
  model: VerifyModel,
  flow: FlowName,
  protocol: FlowProtocol,
  pair: { readonly source: VerifySender; readonly target: VerifySender },
  options: PairOptions = {},
): Cell {
  const { name, standsFor } = options;
  return makeCell({
    facts: pairFacts(model, flow, protocol, {
      ...pair,
      port: portOf(pair.target, protocol),
      hasName: name !== undefined,
    }),
    source: pair.source,
    target: targetOf(pair.target, protocol, name),
    ...(standsFor === undefined ? {} : { standsFor }),
  });
}

/** What a flow from one pod to another is called: a pod in the node's network is the node's. */
function flowBetween(source: VerifyPod, target: VerifyPod): FlowName {
  if (source.isHostNetwork) return "node-to-pod";
  return target.isHostNetwork ? "pod-to-node" : "pod-to-pod-ip";
}

/** True for pods that can be asked for names. Without any name service all are kept, for the table to say so. */
function asksNames(pod: VerifyPod): boolean {
  return pod.usesClusterDns;
}

type PodClasses = ReadonlyMap<string, readonly VerifyPod[]>;

/**
 * Pairs of classes. Pods with policies of their own may be a class each: many such classes are paired with the plain
 * ones only, so that the pairs do not grow with their square.
 */
function classPairs(
  sources: PodClasses,
  targets: PodClasses,
): readonly RepresentativePair<VerifyPod, VerifyPod>[] {
  const isPlain = ([pod]: readonly VerifyPod[]): boolean => pod?.hasOwnPolicies !== true;
  const split = (classes: PodClasses): { plain: PodClasses; special: PodClasses } => ({
    plain: new Map([...classes].filter(([, members]) => isPlain(members))),
    special: new Map([...classes].filter(([, members]) => !isPlain(members))),
  });
  const [from, to] = [split(sources), split(targets)];
  if (from.special.size * to.special.size <= SPECIAL_PAIRS_MAX) return representativePairs(sources, targets);
  return [
    ...representativePairs(from.plain, to.plain),
    ...representativePairs(from.special, to.plain),
    ...representativePairs(from.plain, to.special),
  ];
}

function podToPod(model: VerifyModel): readonly Cell[] {
  const pods = model.pods.filter((pod) => !pod.isHostNetwork);
  const classes = Map.groupBy(pods, (pod) => pod.podClass);
  const resolving = Map.groupBy(pods.filter(asksNames), (pod) => pod.podClass);
  const byAddress = classPairs(classes, classes).flatMap(({ count, ...pair }) =>
    PROTOCOLS.map((protocol) => pairCell(model, "pod-to-pod-ip", protocol, pair, { standsFor: count })),
  );
  const byName = classPairs(resolving, classes).map(({ count, ...pair }) =>
    pairCell(model, "pod-to-pod-name", "tcp", pair, { name: pair.target.dnsName, standsFor: count }),
  );
  return [...byAddress, ...byName];
}

/** Each pod once as sender and once as receiver; neighbouring nodes in their order are passed on the way. */
function cover(model: VerifyModel): readonly Cell[] {
  return ringPairs(model.pods).flatMap(([source, target]) => {
    const isOneMachine = source.isHostNetwork && target.isHostNetwork;
    if (isOneMachine && relationOf(source, target) === "same-node") return [];
    const flow = isOneMachine ? "pod-to-node" : flowBetween(source, target);
    return [pairCell(model, flow, "tcp", { source, target }, { standsFor: 0 })];
  });
}

function withNodes(model: VerifyModel): readonly Cell[] {
  const pods = model.pods.filter((pod) => !pod.isHostNetwork);
  const podClasses = Map.groupBy(pods, (pod) => pod.podClass);
  const nodes = model.nodes.map((node) => ({ node, traceEnd: node }));
  const nodeClasses = Map.groupBy(nodes, ({ node }) => node.nodeClass);
  const toPods = representativePairs(nodeClasses, podClasses).flatMap(({ source, target, count }) =>
    PROTOCOLS.map((protocol) =>
      pairCell(model, "node-to-pod", protocol, { source: source.traceEnd, target }, { standsFor: count }),
    ),
  );
  const toNodes = representativePairs(podClasses, nodeClasses).flatMap(({ source, target, count }) =>
    PROTOCOLS.map((protocol) =>
      pairCell(model, "pod-to-node", protocol, { source, target: target.traceEnd }, { standsFor: count }),
    ),
  );
  return [...toPods, ...toNodes, ...eachNode(model, pods)];
}

/** Each node to and from the first ordinary pod that it runs. */
function eachNode(model: VerifyModel, pods: readonly VerifyPod[]): readonly Cell[] {
  const first = new Map<VerifyNode, VerifyPod>();
  for (const pod of pods) if (isOrdinary(pod) && !first.has(pod.node)) first.set(pod.node, pod);
  return [...first].flatMap(([node, pod]) => [
    pairCell(model, "node-to-pod", "tcp", { source: node, target: pod }, { standsFor: 0 }),
    pairCell(model, "pod-to-node", "tcp", { source: pod, target: node }, { standsFor: 0 }),
    ...model.outside
      .slice(0, 1)
      .filter((outside) => serves(outside, "tcp"))
      .map((target) =>
        pairCell(model, "pod-to-external-ip", "tcp", { source: pod, target }, { standsFor: 0 }),
      ),
  ]);
}

function serves(outside: VerifyOutside, protocol: FlowProtocol): boolean {
  return protocol === "icmp" || outside.ports.some((port) => port.protocol === protocol);
}

/** Each host outside from one pod of each class, in turn. */
function toOutside(model: VerifyModel): readonly Cell[] {
  const pods = model.pods.filter((pod) => !pod.isHostNetwork);
  const classes = Map.groupBy(pods, (pod) => pod.podClass);
  const resolving = Map.groupBy(pods.filter(asksNames), (pod) => pod.podClass);
  return model.outside.flatMap((target, index) => [
    ...[...classes.values()].flatMap((members) =>
      toHost(model, target, members[index % members.length], members.length),
    ),
    ...[...resolving.values()].flatMap((members) => {
      const source = members[index % members.length];
      if (source === undefined || !serves(target, "tcp")) return [];
      const options = { name: target.names[0], standsFor: members.length };
      return [pairCell(model, "pod-to-external-name", "tcp", { source, target }, options)];
    }),
  ]);
}

function toHost(
  model: VerifyModel,
  target: VerifyOutside,
  source: VerifyPod | undefined,
  standsFor: number,
): readonly Cell[] {
  if (source === undefined) return [];
  return PROTOCOLS.filter((protocol) => serves(target, protocol)).map((protocol) =>
    pairCell(model, "pod-to-external-ip", protocol, { source, target }, { standsFor }),
  );
}

/** Clients outside to ports of nodes that lead to pods. */
function toHostPorts(model: VerifyModel): readonly Cell[] {
  const [source] = model.outside;
  if (source === undefined) return [];
  const mapped = model.pods.flatMap((pod) =>
    pod.isHostNetwork
      ? []
      : pod.ports.flatMap((port) =>
          port.hostPort === undefined ? [] : [{ pod, port, hostPort: port.hostPort }],
        ),
  );
  return mapped.map(({ pod, port, hostPort }) =>
    makeCell({
      facts: pairFacts(model, "outside-to-host-port", port.protocol, { source, target: pod }),
      source,
      target: {
        reference: pod.node.reference,
        address: pod.node.address,
        name: undefined,
        port: hostPort,
        answerers: [pod.serverName],
      },
    }),
  );
}

/** All cells without Services. Cells that say the same are left out by who puts them together. */
export function podCells(model: VerifyModel): readonly Cell[] {
  return [
    ...podToPod(model),
    ...toOutside(model),
    ...withNodes(model),
    ...toHostPorts(model),
    ...cover(model),
  ];
}
