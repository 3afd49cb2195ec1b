// The L2Bridge walks of dataplane.md §2.4, stage by stage and field by field, on assembled clusters.
import { beforeAll, describe, expect, it } from "vitest";
import { type Stage, type Walk, openTestCluster, walk } from "#test/support/cluster/walk.ts";
import { TcpProbe } from "#dataplane/host/probes/probe.ts";
import { hostPrefix } from "#core/net/ip.ts";
import { type Cluster, forkCluster } from "./cluster.ts";

const HEAD = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: walks}
underlay: {subnet: 10.0.0.0/24, router: 10.0.0.1}
outside:
  - {name: external, address: 203.0.113.10, ports: [{port: 443}]}
`;

/** cfg-2: a pod subnet per node. */
const OWN_SUBNET = `${HEAD}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24}
  - {name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24}
network: {plugin: win-bridge, routes: static}
pods:
  - {name: a, node: win-1, address: 10.244.1.10}
  - {name: b, node: win-1, address: 10.244.1.11}
  - {name: c, node: win-2, address: 10.244.2.10}
  - {name: d, node: lin-1, address: 10.244.3.10}
`;

/** cfg-1: pods in the nodes' subnet. */
const NODE_SUBNET = `${HEAD}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.0.0.64/27}
  - {name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.0.0.96/27}
network: {plugin: hns, driver: L2Bridge, shape: node-subnet}
pods:
  - {name: a, node: win-1, address: 10.0.0.70}
  - {name: b, node: win-1, address: 10.0.0.71}
  - {name: c, node: win-2, address: 10.0.0.100}
`;

/** One line of a table: where, Ethernet, IP, TTL, layer 4. */
function row(at: string, eth: string, ip: string, ttl: number, l4?: string): Stage {
  return l4 === undefined ? { at, eth, ip, ttl } : { at, eth, ip, ttl, l4 };
}

/** The layers that a packet met on one port, with what they did. */
function layers(each: Walk, node: string, direction: "out" | "in"): string[] {
  return each.report.forward.steps
    .filter((step) => step.node === node && step.direction === direction && step.kind === "layer")
    .map((step) => `${step.layer}: ${step.rule?.action ?? step.outcome}`);
}

let own: Cluster;
let shared: Cluster;
beforeAll(async () => {
  own = await openTestCluster(OWN_SUBNET);
  shared = await openTestCluster(NODE_SUBNET);
});

describe("WALK-B-1 pod → pod, same node", () => {
  it("A → B: switched, nothing changed", () => {
    const { forward, reply, report } = walk(own, "pod/a", "pod/b", { port: 8080 });
    expect(forward).toEqual([
      row("send A", "Am→Bm", "A→B", 128, "p→8080"),
      row("deliver B", "Am→Bm", "A→B", 128, "p→8080"),
    ]);
    expect(reply).toEqual([
      row("send B", "Bm→Am", "B→A", 128, "8080→p"),
      row("deliver A", "Bm→Am", "B→A", 128, "8080→p"),
    ]);
    expect(report.answer).toMatch(/^b saw 10\.244\.1\.10:/);
  });

  it("stage 2: LB_DSR miss, ACL OUT, B in the exceptions of NAT, INTERNAL_L2_REWRITE keeps Bm; the uplink is not used", () => {
    const one = walk(own, "pod/a", "pod/b", { port: 8080 });
    expect(layers(one, "win-1", "out")).toEqual([
      "LB_DSR: miss",
      "ACL_ENDPOINT_LAYER: allow",
      "SLB_NAT_LAYER: dynnat",
      "INTERNAL_L2_REWRITE_LAYER: transpose",
      "SLB_DECAP_LAYER_STATEFUL: miss",
      "EXTERNAL_L2_REWRITE_LAYER: miss",
      "VNET_PA_ROUTE_LAYER: miss",
    ]);
    const nat = one.report.forward.steps.find((step) => step.layer === "SLB_NAT_LAYER");
    expect(nat).toMatchObject({ outcome: "miss", code: "outbound-nat-exception" });
    expect(one.report.forward.steps.filter((step) => step.kind === "wire")).toEqual([]);
  });

  it("stage 4: ACL IN on B's port", () => {
    expect(layers(walk(own, "pod/a", "pod/b", { port: 8080 }), "win-1", "in")).toContain(
      "ACL_ENDPOINT_LAYER: allow",
    );
  });
});

describe("DT-061 pod → pod on one node by TCP", () => {
  it.each([
    ["own subnet", () => own],
    ["node's subnet", () => shared],
  ])("%s: switched, MACs and TTL unchanged both ways, the uplink not used", (_, cluster) => {
    const { forward, reply, report } = walk(cluster(), "pod/a", "pod/b", { port: 8080, showsLayers: true });
    const seen = (stages: readonly Stage[]) =>
      stages.map(({ eth, ip, ttl, l4 }) => `${eth} ${ip} ${l4} ${ttl}`);
    expect(new Set(seen(forward))).toEqual(new Set(["Am→Bm A→B p→8080 128"]));
    expect(new Set(seen(reply))).toEqual(new Set(["Bm→Am B→A 8080→p 128"]));
    expect([...forward, ...reply].filter(({ at }) => at === "wire")).toEqual([]);
    expect([forward.at(-1)?.at, reply.at(-1)?.at]).toEqual(["deliver B", "deliver A"]);
    expect(report.verdict).toBe("answered");
  });
});

describe("WALK-B-2a pod → pod, other node, own subnet", () => {
  it("DT-057 DT-058 A → C: over the bridge endpoints, routed by both hosts, TTL 127 on the wire and 126 at C", () => {
    const { forward, reply } = walk(own, "pod/a", "pod/c", { port: 8080 });
    expect(forward).toEqual([
      row("send A", "Am→BR1m", "A→C", 128, "p→8080"),
      row("forward W1", "W1m→W2m", "A→C", 127, "p→8080"),
      row("wire", "W1m→W2m", "A→C", 127, "p→8080"),
      row("forward W2", "BR2m→Cm", "A→C", 126, "p→8080"),
      row("deliver C", "BR2m→Cm", "A→C", 126, "p→8080"),
    ]);
    expect(reply.map(({ at, eth, ip, ttl }) => [at, eth, ip, ttl])).toEqual([
      ["send C", "Cm→BR2m", "C→A", 128],
      ["forward W2", "W2m→W1m", "C→A", 127],
      ["wire", "W2m→W1m", "C→A", 127],
      ["forward W1", "BR1m→Am", "C→A", 126],
      ["deliver A", "BR1m→Am", "C→A", 126],
    ]);
  });

  it("A → D, a pod on Linux: to L1m, 126 on the veth", () => {
    const { forward, report } = walk(own, "pod/a", "pod/d", { port: 8080 });
    expect(forward.map(({ at, eth, ttl }) => [at, eth, ttl])).toEqual([
      ["send A", "Am→BR1m", 128],
      ["forward W1", "W1m→L1m", 127],
      ["wire", "W1m→L1m", 127],
      ["forward L1", "L1bm→Dm", 126],
      ["deliver D", "L1bm→Dm", 126],
    ]);
    expect(report.answer).toMatch(/^d saw 10\.244\.1\.10:/);
  });
});

describe("WALK-B-2b pod → pod, other node, node's subnet", () => {
  it("A → C in one subnet: the fabric answers ARP for C with W2m; pods show the host's MAC", () => {
    const { forward, report } = walk(shared, "pod/a", "pod/c", { port: 8080 });
    expect(forward).toEqual([
      row("send A", "Am→W2m", "A→C", 128, "p→8080"),
      row("wire", "W1m→W2m", "A→C", 128, "p→8080"),
      row("deliver C", "W1m→Cm", "A→C", 128, "p→8080"),
    ]);
    expect(report.answer).toMatch(/^c saw 10\.0\.0\.70:/);
  });

  it("A → C where the fabric routes: Am→Rm, W1m→Rm, Rm→W2m, Rm→Cm", () => {
    const [a, c] = [0, 2].map((index) => shared.pods[index]!);
    const routed = forkCluster(shared);
    const { compartment } = routed.pods[0]!;
    compartment.addRoute({
      prefix: hostPrefix(c!.address),
      nextHop: shared.file.underlay.router,
      interface: compartment.interfaceOf(a!.address)!,
      metric: 0,
    });
    expect(walk(routed, "pod/a", "pod/c", { port: 8080 }).forward).toEqual([
      row("send A", "Am→Rm", "A→C", 128, "p→8080"),
      row("wire", "W1m→Rm", "A→C", 128, "p→8080"),
      row("forward R", "Rm→W2m", "A→C", 127, "p→8080"),
      row("wire", "Rm→W2m", "A→C", 127, "p→8080"),
      row("deliver C", "Rm→Cm", "A→C", 127, "p→8080"),
    ]);
  });

  it("stage by stage, there and back: W1m from A's port on, Cm at C's port; the answer the same way", () => {
    const { forward, reply } = walk(shared, "pod/a", "pod/c", { port: 8080, showsLayers: true });
    const rewritten = (stages: readonly Stage[]) =>
      stages.filter(({ at }) => !/ACL|DECAP|SLB_NAT|INTERNAL/.test(at));
    expect(rewritten(forward)).toEqual([
      row("send A", "Am→W2m", "A→C", 128, "p→8080"),
      row("W1 out EXTERNAL_L2_REWRITE_LAYER", "W1m→W2m", "A→C", 128, "p→8080"),
      row("wire", "W1m→W2m", "A→C", 128, "p→8080"),
      row("W2 in EXTERNAL_L2_REWRITE_LAYER", "W1m→Cm", "A→C", 128, "p→8080"),
      row("deliver C", "W1m→Cm", "A→C", 128, "p→8080"),
    ]);
    expect(rewritten(reply)).toEqual([
      row("send C", "Cm→W1m", "C→A", 128, "8080→p"),
      row("W2 out EXTERNAL_L2_REWRITE_LAYER", "W2m→W1m", "C→A", 128, "8080→p"),
      row("wire", "W2m→W1m", "C→A", 128, "8080→p"),
      row("W1 in EXTERNAL_L2_REWRITE_LAYER", "W2m→Am", "C→A", 128, "8080→p"),
      row("deliver A", "W2m→Am", "C→A", 128, "8080→p"),
    ]);
  });

  it("DT-059 DT-060 A → X and A → C: W1m and TTL 128 on the wire; what comes to W1m for A is delivered to Am", () => {
    // An echo is not translated (DT-133), so that A's own address is on the wire.
    const out = walk(shared, "pod/a", "external", { protocol: "icmp" });
    expect(out.forward.slice(0, 2)).toEqual([
      row("send A", "Am→Rm", "A→X", 128),
      row("wire", "W1m→Rm", "A→X", 128),
    ]);
    expect(out.reply.slice(-2)).toEqual([
      row("wire", "Rm→W1m", "X→A", 63),
      row("deliver A", "Rm→Am", "X→A", 63),
    ]);
    const pod = walk(shared, "pod/a", "pod/c", { protocol: "icmp" });
    expect(pod.forward.filter(({ at }) => at === "wire")).toEqual([row("wire", "W1m→W2m", "A→C", 128)]);
    expect(pod.reply.at(-1)).toEqual(row("deliver A", "W2m→Am", "C→A", 128));
  });

  it("stages 2 and 4: EXTERNAL_L2_REWRITE on both ports", () => {
    const one = walk(shared, "pod/a", "pod/c", { port: 8080 });
    expect(layers(one, "win-1", "out")).toContain("EXTERNAL_L2_REWRITE_LAYER: transpose");
    expect(layers(one, "win-2", "in")).toContain("EXTERNAL_L2_REWRITE_LAYER: transpose");
  });
});

describe("Linux nodes in shape node-subnet", () => {
  it("answer ARP for their pods, so that pods of Windows nodes reach them and are reached", async () => {
    const mixed = await openTestCluster(`${HEAD}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.0.0.64/27}
  - {name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.0.0.128/27}
network: {plugin: hns, driver: L2Bridge, shape: node-subnet}
pods:
  - {name: a, node: win-1, address: 10.0.0.70}
  - {name: d, node: lin-1, address: 10.0.0.130}
`);
    expect(walk(mixed, "pod/a", "pod/d", { port: 8080 }).report.verdict).toBe("answered");
    expect(walk(mixed, "pod/d", "pod/a", { port: 8080 }).report.verdict).toBe("answered");
  });
});

describe("WALK-B-6 pod → external", () => {
  it("DT-063 nobody has .1, the network's own gateway: the pods' is .2", () => {
    const { forward, report } = walk(own, "pod/a", "10.244.1.1", { protocol: "icmp" });
    expect(report).toMatchObject({ verdict: "not-delivered", code: "neighbor-unresolved" });
    expect(forward.map(({ at }) => at)).not.toContain("deliver W1");
  });

  it("DT-062 TCP, own subnet: to BR1m, SNAT to the node, W1m→Rm at TTL 128, back to A's port", () => {
    const { forward, reply, report } = walk(own, "pod/a", "external", { port: 443 });
    expect(forward.slice(0, 2)).toEqual([
      row("send A", "Am→BR1m", "A→X", 128, "p→443"),
      row("wire", "W1m→Rm", "W1→X", 128, "q→443"),
    ]);
    expect(forward[2]).toMatchObject({ at: "forward R", ip: "W1→X", ttl: 127 });
    const last = reply.at(-1);
    expect(last).toMatchObject({ at: "deliver A", ip: "X→A", l4: "443→p" });
    expect(last?.eth.endsWith("→Am")).toBe(true);
    expect(report.answer).toMatch(/^external saw 10\.0\.0\.11:49152$/);
  });

  it("stage 3: the rule is SNAT_TCP_OUTBOUNDNAT_…, put there by the endpoint's OutBoundNAT policy", () => {
    const { report } = walk(own, "pod/a", "external", { port: 443 });
    const nat = report.forward.steps.find((step) => step.layer === "SLB_NAT_LAYER");
    expect(nat?.rule?.name).toMatch(/^SNAT_TCP_OUTBOUNDNAT_.*_10\.0\.0\.11$/);
    expect(nat?.rule?.provenance).toMatchObject({
      object: "HostComputeEndpoint",
      policy: { type: "OutBoundNAT" },
    });
    expect(nat?.changes.map((change) => change.field)).toEqual(
      expect.arrayContaining(["ip.src", "tcp.srcport"]),
    );
  });

  it("TCP, node's subnet: the same, Am→Rm from the pod", () => {
    const { forward } = walk(shared, "pod/a", "external", { port: 443 });
    expect(forward.slice(0, 2)).toEqual([
      row("send A", "Am→Rm", "A→X", 128, "p→443"),
      row("wire", "W1m→Rm", "W1→X", 128, "q→443"),
    ]);
  });

  it("F-41 ICMP echo leaves with source A, is answered by X, and the answer finds no way back", () => {
    const { forward, report } = walk(own, "pod/a", "external", { protocol: "icmp" });
    expect(forward.map(({ at, ip }) => [at, ip])).toEqual(
      expect.arrayContaining([
        ["send A", "A→X"],
        ["wire", "A→X"],
        ["deliver X", "A→X"],
      ]),
    );
    expect(report).toMatchObject({ verdict: "no-answer", code: "icmp-outbound-not-translated" });
    expect(report.reply?.end).toBe("dropped");
  });
});

describe("WALK-B-8 node and pod", () => {
  it("W1 → A: over the bridge endpoint, BR1m→Am", () => {
    const { forward, report } = walk(own, "node/win-1", "pod/a", { port: 8080 });
    expect(forward).toEqual([
      row("send W1", "BR1m→Am", "BR1→A", 128, "p→8080"),
      row("deliver A", "BR1m→Am", "BR1→A", 128, "p→8080"),
    ]);
    expect(report.verdict).toBe("answered");
  });

  it("A → W1: destination W1, source A, answered by the host stack", () => {
    const { forward, report } = walk(own, "pod/a", "node/win-1", { protocol: "icmp" });
    expect(forward).toEqual([
      row("send A", "Am→BR1m", "A→W1", 128),
      row("deliver W1", "Am→BR1m", "A→W1", 128),
    ]);
    expect(report.verdict).toBe("answered");
  });

  it("A → W2: source A, since the node subnet is excepted", () => {
    const { forward, report } = walk(own, "pod/a", "node/win-2", { protocol: "icmp" });
    expect(forward.map(({ at, ip }) => [at, ip])).toEqual([
      ["send A", "A→W2"],
      ["forward W1", "A→W2"],
      ["wire", "A→W2"],
      ["deliver W2", "A→W2"],
    ]);
    expect(report.verdict).toBe("answered");
  });

  it("A → W1, node's subnet: SDNRoute to the node's address, to the host's MAC", () => {
    const { forward, report } = walk(shared, "pod/a", "node/win-1", { protocol: "icmp" });
    expect(forward).toEqual([row("send A", "Am→W1m", "A→W1", 128), row("deliver W1", "Am→W1m", "A→W1", 128)]);
    expect(report.verdict).toBe("answered");
  });
});

describe("NAT ports of the node", () => {
  it("are kept from the node's own sockets while a pod holds them", async () => {
    const cluster = forkCluster(own);
    const [pod] = cluster.pods;
    const probe = new TcpProbe({
      compartment: pod!.compartment,
      destination: cluster.outside[0]!.ip,
      port: 443,
    });
    probe.start();
    cluster.clock.runUntil(cluster.clock.nowMs + 1_000);
    expect(probe.result?.outcome).toBe("answered");
    const { root } = pod!.node.host;
    expect(root.tcp.ports.listExcluded()).toEqual([{ first: 49_152, last: 49_215 }]);
    expect(root.udp.ports.listExcluded()).toEqual([]);
  });
});
