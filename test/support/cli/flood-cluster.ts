/**
 * A cluster as `mullion up` brings it up, and more connections from one of its pods than this process has memory for:
 *
 *   node --max-old-space-size=320 --conditions=mullion-source test/support/cli/flood-cluster.ts CONNECTIONS
 *
 * Prints as JSON how many were sent, and how a packet of one more ends. A process of its own, since what it shows is that
 * the process goes on.
 */
import { openSession } from "#cli/mullion/cluster/open-session.ts";
import type { UdpOwner } from "#dataplane/host/udp.ts";
import { findTraceEnd } from "#cluster/trace/find-trace-end.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { defined } from "#core/base/assert.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: flooded }
underlay: { subnet: 10.0.0.0/24, router: 10.0.0.1 }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
network: { plugin: win-bridge, routes: static }
pods:
  - { name: a, node: win-1, address: 10.244.1.10 }
  - { name: b, node: win-2, address: 10.244.2.10, ports: [{ port: 8080 }] }
`;
/** A datagram to each port is a connection of its own. */
const PORTS = 60_000;
/** Sent at once; then the world takes what time it needs. */
const BURST = 200;

/** Hears nothing: what comes back is not of interest. */
class Deaf implements UdpOwner {
  udpReceived(): void {}
  udpFailed(): void {}
}

const { session } = await openSession([{ name: "cluster.yaml", text: CLUSTER }]);
const { cluster } = session;
const { udp } = defined(findTraceEnd(cluster, "pod/a").compartment, "pod a sends");
const destination = findTraceEnd(cluster, "pod/b").ip;
const sent = Number(process.argv[2]);
for (let next = 0; next < sent; ) {
  const socket = udp.bind({ owner: new Deaf() });
  if (typeof socket === "string") throw new Error(socket);
  for (let port = 1; port <= PORTS && next < sent; port++, next++) {
    socket.send({ destination, port, bytes: Uint8Array.of(1) });
    if (next % BURST === 0) cluster.clock.runUntil(cluster.clock.nowMs + 1);
  }
  socket.close();
}
cluster.clock.runUntil(cluster.clock.nowMs + 1);
const { report } = tracePacket(cluster, { from: "pod/a", to: "pod/b", protocol: "tcp", port: 8080 });
process.stdout.write(`${JSON.stringify({ sent, verdict: report.verdict, code: report.code })}\n`);
