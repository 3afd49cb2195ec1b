/** Port security (ovn-nb(5), `port_security`): which addresses a port may use, on the way in and on the way out. */
import type { Constant } from "./language/tokens.ts";
import type { LogicalPort } from "./logical-network.ts";
import type { PacketState } from "./packet-state.ts";

const DHCP_CLIENT = 68n;
const DHCP_SERVER = 67n;
const BROADCAST = 0xffff_ffffn;
const LINK_LOCAL: Constant = { value: 0xfe80n << 112n, mask: 0xffc0n << 112n, width: 128 };

function holds(ips: readonly Constant[], width: 32 | 128, found: bigint): boolean {
  return ips.some(
    (ip) => ip.width === width && (ip.mask === undefined ? found : found & ip.mask) === ip.value,
  );
}

function whole(state: PacketState, base: string, width: number): bigint {
  return state.read({ base, low: 0, width });
}

/** A client that has no address yet asks for one. */
function isDhcpRequest(state: PacketState): boolean {
  return (
    whole(state, "ip4.src", 32) === 0n &&
    whole(state, "ip4.dst", 32) === BROADCAST &&
    whole(state, "ip.proto", 8) === 17n &&
    whole(state, "udp.src", 16) === DHCP_CLIENT &&
    whole(state, "udp.dst", 16) === DHCP_SERVER
  );
}

function mayArp(state: PacketState, mac: bigint, ips: readonly Constant[]): boolean {
  if (whole(state, "arp.sha", 48) !== mac) return false;
  return ips.every(({ width }) => width !== 32)
    ? ips.length === 0
    : holds(ips, 32, whole(state, "arp.spa", 32));
}

function maySend(state: PacketState, mac: bigint, ips: readonly Constant[]): boolean {
  if (whole(state, "eth.src", 48) !== mac) return false;
  const etherType = whole(state, "eth.type", 16);
  if (etherType === 0x806n) return mayArp(state, mac, ips);
  if (ips.length === 0) return true;
  if (etherType === 0x800n) return holds(ips, 32, whole(state, "ip4.src", 32)) || isDhcpRequest(state);
  if (etherType !== 0x86ddn) return true;
  const source = whole(state, "ip6.src", 128);
  if (!ips.some(({ width }) => width === 128)) return false;
  return holds(ips, 128, source) || source === 0n || holds([LINK_LOCAL], 128, source);
}

function mayReceive(state: PacketState, mac: bigint, ips: readonly Constant[]): boolean {
  if (whole(state, "eth.dst", 48) !== mac) return false;
  if (ips.length === 0) return true;
  const etherType = whole(state, "eth.type", 16);
  if (etherType === 0x800n) {
    const destination = whole(state, "ip4.dst", 32);
    return holds(ips, 32, destination) || destination === BROADCAST || destination >> 28n === 0xen;
  }
  if (etherType !== 0x86ddn) return true;
  const destination = whole(state, "ip6.dst", 128);
  if (!ips.some(({ width }) => width === 128)) return false;
  return (
    holds(ips, 128, destination) || destination >> 120n === 0xffn || holds([LINK_LOCAL], 128, destination)
  );
}

/** True when the port must not send this packet. */
export function breaksInPortSecurity(state: PacketState, port: LogicalPort | undefined): boolean {
  if (port === undefined || port.security.length === 0) return false;
  return !port.security.some(({ mac, ips }) => maySend(state, mac, ips));
}

/** True when the port must not get this packet. */
export function breaksOutPortSecurity(state: PacketState, port: LogicalPort | undefined): boolean {
  if (port === undefined || port.security.length === 0) return false;
  if (((whole(state, "eth.dst", 48) >> 40n) & 1n) === 1n) return false;
  return !port.security.some(({ mac, ips }) => mayReceive(state, mac, ips));
}
