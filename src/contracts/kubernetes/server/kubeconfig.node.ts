/**
 * Which API server, and as whom: a kubeconfig file, or what a pod finds in its own cluster. Reading it is the official
 * client's work; what client-go takes and that client does not (`tokenFile`, what exec plugins get, servers without
 * TLS, nobody as user) is put in its terms.
 */
import { readFileSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";
import { isFields, listOf } from "#core/base/json.ts";
import { KubeError } from "../error.ts";
import { readAnyYaml } from "../text/yaml-value.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

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

/** A user of a kubeconfig as the client takes it. */
function userOf(value: unknown, folder: string): unknown {
  if (!isFields(value)) return value;
  const { tokenFile, token, exec } = value;
  const user: Record<string, unknown> = { ...value };
  if (typeof tokenFile === "string" && tokenFile !== "" && (token ?? "") === "")
    user["auth-provider"] = { name: "tokenFile", config: { tokenFile: resolve(folder, tokenFile) } };
  if (isFields(exec) && typeof exec["command"] === "string") {
    const { command } = exec;
    // A name alone is looked for in PATH.
    const isPath = /[\\/]/.test(command) && !isAbsolute(command);
    user["exec"] = { ...exec, command: isPath ? resolve(folder, command) : command };
  }
  return user;
}

function loadFile(config: KubeConfig, path: string): void {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw unusable(`the kubeconfig ${JSON.stringify(path)} cannot be read: ${causeOf(cause)}`, cause);
  }
  try {
    const folder = dirname(resolve(path));
    const reading = readAnyYaml(text, "1.2");
    if ("faults" in reading) throw new Error(reading.faults[0]?.message);
    const [document] = reading.values;
    if (!isFields(document)) throw new Error("it is not a mapping");
    const users = listOf(document["users"]);
    const known = users.map((entry) =>
      isFields(entry) ? { ...entry, user: userOf(entry["user"], folder) } : entry,
    );
    config.loadFromString(JSON.stringify({ ...document, users: known }));
    config.makePathsAbsolute(folder);
  } catch (cause) {
    throw unusable(`the kubeconfig ${JSON.stringify(path)} is broken: ${causeOf(cause)}`, cause);
  }
}

/** What an exec plugin gets in `KUBERNETES_EXEC_INFO` (client.authentication.k8s.io/v1, ExecCredential). */
function execInfo(exec: Readonly<Record<string, unknown>>, cluster: Cluster): string {
  const { caData, caFile, server, tlsServerName, skipTLSVerify, proxyUrl } = cluster;
  const authority = caData ?? (caFile === undefined ? undefined : readFileSync(caFile).toString("base64"));
  const reported = {
    server,
    "tls-server-name": tlsServerName,
    "insecure-skip-tls-verify": skipTLSVerify ? true : undefined,
    "certificate-authority-data": authority,
    "proxy-url": proxyUrl,
  };
  const isReported = exec["provideClusterInfo"] === true;
  const spec = { ...(isReported ? { cluster: reported } : {}), interactive: false };
  return JSON.stringify({ kind: "ExecCredential", apiVersion: exec["apiVersion"], spec });
}

function withExecInfo(user: User, cluster: Cluster): User {
  const exec: unknown = user.exec;
  if (!isFields(exec)) return user;
  const env = listOf(exec["env"]);
  const info = { name: "KUBERNETES_EXEC_INFO", value: execInfo(exec, cluster) };
  return { ...user, exec: { ...exec, env: [...env, info] } };
}

function loadInCluster(config: KubeConfig, { variables = process.env }: ApiServerPlace): void {
  const [host, port] = [variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"]];
  if ((host ?? "") === "" || (port ?? "") === "") {
    throw unusable(WORDS.kubeconfigMissing);
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
      WORDS.kubeconfigContextWithoutCluster({
        currentContext: JSON.stringify(config.getCurrentContext() ?? ""),
      }),
    );
  }
  const address = server === undefined || server === "" ? cluster.server : server;
  if (!/^https?:\/\/./.test(address) || !URL.canParse(address))
    throw unusable(WORDS.serverAddressInvalid({ address: JSON.stringify(address) }));
  settle(config, cluster, address);
  return config;
}

/** The client hands the address of an OIDC issuer to a library that takes no text for it. */
function withIssuer(user: User): User {
  const provider: unknown = user.authProvider;
  const config = isFields(provider) && provider["name"] === "oidc" ? provider["config"] : undefined;
  const issuer = isFields(config) ? config["idp-issuer-url"] : undefined;
  if (!isFields(provider) || !isFields(config) || typeof issuer !== "string" || !URL.canParse(issuer))
    return user;
  const changed = { ...config, "idp-issuer-url": new URL(issuer) };
  return { ...user, authProvider: { ...provider, config: changed } };
}

/** Puts the server in its place, and the user that asks it. */
function settle(config: KubeConfig, cluster: Cluster, server: string): void {
  const isPlain = server.startsWith("http:");
  const changed = { ...cluster, server, skipTLSVerify: isPlain || cluster.skipTLSVerify };
  const clusters = config.clusters.map((one) => (one.name === cluster.name ? changed : one));
  // Without a user the client leaves out the cluster's authority; client-go asks as nobody.
  const user = config.getCurrentUser() ?? { name: "" };
  const others = config.users.filter(({ name }) => name !== user.name);
  const currentContext = config.getCurrentContext();
  const contexts = config.contexts.map((context) =>
    context.name === currentContext ? { ...context, user: user.name } : context,
  );
  let asking: User;
  try {
    asking = withIssuer(withExecInfo(user, changed));
  } catch (cause) {
    throw unusable(`the authority of the cluster cannot be read: ${causeOf(cause)}`, cause);
  }
  config.loadFromOptions({ clusters, contexts, users: [...others, asking], currentContext });
}
