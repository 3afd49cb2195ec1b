/** What is known of a flow before it is tried, in the words of the table of expectations. */
import { hasFeature } from "#contracts/hcn/features.ts";
import { hnsVersionOf } from "#core/catalogue/profiles.ts";
import {
  ALL_UPDATES,
  type FlowFacts,
  type FlowName,
  type FlowProtocol,
} from "#core/catalogue/expectations.ts";
import { type Ip, addToIp, prefixContains } from "#core/net/ip.ts";
import type {
  VerifyHostNetworkPod,
  VerifyModel,
  VerifyNetwork,
  VerifyNode,
  VerifyPod,
  VerifySender,
  VerifyService,
  VerifyServicePort,
} from "./model.ts";
import { isCutOff, isLeftOut, isServed } from "./service-port.ts";

/** The node that a sender or receiver is, or runs on. */
export function nodeOf(traceEnd: VerifySender): VerifyNode | undefined {
  if (traceEnd.kind === "pod") return traceEnd.node;
  return traceEnd.kind === "node" ? traceEnd : undefined;
}

function machineFacts(node: VerifyNode | undefined): {
  readonly os: FlowFacts["sourceOs"];
  readonly build: number;
  readonly revision: number;
  readonly named: number;
} {
  if (node === undefined) return { os: "outside", build: 0, revision: 0, named: 0 };
  if (node.windows === undefined) return { os: node.os, build: 0, revision: 0, named: 0 };
  const { profile, revision, named = 0 } = node.windows;
  return { os: node.os, build: profile.build, revision: revision ?? ALL_UPDATES, named };
}

/** See `FlowFacts.losesPodsWithDsr`. */
function losesPodsWithDsr(model: VerifyModel, node: VerifyNode | undefined): boolean {
  if (node?.losesPodsWithDsr !== true || !model.isDsr || !model.hasProxy) return false;
  const hasService = model.services.some(
    ({ kind, ports }) => kind === "cluster-ip" && ports.some(({ backEnds }) => backEnds.length > 0),
  );
  // The name service is a Service, too.
  return hasService || model.dnsZone !== undefined;
}

/** The network of pods that a flow is in: the sender's, else the receiver's. */
function networkOfFlow(model: VerifyModel, source: VerifySender, target?: VerifySender): VerifyNetwork {
  const pod = [source, target].find((traceEnd) => traceEnd?.kind === "pod" && !traceEnd.isHostNetwork);
  return pod?.kind === "pod" ? pod.network : model.network;
}

/** True when the machines around know the way to `address`, of a pod or of a node. */
function isKnownAround(model: VerifyModel, address: Ip, { shape }: VerifyNetwork): boolean {
  if (shape === "shared" || model.nodes.some((node) => node.address === address)) return true;
  return model.routedRanges.some((range) => prefixContains(range, address));
}

/** True when `node`, or else the network around it, knows the way to a pod's address. */
function isKnownTo(
  model: VerifyModel,
  node: VerifyNode | undefined,
  address: Ip,
  network: VerifyNetwork,
): boolean {
  if (node === undefined) return isKnownAround(model, address, network);
  // Each node of a virtual network is told of the others' ranges (dataplane.md §2.3 O-2).
  const isMember = network.isVirtual && network.ranges[node.name] !== undefined;
  const isInTable = model.tableRanges.some((range) => prefixContains(range, address));
  return network.hasStaticRoutes || isMember || isInTable || isKnownAround(model, address, network);
}

function networksOf(source: VerifySender, target: VerifySender): FlowFacts["networks"] {
  if (source.kind !== "pod" || target.kind !== "pod" || source.isHostNetwork || target.isHostNetwork)
    return "same";
  if (source.network === target.network) return "same";
  return source.network.isVirtual && target.network.isVirtual ? "virtual" : "joined";
}

/** A transparent pod whose frames the fabric refuses: they never leave its node, nor do answers come to it. */
function isMacRefused(traceEnd: VerifySender): boolean {
  if (traceEnd.kind !== "pod" || traceEnd.isHostNetwork || traceEnd.network.driver !== "Transparent")
    return false;
  return traceEnd.node.hasMacGuard;
}

function isDeniedByFabric(model: VerifyModel, source: Ip, target: Ip): boolean {
  return model.denials.some(({ from, to }) =>
    [
      [source, target],
      [target, source],
    ].some(([one, other]) => prefixContains(from, one as Ip) && prefixContains(to, other as Ip)),
  );
}

function outboundNatOf(model: VerifyModel, source: VerifySender, target: Ip): FlowFacts["outboundNat"] {
  const { hasOutboundNat, natExceptions } = networkOfFlow(model, source);
  if (source.kind !== "pod" || source.isHostNetwork || source.node.os !== "windows" || !hasOutboundNat)
    return "none";
  return natExceptions.some((range) => prefixContains(range, target)) ? "excepted" : "translates";
}

/** From here on kube-proxy asks for the family, too (kube-proxy.md §3.11). */
const SECOND_FAMILY_MINOR = 36;

/** The bridge endpoint of a node's own subnet: what its pods see when the node asks them (dataplane.md §2.4 B-8). */
const BRIDGE_OFFSET = 2;

/** The address with which packets of `source` arrive at `target`. */
function arrivalAddress(model: VerifyModel, source: VerifySender, target: VerifyPod): Ip {
  const node = nodeOf(source);
  if (node === undefined) return source.address;
  if (source.kind === "pod" && !source.isHostNetwork) {
    return outboundNatOf(model, source, target.address) === "translates" ? node.address : source.address;
  }
  const { driver, hasBridge } = target.network;
  // Linux nodes send from their VXLAN device, whose address is the first of their range.
  const range = target.network.ranges[node.name];
  if (range === undefined) return node.address;
  if (driver === "Overlay" && node.os === "linux") return range.address;
  const isBridged = node.index === target.node.index && hasBridge;
  return isBridged ? (addToIp(range.address, BRIDGE_OFFSET) ?? node.address) : node.address;
}

/** See `FlowFacts.areAnswersTranslated`. The address of the pod's own node is never translated (SDNRoute of win-bridge). */
function areAnswersTranslated(
  model: VerifyModel,
  source: VerifySender,
  target: VerifySender,
  asked: string,
): boolean {
  if (target.kind !== "pod" || target.balancedPorts.has(asked)) return false;
  // OVN knows connections: answers are not translated on their own (ovn-northd(8)).
  if (model.setUp === "ovn") return false;
  const arrival = arrivalAddress(model, source, target);
  return arrival !== target.node.address && outboundNatOf(model, target, arrival) === "translates";
}

function hasOwnRules(traceEnd: VerifySender): boolean {
  return traceEnd.kind === "pod" && traceEnd.ownRules !== "";
}

/** See `FlowFacts.mayOpenNoConnections`. */
function mayOpenNoConnections(source: VerifySender): boolean {
  if (source.kind !== "pod" || source.isHostNetwork) return false;
  return source.network.driver === "NAT" && source.node.deniesNatOutbound;
}

/** Facts that every flow has; those of a Service say "none". */
function commonFacts(
  model: VerifyModel,
  source: VerifySender,
  network: VerifyNetwork = networkOfFlow(model, source),
): Omit<FlowFacts, "flow" | "protocol"> {
  const sender = machineFacts(nodeOf(source));
  return {
    relation: "service",
    sourceOs: sender.os,
    sourceBuild: sender.build,
    sourceRevision: sender.revision,
    sourceBuildNamed: sender.named,
    targetOs: "outside",
    targetBuild: 0,
    targetRevision: 0,
    driver: network.driver,
    shape: network.shape === "shared" ? "node-subnet" : "own-subnet",
    hasOtherVni: network.hasOtherVni,
    hasGivenSubnetFile: nodeOf(source)?.hasGivenSubnetFile === true,
    networks: "same",
    hasTwin: false,
    isMacRefused: false,
    isDeniedByFabric: false,
    kubernetesMinor: model.kubernetesMinor,
    outboundNat: "none",
    areAnswersTranslated: false,
    hasRouteToTarget: true,
    hasRouteToSource: true,
    hasOwnRules: hasOwnRules(source),
    hasLoopbackDsr: network.hasLoopbackDsr,
    hasDns: model.dnsZone !== undefined && source.kind === "pod" && source.usesClusterDns,
    isHostProcess: false,
    hasName: true,
    setUp: model.setUp,
    hasProxy: model.hasProxy,
    isDsr: model.isDsr,
    // Load balancers, and so the defect, are of the network that kube-proxy serves.
    losesPodsWithDsr: network.isFirst && losesPodsWithDsr(model, nodeOf(source)),
    mayOpenNoConnections: mayOpenNoConnections(source),
    service: "none",
    isClientServed: true,
    strayBackEnds: "none",
    backEnds: 0,
    localBackEnds: 0,
    askedHasPods: true,
    losesOverlayNodePorts: false,
    losesSecondNodePort: false,
    preservesDestination: false,
    hasStrangers: false,
    internalTrafficPolicy: "Cluster",
    externalTrafficPolicy: "Cluster",
    serviceState: "as-written",
    asDocumented: model.asDocumented,
  };
}

export function relationOf(
  source: VerifySender,
  target: VerifySender,
): "same-node" | "other-node" | "outside" {
  const [from, to] = [nodeOf(source), nodeOf(target)];
  if (from === undefined || to === undefined) return "outside";
  return from.index === to.index ? "same-node" : "other-node";
}

/** Facts of a pod that asks for the network of its node. */
export function hostNetworkFacts(model: VerifyModel, pod: VerifyHostNetworkPod): FlowFacts {
  return {
    ...commonFacts(model, pod.node),
    flow: "pod-in-host-network",
    protocol: "tcp",
    relation: "same-node",
    isHostProcess: pod.isHostProcess,
  };
}

/** Facts of what a Service lacks, seen by the kube-proxy of a node. */
export function serviceStateFacts(
  model: VerifyModel,
  node: VerifyNode,
  serviceState: FlowFacts["serviceState"],
): FlowFacts {
  return { ...commonFacts(model, node), flow: "service-state", protocol: "tcp", serviceState };
}

/** Facts of a program or a pod of a node that has to come up. */
export function bringUpFacts(model: VerifyModel, node: VerifyNode): FlowFacts {
  return { ...commonFacts(model, node), flow: "bring-up", protocol: "tcp", relation: "same-node" };
}

/** Facts of a flow between two that are named by their addresses. `hasName`: the receiver has a name to use. */
export function pairFacts(
  model: VerifyModel,
  flow: FlowName,
  protocol: FlowProtocol,
  pair: {
    readonly source: VerifySender;
    readonly target: VerifySender;
    readonly port?: number;
    readonly hasName?: boolean;
  },
): FlowFacts {
  const { source, target } = pair;
  const receiver = machineFacts(nodeOf(target));
  const relation = relationOf(source, target);
  const network = networkOfFlow(model, source, target);
  const knower = (traceEnd: VerifySender) => (relation === "outside" ? undefined : nodeOf(traceEnd));
  return {
    ...commonFacts(model, source, network),
    flow,
    protocol,
    relation,
    targetOs: receiver.os,
    targetBuild: receiver.build,
    targetRevision: receiver.revision,
    outboundNat: outboundNatOf(model, source, target.address),
    areAnswersTranslated: areAnswersTranslated(model, source, target, `${protocol} ${pair.port ?? 0}`),
    networks: networksOf(source, target),
    hasTwin: target.kind === "pod" ? target.hasTwin : source.kind === "pod" && source.hasTwin,
    isMacRefused: relation !== "same-node" && (isMacRefused(source) || isMacRefused(target)),
    isDeniedByFabric: isDeniedByFabric(model, source.address, target.address),
    hasRouteToTarget:
      relation === "same-node" ||
      target.kind === "outside" ||
      isKnownTo(model, knower(source), target.address, network),
    hasRouteToSource:
      relation === "same-node" ||
      source.kind === "outside" ||
      isKnownTo(model, knower(target), source.address, network),
    hasOwnRules: hasOwnRules(source) || hasOwnRules(target),
    hasName: pair.hasName ?? false,
  };
}

/** What OutBoundNAT does with packets to back ends whose address has taken the place of the Service's. */
function outboundNatToBackEnds(
  model: VerifyModel,
  source: VerifySender,
  port: VerifyServicePort,
): FlowFacts["outboundNat"] {
  const outcomes = port.backEnds.map(({ address }) => outboundNatOf(model, source, address));
  return outcomes.includes("translates") ? "translates" : (outcomes[0] ?? "none");
}

/** True when the node that chooses knows the way to every back end. */
function isRouted(model: VerifyModel, port: VerifyServicePort, chooser: VerifyNode | undefined): boolean {
  return port.backEnds.every(
    (backEnd) =>
      isCutOff(backEnd) ||
      backEnd.pod?.node.index === chooser?.index ||
      isKnownTo(model, chooser, backEnd.address, model.network),
  );
}

/** How many of the back ends run on a node, and are known to its kube-proxy. */
export function countLocal(port: VerifyServicePort, node: VerifyNode | undefined): number {
  return port.backEnds.filter(
    ({ pod }) => pod !== undefined && pod.node.index === node?.index && isServed(pod),
  ).length;
}

/** See `FlowFacts.strayBackEnds`. */
function strayBackEnds(
  { backEnds }: VerifyServicePort,
  chooser: VerifyNode | undefined,
): FlowFacts["strayBackEnds"] {
  const chosen = backEnds.filter((each) => !isLeftOut(each, chooser));
  const cutOff = chosen.filter(isCutOff);
  if (backEnds.length > 0 && cutOff.length === chosen.length) return "all";
  return cutOff.length === 0 ? "none" : "some";
}

/**
 * Facts of a flow to a Service. `asked`: the node whose NodePort or load balancer address is asked; it chooses the back
 * end. Without it the sender's own node chooses.
 */
export function serviceFacts(
  model: VerifyModel,
  flow: FlowName,
  protocol: FlowProtocol,
  traceEnds: {
    readonly source: VerifySender;
    readonly service: VerifyService;
    readonly port: VerifyServicePort;
    readonly asked?: VerifyNode;
  },
): FlowFacts {
  const { source, service, port, asked } = traceEnds;
  const common = commonFacts(model, source);
  const receiver = asked === undefined ? undefined : machineFacts(asked);
  return {
    ...common,
    flow,
    protocol,
    ...(receiver === undefined
      ? {}
      : { targetOs: receiver.os, targetBuild: receiver.build, targetRevision: receiver.revision }),
    hasOwnRules: common.hasOwnRules || port.backEnds.some(({ pod }) => pod !== undefined && hasOwnRules(pod)),
    outboundNat: outboundNatToBackEnds(model, source, port),
    hasRouteToTarget: isRouted(model, port, asked ?? nodeOf(source)),
    service: service.kind,
    isClientServed: source.kind !== "pod" || isServed(source),
    strayBackEnds: strayBackEnds(port, asked ?? nodeOf(source)),
    backEnds: port.backEnds.filter((each) => !isLeftOut(each, asked ?? nodeOf(source))).length,
    localBackEnds: countLocal(port, asked ?? nodeOf(source)),
    askedHasPods: asked?.hasPods ?? true,
    losesOverlayNodePorts: asked?.losesOverlayNodePorts === true,
    losesSecondNodePort: losesSecondNodePort(model, service, port, asked),
    preservesDestination: preservesDestination(service, asked),
    hasStrangers: port.backEnds.some(({ pod }) => pod === undefined),
    internalTrafficPolicy: service.internalTrafficPolicy,
    externalTrafficPolicy: isPodToProxy(model, source, asked) ? "Cluster" : service.externalTrafficPolicy,
  };
}

/** See `FlowFacts.externalTrafficPolicy`. */
function isPodToProxy(model: VerifyModel, source: VerifySender, asked: VerifyNode | undefined): boolean {
  return asked?.os === "linux" && prefixContains(model.clusterRange, source.address);
}

/** kube-proxy looks at the annotation where HNS has DSR, whether it is told to use that or not (kube-proxy.md §1.1). */
function preservesDestination(service: VerifyService, asked: VerifyNode | undefined): boolean {
  const build = asked?.windows;
  return build !== undefined && service.preservesDestination && hasFeature(hnsVersionOf(build), "DSR");
}

/**
 * Repaired in 1.36; the two load balancers of a Service with both families were told apart by their back ends alone, and pods
 * have both addresses.
 */
function losesSecondNodePort(
  { kubernetesMinor }: VerifyModel,
  { externalTrafficPolicy, isDualStack }: VerifyService,
  port: VerifyServicePort,
  asked: VerifyNode | undefined,
): boolean {
  if (!isDualStack) return false;
  if (asked?.os !== "windows" || typeof asked.address !== "bigint" || asked.compat === "hardened")
    return false;
  const local = countLocal(port, asked);
  const areAllLocal = externalTrafficPolicy === "Local" || local === port.backEnds.length;
  return kubernetesMinor < SECOND_FAMILY_MINOR && local > 0 && areAllLocal;
}

/** True for pods that stand for no other: their own rules set them apart, or they share the node's network. */
export function isOrdinary(pod: VerifyPod): boolean {
  return pod.ownRules === "" && !pod.isHostNetwork;
}
