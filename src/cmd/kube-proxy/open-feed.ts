/** Where this run's Kubernetes objects come from: manifests, or an API server. */
import type { Klog } from "../../kube-proxy/daemon/klog.ts";
import type { ObjectFeed } from "../../kube-proxy/daemon/object-feed.ts";
import type { Terminal } from "../mullion/terminal.ts";
import { StartFailure } from "./complaint.ts";
import type { Settings } from "./load-settings.ts";
import { openManifestFeed } from "./manifest-feed.ts";

export interface FeedSurroundings {
  readonly terminal: Terminal;
  readonly watchFile: (path: string, changed: () => void) => () => void;
}

/** @throws StartFailure or Failure when there is no way to the objects. */
export async function openFeed(
  { flags, configuration }: Settings,
  log: Klog,
  { terminal, watchFile }: FeedSurroundings,
): Promise<ObjectFeed> {
  const paths = flags.get("mullion-manifests");
  if (Array.isArray(paths) && paths.length > 0)
    return openManifestFeed({ paths: paths as readonly string[], terminal, log, watchFile });
  throw new StartFailure([
    {
      code: "kube-proxy-kubeconfig-unusable",
      message: `no API server: kubeconfig is ${JSON.stringify(configuration.clientConnection.kubeconfig)}`,
      advice: "Give manifests with --mullion-manifests.",
    },
  ]);
}
