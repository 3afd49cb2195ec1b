import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { HttpHnsDumps } from "#contracts/hcn/http/dump-protocol.ts";
import type { DumpItem } from "#contracts/hcn/dumps.ts";
import { createNetwork } from "#contracts/hcn/operations.ts";
import { HnsHttpServer } from "../http/http-server.node.ts";
import { createHns } from "../local-hns.ts";

const ITEM = {
  kind: "Network",
  id: "6f7e13a2-8ade-48ee-844e-ac0b0aff2301",
  document: { Name: "restored", Type: "Private" },
} as const;

const GUEST = {
  kind: "Namespace",
  id: "4ea04396-a6e5-478f-915e-909b8c80b202",
  document: { Type: "Guest" },
} as const;

describe("dumps in the same process", () => {
  // The host's own namespace, which every service has, does not count.
  it.each<[objects: readonly DumpItem[], says: string]>([
    [[ITEM], "an object"],
    [[GUEST], "an object"],
    [[ITEM, GUEST], "2 objects"],
  ])("a service that holds %j is restored where that may replace it alone", async (objects, says) => {
    const { dumps } = createHns().client;
    expect(await dumps.restore({ objects, isReplacing: false })).toEqual([]);
    await expect(dumps.restore({ objects: [], isReplacing: false })).rejects.toMatchObject({
      code: "ERROR_ALREADY_EXISTS",
      detail: `The service has ${says} already, which a restore would remove`,
    });
    const { objects: held } = await dumps.dump();
    expect(held.map(({ id }) => id)).toEqual(expect.arrayContaining(objects.map(({ id }) => id)));
    await dumps.restore({ objects: [], isReplacing: true });
    expect((await dumps.dump()).objects.map(({ document }) => document["Type"])).toEqual(["HostDefault"]);
  });
});

describe("dumps over HTTP", () => {
  const folder = mkdtempSync(join(tmpdir(), "mullion-dumps-"));
  const { client: inner } = createHns();
  let server: HnsHttpServer;
  let client: HttpHcnClient;
  let dumps: HttpHnsDumps;
  beforeAll(async () => {
    const socketPath = join(folder, "hns.sock");
    server = await HnsHttpServer.listen({ client: inner, address: { socketPath } });
    client = new HttpHcnClient({ address: { socketPath } });
    dumps = new HttpHnsDumps(client);
  });
  beforeEach(async () => {
    await inner.dumps.restore({ objects: [], isReplacing: true });
  });
  afterAll(async () => {
    await client.close();
    await server.close();
    rmSync(folder, { recursive: true });
  });

  it("restores into a service that is empty, and gives the same back", async () => {
    expect(await dumps.restore({ objects: [ITEM], isReplacing: false })).toEqual([]);
    const dump = await dumps.dump();
    expect(dump).toMatchObject({
      apiVersion: "mullion/v1alpha1",
      kind: "HnsDump",
      service: { node: "node", version: { Major: 13 } },
      objects: [{ kind: "Network", id: ITEM.id, document: { Name: "restored", Type: "Private" } }, {}],
    });
    expect(await dumps.dump()).toEqual(await inner.dumps.dump());
  });

  it("refuses a service that holds objects, and leaves it alone", async () => {
    await inner.dumps.restore({ objects: [ITEM], isReplacing: true });
    await expect(dumps.restore({ objects: [], isReplacing: false })).rejects.toMatchObject({
      code: "ERROR_ALREADY_EXISTS",
      detail: "The service has an object already, which a restore would remove",
      explanation: "hns-restore-refused",
    });
    expect(await client.enumerate("Network")).toEqual([ITEM.id]);
  });

  it("replaces when it may", async () => {
    await createNetwork(client, { Name: "other", Type: "Private" });
    await dumps.restore({ objects: [ITEM], isReplacing: true });
    expect(await client.enumerate("Network")).toEqual([ITEM.id]);
  });

  it("tells what contradicts itself", async () => {
    const endpoint = {
      kind: "Endpoint",
      id: "5e6298c2-4638-494e-be6b-ff6fef942c01",
      document: { HostComputeNetwork: "00000000-0000-0000-0000-000000000009" },
    } as const;
    const notes = await dumps.restore({ objects: [endpoint], isReplacing: true });
    expect(notes).toMatchObject([{ kind: "Endpoint", id: endpoint.id }]);
    expect(notes[0]?.text).toMatch(/no network/);
  });

  it.each<[what: string, body: object]>([
    ["no objects", {}],
    ["objects that are no list", { objects: {} }],
    ["an object of no kind", { objects: [{ kind: "Pod", id: ITEM.id, document: {} }] }],
    ["an object without a GUID", { objects: [{ ...ITEM, id: "x" }] }],
    ["an object without a document", { objects: [{ ...ITEM, document: 1 }] }],
  ])("%s: refused, and the service unchanged", async (_what, body) => {
    const before = await dumps.dump();
    const refused = client.request("POST", "/hcn/restore", { replace: true, ...body });
    await expect(refused).rejects.toMatchObject({ code: "HCN_E_INVALID_JSON" });
    expect(await dumps.dump()).toEqual(before);
  });
});
