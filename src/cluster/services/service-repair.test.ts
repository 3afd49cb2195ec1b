/**
 * HNS loses and changes what kube-proxy made in a running cluster. A node in `hardened` mode puts it right within a
 * sync period, counted and told; a node of `upstream` does not (kube-proxy.md §3.14, §8 row H20).
 */
import { SYNC_PERIOD_MS } from "./service-proxies.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import {
  createEndpoint,
  createLoadBalancer,
  listEndpoints,
  listLoadBalancers,
} from "#contracts/hcn/operations.ts";
import { InProcessHcnClient } from "#hns/service/in-process-client.ts";
import {
  type SessionWorld,
  apply,
  ask,
  deployment,
  openSessionWorld,
  podOf,
  service,
} from "#test/support/cluster/session-world.ts";
import type { SessionEvent } from "../session/session.ts";
import { type ServiceFrontEnd, viewServices } from "../views/service-view.ts";

const BOTH = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: test }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, compat: hardened }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, compat: upstream }
`;
const WEB = `${deployment("web", "windows", 2)}${service(
  "web",
  "type: NodePort, selector: { app: web }, ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }]",
)}`;

let world: SessionWorld;
let events: SessionEvent[];

function hnsOf(name: string): InProcessHcnClient {
  const node = world.session.cluster.nodes.find(({ spec }) => spec.name === name);
  return new InProcessHcnClient(defined(node?.hns, "a Windows node"));
}

async function view(node: string): Promise<readonly ServiceFrontEnd[]> {
  const { session } = world;
  return viewServices(session.cluster, (name) => session.servicesOn(name), node);
}

/** `mullion get services --node`: what each front end of Service `web` is like, and what is stale. */
async function states(node: string): Promise<readonly string[]> {
  const all = await view(node);
  return all
    .filter(({ name, state }) => name === "web" || state === "stale")
    .map(({ frontEnd, state, vip, backEnds }) => `${frontEnd ?? vip} ${state} ${backEnds.length}`);
}

const HEALTHY = ["ClusterIP programmed 2", "NodePort programmed 2"];
const LOST = ["ClusterIP missing 0", "NodePort missing 0"];

async function identifierOf(node: string, kind: string): Promise<string> {
  const found = (await view(node)).find(({ name, frontEnd }) => name === "web" && frontEnd === kind);
  return defined(found?.loadBalancer, `a load balancer for the ${kind}`);
}

function repairsOf(node: string): readonly string[] {
  return world.session.repairs(node).map(({ family, kind, count }) => `${family} ${kind} ${count}`);
}

function reported(): readonly string[] {
  return events.flatMap((event) => (event.type === "node" ? `${event.node} ${event.code}` : []));
}

async function passPeriod(): Promise<void> {
  await world.session.passTime(SYNC_PERIOD_MS);
}

beforeEach(async () => {
  world = await openSessionWorld(BOTH, WEB);
  events = [];
  world.session.subscribe((event) => events.push(event));
});

describe("load balancers", () => {
  it.each([
    ["win-1", HEALTHY],
    ["win-2", LOST],
  ])("KP-H20 %s: HNS forgets all of them, and a sync period passes", async (node, after) => {
    expect(await states(node)).toEqual(HEALTHY);
    await hnsOf(node).faults.forgetLoadBalancers();
    expect(await states(node)).toEqual(LOST);
    expect((await view(node)).find(({ name }) => name === "web")?.findings[0]?.code).toBe(
      "hns-load-balancers-lost",
    );
    await world.session.passTime(SYNC_PERIOD_MS - 10_000);
    expect(await states(node)).toEqual(LOST);
    await passPeriod();
    expect(await states(node)).toEqual(after);
  });

  it("a client reaches the Service again", async () => {
    const client = podOf(world, "web", "win-1");
    await hnsOf("win-1").faults.forgetLoadBalancers();
    expect(ask(world, client, "service/web")).toBe("timed-out");
    await passPeriod();
    expect(ask(world, client, "service/web")).toContain("web saw");
  });

  it("each repair is counted, heard, and an Event of the Service", async () => {
    const { session } = world;
    await hnsOf("win-1").faults.forgetLoadBalancers([await identifierOf("win-1", "NodePort")]);
    await passPeriod();
    expect(repairsOf("win-1")).toEqual(["IPv4 load-balancer-lost 1"]);
    expect(repairsOf("win-2")).toEqual([]);
    expect(reported()).toEqual(["win-1 hns-load-balancers-lost"]);
    const [event, ...others] = session
      .listObjects("Event")
      .flatMap((each) => (each.kind === "Event" && each.reason === "RepairedHNS" ? each : []));
    expect(others).toEqual([]);
    expect(event?.involvedObject).toMatchObject({ kind: "Service", namespace: "default", name: "web" });
    expect(event?.message).toBe(
      "win-1: The node port 30080 of Service default/web is programmed again: HNS had lost it [hns-load-balancers-lost]",
    );
    await passPeriod();
    expect(repairsOf("win-1")).toEqual(["IPv4 load-balancer-lost 1"]);
  });

  it("two lost ones of a Service are two Events", async () => {
    const { session } = world;
    const lost = [await identifierOf("win-1", "ClusterIP"), await identifierOf("win-1", "NodePort")];
    await hnsOf("win-1").faults.forgetLoadBalancers(lost);
    await passPeriod();
    const messages = session
      .listObjects("Event")
      .flatMap((each) =>
        each.kind === "Event" && each.reason === "RepairedHNS" ? (each.message ?? "") : [],
      );
    expect(messages).toHaveLength(2);
    expect(repairsOf("win-1")).toEqual(["IPv4 load-balancer-lost 2"]);
  });

  it.each([
    ["win-1", 2],
    ["win-2", 1],
  ])("%s: one is changed behind its back", async (node, backEnds) => {
    const client = hnsOf(node);
    const id = await identifierOf(node, "ClusterIP");
    const before = defined(
      (await listLoadBalancers(client)).find((each) => each.ID?.toLowerCase() === id.toLowerCase()),
      "the load balancer",
    );
    await client.faults.forgetLoadBalancers([id]);
    // Whoever makes one with an identifier of their own can put anything there.
    await createLoadBalancer(client, {
      ...before,
      HostComputeEndpoints: (before.HostComputeEndpoints ?? []).slice(0, 1),
    });
    const kept = (await states(node)).filter((text) => text.startsWith("ClusterIP"));
    expect(kept).toEqual(["ClusterIP programmed 1"]);
    await passPeriod();
    expect((await states(node)).filter((text) => text.startsWith("ClusterIP"))).toEqual([
      `ClusterIP programmed ${backEnds}`,
    ]);
    expect(repairsOf(node)).toEqual(backEnds === 2 ? ["IPv4 load-balancer-changed 1"] : []);
  });

  it.each([
    ["win-1", HEALTHY],
    ["win-2", LOST],
  ])("%s: HNS restarts and loses them", async (node, after) => {
    await hnsOf(node).faults.restart("forget-load-balancers");
    await passPeriod();
    expect(await states(node)).toEqual(after);
  });

  it("win-1: HNS restarts, kube-proxy puts back what is lost, and HNS restores it late (kube-proxy.md §7, row 14)", async () => {
    const { faults } = hnsOf("win-1");
    await faults.setQuirk("load-balancers-restored-late", "on");
    await world.session.passTime(SYNC_PERIOD_MS - 8_000);
    await faults.restart();
    expect(await states("win-1")).toEqual(LOST);
    for (let period = 0; period < 3; period++) await passPeriod();
    expect(await states("win-1")).toEqual(HEALTHY);
  });
});

describe("remote endpoints", () => {
  /** Those of pods: the API server has one, too. */
  async function remotesOf(node: string): Promise<readonly { readonly ID?: string | undefined }[]> {
    return (await listEndpoints(hnsOf(node))).filter(
      ({ Flags = 0, IpConfigurations }) =>
        (Flags & 1) === 1 && IpConfigurations?.[0]?.IpAddress?.startsWith("10.244."),
    );
  }

  async function remoteId(node: string): Promise<string> {
    const [remote] = await remotesOf(node);
    return defined(remote?.ID, "an endpoint for a pod elsewhere");
  }

  it.each([
    ["win-1", 2],
    ["win-2", 1],
  ])("%s: one is deleted", async (node, backEnds) => {
    const client = hnsOf(node);
    await client.delete("Endpoint", await remoteId(node));
    await passPeriod();
    await passPeriod();
    expect(await remotesOf(node)).toHaveLength(backEnds - 1);
    expect(repairsOf(node)).toEqual(backEnds === 2 ? ["IPv4 endpoint-lost 1"] : []);
  });

  it.each([
    ["win-1", false],
    ["win-2", true],
  ])("%s: one that a former kube-proxy left", async (node, stays) => {
    const client = hnsOf(node);
    const [pod] = await listEndpoints(client);
    await createEndpoint(client, defined(pod?.HostComputeNetwork, "the pods' network"), {
      MacAddress: "02-11-0a-f4-09-09",
      IpConfigurations: [{ IpAddress: "10.244.9.9" }],
      Flags: 1,
    });
    await passPeriod();
    const addresses = (await listEndpoints(client)).map((each) => each.IpConfigurations?.[0]?.IpAddress);
    expect(addresses.includes("10.244.9.9")).toBe(stays);
    expect(repairsOf(node)).toEqual(stays ? [] : ["IPv4 endpoint-left 1"]);
  });
});

describe("time", () => {
  it("passes by exactly what was asked for, whatever was due", async () => {
    const { clock } = world.session.cluster;
    const before = clock.nowMs;
    expect(await world.session.passTime(100_000)).toEqual({ atMs: before + 100_000, notes: [] });
    expect(clock.nowMs).toBe(before + 100_000);
  });

  it("what HNS refused is tried again though no object changes, also by upstream", async () => {
    const client = hnsOf("win-2");
    const clusterIp = "10.96.44.44";
    const [pod] = await listEndpoints(client);
    const { ID: foreign } = await createLoadBalancer(client, {
      HostComputeEndpoints: [defined(pod?.ID, "an endpoint")],
      FrontendVIPs: [clusterIp],
      PortMappings: [{ Protocol: 6, InternalPort: 99, ExternalPort: 80 }],
    });
    const state = async (): Promise<string | undefined> =>
      (await view("win-2")).find(({ name }) => name === "other")?.state;
    const spec = "selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]";
    await apply(world, service("other", `clusterIP: ${clusterIp}, ${spec}`));
    expect(await state()).toBe("missing");
    await client.faults.forgetLoadBalancers([defined(foreign, "an identifier")]);
    await passPeriod();
    expect(await state()).toBe("programmed");
  });
});
