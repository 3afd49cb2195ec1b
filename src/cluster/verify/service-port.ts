/** A port of a Service, who may answer on it, and who should ask. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type {
  VerifyBackEnd,
  VerifyModel,
  VerifyNode,
  VerifyPod,
  VerifyService,
  VerifyServicePort,
} from "./model.ts";

export interface AskedPort {
  readonly service: VerifyService;
  readonly port: VerifyServicePort;
}

export function listPorts(services: readonly VerifyService[]): readonly AskedPort[] {
  return services.flatMap((service) => service.ports.map((port) => ({ service, port })));
}

/** True when kube-proxy of the pod's own node finds it: it has an endpoint in the network that kube-proxy serves. */
export function isServed({ network, isHostNetwork }: VerifyPod): boolean {
  return network.isFirst || isHostNetwork;
}

/** kube-proxy.md §3.4: a pod of its own node without an endpoint in its network is left out, one of another node is not. */
export function isLeftOut({ pod }: VerifyBackEnd, chooser: VerifyNode | undefined): boolean {
  return pod !== undefined && pod.node.index === chooser?.index && !isServed(pod);
}

/** Pods that no machine outside of their network reaches by their address. */
export function isCutOff({ pod }: VerifyBackEnd): boolean {
  return pod !== undefined && !isServed(pod) && (pod.network.isVirtual || pod.network.driver === "NAT");
}

/** From here on kube-proxy on Windows takes the port of an endpoint where the Service has a number (kube-proxy.md §7 (21)). */
const SLICE_PORT_MINOR = 34;

/**
 * What explains a flow that fails: a load balancer of HNS on `chooser` has one port for all back ends, and none that is a pod
 * in the network of that node itself, which has no endpoint (kube-proxy.md §8, case C6).
 */
export function whyItFails(
  { service, port }: AskedPort,
  chooser: VerifyNode | undefined,
  { kubernetesMinor }: VerifyModel,
): { readonly because?: KnowledgeCode } {
  if (chooser?.os !== "windows" || service.kind !== "cluster-ip") return {};
  const [first, ...others] = new Set(port.backEnds.map((each) => each.port));
  if (others.length > 0) return { because: "service-target-ports-differ" };
  const isOther = first !== undefined && port.targetPort !== undefined && first !== port.targetPort;
  if (isOther && kubernetesMinor < SLICE_PORT_MINOR) return { because: "slice-port-not-used" };
  const hasOwn = port.backEnds.some(
    ({ pod }) => pod?.isHostNetwork === true && pod.node.index === chooser.index,
  );
  return hasOwn ? { because: "service-local-endpoint-missing" } : {};
}

/** Clients of one class are alike to Services. */
export function classOfClient({ node, network, limitKind }: VerifyPod): string {
  return `${node.nodeClass} ${network.name} ${limitKind}`;
}

/** The names of those who may answer; undefined when an address belongs to no machine that we know. */
export function answerersOf(backEnds: readonly VerifyBackEnd[]): readonly string[] | undefined {
  const names = backEnds.map(({ pod }) => pod?.serverName);
  return names.every((name) => name !== undefined) ? names : undefined;
}

/** The back ends that a client on `node` may be given. */
export function backEndsFor(
  { service, port }: AskedPort,
  node: VerifyNode,
  model: VerifyModel,
): readonly VerifyBackEnd[] {
  // kube-proxy.md §3.1: Windows reads internalTrafficPolicy from 1.27 on.
  const isRead = node.os === "linux" || model.kubernetesMinor >= 27;
  const known = port.backEnds.filter((each) => !isLeftOut(each, node));
  if (service.internalTrafficPolicy !== "Local" || !isRead) return known;
  return known.filter(({ pod }) => pod?.node.index === node.index);
}

/** The first that fits, from a place on and around: so that work which begins with the first one is spread. */
function findFrom<T>(items: readonly T[], from: number, fits: (item: T) => boolean): T | undefined {
  for (let step = 0; step < items.length; step++) {
    const item = items[(from + step) % items.length];
    if (item !== undefined && fits(item)) return item;
  }
  return undefined;
}

/**
 * A client that is none of the back ends, looked for from a place on. Where there is none, a back end asks, unless Direct
 * Server Return makes some of its connections fail: that is another flow.
 */
export function clientAmong(
  pods: readonly VerifyPod[],
  port: VerifyServicePort,
  model: VerifyModel,
  from = 0,
): VerifyPod | undefined {
  const own = new Set(port.backEnds.map(({ pod }) => pod?.index));
  return (
    findFrom(pods, from, (pod) => !own.has(pod.index)) ??
    findFrom(pods, from, (pod) => pod.node.os === "linux" || !model.isDsr)
  );
}
