/** Which flows a network that is not carried out, or not told unmistakably, keeps from being answered. */
import type { FlowEnd, FlowLimit, LimitedFlow } from "../session/flow-limit.ts";
import type { Contradiction, NetworkLack } from "./network-account.ts";

/** The ends between which packets go: the sender, and those who may answer it. */
function endsOf({ source, target, answerers }: LimitedFlow): readonly FlowEnd[] {
  return [source, ...(answerers.length > 0 ? answerers : [target])];
}

function isInPodNetwork({ kind }: FlowEnd): boolean {
  return kind === "pod" || kind === "service" || kind === "other";
}

/**
 * True when the network of pods has a part in the flow. It has none between machines, and inside one Linux node, where a
 * bridge or routes of the kernel lead from pod to pod whatever plugin made them; a name may be asked of another node.
 */
function isOfPodNetwork(flow: LimitedFlow, hasOwnServices: boolean): boolean {
  const { source, target, isByName } = flow;
  const ends = endsOf(flow);
  if (![...ends, target].some(isInPodNetwork)) return false;
  if (isByName || (hasOwnServices && target.kind === "service")) return true;
  return !ends.every(({ os, node }) => os === "linux" && node !== undefined && node === source.node);
}

export function limitOfLack(
  { code, message, hasOwnServices = false }: NetworkLack,
  where: FlowLimit["where"],
): FlowLimit {
  return {
    code,
    message,
    ...(where === undefined ? {} : { where }),
    covers: (flow) => isOfPodNetwork(flow, hasOwnServices),
  };
}

/** Where a packet for a pod begins its way through tunnels: at the sender's node, or at the one that was asked. */
function isAcrossSystems(flow: LimitedFlow): boolean {
  const { source, target, isByName } = flow;
  const entry = source.node === undefined ? (target.node === undefined ? undefined : target) : source;
  const pods = endsOf(flow).filter((end) => end !== source && end.kind === "pod");
  const crosses = pods.some(({ os }) => entry === undefined || os !== entry.os);
  // The cluster's name service is on Linux nodes.
  return crosses || (isByName && source.os === "windows");
}

/** Services of Windows nodes: what their pods ask of them, names included, and what comes in by such a node. */
function isByWindowsProxy({ source, target, answerers, isByName }: LimitedFlow): boolean {
  const isOnWindows = ({ os }: FlowEnd): boolean => os === "windows";
  if (isByName) return isOnWindows(source);
  if (target.kind === "service") return isOnWindows(source) || source.node === undefined;
  const isNodePort = target.kind === "node" && answerers.some(({ kind }) => kind === "pod");
  return isNodePort && isOnWindows(target);
}

/** The flows that a contradiction leaves open; undefined: it is a finding, and answers stay answers. */
export function limitOfContradiction({ code, message, where }: Contradiction): FlowLimit | undefined {
  const place = where === undefined ? {} : { where };
  if (code === "vxlan-identifiers-differ") return { code, message, ...place, covers: isAcrossSystems };
  if (code === "kube-proxy-dsr-without-gate" || code === "kube-proxy-settings-contradict")
    return { code, message, ...place, covers: isByWindowsProxy };
  if (code === "network-signs-contradict")
    return { code, message, ...place, covers: (flow) => isOfPodNetwork(flow, true) };
  return undefined;
}
