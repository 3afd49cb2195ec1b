// The walks of overlay networks (dataplane.md §2.3) and of host-gw (§2.4 B-2a) on clusters that flannel has brought up.
import { beforeAll, describe, expect, it } from "vitest";
import { listNetworks, modifyEndpointPolicies } from "#contracts/hcn/operations.ts";
import { defined } from "#core/base/assert.ts";
import { parseIp } from "#core/net/ip.ts";
import { endpointOf } from "#test/support/cluster/load-balancers.ts";
import { type Stage, type Walk, walk } from "#test/support/cluster/walk.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { findTraceEnd } from "../trace/find-trace-end.ts";
import { readInput } from "../input/read-input.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { openSession } from "../session/open-session.ts";
import { runAttempt } from "../trace/attempts.ts";
import { tracePacket } from "../trace/trace.ts";
import type { TraceLeg } from "../trace/trace-report.ts";

function clusterFile(backend: string, enableDSR: boolean): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: walks }
# The walks are those of nodes without them.
quirks: { overlay-nodeport-ws2022: off, l2bridge-dsr-kb5005619: off }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24 }
network: { plugin: flannel, backend: ${backend} }
kubeProxy: { enableDSR: ${enableDSR} }
pods:
  - { name: a, node: win-1, labels: { app: self } }
  - { name: b, node: win-1, labels: { app: near } }
  - { name: c, node: win-2, labels: { app: far } }
  - { name: d, node: linux-1, labels: { app: linux } }
`;
}

const VIPS = { self: "10.96.0.40", near: "10.96.0.41", far: "10.96.0.42", linux: "10.96.0.43" } as const;
const NODE_PORTS = { self: 30_040, near: 30_041, far: 30_042, linux: 30_043 } as const;
type App = keyof typeof VIPS;

const SERVICES = (Object.keys(VIPS) as App[])
  .map(
    (app) => `apiVersion: v1
kind: Service
metadata: { name: ${app} }
spec:
  type: NodePort
  clusterIP: ${VIPS[app]}
  selector: { app: ${app} }
  externalTrafficPolicy: ${app === "near" ? "Local" : "Cluster"}
  ports: [{ port: 80, targetPort: 8080, nodePort: ${NODE_PORTS[app]} }]
`,
  )
  .join("---\n");

async function bringUp(backend: "vxlan" | "host-gw", enableDSR: boolean): Promise<Cluster> {
  const read = readInput([
    { name: "cluster.yaml", text: clusterFile(backend, enableDSR) },
    { name: "services.yaml", text: SERVICES },
  ]);
  if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
  const { session } = await openSession(read.input);
  expect(session.notes()).toEqual([]);
  return session.cluster;
}

/** What a question to a port comes to: who answers and whom it saw, or how it failed. */
function ask(cluster: Cluster, from: string, to: string, port = 8_080): string {
  const copy = forkCluster(cluster);
  const result = runAttempt(copy, {
    from: defined(findTraceEnd(copy, from).compartment, from),
    to: parseIp(to) ?? findTraceEnd(copy, to).ip,
    protocol: port === 0 ? "icmp" : "tcp",
    port,
    isFollowed: false,
  });
  return result.outcome === "answered" ? result.answer.trim().replace(/:\d+$/, "") : result.outcome;
}

/** The values that a field takes on its way. */
function course(leg: TraceLeg, field: string): readonly (string | undefined)[] {
  return leg.steps.flatMap(({ changes }) =>
    changes.flatMap((change) => (change.field === field ? [change.after] : [])),
  );
}

/** Names of the tables: services are V, the source VIP is S1, the routers that HNS made W1dr and W2dr. */
async function namesOf({ nodes }: Cluster): Promise<Readonly<Record<string, string>>> {
  const names: Record<string, string> = { "10.244.1.2": "S1" };
  for (const vip of Object.values(VIPS)) names[vip] = "V";
  for (const [index, node] of nodes.entries()) {
    if (node.hns === undefined) continue;
    for (const { Policies = [] } of await listNetworks(hcnClientOf(node)))
      for (const { Type, Settings } of Policies)
        if (Type === "DrMacAddress" && typeof Settings?.["Address"] === "string")
          names[Settings["Address"]] = `W${index + 1}dr`;
  }
  return names;
}

/** `send A | Am→Bm | A→B | p→8080 | 128`, and in a tunnel what is around it. */
function lines(stages: readonly Stage[]): readonly string[] {
  return stages.map(({ at, eth, ip, l4, ttl, outer }) =>
    [at, eth, ip, l4 ?? "icmp", ttl, ...(outer === undefined ? [] : [outer])].join(" | "),
  );
}

/** Of these lines those of the layers and places that a table names. */
function only(all: readonly string[], places: readonly string[]): readonly string[] {
  return all.filter((line) => places.some((place) => line.startsWith(`${place} |`)));
}

const TUNNEL = ":4789 VNI 4096";

describe("overlay walks on a cluster that flannel brought up", () => {
  let dsr: Cluster;
  let plain: Cluster;
  beforeAll(async () => {
    dsr = await bringUp("vxlan", true);
    plain = await bringUp("vxlan", false);
  });

  it("WALK-O-1 A → B on one node needs no tunnel", () => {
    const { report } = tracePacket(dsr, { from: "pod/a", to: "pod/b", protocol: "tcp", port: 8_080 });
    expect(report.answer).toMatch(/^b saw 10\.244\.1\.3:/);
    expect(course(report.forward, "vxlan.vni")).toEqual([]);
  });

  it("WALK-O-2 A → C: outer addresses are the nodes', VNI 4096, inner MAC of the other router, one hop less", () => {
    const { report } = tracePacket(dsr, { from: "pod/a", to: "pod/c", protocol: "tcp", port: 8_080 });
    const wire = report.forward.steps.find(({ kind }) => kind === "wire");
    expect(wire?.frame).toMatch(/^VXLAN 4096 10\.0\.0\.11 → 10\.0\.0\.12 \[TCP 10\.244\.1\.3:/);
    expect(course(report.forward, "inner.ip.ttl")[0]).toBe("127");
    expect(report.answer).toMatch(/^c saw 10\.244\.1\.3:/);
  });

  it("WALK-O-3 A → D and back, through flanneld's device", () => {
    const { report } = tracePacket(dsr, { from: "pod/a", to: "pod/d", protocol: "tcp", port: 8_080 });
    expect(report.answer).toMatch(/^d saw 10\.244\.1\.3:/);
    expect(course(report.forward, "inner.ip.ttl")).toEqual(["127", "126"]);
    expect(course(defined(report.reply, "an answer"), "vxlan.vni")).toEqual(["4096", undefined]);
    expect(course(defined(report.reply, "an answer"), "ip.ttl")[0]).toBe("63");
  });

  it.each([
    ["near", "b"],
    ["far", "c"],
    ["linux", "d"],
  ] as const)("WALK-O-4 with DSR the back end of %s sees the client", (app, answerer) => {
    expect(ask(dsr, "pod/a", VIPS[app], 80)).toBe(`${answerer} saw 10.244.1.3`);
  });

  it.each([
    ["near", "b"],
    ["far", "c"],
    ["linux", "d"],
  ] as const)("WALK-O-5 without DSR the back end of %s sees the source VIP", (app, answerer) => {
    expect(ask(plain, "pod/a", VIPS[app], 80)).toBe(`${answerer} saw 10.244.1.2`);
  });

  it("WALK-O-6 a pod reaches itself through its Service without DSR, and not with DSR", () => {
    expect(ask(plain, "pod/a", VIPS.self, 80)).toBe("a saw 10.244.1.2");
    expect(ask(dsr, "pod/a", VIPS.self, 80)).not.toContain("saw");
  });

  it("WALK-O-7 outside sees the node, and no ping comes back", () => {
    const { report } = tracePacket(dsr, { from: "pod/a", to: "external", protocol: "tcp", port: 443 });
    expect(report.verdict).toBe("answered");
    expect(course(report.forward, "ip.src")).toEqual(["10.0.0.11"]);
    expect(ask(dsr, "pod/a", "203.0.113.10", 0)).not.toContain("reply");
  });

  it("WALK-O-8 a node port: policy Local keeps the client, Cluster shows the source VIP", () => {
    expect(ask(dsr, "external", "10.0.0.11", NODE_PORTS.near)).toBe("b saw 203.0.113.10");
    expect(ask(dsr, "external", "10.0.0.11", NODE_PORTS.far)).toBe("c saw 10.244.1.2");
  });

  it("WALK-O-9 node and own pod reach each other, and the node a pod elsewhere", () => {
    expect(ask(dsr, "node/win-1", "pod/a")).toBe("a saw 10.0.0.11");
    expect(ask(dsr, "pod/a", "10.0.0.11", 0)).toMatch(/^echo reply from 10\.0\.0\.11/);
    expect(ask(dsr, "node/win-1", "pod/d")).toMatch(/^d saw /);
  });

  /** The walk of the first packet and of its answer, in the words of the tables, with the layers of ports. */
  async function follow(
    cluster: Cluster,
    from: string,
    to: string,
    port: number,
  ): Promise<{
    readonly forward: readonly string[];
    readonly reply: readonly string[];
    readonly walk: Walk;
  }> {
    const each = walk(cluster, from, to, { port, names: await namesOf(cluster), showsLayers: true });
    return { forward: lines(each.forward), reply: lines(each.reply), walk: each };
  }

  it("WALK-O-1 stage by stage: MACs and TTL stay, and the answer is the mirror image", async () => {
    const { forward, reply } = await follow(dsr, "pod/a", "pod/b", 8_080);
    const out = "Am→Bm | A→B | p→8080 | 128";
    const back = "Bm→Am | B→A | 8080→p | 128";
    expect(only(forward, ["send A", "W1 out ACL_ENDPOINT_LAYER", "W1 in ACL_ENDPOINT_LAYER"])).toEqual([
      `send A | ${out}`,
      `W1 out ACL_ENDPOINT_LAYER | ${out}`,
      `W1 in ACL_ENDPOINT_LAYER | ${out}`,
    ]);
    expect(new Set(forward.map((line) => line.slice(line.indexOf(" | ") + 3)))).toEqual(new Set([out]));
    expect(new Set(reply.map((line) => line.slice(line.indexOf(" | ") + 3)))).toEqual(new Set([back]));
    expect([forward.at(-1), reply.at(-1)]).toEqual([`deliver B | ${out}`, `deliver A | ${back}`]);
  });

  it("WALK-O-1 the answer needs no rule where rules are stateful: B may not send, A takes nothing", async () => {
    const copy = forkCluster(dsr);
    const client = hcnClientOf(copy.nodes[0]!);
    const block = (Direction: string) => ({
      Type: "ACL",
      Settings: { Action: "Block", Direction, Priority: 100 },
    });
    await modifyEndpointPolicies(client, await endpointOf(copy, "b"), "Add", [block("Out")]);
    await modifyEndpointPolicies(client, await endpointOf(copy, "a"), "Add", [block("In")]);
    expect(ask(copy, "pod/a", "pod/b")).toBe("b saw 10.244.1.3");
    expect(ask(copy, "pod/b", "pod/a")).toBe("timed-out");
    expect(ask(copy, "pod/b", "pod/c")).toBe("timed-out");
  });

  it("WALK-O-3 stage by stage: L1v inside on the wire, 126 at D; the answer from L1v to W1dr with 63", async () => {
    const { forward, reply } = await follow(dsr, "pod/a", "pod/d", 8_080);
    const outer = `W1m→L1m W1→L1 ttl 128 DF ${TUNNEL}`;
    expect(forward).toEqual([
      "send A | Am→W1dr | A→D | p→8080 | 128",
      "W1 out ACL_ENDPOINT_LAYER | Am→W1dr | A→D | p→8080 | 128",
      `W1 out VNET_ENCAP_LAYER | Am→L1v | A→D | p→8080 | 127 | W1m→00-00-00-00-00-00 W1→L1 ttl 128 DF ${TUNNEL}`,
      `W1 out VNET_PA_ROUTE_LAYER | Am→L1v | A→D | p→8080 | 127 | ${outer}`,
      `wire | Am→L1v | A→D | p→8080 | 127 | ${outer}`,
      "forward L1 | L1bm→Dm | A→D | p→8080 | 126",
      "deliver D | L1bm→Dm | A→D | p→8080 | 126",
    ]);
    expect(only(reply, ["send D", "wire", "W1 in REMOTESUBNETROUTE_HAIRPIN_LAYER", "deliver A"])).toEqual([
      "send D | Dm→L1bm | D→A | 8080→p | 64",
      `wire | L1v→W1dr | D→A | 8080→p | 63 | L1m→W1m L1→W1 ttl 64 ${TUNNEL}`,
      "W1 in REMOTESUBNETROUTE_HAIRPIN_LAYER | W1dr→Am | D→A | 8080→p | 63",
      "deliver A | W1dr→Am | D→A | 8080→p | 63",
    ]);
  });

  it("WALK-O-4 stage by stage, remote back end: chosen before the ACL, then as O-3; un-translated behind the ACL", async () => {
    const { forward, reply } = await follow(dsr, "pod/a", VIPS.linux, 80);
    expect(
      only(forward, ["send A", "W1 out LB_DSR", "W1 out ACL_ENDPOINT_LAYER", "wire", "deliver D"]),
    ).toEqual([
      "send A | Am→W1dr | A→V | p→80 | 128",
      "W1 out LB_DSR | Am→W1dr | A→D | p→8080 | 128",
      "W1 out ACL_ENDPOINT_LAYER | Am→W1dr | A→D | p→8080 | 128",
      `wire | Am→L1v | A→D | p→8080 | 127 | W1m→L1m W1→L1 ttl 128 DF ${TUNNEL}`,
      "deliver D | L1bm→Dm | A→D | p→8080 | 126",
    ]);
    expect(reply.slice(-3)).toEqual([
      "W1 in ACL_ENDPOINT_LAYER | W1dr→Am | D→A | 8080→p | 63",
      "W1 in LB_DSR | W1dr→Am | V→A | 80→p | 63",
      "deliver A | W1dr→Am | V→A | 80→p | 63",
    ]);
  });

  it("WALK-O-4 stage by stage, local back end: no tunnel, B answers A itself, and A's port gives V back", async () => {
    const { forward, reply } = await follow(dsr, "pod/a", VIPS.near, 80);
    expect(forward[0]).toBe("send A | Am→W1dr | A→V | p→80 | 128");
    expect(forward.at(-1)).toBe("deliver B | Am→Bm | A→B | p→8080 | 128");
    expect(reply[0]).toBe("send B | Bm→Am | B→A | 8080→p | 128");
    expect(reply.slice(-2)).toEqual([
      "W1 in LB_DSR | Bm→Am | V→A | 80→p | 128",
      "deliver A | Bm→Am | V→A | 80→p | 128",
    ]);
    expect([...forward, ...reply].filter((line) => line.includes(TUNNEL))).toEqual([]);
  });

  it("WALK-O-5 stage by stage: A's port sees V, the host's port translates both addresses, and both ways pass it", async () => {
    const { forward, reply, walk: each } = await follow(plain, "pod/a", VIPS.far, 80);
    const places = ["send A", "W1 out ACL_ENDPOINT_LAYER", "W1 out SNAT", "W1 out LB", "wire", "deliver C"];
    const seen = (leg: readonly string[]) => leg.map((line) => line.split(" | ").toSpliced(1, 1).slice(0, 3));
    expect(seen(only(forward, places))).toEqual([
      ["send A", "A→V", "p→80"],
      ["W1 out ACL_ENDPOINT_LAYER", "A→V", "p→80"],
      ["W1 out SNAT", "S1→V", "q→80"],
      ["W1 out LB", "S1→C", "q→8080"],
      ["wire", "S1→C", "q→8080"],
      ["deliver C", "S1→C", "q→8080"],
    ]);
    expect(seen(only(reply, ["send C", "wire", "W1 in LB", "W1 in SNAT", "deliver A"]))).toEqual([
      ["send C", "C→S1", "8080→q"],
      ["wire", "C→S1", "8080→q"],
      ["W1 in LB", "V→S1", "80→q"],
      ["W1 in SNAT", "V→A", "80→p"],
      ["deliver A", "V→A", "80→p"],
    ]);
    // Row 2: a pod's MTU is 1450, so it offers 1410.
    expect(course(each.report.forward, "tcp.options.mss_val")).toEqual(["1360"]);
    // Ports of one load balancer come from a block of 64.
    expect(Number(/:(\d+)$/.exec(each.report.answer ?? "")?.[1]) - 49_152).toBeLessThan(64);
  });

  it("WALK-O-7 stage by stage: the node's address and a port of its own behind the ACL, W1m→Rm at 128; the answer finds A", async () => {
    const { forward, reply } = await follow(dsr, "pod/a", "external", 443);
    expect(forward.slice(0, 6)).toEqual([
      "send A | Am→W1dr | A→X | p→443 | 128",
      "W1 out ACL_ENDPOINT_LAYER | Am→W1dr | A→X | p→443 | 128",
      "W1 out VNET_ENCAP_LAYER | Am→W1dr | A→X | p→443 | 128",
      "W1 out SLB_NAT_LAYER | Am→W1dr | W1→X | q→443 | 128",
      "W1 out VNET_PA_ROUTE_LAYER | W1m→Rm | W1→X | q→443 | 128",
      "wire | W1m→Rm | W1→X | q→443 | 128",
    ]);
    // X answers with TTL 64, and the router takes one.
    expect(reply.slice(-5)).toEqual([
      "wire | Rm→W1m | X→W1 | 443→q | 63",
      "W1 in SLB_NAT_LAYER | Rm→Am | X→A | 443→p | 63",
      "W1 in VNET_ENCAP_LAYER | W1dr→Am | X→A | 443→p | 63",
      "W1 in ACL_ENDPOINT_LAYER | W1dr→Am | X→A | 443→p | 63",
      "deliver A | W1dr→Am | X→A | 443→p | 63",
    ]);
  });

  it("WALK-O-8 stage by stage, policy Local: turned round at the host's port, translated at B's, answered directly", async () => {
    const { forward, reply } = await follow(dsr, "external", "10.0.0.11", NODE_PORTS.near);
    expect(forward.slice(3)).toEqual([
      "wire | Rm→W1m | X→W1 | p→30041 | 63",
      "W1 in SLB_HAIRPIN_LAYER | Rm→W1m | X→W1 | p→30041 | 63",
      "W1 out SLB_LB_LAYER | Rm→Bm | X→W1 | p→30041 | 63",
      "W1 in SLB_NAT_LAYER | Rm→Bm | X→B | p→8080 | 63",
      "W1 in VNET_ENCAP_LAYER | W1dr→Bm | X→B | p→8080 | 63",
      "W1 in ACL_ENDPOINT_LAYER | W1dr→Bm | X→B | p→8080 | 63",
      "deliver B | W1dr→Bm | X→B | p→8080 | 63",
    ]);
    expect(only(reply, ["send B", "W1 out SLB_NAT_LAYER", "W1 out VNET_PA_ROUTE_LAYER"])).toEqual([
      "send B | Bm→W1dr | B→X | 8080→p | 128",
      "W1 out SLB_NAT_LAYER | Bm→W1dr | W1→X | 30041→p | 128",
      "W1 out VNET_PA_ROUTE_LAYER | W1m→Rm | W1→X | 30041→p | 128",
    ]);
    expect(reply.filter((line) => line.startsWith("forward W1"))).toEqual([]);
  });

  it("WALK-O-8 stage by stage, policy Cluster and a remote back end: S1 asks, and the answer comes back through W1", async () => {
    const { forward, reply } = await follow(plain, "external", "10.0.0.11", NODE_PORTS.far);
    const seen = (leg: readonly string[]) => leg.map((line) => line.split(" | ").toSpliced(1, 1).slice(0, 3));
    expect(seen(only(forward.slice(3), ["wire", "W1 out SNAT", "W1 out LB", "deliver C"]))).toEqual([
      ["wire", "X→W1", "p→30042"],
      ["W1 out SNAT", "S1→W1", "q→30042"],
      ["W1 out LB", "S1→C", "q→8080"],
      ["wire", "S1→C", "q→8080"],
      ["deliver C", "S1→C", "q→8080"],
    ]);
    expect(seen(only(reply, ["wire", "W1 in LB", "W1 in SNAT", "deliver X"]))).toEqual([
      ["wire", "C→S1", "8080→q"],
      ["W1 in LB", "W1→S1", "30042→q"],
      ["W1 in SNAT", "W1→X", "30042→p"],
      ["wire", "W1→X", "30042→p"],
      ["wire", "W1→X", "30042→p"],
      ["deliver X", "W1→X", "30042→p"],
    ]);
  });

  it("WALK-O-9 stage by stage: the node's address to its own pod without the wire, to a pod elsewhere in a tunnel", async () => {
    const own = await follow(dsr, "node/win-1", "pod/a", 8_080);
    expect(own.forward.at(-1)).toBe("deliver A | W1dr→Am | W1→A | p→8080 | 128");
    expect(own.reply.at(-1)).toBe("deliver W1 | W1m→W1m | A→W1 | 8080→p | 128");
    expect(only([...own.forward, ...own.reply], ["wire"])).toEqual([]);
    const far = await follow(dsr, "node/win-1", "pod/c", 8_080);
    expect(only(far.forward, ["wire", "deliver C"])).toEqual([
      `wire | W1dr→W2dr | W1→C | p→8080 | 127 | W1m→W2m W1→W2 ttl 128 DF ${TUNNEL}`,
      "deliver C | W2dr→Cm | W1→C | p→8080 | 127",
    ]);
    // A pod to its own node: its own address, since the nodes' subnet is an exception.
    const home = await follow(dsr, "pod/a", "10.0.0.11", 10_251);
    expect(home.forward[0]).toBe("send A | Am→W1dr | A→W1 | p→10251 | 128");
    expect(home.walk.report.verdict).toBe("refused");
    expect(home.reply.at(-1)).toBe("deliver A | W1dr→Am | W1→A | 10251→p | 128");
  });

  it("CP-S9 a Linux node itself asks with .0 of its range, and the answer comes back through the tunnel", async () => {
    const { forward, reply, walk: each } = await follow(dsr, "node/linux-1", "pod/a", 8_080);
    const away = each.report.forward.steps.find(({ kind }) => kind === "wire");
    expect(away?.frame).toMatch(/^VXLAN 4096 10\.0\.0\.21 → 10\.0\.0\.11 \[TCP 10\.244\.3\.0:/);
    expect(forward.at(-1)).toBe("deliver A | W1dr→Am | L1b→A | p→8080 | 64");
    expect(only(reply, ["wire", "deliver L1"])).toEqual([
      `wire | Am→L1v | A→L1b | 8080→p | 127 | W1m→L1m W1→L1 ttl 128 DF ${TUNNEL}`,
      "deliver L1 | Am→L1v | A→L1b | 8080→p | 127",
    ]);
    expect(each.report.answer).toMatch(/^a saw 10\.244\.3\.0:/);
  });
});

describe("host-gw on a cluster that flannel brought up", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await bringUp("host-gw", true);
  });

  it("WALK-B-2a A → C goes by the node's leg and the other node's address, without a tunnel", () => {
    const { report } = tracePacket(cluster, { from: "pod/a", to: "pod/c", protocol: "tcp", port: 8_080 });
    expect(report.answer).toMatch(/^c saw 10\.244\.1\./);
    const wire = report.forward.steps.find(({ kind }) => kind === "wire");
    expect(wire?.frame).toMatch(/^TCP 10\.244\.1\.\d+:\d+ → 10\.244\.2\.\d+:8080/);
  });

  function follow(
    from: string,
    to: string,
    port: number,
  ): { forward: readonly string[]; reply: readonly string[] } {
    const names = Object.fromEntries(Object.values(VIPS).map((vip) => [vip, "V"]));
    const each = walk(cluster, from, to, { port, names, showsLayers: true });
    return { forward: lines(each.forward), reply: lines(each.reply) };
  }

  it("WALK-B-2a stage by stage: over both bridge endpoints, 127 on the wire, 126 at C", () => {
    const { forward, reply } = follow("pod/a", "pod/c", 8_080);
    expect(
      only(forward, ["send A", "W1 out ACL_ENDPOINT_LAYER", "forward W1", "wire", "forward W2", "deliver C"]),
    ).toEqual([
      "send A | Am→BR1m | A→C | p→8080 | 128",
      "W1 out ACL_ENDPOINT_LAYER | Am→BR1m | A→C | p→8080 | 128",
      "forward W1 | W1m→W2m | A→C | p→8080 | 127",
      "wire | W1m→W2m | A→C | p→8080 | 127",
      "forward W2 | BR2m→Cm | A→C | p→8080 | 126",
      "deliver C | BR2m→Cm | A→C | p→8080 | 126",
    ]);
    expect(only(reply, ["send C", "wire", "deliver A"])).toEqual([
      "send C | Cm→BR2m | C→A | 8080→p | 128",
      "wire | W2m→W1m | C→A | 8080→p | 127",
      "deliver A | BR1m→Am | C→A | 8080→p | 126",
    ]);
  });

  it("WALK-B-3 stage by stage: Bm from LB_DSR on, and V back at A's port; a remote back end as B-2a", () => {
    const near = follow("pod/a", VIPS.near, 80);
    expect(only(near.forward, ["send A", "W1 out LB_DSR", "W1 out ACL_ENDPOINT_LAYER", "deliver B"])).toEqual(
      [
        "send A | Am→BR1m | A→V | p→80 | 128",
        "W1 out LB_DSR | Am→Bm | A→B | p→8080 | 128",
        "W1 out ACL_ENDPOINT_LAYER | Am→Bm | A→B | p→8080 | 128",
        "deliver B | Am→Bm | A→B | p→8080 | 128",
      ],
    );
    expect(near.reply[0]).toBe("send B | Bm→Am | B→A | 8080→p | 128");
    expect(near.reply.slice(-3)).toEqual([
      "W1 in ACL_ENDPOINT_LAYER | Bm→Am | B→A | 8080→p | 128",
      "W1 in LB_DSR | Bm→Am | V→A | 80→p | 128",
      "deliver A | Bm→Am | V→A | 80→p | 128",
    ]);
    const far = follow("pod/a", VIPS.far, 80);
    expect(only(far.forward, ["W1 out LB_DSR", "wire", "deliver C"])).toEqual([
      "W1 out LB_DSR | Am→BR1m | A→C | p→8080 | 128",
      "wire | W1m→W2m | A→C | p→8080 | 127",
      "deliver C | BR2m→Cm | A→C | p→8080 | 126",
    ]);
    expect(far.reply.slice(-2)).toEqual([
      "W1 in LB_DSR | BR1m→Am | V→A | 80→p | 126",
      "deliver A | BR1m→Am | V→A | 80→p | 126",
    ]);
  });

  it("WALK-B-6 stage by stage: the ACL sees A, SNAT makes W1 and q, the answer comes to A's port with its TTL", () => {
    const { forward, reply } = follow("pod/a", "external", 443);
    expect(forward.slice(0, 5)).toEqual([
      "send A | Am→BR1m | A→X | p→443 | 128",
      "W1 out ACL_ENDPOINT_LAYER | Am→BR1m | A→X | p→443 | 128",
      "W1 out SLB_NAT_LAYER | Am→BR1m | W1→X | q→443 | 128",
      "W1 out VNET_PA_ROUTE_LAYER | W1m→Rm | W1→X | q→443 | 128",
      "wire | W1m→Rm | W1→X | q→443 | 128",
    ]);
    const [arrival, ...onPort] = reply.slice(reply.findLastIndex((line) => line.startsWith("wire")));
    expect(arrival).toBe("wire | Rm→W1m | X→W1 | 443→q | 63");
    // The table leaves the source MAC open.
    expect(onPort.map((line) => line.replace(/\| [^|→]+→/, "| …→"))).toEqual([
      "W1 in SLB_NAT_LAYER | …→Am | X→A | 443→p | 63",
      "W1 in ACL_ENDPOINT_LAYER | …→Am | X→A | 443→p | 63",
      "deliver A | …→Am | X→A | 443→p | 63",
    ]);
  });

  it("WALK-B-7 stage by stage: policy Local keeps the client and answers directly; Cluster asks as W1 and answers by W1", () => {
    const near = follow("external", "10.0.0.11", NODE_PORTS.near);
    expect(near.forward.slice(3)).toEqual([
      "wire | Rm→W1m | X→W1 | p→30041 | 63",
      "W1 in SLB_HAIRPIN_LAYER | Rm→W1m | X→W1 | p→30041 | 63",
      "W1 out SLB_LB_LAYER | Rm→Bm | X→W1 | p→30041 | 63",
      "W1 in SLB_NAT_LAYER | Rm→Bm | X→B | p→8080 | 63",
      "W1 in ACL_ENDPOINT_LAYER | Rm→Bm | X→B | p→8080 | 63",
      "deliver B | Rm→Bm | X→B | p→8080 | 63",
    ]);
    expect(near.reply.slice(2, 5)).toEqual([
      "W1 out SLB_NAT_LAYER | Bm→BR1m | W1→X | 30041→p | 128",
      "W1 out VNET_PA_ROUTE_LAYER | W1m→Rm | W1→X | 30041→p | 128",
      "wire | W1m→Rm | W1→X | 30041→p | 128",
    ]);
    const far = follow("external", "10.0.0.11", NODE_PORTS.far);
    const seen = (leg: readonly string[]) => leg.map((line) => line.split(" | ").toSpliced(1, 1).slice(0, 3));
    expect(seen(only(far.forward.slice(4), ["wire", "deliver C"]))).toEqual([
      ["wire", "W1→C", "q→8080"],
      ["deliver C", "W1→C", "q→8080"],
    ]);
    expect(seen(only(far.reply, ["send C", "wire", "deliver X"]))).toEqual([
      ["send C", "C→W1", "8080→q"],
      ["wire", "C→W1", "8080→q"],
      ["wire", "W1→X", "30042→p"],
      ["wire", "W1→X", "30042→p"],
      ["deliver X", "W1→X", "30042→p"],
    ]);
  });

  it.each(["near", "far", "linux"] as const)("Services: %s", (app) => {
    expect(ask(cluster, "pod/a", VIPS[app], 80)).toMatch(/ saw 10\.244\.1\./);
  });
});
