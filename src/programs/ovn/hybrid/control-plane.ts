/**
 * The part of ovn-kubernetes that runs once in a cluster, as far as it writes annotations: ranges, and for OVN's nodes the
 * address and the MAC address of the port that leads into the overlay (control-planes.md §4.1).
 */
import { type Prefix, addToIp, formatIp, formatPrefix } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { ANNOTATIONS, type Annotated, type HybridNode } from "./annotations.ts";

/** `.3`, behind the router's port and the node's own. */
export const ROUTER_IP_OFFSET = 3;
/** `0a:58` and the address. */
const MAC_PREFIX = 0x0a58_0000_0000;

/** As Go prints a MAC address. */
function formatGoMac(mac: Mac): string {
  return formatMac(mac).toLowerCase().replaceAll("-", ":");
}

/**
 * Writes what is missing into Nodes; what can be read stays as it is.
 * @param rangeOf what the allocator has for a node; undefined: nothing.
 */
export class HybridOverlayControlPlane {
  private readonly rangeOf: (node: string) => Prefix | undefined;
  private readonly annotate: Annotated;

  constructor(rangeOf: (node: string) => Prefix | undefined, annotate: Annotated) {
    this.rangeOf = rangeOf;
    this.annotate = annotate;
  }

  /** @returns true when a Node was changed. */
  async sync(nodes: readonly HybridNode[]): Promise<boolean> {
    const taken = new Set(nodes.map(({ nodeId }) => nodeId));
    let nextId = 2;
    let isChanged = false;
    for (const node of nodes) {
      while (taken.has(nextId)) nextId++;
      const wanted = this.wantedOf(node, nextId);
      if (wanted[ANNOTATIONS.nodeId] !== undefined) taken.add(nextId);
      if (Object.keys(wanted).length === 0) continue;
      isChanged = true;
      await this.annotate(node.name, wanted);
    }
    return isChanged;
  }

  private wantedOf(node: HybridNode, freeId: number): Readonly<Record<string, string>> {
    const range = this.rangeOf(node.name);
    if (node.isHybrid)
      return node.hybridSubnet === undefined && range !== undefined
        ? { [ANNOTATIONS.nodeSubnet]: formatPrefix(range) }
        : {};
    const subnet = node.subnet ?? range;
    if (subnet === undefined) return {};
    const ip = node.routerIp ?? addToIp(subnet.address, ROUTER_IP_OFFSET) ?? subnet.address;
    const isUnreadable = (name: string): boolean =>
      node.unreadable.some(({ annotation }) => annotation === name);
    return {
      ...(node.subnet === undefined && {
        [ANNOTATIONS.ovnSubnets]: JSON.stringify({ default: [formatPrefix(subnet)] }),
      }),
      ...(node.nodeId === undefined && { [ANNOTATIONS.nodeId]: String(freeId) }),
      // One that is there stays, whatever it says (master.go, handleHybridOverlayPort).
      ...(node.routerIp === undefined &&
        !isUnreadable(ANNOTATIONS.routerIp) && { [ANNOTATIONS.routerIp]: formatIp(ip) }),
      ...(node.routerMac === undefined &&
        !isUnreadable(ANNOTATIONS.routerMac) && {
          [ANNOTATIONS.routerMac]: formatGoMac((MAC_PREFIX + Number(ip)) as Mac),
        }),
    };
  }
}
