/** The DHCP server of the underlay: on the router, as in most small networks. */
import { assert, defined } from "../base/assert.ts";
import { DhcpServer } from "../fabric/dhcp-server.ts";
import type { Underlay } from "../fabric/underlay.ts";
import type { Ipv4 } from "../net/ip.ts";
import { lastIp } from "../net/prefix.ts";
import type { ClusterFile } from "./file/cluster-file.ts";

/** Nothing where the file asks for none. The first and the last address of its range are nobody's. */
export function serveDhcp({ underlay: spec }: ClusterFile, { router }: Underlay): void {
  if (spec.dhcp === undefined) return;
  const { range, leaseSeconds } = spec.dhcp;
  const { compartment } = router;
  const server = new DhcpServer({
    compartment,
    netInterface: defined(compartment.interfaceOf(spec.router), "the router has its address"),
    subnet: spec.subnet,
    first: (Number(range.address) + 1) as Ipv4,
    last: (Number(lastIp(range)) - 1) as Ipv4,
    router: spec.router,
    dnsServers: [],
    leaseSeconds,
  });
  assert(server.start() === undefined, "the router serves DHCP and nothing else");
}
