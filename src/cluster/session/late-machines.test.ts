// Pods and kube-proxies that wait until somebody asks about their node: what they do then is what they would have done at the start.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import {
  type World,
  checkLate,
  dumpOf,
  inputOf,
  questionsIn,
  started,
} from "#test/support/cluster/late-machines.suite.ts";
import { forkCluster } from "../cluster.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { tracePacket } from "../trace/trace.ts";
import { openSession } from "./open-session.ts";
import type { RunningCluster } from "./running-cluster.ts";

const NEAR = `
apiVersion: v1
kind: Pod
metadata: { name: near, labels: { app: near } }
spec: { nodeName: win-2, containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: near }
spec: { internalTrafficPolicy: Local, selector: { app: near }, ports: [{ port: 81, targetPort: 8080 }] }
`;

const HOST_GW = "{ plugin: flannel, backend: host-gw }";
/** A node with addresses for four pods. */
const NARROW = (subnet: number): string => `build: ws2025, podCIDR: 10.244.${subnet}.0/29`;

function deployment(replicas: number, image: string): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: { name: more }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: more } }
  template:
    metadata: { labels: { app: more } }
    spec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: "${image}" }] }
`;
}

/** More pods than two of three nodes have addresses for. */
const MORE = deployment(14, "server");
/** Pods with addresses on which nothing listens: the nodes are of later builds. */
const NOT_STARTING = deployment(9, "mcr.microsoft.com/windows/servercore:ltsc2019");

/** On each Windows node one pod that takes a port of the node and says itself whom it asks for names. */
const AGENTS = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      dnsPolicy: None
      dnsConfig: { nameservers: [10.96.0.10, "2001:db8::53"], searches: [corp.example], options: [{ name: ndots, value: "2" }] }
      containers: [{ name: c, image: server, ports: [{ containerPort: 9100, hostPort: 9100 }] }]
`;

/** Two pods of one node that take the same port of it. */
const TWICE: string = ["one", "two"]
  .map(
    (name) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec: { nodeName: win-2, containers: [{ name: c, image: server, ports: [{ containerPort: 8080, hostPort: 9100 }] }] }
`,
  )
  .join("---");

/** A list that the user wrote. */
function ownList(network: string, plugin: string): string {
  return `{ ${network}, cni: { conflist: { cniVersion: 1.0.0, name: cbr0, plugins: [${plugin}] } } }`;
}
const FLANNEL_LIST: string = ownList(
  "plugin: flannel, backend: host-gw",
  "{ type: flannel, delegate: { type: win-bridge, apiVersion: 2 } }",
);
/** host-local gives pods of each node addresses of the second node. */
const ONE_RANGE: string = ownList(
  "driver: L2Bridge",
  "{ type: win-bridge, apiVersion: 2, ipam: { type: host-local, subnet: 10.244.1.0/24, rangeStart: 10.244.1.40 } }",
);

/** The nodes that have load balancers. */
function programmed({ cluster }: RunningCluster): readonly string[] {
  return cluster.nodes
    .filter(({ hns }) => (hns?.countOf("LoadBalancer") ?? 0) > 0)
    .map(({ spec }) => spec.name);
}

describe("nobody waits", () => {
  it.each<readonly [string, World, readonly string[]]>([
    [
      "where a defect strikes at a rate",
      { second: 'build: ws2025, quirks: { load-balancer-port-missing: "0.5" }' },
      ["win-1", "win-2"],
    ],
    [
      "where a Service that counts local pods has none on a node",
      { more: NEAR },
      ["win-1", "win-2", "win-3"],
    ],
  ])("%s", async (_name, world, names) => {
    const { session } = await openSession(inputOf(world), undefined, "when asked");
    expect(programmed(session)).toEqual(names);
  });
});

it("a question copies the machines that it touches, and no other", async () => {
  const { session } = await openSession(inputOf({}));
  const request = { from: "pod/client", to: "pod/other", protocol: "icmp", port: undefined } as const;
  const copied = await session.ask((cluster) => {
    expect(tracePacket(cluster, request).report.verdict).toBe("answered");
    const copy = forkCluster(cluster);
    return copy.nodes.filter((node) => !cluster.nodes.includes(node)).map(({ spec }) => spec.name);
  });
  expect(copied).toEqual(["win-2", "linux-1"]);
});

describe("a machine comes up", () => {
  it("when somebody asks for it, and no other does", async () => {
    const { session } = await openSession(inputOf({}), undefined, "when asked");
    expect(programmed(session)).toEqual(["win-1"]);
    await session.raise("win-3");
    expect(programmed(session)).toEqual(["win-1", "win-3"]);
  });

  it("before anything changes", async () => {
    const { session } = await openSession(inputOf({}), undefined, "when asked");
    await session.passTime(1);
    expect(programmed(session)).toEqual(["win-1", "win-2", "win-3"]);
  });

  it("or none does where there is no room for all: a change is refused, a question goes on", async () => {
    const asked: number[] = [];
    const progress = {
      nodeReady: () => undefined,
      event: () => undefined,
      beforeRest: (nodes: number) => {
        asked.push(nodes);
        throw new RangeError("no room");
      },
    };
    const { session } = await openSession(inputOf({}), progress, "when asked");
    expect(session.nodesAtRest).toBe(2);
    const { nowMs } = session.cluster.clock;
    await expect(session.passTime(1)).rejects.toThrow("no room");
    await expect(session.raise()).rejects.toThrow("no room");
    expect([session.nodesAtRest, session.cluster.clock.nowMs, asked]).toEqual([2, nowMs, [2, 2]]);
    await session.raise("win-3");
    expect([session.nodesAtRest, programmed(session)]).toEqual([1, ["win-1", "win-3"]]);
    const request = { from: "pod/client", to: "pod/other", protocol: "icmp", port: undefined } as const;
    const { report } = await session.ask((cluster) => tracePacket(cluster, request));
    expect(report.verdict).toBe("answered");
  });

  it("and is a fault when it answers otherwise than the one that stood for it", async () => {
    const { session } = await openSession(inputOf({}), undefined, "when asked");
    session.cluster.nodes[2]?.hns?.setQuirk("load-balancer-port-missing", "on");
    await expect(session.raise()).rejects.toThrow(
      "the kube-proxy of win-3 answers otherwise than that of win-1",
    );
  });
});

describe("pods of a dump", () => {
  it("start when a packet needs them, and no others do", async () => {
    const { session } = await openSession(dumpOf(), undefined, "when asked");
    const { pods } = session.cluster;
    const from = pods.find(({ node }) => node.spec.name === "win-0008")?.spec;
    const to = pods.find(({ node }) => node.spec.name === "win-0003")?.spec;
    const [sender, receiver] = [from, to].map((spec) => `pod/${spec?.namespace}/${spec?.name}`);
    const request = { from: `${sender}`, to: `${receiver}`, protocol: "icmp", port: undefined } as const;
    const { report } = await session.ask((cluster) => tracePacket(cluster, request));
    expect(report.verdict).toBe("answered");
    expect(started(session)).toEqual(["win-0001", "win-0003", "win-0008"]);
  });

  it("are a fault when one starts otherwise than those that stood for it", async () => {
    const { session } = await openSession(dumpOf(), undefined, "when asked");
    const node = defined(session.cluster.nodes[1], "there is a second node");
    const client = hcnClientOf(node);
    await client.delete("Network", defined((await getNetworkByName(client, "cbr0")).ID, "its id"));
    await expect(session.raise("win-0002")).rejects.toThrow(
      "a pod of win-0002 starts otherwise than those of win-0001: its sandbox cannot be set up",
    );
  });
});

describe("pods of manifests", () => {
  it.each<readonly [string, World, number]>([
    ["whose addresses nobody has said", {}, 0],
    ["of flannel, which tries once more where HNS refuses an address", { network: HOST_GW }, 0],
    ["of which some are refused", { second: NARROW(1), third: NARROW(2), more: MORE }, 5],
    ["whose containers do not start", { more: NOT_STARTING }, 0],
    ["that take ports of the node and name their resolver", { more: AGENTS }, 0],
    ["whose list of plugins the user wrote", { network: FLANNEL_LIST }, 0],
  ])("%s wait, and come up as they were foreseen", async (_name, world, refused) => {
    const input = inputOf(world);
    const { session } = await openSession(input, undefined, "when asked");
    expect(started(session)).not.toContain("win-3");
    const { pods, objects } = session.cluster;
    const waiting = pods.filter(({ node }) => node.spec.name === "win-3");
    const due = objects.Pod.filter(({ spec }) => spec?.nodeName === "win-3");
    expect(due.length - waiting.length).toBe(refused);
    expect(await checkLate({ input, questions: questionsIn() })).toContain("win-3");
  });

  it.each<readonly [string, World, readonly string[]]>([
    ["two of which take one port of the node", { more: TWICE }, ["win-1", "win-2"]],
    ["whose own list gives them addresses of another node", { network: ONE_RANGE }, ["win-2"]],
  ])("%s start, or are refused, at once", async (_name, world, names) => {
    const input = inputOf(world);
    const { session } = await openSession(input, undefined, "when asked");
    const early = await openSession(input);
    expect(started(session)).toEqual(names);
    expect(session.troubles()).toEqual(early.session.troubles());
  });
});
