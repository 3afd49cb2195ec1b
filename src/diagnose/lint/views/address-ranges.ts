/** Addresses and prefixes as people write them in configuration. */
import {
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  hostPrefix,
  maskIp,
  parseInterfaceAddress,
  parseIp,
  parsePrefix,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";

/** An address range of the cluster, and where it was found. */
export interface KnownRange {
  readonly prefix: Prefix;
  /** For messages: `podCIDR of Node win-1`. */
  readonly from: string;
  /** Plugins that give pods addresses of the nodes' network have one range for both (kube-proxy's cluster CIDR). */
  readonly mayHoldNodes: boolean;
}

export interface KnownRanges {
  /** The whole cluster's pods, or what is known of them. */
  readonly pods: readonly KnownRange[];
  readonly services: readonly KnownRange[];
  /** The nodes' own addresses, or the subnet that they stand in. */
  readonly nodes: readonly KnownRange[];
}

/** A prefix, or an address alone as the prefix that holds only it. Host bits are taken off. */
export function parseRange(text: string): Prefix | undefined {
  const trimmed = text.trim();
  const address = parseIp(trimmed);
  if (address !== undefined) return hostPrefix(address);
  const found = parseInterfaceAddress(trimmed);
  return found === undefined ? undefined : prefixOf(found.ip, found.length);
}

/** The prefix that was meant, when a text has bits set after its prefix length: `10.244.1.1/16` gives `10.244.0.0/16`. */
export function prefixMeantBy(text: string): string | undefined {
  const found = parseInterfaceAddress(text.trim());
  if (found === undefined || maskIp(found.ip, found.length) === found.ip) return undefined;
  return formatPrefix(prefixOf(found.ip, found.length));
}

function private4(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix === undefined) throw new RangeError(text);
  return prefix;
}

/** Ranges that are not the internet: RFC 1918, 6598, 3927, 5737, loopback, multicast, ULA, link-local, documentation. */
const NOT_PUBLIC: readonly Prefix[] = [
  ..."10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 169.254.0.0/16 127.0.0.0/8 224.0.0.0/4 192.0.2.0/24".split(
    " ",
  ),
  ..."198.51.100.0/24 203.0.113.0/24 198.18.0.0/15 fc00::/7 fe80::/10 ff00::/8 2001:db8::/32 ::1/128".split(
    " ",
  ),
  // Azure's own services: the wire server.
  "168.63.129.16/32",
].map(private4);

/** True when a prefix holds addresses of the internet. */
export function isPublic(prefix: Prefix): boolean {
  return !NOT_PUBLIC.some((range) => prefixesOverlap(range, prefix) && range.length <= prefix.length);
}

export function isDefaultRoute(prefix: Prefix): boolean {
  return prefix.length === 0;
}

export function familyOfPrefix(prefix: Prefix): 4 | 6 {
  return familyOf(prefix.address);
}

export function formatRange(prefix: Prefix): string {
  const isHost = prefix.length === (familyOfPrefix(prefix) === 4 ? 32 : 128);
  return isHost ? formatIp(prefix.address) : formatPrefix(prefix);
}

/** True when one of `ranges` holds the whole of `prefix`. */
export function isCovered(prefix: Prefix, ranges: readonly Prefix[]): boolean {
  return ranges.some((range) => range.length <= prefix.length && prefixesOverlap(range, prefix));
}

/**
 * The ranges that are those of one cluster. Files of several clusters (a folder of examples) contradict each other;
 * what they say together is about none of them, and nothing is returned.
 */
function ofOneCluster(ranges: readonly KnownRange[]): readonly KnownRange[] {
  // A node's own range is a part of the cluster's.
  const whole = ranges.filter(({ from }) => !from.startsWith("podCIDR"));
  const first = new Map<number, Prefix>();
  for (const { prefix } of whole) {
    const family = familyOf(prefix.address);
    const other = first.get(family);
    if (other !== undefined && !prefixesOverlap(other, prefix)) return [];
    first.set(family, other ?? prefix);
  }
  return ranges;
}

export function podRangesOf({ ranges }: { readonly ranges: KnownRanges }): readonly KnownRange[] {
  return ofOneCluster(ranges.pods);
}

export function serviceRangesOf({ ranges }: { readonly ranges: KnownRanges }): readonly KnownRange[] {
  return ofOneCluster(ranges.services);
}

/** What a template leaves for somebody to fill in: `__VNI__`, `<your subnet>`, `{{ .cidr }}`, `${CIDR}`, `$cidr`. */
const PLACEHOLDER =
  /\{\{|\}\}|<[^<>]+>|\$\{|\$\(|\$[A-Za-z_]|__[A-Za-z][A-Za-z0-9_]*__|%[A-Za-z_]{3,}%|^@[A-Za-z_]+@$|^(?:CHANGE_?ME|REPLACE_?ME|TO[D]O|TBD|YOUR[-_ ].+|REPLACE[-_].+)$/i;

export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text) && !isShell(text);
}

/** A command with variables is meant as it is: flannel's back end `extension` has such fields. */
function isShell(text: string): boolean {
  return text.includes(" ") && text.includes("$");
}

const SHOWN_MAX = 60;

/** A value of a file for a message. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}
