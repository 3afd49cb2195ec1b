/**
 * The hybrid overlay on a node that OVN has: flows of `br-ext` for its pods and for each node behind a tunnel, and routes of the
 * host (control-planes.md §4.1). It knows the machine through `HybridOverlayLinuxHost` alone.
 */
import { type Ipv4, type Prefix, parseIpv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { ANNOTATIONS, type HybridNode, missingOf } from "./annotations.ts";
import { type BridgeNode, macOfIp, nodeFlows, peerFlows, podFlow } from "./bridge-flows.ts";
import type { HybridOverlayFinding } from "./finding.ts";
import { hybridOverlay } from "#data/words.js";

const WORDS = hybridOverlay();

/** 100.64.0.0/16: each gateway router has the address of its node's number there (ovn-kubernetes, --gateway-v4-join-subnet). */
const JOIN_NETWORK = parseIpv4("100.64.0.0") ?? 0;

/** Of the gateway router of the node with that number. */
export function joinAddress(nodeId: number): Ipv4 {
  return (JOIN_NETWORK + nodeId) as Ipv4;
}

/** A pod of the node, as OVN's annotation `k8s.ovn.org/pod-networks` has it. */
export interface HybridPod {
  readonly ip: Ipv4;
}

/** The machine, as far as the overlay changes it. */
export interface HybridOverlayLinuxHost {
  /** Of `ovn-k8s-mp0`. */
  readonly managementMac: Mac;
  /** Makes the bridge if it is not there, and gives it these flows in place of all others. */
  replaceFlows(lines: readonly string[]): void;
  /** The ranges that lead to `via` on `ovn-k8s-mp0`, in place of all before. */
  replaceRoutes(ranges: readonly Prefix[], via: Ipv4): void;
}

/** Plain data. */
export class HybridOverlayLinuxNode {
  private readonly host: HybridOverlayLinuxHost;
  private readonly nodeName: string;
  private trouble: HybridOverlayFinding | undefined;

  constructor(nodeName: string, host: HybridOverlayLinuxHost) {
    this.nodeName = nodeName;
    this.host = host;
  }

  findings(): readonly HybridOverlayFinding[] {
    return this.trouble === undefined ? [] : [this.trouble];
  }

  /** Computes all flows anew and swaps them: upstream keeps them by cookies and swaps the whole set, on a change and every 30 s. */
  sync(nodes: readonly HybridNode[], pods: readonly HybridPod[]): void {
    const own = nodes.find(({ name }) => name === this.nodeName);
    const node = own === undefined ? undefined : this.bridgeOf(own);
    if (node === undefined) return;
    const peers = nodes.filter((each) => each.isHybrid && missingOf(each) === undefined);
    const flows = [
      ...nodeFlows(node),
      ...pods.map(({ ip }) => podFlow(node, { ip, mac: macOfIp(ip) })),
      ...peers.flatMap(({ subnet, ip, routerMac }) =>
        subnet === undefined || ip === undefined || routerMac === undefined
          ? []
          : peerFlows(node, { subnet, ip, routerMac }),
      ),
    ];
    this.host.replaceFlows(flows);
    this.host.replaceRoutes(
      peers.flatMap(({ subnet }) => subnet ?? []),
      node.routerIp,
    );
  }

  /** Undefined while the Node lacks what the bridge needs, which is told. */
  private bridgeOf(own: HybridNode): BridgeNode | undefined {
    const { subnet, routerMac, routerIp, nodeId } = own;
    const missing =
      missingOf(own) ??
      (routerIp === undefined ? ANNOTATIONS.routerIp : undefined) ??
      (nodeId === undefined ? ANNOTATIONS.nodeId : undefined);
    this.trouble =
      missing === undefined
        ? undefined
        : {
            code: "hybrid-overlay-annotation-missing",
            message: WORDS.bridgeWithoutAnnotation({ annotation: missing }),
          };
    if (subnet === undefined || routerMac === undefined || routerIp === undefined || nodeId === undefined)
      return undefined;
    return {
      subnet,
      routerMac,
      routerIp,
      joinIp: joinAddress(nodeId),
      managementMac: this.host.managementMac,
    };
  }
}
