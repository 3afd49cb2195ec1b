// The walks of overlay networks (dataplane.md §2.3) and of host-gw (§2.4 B-2a) on clusters that flannel has brought up.
import { beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { parseIp } from "#core/net/ip.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { findTraceEnd } from "../trace/find-trace-end.ts";
import { readInput } from "../input/read-input.ts";
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
  ports: [{ port: 8080, targetPort: 8080, nodePort: ${NODE_PORTS[app]} }]
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
    expect(ask(dsr, "pod/a", VIPS[app])).toBe(`${answerer} saw 10.244.1.3`);
  });

  it.each([
    ["near", "b"],
    ["far", "c"],
    ["linux", "d"],
  ] as const)("WALK-O-5 without DSR the back end of %s sees the source VIP", (app, answerer) => {
    expect(ask(plain, "pod/a", VIPS[app])).toBe(`${answerer} saw 10.244.1.2`);
  });

  it("WALK-O-6 a pod reaches itself through its Service without DSR, and not with DSR", () => {
    expect(ask(plain, "pod/a", VIPS.self)).toBe("a saw 10.244.1.2");
    expect(ask(dsr, "pod/a", VIPS.self)).not.toContain("saw");
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

  it.each(["near", "far", "linux"] as const)("Services: %s", (app) => {
    expect(ask(cluster, "pod/a", VIPS[app])).toMatch(/ saw 10\.244\.1\./);
  });
});
