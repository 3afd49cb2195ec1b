/** Where this run's Kubernetes objects come from: manifests, or an API server. */
import { randomInt } from "node:crypto";
import type { Clock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { Klog } from "#programs/kube-proxy/daemon/klog.ts";
import type { ObjectFeed } from "#programs/kube-proxy/daemon/object-feed.ts";
import { SourceFeed, limitRequests } from "#programs/kube-proxy/daemon/source-feed.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { StartFailure } from "./complaint.ts";
import type { Settings, Variables } from "./load-settings.ts";
import { openManifestFeed } from "./manifest-feed.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

export interface FeedSurroundings {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly variables: Variables;
  readonly watchFile: (path: string, changed: () => void) => () => void;
}

const SEED_MAX = 2 ** 47;

/** Where the path of the kubeconfig was given. */
function placeOf({ configFile, configuration }: Settings): string {
  if (configuration.clientConnection.kubeconfig === "") return WORDS.adviceKubeconfig;
  return configFile === undefined
    ? "Check the path after --kubeconfig."
    : `Check clientConnection.kubeconfig in ${configFile.path}.`;
}

/** @throws StartFailure or Failure when there is no way to the objects. */
export async function openFeed(
  settings: Settings,
  hostname: string,
  log: Klog,
  { terminal, clock, variables, watchFile }: FeedSurroundings,
): Promise<ObjectFeed> {
  const { flags, configuration } = settings;
  const paths = flags.get("mullion-manifests");
  if (Array.isArray(paths) && paths.length > 0)
    return openManifestFeed({ paths: paths as readonly string[], terminal, log, watchFile });
  const { kubeconfig } = configuration.clientConnection;
  const master = flags.get("master");
  const server = typeof master === "string" && master !== "" ? master : undefined;
  if (kubeconfig === "" && server === undefined) log.info(0, WORDS.inClusterConfig);
  try {
    // The client of Kubernetes is loaded only where there is a server.
    const { openApiServerSource } = await import("#contracts/kubernetes/server/api-server-source.node.ts");
    const source = await openApiServerSource({ kubeconfig, server, variables }, "kube-proxy");
    log.info(1, "API server", { address: source.address });
    const limited = limitRequests(source, clock, configuration.clientConnection);
    return new SourceFeed({ source: limited, clock, hostname, prng: new Prng(randomInt(SEED_MAX)) });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw new StartFailure([{ code: error.code, message: error.message, advice: placeOf(settings) }]);
  }
}
