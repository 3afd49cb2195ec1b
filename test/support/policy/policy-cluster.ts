/** Clusters with an engine of NetworkPolicies, asked as users ask them. */
import { expect } from "vitest";
import { inProcessClient } from "#cluster/api/app.ts";
import type { ControlClient } from "#cluster/api/client.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import { openSession } from "#cli/mullion/cluster/open-session.ts";

export interface Engine {
  readonly name: string;
  readonly network: string;
  readonly fields: string;
}

export const CALICO: Engine = {
  name: "calico",
  network: "{ name: cbr0 }",
  fields: "policy: calico\npolicyNetwork: cbr0",
};
export const NPM: Engine = {
  name: "azure-npm",
  network: "{ plugin: azure-vnet, shape: own-subnet, routes: fabric }",
  fields: "policy: azure-npm",
};

/** A web pod on one Windows node, and a client and a pod of another namespace on the other. `foreign`: that pod's name and label. */
export function policyCluster({ network, fields }: Engine, foreign: { name: string; app: string }): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: policies }
dns: { enabled: false }
${fields}
network: ${network}
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
pods:
  - { name: web, node: win-1, labels: { app: web } }
  - { name: client, node: win-2, labels: { app: client } }
  - { name: ${foreign.name}, namespace: foreign, node: win-2, labels: { app: ${foreign.app} } }
`;
}

export function policy(spec: string, name = "p"): string {
  return `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: ${name}, namespace: default }
spec: ${spec}
`;
}

export interface OpenedCluster {
  readonly client: ControlClient;
  /** The HNS of a node, for programs that are none of the cluster's own. */
  readonly hnsOf: (node: string) => HcnClient;
}

export async function openedCluster(...texts: readonly string[]): Promise<OpenedCluster> {
  const inputs = texts.map((text, index) => ({ name: `${index}.yaml`, text }));
  const { session, readManifests, verify, input } = await openSession(inputs);
  const identity = { name: "", version: "", pid: 1 };
  const client = inProcessClient({ session, readManifests, verify, identity, input, log: SILENT_LOG });
  const hnsOf = (name: string): HcnClient =>
    hcnClientOf(session.cluster.nodes.find(({ spec }) => spec.name === name)!);
  return { client, hnsOf };
}

export async function opened(...texts: readonly string[]): Promise<ControlClient> {
  return (await openedCluster(...texts)).client;
}

export type Outcome = "passes" | "blocked";

export async function outcomeOf(
  client: ControlClient,
  from: string,
  to: string,
  port: number,
): Promise<Outcome> {
  const { report } = await client.trace({ from, to, protocol: "tcp", port });
  if (report.code === "acl-rule-blocked") return "blocked";
  expect(["answered", "refused"]).toContain(report.verdict);
  return "passes";
}
