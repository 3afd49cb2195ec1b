/** What did not come up in a cluster: flanneld and kube-proxy of nodes, and pods that have no network. */
import type { FlannelTrouble } from "./flannel/flannel-daemons.ts";
import type { PodOutcome } from "./running-pods.ts";
import type { ServiceTrouble } from "./service-proxies.ts";
import type { ClusterTrouble } from "./session.ts";

export interface TroubleSources {
  readonly flannel: readonly FlannelTrouble[];
  readonly services: readonly ServiceTrouble[];
  readonly pods: readonly PodOutcome[];
}

/** Nodes before pods: the pods' trouble is often the node's. What concerns one Service alone shows in its flows. */
export function clusterTroubles({ flannel, services, pods }: TroubleSources): readonly ClusterTrouble[] {
  const onNode = (node: string, program: string, { code, message }: FlannelTrouble["finding"]) => ({
    reference: `node/${node}`,
    node,
    code,
    text: message.startsWith(`${program} `) ? message : `${program}: ${message}`,
  });
  return [
    ...flannel.map(({ node, finding }) => onNode(node, "flanneld", finding)),
    ...services
      .filter(({ name }) => name === "")
      .map(({ node, finding }) => onNode(node, "kube-proxy", finding)),
    ...pods.flatMap(podTroubles),
  ];
}

function podTroubles({ pod, running, remarks }: PodOutcome): readonly ClusterTrouble[] {
  if (running !== undefined) return [];
  const { namespace, name } = pod.metadata;
  // A dump may be of a network that Mullion does not have: that is no fault of the cluster.
  return remarks
    .filter(({ code }) => code !== "pod-address-outside-range")
    .map(({ code, text }) => ({
      reference: `pod/${namespace}/${name}`,
      node: pod.spec?.nodeName ?? "",
      code,
      text,
    }));
}
