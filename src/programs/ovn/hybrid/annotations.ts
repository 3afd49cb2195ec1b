/**
 * What the hybrid overlay reads and writes in Nodes (control-planes.md §4.1). Names and numbers are fixed in ovn-kubernetes; a
 * Node says where its pods are, and which MAC address leads to them through a tunnel.
 */
import type { Node } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, type Prefix, parseInterfaceAddress, parseIpv4, prefixOf } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import type { HybridOverlayFinding } from "./finding.ts";
import { hybridOverlay } from "#data/words.js";

const WORDS = hybridOverlay();

/** Of the overlay that pods are on. */
export const HYBRID_VNI = 4_097;
/** Of the network that only keeps the switch through a reboot. */
export const BASE_VNI = 4_098;
export const HYBRID_NETWORK = "OVNKubernetesHybridOverlayNetwork";
export const BASE_NETWORK = "BaseOVNKubernetesHybridOverlayNetwork";
export const DEFAULT_VXLAN_PORT = 4_789;

export const ANNOTATIONS = {
  /** The range of a node that OVN does not have. */
  nodeSubnet: "k8s.ovn.org/hybrid-overlay-node-subnet",
  /** Where frames to the node's pods are sent. */
  routerMac: "k8s.ovn.org/hybrid-overlay-distributed-router-gateway-mac",
  /** Of OVN's nodes: the address of the port that leads into the overlay. */
  routerIp: "k8s.ovn.org/hybrid-overlay-distributed-router-gateway-ip",
  /** The ranges of a node that OVN has. */
  ovnSubnets: "k8s.ovn.org/node-subnets",
  nodeId: "k8s.ovn.org/node-id",
} as const;
type AnnotationName = (typeof ANNOTATIONS)[keyof typeof ANNOTATIONS];

/** A Node as the hybrid overlay sees it; what is missing or unreadable is undefined. */
export interface HybridNode {
  readonly name: string;
  /** `status.nodeInfo.machineID`, by which the program on Windows knows its own Node; upstream takes none for an empty one. */
  readonly machineId: string | undefined;
  /** OVN does not have the node: it is only reached through the overlay. */
  readonly isHybrid: boolean;
  readonly ip: Ipv4 | undefined;
  /** OVN's range if the Node has one, else that of the hybrid overlay. */
  readonly subnet: Prefix | undefined;
  readonly hybridSubnet: Prefix | undefined;
  readonly routerMac: Mac | undefined;
  readonly routerIp: Ipv4 | undefined;
  readonly nodeId: number | undefined;
  /** Annotations that cannot be read. */
  readonly unreadable: readonly UnreadableAnnotation[];
}

/** An annotation that is there and says nothing: its name, and the finding in words. */
export interface UnreadableAnnotation extends HybridOverlayFinding {
  readonly annotation: AnnotationName;
}

function annotationsOf({ metadata }: Node): Readonly<Record<string, string>> {
  return (metadata as { readonly annotations?: Readonly<Record<string, string>> }).annotations ?? {};
}

/** `{"default":["10.128.2.0/23"]}`, or the older `{"default":"10.128.2.0/23"}`: the first range of IPv4. */
function parseOvnSubnets(text: string): Prefix | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const ofDefault = (value as Readonly<Record<string, unknown>>)["default"];
  const ranges: readonly unknown[] = Array.isArray(ofDefault) ? ofDefault : [ofDefault];
  return ranges
    .map((each) => (typeof each === "string" ? parseIpv4Prefix(each) : undefined))
    .find((prefix) => prefix !== undefined);
}

/** An address with its length names the prefix that it is in, as Go's net.ParseCIDR has it. */
function parseIpv4Prefix(text: string): Prefix | undefined {
  const found = parseInterfaceAddress(text);
  return typeof found?.ip === "number" ? prefixOf(found.ip, found.length) : undefined;
}

function parseNodeId(text: string): number | undefined {
  const id = Number(text);
  return /^\d{1,6}$/.test(text) && id > 0 ? id : undefined;
}

const PARSERS: Readonly<Record<AnnotationName, (text: string) => unknown>> = {
  [ANNOTATIONS.nodeSubnet]: parseIpv4Prefix,
  [ANNOTATIONS.routerMac]: parseMac,
  [ANNOTATIONS.routerIp]: parseIpv4,
  [ANNOTATIONS.ovnSubnets]: parseOvnSubnets,
  [ANNOTATIONS.nodeId]: parseNodeId,
};

/** Annotations of the hybrid overlay that are there and cannot be read, in the order of {@link ANNOTATIONS}. */
export function unreadableAnnotations(
  annotations: Readonly<Record<string, unknown>>,
): readonly UnreadableAnnotation[] {
  return Object.values(ANNOTATIONS).flatMap((annotation) => {
    const text = annotations[annotation];
    if (typeof text !== "string" || PARSERS[annotation](text) !== undefined) return [];
    const message = WORDS.annotationInvalid({ annotation, text: JSON.stringify(text) });
    return [{ annotation, code: "hybrid-overlay-annotation-invalid", message }];
  });
}

/** Reads a Node. What cannot be read is as if it were not there, and is told. */
export function hybridNodeOf(node: Node): HybridNode {
  const annotations = annotationsOf(node);
  const read = <T>(annotation: AnnotationName, parse: (text: string) => T | undefined): T | undefined => {
    const text = annotations[annotation];
    return text === undefined ? undefined : parse(text);
  };
  const { status } = node;
  const address = status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "";
  const hybridSubnet = read(ANNOTATIONS.nodeSubnet, parseIpv4Prefix);
  return {
    name: node.metadata.name,
    machineId: status?.nodeInfo?.machineID,
    // OpenShift's selector of --no-hostsubnet-nodes.
    isHybrid: status?.nodeInfo?.operatingSystem === "windows",
    ip: parseIpv4(address),
    subnet: read(ANNOTATIONS.ovnSubnets, parseOvnSubnets) ?? hybridSubnet,
    hybridSubnet,
    routerMac: read(ANNOTATIONS.routerMac, parseMac),
    routerIp: read(ANNOTATIONS.routerIp, parseIpv4),
    nodeId: read(ANNOTATIONS.nodeId, parseNodeId),
    unreadable: unreadableAnnotations(annotations),
  };
}

/** Which of what a tunnel to the node needs is missing; undefined: nothing. */
export function missingOf(node: HybridNode): string | undefined {
  if (node.subnet === undefined) return node.isHybrid ? ANNOTATIONS.nodeSubnet : ANNOTATIONS.ovnSubnets;
  if (node.ip === undefined) return "status.addresses InternalIP";
  return node.routerMac === undefined ? ANNOTATIONS.routerMac : undefined;
}

/** A change of annotations, as a program patches its Node. */
export type Annotated = (node: string, annotations: Readonly<Record<string, string>>) => Promise<void>;
