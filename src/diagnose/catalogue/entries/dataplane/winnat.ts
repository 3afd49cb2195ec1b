/** What the address translation of a Windows host refuses. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, NETWORK_DRIVERS, reference } from "../entry-text.ts";

type WinNatCode = "winnat-not-translated" | "winnat-ports-exhausted" | "winnat-address-filtered";

export const WIN_NAT_ENTRIES: EntryTable<WinNatCode> = {
  "winnat-not-translated": {
    title: "WinNAT translates TCP, UDP and ICMP echo over IPv4 and nothing else",
    cause: prose`
      An endpoint of a NAT network sent a packet to the outside that has no port or echo identifier, an ICMP error about
      a packet that was not sent, or the host has no address on the interface that the packet would leave by. Its own
      address means nothing outside, so it does not leave.`,
    onNode: prose`
      The translations of the host, and what they stand for:

          Get-NetNat
          Get-NetNatSession`,
    remedy: prose`
      Use TCP or UDP, or a network whose endpoints have addresses that the fabric knows: Transparent, L2Bridge or
      Overlay.`,
    sources: [NETWORK_DRIVERS, reference("dataplane.md §2.7")],
    profiles: ALL,
  },

  "winnat-ports-exhausted": {
    title: "The host has no port left for address translation",
    cause: prose`
      Each address and port behind a NAT network needs a port of the host. They come out of its dynamic range, which
      its own sockets share, and stay taken until the last session has been idle for 2 minutes, or for 30 when it is
      an established TCP connection.`,
    onNode: prose`
      How many sessions there are, and how wide the range is:

          (Get-NetNatSession).Count
          netsh int ipv4 show dynamicport tcp
          netsh int ipv4 show excludedportrange tcp`,
    remedy: prose`
      Close connections that are not used, spread the containers over several hosts, or widen the dynamic range with
      netsh int ipv4 set dynamicport.`,
    sources: [NETWORK_DRIVERS, reference("dataplane.md §2.7")],
    profiles: ALL,
  },

  "winnat-address-filtered": {
    title: "WinNAT lets in only addresses that the container has sent to",
    cause: prose`
      A packet arrived for a port that WinNAT gave to a container, from an address with which the container has no
      session. WinNAT filters by address (AddressDependentFiltering): any port of a known address may answer, an unknown
      address may not.`,
    onNode: prose`
      The filtering of each NAT, and the addresses it knows:

          Get-NetNat | fl Name, TcpFilteringBehavior, UdpFilteringBehavior
          Get-NetNatSession`,
    remedy: prose`
      Publish the port (docker run -p, PortMapping) if others are to reach the container; a port that WinNAT chose
      serves answers alone.`,
    sources: [NETWORK_DRIVERS, reference("dataplane.md §2.7, DT-079, DT-080")],
    profiles: ALL,
  },
};
