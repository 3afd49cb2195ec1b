/** A NetworkPolicy as the API server stores it, in the shape that both engines read it. */
import type { LabelSelector } from "#contracts/kubernetes/labels.ts";
import type { NetworkPolicy } from "#contracts/kubernetes/objects.ts";

export interface StoredPeer {
  readonly podSelector?: LabelSelector | null;
  readonly namespaceSelector?: LabelSelector | null;
  readonly ipBlock?: { readonly cidr?: string; readonly except?: readonly string[] | null } | null;
}

export interface StoredPort {
  readonly protocol?: string;
  readonly port?: number | string | null;
  readonly endPort?: number | null;
}

export type PolicyDirection = "ingress" | "egress";

export interface StoredRule {
  readonly peers: readonly StoredPeer[];
  readonly ports: readonly StoredPort[];
}

export interface StoredPolicy {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly pods: LabelSelector;
  /** In the order of `policyTypes`. */
  readonly directions: readonly PolicyDirection[];
  readonly rules: Readonly<Record<PolicyDirection, readonly StoredRule[]>>;
}

interface WireRule {
  readonly from?: readonly StoredPeer[] | null;
  readonly to?: readonly StoredPeer[] | null;
  readonly ports?: readonly StoredPort[] | null;
}

function ruleOf({ from, to, ports }: WireRule): StoredRule {
  return { peers: [...(from ?? []), ...(to ?? [])], ports: ports ?? [] };
}

/** The API server fills `policyTypes` in: ingress, and egress where a rule is about it (API reference of networking.k8s.io/v1). */
function directionsOf({ spec }: NetworkPolicy): readonly PolicyDirection[] {
  const types = (spec?.policyTypes ?? []).map((type) => type.toLowerCase());
  if (types.length === 0) return (spec?.egress ?? []).length > 0 ? ["ingress", "egress"] : ["ingress"];
  return types.filter((type) => type === "ingress" || type === "egress");
}

export function storedPolicy(policy: NetworkPolicy): StoredPolicy {
  const { metadata, spec } = policy;
  const { namespace, name } = metadata;
  const ingress: readonly WireRule[] = spec?.ingress ?? [];
  const egress: readonly WireRule[] = spec?.egress ?? [];
  return Object.freeze({
    key: `${namespace}/${name}`,
    namespace,
    name,
    pods: spec?.podSelector ?? {},
    directions: directionsOf(policy),
    rules: { ingress: ingress.map(ruleOf), egress: egress.map(ruleOf) },
  });
}
