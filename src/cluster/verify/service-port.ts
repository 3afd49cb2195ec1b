/** A port of a Service, who may answer on it, and who should ask. */
import type {
  VerifyBackEnd,
  VerifyModel,
  VerifyNode,
  VerifyPod,
  VerifyService,
  VerifyServicePort,
} from "./model.ts";

export interface ServicePort {
  readonly service: VerifyService;
  readonly port: VerifyServicePort;
}

export function listPorts(services: readonly VerifyService[]): readonly ServicePort[] {
  return services.flatMap((service) => service.ports.map((port) => ({ service, port })));
}

/** The names of those who may answer; undefined when an address belongs to nobody that we know. */
export function answerersOf(backEnds: readonly VerifyBackEnd[]): readonly string[] | undefined {
  const names = backEnds.map(({ pod }) => pod?.serverName);
  return names.every((name) => name !== undefined) ? names : undefined;
}

/** The back ends that a client on `node` may be given. */
export function backEndsFor(
  { service, port }: ServicePort,
  node: VerifyNode,
  model: VerifyModel,
): readonly VerifyBackEnd[] {
  // kube-proxy.md §3.1: Windows reads internalTrafficPolicy from 1.27 on.
  const isRead = node.os === "linux" || model.kubernetesMinor >= 27;
  if (service.internalTrafficPolicy !== "Local" || !isRead) return port.backEnds;
  return port.backEnds.filter(({ pod }) => pod?.node.index === node.index);
}

/**
 * A client that is none of the back ends. Where there is none, a back end asks, unless Direct Server Return makes some
 * of its connections fail: that is another flow.
 */
export function clientAmong(
  pods: readonly VerifyPod[],
  port: VerifyServicePort,
  model: VerifyModel,
): VerifyPod | undefined {
  const own = new Set(port.backEnds.map(({ pod }) => pod?.index));
  return (
    pods.find((pod) => !own.has(pod.index)) ?? pods.find((pod) => pod.node.os === "linux" || !model.isDsr)
  );
}

/** The same list, begun elsewhere: so that work that begins with the first one is spread. */
export function rotate<T>(items: readonly T[], by: number): readonly T[] {
  const from = items.length === 0 ? 0 : by % items.length;
  return items.slice(from).concat(items.slice(0, from));
}
