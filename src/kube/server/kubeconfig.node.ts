/**
 * Which API server, and as whom: a kubeconfig file, or what a pod finds in its own cluster. Reading it is the official
 * client's work; what client-go takes and that client does not (`tokenFile`, servers without TLS) is put in its terms.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import { KubeError } from "../error.ts";

/** Where the server is found. */
export interface ApiServerPlace {
  /** The path of a kubeconfig (`--kubeconfig`, `--kubeconfig-file`). Without it: the cluster that this process is a pod of. */
  readonly kubeconfig?: string | undefined;
  /** A context of that file other than its current one. */
  readonly context?: string | undefined;
  /** Overrides the address in the file (`--master`, `--kube-api-url`). */
  readonly server?: string | undefined;
  /** Variables of the environment; the process's own by default. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

function unusable(message: string, cause?: unknown): KubeError {
  return new KubeError("kubeconfig-unusable", 0, message, { cause });
}

function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The users of a file that name a file with their token, as client-go spells it. */
function tokenFilesOf(text: string, folder: string): ReadonlyMap<string, string> {
  const document: unknown = parse(text);
  const users = isMapping(document) && Array.isArray(document["users"]) ? document["users"] : [];
  const found = new Map<string, string>();
  for (const entry of users as readonly unknown[]) {
    const user = isMapping(entry) ? entry["user"] : undefined;
    if (!isMapping(entry) || !isMapping(user)) continue;
    const { tokenFile } = user;
    if (typeof tokenFile === "string" && tokenFile !== "")
      found.set(String(entry["name"]), resolve(folder, tokenFile));
  }
  return found;
}

function loadFile(config: KubeConfig, path: string): void {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw unusable(`the kubeconfig ${JSON.stringify(path)} cannot be read: ${causeOf(cause)}`, cause);
  }
  try {
    const tokenFiles = tokenFilesOf(text, dirname(resolve(path)));
    config.loadFromString(text);
    config.makePathsAbsolute(dirname(resolve(path)));
    const users = config.users.map((user) => {
      const tokenFile = tokenFiles.get(user.name);
      if (tokenFile === undefined || (user.token ?? "") !== "") return user;
      return { ...user, authProvider: { name: "tokenFile", config: { tokenFile } } };
    });
    const { clusters, contexts, currentContext } = config;
    config.loadFromOptions({ clusters, contexts, users, currentContext });
  } catch (cause) {
    throw unusable(`the kubeconfig ${JSON.stringify(path)} is broken: ${causeOf(cause)}`, cause);
  }
}

function loadInCluster(config: KubeConfig, { variables = process.env }: ApiServerPlace): void {
  const [host, port] = [variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"]];
  if ((host ?? "") === "" || (port ?? "") === "") {
    throw unusable(
      "no kubeconfig is named, and this process is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
    );
  }
  config.loadFromCluster();
}

/** @throws KubeError `kubeconfig-unusable`. */
export async function loadKubeconfig(place: ApiServerPlace): Promise<KubeConfig> {
  // The client's types of all of Kubernetes take a moment to load: only who speaks to a server waits for them.
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  const { kubeconfig, context, server } = place;
  if (kubeconfig !== undefined && kubeconfig !== "") loadFile(config, kubeconfig);
  else if (server !== undefined && server !== "")
    config.loadFromClusterAndUser({ name: "server", server, skipTLSVerify: false }, { name: "nobody" });
  else loadInCluster(config, place);
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw unusable(
      `the kubeconfig has no cluster for the context ${JSON.stringify(config.getCurrentContext() ?? "")}; name one that it has, or set current-context`,
    );
  }
  const address = server === undefined || server === "" ? cluster.server : server;
  if (!/^https?:\/\/./.test(address) || !URL.canParse(address))
    throw unusable(`the address of the server, ${JSON.stringify(address)}, is no URL of http or https`);
  const isPlain = address.startsWith("http:");
  const changed = { ...cluster, server: address, skipTLSVerify: isPlain || cluster.skipTLSVerify };
  const clusters = config.clusters.map((one) => (one === cluster ? changed : one));
  const { contexts, users, currentContext } = config;
  config.loadFromOptions({ clusters, contexts, users, currentContext });
  return config;
}
