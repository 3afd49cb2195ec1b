/** The address of a pod that a DHCP server gives it: the kubelet's runtime waits until it is there. */
import type { VirtualClock } from "../base/clock.ts";
import { CNI_CODES, CniError } from "../cni/error.ts";
import type { Compartment } from "../host/compartment.ts";
import { DHCP_WAIT_MS } from "../host/dhcp/dhcp-client.ts";
import { type Ipv4, formatIp } from "../net/ip.ts";
import { type Prefix, prefixContains, prefixOf } from "../net/prefix.ts";

/** What a Windows stack gives itself without a server: no address for a pod. */
const OWN_ADDRESSES: Prefix = Object.freeze(prefixOf(0xa9fe_0000 as Ipv4, 16));

function addressOf(compartment: Compartment): Ipv4 | undefined {
  const ips = compartment.listInterfaces().flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
  return ips.find((ip) => typeof ip === "number");
}

/**
 * Lets time pass until the pod has a lease.
 * @throws CniError with the code `dhcp-no-lease` when nobody grants one while the stack asks for the first time.
 */
export function waitForLease(compartment: Compartment, clock: VirtualClock): Ipv4 {
  const endMs = clock.nowMs + DHCP_WAIT_MS;
  for (let atMs = clock.nextAtMs(); atMs !== undefined && atMs <= endMs; atMs = clock.nextAtMs()) {
    if (addressOf(compartment) !== undefined) break;
    clock.step();
  }
  const address = addressOf(compartment);
  if (address !== undefined && !prefixContains(OWN_ADDRESSES, address)) return address;
  const own = address === undefined ? "" : `; its stack took ${formatIp(address)}`;
  const message = `no DHCP server gave the pod an address within ${DHCP_WAIT_MS / 1_000} s${own}`;
  throw new CniError(CNI_CODES.internal, message, { knowledge: "dhcp-no-lease" });
}
