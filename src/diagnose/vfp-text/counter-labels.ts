/** Labels of `/get-port-counter`. Those that Retina reads are observed (dataplane.md §7.8). Inferred: the first ones. */
import type { TcpCounters } from "#dataplane/vfp/counters.ts";
import type { ListedPortCounters } from "#dataplane/vfp/listing/listing.ts";

export const PORT_COUNTER_LABELS: readonly (readonly [keyof ListedPortCounters, string])[] = [
  ["totalPackets", "Total packets"],
  ["droppedPackets", "Dropped packets"],
  ["pendingPackets", "Pending packets"],
  ["unifiedFlowMatch", "Unified flow match packets"],
  ["droppedAcl", "Dropped ACL packets"],
  ["synPackets", "SYN packets"],
  ["synAckPackets", "SYN-ACK packets"],
  ["finPackets", "FIN packets"],
  ["rstPackets", "RST packets"],
];

export const TCP_COUNTER_LABELS: readonly (readonly [keyof TcpCounters, string])[] = [
  ["verified", "TCP Connections Verified"],
  ["timedOut", "TCP Connections Timed Out"],
  ["reset", "TCP Connections Reset"],
  ["resetBySyn", "TCP Connections Reset by SYN"],
  ["closedByFin", "TCP Connections Closed by FIN"],
  ["halfOpenTimeouts", "TCP Half Open Timeouts"],
  ["expiredToTimeWait", "TCP Connections Expired to TimeWait"],
];
