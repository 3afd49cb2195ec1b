import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { factsOfCall, needsPorts } from "./active-faults.ts";
import { readFault, readFaultPlan } from "./read-fault.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  deleteLoadBalancer,
  getEndpointById,
  getLoadBalancerById,
  getNetworkByName,
  listEndpointsOfNetwork,
  listLoadBalancers,
  listNetworks,
} from "#contracts/hcn/operations.ts";
import { requestHns } from "#contracts/hcn/v1-operations.ts";
import { type FaultyNode, faultyNode } from "#test/support/hns/faulty-node.ts";
import { CBR0 } from "#test/support/hns/hns-node.ts";

const LOAD_BALANCER = { operation: "create", kind: "LoadBalancer" } as const;

/** Which of `count` load balancers, at ports from 80 on, could not be made. */
async function failures(node: FaultyNode, count: number): Promise<readonly number[]> {
  const failed: number[] = [];
  for (let index = 1; index <= count; index++) await node.balance(80 + index).catch(() => failed.push(index));
  return failed;
}

describe("calls that fail", () => {
  it("the nth call of an operation fails with the error asked for, and names the fault", async () => {
    const node = await faultyNode();
    await node.inject({
      id: "third",
      effect: "fail",
      error: "HCN_E_PORT_ALREADY_EXISTS",
      calls: LOAD_BALANCER,
      nth: 3,
    });
    await node.balance(81);
    await node.balance(82);
    await expect(node.balance(83)).rejects.toMatchObject({
      code: "HCN_E_PORT_ALREADY_EXISTS",
      hresult: 0x803b0013,
      detail: "injected fault third: Create LoadBalancer fails",
      explanation: "hns-fault-injected",
    });
    await node.balance(83);
    expect(await listLoadBalancers(node.client)).toHaveLength(3);
    expect(await node.client.faults.list()).toMatchObject([{ id: "third", seen: 4, struck: 1, waiting: 0 }]);
  });

  it.each<[schedule: JsonObject, failed: readonly number[]]>([
    [{ nth: 2 }, [2]],
    [{ every: 2 }, [2, 4, 6]],
    [{ after: 3 }, [4, 5, 6]],
    [{ after: 1, every: 2 }, [3, 5]],
    [{ times: 2 }, [1, 2]],
    [{ every: 2, times: 1 }, [2]],
    [{ rate: 0 }, []],
    [{ rate: 1 }, [1, 2, 3, 4, 5, 6]],
  ])("%j strikes %j of six", async (schedule, failed) => {
    const node = await faultyNode();
    await node.inject({ effect: "fail", error: 0x8007_0057, calls: LOAD_BALANCER, ...schedule });
    expect(await failures(node, 6)).toEqual(failed);
  });

  it("a rate strikes by the seed: equal seeds, equal calls", async () => {
    const run = async (seed: string): Promise<readonly number[]> => {
      const node = await faultyNode();
      const faults = [{ id: "f", effect: "fail", error: "0x80070057", calls: LOAD_BALANCER, rate: 0.5 }];
      const plan = { apiVersion: "mullion/v1alpha1", kind: "HnsFaultPlan", seed, faults };
      await node.client.faults.apply(readFaultPlan(plan));
      return failures(node, 40);
    };
    const first = await run("a");
    expect(first.length).toBeGreaterThan(8);
    expect(first.length).toBeLessThan(32);
    expect(await run("a")).toEqual(first);
    expect(await run("b")).not.toEqual(first);
  });

  it("a call of v1 counts as what it does, and its failure stands in the envelope", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "fail", error: "HCN_E_ADAPTER_NOT_FOUND", calls: { kind: "Network" } });
    expect(await node.client.call("GET", "/networks/", "")).toEqual({
      Error: "An adapter was not found. ",
      ErrorCode: 2151350278,
      Success: false,
    });
  });

  it.each([
    [{ method: "GET", path: "/networks" }, true],
    [{ path: "/net*" }, true],
    [{ operation: "call" }, true],
    [{ method: "POST" }, false],
    [{ path: "/networks/*" }, false],
    [{ operation: "create" }, false],
  ])("%j concerns GET /networks/: %s", async (calls, isStruck) => {
    const node = await faultyNode();
    await node.inject({ effect: "fail", error: "E_ACCESSDENIED", calls });
    expect((await node.client.call("GET", "/networks/", ""))["Success"]).toBe(!isStruck);
  });

  it.each([
    ["carried out, its answer lost", true, 1],
    ["refused", false, 0],
  ])("%s", async (_name, carriedOut, count) => {
    const node = await faultyNode();
    await node.inject({ effect: "fail", error: "ERROR_NOT_FOUND", calls: LOAD_BALANCER, nth: 1, carriedOut });
    await expect(node.balance(80)).rejects.toMatchObject({ code: "ERROR_NOT_FOUND" });
    expect(await listLoadBalancers(node.client)).toHaveLength(count);
  });

  it("an error that HNS is not known to give keeps its number", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "fail", error: "0x800706bf" });
    await expect(listNetworks(node.client)).rejects.toMatchObject({ code: "unknown", hresult: 0x800706bf });
  });

  it("a fault that is taken away strikes no more", async () => {
    const node = await faultyNode();
    const id = await node.inject({ effect: "fail", error: "E_ACCESSDENIED" });
    expect(id).toBe("fault-1");
    await node.client.faults.remove(id);
    expect(await listNetworks(node.client)).toHaveLength(1);
    await expect(node.client.faults.remove(id)).rejects.toMatchObject({
      detail: 'There is no fault "fault-1"; none is in force',
    });
  });

  it("of a plan with a fault that cannot begin nothing is in force", async () => {
    const node = await faultyNode();
    const plan = readFaultPlan({
      apiVersion: "mullion/v1alpha1",
      kind: "HnsFaultPlan",
      faults: [
        { effect: "hang" },
        { effect: "degrade", kind: "LoadBalancer", object: "00000000-0000-0000-0000-000000000001" },
      ],
    });
    await expect(node.client.faults.apply(plan)).rejects.toThrow("There is no load balancer");
    expect(await node.client.faults.list()).toEqual([]);
  });
});

describe("calls that are late", () => {
  it("HCN-101: a slow service does not lose the object: whoever gives up finds it", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "delay", delayMs: 60_000, calls: { operation: "create", kind: "Endpoint" } });
    let isAnswered = false;
    const made = node.client
      .create("Endpoint", { Name: "slow", SchemaVersion: { Major: 2, Minor: 0 } }, { network: node.network })
      .then((id) => {
        isAnswered = true;
        return id;
      });
    node.clock.runUntil(59_999);
    const found = (await listEndpointsOfNetwork(node.client, node.network)).find(
      ({ Name }) => Name === "slow",
    );
    expect(isAnswered).toBe(false);
    node.clock.runUntil(60_000);
    expect(await made).toBe(found?.ID);
  });

  it("a call that waits does not stand in the way of a fork", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "delay", delayMs: 10 });
    const answer = listNetworks(node.client);
    const copy = fork(node.service);
    expect(copy.enumerate("Network")).toEqual([node.network]);
    for (let ms = 10; ms <= 40; ms += 10) {
      node.clock.runUntil(ms);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await answer).toHaveLength(1);
  });

  it("calls are made later than promised while faults are in force, so there is no revision", async () => {
    const node = await faultyNode();
    expect(node.client.revision).toBeGreaterThan(0);
    const id = await node.inject({ effect: "hang", nth: 1_000 });
    expect(node.client.revision).toBeUndefined();
    await node.client.faults.remove(id);
    expect(node.client.revision).toBeGreaterThan(0);
  });
});

describe("calls that hang", () => {
  it.each([
    ["before it is carried out", false, 0],
    ["after it was carried out", true, 1],
  ])("a call hangs %s, until it is released", async (_name, carriedOut, countWhileHanging) => {
    const node = await faultyNode();
    const id = await node.inject({ effect: "hang", calls: LOAD_BALANCER, carriedOut });
    const made = node.balance(80);
    node.clock.runUntil(86_400_000);
    expect(await listLoadBalancers(node.client)).toHaveLength(countWhileHanging);
    expect(await node.client.faults.list()).toMatchObject([{ id, struck: 1, waiting: 1 }]);
    expect(await node.client.faults.release(id)).toBe(1);
    await made;
    expect(await listLoadBalancers(node.client)).toHaveLength(1);
    expect(await node.client.faults.list()).toMatchObject([{ id, waiting: 0 }]);
  });

  it("a restart of the service ends it", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "hang", calls: LOAD_BALANCER });
    const made = node.balance(80);
    await Promise.all([
      expect(made).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" }),
      node.client.faults.restart("keep"),
    ]);
  });

  it("so does the end of the client", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "hang" });
    const listed = listNetworks(node.client);
    await Promise.all([
      expect(listed).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" }),
      node.client.close(),
    ]);
  });
});

describe("a service that is away (hcn.md §4.6)", () => {
  it.each([
    [undefined, 0x800706ba],
    ["EPT_S_NOT_REGISTERED", 0x800706d9],
  ])("stopped with %s: every call fails with 0x%x, v1 too, until it is back", async (error, hresult) => {
    const node = await faultyNode();
    const heard: HcnNotification[] = [];
    node.client.subscribe((notification) => heard.push(notification));
    const id = await node.inject({ effect: "stop", ...(error !== undefined && { error }) });
    expect(heard.map(({ type }) => type)).toEqual([NOTIFICATION_TYPES.ServiceDisconnect]);
    await expect(listNetworks(node.client)).rejects.toMatchObject({ hresult });
    await expect(node.client.call("GET", "/networks/", "")).rejects.toMatchObject({ hresult });
    await node.client.faults.remove(id);
    expect(await listNetworks(node.client)).toHaveLength(1);
  });

  it("the service dies of a call, is away for two minutes, and has forgotten its load balancers (kubernetes#110849)", async () => {
    const node = await faultyNode();
    await node.balance(81);
    await node.balance(82);
    await node.inject({ effect: "crash", state: "forget-load-balancers", calls: LOAD_BALANCER, nth: 1 });
    await expect(node.balance(83)).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" });
    node.clock.runUntil(119_999);
    await expect(listNetworks(node.client)).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" });
    node.clock.runUntil(120_000);
    expect(await listLoadBalancers(node.client)).toEqual([]);
    expect(await listEndpointsOfNetwork(node.client, node.network)).toHaveLength(2);
    await node.balance(81);
  });

  it.each([
    ["keep", 1, 1],
    ["forget-load-balancers", 1, 0],
    ["lose", 0, 0],
  ] as const)("restart with state %s: %d networks, %d load balancers", async (state, networks, balancers) => {
    const node = await faultyNode();
    await node.balance(80);
    const heard: HcnNotification[] = [];
    node.client.subscribe((notification) => heard.push(notification));
    await node.client.faults.restart(state);
    expect(await listNetworks(node.client)).toHaveLength(networks);
    expect(await listLoadBalancers(node.client)).toHaveLength(balancers);
    expect(heard.map(({ type }) => type)).toEqual([NOTIFICATION_TYPES.ServiceDisconnect]);
  });
});

describe("objects that are not as they should be", () => {
  it("load balancers are forgotten: all, or those named, and their rules with them", async () => {
    const node = await faultyNode();
    const [first, second] = [await node.balance(81), await node.balance(82)];
    expect(await node.client.faults.forgetLoadBalancers([first])).toEqual([first]);
    expect((await listLoadBalancers(node.client)).map(({ ID }) => ID)).toEqual([second]);
    expect(await node.client.faults.forgetLoadBalancers()).toEqual([second]);
    expect(await listLoadBalancers(node.client)).toEqual([]);
    await expect(node.client.faults.forgetLoadBalancers([first])).rejects.toThrow("no load balancer");
  });

  it("an endpoint is listed and not found: whoever lists all fails as a whole (hcn.md §1.5)", async () => {
    const node = await faultyNode();
    const id = await node.inject({ effect: "stale-endpoint", network: node.network });
    const listed = await node.client.enumerate("Endpoint");
    expect(listed).toHaveLength(3);
    const ghost = listed[2]!;
    await expect(node.client.query("Endpoint", ghost)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
    await expect(node.client.delete("Endpoint", ghost)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
    await expect(listEndpointsOfNetwork(node.client, node.network)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
    expect(await getEndpointById(node.client, node.endpoints[0]!)).toMatchObject({ Name: "pod-10" });
    await node.client.faults.remove(id);
    expect(await listEndpointsOfNetwork(node.client, node.network)).toHaveLength(2);
  });

  it("a remote endpoint has the address of a pod (kubernetes#130963)", async () => {
    const node = await faultyNode();
    const id = await node.inject({ effect: "stale-endpoint", network: node.network, address: "10.244.2.10" });
    const same = (await listEndpointsOfNetwork(node.client, node.network)).filter(
      ({ IpConfigurations }) => IpConfigurations?.[0]?.IpAddress === "10.244.2.10",
    );
    expect(same.map(({ Flags }) => Flags ?? 0)).toEqual([0, 1]);
    await node.client.faults.remove(id);
    expect(await listEndpointsOfNetwork(node.client, node.network)).toHaveLength(2);
  });

  it("a load balancer is degraded: State 4, not applied in v1, not deleted (hcn.md §2.10)", async () => {
    const node = await faultyNode();
    const object = await node.balance(80);
    const id = await node.inject({ effect: "degrade", kind: "LoadBalancer", object });
    expect(await getLoadBalancerById(node.client, object)).toMatchObject({
      State: 4,
      Health: { Data: { NotEnforced: [{ Type: "State" }] } },
    });
    expect(await requestHns(node.client, "GET", `/policylists/${object}`)).toMatchObject({
      IsApplied: false,
    });
    await expect(deleteLoadBalancer(node.client, object)).rejects.toMatchObject({
      code: "HCN_E_DEGRADED_OPERATION",
    });
    await node.client.faults.remove(id);
    expect(await getLoadBalancerById(node.client, object)).toMatchObject({ State: 2 });
    await deleteLoadBalancer(node.client, object);
  });

  it("an endpoint is degraded: State 5, and joins no namespace (hcn.md §2.10, §4.5)", async () => {
    const node = await faultyNode();
    const [object = ""] = node.endpoints;
    const namespace = (await createNamespace(node.client)).ID ?? "";
    const id = await node.inject({ effect: "degrade", kind: "Endpoint", object });
    expect(await getEndpointById(node.client, object)).toMatchObject({ State: 5 });
    await expect(addNamespaceEndpoint(node.client, namespace, object)).rejects.toMatchObject({
      code: "HCN_E_DEGRADED_OPERATION",
      detail: `injected fault ${id}: Endpoint ${object} is degraded`,
    });
    await node.client.faults.remove(id);
    expect(await getEndpointById(node.client, object)).toMatchObject({ State: 1 });
    await addNamespaceEndpoint(node.client, namespace, object);
  });

  it("no block of ports is left for load balancers without DSR (hcn.md §4.8)", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "exhaust-ports" });
    await expect(node.balance(80)).rejects.toMatchObject({ code: "HCN_E_PORT_ALREADY_EXISTS" });
    await node.balance(80, { Flags: 1 });
    const body = {
      References: [`/endpoints/${node.endpoints[0]}`],
      Policies: [{ Type: "ELB", IsDSR: false }],
    };
    await expect(requestHns(node.client, "POST", "/policylists/", body)).rejects.toMatchObject({
      code: "HCN_E_PORT_ALREADY_EXISTS",
    });
  });

  const ELB = { Type: "ELB", IsDSR: true };
  it.each([
    ["create", "LoadBalancer", {}, true],
    ["create", "LoadBalancer", { Flags: 0 }, true],
    ["create", "LoadBalancer", { Flags: 1 }, false],
    ["create", "LoadBalancer", { Flags: 2 }, true],
    ["create", "LoadBalancer", { Flags: 3 }, false],
    ["create", "LoadBalancer", { Flags: "1" }, true],
    ["modify", "LoadBalancer", {}, true],
    ["delete", "LoadBalancer", {}, false],
    ["create", "Endpoint", {}, false],
    ["create", "LoadBalancer", undefined, true],
    ["create", "LoadBalancer", { Policies: [ELB] }, false],
    ["create", "LoadBalancer", { Policies: [{ Type: "Other" }, ELB] }, false],
    ["create", "LoadBalancer", { Policies: [ELB, "text"] }, false],
    ["create", "LoadBalancer", { Policies: [{ ...ELB, IsDSR: "true" }] }, true],
    ["create", "LoadBalancer", { Policies: [] }, true],
    ["create", "LoadBalancer", { Policies: ELB }, true],
  ] as const)(
    "hcn.md §8.5: %s of a %s %j needs ports of the node: %s",
    (operation, kind, document, expected) => {
      expect(needsPorts(factsOfCall(operation, kind, undefined, document))).toBe(expected);
    },
  );

  it("notifications are lost: all of a type, or every other", async () => {
    const node = await faultyNode();
    const heard: number[] = [];
    node.client.subscribe(({ type }) => heard.push(type));
    const types = [NOTIFICATION_TYPES.NamespaceCreate];
    const id = await node.inject({ effect: "lose-notifications", types, every: 2 });
    for (let made = 0; made < 4; made++) await createNamespace(node.client);
    expect(heard).toEqual([NOTIFICATION_TYPES.NamespaceCreate, NOTIFICATION_TYPES.NamespaceCreate]);
    expect(await node.client.faults.list()).toMatchObject([{ id, seen: 4, struck: 2 }]);
  });
});

describe("everything else goes on", () => {
  it("a fault of one call leaves others alone", async () => {
    const node = await faultyNode();
    await node.inject({ effect: "hang", calls: { kind: "LoadBalancer" } });
    expect(await getNetworkByName(node.client, "cbr0")).toMatchObject({ Name: CBR0.Name });
    expect(await createEndpoint(node.client, node.network, { Name: "pod-12" })).toMatchObject({
      Name: "pod-12",
    });
  });

  it("a name is taken once", async () => {
    const node = await faultyNode();
    await node.inject({ id: "slow", effect: "delay", delayMs: 1, nth: 9 });
    await expect(node.client.faults.add(readFault({ id: "slow", effect: "hang" }))).rejects.toThrow(
      "there is a fault slow already",
    );
  });
});
