/**
 * What does one NetworkPolicy that changes cost an engine, among 100 and among 10 000, in a cluster of 1 000 pods? The node has
 * 100 of them; the policy that changes selects ten, all of them on the node.
 */
import type { NetworkPolicy, Pod } from "#contracts/kubernetes/objects.ts";
import type { PolicyInput } from "#programs/policy/policy-objects.ts";
import { PolicyNode, input, namespace, pod, policy } from "#test/support/policy/policy-node.ts";
import { type Measured, printTable } from "./measure.ts";

const PODS = 1_000;
const PODS_ON_NODE = 100;
const PODS_OF_APP = 10;
const CHANGES = 30;
const COUNTS = [100, 1_000, 10_000];

function addressOf(index: number): string {
  return `10.244.${2 + (index >> 7)}.${2 + (index & 127)}`;
}

/** A label for ten pods each. */
const PODS_OF_CLUSTER: readonly Pod[] = Array.from({ length: PODS }, (_, index) =>
  pod(`pod-${index}`, addressOf(index), { app: `app-${Math.floor(index / PODS_OF_APP)}` }),
);

/** One application lets another one in, at a port. */
function policyOf(index: number, port: number): NetworkPolicy {
  const apps = PODS / PODS_OF_APP;
  // Whom most select is not on the node: its pods have as many ACLs with few policies as with many.
  const own =
    index < PODS_ON_NODE / PODS_OF_APP
      ? index
      : PODS_ON_NODE / PODS_OF_APP + (index % (apps - PODS_ON_NODE / PODS_OF_APP));
  return policy(`p-${index}`, {
    podSelector: { matchLabels: { app: `app-${own}` } },
    policyTypes: ["Ingress"],
    ingress: [
      { from: [{ podSelector: { matchLabels: { app: `app-${(own + 7) % apps}` } } }], ports: [{ port }] },
    ],
  });
}

type EngineName = "felix" | "npm";

async function changing(name: EngineName, count: number): Promise<Measured> {
  const node = await PolicyNode.create(name === "npm" ? "azure" : "Calico");
  for (let index = 0; index < PODS_ON_NODE; index++) await node.addPod(addressOf(index));
  const policies = Array.from({ length: count }, (_, index) => policyOf(index, 8_080));
  const given = (first: NetworkPolicy): PolicyInput =>
    input([first, ...policies.slice(1)], PODS_OF_CLUSTER, [namespace("default")]);
  const { engine, update } = node[name](given(policyOf(0, 8_080)));
  await engine.sync();
  const samples: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    const next = given(policyOf(0, 9_000 + change));
    const started = process.cpuUsage();
    update(next);
    const { written } = await engine.sync();
    const { user, system } = process.cpuUsage(started);
    if (written.length !== PODS_OF_APP) throw new Error(`${written.length} endpoints were written`);
    samples.push((user + system) * 1_000);
  }
  const sorted = samples.toSorted((a, b) => a - b);
  return {
    name: `${count} policies`,
    ns: sorted[CHANGES >> 1] ?? Number.NaN,
    minNs: sorted[0] ?? Number.NaN,
  };
}

export async function run(): Promise<void> {
  for (const [engine, title] of [
    ["felix", "Calico"],
    ["npm", "Azure NPM"],
  ] as const) {
    const rows: Measured[] = [];
    for (const count of COUNTS) rows.push(await changing(engine, count));
    printTable(
      `${title}: one NetworkPolicy of ten pods changes, ${PODS} pods`,
      rows,
      `${COUNTS[0] ?? 0} policies`,
    );
  }
}
