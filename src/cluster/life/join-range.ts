/** Whether a node may join with a range for its pods: as the cluster file would be refused. */
import type { Node } from "../../kube/objects.ts";
import { type Prefix, formatPrefix, parsePrefix, prefixCovers, prefixesOverlap } from "../../net/prefix.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { RequestError } from "../request-error.ts";

/** A range has to hold the network's own addresses and some pods. */
const LENGTH_MAX = 28;

function refuse(message: string, advice: string): never {
  throw new RequestError("node-action-impossible", message, advice);
}

/** `nodes`: those that have ranges now. @throws RequestError for one that cannot be. */
export function checkJoinRange(
  { file }: Cluster,
  text: string,
  { spec }: ClusterNode,
  nodes: readonly Node[],
): Prefix {
  const range = parsePrefix(text);
  const shown = JSON.stringify(text);
  const { clusterCIDR } = file.network;
  if (range === undefined || typeof range.address !== "number")
    return refuse(
      `${shown} is no range of IPv4 addresses`,
      "Write its first address and length, as 10.244.7.0/24.",
    );
  if (!prefixCovers(clusterCIDR, range) || range.length > LENGTH_MAX)
    return refuse(
      `${shown} is no range for the pods of a node of this cluster`,
      `Choose one in ${formatPrefix(clusterCIDR)}, with a length up to /${LENGTH_MAX}.`,
    );
  for (const { metadata, spec: other } of nodes) {
    const taken = parsePrefix(other?.podCIDR ?? "");
    if (metadata.name !== spec.name && taken !== undefined && prefixesOverlap(taken, range))
      return refuse(
        `${shown} overlaps ${formatPrefix(taken)}, the range of node ${metadata.name}`,
        "Choose a range that no other node has.",
      );
  }
  return range;
}
