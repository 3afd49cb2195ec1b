/**
 * The OpenFlow rules of `br-ext` on a node of OVN, as lines of `ovs-ofctl replace-flows` (control-planes.md §4.1; ovn-kubernetes,
 * hybrid-overlay, ovn_node_linux.go). The bridge hangs on OVN's integration bridge by the port `ext`, and on other nodes by
 * `ext-vxlan`. Upstream marks a node's flows with a cookie, the first bytes of a hash of its name; here they have none.
 */
import { type Ip, type Ipv4, type Prefix, addToIp, formatIp, formatPrefix } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { HYBRID_VNI } from "./annotations.ts";

export const EXT_BRIDGE = "br-ext";
export const EXT_PORT = "ext";
export const EXT_VXLAN_PORT = "ext-vxlan";
const TABLES: readonly number[] = [0, 1, 2, 10, 20];
/** `.1` is the router's port of the node's switch, `.2` the node's own. */
const GATEWAY_OFFSET = 1;
const MANAGEMENT_OFFSET = 2;

/** The node as its bridge knows it. */
export interface BridgeNode {
  readonly subnet: Prefix;
  readonly routerMac: Mac;
  readonly routerIp: Ipv4;
  /** Of the gateway router on the join switch; packets that it translated come from there. */
  readonly joinIp: Ipv4;
  readonly managementMac: Mac;
}

/** A node behind a tunnel. */
export interface BridgePeer {
  readonly subnet: Prefix;
  readonly ip: Ipv4;
  readonly routerMac: Mac;
}

function mac(value: Mac): string {
  return formatMac(value).toLowerCase().replaceAll("-", ":");
}

function hexMac(value: Mac): string {
  return `0x${formatMac(value).toLowerCase().replaceAll("-", "")}`;
}

function hexIp(ip: Ip): string {
  return Number(ip).toString(16).padStart(8, "0");
}

/** `0a:58` and the address, as OVN's ports have it. */
export function macOfIp(ip: Ip): Mac {
  return (0x0a58_0000_0000 + Number(ip)) as Mac;
}

/** Turns a request into the answer that `owner` gives for whatever address was asked for. */
function answerFor(owner: Mac): string {
  return [
    "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]",
    `mod_dl_src:${mac(owner)}`,
    "load:0x2->NXM_OF_ARP_OP[]",
    "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]",
    `load:${hexMac(owner)}->NXM_NX_ARP_SHA[]`,
    "move:NXM_OF_ARP_TPA[]->NXM_NX_REG0[]",
    "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]",
    "move:NXM_NX_REG0[]->NXM_OF_ARP_SPA[]",
    "IN_PORT",
  ].join(",");
}

/** What the node itself needs, whoever else is there. */
export function nodeFlows(node: BridgeNode): readonly string[] {
  const { subnet, routerMac, routerIp, joinIp, managementMac } = node;
  const range = formatPrefix(subnet);
  const managementIp = addToIp(subnet.address, MANAGEMENT_OFFSET) ?? subnet.address;
  const gateway = addToIp(subnet.address, GATEWAY_OFFSET) ?? subnet.address;
  const own = mac(routerMac);
  return [
    ...TABLES.map((table) => `table=${table},priority=0,actions=drop`),
    `table=0,priority=100,in_port=${EXT_PORT},arp,arp_op=1,arp_tpa=${formatIp(routerIp)},` +
      `actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],mod_dl_src:${own},load:0x2->NXM_OF_ARP_OP[],` +
      `move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],` +
      `load:${hexMac(routerMac)}->NXM_NX_ARP_SHA[],load:0x${hexIp(routerIp)}->NXM_OF_ARP_SPA[],IN_PORT,resubmit(,1)`,
    `table=0,priority=100,in_port=${EXT_VXLAN_PORT},ip,nw_dst=${range},dl_dst=${own},actions=goto_table:10`,
    `table=0,priority=10,arp,in_port=${EXT_VXLAN_PORT},arp_op=1,arp_tpa=${range},actions=resubmit(,2)`,
    `table=2,priority=100,arp,in_port=${EXT_VXLAN_PORT},arp_op=1,arp_tpa=${range},` +
      `actions=move:tun_src->tun_dst,load:${HYBRID_VNI}->NXM_NX_TUN_ID[0..31],${answerFor(routerMac)}`,
    `table=10,priority=100,ip,nw_dst=${formatIp(managementIp)},` +
      `actions=mod_dl_src:${own},mod_dl_dst:${mac(managementMac)},output:${EXT_PORT}`,
    `table=10,priority=100,ip,nw_dst=${formatIp(routerIp)},` +
      `actions=mod_nw_dst:${formatIp(joinIp)},mod_dl_src:${own},mod_dl_dst:${mac(macOfIp(gateway))},output:${EXT_PORT}`,
  ];
}

/** A pod of the node: its own address is its cookie. */
export function podFlow({ routerMac }: BridgeNode, pod: { readonly ip: Ipv4; readonly mac: Mac }): string {
  return (
    `table=10,cookie=0x${hexIp(pod.ip)},priority=100,ip,nw_dst=${formatIp(pod.ip)},` +
    `actions=set_field:${mac(routerMac)}->eth_src,set_field:${mac(pod.mac)}->eth_dst,output:${EXT_PORT}`
  );
}

/** A node behind a tunnel: whoever asks for its pods is sent to its router, and so are packets to them. */
export function peerFlows({ routerIp, joinIp }: BridgeNode, peer: BridgePeer): readonly string[] {
  const range = formatPrefix(peer.subnet);
  const tunnel =
    `load:${HYBRID_VNI}->NXM_NX_TUN_ID[0..31],` +
    `set_field:${formatIp(peer.ip)}->tun_dst,set_field:${mac(peer.routerMac)}->eth_dst,output:${EXT_VXLAN_PORT}`;
  return [
    `table=0,priority=100,arp,in_port=${EXT_PORT},arp_tpa=${range},actions=${answerFor(peer.routerMac)}`,
    `table=0,priority=100,ip,nw_dst=${range},actions=${tunnel}`,
    `table=0,priority=101,ip,nw_dst=${range},nw_src=${formatIp(joinIp)},` +
      `actions=set_field:${formatIp(routerIp)}->nw_src,${tunnel}`,
  ];
}
