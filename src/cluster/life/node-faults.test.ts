// Faults of HNS on nodes of a running cluster: what programs could not do shows, and is made up for when the fault is gone.
import { describe, expect, it } from "vitest";
import {
  type SessionWorld,
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  podsOf,
  remove,
  service,
} from "#test/support/cluster/session-world.ts";
import { summarizeCluster } from "../api/listings.ts";
import { readModel } from "../verify/model-of-cluster.ts";
import { inventoryLoadBalancers } from "../views/inventory.ts";
import { NODE_FAULT_NAMES, type NodeFaultName } from "./node-change.ts";

const WEB = service("web", "selector: {app: win}, ports: [{port: 80, targetPort: 8080}]");
const POLICY = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: p }
spec: { podSelector: {}, policyTypes: [Ingress] }
---`;

async function set(world: SessionWorld, fault: NodeFaultName, isOn: boolean): Promise<void> {
  await world.session.changeNode("win-1", { do: "set-fault", fault, isOn });
}

/** Pods of win-1 that run, and load balancers there for the address of Service web. */
async function seen(world: SessionWorld): Promise<readonly [running: number, balancers: number]> {
  const { session } = world;
  const pods = podsOf(world, "win").filter(({ spec }) => spec?.nodeName === "win-1");
  const balancers = await inventoryLoadBalancers(session.cluster, "win-1");
  const isWeb = ({ object }: (typeof balancers)[number]): boolean =>
    object.PortMappings?.some(({ ExternalPort }) => ExternalPort === 80) === true;
  return [pods.filter(({ status }) => status?.phase === "Running").length, balancers.filter(isWeb).length];
}

describe("set-fault", () => {
  it.each<[NodeFaultName, during: readonly [number, number]]>([
    ["hns-away", [0, 0]],
    ["ports-exhausted", [1, 0]],
    ["endpoints-refused", [0, 0]],
    ["load-balancers-refused", [1, 0]],
    ["notifications-lost", [1, 1]],
  ])("%s: %j pods and load balancers, and all when it is gone", async (fault, during) => {
    const world = await openSessionWorld(clusterText());
    await set(world, fault, true);
    await apply(world, deployment("win", "windows", 2) + WEB);
    expect(await seen(world)).toEqual(during);
    await set(world, fault, false);
    await world.session.passTime(60_000);
    expect(await seen(world)).toEqual([1, 1]);
  });

  it.each<[NodeFaultName]>([["next-endpoint-refused"], ["next-load-balancer-refused"]])(
    "%s strikes once, and programs make up for it while it is still on",
    async (fault) => {
      const world = await openSessionWorld(clusterText());
      await set(world, fault, true);
      await apply(world, deployment("win", "windows", 2) + WEB);
      await world.session.passTime(60_000);
      expect(await seen(world)).toEqual([1, 1]);
      const [node] = summarizeCluster(world.session).nodes;
      expect(node?.faults).toEqual([{ name: fault, struck: 1 }]);
    },
  );

  it("is listed while it is on, and no other node stands for its node from then on", async () => {
    const world = await openSessionWorld(clusterText());
    const classes = (): number =>
      new Set(readModel(world.session.cluster).nodes.map(({ nodeClass }) => nodeClass)).size;
    const before = classes();
    await set(world, "hns-away", true);
    await set(world, "hns-away", true);
    const faultsOf = (): unknown => summarizeCluster(world.session).nodes.map(({ faults }) => faults?.length);
    expect(faultsOf()).toEqual([1, undefined, undefined]);
    await set(world, "hns-away", false);
    expect([faultsOf(), classes()]).toEqual([[undefined, undefined, undefined], before + 1]);
  });

  it("an engine of NetworkPolicies that HNS does not answer is told of, and no longer when it is gone", async () => {
    const fields = "policy: calico\npolicyNetwork: cbr0\nnetwork: { name: cbr0 }";
    const world = await openSessionWorld(clusterText(fields), deployment("win", "windows", 2));
    const told = (): readonly string[] =>
      world.session
        .notes()
        .flatMap(({ code, message }) => (code === "policy-engine-refused" ? [message] : []));
    await set(world, "hns-away", true);
    await apply(world, POLICY);
    expect(told()).toEqual([
      expect.stringMatching(
        /^Calico cannot do its work, for HNS does not answer as it should: .+; rules that were written before stand \(win-1\)$/u,
      ),
    ]);
    await set(world, "hns-away", false);
    await world.session.passTime(60_000);
    expect(told()).toEqual([]);
  });

  it("HNS that is away since an engine started is no network of a wrong name", async () => {
    const fields = "policy: calico\npolicyNetwork: flannel.*\nnetwork: { plugin: flannel, backend: vxlan }";
    const world = await openSessionWorld(clusterText(fields), deployment("win", "windows", 2));
    const windows = world.session.cluster.nodes.filter(({ spec }) => spec.os === "windows");
    for (const { spec } of windows)
      await world.session.changeNode(spec.name, { do: "set-fault", fault: "hns-away", isOn: true });
    for (const { spec } of windows) await world.session.changeNode(spec.name, { do: "reboot" });
    await apply(world, POLICY);
    const codes = new Set(world.session.notes().map(({ code }) => code));
    expect([codes.has("policy-engine-refused"), codes.has("policy-engine-without-network")]).toEqual([
      true,
      false,
    ]);
  });

  it("is refused on Linux", async () => {
    const { session } = await openSessionWorld(clusterText());
    const change = { do: "set-fault", fault: "hns-away", isOn: true } as const;
    await expect(session.changeNode("linux-1", change)).rejects.toMatchObject({
      code: "node-action-impossible",
    });
  });

  it.each([
    ["flannel vxlan", "network: { plugin: flannel, backend: vxlan }"],
    ["azure-vnet", "network: { plugin: azure-vnet, shape: own-subnet, routes: fabric }"],
    ["ovn-hybrid-overlay", "network: { plugin: ovn-hybrid-overlay }"],
    ["Calico", "policy: calico\npolicyNetwork: cbr0\nnetwork: { name: cbr0 }"],
    ["Azure NPM", "policy: azure-npm\nnetwork: { plugin: azure-vnet, shape: own-subnet, routes: fabric }"],
  ])("all faults at once leave a cluster with %s that goes on afterwards", async (_, fields) => {
    const world = await openSessionWorld(clusterText(fields), deployment("win", "windows", 2) + WEB);
    for (const fault of NODE_FAULT_NAMES) await set(world, fault, true);
    await apply(world, deployment("win", "windows", 4) + POLICY);
    await world.session.passTime(10_000);
    await remove(world, "NetworkPolicy/p", "Service/web");
    for (const fault of NODE_FAULT_NAMES) await set(world, fault, false);
    await apply(world, WEB);
    await world.session.passTime(120_000);
    expect(await seen(world)).toEqual([2, 1]);
  });
});
