/** What `hardened` puts right in HNS, and what `upstream` leaves as it is (kube-proxy.md §3.14; docs/reference/differences.md). */
import { describe, expect, it } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import {
  ADDRESS,
  HNS_WITH_MODIFY,
  KubeProxyNode,
  NETWORK_ID,
  NODE_PORT,
  type NodeSettings,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import type { Repair } from "../report.ts";

const HARDENED: NodeSettings = { compat: "hardened" };
const LBID_1 = "1b000000-0000-4000-8000-000000000001";
const EPID_1 = "e9000000-0000-4000-8000-000000000001";
const C_BOTH = "C:80→8080 [R1,EP-L1] L0 P0 D0";
const SERVICE = { namespace: "default", name: "svc", portName: "p80" };

async function compare(node: KubeProxyNode, nowMs?: number): Promise<readonly Repair[]> {
  node.forgetCalls();
  const { families } = await node.proxy.sync({ comparesHns: true, nowMs });
  return families.flatMap(({ repairs }) => repairs);
}

async function begun(settings: NodeSettings = HARDENED): Promise<KubeProxyNode> {
  const node = new KubeProxyNode(settings);
  await node.begin([service()], [slice(["L1", "R1"])]);
  return node;
}

function changeInPlace(
  node: KubeProxyNode,
  kind: "LoadBalancer" | "Endpoint",
  id: string,
  fields: JsonObject,
): void {
  const document = node.hns.list(kind).find((each) => each["ID"] === id);
  node.hns.put(kind, { ...document, ...fields, ID: id });
}

describe("what HNS lost", () => {
  it("KP-H20 a load balancer is made again, and told once", async () => {
    const node = await begun();
    await node.hns.delete("LoadBalancer", LBID_1);
    expect(await compare(node)).toEqual([
      {
        kind: "load-balancer-lost",
        family: 4,
        id: LBID_1,
        service: SERVICE,
        frontEnd: { kind: "ClusterIP", vip: ADDRESS.C },
        code: "hns-load-balancers-lost",
        message: "The ClusterIP 10.20.30.41 of Service default/svc is programmed again: HNS had lost it",
      },
    ]);
    expect(node.calls()).toEqual(["create LBID-2"]);
    expect(node.loadBalancers()).toEqual([C_BOTH]);
    expect(await compare(node)).toEqual([]);
    expect(node.calls()).toEqual([]);
  });

  it("KP-H20 upstream: it stays missing, whatever the caller asks for", async () => {
    const node = await begun({});
    await node.hns.delete("LoadBalancer", LBID_1);
    expect(await compare(node)).toEqual([]);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.applied()).toEqual(["svc:p80"]);
  });

  it("without a comparison an idle sync does not look", async () => {
    const node = await begun();
    await node.hns.delete("LoadBalancer", LBID_1);
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([]);
  });

  it("a remote endpoint is made again, and the load balancers that named it", async () => {
    const node = await begun();
    await node.hns.delete("Endpoint", EPID_1);
    expect((await compare(node)).map(({ kind, address, code }) => [kind, address, code])).toEqual([
      ["endpoint-lost", ADDRESS.R1, "hns-endpoints-lost"],
    ]);
    expect(node.calls()).toEqual(["create EPID-2", "delete LBID-1", "create LBID-2"]);
    expect(node.loadBalancers()).toEqual([C_BOTH]);
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
    // Told once.
    expect(await compare(node)).toEqual([]);
  });

  it("a Service that does not use what is lost is not programmed again", async () => {
    const node = new KubeProxyNode(HARDENED);
    const other = service({ name: "other", spec: { clusterIP: ADDRESS.C2 } });
    await node.begin([service(), other], [slice(["L1", "R1"]), slice(["L1"], { of: "other" })]);
    await node.hns.delete("Endpoint", EPID_1);
    const { families } = await node.proxy.sync({ comparesHns: true });
    expect(families.flatMap(({ programmed }) => programmed.map(({ name }) => name))).toEqual(["svc"]);
  });

  it("on overlay the endpoints of the source VIP and of the ClusterIP", async () => {
    const node = await begun({ ...HARDENED, isOverlay: true });
    for (const id of node.hns.list("Endpoint").map((each) => each["ID"] as Guid))
      if (id.startsWith("e9")) await node.hns.delete("Endpoint", id);
    expect((await compare(node)).map(({ kind, address }) => `${kind} ${address}`).toSorted()).toEqual([
      `endpoint-lost ${ADDRESS.C}`,
      `endpoint-lost ${ADDRESS.SV}`,
      `endpoint-lost ${ADDRESS.R1}`,
    ]);
    expect(node.madeEndpoints().toSorted()).toEqual(["C(10.0.0.1) ×1", "R1(10.0.0.3) ×1", "SV local"]);
  });

  it("on overlay the endpoint of a ClusterIP alone", async () => {
    const node = await begun({ ...HARDENED, isOverlay: true });
    const ofClusterIp = node.hns
      .list("Endpoint")
      .find((each) => JSON.stringify(each["IpConfigurations"]).includes(`"${ADDRESS.C}"`));
    await node.hns.delete("Endpoint", ofClusterIp?.["ID"] as Guid);
    expect((await compare(node)).map(({ kind, address }) => `${kind} ${address}`)).toEqual([
      `endpoint-lost ${ADDRESS.C}`,
    ]);
    expect(node.madeEndpoints()).toContain("C(10.0.0.1) ×1");
  });

  it("577 load balancers at once come back in one sync (kube-proxy.md §9.3)", async () => {
    const node = new KubeProxyNode(HARDENED);
    const names = Array.from({ length: 577 }, (_, index) => `s${index}`);
    await node.begin(
      names.map((name, index) =>
        service({ name, spec: { clusterIP: `10.21.${index >> 8}.${index & 255}` } }),
      ),
      names.map((name) => slice(["L1"], { of: name })),
    );
    for (const { ID } of node.hns.list("LoadBalancer").slice(1))
      await node.hns.delete("LoadBalancer", ID as Guid);
    expect(await compare(node)).toHaveLength(576);
    expect(node.loadBalancers()).toHaveLength(577);
  });
});

describe("what HNS changed", () => {
  it.each([
    ["with modify", HNS_WITH_MODIFY, ["update LBID-1"]],
    ["without modify", { Major: 11, Minor: 10 }, ["delete LBID-1", "create LBID-2"]],
  ] as const)("a load balancer gets back its back ends, %s", async (_name, hns, calls) => {
    const node = await begun({ ...HARDENED, hns });
    changeInPlace(node, "LoadBalancer", LBID_1, { HostComputeEndpoints: [EPID_1] });
    expect((await compare(node)).map(({ kind, service: of }) => [kind, of])).toEqual([
      ["load-balancer-changed", SERVICE],
    ]);
    expect(node.calls()).toEqual(calls);
    expect(node.loadBalancers()).toEqual([C_BOTH]);
  });

  it.each([
    ["before anything was compared", 0],
    ["after a comparison", 1],
  ])(
    "is found by the next comparison, though a sync for another Service has been between: %s",
    async (_, compared) => {
      const node = new KubeProxyNode(HARDENED);
      node.hns.tellsRevision = true;
      await node.begin([service()], [slice(["L1", "R1"])]);
      for (let i = 0; i < compared; i++) expect(await compare(node)).toEqual([]);
      changeInPlace(node, "LoadBalancer", LBID_1, { HostComputeEndpoints: [EPID_1] });
      const other = service({ name: "other", spec: { clusterIP: "10.20.30.99" } });
      await node.change(other, slice(["L1"], { of: "other" }));
      expect((await compare(node)).map(({ kind, service: of }) => [kind, of])).toEqual([
        ["load-balancer-changed", SERVICE],
      ]);
      expect(node.loadBalancers()).toContain(C_BOTH);
      // What is right again is not read again and again.
      await compare(node);
      expect(await compare(node)).toEqual([]);
    },
  );

  it("several load balancers that were changed are found in one comparison", async () => {
    const node = new KubeProxyNode(HARDENED);
    const other = service({ name: "other", spec: { clusterIP: ADDRESS.C2 } });
    await node.begin([service(), other], [slice(["L1"]), slice(["L1"], { of: "other" })]);
    for (const { ID } of node.hns.list("LoadBalancer"))
      changeInPlace(node, "LoadBalancer", ID as Guid, { Flags: 1 });
    expect((await compare(node)).map(({ kind, service: of }) => `${kind} ${of?.name}`).toSorted()).toEqual([
      "load-balancer-changed other",
      "load-balancer-changed svc",
    ]);
  });

  it("flags count, too", async () => {
    const node = await begun();
    changeInPlace(node, "LoadBalancer", LBID_1, { Flags: 1 });
    expect((await compare(node)).map(({ kind }) => kind)).toEqual(["load-balancer-changed"]);
    expect(node.loadBalancers()).toEqual([C_BOTH]);
  });

  it("what HNS has made otherwise than it was asked is found by the first comparison, though nobody has changed it since", async () => {
    const node = new KubeProxyNode(HARDENED);
    node.hns.tellsRevision = true;
    const create = node.hns.create.bind(node.hns);
    let spoiled = 0;
    node.hns.create = (kind, settings, options) =>
      create(
        kind,
        kind === "LoadBalancer" && spoiled++ === 0 ? { ...settings, Flags: 1 } : settings,
        options,
      );
    await node.begin([service()], [slice(["L1", "R1"])]);
    expect(node.loadBalancers()).not.toEqual([C_BOTH]);
    expect((await compare(node)).map(({ kind }) => kind)).toEqual(["load-balancer-changed"]);
    expect(node.loadBalancers()).toEqual([C_BOTH]);
  });

  it("what a comparison could not read again is read by the next one", async () => {
    const node = await begun();
    node.hns.tellsRevision = true;
    changeInPlace(node, "LoadBalancer", LBID_1, { Flags: 1 });
    node.hns.refuse = ({ call }) =>
      call === "query LoadBalancer" ? new HcnError("HCN_E_MANAGER_STOPPED") : undefined;
    expect(await compare(node)).toEqual([]);
    node.hns.refuse = undefined;
    expect((await compare(node)).map(({ kind }) => kind)).toEqual(["load-balancer-changed"]);
    expect(node.loadBalancers()).toEqual([C_BOTH]);
  });

  it("what HNS makes of it every time is left at that", async () => {
    const node = await begun();
    const spoil = (): void => {
      for (const { ID } of node.hns.list("LoadBalancer"))
        changeInPlace(node, "LoadBalancer", ID as Guid, { Flags: 1 });
    };
    spoil();
    expect(await compare(node)).toHaveLength(1);
    spoil();
    expect(await compare(node)).toEqual([]);
    expect(node.calls()).toEqual([]);
  });

  it("a remote endpoint on another node of an overlay network", async () => {
    const node = await begun({ ...HARDENED, isOverlay: true });
    const id = "e9000000-0000-4000-8000-000000000003";
    const Settings = { ProviderAddress: "10.0.0.99" };
    changeInPlace(node, "Endpoint", id, { Policies: [{ Type: "ProviderAddress", Settings }] });
    expect((await compare(node)).map(({ kind, address }) => [kind, address])).toEqual([
      ["endpoint-changed", ADDRESS.R1],
    ]);
    expect(node.madeEndpoints()).toContain("R1(10.0.0.3) ×1");
  });
});

describe("what nobody wants", () => {
  it("a remote endpoint that a former process left is deleted; one of somebody else is not", async () => {
    const node = new KubeProxyNode(HARDENED);
    const remote = (n: number, mac: string): JsonObject & { readonly ID: string } => ({
      ID: `f0000000-0000-4000-8000-00000000000${n}`,
      HostComputeNetwork: NETWORK_ID,
      IpConfigurations: [{ IpAddress: `192.168.2.2${n}` }],
      MacAddress: mac,
      Flags: 1,
    });
    node.hns.put("Endpoint", remote(1, "02-11-C0-A8-02-15"));
    node.hns.put("Endpoint", remote(2, "0E-2A-0A-00-00-01"));
    await node.begin([service()], [slice(["L1", "R1"])]);
    expect((await compare(node)).map(({ kind, address, code }) => [kind, address, code])).toEqual([
      ["endpoint-left", "192.168.2.21", "hns-remote-endpoint-left"],
    ]);
    expect(node.hns.list("Endpoint").map((each) => each["ID"])).toContain(remote(2, "").ID);
    // It is known as another's then: of endpoints, only the one that a Service uses is read again.
    let reads = 0;
    node.hns.refuse = ({ call }) => {
      if (call === "query Endpoint") reads++;
      return undefined;
    };
    expect(await compare(node)).toEqual([]);
    expect(reads).toBe(1);
  });

  describe("a process ends before it could delete the endpoint of a ClusterIP, and the next one has no Service", () => {
    /** The HNS that the first process left, before the second one. */
    async function leftBehind(compat: "hardened" | "upstream"): Promise<KubeProxyNode> {
      const former = new KubeProxyNode({ compat, isOverlay: true });
      await former.begin([service()], [slice(["L1"])]);
      former.hns.refuse = ({ call }) =>
        call === "delete Endpoint" ? new HcnError("RPC_S_SERVER_UNAVAILABLE") : undefined;
      await former.remove(service());
      former.hns.refuse = undefined;
      const next = new KubeProxyNode({ compat, isOverlay: true, client: former.hns });
      await next.begin([], []);
      expect(next.madeEndpoints()).toEqual(["SV local", "C(10.0.0.1) ×0"]);
      return next;
    }

    it.each([
      ["at once", "", 0],
      ["after HNS did not list its endpoints", "enumerate Endpoint", 1],
      ["after HNS did not tell whose it is", "query Endpoint", 1],
      ["after HNS did not delete it", "delete Endpoint", 1],
    ])("the next one deletes it, %s", async (_, failing, comparisons) => {
      const node = await leftBehind("hardened");
      node.hns.refuse = ({ call }) => (call === failing ? new HcnError("HCN_E_MANAGER_STOPPED") : undefined);
      for (let i = 0; i < comparisons; i++) expect(await compare(node)).toEqual([]);
      node.hns.refuse = undefined;
      expect((await compare(node)).map(({ kind, address }) => [kind, address])).toEqual([
        ["endpoint-left", ADDRESS.C],
      ]);
      expect(node.madeEndpoints()).toEqual(["SV local"]);
      // Then there is nothing more to look for.
      const calls: string[] = [];
      node.hns.refuse = ({ call }) => {
        calls.push(call);
        return undefined;
      };
      expect(await compare(node)).toEqual([]);
      expect(calls).toEqual(["enumerate Network", "query Network"]);
    });

    it("upstream: it stays", async () => {
      const node = await leftBehind("upstream");
      expect(await compare(node)).toEqual([]);
      expect(node.madeEndpoints()).toEqual(["SV local", "C(10.0.0.1) ×0"]);
    });
  });

  it("a creation without an answer is found and, when nobody wants it, deleted", async () => {
    const node = new KubeProxyNode(HARDENED);
    node.objects.servicesListed([service()]);
    node.objects.endpointSlicesListed([slice(["L1"])]);
    await node.start();
    node.hns.failNext("create LoadBalancer", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
    await node.proxy.sync();
    // It was carried out all the same.
    node.hns.put("LoadBalancer", {
      ID: LBID_1,
      HostComputeEndpoints: ["10ca1000-0000-4000-8000-000000000001"],
      FrontendVIPs: [ADDRESS.C],
      PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
    });
    node.objects.serviceChanged(service(), undefined);
    expect((await compare(node)).map(({ kind, id }) => [kind, id])).toEqual([["load-balancer-left", LBID_1]]);
    expect(node.loadBalancers()).toEqual([]);
  });

  it("one that was replaced, and that HNS brings back, is deleted again", async () => {
    const node = new KubeProxyNode(HARDENED);
    await node.begin([service()], [slice(["L1"])]);
    const [replaced] = node.hns.list("LoadBalancer");
    await node.change(slice(["L1", "R1"]));
    expect(node.numberedLoadBalancers()).toEqual([`LBID-2 ${C_BOTH}`]);
    node.hns.put("LoadBalancer", { ...replaced, ID: LBID_1 });
    expect((await compare(node)).map(({ kind, id }) => [kind, id])).toEqual([["load-balancer-left", LBID_1]]);
    expect(node.loadBalancers()).toHaveLength(1);
  });

  it("one that could not be deleted at the start is used in the first sync", async () => {
    const former = await begun();
    const next = new KubeProxyNode({ ...HARDENED, client: former.hns });
    next.objects.servicesListed([service()]);
    next.objects.endpointSlicesListed([slice(["L1", "R1"])]);
    next.hns.refuse = ({ call }) =>
      call === "delete LoadBalancer" ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined;
    await next.start();
    next.forgetCalls();
    await next.proxy.sync();
    expect(next.calls()).toEqual([]);
    expect(next.numberedLoadBalancers()).toEqual([`LBID-1 ${C_BOTH}`]);
    expect(next.applied()).toEqual(["svc:p80"]);
  });

  it("a second endpoint with a ClusterIP's address, which no Service uses, is deleted", async () => {
    const node = new KubeProxyNode({ ...HARDENED, isOverlay: true });
    for (const n of [1, 2])
      node.hns.put("Endpoint", {
        ID: `f0000000-0000-4000-8000-00000000000${n}`,
        HostComputeNetwork: NETWORK_ID,
        IpConfigurations: [{ IpAddress: ADDRESS.C }],
        MacAddress: "00-11-22-33-44-55",
        Flags: 1,
      });
    await node.begin([service()], [slice(["L1"])]);
    expect((await compare(node)).map(({ kind, address }) => [kind, address])).toEqual([
      ["endpoint-left", ADDRESS.C],
    ]);
    expect(node.madeEndpoints().toSorted()).toEqual(["C ×1", "SV local"]);
  });

  it("a creation without an answer that was carried out is found and used, also where HNS tells its revision", async () => {
    const node = new KubeProxyNode(HARDENED);
    node.hns.tellsRevision = true;
    const create = node.hns.create.bind(node.hns);
    let made = 0;
    node.hns.create = (kind, settings, options) => {
      const id = create(kind, settings, options);
      return kind === "LoadBalancer" && made++ === 0
        ? Promise.reject(new HcnError("RPC_S_SERVER_UNAVAILABLE"))
        : id;
    };
    await node.begin([service()], [slice(["L1"])]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
    node.forgetCalls();
    await node.proxy.sync();
    expect(node.calls()).toEqual([]);
    expect(node.applied()).toEqual(["svc:p80"]);
  });

  it("load balancers of somebody else stay", async () => {
    const node = await begun();
    node.hns.put("LoadBalancer", {
      ID: "f0000000-0000-4000-8000-000000000007",
      HostComputeEndpoints: ["10ca1000-0000-4000-8000-000000000001"],
      FrontendVIPs: ["10.99.0.1"],
      PortMappings: [{ Protocol: 6, InternalPort: 1, ExternalPort: 1 }],
    });
    expect(await compare(node)).toEqual([]);
    expect(node.loadBalancers()).toHaveLength(2);
  });
});

describe("failures", () => {
  it("are tried again after 1 s, 2 s, 4 s …, and at most after a minute", async () => {
    const node = new KubeProxyNode(HARDENED);
    node.hns.refuse = ({ call }) =>
      call === "create LoadBalancer" ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined;
    node.objects.servicesListed([service()]);
    node.objects.endpointSlicesListed([slice(["L1"])]);
    await node.start();
    const waits: (number | undefined)[] = [];
    for (let nowMs = 0; waits.length < 9; ) {
      const { families } = await node.proxy.sync({ nowMs });
      waits.push(families[0]?.retryAfterMs);
      nowMs += families[0]?.retryAfterMs ?? 0;
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it("what cannot be deleted is tried again after 1 s, 2 s, 4 s …, too", async () => {
    const node = await begun();
    node.hns.refuse = ({ call }) =>
      call === "delete LoadBalancer" ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined;
    node.objects.serviceChanged(service(), undefined);
    const waits: (number | undefined)[] = [];
    for (let nowMs = 0; waits.length < 4; ) {
      const { families } = await node.proxy.sync({ nowMs });
      waits.push(families[0]?.retryAfterMs);
      nowMs += families[0]?.retryAfterMs ?? 0;
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  it("the endpoint of a ClusterIP that HNS refuses once is made in the next sync", async () => {
    const node = new KubeProxyNode({ ...HARDENED, isOverlay: true });
    let creations = 0;
    // The first one is that of the source VIP.
    node.hns.refuse = ({ call }) =>
      call === "create Endpoint" && ++creations === 2 ? new HcnError("HCN_E_PORT_NOT_FOUND") : undefined;
    await node.begin([service()], [slice(["L1"])]);
    expect(node.codes()).toEqual(["service-remote-endpoint-refused"]);
    await node.proxy.sync();
    expect(node.madeEndpoints()).toEqual(["SV local", "C(10.0.0.1) ×1"]);
    expect(node.applied()).toEqual(["svc:p80"]);
  });

  it("nothing is tried before, and a change of the endpoints does not wait", async () => {
    const node = new KubeProxyNode(HARDENED);
    node.hns.failNext("create LoadBalancer", new HcnError("HCN_E_PORT_NOT_FOUND"));
    node.objects.servicesListed([service()]);
    node.objects.endpointSlicesListed([slice(["L1"])]);
    await node.start();
    await node.proxy.sync({ nowMs: 0 });
    node.forgetCalls();
    await node.proxy.sync({ nowMs: 999 });
    expect(node.calls()).toEqual([]);
    node.objects.endpointSliceChanged(slice(["L1"]), slice(["L1", "L2"]));
    await node.proxy.sync({ nowMs: 999 });
    expect(node.calls()).toEqual(["create LBID-1"]);
  });

  it("one front end that fails does not keep the others from being programmed", async () => {
    const node = new KubeProxyNode(HARDENED);
    let first = true;
    node.hns.refuse = ({ call }) => {
      if (call !== "create LoadBalancer" || !first) return undefined;
      first = false;
      return new HcnError("HCN_E_PORT_NOT_FOUND");
    };
    await node.begin(
      [service({ spec: { type: "NodePort", ports: NODE_PORT, externalIPs: [ADDRESS.E] } })],
      [slice(["L1"])],
    );
    expect(node.loadBalancers()).toEqual(["∅:3001→8080 [EP-L1] L0 P18 D0", "E:80→8080 [EP-L1] L0 P16 D0"]);
    expect(node.codes()).toEqual(["service-load-balancer-refused"]);
    await node.proxy.sync();
    expect(node.loadBalancers()).toHaveLength(3);
  });

  it("an HNS that hangs ends the sync after two calls, and the next one goes on", async () => {
    const node = new KubeProxyNode(HARDENED);
    node.hns.refuse = ({ call }) =>
      call.startsWith("create") ? new HcnError("RPC_S_SERVER_UNAVAILABLE") : undefined;
    const names = ["a", "b", "c", "d"];
    const report = await node.begin(
      names.map((name, index) => service({ name, spec: { clusterIP: `10.20.30.5${index}` } })),
      names.map((name) => slice(["L1"], { of: name })),
    );
    expect(report.families[0]?.outcome).toBe("hns-unreadable");
    expect(report.families[0]?.finding?.code).toBe("hns-service-hangs");
    expect(node.calls()).toHaveLength(2);
    node.hns.refuse = undefined;
    await node.proxy.sync();
    expect(node.loadBalancers()).toHaveLength(4);
  });
});
