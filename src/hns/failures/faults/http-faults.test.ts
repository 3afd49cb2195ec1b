import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { HttpHnsFaults } from "./http-faults.ts";
import type { HnsFault } from "./fault.ts";
import { readFaultPlan } from "./read-fault.ts";
import { listEndpoints, listLoadBalancers, listNetworks } from "#contracts/hcn/operations.ts";
import { type FaultyNode, faultyNode } from "#test/support/hns/faulty-node.ts";
import { HnsHttpServer } from "../../http/http-server.node.ts";

let folder = "";
let node: FaultyNode;
let server: HnsHttpServer;
let client: HttpHcnClient;
let faults: HttpHnsFaults;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-faults-"));
  node = await faultyNode();
  const socketPath = join(folder, "s");
  server = await HnsHttpServer.listen({ client: node.client, address: { socketPath } });
  client = new HttpHcnClient({ address: { socketPath } });
  faults = new HttpHnsFaults(client);
});
afterEach(async () => {
  await node.client.close();
  await client.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("faults over HTTP", () => {
  it("are added, listed, seen by callers and taken away", async () => {
    const fault: HnsFault = { id: "no", effect: "fail", error: "HCN_E_ADAPTER_NOT_FOUND", nth: 1 };
    expect(await faults.add(fault)).toBe("no");
    await expect(listNetworks(client)).rejects.toMatchObject({
      code: "HCN_E_ADAPTER_NOT_FOUND",
      detail: "injected fault no: Enumerate Network fails",
      explanation: "hns-fault-injected",
    });
    expect(await faults.list()).toEqual([{ id: "no", fault, seen: 1, struck: 1, waiting: 0 }]);
    await faults.remove("no");
    expect(await faults.list()).toEqual([]);
    await expect(faults.remove("no")).rejects.toMatchObject({ code: "ERROR_NOT_FOUND" });
  });

  it("a plan is taken as a whole, and cleared", async () => {
    const plan = readFaultPlan({
      apiVersion: "mullion/v1alpha1",
      kind: "HnsFaultPlan",
      seed: "s",
      faults: [{ effect: "exhaust-ports" }, { id: "slow", effect: "delay", delayMs: 1, nth: 9 }],
      quirks: { "reattach-refused": "on" },
    });
    expect(await faults.apply(plan)).toEqual(["fault-1", "slow"]);
    expect((await faults.quirks()).find(({ name }) => name === "reattach-refused")).toEqual({
      name: "reattach-refused",
      setting: "on",
      concernsBuild: false,
    });
    await faults.setQuirk("reattach-refused", { rate: 0.5, seed: "7" });
    expect((await faults.quirks()).find(({ name }) => name === "reattach-refused")?.setting).toEqual({
      rate: 0.5,
      seed: "7",
    });
    await faults.clear();
    expect(await faults.list()).toEqual([]);
  });

  it("a call that hangs is released by another one", async () => {
    await faults.add({ effect: "hang", calls: { kind: "LoadBalancer" } });
    const listed = listLoadBalancers(client);
    await expect.poll(async () => (await faults.list())[0]?.waiting).toBe(1);
    expect(await faults.release()).toBe(1);
    await faults.clear();
    expect(await listed).toEqual([]);
  });

  it("load balancers are forgotten, the service restarts, the node reboots", async () => {
    const id = await node.balance(80);
    expect(await faults.forgetLoadBalancers([id])).toEqual([id]);
    await node.balance(80);
    await faults.restart("forget-load-balancers");
    expect(await listLoadBalancers(client)).toEqual([]);
    await faults.reboot();
    expect(await listEndpoints(client)).toHaveLength(2);
    await faults.restart("lose");
    expect(await listNetworks(client)).toEqual([]);
  });

  it.each<[string, string, unknown]>([
    ["a fault of no effect", "/hcn/faults", { effect: "explode" }],
    ["a fault with an unknown field", "/hcn/faults", { effect: "hang", calls: { kinds: [] } }],
    ["a list", "/hcn/faults", []],
    ["a state of no restart", "/hcn/faults/restart", { state: "gone" }],
    ["ids that are no list", "/hcn/faults/forget-load-balancers", { ids: "all" }],
    ["a defect that is none", "/hcn/faults/quirks", { name: "bad-luck", setting: "on" }],
    ["a release of no fault", "/hcn/faults/release", { id: 5 }],
  ])("%s is refused, and changes nothing", async (_what, path, body) => {
    await expect(client.request("POST", path, body as object)).rejects.toMatchObject({
      code: "ERROR_INVALID_PARAMETER",
      explanation: "hns-fault-invalid",
    });
    expect(await faults.list()).toEqual([]);
  });
});

async function get(path: string): Promise<{ status: number; text: string }> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    request({ socketPath: join(folder, "s"), path }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on("error", reject)
      .end();
  });
}

describe("health and metrics", () => {
  it("show faults, do not trip over them, and do not count as calls", async () => {
    await faults.add({ id: "all", effect: "hang" });
    const health = await get("/healthz");
    expect(health.status).toBe(200);
    expect(JSON.parse(health.text)).toMatchObject({
      status: "ok",
      objects: { Network: 1, Endpoint: 2 },
      faults: [{ id: "all", seen: 0 }],
    });
    const { text } = await get("/metrics");
    expect(text).toContain('mullion_hns_fault_struck_total{fault="all",effect="hang"} 0');
    expect(text).toContain('mullion_hns_fault_waiting{fault="all",effect="hang"} 0');
  });

  it("a stopped service is failing", async () => {
    await faults.add({ effect: "stop" });
    const { status, text } = await get("/healthz");
    expect({ status, body: JSON.parse(text) as unknown }).toMatchObject({
      status: 503,
      body: { status: "failing", faults: [{ fault: { effect: "stop" } }] },
    });
    await faults.clear();
    expect((await get("/healthz")).status).toBe(200);
  });
});
