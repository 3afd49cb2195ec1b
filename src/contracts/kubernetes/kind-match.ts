/**
 * Kinds that no API server has: "no matches for kind". Kubernetes serves some groups itself, and nobody else adds kinds to
 * those; the groups of others are domains with a dot (Kubernetes API reference; apiextensions-apiserver,
 * `pkg/apis/apiextensions/validation`: "should be a domain with at least one dot").
 */
import { editDistance } from "#core/base/nearest-name.ts";
import { KINDS, KUBE_KINDS, isKubeKind, isVersionOf } from "./kinds.ts";

/** What an API server has in the groups that people write by hand. */
const KINDS_OF_GROUPS: Readonly<Record<string, readonly string[]>> = {
  "": [
    "Binding",
    "ComponentStatus",
    "ConfigMap",
    "Endpoints",
    "Event",
    "LimitRange",
    "List",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ReplicationController",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
  ],
  apps: ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
  batch: ["CronJob", "Job"],
};

/** Groups in which a kind that is known here has the versions that are known here. */
const OWN_GROUPS: readonly string[] = [
  ...Object.keys(KINDS_OF_GROUPS),
  "autoscaling",
  "extensions",
  "policy",
  "discovery.k8s.io",
  "networking.k8s.io",
];

/** What is wrong with an object's type: in which field, and what to write. */
export interface KindMismatch {
  readonly field: "apiVersion" | "kind";
  readonly message: string;
  readonly advice: string;
}

function groupOf(apiVersion: string): string {
  const end = apiVersion.lastIndexOf("/");
  return end < 0 ? "" : apiVersion.slice(0, end);
}

function isKnownVersion(apiVersion: string, kind: string): boolean {
  const group = groupOf(apiVersion);
  if (!isKubeKind(kind) || (group.includes(".") && !OWN_GROUPS.includes(group))) return true;
  return isVersionOf(kind, apiVersion);
}

/**
 * The kind that one which is unknown in its group is a slip of: other letters are large, or one is wrong. What is further
 * off may be something else that is no manifest: a kubeconfig is of version `v1` and kind `Config`.
 */
function meantKind(apiVersion: string, kind: string): string | undefined {
  const group = groupOf(apiVersion);
  const known = Object.hasOwn(KINDS_OF_GROUPS, group) ? KINDS_OF_GROUPS[group] : undefined;
  // A list of a kind is of its group.
  if (known === undefined || known.includes(kind.replace(/(?<=.)List$/u, ""))) return undefined;
  const wanted = kind.toLowerCase();
  return [...known, ...KUBE_KINDS].find((each) => editDistance(each.toLowerCase(), wanted, 1) <= 1);
}

/** Undefined for a kind that an API server has, or may have: of a group that others add. */
export function kindMismatch(apiVersion: string, kind: string): KindMismatch | undefined {
  const message = `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`;
  if (isKubeKind(kind)) {
    if (isKnownVersion(apiVersion, kind)) return undefined;
    return { field: "apiVersion", message, advice: `Write apiVersion: ${KINDS[kind].apiVersion}.` };
  }
  const meant = meantKind(apiVersion, kind);
  if (meant === undefined) return undefined;
  const present = isKubeKind(meant) ? KINDS[meant].apiVersion : apiVersion;
  const advice =
    present === apiVersion ? `Write kind: ${meant}.` : `Write apiVersion: ${present} and kind: ${meant}.`;
  return { field: "kind", message, advice };
}
