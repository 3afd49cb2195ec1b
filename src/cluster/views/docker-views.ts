/** Networks of Docker on the nodes of a cluster, as its command line shows them. */
import type { ValueOf } from "#core/base/shape.ts";
import { DOCKER_NETWORK } from "#programs/docker/engine.ts";
import type { Cluster } from "../cluster.ts";
import { hasDocker } from "../file/driver-traits.ts";
import { RequestError } from "../request-error.ts";
import { selectNodes } from "./inventory.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

export const DOCKER_NETWORK_VIEW = {
  text: "A network of Docker on a node.",
  fields: { node: "text" },
  base: (): typeof DOCKER_NETWORK => DOCKER_NETWORK,
} as const;
export type DockerNetworkView = ValueOf<typeof DOCKER_NETWORK_VIEW>;

/** @throws RequestError for a cluster without Docker, and for a node that does not exist. */
export function viewDockerNetworks(cluster: Cluster, name?: string): readonly DockerNetworkView[] {
  if (!hasDocker(cluster.file.network.plugin))
    throw new RequestError("unknown-object", WORDS.noDockerNetworks, WORDS.adviceDockerNetworks);
  return selectNodes(cluster, name).flatMap(
    ({ spec, docker }) => docker?.inspect().map((network) => ({ node: spec.name, ...network })) ?? [],
  );
}
