/** What enforces NetworkPolicies in a cluster, and what it made of them: plain data, which copies of the cluster share. */
import type { EngineFinding, WrittenAcl } from "#programs/policy/policy-engine.ts";
import type { PolicyEngineName } from "../file/cluster-file.ts";

/** Of one Windows node. */
export interface NodeEnforcement {
  /** HNS networks that the engine looks after; none: it enforces nothing there. */
  readonly networks: readonly string[];
  readonly findings: readonly EngineFinding[];
  /** By endpoint. */
  readonly acls: Readonly<Record<string, readonly WrittenAcl[]>>;
}

/** True where the engine has looked and found no network that is its own; one that HNS did not answer has not looked. */
export function lacksNetwork({ networks, findings }: NodeEnforcement): boolean {
  return networks.length === 0 && findings.every(({ policy }) => policy !== undefined);
}

/** Frozen. */
export interface Enforcement {
  /** `ovn`: ACLs of OVN, which come with the network. */
  readonly engine: PolicyEngineName | "ovn";
  /** By the node's name. */
  readonly nodes: Readonly<Record<string, NodeEnforcement>>;
}

/** How messages call an engine. */
export const ENGINE_TITLES: Readonly<Record<Enforcement["engine"], string>> = Object.freeze({
  calico: "Calico",
  "azure-npm": "Azure NPM",
  none: "no engine",
  ovn: "OVN",
});

/** True where it is known what becomes of policies of a node's pods: an engine runs there, or none in the whole cluster. */
export function isDecidedOn(
  enforcement: Enforcement | undefined,
  node: { readonly os: "windows" | "linux" | "outside" },
): boolean {
  if (enforcement === undefined) return false;
  return enforcement.engine === "none" || node.os === "windows";
}
