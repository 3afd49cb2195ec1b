/** The engine of NetworkPolicies that manifests bring for Windows nodes, with what it is told of its network. */
import { matchesNetwork, parseNetworkPattern } from "#programs/policy/network-pattern.ts";
import type { ClusterFile, PolicySpec } from "../file/cluster-file.ts";
import { type Evidence, type EvidenceInput, collectEvidence, textAt } from "./evidence.ts";

/** Names of DaemonSets that bring an engine to Windows nodes. */
const OWNERS: readonly (readonly [pattern: RegExp, engine: "calico" | "azure-npm"])[] = [
  [/^azure-npm/, "azure-npm"],
  [/^calico-node/, "calico"],
];

/** True for the name of a DaemonSet that brings an engine, if its pods run on Windows. */
export function isNamedAsEngine(name: string): boolean {
  return OWNERS.some(([pattern]) => pattern.test(name));
}

/** What Calico is told by its container, or by a ConfigMap that this reads. */
function kubeNetwork({ containers, configs }: Evidence): string | undefined {
  const own = containers.find(
    ({ owner, isForWindows, env }) =>
      isForWindows && owner.startsWith("calico-node") && env["KUBE_NETWORK"] !== undefined,
  );
  const text = own?.env["KUBE_NETWORK"] ?? configs.find(({ key }) => key === "KUBE_NETWORK")?.text;
  return text?.trim();
}

/** What NPM's ConfigMap says. */
function npmNetwork({ configs }: Evidence): string | undefined {
  const config = configs.find(({ name }) => name === "azure-npm-config");
  return /"WindowsNetworkName"[ \t]*:[ \t]*"([^"]+)"/.exec(config?.text ?? "")?.[1];
}

function specOf(evidence: Evidence): PolicySpec | undefined {
  const owners = evidence.containers.filter(({ isForWindows }) => isForWindows).map(({ owner }) => owner);
  const found = OWNERS.find(([pattern]) => owners.some((owner) => pattern.test(owner)))?.[1];
  const isInstalled = evidence.installations.some(
    ({ spec }) => textAt(spec, "calicoNetwork", "windowsDataplane") === "HNS",
  );
  const engine = found ?? (isInstalled ? "calico" : undefined);
  if (engine === undefined) return undefined;
  const network = engine === "calico" ? kubeNetwork(evidence) : npmNetwork(evidence);
  if (network === undefined || network === "") return { engine, network: undefined };
  // Of a pattern that is not read here it is not known what it finds.
  return parseNetworkPattern(network) === undefined ? undefined : { engine, network };
}

/** What the networks of AKS are called there. */
const AZURE = "azure";

/**
 * The engine as it meets the network here: that of AKS, read off objects, has another name. Azure NPM knows no other than its own, so
 * that nothing is known of what it does; Calico is told the one that is here.
 */
function onNetwork({ engine, network }: PolicySpec, file: ClusterFile): PolicySpec | undefined {
  const { name } = file.network;
  if (engine === "azure-npm") return [AZURE, "Calico"].includes(name) ? { engine, network } : undefined;
  const pattern = network === undefined ? undefined : parseNetworkPattern(network);
  const isAzure = pattern !== undefined && matchesNetwork(pattern, AZURE);
  return { engine, network: isAzure && !matchesNetwork(pattern, name) ? name : network };
}

/**
 * The cluster with that engine, where its file names none. Without a file (`isDerived`) Calico's operator counts, too, which makes the
 * DaemonSet out of its `Installation`.
 */
export function withPolicyEngine(
  file: ClusterFile,
  { objects, configurations }: Omit<EvidenceInput, "files">,
  isDerived: boolean,
): ClusterFile {
  if (file.policy.engine !== undefined) return file;
  const read = isDerived ? configurations : [];
  const isAnyBrought =
    read.length > 0 ||
    objects.some(
      ({ object: { kind, metadata } }) =>
        (kind === "DaemonSet" || kind === "Pod") && isNamedAsEngine(metadata.name),
    );
  const brought = isAnyBrought
    ? specOf(collectEvidence({ objects, files: [], configurations: read }))
    : undefined;
  const spec = brought !== undefined && isDerived ? onNetwork(brought, file) : brought;
  if (spec === undefined) return file;
  const network = file.policy.network ?? spec.network;
  return Object.freeze({ ...file, policy: Object.freeze({ engine: spec.engine, network }) });
}
