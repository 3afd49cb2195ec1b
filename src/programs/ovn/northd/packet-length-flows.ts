/**
 * Packets that are too big for a port (`options:gateway_mtu`): whoever sent them hears its MTU. No Hyper-V datapath can check it
 * (control-planes.md §4.5), so that a Windows node does not ask for it.
 */
import type { FlowList } from "./flow-list.ts";
import type { LogicalRouter, RouterPort } from "./objects.ts";
import { ownMacs } from "./distributed-translation-flows.ts";

/** Bytes of Ethernet before a packet. */
const ETHERNET_BYTES = 14;

function mtuOf({ options }: RouterPort): number | undefined {
  const mtu = Number(options.get("gateway_mtu") ?? "0");
  return mtu > 0 ? mtu : undefined;
}

/** What goes before the other actions of a frame that comes in at a port. */
export function lengthCheck(port: RouterPort): string {
  const mtu = mtuOf(port);
  return mtu === undefined ? "" : `reg9[1] = check_pkt_larger(${mtu + ETHERNET_BYTES}); `;
}

function tooBig(mtu: number, macs: string, ip: string, ttl: number, then: string): string {
  return `icmp4_error {reg9[0] = 1; reg9[1] = 0; ${macs} ip4.dst = ip4.src; ip4.src = ${ip}; ip.ttl = ${ttl}; icmp4.type = 3; /* Destination Unreachable. */ icmp4.code = 4; /* Frag Needed and DF was Set. */ icmp4.frag_mtu = ${mtu}; ${then} };`;
}

const AGAIN = "next(pipeline=ingress, table=0);";

function addTooBig(list: FlowList, router: LogicalRouter, port: RouterPort, mtu: number): void {
  const [own] = port.networks;
  // A port without IPv4 has nothing to answer with.
  if (own === undefined) return;
  const comes = `inport == "${port.name}" && ip4 && reg9[1] && reg9[0] == 0`;
  list.add("lr_in_ip_input", 150, comes, tooBig(mtu, `eth.dst = ${port.mac};`, own.ip, 255, AGAIN), port.id);
  for (const { mac, external, id } of ownMacs(router, port)) {
    const to = `inport == "${port.name}" && reg9[1] && reg9[0] == 0 && ip4 && ip4.dst == ${external}`;
    const then = `outport = "${port.name}"; flags.loopback = 1; output;`;
    const macs = `eth.dst = eth.src; eth.src = ${mac};`;
    list.add("lr_in_ip_input", 160, to, tooBig(mtu, macs, external, 254, then), id);
  }
  for (const other of router.ports) {
    const [network] = other.networks;
    if (other === port || network === undefined) continue;
    const leaves = `inport == "${other.name}" && outport == "${port.name}" && ip4 && reg9[1] && reg9[0] == 0`;
    const actions = tooBig(mtu, `eth.dst = ${other.mac};`, network.ip, 255, AGAIN);
    list.add("lr_in_larger_pkts", 150, leaves, actions, port.id);
  }
}

export function addPacketLengths(list: FlowList, router: LogicalRouter): void {
  for (const port of router.ports) {
    const mtu = mtuOf(port);
    if (mtu === undefined) continue;
    list.add("lr_in_chk_pkt_len", 50, `outport == "${port.name}"`, `${lengthCheck(port)}next;`, port.id);
    addTooBig(list, router, port, mtu);
  }
  list.pass("lr_in_chk_pkt_len", "lr_in_larger_pkts");
}
