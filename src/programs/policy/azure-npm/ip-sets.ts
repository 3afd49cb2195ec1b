/** NPM's sets of addresses and what they are called in HNS (Azure/azure-container-networking, npm/pkg/dataplane/ipsets). */

/** A set that an ACL or another set names. */
export interface NpmSet {
  /** With its prefix: `podlabel-app:web`. */
  readonly name: string;
  /** Sets of namespaces, and of several values of a label, are sets of sets. */
  readonly isNested: boolean;
}

export const ALL_NAMESPACES = "all-namespaces";

/** The member of lists that have no other (`AddEmptySetToLists`, which is on for Windows). */
export const EMPTY_SET: NpmSet = Object.freeze({ name: "empty-emptyhashset", isNested: false });

export function namespaceSet(namespace: string): NpmSet {
  return { name: `ns-${namespace}`, isNested: false };
}

/** Of a label's key, or of a key with a value. */
export function podLabelSet(key: string, value?: string): NpmSet {
  return { name: `podlabel-${value === undefined ? key : `${key}:${value}`}`, isNested: false };
}

export function namespaceLabelSet(key: string, value?: string): NpmSet {
  return { name: `nslabel-${value === undefined ? key : `${key}:${value}`}`, isNested: true };
}

/** Several values of one label, for one policy. */
export function nestedLabelSet(policy: string, key: string, values: readonly string[]): NpmSet {
  return { name: `nestedlabel-${[policy, key, ...values].join(":")}`, isNested: true };
}

export function cidrSet(
  { name, namespace }: { readonly name: string; readonly namespace: string },
  place: { readonly rule: number; readonly peer: number; readonly direction: "IN" | "OUT" },
): NpmSet {
  const { rule, peer, direction } = place;
  return { name: `cidr-${name}:in-ns:${namespace}-${rule}-${peer}${direction}`, isNested: false };
}

const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/** The id in HNS: `azure-npm-` and FNV-1a with 32 bits of the name. */
export function hashedName(name: string): string {
  let hash = FNV_OFFSET;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
  return `azure-npm-${hash}`;
}
