/** Random changes of a running cluster: whatever comes and goes, what is left is what a fresh cluster has. */
import fc from "fast-check";
import { expect } from "vitest";
import {
  type SessionWorld,
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  podsOf,
  remove,
  service,
  stateOf,
} from "./session-world.ts";
import { inventoryEndpoints } from "#cluster/views/inventory.ts";

const APPS = ["a", "b"] as const;
const SERVICE_KINDS: Readonly<Record<string, string>> = {
  plain: "",
  open: "type: NodePort,",
  outer: "type: LoadBalancer,",
  local: "type: LoadBalancer, externalTrafficPolicy: Local,",
  sticky: "sessionAffinity: ClientIP,",
  headless: "clusterIP: None,",
};

type Change =
  | {
      readonly do: "deploy";
      readonly app: string;
      readonly os: "windows" | "linux";
      readonly replicas: number;
    }
  | { readonly do: "serve"; readonly app: string; readonly kind: string }
  | { readonly do: "agents" }
  | { readonly do: "slice" }
  | { readonly do: "kill"; readonly app: string; readonly which: number }
  | { readonly do: "delete"; readonly what: string };

const APP = fc.constantFrom(...APPS);
const KIND = fc.constantFrom(...Object.keys(SERVICE_KINDS));

const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    do: fc.constant("deploy" as const),
    app: APP,
    os: fc.constantFrom("windows" as const, "linux" as const),
    replicas: fc.nat(4),
  }),
  fc.record({ do: fc.constant("serve" as const), app: APP, kind: KIND }),
  fc.record({ do: fc.constantFrom("agents" as const, "slice" as const) }),
  fc.record({ do: fc.constant("kill" as const), app: APP, which: fc.nat(3) }),
  fc.record({
    do: fc.constant("delete" as const),
    what: fc.oneof(
      APP.map((app) => `deployment/${app}`),
      KIND.map((kind) => `service/${kind}`),
      fc.constantFrom("daemonset/agent", "endpointslice/plain-own"),
    ),
  }),
);

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
      hostNetwork: true
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } }
      containers: [{ name: c, image: agent, ports: [{ containerPort: 9100 }] }]
`;

/** A back end outside for the Service `plain`. */
const SLICE = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: plain-own, labels: { kubernetes.io/service-name: plain } }
addressType: IPv4
ports: [{ port: 443, protocol: TCP }]
endpoints: [{ addresses: [203.0.113.10] }]
`;

async function change(world: SessionWorld, each: Change): Promise<void> {
  switch (each.do) {
    case "deploy":
      await apply(world, deployment(each.app, each.os, each.replicas));
      return;
    case "serve": {
      const type = SERVICE_KINDS[each.kind] ?? "";
      const ports = "ports: [{ port: 80, targetPort: 8080 }]";
      await apply(world, service(each.kind, `${type} selector: { app: ${each.app} }, ${ports}`));
      return;
    }
    case "agents":
      await apply(world, AGENTS);
      return;
    case "slice":
      await apply(world, SLICE);
      return;
    case "kill": {
      const pods = podsOf(world, `${each.app}-`);
      const pod = pods[each.which % Math.max(1, pods.length)];
      if (pod !== undefined) await remove(world, `pod/${pod.metadata.name}`);
      return;
    }
    case "delete":
      await remove(world, each.what);
  }
}

/** What holds at any time: every pod that runs has an address of its own, and HNS has an endpoint for it. */
async function expectConsistent(world: SessionWorld): Promise<void> {
  const { cluster } = world.session;
  const own = cluster.pods.filter(({ spec }) => spec.network === "pod");
  expect(new Set(own.map(({ address }) => address)).size).toBe(own.length);
  const onWindows = own.filter(({ namespaceId }) => namespaceId !== undefined);
  const endpoints = (await inventoryEndpoints(cluster)).filter(({ object }) =>
    object.Name?.endsWith("_cbr0"),
  );
  expect(endpoints.map(({ object }) => object.Name ?? "").toSorted()).toEqual(
    onWindows.map(({ spec }) => `${spec.namespace}_${spec.name}_cbr0`).toSorted(),
  );
  const leases = Object.values(await world.leases()).flat();
  expect(leases).toHaveLength(onWindows.length);
  expect(cluster.objects.Pod.filter(({ status }) => status?.phase === "Running")).toHaveLength(
    cluster.pods.length,
  );
}

/** Runs `count` random courses and takes everything away at the end of each. */
export async function surviveChanges(seed: number, count: number, length: number): Promise<void> {
  const fresh = await stateOf(await openSessionWorld(clusterText()));
  await fc.assert(
    fc.asyncProperty(
      fc.array(CHANGE, { minLength: 1, maxLength: length }),
      fc.boolean(),
      async (changes, enableDSR) => {
        const world = await openSessionWorld(clusterText(`kubeProxy: { enableDSR: ${enableDSR} }`));
        for (const each of changes) {
          await change(world, each);
          await expectConsistent(world);
        }
        await remove(
          world,
          ...APPS.map((app) => `deployment/${app}`),
          ...Object.keys(SERVICE_KINDS).map((kind) => `service/${kind}`),
          "daemonset/agent",
          "endpointslice/plain-own",
        );
        expect(await stateOf(world)).toEqual(fresh);
      },
    ),
    { seed, numRuns: count, interruptAfterTimeLimit: 500_000 },
  );
}
