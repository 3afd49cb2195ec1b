/**
 * Machines that come up when somebody asks, held against machines that come up at the start: every field of everything that
 * is reachable, and the answers. Whole in `test:long`, a slice in the fast tests.
 */
import { expect } from "vitest";
import { type ClusterInput, readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import type { Raising } from "#cluster/session/session.ts";
import { summarizeCluster } from "#cluster/api/listings.ts";
import { planComparisons } from "#cluster/classes/node-classes.ts";
import { type Cluster, type ClusterNode, forkCluster } from "#cluster/cluster.ts";
import { RequestError } from "#cluster/request-error.ts";
import { type TraceRequest, tracePacket } from "#cluster/trace/trace.ts";
import { planVerification } from "#cluster/verify/plan.ts";
import { viewCompartments } from "#cluster/views/stack-views.ts";
import { inventoryEndpoints } from "#cluster/views/inventory.ts";
import { SharedValues } from "#hns/compile/compile-cache.ts";
import { largeDump } from "#test/support/cluster/large-dump.ts";

/**
 * What is not compared: values that nodes share are found by what they say, and no node can see in which order the others
 * put them there.
 */
const UNSEEN: readonly (new () => object)[] = [SharedValues];

interface Pair {
  readonly one: object;
  readonly other: object;
  readonly path: string;
}

/** Walks two worlds at the same time. */
class Comparison {
  private readonly pairs = new Map<object, object>();
  private readonly work: Pair[] = [];
  private readonly unseen: readonly (new () => object)[];

  constructor(unseen: readonly (new () => object)[]) {
    this.unseen = unseen;
  }

  /** The path to the first difference; undefined: there is none. */
  run(one: object, other: object): string | undefined {
    this.work.push({ one, other, path: "" });
    for (let pair = this.work.pop(); pair !== undefined; pair = this.work.pop()) {
      const found = this.differenceIn(pair);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private differenceIn({ one, other, path }: Pair): string | undefined {
    if (this.unseen.some((each) => one instanceof each)) return undefined;
    const known = this.pairs.get(one);
    if (known !== undefined) return known === other ? undefined : `${path} is shared otherwise`;
    // What is equal may be one frozen value here and two there.
    if (!Object.isFrozen(one)) this.pairs.set(one, other);
    if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return `${path} is of another kind`;
    if (one instanceof Map && other instanceof Map) {
      const found =
        this.compare([...one.keys()], [...other.keys()], `${path}(keys)`) ??
        this.compare([...one.values()], [...other.values()], `${path}(values)`);
      if (found !== undefined) return found;
    }
    if (one instanceof Set && other instanceof Set) {
      const found = this.compare([...one], [...other], `${path}(members)`);
      if (found !== undefined) return found;
    }
    return this.compareFields(one, other, path);
  }

  private compareFields(one: object, other: object, path: string): string | undefined {
    const names = Object.keys(one);
    if (names.join() !== Object.keys(other).join()) return `${path} has other fields`;
    for (const name of names) {
      const values = [one, other].map((each) => (each as Record<string, unknown>)[name]);
      const found = this.compare(values[0], values[1], `${path}.${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private compare(one: unknown, other: unknown, path: string): string | undefined {
    if (typeof one === "function" && typeof other === "function")
      return one.name === other.name ? undefined : `${path}: ${one.name} and ${other.name}`;
    if (typeof one === "object" && typeof other === "object" && one !== null && other !== null) {
      this.work.push({ one, other, path });
      return undefined;
    }
    return Object.is(one, other) ? undefined : `${path}: ${String(one)} and ${String(other)}`;
  }
}

/** The path to the first difference between two worlds; undefined: there is none. `besides`: what is not compared. */
export function firstDifference(
  one: object,
  other: object,
  besides: readonly (new () => object)[],
): string | undefined {
  return new Comparison([...UNSEEN, ...besides]).run(one, other);
}

const MANIFESTS = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 12
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: web, image: server, ports: [{ containerPort: 8080 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { type: NodePort, selector: { app: web }, ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }] }
`;

/** Three Windows nodes and a Linux node; what is not said is the same for all. */
export interface World {
  readonly network?: string;
  /** What the entry of a Windows node says besides. */
  readonly second?: string;
  readonly third?: string;
  /** Manifests. */
  readonly more?: string;
}

export function inputOf({
  network = "{ driver: L2Bridge }",
  second = "build: ws2025",
  third = "build: ws2025",
  more = "",
}: World): ClusterInput {
  // Their pods have addresses of the nodes' subnet.
  const range = (subnet: number): string =>
    /L2Tunnel|node-subnet|Transparent/.test(network) ? `, podCIDR: 10.0.${subnet}.0/24` : "";
  const file = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: late }
nodes:
  - { name: win-1, os: windows, build: ws2025, address: 10.0.0.11${range(1)} }
  - { name: win-2, os: windows, address: 10.0.0.12, ${second}${range(2)} }
  - { name: win-3, os: windows, address: 10.0.0.13, ${third}${range(3)} }
  - { name: linux-1, os: linux, address: 10.0.0.21${range(4)} }
underlay: { subnet: 10.0.0.0/16 }
network: ${network}
pods:
  - { name: client, node: win-2 }
  - { name: other, node: linux-1, ports: [{ port: 8080, protocol: TCP }] }
`;
  const texts = [file, `${MANIFESTS}---${more}`];
  const read = readInput(texts.map((text, index) => ({ name: `${index + 1}.yaml`, text })));
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  return read.input;
}

/** Pod to Service, pod to pod, node to Service, and to a node's port. */
export function questionsIn(): LateCase["questions"] {
  return [
    ["pod/client", "service/web"],
    ["pod/other", "service/web"],
    ["pod/client", "pod/other"],
    ["node/win-3", "service/web"],
    ["node/linux-1", "node/win-2", 30_080],
  ];
}

async function open(input: ClusterInput, raising: Raising): Promise<RunningCluster> {
  return (await openSession(input, undefined, raising)).session;
}

async function countEndpoints({ cluster }: RunningCluster, node: string): Promise<number> {
  return (await inventoryEndpoints(cluster, node)).length;
}

/** What a trace says, or why there is none. A machine that is missing is no answer. */
function answerOf(cluster: Cluster, request: TraceRequest): unknown {
  try {
    return tracePacket(cluster, request).report;
  } catch (error) {
    if (error instanceof RequestError) return error.message;
    throw error;
  }
}

/** A few pods to each other and to the outside. */
function questionsAbout({ pods, outside }: Cluster): LateCase["questions"] {
  const chosen = [0, Math.floor(pods.length / 2), pods.length - 1].flatMap((index) => pods[index] ?? []);
  const names = [...new Set(chosen)].map(({ spec }) => `pod/${spec.namespace}/${spec.name}`);
  const ends = [...names, ...outside.slice(0, 1).map(({ name }) => name)];
  return ends.flatMap((from) =>
    ends.filter((to) => to !== from).flatMap((to) => [[from, to] as const, [from, to, 0] as const]),
  );
}

/** What is said of a cluster without a look at its machines. */
function saidBefore(session: RunningCluster): unknown {
  const { cluster } = session;
  const [troubles, limits] = [session.troubles(), session.limits()];
  const { classes, chosen } = planComparisons(cluster, "seed");
  return {
    limits: limits.map(({ code, message }) => ({ code, message })),
    plan: planVerification(cluster, undefined, { troubles, limits }).cells,
    classes: classes.map(({ first, others }) => [first, ...others.map(({ node }) => node)].map(nameOf)),
    chosen: chosen.map(({ member, like }) => [nameOf(member.node), nameOf(like)]),
    compartments: viewCompartments(cluster, cluster.nodes[0]?.spec.name),
    // How many nodes wait is all that may differ.
    summary: { ...summarizeCluster(session), nodesAtRest: undefined },
  };
}

function nameOf({ spec }: ClusterNode): string {
  return spec.name;
}

export interface LateCase {
  readonly input: ClusterInput;
  /** Pods are asked, too. */
  readonly asksPods?: boolean;
  readonly questions: readonly (readonly [from: string, to: string, port?: number])[];
}

/**
 * Late machines against early ones, raised one by one from the last to the first, and asked before anything is raised.
 * @returns the nodes on which nothing was programmed before somebody asked.
 */
export async function checkLate({
  input,
  questions,
  asksPods = false,
}: LateCase): Promise<readonly string[]> {
  const early = await open(input, "at the start");
  const late = await open(input, "when asked");
  const names = input.file.nodes.filter(({ os }) => os === "windows").map(({ name }) => name);
  const before = new Map<string, number>();
  for (const name of names) before.set(name, await countEndpoints(late, name));
  expect(saidBefore(late)).toEqual(saidBefore(early));
  const isWaiting = new Comparison(UNSEEN).run(early, late) !== undefined;
  for (const name of names.toReversed()) await late.raise(name);
  const raised: string[] = [];
  for (const name of names) if ((await countEndpoints(late, name)) !== before.get(name)) raised.push(name);
  expect(isWaiting || raised.length === 0).toBe(true);
  expect(new Comparison(UNSEEN).run(early, late)).toBeUndefined();
  const asked = await open(input, "when asked");
  expect(asked.notes()).toEqual(early.notes());
  expect(asked.troubles()).toEqual(early.troubles());
  for (const [from, to, port] of [...questions, ...(asksPods ? questionsAbout(early.cluster) : [])]) {
    const request = { from, to, protocol: port === 0 ? "icmp" : "tcp", port } as const;
    const answer = await asked.ask((cluster) => answerOf(cluster, request));
    expect(answer).toEqual(answerOf(early.cluster, request));
  }
  await asked.raise();
  for (const { cluster } of [early, asked]) {
    forkCluster(cluster);
    cluster.demand.nodes.clear();
  }
  expect(new Comparison(UNSEEN).run(early, asked)).toBeUndefined();
  return raised;
}

/** A dump of ten nodes, of which six are Windows. */
export function dumpOf(change: (text: string) => string = (text) => text): ClusterInput {
  const text = [...largeDump({ nodes: 10, pods: 60, services: 8 })].join("");
  const read = readInput([{ name: "dump.yaml", text: change(text) }]);
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  return read.input;
}

/** The Windows nodes whose pods have a stack. */
export function started({ cluster }: RunningCluster): readonly string[] {
  const up = cluster.pods.filter((pod) => pod.isAtRest !== true && pod.node.hns !== undefined);
  return [...new Set(up.map(({ node }) => node.spec.name))].toSorted();
}
