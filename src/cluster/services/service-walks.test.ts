// The service walks of dataplane.md §2.4 on L2Bridge (B-3, B-4, B-5, B-7, B-8), stage by stage and field by field.
// `own` is cfg-2 (pods behind the bridge endpoint), `shared` cfg-1 (pods in the nodes' subnet).
import { beforeAll, describe, expect, it } from "vitest";
import { removeNamespaceEndpoint } from "#contracts/hcn/operations.ts";
import { type LoadBalancerSpec, addLoadBalancer, endpointOf } from "#test/support/cluster/load-balancers.ts";
import { type Stage, type Walk, openTestCluster, walk } from "#test/support/cluster/walk.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import type { TraceStep } from "../trace/trace-report.ts";
import { hcnClientOf } from "../machines/windows-node.ts";

const POD_POLICY = `
policies:
  - {Type: OutBoundNAT, Settings: {Destinations: [10.244.1.10]}}`;

function ownSubnet(build: string, loopback = false): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: walks}
underlay: {subnet: 10.0.0.0/24, router: 10.0.0.1}
outside:
  - {name: client, address: 198.51.100.7, ports: [{port: 443}]}
nodes:
  - {name: win-1, os: windows, build: "${build}", address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: win-2, os: windows, build: "${build}", address: 10.0.0.12, podCIDR: 10.244.2.0/24}
  - {name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24}
network: {plugin: win-bridge, routes: static}
# The walks are those of a node without it.
quirks: {l2bridge-dsr-kb5005619: off}
pods:
  - name: a
    node: win-1
    address: 10.244.1.10
    ports: [{port: 8080, hostPort: 9090}]${loopback ? POD_POLICY.replaceAll("\n", "\n    ") : ""}
  - {name: b, node: win-1, address: 10.244.1.11, ports: [{port: 8080}, {port: 53, protocol: UDP}]}
  - {name: c, node: win-2, address: 10.244.2.10}
`;
}

const NODE_SUBNET = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: walks}
underlay: {subnet: 10.0.0.0/24, router: 10.0.0.1}
outside:
  - {name: client, address: 198.51.100.7, ports: [{port: 443}]}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.0.0.64/27}
  - {name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.0.0.96/27}
network: {plugin: hns, driver: L2Bridge, shape: node-subnet}
pods:
  - {name: a, node: win-1, address: 10.0.0.70}
  - {name: b, node: win-1, address: 10.0.0.71}
  - {name: c, node: win-2, address: 10.0.0.100}
`;

const V = "10.96.0.50";
const W1 = "10.0.0.11";
const NAMES = { [V]: "V", "198.51.100.7": "E" };
const NODE_PORT = 30_080;
/** Flags of a node port's mapping as kube-proxy sends them (kube-proxy.md §3.5). */
const NODE_PORT_FLAGS = 18;

function clusterIp(backEnds: readonly string[], isDsr: boolean): LoadBalancerSpec {
  return { vips: [V], port: 80, backEnds, isDsr };
}
function nodePort(backEnds: readonly string[], isDsr: boolean): LoadBalancerSpec {
  return { vips: [], port: NODE_PORT, backEnds, isDsr, mappingFlags: NODE_PORT_FLAGS };
}

function row(at: string, eth: string, ip: string, l4: string, ttl: number): Stage {
  return { at, eth, ip, ttl, l4 };
}
/** The columns that a table gives where it gives no Ethernet or TTL. */
function brief(stages: readonly Stage[]): readonly (readonly (string | undefined)[])[] {
  return stages.map(({ at, ip, l4 }) => [at, ip, l4]);
}

let own: Cluster;
let shared: Cluster;
beforeAll(async () => {
  own = await openTestCluster(ownSubnet("ws2022"));
  shared = await openTestCluster(NODE_SUBNET);
});

interface Call {
  readonly from: string;
  readonly to: string;
  readonly port: number;
}

async function follow(cluster: Cluster, service: LoadBalancerSpec, call: Call): Promise<Walk> {
  const copy = forkCluster(cluster);
  await addLoadBalancer(copy, service);
  return walk(copy, call.from, call.to, { port: call.port, names: NAMES });
}

const CALL_V: Call = { from: "pod/a", to: V, port: 80 };
const FROM_OUTSIDE: Call = { from: "client", to: W1, port: NODE_PORT };

/** Steps of the forward leg in one layer of one node, as rule names. */
function rulesIn(each: Walk, layer: string): (string | undefined)[] {
  const steps: readonly TraceStep[] = each.report.forward.steps;
  return steps
    .filter((step) => step.layer === layer && step.outcome === "rule")
    .map((step) => step.rule?.name.replace(/_[0-9A-F]{5}_/, "_<h>_"));
}

describe("WALK-B-3 pod → ClusterIP, DSR", () => {
  it("local back end B: LB_DSR on A's port, MAC fix-up to Bm; the answer straight back, un-NATed on A's port", async () => {
    const { forward, reply, report } = await follow(own, clusterIp(["b"], true), CALL_V);
    expect(forward).toEqual([
      row("send A", "Am→BR1m", "A→V", "p→80", 128),
      row("deliver B", "Am→Bm", "A→B", "p→8080", 128),
    ]);
    expect(reply).toEqual([
      row("send B", "Bm→Am", "B→A", "8080→p", 128),
      row("deliver A", "Bm→Am", "V→A", "80→p", 128),
    ]);
    expect(report).toMatchObject({ verdict: "answered" });
    expect(report.answer).toMatch(/^b saw 10\.244\.1\.10:/);
  });

  it("stages 2 and 3: lbnat in LB_DSR by the load balancer's rule; no source NAT, B is an exception", async () => {
    const one = await follow(own, clusterIp(["b"], true), CALL_V);
    expect(rulesIn(one, "LB_DSR")).toEqual([`LB_DSR_<h>_${W1}_${V}_80_8080_6`]);
    const step = one.report.forward.steps.find((each) => each.layer === "LB_DSR");
    expect(step?.group).toBe("LB_DSR_IPv4_OUT");
    expect(step?.rule).toMatchObject({
      action: "lbnat",
      provenance: { object: "HostComputeLoadBalancer", name: `${V}:80` },
    });
    const nat = one.report.forward.steps.find((each) => each.layer === "SLB_NAT_LAYER");
    expect(nat).toMatchObject({ outcome: "miss", code: "outbound-nat-exception" });
  });

  it("remote back end C: the MAC stays the gateway's, then as B-2a; un-NATed at A with TTL 126", async () => {
    const { forward, reply } = await follow(own, clusterIp(["c"], true), CALL_V);
    expect(forward).toEqual([
      row("send A", "Am→BR1m", "A→V", "p→80", 128),
      row("forward W1", "W1m→W2m", "A→C", "p→8080", 127),
      row("wire", "W1m→W2m", "A→C", "p→8080", 127),
      row("forward W2", "BR2m→Cm", "A→C", "p→8080", 126),
      row("deliver C", "BR2m→Cm", "A→C", "p→8080", 126),
    ]);
    expect(reply.at(0)).toEqual(row("send C", "Cm→BR2m", "C→A", "8080→p", 128));
    expect(reply.at(-1)).toEqual(row("deliver A", "BR1m→Am", "V→A", "80→p", 126));
  });

  it("back end = node IP (L1:6443): source stays A, the node subnet is excepted", async () => {
    const service = { ...clusterIp(["lin-1"], true), port: 443, target: 6443 };
    const { forward } = await follow(own, service, { ...CALL_V, port: 443 });
    expect(forward.slice(0, 3)).toEqual([
      row("send A", "Am→BR1m", "A→V", "p→443", 128),
      row("forward W1", "W1m→L1m", "A→L1", "p→6443", 127),
      row("wire", "W1m→L1m", "A→L1", "p→6443", 127),
    ]);
  });

  it("DT-092 back end = node IP that is not in the exceptions: source = node IP", async () => {
    const text = ownSubnet("ws2022").replace(
      "network: {plugin: win-bridge, routes: static}",
      "network: {plugin: win-bridge, routes: static, outboundNAT: {exceptions: [10.244.0.0/16, 10.96.0.0/12]}}",
    );
    const cluster = await openTestCluster(text);
    const service = { ...clusterIp(["lin-1"], true), port: 443, target: 6443 };
    const { forward } = await follow(cluster, service, { ...CALL_V, port: 443 });
    expect(forward.slice(0, 2)).toEqual([
      row("send A", "Am→BR1m", "A→V", "p→443", 128),
      row("wire", "W1m→L1m", "W1→L1", "q→6443", 128),
    ]);
  });

  it("node's subnet, remote back end: the host's MAC on the wire, source A", async () => {
    const { forward, reply, report } = await follow(shared, clusterIp(["c"], true), CALL_V);
    expect(forward[0]).toEqual(row("send A", "Am→Rm", "A→V", "p→80", 128));
    expect(forward[1]).toEqual(row("wire", "W1m→Rm", "A→C", "p→8080", 128));
    expect(forward.at(-1)).toMatchObject({ at: "deliver C", ip: "A→C", l4: "p→8080" });
    expect(reply.at(-1)).toMatchObject({ at: "deliver A", ip: "V→A", l4: "80→p" });
    expect(report.verdict).toBe("answered");
  });
});

describe("WALK-B-4 pod → ClusterIP, non-DSR", () => {
  it("DT-107 own subnet, local back end: W1:q→B:8080 from the host's port; both directions pass the host", async () => {
    const one = await follow(own, clusterIp(["b"], false), CALL_V);
    expect(brief(one.forward)).toEqual([
      ["send A", "A→V", "p→80"],
      ["forward W1", "A→V", "p→80"],
      ["deliver B", "W1→B", "q→8080"],
    ]);
    expect(brief(one.reply)).toEqual([
      ["send B", "B→W1", "8080→q"],
      ["forward W1", "V→A", "80→p"],
      ["deliver A", "V→A", "80→p"],
    ]);
    // Row 2: source NAT, then the choice, on the host's port going out.
    expect(rulesIn(one, "LB_DSR")).toEqual([]);
    const host = one.report.forward.steps.filter((step) => step.place === "vEthernet (Ethernet)");
    expect(
      host.filter((step) => step.rule !== undefined).map((step) => [step.direction, step.rule?.action]),
    ).toEqual([
      ["out", "dynnat"],
      ["out", "lbnat"],
      ["out", "paroute"],
    ]);
    // The client pod's address is lost; q is of a block of 64 (dataplane.md §3.5).
    expect(one.report.answer).toBe("b saw 10.0.0.11:49152");
  });

  it("own subnet, remote back end: W1:q→C:8080 on the wire, and back to W1's host port", async () => {
    const { forward, reply } = await follow(own, clusterIp(["c"], false), CALL_V);
    expect(brief(forward)).toEqual([
      ["send A", "A→V", "p→80"],
      ["forward W1", "A→V", "p→80"],
      ["wire", "W1→C", "q→8080"],
      ["forward W2", "W1→C", "q→8080"],
      ["deliver C", "W1→C", "q→8080"],
    ]);
    expect(brief(reply)).toEqual([
      ["send C", "C→W1", "8080→q"],
      ["forward W2", "C→W1", "8080→q"],
      ["wire", "C→W1", "8080→q"],
      ["forward W1", "V→A", "80→p"],
      ["deliver A", "V→A", "80→p"],
    ]);
  });

  it.each(["b", "c"])(
    "node's subnet, back end %s: to the host's MAC by the SDNRoute, turned round there",
    async (name) => {
      const one = await follow(shared, clusterIp([name], false), CALL_V);
      const host = one.report.forward.steps.filter((step) => step.place === "vEthernet (Ethernet)");
      expect(
        host.filter((step) => step.rule !== undefined).map((step) => [step.direction, step.layer]),
      ).toEqual([
        ["in", "SLB_HAIRPIN_LAYER"],
        ["out", "SNAT"],
        ["out", "LB"],
        ["out", "VNET_PA_ROUTE_LAYER"],
      ]);
      expect(one.forward.at(-1)).toMatchObject({ at: `deliver ${name.toUpperCase()}`, l4: "q→8080" });
      expect(one.reply.at(-1)).toMatchObject({ at: "deliver A", ip: "V→A", l4: "80→p" });
      expect(one.report.answer).toBe(`${name} saw 10.0.0.11:49152`);
    },
  );

  it("DT-108 an ingress ACL for the client pod does not match: B sees the node", async () => {
    const { report } = await follow(own, clusterIp(["b"], false), CALL_V);
    expect(report.answer).toMatch(/^b saw 10\.0\.0\.11:/);
  });
});

describe("WALK-B-5 hairpin A → V → A", () => {
  it("DT-093 F-05 DSR, default: source = destination = A after LB_DSR; the connection fails", async () => {
    const { forward, report } = await follow(own, clusterIp(["a"], true), CALL_V);
    expect(forward).toEqual([
      row("send A", "Am→BR1m", "A→V", "p→80", 128),
      row("drop W1", "Am→Am", "A→A", "p→8080", 128),
    ]);
    expect(report).toMatchObject({ verdict: "not-delivered", code: "hairpin-under-dsr" });
  });

  it("DT-094 DSR with loopbackDSR: A sees W1:q→A:8080, answers W1:q, gets V:80→A:p", async () => {
    const cluster = await openTestCluster(ownSubnet("ws2022", true));
    const { forward, reply, report } = await follow(cluster, clusterIp(["a"], true), CALL_V);
    expect(brief(forward)).toEqual([
      ["send A", "A→V", "p→80"],
      ["deliver A", "W1→A", "q→8080"],
    ]);
    expect(brief(reply)).toEqual([
      ["send A", "A→W1", "8080→q"],
      ["deliver A", "V→A", "80→p"],
    ]);
    expect(report.answer).toBe("a saw 10.0.0.11:49152");
  });

  it("non-DSR: source = node IP, works", async () => {
    const { forward, reply, report } = await follow(own, clusterIp(["a"], false), CALL_V);
    expect(brief(forward)).toEqual([
      ["send A", "A→V", "p→80"],
      ["forward W1", "A→V", "p→80"],
      ["deliver A", "W1→A", "q→8080"],
    ]);
    expect(reply.at(-1)).toMatchObject({ at: "deliver A", ip: "V→A", l4: "80→p" });
    expect(report.answer).toBe("a saw 10.0.0.11:49152");
  });

  it("two back ends, DSR default: about half of the connections fail, those that A itself is chosen for", async () => {
    const copy = forkCluster(own);
    await addLoadBalancer(copy, clusterIp(["a", "b"], true));
    const verdicts = { answered: 0, failed: 0 };
    const [pod] = copy.pods;
    for (let index = 0; index < 40; index++) {
      // Another source port each time.
      pod?.compartment.tcp.ports.reserveEphemeral();
      const { report } = walk(copy, "pod/a", V, { port: 80, names: NAMES });
      if (report.verdict === "answered") verdicts.answered++;
      else if (report.code === "hairpin-under-dsr") verdicts.failed++;
    }
    expect(verdicts.answered + verdicts.failed).toBe(40);
    expect(verdicts.failed).toBeGreaterThan(8);
    expect(verdicts.failed).toBeLessThan(32);
  });
});

describe("WALK-B-7 external → NodePort, LoadBalancer, hostPort", () => {
  it("DT-113 DSR, local back end: hairpin and NAT_ on the host's port, NAT_ on A's; the client kept, the answer direct", async () => {
    const one = await follow(own, nodePort(["a"], true), FROM_OUTSIDE);
    expect(one.forward.slice(-2)).toEqual([
      row("wire", "Rm→W1m", "E→W1", "p→30080", 63),
      row("deliver A", "Rm→Am", "E→A", "p→8080", 63),
    ]);
    expect(one.reply.slice(0, 2)).toEqual([
      row("send A", "Am→BR1m", "A→E", "8080→p", 128),
      row("wire", "W1m→Rm", "W1→E", "30080→p", 128),
    ]);
    expect(one.report.answer).toMatch(/^a saw 198\.51\.100\.7:/);
    expect(rulesIn(one, "SLB_HAIRPIN_LAYER")).toEqual([`HairPin_<h>_${W1}_30080_30080_6`]);
    // DT-121: exactly one local back end.
    expect(rulesIn(one, "SLB_LB_LAYER")).toEqual([`NAT_<h>_${W1}_30080_30080_6`]);
    // DT-124: the back end's port.
    expect(rulesIn(one, "SLB_NAT_LAYER")).toEqual([`NAT_<h>_${W1}_30080_6`]);
  });

  it("the host's part: VIP and port stay, only the MAC changes to Am", async () => {
    const one = await follow(own, nodePort(["a"], true), FROM_OUTSIDE);
    const host = one.report.forward.steps.find((step) => step.layer === "SLB_LB_LAYER");
    expect(host?.changes.map((change) => change.field)).toEqual(["eth.dst"]);
  });

  it("DT-122 two local back ends: LB_; DT-113 A or B sees E", async () => {
    const one = await follow(own, nodePort(["a", "b"], true), FROM_OUTSIDE);
    expect(rulesIn(one, "SLB_LB_LAYER")).toEqual([`LB_<h>_${W1}_30080_30080_6`]);
    expect(one.report.answer).toMatch(/^[ab] saw 198\.51\.100\.7:/);
  });

  it("DT-123 DSR with a remote back end: LB_HOST_ with both ports, full NAT", async () => {
    const one = await follow(own, nodePort(["c"], true), FROM_OUTSIDE);
    expect(rulesIn(one, "LB")).toEqual([`LB_HOST_<h>_${W1}_30080_8080_6`]);
    expect(one.report.answer).toBe("c saw 10.0.0.11:49152");
  });

  it("DT-114 Cluster policy, remote back end: W1:q→C:8080, the client lost, the answer by W1", async () => {
    const { forward, reply, report } = await follow(own, nodePort(["c"], false), FROM_OUTSIDE);
    expect(brief(forward.slice(-5))).toEqual([
      ["forward R", "E→W1", "p→30080"],
      ["wire", "E→W1", "p→30080"],
      ["wire", "W1→C", "q→8080"],
      ["forward W2", "W1→C", "q→8080"],
      ["deliver C", "W1→C", "q→8080"],
    ]);
    expect(brief(reply.slice(0, 4))).toEqual([
      ["send C", "C→W1", "8080→q"],
      ["forward W2", "C→W1", "8080→q"],
      ["wire", "C→W1", "8080→q"],
      ["wire", "W1→E", "30080→p"],
    ]);
    expect(report.answer).toBe("c saw 10.0.0.11:49152");
  });

  it("Cluster policy, local back end: full NAT too", async () => {
    const { report } = await follow(own, nodePort(["a"], false), FROM_OUTSIDE);
    expect(report.answer).toBe("a saw 10.0.0.11:49152");
  });

  it("ingress IP: as a NodePort with the VIP; the fabric delivers it unchanged", async () => {
    const routed = await openTestCluster(
      ownSubnet("ws2022").replace(
        "router: 10.0.0.1}",
        "router: 10.0.0.1, routes: [{to: 192.0.2.1/32, via: 10.0.0.11}]}",
      ),
    );
    const service = { vips: ["192.0.2.1"], port: 80, backEnds: ["a"], isDsr: true, mappingFlags: 16 };
    const one = await follow(routed, service, { from: "client", to: "192.0.2.1", port: 80 });
    expect(one.report.answer).toMatch(/^a saw 198\.51\.100\.7:/);
    expect(one.reply.at(-1)).toMatchObject({ at: "deliver X", ip: "192.0.2.1→E", l4: "80→p" });
  });

  it("DT-119 preserve-destination: no DNAT; the pod gets the VIP as destination, and has to own it", async () => {
    const routed = await openTestCluster(
      ownSubnet("ws2022").replace(
        "router: 10.0.0.1}",
        "router: 10.0.0.1, routes: [{to: 192.0.2.1/32, via: 10.0.0.11}]}",
      ),
    );
    const service = { vips: ["192.0.2.1"], port: 80, backEnds: ["a"], isDsr: true, mappingFlags: 28 };
    const { forward, report } = await follow(routed, service, { from: "client", to: "192.0.2.1", port: 80 });
    expect(forward.at(-1)).toMatchObject({ at: "drop A", eth: "Rm→Am", ip: "E→192.0.2.1", l4: "p→80" });
    expect(report.code).toBe("destination-not-local");
  });

  it("DT-126 hostPort: static NAT, E→W1:9090 ⇒ E→A:8080", async () => {
    const { forward, reply, report } = walk(own, "client", W1, { port: 9090, names: NAMES });
    expect(forward.at(-1)).toMatchObject({ at: "deliver A", eth: "Rm→Am", ip: "E→A", l4: "p→8080" });
    expect(reply.at(-1)).toMatchObject({ at: "deliver X", ip: "W1→E", l4: "9090→p" });
    expect(report.verdict).toBe("answered");
  });

  it.each([true, false])("a pod of the node reaches the NodePort of its node, DSR %s", async (isDsr) => {
    const { report } = await follow(own, nodePort(["b"], isDsr), { from: "pod/a", to: W1, port: NODE_PORT });
    expect(report.verdict).toBe("answered");
  });

  it("node's subnet: NodePort with a remote back end", async () => {
    const { report } = await follow(shared, nodePort(["c"], false), FROM_OUTSIDE);
    expect(report.answer).toBe("c saw 10.0.0.11:49152");
  });

  it("node's subnet: DSR, local back end, the client kept", async () => {
    const one = await follow(shared, nodePort(["a"], true), FROM_OUTSIDE);
    expect(one.report.answer).toMatch(/^a saw 198\.51\.100\.7:/);
    expect(one.reply.slice(0, 2)).toEqual([
      row("send A", "Am→Rm", "A→E", "8080→p", 128),
      row("wire", "W1m→Rm", "W1→E", "30080→p", 128),
    ]);
  });
});

describe("WALK-B-8 node → service", () => {
  const OLD = "17763.1000";
  const FROM_NODE: Call = { from: "node/win-1", to: V, port: 80 };

  it.each([
    ["DSR, local", ["b"], true],
    ["DSR, remote", ["c"], true],
    ["non-DSR, local", ["b"], false],
    ["non-DSR, remote", ["c"], false],
  ] as const)(
    "W1 → ClusterIP on a build that plumbs it, %s: source 10.0.0.11",
    async (_, backEnds, isDsr) => {
      const { report } = await follow(own, clusterIp(backEnds, isDsr), FROM_NODE);
      expect(report.answer).toMatch(new RegExp(String.raw`^${backEnds[0]} saw 10\.0\.0\.11:`));
    },
  );

  it("DT-118 W1 → ClusterIP on Server 2019: fails", async () => {
    const old = await openTestCluster(ownSubnet("ws2019"));
    const { report } = await follow(old, clusterIp(["b"], false), FROM_NODE);
    expect(report).toMatchObject({ verdict: "not-delivered", code: "service-vip-from-node-unsupported" });
    const pod = await follow(old, clusterIp(["b"], false), CALL_V);
    expect(pod.report.verdict).toBe("answered");
  });

  it.each([true, false])("W1 → own NodePort since KB4571748, DSR %s: works", async (isDsr) => {
    const { report } = await follow(own, nodePort(["b"], isDsr), {
      from: "node/win-1",
      to: W1,
      port: NODE_PORT,
    });
    expect(report.answer).toMatch(/^b saw 10\.0\.0\.11:/);
  });

  it("DT-117 F-47 W1 → own NodePort before KB4571748: fails; from outside it works", async () => {
    const old = await openTestCluster(ownSubnet(OLD));
    const fromItself = { from: "node/win-1", to: W1, port: NODE_PORT };
    const { report } = await follow(old, nodePort(["b"], false), fromItself);
    expect(report).toMatchObject({ verdict: "not-delivered", code: "node-port-from-node-unsupported" });
    expect((await follow(old, nodePort(["b"], false), FROM_OUTSIDE)).report.verdict).toBe("answered");
  });
});

describe("services that nobody serves", () => {
  it("DT-115 policy Local, no local back end: no answer, no RST", async () => {
    const copy = forkCluster(own);
    // The only local back end has left the switch since; kube-proxy has not caught up.
    const endpoint = await addLoadBalancer(copy, nodePort(["a"], true)).then(() => endpointOf(copy, "a"));
    const client = hcnClientOf(copy.nodes[0]!);
    await removeNamespaceEndpoint(client, copy.pods[0]!.namespaceId!, endpoint);
    const { report } = walk(copy, "client", W1, { port: NODE_PORT, names: NAMES });
    expect(report).toMatchObject({
      verdict: "not-delivered",
      code: "external-traffic-policy-local-without-local-endpoint",
    });
    expect(report.reply).toBeUndefined();
  });

  it("DT-116 no pod at all on W1: E→W1:30080 is not forwarded; with one, it is", async () => {
    const text = ownSubnet("ws2022").replace(/ {2}- name: a[^]*?(?= {2}- \{name: c)/, "");
    const empty = await openTestCluster(text);
    const { report } = await follow(empty, nodePort(["c"], false), FROM_OUTSIDE);
    expect(report).toMatchObject({ verdict: "not-delivered", code: "node-port-without-pods-on-node" });
    expect((await follow(own, nodePort(["c"], false), FROM_OUTSIDE)).report.verdict).toBe("answered");
  });

  it("DT-090 V without back ends: not DNATed, leaves the node and dies, no RST", async () => {
    const { forward, report } = walk(own, "pod/a", V, { port: 80, names: NAMES });
    expect(forward.slice(0, 3)).toEqual([
      row("send A", "Am→BR1m", "A→V", "p→80", 128),
      row("forward W1", "W1m→Rm", "A→V", "p→80", 127),
      row("wire", "W1m→Rm", "A→V", "p→80", 127),
    ]);
    expect(report).toMatchObject({ verdict: "not-delivered", code: "service-without-back-ends" });
  });

  it.each([true, false])("DT-095 ICMP echo to V: not balanced, unanswered, DSR %s", async (isDsr) => {
    const copy = forkCluster(own);
    await addLoadBalancer(copy, clusterIp(["b"], isDsr));
    const { report } = walk(copy, "pod/a", V, { protocol: "icmp", names: NAMES });
    expect(report).toMatchObject({ verdict: "not-delivered", code: "icmp-to-service-not-balanced" });
  });

  it("node's subnet: V without back ends is not answered", () => {
    const { report } = walk(shared, "pod/a", V, { port: 80, names: NAMES });
    expect(report).toMatchObject({ verdict: "not-delivered", code: "service-without-back-ends" });
  });
});

describe("more of the table of services (dataplane.md §10)", () => {
  function conflist(policies: string): string {
    return ownSubnet("ws2022").replace(
      "    ports: [{port: 8080, hostPort: 9090}]",
      `    ports: [{port: 8080, hostPort: 9090}]\n    policies: [${policies}]`,
    );
  }
  const ALLOW_REST = "{Type: ACL, Settings: {Action: Allow, Direction: Out, Priority: 5000}}";
  function acl(fields: string): string {
    return `{Type: ACL, Settings: {Direction: Out, Priority: 100, ${fields}}}`;
  }

  it("DT-099 an egress ACL that blocks the back end drops the call of the service", async () => {
    const cluster = await openTestCluster(
      conflist(
        `${acl("Action: Block, RemoteAddresses: 10.244.1.11, RemotePorts: '8080', Protocols: '6'")}, ${ALLOW_REST}`,
      ),
    );
    const { report } = await follow(cluster, clusterIp(["b"], true), CALL_V);
    expect(report).toMatchObject({ verdict: "not-delivered", code: "acl-rule-blocked" });
  });

  it("DT-100 an egress ACL that blocks the service's address alone lets it pass under DSR", async () => {
    const cluster = await openTestCluster(
      conflist(
        `${acl(`Action: Block, RemoteAddresses: ${V}, RemotePorts: '80', Protocols: '6'`)}, ${ALLOW_REST}`,
      ),
    );
    expect((await follow(cluster, clusterIp(["b"], true), CALL_V)).report.verdict).toBe("answered");
    // Without DSR the pod's port sees the service (walk B-4, row 1).
    const blocked = await follow(cluster, clusterIp(["b"], false), CALL_V);
    expect(blocked.report).toMatchObject({ verdict: "not-delivered", code: "acl-rule-blocked" });
  });

  it("DT-101 an ACL that allows only the back end's address lets the service pass under DSR", async () => {
    const cluster = await openTestCluster(
      conflist(
        `${acl("Action: Allow, RemoteAddresses: 10.244.1.11")}, {Type: ACL, Settings: {Action: Block, Direction: Out, Priority: 5000}}`,
      ),
    );
    expect((await follow(cluster, clusterIp(["b"], true), CALL_V)).report.verdict).toBe("answered");
  });

  it("DT-096 UDP 53 to the name service: a back end's 53, the answer from V:53", async () => {
    const copy = forkCluster(own);
    await addLoadBalancer(copy, {
      vips: [V],
      port: 53,
      target: 53,
      protocol: 17,
      backEnds: ["b"],
      isDsr: true,
    });
    const { forward, reply } = walk(copy, "pod/a", V, { protocol: "udp", port: 53, names: NAMES });
    expect(brief(forward)).toEqual([
      ["send A", "A→V", "p→53"],
      ["deliver B", "A→B", "p→53"],
    ]);
    expect(brief(reply).at(-1)).toEqual(["deliver A", "V→A", "53→p"]);
  });

  it("DT-102 a node without any back end: its pods reach the service", async () => {
    const { report } = await follow(own, clusterIp(["c"], true), CALL_V);
    expect(report.answer).toMatch(/^c saw/);
  });

  it("DT-125 an answer of a NodePort connection skips OutBoundNAT", async () => {
    const one = await follow(own, nodePort(["a"], true), FROM_OUTSIDE);
    const nat = one.report.reply?.steps.find((step) => step.layer === "SLB_NAT_LAYER");
    expect(nat).toMatchObject({ outcome: "flow", rule: { action: "nat" } });
    expect(one.reply[1]).toMatchObject({ ip: "W1→E", l4: "30080→p" });
  });

  it("F-10 a call from outside to the pod itself: its answer is translated and lost, unless the port serves a load balancer", async () => {
    const routed = await openTestCluster(
      ownSubnet("ws2022").replace(
        "router: 10.0.0.1}",
        "router: 10.0.0.1, routes: [{to: 10.244.1.0/24, via: 10.0.0.11}]}",
      ),
    );
    const call = { from: "client", to: "10.244.1.10", port: 8080 };
    expect(walk(routed, call.from, call.to, { port: 8080 }).report.verdict).not.toBe("answered");
    const one = await follow(routed, nodePort(["a"], true), call);
    expect(one.report.verdict).toBe("answered");
    const nat = one.report.reply?.steps.find((step) => step.layer === "SLB_NAT_LAYER");
    expect(nat?.rule?.name).toMatch(/^ALLOW_NAT_/);
  });

  it("a pod that comes later has the services from the start; one that goes takes its part along", async () => {
    const copy = forkCluster(own);
    await addLoadBalancer(copy, clusterIp(["a", "b"], true));
    const client = hcnClientOf(copy.nodes[0]!);
    await removeNamespaceEndpoint(client, copy.pods[1]!.namespaceId!, await endpointOf(copy, "b"));
    const { report } = walk(copy, "pod/c", "10.244.1.10", { port: 8080, names: NAMES });
    expect(report.verdict).toBe("answered");
    // Only A is left, and A itself calls: the hairpin.
    expect(walk(copy, "pod/a", V, { port: 80, names: NAMES }).report.code).toBe("hairpin-under-dsr");
  });
});

it.each<[backEnds: readonly string[], choice: RegExp]>([
  [["10.244.1.11"], /^matched, flow made; to 10\.244\.1\.11:8080, its only back end(;|$)/],
  [
    ["10.244.1.11", "10.244.2.10"],
    /^matched, flow made; to 10\.244\.[12]\.1[01]:8080, one of 2 back ends(;|$)/,
  ],
])("a trace names the back end that was chosen, of %j", async (backEnds, choice) => {
  const { report } = await follow(own, clusterIp(backEnds, true), CALL_V);
  const chosen = report.forward.steps.filter(
    ({ layer, outcome }) => layer === "LB_DSR" && outcome === "rule",
  );
  expect(chosen.map(({ text }) => text)).toEqual([expect.stringMatching(choice)]);
});
