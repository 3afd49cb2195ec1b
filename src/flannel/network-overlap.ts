/** Pods in the nodes' own range: a route to pods would take what is for nodes. */
import { formatIp } from "../net/ip.ts";
import { type Prefix, formatPrefix, prefixContains, prefixOf, prefixesOverlap } from "../net/prefix.ts";
import { FlannelError } from "./flannel-error.ts";
import type { ExternalInterface } from "./flannel-host.ts";
import type { NetworkConfig } from "./network-config.ts";

/** @throws FlannelError `flannel-network-overlaps`. */
export function refuseOverlap({ network }: NetworkConfig, external: ExternalInterface): void {
  if (network === undefined) return;
  const overlapping = external.interface.addresses
    .filter(({ ip }) => ip === external.address)
    .map(({ ip, length }): Prefix => prefixOf(ip, length))
    .find((range) => prefixesOverlap(range, network));
  if (overlapping === undefined) {
    if (external.publicIp === undefined || !prefixContains(network, external.publicIp)) return;
    throw new FlannelError(
      "flannel-network-overlaps",
      `Network ${formatPrefix(network)} holds the node's own address ${formatIp(external.publicIp)}: choose another range for pods`,
    );
  }
  throw new FlannelError(
    "flannel-network-overlaps",
    `Network ${formatPrefix(network)} overlaps ${formatPrefix(overlapping)}, the nodes' own range on ${external.interface.name}: choose another range for pods`,
  );
}
