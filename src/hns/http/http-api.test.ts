// The HTTP API beside the calls of the contract: its description, health and metrics.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { describeHcnClient } from "#test/support/hns/client.suite.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { httpStatusOf } from "#contracts/hcn/http/http-protocol.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { hnsOpenApi } from "./openapi.ts";
import { createNetwork } from "#contracts/hcn/operations.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { type OpenApiProxy, startOpenApiProxy } from "#test/support/hns/openapi-proxy.ts";
import { SimulatedDisk } from "#test/support/hns/simulated-disk.ts";
import { InProcessHcnClient } from "../service/in-process-client.ts";
import { loadService } from "../durable-hns.node.ts";
import { openStateFolder } from "../store/state-folder.node.ts";
import { HnsHttpServer, type HnsHttpServerOptions } from "./http-server.node.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "mullion-api-"));
  closers.push(async () => Promise.resolve(rmSync(path, { recursive: true, force: true })));
  return path;
}

interface TestRequest extends RequestInit {
  readonly headers?: Readonly<Record<string, string>>;
}

async function serveTcp(
  client: HcnClient,
  options: Partial<HnsHttpServerOptions> = {},
): Promise<(path: string, init?: TestRequest) => Promise<Response>> {
  const address = { host: "127.0.0.1", port: 0, token: TOKEN } as const;
  const server = await HnsHttpServer.listen({ client, address, ...options });
  closers.push(async () => server.close());
  return async (path, init = {}) =>
    fetch(`http://127.0.0.1:${server.port!}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, ...init.headers },
    });
}

/** A client of the contract suite that also tells what the description did not say. */
class CheckedClient extends HttpHcnClient {
  private readonly proxy: OpenApiProxy;
  private readonly server: HnsHttpServer;

  constructor(socketPath: string, proxy: OpenApiProxy, server: HnsHttpServer) {
    super({ address: { socketPath } });
    this.proxy = proxy;
    this.server = server;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.proxy.close();
    await this.server.close();
    if (this.proxy.problems.length > 0) throw new Error(this.proxy.problems.join("\n"));
  }
}

describeHcnClient("the client whose messages are held against the description", async () => {
  const path = folder();
  const target = join(path, "hns.sock");
  const server = await HnsHttpServer.listen({ client: hnsNode().client, address: { socketPath: target } });
  const proxied = join(path, "proxy.sock");
  return new CheckedClient(proxied, await startOpenApiProxy(proxied, target), server);
});

describe("the description", () => {
  it("knows an answer that it does not describe", async () => {
    const path = folder();
    const target = join(path, "hns.sock");
    const { client } = hnsNode();
    const odd = Object.create(client, {
      create: { value: async () => Promise.resolve("no guid") },
    }) as HcnClient;
    const server = await HnsHttpServer.listen({ client: odd, address: { socketPath: target } });
    const proxied = join(path, "proxy.sock");
    const checked = new CheckedClient(proxied, await startOpenApiProxy(proxied, target), server);
    await checked.create("Network", { ...CBR0 });
    await expect(checked.close()).rejects.toThrow(
      "the answer of /hcn/create: data/result must match pattern",
    );
  });
});

describe("GET /openapi.json", () => {
  it("is the published description", async () => {
    const get = await serveTcp(hnsNode().client);
    expect(await (await get("/openapi.json")).json()).toEqual(hnsOpenApi());
  });

  it("has each of its paths on the page for people", () => {
    const page = readFileSync("docs/reference/hns-api.md", "utf8");
    const paths = Object.keys((hnsOpenApi() as { paths: object }).paths);
    const missing = paths.filter((path) => !page.includes(path.replace(/^(\/hcn\/faults)\/.*$/, "$1")));
    expect(missing).toEqual([]);
  });

  it("names each path once, and no schema that is not there", () => {
    const text = JSON.stringify(hnsOpenApi());
    const schemas = hnsOpenApi() as { components: Record<string, Record<string, unknown>> } & object;
    for (const [, group = "", name = ""] of text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g))
      expect(Object.keys(schemas.components[group] ?? {})).toContain(name);
  });
});

describe("versions", () => {
  it("each answer says the service's, and a client of another one is refused as Windows' RPC does it", async () => {
    const get = await serveTcp(hnsNode().client);
    const good = await get("/healthz", { headers: { "mullion-hns-version": "1" } });
    expect([good.status, good.headers.get("mullion-hns-version")]).toEqual([200, "1"]);
    expect((await get("/nothing")).headers.get("mullion-hns-version")).toBe("1");
    for (const path of ["/healthz", "/hcn/notifications"]) {
      const old = await get(path, { headers: { "mullion-hns-version": "0" } });
      expect([old.status, old.headers.get("mullion-hns-version")]).toEqual([400, "1"]);
      expect(await old.json()).toMatchObject({
        error: { ErrorCode: 0x800706b5, Error: "The interface is unknown. " },
      });
    }
  });
});

describe("GET /healthz", () => {
  it("tells version, profile, store, and how many objects there are", async () => {
    const { client } = hnsNode({ profile: "ws2025" });
    const get = await serveTcp(client, { facts: () => ({ profile: "ws2025", store: "/var/lib/hns" }) });
    await createNetwork(client, CBR0);
    const response = await get("/healthz");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: "ok",
      version: { Major: 15, Minor: 4 },
      profile: "ws2025",
      objects: {
        Network: 1,
        Endpoint: 0,
        Namespace: 1,
        LoadBalancer: 0,
        SdnRoute: 0,
        GuestNetworkService: 0,
      },
      store: "/var/lib/hns",
    });
  });

  it("is 503 when the service does not answer", async () => {
    const gone = new HttpHcnClient({ address: { socketPath: join(folder(), "nobody.sock") } });
    const get = await serveTcp(gone);
    const response = await get("/healthz");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ status: "failing" });
  });

  it("is for those who know the token", async () => {
    const address = { host: "127.0.0.1", port: 0, token: TOKEN } as const;
    const server = await HnsHttpServer.listen({ client: hnsNode().client, address });
    closers.push(async () => server.close());
    for (const path of ["/healthz", "/metrics", "/openapi.json", "/hcn/notifications"])
      expect((await fetch(`http://127.0.0.1:${server.port!}${path}`)).status).toBe(401);
  });
});

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads Prometheus' text format 0.0.4 strictly: HELP and TYPE before the samples of a family, all of it in one place. */
function parseMetrics(text: string): { samples: readonly Sample[]; types: ReadonlyMap<string, string> } {
  expect(text.endsWith("\n")).toBe(true);
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  let family = "";
  for (const line of text.slice(0, -1).split("\n")) {
    const head = /^# (HELP|TYPE) ([a-z_:][a-z0-9_:]*) (.+)$/.exec(line);
    if (head !== null) {
      const [, keyword, name = "", rest = ""] = head;
      if (keyword === "HELP") expect(types.has(name), `${name} has one family`).toBe(false);
      else types.set(name, rest);
      family = name;
      continue;
    }
    const match = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf)$/.exec(line);
    expect(match, `the line ${line}`).not.toBeNull();
    const [, name = "", labelText = "", value = ""] = match!;
    const suffixes = types.get(family) === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
    expect(suffixes.map((suffix) => `${family}${suffix}`)).toContain(name);
    const pairs = [...labelText.matchAll(/([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/g)];
    expect(pairs.map(([pair]) => pair).join("")).toBe(labelText);
    const labels = Object.fromEntries(pairs.map(([, label = "", text_ = ""]) => [label, text_]));
    samples.push({ name, labels, value: Number(value) });
  }
  return { samples, types };
}

describe("GET /metrics", () => {
  it("counts calls by operation, kind and result, with how long they took", async () => {
    const get = await serveTcp(hnsNode().client, {
      facts: () => ({ profile: 'a"b\\c', store: "x", storeWrites: 7 }),
    });
    const create = JSON.stringify({ kind: "Network", settings: CBR0 });
    await get("/hcn/create", { method: "POST", body: create });
    await get("/hcn/create", { method: "POST", body: create });
    await get("/hcn/call", { method: "POST", body: '{"method":"GET","path":"/nowhere"}' });
    await get("/hcn/enumerate", { method: "POST", body: "{" });
    const response = await get("/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const { samples, types } = parseMetrics(await response.text());
    const valueOf = (name: string, labels: Record<string, string>): number | undefined =>
      samples.find((each) => each.name === name && JSON.stringify(each.labels) === JSON.stringify(labels))
        ?.value;
    expect(types.get("mullion_hns_call_duration_seconds")).toBe("histogram");
    const calls = "mullion_hns_calls_total";
    expect(valueOf(calls, { operation: "create", kind: "Network", result: "ok" })).toBe(1);
    expect(
      valueOf(calls, { operation: "create", kind: "Network", result: "HCN_E_NETWORK_ALREADY_EXISTS" }),
    ).toBe(1);
    expect(valueOf(calls, { operation: "call", kind: "", result: "HCN_E_REQUEST_UNSUPPORTED" })).toBe(1);
    expect(valueOf(calls, { operation: "enumerate", kind: "", result: "HCN_E_INVALID_JSON" })).toBe(1);
    expect(valueOf("mullion_hns_objects", { kind: "Network" })).toBe(1);
    expect(valueOf("mullion_hns_notifications_total", { type: "NetworkCreate" })).toBe(1);
    expect(valueOf("mullion_hns_store_writes_total", {})).toBe(7);
    expect(valueOf("mullion_hns_info", { profile: 'a\\"b\\\\c', version: "13.3" })).toBe(1);
    const buckets = samples.filter(
      ({ name, labels }) =>
        name === "mullion_hns_call_duration_seconds_bucket" && labels["operation"] === "create",
    );
    const counts = buckets.map(({ value }) => value);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(buckets.at(-1)).toMatchObject({ labels: { le: "+Inf" }, value: 2 });
    expect(valueOf("mullion_hns_call_duration_seconds_count", { operation: "create", kind: "Network" })).toBe(
      2,
    );
  });
});

describe("the status of a refusal", () => {
  it.each([
    ["HCN_E_INVALID_JSON", 400],
    ["HCN_E_INVALID_POLICY", 400],
    ["E_ACCESSDENIED", 401],
    ["ERROR_NOT_FOUND", 404],
    ["HCN_E_NETWORK_NOT_FOUND", 404],
    ["HCN_E_ENDPOINT_NOT_FOUND", 404],
    ["HCN_E_NETWORK_ALREADY_EXISTS", 409],
    ["HCN_E_PORT_ALREADY_EXISTS", 409],
    ["ERROR_OBJECT_ALREADY_EXISTS", 409],
    ["E_NOTIMPL", 501],
    ["HCN_E_MANAGER_STOPPED", 503],
    ["RPC_S_SERVER_UNAVAILABLE", 503],
  ] as const)("%s is %d", (code, status) => {
    expect(httpStatusOf(new HcnError(code))).toBe(status);
  });
});

describe("a store whose disk fails", () => {
  it.each([
    ["ENOSPC", "disk-full"],
    ["EIO", "io-error"],
    ["EROFS", "read-only"],
  ] as const)(
    "with %s fails /healthz and says %s, and is well again after the next change",
    async (code, reason) => {
      const disk = new SimulatedDisk();
      const store = openStateFolder("/state", { node: "w1", version: { Major: 13, Minor: 3 }, disk });
      const { service } = hnsNode();
      await loadService(service, store, store.incarnation);
      const client = new InProcessHcnClient(service, store);
      const get = await serveTcp(client, {
        facts: () => ({
          profile: "ws2022",
          store: "/state",
          storeFault: store.fault,
          storeFaults: store.faults,
        }),
      });
      const create = async (Name: string): Promise<Response> =>
        get("/hcn/create", {
          method: "POST",
          body: JSON.stringify({
            kind: "Namespace",
            settings: { Name, SchemaVersion: { Major: 2, Minor: 0 } },
          }),
        });
      expect((await create("first")).status).toBe(200);
      disk.failing = (call) => (call === "sync" ? code : undefined);
      expect(await (await create("second")).json()).toMatchObject({
        error: { ErrorCode: 0x8007_06be, Explanation: "store-outcome-unknown" },
      });
      const failing = await get("/healthz");
      expect([failing.status, await failing.json()]).toMatchObject([
        503,
        { status: "failing", storeFault: { reason, text: expect.stringContaining(code) as unknown } },
      ]);
      const { samples } = parseMetrics(await (await get("/metrics")).text());
      const now = samples.filter(({ name, value }) => name === "mullion_hns_store_fault" && value === 1);
      expect(now.map(({ labels }) => labels)).toEqual([{ reason }]);
      expect(samples).toContainEqual(
        expect.objectContaining({ name: "mullion_hns_store_faults_total", labels: { reason } }),
      );
      disk.failing = undefined;
      expect((await create("third")).status).toBe(200);
      expect((await get("/healthz")).status).toBe(200);
      // What the service shows now is what the next one on this folder finds.
      const shown = await client.enumerate("Namespace");
      const next = openStateFolder("/state", {
        node: "w1",
        version: { Major: 13, Minor: 3 },
        disk: disk.afterKill(),
      });
      expect((await next.list()).map(({ id }) => id).toSorted()).toEqual([...shown].toSorted());
    },
  );
});
