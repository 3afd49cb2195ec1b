/** A Node as a lease, and the annotations in which flanneld publishes it (control-planes.md §1.4). */
import type { Node } from "#contracts/kubernetes/objects.ts";
import {
  type IpFamily,
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  parseInterfaceAddress,
  parseIpv4,
  parseIpv6,
  prefixCovers,
  prefixOf,
} from "#core/net/ip.ts";
import { FlannelError } from "../reports.ts";
import type { Lease, LeaseAttributes } from "../leases/lease.ts";
import type { NetworkConfig } from "../network-config.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export const DEFAULT_ANNOTATION_PREFIX = "flannel.alpha.coreos.com";

/** What each key ends with. */
const KEYS = {
  managed: "kube-subnet-manager",
  backendData: "backend-data",
  backendV6Data: "backend-v6-data",
  backendType: "backend-type",
  publicIp: "public-ip",
  publicIpv6: "public-ipv6",
  /** Read at the start; in place of `--public-ip`. */
  nodePublicIp: "node-public-ip",
  nodePublicIpv6: "node-public-ipv6",
  /** Win over everything when flanneld writes. */
  publicIpOverwrite: "public-ip-overwrite",
  publicIpv6Overwrite: "public-ipv6-overwrite",
} as const;

/** The full keys. */
export type FlannelAnnotations = Readonly<Record<keyof typeof KEYS, string>>;

/** The form that upstream asks for, `(?:[a-z0-9_-]+\.)+[a-z0-9_-]+\/(?:[a-z0-9_-]+-)?$`, each side of the slash by itself. */
function isPrefix(full: string): boolean {
  const [domain = "", name = ""] = full.split("/");
  return /[a-z0-9_-]\.[a-z0-9_-]+$/.test(domain) && /^(?:[a-z0-9_-]+-)?$/.test(name);
}

/** @throws FlannelError for a prefix that no annotation can have. */
export function annotationsOf(prefix: string): FlannelAnnotations {
  const slashes = prefix.split("/").length - 1;
  if (slashes > 1)
    throw new FlannelError(
      "flanneld-cannot-start",
      `subnet/kube: prefix can contain at most single slash: --kube-annotation-prefix is ${JSON.stringify(prefix)}`,
    );
  let full = slashes === 0 ? `${prefix}/` : prefix;
  if (!full.endsWith("/") && !full.endsWith("-")) full += "-";
  if (!isPrefix(full))
    throw new FlannelError(
      "flanneld-cannot-start",
      `subnet/kube: prefix must be in a format: fqdn/[0-9a-z-_]*: --kube-annotation-prefix is ${JSON.stringify(prefix)}`,
    );
  const keys = Object.entries(KEYS).map(([name, end]) => [name, full + end]);
  return Object.freeze(Object.fromEntries(keys) as FlannelAnnotations);
}

export type Annotations = Readonly<Record<string, string>>;

export function annotationsOfNode(node: Node): Annotations {
  return (node.metadata as { readonly annotations?: Annotations }).annotations ?? {};
}

/** True when flanneld on the node has said that it keeps its lease here. */
export function isManaged(node: Node, names: FlannelAnnotations): boolean {
  return annotationsOfNode(node)[names.managed] === "true";
}

type PodRanges = Pick<Lease, "subnet" | "ipv6Subnet">;

function unusable(message: string): FlannelError {
  return new FlannelError("flannel-peer-lease-unusable", message);
}

function readRange(text: string): Prefix {
  const parsed = parseInterfaceAddress(text);
  if (parsed === undefined) throw unusable(`invalid CIDR address: ${text}`);
  return prefixOf(parsed.ip, parsed.length);
}

/** The ranges of a node's pods: at most one of each family, or none. @throws FlannelError. */
export function podRangesOf(node: Node): PodRanges {
  const { podCIDR = "", podCIDRs = [] } = node.spec ?? {};
  if (podCIDRs.length > 2)
    throw unusable(
      `node ${JSON.stringify(node.metadata.name)} pod cidrs should be IPv4/IPv6 only or dualstack`,
    );
  const texts = podCIDRs.length > 0 ? podCIDRs : [podCIDR];
  const ranges = texts.filter((text) => text !== "").map(readRange);
  const rangeOf = (family: IpFamily): Prefix | undefined =>
    ranges.find(({ address }) => familyOf(address) === family);
  return { subnet: rangeOf(4), ipv6Subnet: rangeOf(6) };
}

/** As upstream says it: a Node that has no range yet has an empty one, which it cannot read (`nodeToLease` of kube.go). */
function missingRange({ spec }: Node, family: "IPv4" | "IPv6"): string {
  const { podCIDR = "", podCIDRs = [] } = spec ?? {};
  if (podCIDR === "" && podCIDRs.length === 0) return "invalid CIDR address: ";
  return `missing ${family} address on n.Spec.PodCIDRs`;
}

/** The lease that a managed node has published. @throws FlannelError for one that cannot be read. */
export function leaseOfNode(
  node: Node,
  names: FlannelAnnotations,
  families: Pick<NetworkConfig, "isIpv4Enabled" | "isIpv6Enabled">,
): Lease {
  const annotations = annotationsOfNode(node);
  const ranges = podRangesOf(node);
  /** One family; undefined: it is off. */
  const read = <T>(
    family: "IPv4" | "IPv6",
    parse: (text: string) => T | undefined,
    range: Prefix | undefined,
  ) => {
    const isIpv4 = family === "IPv4";
    if (!(isIpv4 ? families.isIpv4Enabled : families.isIpv6Enabled)) return undefined;
    const name = isIpv4 ? names.publicIp : names.publicIpv6;
    const text = annotations[name] ?? "";
    const publicIp = parse(text);
    if (publicIp === undefined) throw unusable(`${name} is ${JSON.stringify(text)}, no ${family} address`);
    if (range === undefined) throw unusable(missingRange(node, family));
    return { publicIp, range, data: annotations[isIpv4 ? names.backendData : names.backendV6Data] ?? "" };
  };
  const ipv4 = read("IPv4", parseIpv4, ranges.subnet);
  const ipv6 = read("IPv6", parseIpv6, ranges.ipv6Subnet);
  return Object.freeze({
    subnet: ipv4?.range,
    ipv6Subnet: ipv6?.range,
    attributes: Object.freeze({
      publicIp: ipv4?.publicIp,
      publicIpv6: ipv6?.publicIp,
      backendType: annotations[names.backendType] ?? "",
      backendData: ipv4?.data,
      backendV6Data: ipv6?.data,
    }),
    owner: node.metadata.name,
    timeToLiveMs: undefined,
  });
}

/** What JSON has for nothing. */
const NULL = "null";

/** Back ends that also publish an IPv6 address. */
const DUAL_STACK_BACKENDS = new Set(["vxlan", "wireguard", "host-gw", "extension"]);

/** The annotations that publish `attributes`, of which those of the node itself decide the public address. */
export function annotationsFor(
  attributes: LeaseAttributes,
  present: Annotations,
  names: FlannelAnnotations,
): Annotations {
  const { publicIp, publicIpv6, backendType } = attributes;
  const data = attributes.backendData ?? NULL;
  const v6Data = attributes.backendV6Data ?? NULL;
  const wanted: Record<string, string> = { [names.backendType]: backendType, [names.managed]: "true" };
  // A VXLAN back end without IPv4 publishes nothing of it.
  const needsData = backendType === "vxlan" || backendType === "wireguard";
  if (!needsData || data !== NULL) {
    wanted[names.backendData] = data;
    const overwrite = present[names.publicIpOverwrite] ?? "";
    const own = publicIp === undefined ? "0.0.0.0" : formatIp(publicIp);
    wanted[names.publicIp] = overwrite === "" ? own : overwrite;
  }
  if (publicIpv6 !== undefined && DUAL_STACK_BACKENDS.has(backendType) && (!needsData || v6Data !== NULL)) {
    wanted[names.backendV6Data] = v6Data;
    const overwrite = present[names.publicIpv6Overwrite] ?? "";
    wanted[names.publicIpv6] = overwrite === "" ? formatIp(publicIpv6) : overwrite;
  }
  return wanted;
}

function requireCovered(
  network: Prefix | undefined,
  range: Prefix | undefined,
  nodeName: string,
  family: "" | "IPv6 ",
): void {
  if (range === undefined || (network !== undefined && prefixCovers(network, range))) return;
  const shown = network === undefined ? "" : formatPrefix(network);
  throw new FlannelError(
    "flannel-network-without-node-range",
    WORDS.podCIDROutsideNetwork({
      shown: JSON.stringify(shown),
      range: JSON.stringify(formatPrefix(range)),
      family,
      nodeName: JSON.stringify(nodeName),
    }),
  );
}

/** @throws FlannelError when the node's pods would live outside flannel's network. */
export function checkRanges(config: NetworkConfig, ranges: PodRanges, nodeName: string): void {
  if (config.isIpv4Enabled) requireCovered(config.network, ranges.subnet, nodeName, "");
  if (config.isIpv6Enabled) requireCovered(config.ipv6Network, ranges.ipv6Subnet, nodeName, "IPv6 ");
}
