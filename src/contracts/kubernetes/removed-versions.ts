/**
 * API versions that Kubernetes has removed, of all kinds that it has itself: also of those that Mullion reads past, such as
 * Ingress. Kubernetes documentation: Deprecated API Migration Guide.
 */
import { KINDS, isKubeKind } from "./kinds.ts";

/** What became of an API version of a kind. */
export interface RemovedVersion {
  /** The release that no longer serves it: `1.22`. */
  readonly removed: string;
  /** What to write instead; undefined when the kind is gone. */
  readonly present: string | undefined;
}

type Row = readonly [version: string, kinds: string, removed: string, present: string | undefined];

const ROWS: readonly Row[] = [
  ["extensions/v1beta1", "PodSecurityPolicy", "1.16", undefined],
  ["extensions/v1beta1", "Ingress", "1.22", "networking.k8s.io/v1"],
  ["networking.k8s.io/v1beta1", "Ingress IngressClass", "1.22", "networking.k8s.io/v1"],
  [
    "admissionregistration.k8s.io/v1beta1",
    "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    "1.22",
    "admissionregistration.k8s.io/v1",
  ],
  ["apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "1.22", "apiextensions.k8s.io/v1"],
  ["apiregistration.k8s.io/v1beta1", "APIService", "1.22", "apiregistration.k8s.io/v1"],
  ["authentication.k8s.io/v1beta1", "TokenReview", "1.22", "authentication.k8s.io/v1"],
  [
    "authorization.k8s.io/v1beta1",
    "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview SelfSubjectRulesReview",
    "1.22",
    "authorization.k8s.io/v1",
  ],
  ["certificates.k8s.io/v1beta1", "CertificateSigningRequest", "1.22", "certificates.k8s.io/v1"],
  [
    "rbac.authorization.k8s.io/v1beta1",
    "ClusterRole ClusterRoleBinding Role RoleBinding",
    "1.22",
    "rbac.authorization.k8s.io/v1",
  ],
  ["scheduling.k8s.io/v1beta1", "PriorityClass", "1.22", "scheduling.k8s.io/v1"],
  ["storage.k8s.io/v1beta1", "CSIDriver CSINode StorageClass VolumeAttachment", "1.22", "storage.k8s.io/v1"],
  ["autoscaling/v2beta1", "HorizontalPodAutoscaler", "1.25", "autoscaling/v2"],
  ["events.k8s.io/v1beta1", "Event", "1.25", "events.k8s.io/v1"],
  ["policy/v1beta1", "PodDisruptionBudget", "1.25", "policy/v1"],
  ["policy/v1beta1", "PodSecurityPolicy", "1.25", undefined],
  ["autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26", "autoscaling/v2"],
  [
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "FlowSchema PriorityLevelConfiguration",
    "1.26",
    "flowcontrol.apiserver.k8s.io/v1",
  ],
  ["storage.k8s.io/v1beta1", "CSIStorageCapacity", "1.27", "storage.k8s.io/v1"],
  [
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "FlowSchema PriorityLevelConfiguration",
    "1.29",
    "flowcontrol.apiserver.k8s.io/v1",
  ],
  [
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "FlowSchema PriorityLevelConfiguration",
    "1.32",
    "flowcontrol.apiserver.k8s.io/v1",
  ],
];

const OTHERS: ReadonlyMap<string, RemovedVersion> = new Map(
  ROWS.flatMap(([version, kinds, removed, present]) =>
    kinds.split(" ").map((kind) => [`${version} ${kind}`, { removed, present }] as const),
  ),
);

/** What became of `version` of a kind; undefined for a version that is served, or was never there. */
export function removedVersion(kind: string, version: string): RemovedVersion | undefined {
  const removed = isKubeKind(kind) ? KINDS[kind].oldVersions[version] : undefined;
  if (removed !== undefined && isKubeKind(kind)) return { removed, present: KINDS[kind].apiVersion };
  return OTHERS.get(`${version} ${kind}`);
}
