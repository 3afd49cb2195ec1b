import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  addNamespaceContainer,
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteLoadBalancer,
  getLoadBalancerById,
  listLoadBalancers,
  listNetworks,
  modifyLoadBalancer,
  removeNamespaceContainer,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HOST_ATTACH, attachHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { QUIRK_NAMES, type QuirkName } from "#core/catalogue/quirks.ts";
import { type FaultyNode, faultyNode } from "#test/support/hns/faulty-node.ts";
import { hnsNode } from "#test/support/hns/hns-node.ts";
import type { StoredObject } from "../store/stored-object.ts";
import { QUIRK_TEXTS } from "#diagnose/catalogue/quirk-texts.ts";

/** Does what the defect spoils; rejects where it strikes. */
type Situation = (node: FaultyNode) => Promise<unknown>;

async function attachTwice(node: FaultyNode): Promise<void> {
  const namespace = (await createNamespace(node.client)).ID ?? "";
  await addNamespaceEndpoint(node.client, namespace, node.endpoints[0] ?? "");
  await addNamespaceContainer(node.client, namespace, "first");
  await removeNamespaceContainer(node.client, namespace, "first");
  await addNamespaceContainer(node.client, namespace, "second");
}

async function attach(node: FaultyNode): Promise<void> {
  const namespace = (await createNamespace(node.client)).ID ?? "";
  await addNamespaceEndpoint(node.client, namespace, node.endpoints[0] ?? "");
}

async function natNetwork(
  client: HcnClient,
  Name: string,
  prefix: string,
  NextHop: string,
): Promise<unknown> {
  const Routes = [{ NextHop, DestinationPrefix: "0.0.0.0/0" }];
  return createNetwork(client, {
    Name,
    Type: "NAT",
    Ipams: [{ Subnets: [{ IpAddressPrefix: prefix, Routes }] }],
  });
}

async function deleteDegraded(node: FaultyNode): Promise<void> {
  const id = await node.balance(80);
  await deleteEndpoint(node.client, node.endpoints[0] ?? "");
  await deleteLoadBalancer(node.client, id);
}

async function balanceAgain(node: FaultyNode): Promise<void> {
  await deleteLoadBalancer(node.client, await node.balance(80));
  await node.balance(80);
}

/** F-48 is source-address-refused, F-49 load-balancer-port-missing. */
const REFUSING: readonly [name: QuirkName, situation: Situation, code: string][] = [
  ["reattach-refused", attachTwice, "HCN_E_NAMESPACE_ATTACH_FAILED"],
  ["parallel-attach-not-found", attach, "ERROR_NOT_FOUND"],
  ["ipv6-stack-off", attach, "ERROR_NOT_FOUND"],
  [
    "single-nat-prefix",
    async ({ client }) => {
      await natNetwork(client, "nat", "172.20.0.0/16", "172.20.0.1");
      await natNetwork(client, "outside", "172.21.0.0/16", "172.21.0.1");
    },
    "ERROR_OBJECT_ALREADY_EXISTS",
  ],
  ["load-balancer-port-missing", async (node) => node.balance(80), "HCN_E_PORT_NOT_FOUND"],
  ["degraded-load-balancer-not-deleted", deleteDegraded, "HCN_E_DEGRADED_OPERATION"],
  ["front-end-stale-after-delete", balanceAgain, "HCN_E_PORT_ALREADY_EXISTS"],
  [
    "source-address-refused",
    async ({ client, network }) =>
      createEndpoint(client, network, { IpConfigurations: [{ IpAddress: "10.244.2.77" }] }),
    "HCN_E_ADDR_INVALID_OR_RESERVED",
  ],
];

describe("defects that refuse what is right (hcn.md §4.4, §4.5, §4.7; F-48, F-49)", () => {
  it.each(REFUSING)("%s", async (name, situation, code) => {
    const node = await faultyNode();
    node.service.setQuirk(name, "on");
    await expect(situation(node)).rejects.toMatchObject({ code });
    const other = await faultyNode();
    other.service.setQuirk(name, "off");
    await situation(other);
  });

  it("CP-W1 with one prefix for all NAT networks a further one is made inside of it, and overlaps it otherwise", async () => {
    for (const [setting, made] of [
      ["on", true],
      ["off", false],
    ] as const) {
      const { client, service } = await faultyNode();
      service.setQuirk("single-nat-prefix", setting);
      await natNetwork(client, "nat", "172.20.0.0/16", "172.20.0.1");
      const inside = natNetwork(client, "inside", "172.20.128.0/24", "172.20.128.1");
      const outcome = await inside.then(
        () => true,
        () => false,
      );
      expect(outcome).toBe(made);
    }
  });

  it("a store says which endpoints containers used before; a document from elsewhere does not", async () => {
    const before = await faultyNode();
    const [endpoint = ""] = before.endpoints;
    const namespace = (await createNamespace(before.client)).ID ?? "";
    await addNamespaceEndpoint(before.client, namespace, endpoint);
    await addNamespaceContainer(before.client, namespace, "first");
    await removeNamespaceContainer(before.client, namespace, "first");
    await removeNamespaceEndpoint(before.client, namespace, endpoint);
    const stored = before.service.export().filter(({ kind }) => kind === "Network" || kind === "Endpoint");
    const attachAgain = async (objects: readonly StoredObject[]): Promise<void> => {
      const { client, service } = hnsNode({ seed: 2 });
      expect(service.restore(objects)).toEqual([]);
      service.setQuirk("reattach-refused", "on");
      const other = (await createNamespace(client)).ID ?? "";
      await addNamespaceEndpoint(client, other, endpoint);
      await addNamespaceContainer(client, other, "second");
    };
    await expect(attachAgain(stored)).rejects.toMatchObject({ code: "HCN_E_NAMESPACE_ATTACH_FAILED" });
    await attachAgain(stored.map(({ kind, id, document }) => ({ kind, id, document })));
  });

  it("the stale front end is free again when the service has restarted", async () => {
    const node = await faultyNode();
    node.service.setQuirk("front-end-stale-after-delete", "on");
    await deleteLoadBalancer(node.client, await node.balance(80));
    await node.client.faults.restart("keep");
    expect(await node.balance(80)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("defects that take what is wrong", () => {
  const twin = async ({ client, network }: FaultyNode): Promise<unknown> =>
    createEndpoint(client, network, { IpConfigurations: [{ IpAddress: "10.244.2.10" }] });

  it("HCN-063: a second local endpoint with an address is refused, and taken by Server 2019", async () => {
    await expect(twin(await faultyNode())).rejects.toMatchObject({ hresult: 0x80071392 });
    const old = await faultyNode({ profile: "ws2019" });
    await twin(old);
    await deleteEndpoint(old.client, old.endpoints[0] ?? "");
    await twin(old);
    const repaired = await faultyNode({ profile: "ws2019" });
    repaired.service.setQuirk("duplicate-local-address", "off");
    await expect(twin(repaired)).rejects.toMatchObject({ hresult: 0x80071392 });
  });

  it("HCN-063: the address of the host's bridge endpoint is refused by Server 2019, too (microsoft/SDN#333)", async () => {
    const old = await faultyNode({ profile: "ws2019" });
    const leg = await createEndpoint(old.client, old.network, {
      IpConfigurations: [{ IpAddress: "10.244.2.2" }],
    });
    await attachHnsEndpoint(old.client, leg.ID, HOST_ATTACH);
    await expect(
      createEndpoint(old.client, old.network, { IpConfigurations: [{ IpAddress: "10.244.2.2" }] }),
    ).rejects.toMatchObject({ hresult: 0x80071392 });
  });

  it.each([
    ["ws2019", true],
    ["ws2022", false],
    ["ws2025", false],
  ])("HCN-061: %s takes OutBoundNAT exceptions with host bits: %s", async (profile, isTaken) => {
    const { client, network } = await faultyNode({ profile });
    const Policies = [{ Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.5.1/24"] } }];
    const made = createEndpoint(client, network, { Policies });
    if (isTaken) await made;
    else await expect(made).rejects.toMatchObject({ hresult: 0x803b000d });
  });
});

describe("changing a load balancer (hcn.md §7.1, HCN-036, F-21)", () => {
  it.each([
    ["ws2022", "on the version that has no such call", "E_NOTIMPL", 1],
    ["ws2025", "on 15.4, which takes the call and does nothing", undefined, 1],
  ])("HCN-036: %s: %s", async (profile, _what, code, count) => {
    const node = await faultyNode({ profile });
    const id = await node.balance(80);
    const document = {
      ...(await getLoadBalancerById(node.client, id)),
      HostComputeEndpoints: node.endpoints,
    };
    const modified = modifyLoadBalancer(node.client, id, document);
    if (code === undefined) await modified;
    else await expect(modified).rejects.toMatchObject({ code });
    expect((await getLoadBalancerById(node.client, id)).HostComputeEndpoints).toHaveLength(count);
  });

  it("HCN-036: 15.4 without its defect, and 15.5, carry it out", async () => {
    for (const options of [{ profile: "ws2025" }, { profile: "ws2025", version: { Major: 15, Minor: 5 } }]) {
      const node = await faultyNode(options);
      node.service.setQuirk("load-balancer-update-ignored", "off");
      const id = await node.balance(80);
      const document = {
        ...(await getLoadBalancerById(node.client, id)),
        HostComputeEndpoints: node.endpoints,
      };
      await modifyLoadBalancer(node.client, id, document);
      expect((await getLoadBalancerById(node.client, id)).HostComputeEndpoints).toHaveLength(2);
    }
  });
});

describe("defects that hang the service", () => {
  it("F-38 service-deadlock: the call and all behind it, until the service restarts", async () => {
    const node = await faultyNode();
    node.service.setQuirk("service-deadlock", "on");
    const stuck = [listNetworks(node.client), listLoadBalancers(node.client)];
    const ended = stuck.map((call) =>
      expect(call).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" }),
    );
    node.service.setQuirk("service-deadlock", "off");
    await node.client.faults.restart("keep");
    await Promise.all(ended);
    expect(await listNetworks(node.client)).toHaveLength(1);
  });

  it("load-balancers-of-one-endpoint-hang: the second load balancer of an endpoint", async () => {
    const node = await faultyNode({ profile: "ws2019" });
    node.service.setQuirk("load-balancers-of-one-endpoint-hang", "on");
    await node.balance(80);
    const second = node.balance(81);
    const third = listNetworks(node.client);
    node.service.setQuirk("load-balancers-of-one-endpoint-hang", "off");
    expect(await node.client.faults.release()).toBe(2);
    await second;
    await third;
  });
});

/** Everything that the service consists of, as one text. */
function sourceOfService(): string {
  const files = readdirSync("src/hns", { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join("src/hns", file), "utf8"))
    .join("\n");
}

describe("the table of defects", () => {
  const source = sourceOfService();

  it.each(QUIRK_NAMES)("%s: the service asks for it, or the table says why not", (name) => {
    expect(source.includes(`"${name}"`)).toBe(QUIRK_TEXTS[name].notActedOn === undefined);
  });
});
