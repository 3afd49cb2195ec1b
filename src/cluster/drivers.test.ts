// Networks of every driver on assembled clusters, as the cluster file asks for them (dataplane.md §2.3 to §2.7).
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { DropCounters } from "#dataplane/host/drop-counters.ts";
import type { UdpOwner } from "#dataplane/host/udp.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { openTestCluster } from "#test/support/cluster/walk.ts";
import { type Cluster, forkCluster } from "./cluster.ts";
import { findTraceEnd } from "./trace/find-trace-end.ts";
import { readInput } from "./input/read-input.ts";
import { overlayMac } from "./networks/network-document.ts";
import { openSession } from "./session/open-session.ts";
import { runAttempt } from "./trace/attempts.ts";
import { tracePacket } from "./trace/trace.ts";
import { readModel } from "./verify/model-of-cluster.ts";
import { verifyCluster } from "./verify/verify.ts";
import type { TraceLeg } from "./trace/trace-report.ts";

const HEAD = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: drivers}
# The walks are those of nodes without it.
quirks: {overlay-nodeport-ws2022: off}
`;

const OVERLAY = `${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: win-2, os: windows, address: 10.0.0.12, podCIDR: 10.244.2.0/24}
network: {driver: Overlay, name: red, vni: 5001}
networks:
  - {name: blue, vni: 5002}
  - {name: green, vni: 5003, vxlanPort: 9898}
pods:
  - {name: a, node: win-1, address: 10.244.1.10}
  - {name: c, node: win-2, address: 10.244.2.10}
  - {name: blue-a, node: win-1, address: 10.244.1.10, network: blue}
  - {name: blue-b, node: win-1, address: 10.244.1.11, network: blue}
  - {name: blue-c, node: win-2, address: 10.244.2.10, network: blue}
  - {name: green-a, node: win-1, address: 10.244.1.10, network: green}
  - {name: green-c, node: win-2, address: 10.244.2.10, network: green}
`;

class Deaf implements UdpOwner {
  udpReceived(): void {}
  udpFailed(): void {}
}

/** What a TCP question to port 8080 comes to: the answer, or how it failed. */
function ask(cluster: Cluster, from: string, to: string, protocol: "tcp" | "icmp" = "tcp"): string {
  const copy = forkCluster(cluster);
  const compartment = findTraceEnd(copy, from).compartment!;
  const result = runAttempt(copy, {
    from: compartment,
    to: parseIp(to) ?? findTraceEnd(copy, to).ip,
    protocol,
    port: protocol === "tcp" ? 8_080 : 0,
    isFollowed: false,
  });
  return result.outcome === "answered" ? result.answer.trim() : result.outcome;
}

// The same network with endpoints of the plugin: what differs is who makes them (cni.md §2.3).
describe("plugin win-overlay", () => {
  const NODES = `
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: linux-1, os: linux, address: 10.0.0.12, podCIDR: 10.244.2.0/24}
pods:
  - {name: a, node: win-1}
  - {name: b, node: win-1, address: 10.244.1.20}
  - {name: l, node: linux-1}
`;

  it("attaches pods to the Overlay network of the cluster, which is what is documented", async () => {
    const cluster = await openTestCluster(`${HEAD}${NODES}network: {plugin: win-overlay}\n`);
    expect(cluster.file.network).toMatchObject({ driver: "Overlay", name: "vxlan0", vni: 4096 });
    expect(ask(cluster, "pod/a", "pod/l")).toMatch(/^l saw 10\.244\.1\.3:/);
    expect(ask(cluster, "pod/l", "pod/b")).toMatch(/^b saw 10\.244\.2\./);
    expect(verifyCluster(cluster, readModel(cluster)).findings).toEqual([]);
  });

  it("gives pods the MAC that other nodes derive from their address", async () => {
    const cluster = await openTestCluster(`${HEAD}${NODES}network: {plugin: win-overlay, vni: 5001}\n`);
    const pod = cluster.pods.find(({ spec }) => spec.name === "b");
    const [own] = (pod?.compartment.listInterfaces() ?? []).filter(({ addresses }) =>
      addresses.some(({ ip }) => ip === parseIp("10.244.1.20")),
    );
    expect(own === undefined ? "" : formatMac(own.mac)).toBe("0E-2A-0A-F4-01-14");
  });

  it.each(["L2Bridge", "NAT"])("does not go with driver %s", (driver) => {
    const text = `${HEAD}${NODES}network: {plugin: win-overlay, driver: ${driver}}\n`;
    const read = readInput([{ name: "cluster.yaml", text }]);
    const [problem] = "problems" in read ? read.problems : [];
    expect(problem?.code).toBe("cluster-file-driver-mismatch");
    expect(problem?.message).toContain("win-overlay attaches pods to Overlay networks");
  });
});

describe("driver Overlay", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await openTestCluster(OVERLAY);
  });

  it("DT-050 the MAC of an endpoint is 0E-2A and its address, written as win-overlay writes it", () => {
    expect(overlayMac(parseIp("10.244.1.10")!)).toBe("0E-2A-0a-f4-01-0a");
    const [pod] = cluster.pods;
    expect(pod!.compartment.listInterfaces()[0]!.mac).toBe(0x0e2a_0af4_010a);
  });

  it("WALK-O-2 node to fabric to node: VXLAN between the nodes, and the trace shows what is around the packet", () => {
    const { report } = tracePacket(cluster, { from: "pod/a", to: "pod/c", protocol: "tcp", port: 8_080 });
    expect(report).toMatchObject({
      verdict: "answered",
      answer: expect.stringMatching(/^c saw 10\.244\.1\.10:/) as string,
    });
    const wire = report.forward.steps.findIndex(({ kind }) => kind === "wire");
    expect(report.forward.steps[wire]!.frame).toMatch(
      /^VXLAN 5001 10\.0\.0\.11 → 10\.0\.0\.12 \[TCP 10\.244\.1\.10:\d+ → 10\.244\.2\.10:8080/,
    );
    const nodes = report.forward.steps.map(({ node }) => node);
    expect(nodes.filter((node, index) => node !== nodes[index - 1])).toEqual(["win-1", "underlay", "win-2"]);
    const changed = report.forward.steps.flatMap(({ changes }) => changes);
    expect(changed).toContainEqual(expect.objectContaining({ field: "vxlan.vni", after: "5001" }));
    expect(changed).toContainEqual(
      expect.objectContaining({ field: "inner.ip.ttl", before: "128", after: "127" }),
    );
  });

  it("networks with one prefix and different VNIs hold the same address, on one node and across nodes, and never exchange a packet", () => {
    expect(ask(cluster, "pod/a", "10.244.2.10")).toMatch(/^c saw 10\.244\.1\.10:/);
    expect(ask(cluster, "pod/blue-a", "10.244.2.10")).toMatch(/^blue-c saw 10\.244\.1\.10:/);
    expect(ask(cluster, "pod/blue-a", "10.244.1.11")).toMatch(/^blue-b saw 10\.244\.1\.10:/);
    // Nobody has the address in red.
    expect(ask(cluster, "pod/a", "10.244.1.11")).toBe("unreachable");
  });

  it("networks of one node have different VXLAN ports", () => {
    expect(ask(cluster, "pod/green-a", "10.244.2.10")).toMatch(/^green-c saw 10\.244\.1\.10:/);
    const { forward } = tracePacket(cluster, {
      from: "pod/green-a",
      to: "pod/green-c",
      protocol: "tcp",
      port: 8_080,
    }).report;
    const changes = forward.steps.flatMap((step) => step.changes);
    expect(changes).toContainEqual(expect.objectContaining({ field: "udp.dstport", after: "9898" }));
  });

  it("WALK-O-9 the node reaches its pod and the pod its node, with the addresses of the walk", () => {
    expect(ask(cluster, "node/win-1", "10.244.1.10")).toMatch(/^a saw 10\.0\.0\.11:/);
    expect(ask(cluster, "pod/a", "10.0.0.11", "icmp")).toMatch(/^echo reply from 10\.0\.0\.11/);
  });
});

describe("Linux nodes on driver Overlay", () => {
  const MIXED = `${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24}
network: {driver: Overlay}
pods:
  - {name: a, node: win-1, address: 10.244.1.10}
  - {name: d, node: lin-1, address: 10.244.3.10}
`;
  let mixed: Cluster;
  beforeAll(async () => {
    mixed = await openTestCluster(MIXED);
  });

  /** Value of a field after each step of one direction that changed it. */
  function course(leg: TraceLeg, field: string): readonly (string | undefined)[] {
    return leg.steps.flatMap(({ changes }) =>
      changes.flatMap((change) => (change.field === field ? [change.after] : [])),
    );
  }

  it("WALK-O-3 A → D and back: L1v inside, TTL 127 on the wire and 126 at D; back 63, without DF outside", () => {
    const { forward, reply, answer } = tracePacket(mixed, {
      from: "pod/a",
      to: "pod/d",
      protocol: "tcp",
      port: 8_080,
    }).report;
    expect(answer).toMatch(/^d saw 10\.244\.1\.10:/);
    // On the wire, and on the cable of D.
    expect(course(forward, "inner.eth.dst")).toEqual(["66-00-0A-00-00-15", "0A-58-0A-F4-03-0A"]);
    expect(course(forward, "inner.ip.ttl")).toEqual(["127", "126"]);
    expect(course(forward, "ip.ttl")).toEqual(["128", undefined]);
    expect(course(reply!, "vxlan.vni")).toEqual(["4096", undefined]);
    // One hop inside the Linux node; then the tunnel's own TTL.
    expect(course(reply!, "ip.ttl")).toEqual(["63", "64", undefined]);
    expect(course(reply!, "ip.flags.df")).toEqual(["0", undefined]);
  });

  it("a node's own packets have the address of its VXLAN device, and the answer comes back through the tunnel", () => {
    expect(ask(mixed, "node/lin-1", "10.244.1.10")).toMatch(/^a saw 10\.244\.3\.0:/);
  });

  /** What the Linux node drops when somebody outside sends it a VXLAN payload. */
  function afterTunnel(vni: number, frame: Uint8Array): DropCounters {
    const copy = forkCluster(mixed);
    const [, linux] = copy.nodes;
    const socket = copy.outside[0]!.compartment.udp.bind({ owner: new Deaf() });
    if (typeof socket === "string") throw new Error(socket);
    const bytes = Uint8Array.of(8, 0, 0, 0, 0, vni >> 8, vni & 0xff, 0, ...frame);
    socket.send({ destination: parseIp("10.0.0.21")!, port: 4_789, bytes });
    copy.clock.runUntil(copy.clock.nowMs + 1_000);
    return linux!.host.root.drops;
  }

  it("a tunnel of another network ends at the node, counted", () => {
    expect(afterTunnel(4_097, new Uint8Array(60)).get("virtual-subnet-unknown")).toBe(1);
  });

  it("a tunnel inside a tunnel to the same device ends there, counted", () => {
    const inner = buildUdpFrame({
      link: { sourceMac: 2 as Mac, destinationMac: 0x6600_0a00_0015 as Mac },
      ip: {
        source: parseIp("10.244.1.10")!,
        destination: parseIp("10.244.3.0")!,
        ttl: 64,
        identification: 1,
        isDontFragment: false,
      },
      udp: { sourcePort: 5_000, destinationPort: 4_789 },
      payload: Uint8Array.of(8, 0, 0, 0, 0, 0x10, 0, 0, ...new Uint8Array(60)),
      checksum: "computed",
    });
    expect(afterTunnel(4_096, inner.frame).get("tunnel-refused")).toBe(1);
  });
});

describe("Services on driver Overlay", () => {
  const SERVICES = (enableDSR: boolean): string => `${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: win-2, os: windows, address: 10.0.0.12, podCIDR: 10.244.2.0/24}
network: {driver: Overlay}
kubeProxy: {enableDSR: ${enableDSR}}
pods:
  - {name: client, node: win-1}
  - {name: near, node: win-1, labels: {app: near}}
  - {name: far, node: win-2, labels: {app: far}}
`;

  /** The cluster with a Service for the pods of one app, and what is to be told about it. */
  async function withService(enableDSR: boolean, app: string, spec: string) {
    const service = `apiVersion: v1\nkind: Service\nmetadata: {name: ${app}}\nspec: {selector: {app: ${app}}, ${spec}}\n`;
    const read = readInput([
      { name: "cluster.yaml", text: SERVICES(enableDSR) },
      { name: "service.yaml", text: service },
    ]);
    if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
    const { session } = await openSession(read.input);
    expect(session.notes()).toEqual([]);
    return session.cluster;
  }

  it.each([
    ["WALK-O-4 with DSR the back end sees the client", true, /^far saw 10\.244\.1\.3:/],
    [
      "WALK-O-5 without DSR the back end on another node sees the source VIP",
      false,
      /^far saw 10\.244\.1\.2:/,
    ],
  ])("%s", async (_, enableDSR, seen) => {
    const cluster = await withService(
      enableDSR,
      "far",
      "clusterIP: 10.96.0.50, ports: [{port: 8080, targetPort: 8080}]",
    );
    expect(ask(cluster, "pod/client", "10.96.0.50")).toMatch(seen);
  });

  it.each([
    [
      "with policy Local and a local back end the client is kept",
      "near",
      "externalTrafficPolicy: Local",
      /^near saw 203\.0\.113\.10:/,
    ],
    [
      "without SourceVIP in its way: a back end on another node sees the source VIP",
      "far",
      "externalTrafficPolicy: Cluster",
      /^far saw 10\.244\.1\.2:/,
    ],
  ])("WALK-O-8 a node port, %s", async (_, app, policy, seen) => {
    const ports = "ports: [{port: 80, targetPort: 8080, nodePort: 30080}]";
    const cluster = await withService(true, app, `type: NodePort, ${policy}, ${ports}`);
    const copy = forkCluster(cluster);
    const result = runAttempt(copy, {
      from: findTraceEnd(copy, "external").compartment!,
      to: parseIp("10.0.0.11")!,
      protocol: "tcp",
      port: 30_080,
      isFollowed: false,
    });
    expect(result.outcome === "answered" ? result.answer : result.outcome).toMatch(seen);
  });
});

describe("macSpoofing of a node's fabric port", () => {
  const guarded = (driver: string, more = ""): string => `${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.0.1.0/24}
  - {name: win-2, os: windows, address: 10.0.0.12, podCIDR: 10.0.2.0/24, macSpoofing: off}
network: {driver: ${driver}${more}}
underlay: {subnet: 10.0.0.0/16}
pods:
  - {name: a, node: win-1}
  - {name: b, node: win-2}
  - {name: c, node: win-2}
`;

  it("DT-071 off cuts transparent pods off from other machines, counted; the node and pods of the node are not", async () => {
    const cluster = await openTestCluster(guarded("Transparent"));
    const { drops } = cluster.underlay.segment;
    expect(ask(cluster, "pod/b", "pod/c")).toMatch(/^c saw 10\.0\.2\.3:/);
    expect(ask(cluster, "node/win-2", "10.0.0.11", "icmp")).toMatch(/^echo reply/);
    // Each of the two pods has announced its address once.
    expect(drops.get("mac-spoofing-refused")).toBe(2);
    const copy = forkCluster(cluster);
    runAttempt(copy, {
      from: findTraceEnd(copy, "pod/b").compartment!,
      to: findTraceEnd(copy, "pod/a").ip,
      protocol: "tcp",
      port: 8_080,
      isFollowed: false,
    });
    expect(copy.underlay.segment.drops.get("mac-spoofing-refused")).toBeGreaterThan(2);
    expect(ask(cluster, "pod/a", "pod/b")).toBe("unreachable");
  });

  it("L2Bridge pods show the node's MAC on the wire, so it is nothing to them", async () => {
    const cluster = await openTestCluster(guarded("L2Bridge", ", plugin: hns, shape: node-subnet"));
    expect(ask(cluster, "pod/b", "pod/a")).toMatch(/^a saw 10\.0\.2\.3:/);
    expect(cluster.underlay.segment.drops.get("mac-spoofing-refused")).toBe(0);
  });
});

describe("a Transparent network with addresses of a DHCP server", () => {
  const leased = (dhcp: string): string => `${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: win-2, os: windows, address: 10.0.0.12}
network: {driver: Transparent, ipam: dhcp}
underlay: {subnet: 10.0.0.0/16${dhcp}}
pods:
  - {name: a, node: win-1}
  - {name: b, node: win-2}
  - {name: c, node: win-2}
`;

  /** The addresses of the pods that run, and what is told of the others. */
  async function opened(text: string) {
    const read = readInput([{ name: "cluster.yaml", text }]);
    if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
    const { session } = await openSession(read.input);
    const { cluster } = session;
    const pods = cluster.pods.map(({ spec, address }) => `${spec.name} ${formatIp(address)}`);
    return { cluster, pods, notes: session.notes().map(({ code, message }) => `${code}: ${message}`) };
  }

  it("WALK-T-4 WALK-T-5 DT-073 every pod gets a lease, whatever its node, and is reached", async () => {
    const { cluster, pods, notes } = await opened(leased(", dhcp: {range: 10.0.8.0/24}"));
    expect(pods).toEqual(["a 10.0.8.1", "b 10.0.8.2", "c 10.0.8.3"]);
    expect(notes).toEqual([]);
    expect(ask(cluster, "pod/a", "pod/b")).toMatch(/^b saw 10\.0\.8\.1:/);
    expect(ask(cluster, "pod/a", "external", "icmp")).toMatch(/^echo reply/);
  });

  it("leases are renewed for as long as the pods are there", async () => {
    const { cluster } = await opened(leased(", dhcp: {range: 10.0.8.0/24, leaseSeconds: 60}"));
    cluster.clock.runUntil(cluster.clock.nowMs + 3_600_000);
    expect(ask(cluster, "pod/a", "pod/b")).toMatch(/^b saw 10\.0\.8\.1:/);
  });

  it("a pod without a lease does not start, and says why: the range is used up", async () => {
    const more = ["d", "e", "f", "g"].map((name) => `  - {name: ${name}, node: win-1}\n`).join("");
    const { pods, notes } = await opened(leased(", dhcp: {range: 10.0.8.0/29}") + more);
    expect(pods.at(-1)).toBe("f 10.0.8.6");
    expect(notes).toEqual([
      expect.stringMatching(
        /^dhcp-range-exhausted: pod default\/g on win-1: .*10\.0\.0\.1 \(10\.0\.8\.1 to 10\.0\.8\.6\)$/,
      ),
    ]);
  });

  it("nor does any without a server", async () => {
    const { pods, notes } = await opened(leased(""));
    expect(pods).toEqual([]);
    expect(notes).toHaveLength(3);
    expect(notes.every((note) => note.startsWith("dhcp-no-lease"))).toBe(true);
  });

  it("DT-071 as the example says: behind a guard no question leaves the node, and verify finds nothing", async () => {
    const { cluster, pods, notes } = await opened(
      readFileSync("examples/driver-transparent-dhcp/cluster.yaml", "utf8"),
    );
    expect(pods).toEqual(["web 10.0.8.1", "client 10.0.8.2"]);
    expect(notes).toEqual([expect.stringMatching(/^dhcp-no-lease: pod default\/guarded on win-2/)]);
    expect(verifyCluster(cluster, readModel(cluster)).findings).toEqual([]);
  });
});

describe("rules of the fabric", () => {
  it("WALK-L2T DT-068 hold between pods of one node of an L2Tunnel network", async () => {
    const cluster = await openTestCluster(`${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.0.1.0/24}
network: {driver: L2Tunnel}
underlay: {subnet: 10.0.0.0/16, deny: [{from: 10.0.1.11/32, to: 10.0.1.10/32}]}
pods:
  - {name: a, node: win-1, address: 10.0.1.10}
  - {name: b, node: win-1, address: 10.0.1.11}
  - {name: c, node: win-1, address: 10.0.1.12}
`);
    expect(ask(cluster, "pod/c", "pod/a")).toMatch(/^a saw 10\.0\.1\.12:/);
    const { report } = tracePacket(cluster, { from: "pod/b", to: "pod/a", protocol: "tcp", port: 8_080 });
    expect(report).toMatchObject({ verdict: "not-delivered", code: "fabric-acl-denied" });
    // A rule says both ends: from b to others, from others to a, and back from a to b.
    expect(ask(cluster, "pod/b", "pod/c")).toMatch(/^c saw 10\.0\.1\.11:/);
    expect(ask(cluster, "pod/c", "pod/b")).toMatch(/^b saw 10\.0\.1\.12:/);
  });
});

describe("a NAT network beside another one", () => {
  it("DT-082 has pods of its own, published on the node's ports", async () => {
    const cluster = await openTestCluster(`${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
networks: [{name: nat, driver: NAT, clusterCIDR: 172.20.0.0/16}]
pods:
  - {name: bridged, node: win-1}
  - {name: hidden, node: win-1, network: nat, ports: [{port: 80, hostPort: 8080}]}
`);
    expect(cluster.pods.map(({ address }) => formatIp(address))).toEqual(["10.244.1.3", "172.20.0.3"]);
    expect(ask(cluster, "external", "10.0.0.11")).toMatch(/^hidden saw 203\.0\.113\.10:/);
    expect(ask(cluster, "pod/hidden", "pod/bridged")).toMatch(/^bridged saw /);
  });
});

describe("manifests beside networks of every driver", () => {
  async function open(...texts: readonly string[]): Promise<Awaited<ReturnType<typeof openSession>>> {
    const read = readInput(texts.map((text, index) => ({ name: `${index}.yaml`, text })));
    if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("; "));
    return openSession(read.input);
  }

  it("a manifest's pod names its network in an annotation", async () => {
    const file = `${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
networks: [{name: nat, driver: NAT, clusterCIDR: 172.20.0.0/16}]
`;
    const pod = (name: string, network: string): string => `---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, annotations: {mullion/network: ${network}}}
spec: {containers: [{name: c, image: x}]}
`;
    const { session } = await open(file, pod("hidden", "nat") + pod("lost", "nowhere"));
    const { pods } = session.cluster;
    expect(pods.map(({ spec, address }) => [spec.name, formatIp(address)])).toEqual([
      ["hidden", "172.20.0.3"],
    ]);
    expect(session.notes().map(({ message }) => message)).toContainEqual(
      expect.stringContaining('names "nowhere"; node win-1 has cbr0, nat'),
    );
  });

  it.each(["Cluster", "Local"])(
    "WALK-B-7 the fabric of an L2Tunnel network leads the address of a load balancer to a node, policy %s",
    async (policy) => {
      const file = `${HEAD}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.0.1.0/24}
  - {name: win-2, os: windows, address: 10.0.0.12, podCIDR: 10.0.2.0/24}
network: {driver: L2Tunnel}
underlay: {subnet: 10.0.0.0/16}
kubeProxy: {enableDSR: true}
loadBalancers: {pool: 198.51.100.0/28}
pods:
  - {name: web, node: win-2, labels: {app: web}}
  - {name: other, node: win-1}
`;
      const service = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, externalTrafficPolicy: ${policy}, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`;
      const { session } = await open(file, service);
      const { report } = tracePacket(session.cluster, {
        from: "external",
        to: "198.51.100.1",
        protocol: "tcp",
        port: 80,
      });
      expect(report).toMatchObject({ verdict: "answered" });
      expect(report.answer).toMatch(policy === "Local" ? /^web saw 203\.0\.113\.10:/ : /^web saw /);
    },
  );
});
