// Defects of nodes and of what HNS keeps (dataplane.md §9): without each one it is good, with it as users met it.
import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import {
  createEndpoint,
  createLoadBalancer,
  deleteEndpoint,
  deleteLoadBalancer,
  getLoadBalancerById,
  getNetworkById,
  listLoadBalancers,
  modifyEndpointPolicies,
} from "#contracts/hcn/operations.ts";
import { NameLookup } from "#dataplane/host/resolver/name-lookup.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { parseInterfaceAddress, parsePrefix } from "#core/net/ip.ts";
import { InProcessHcnClient } from "../../service/in-process-client.ts";
import { createHns } from "../../local-hns.ts";
import { MemoryObjectStore } from "../../store/stored-object.ts";
import { loadService } from "../../durable-hns.node.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";

const A = "10.0.0.50";
const B = "10.0.0.51";
const V = "10.96.0.50";
const X = "203.0.113.10";
const NAT: PolicyDocument = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/24"] } };

let world: DriverWorld;
let network: string;
let a: DriverPod;
let b: DriverPod;

async function boot(profile = "ws2022", quirk?: QuirkName): Promise<void> {
  world = new DriverWorld({ profile });
  world.service.setQuirk("l2bridge-dsr-kb5005619", "off");
  if (quirk !== undefined) world.service.setQuirk(quirk, "on");
  network = await world.network("L2Bridge", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
  a = await world.pod("A", network, { IpConfigurations: [{ IpAddress: A }], Policies: [NAT] });
  b = await world.pod("B", network, { IpConfigurations: [{ IpAddress: B }], Policies: [NAT] });
  for (const pod of [a, b]) world.serve(pod.compartment, "tcp", 80);
  for (const protocol of ["tcp", "udp"] as const) world.x.serve(protocol, 80);
}

beforeEach(async () => boot());

function set(name: QuirkName, setting: QuirkSetting = "on"): void {
  world.service.setQuirk(name, setting);
}

function outcome(from: DriverPod, to: string, protocol: "tcp" | "udp" | "icmp" = "tcp"): string {
  return world.ask(from.compartment, protocol, to, 80).outcome;
}

async function remote(address: string): Promise<string> {
  const hex = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  const fields = { MacAddress: `02-11-${hex.join("-")}`, Flags: 1 };
  const made = await createEndpoint(world.client, network, {
    IpConfigurations: [{ IpAddress: address }],
    ...fields,
  });
  return made.ID;
}

async function balance(
  backEnds: readonly string[],
  fields: { readonly port?: number; readonly flags?: number; readonly sourceVip?: string } = {},
): Promise<string> {
  const { port = 80, flags = 1, sourceVip } = fields;
  const made = await createLoadBalancer(world.client, {
    HostComputeEndpoints: [...backEnds],
    FrontendVIPs: [V],
    PortMappings: [{ Protocol: 6, ExternalPort: port, InternalPort: 80 }],
    ...(sourceVip !== undefined && { SourceVIP: sourceVip }),
    Flags: flags,
    SchemaVersion: { Major: 2, Minor: 0 },
  });
  return made.ID;
}

describe("load balancers and what they lead to", () => {
  it("F-06 source-vip-is-network-address: the load balancer sends from the first address of the subnet", async () => {
    const shown = async (id: string): Promise<unknown> =>
      (await getLoadBalancerById(world.client, id)).SourceVIP;
    expect(await shown(await balance([b.endpoint], { sourceVip: "10.0.0.40" }))).toBe("10.0.0.40");
    set("source-vip-is-network-address");
    expect(await shown(await balance([b.endpoint], { port: 81, sourceVip: "10.0.0.40" }))).toBe("10.0.0.0");
    // An address of no subnet stays.
    expect(await shown(await balance([b.endpoint], { port: 82, sourceVip: "192.0.2.1" }))).toBe("192.0.2.1");
  });

  it("F-20 shared-back-ends-removed: deleting one of two load balancers takes the other's remote back end", async () => {
    const c = await remote("10.0.0.12");
    const first = await balance([c]);
    const second = await balance([c], { port: 81 });
    await deleteLoadBalancer(world.client, first);
    expect(world.service.enumerate("Endpoint")).toContain(c);
    const third = await balance([c], { port: 82 });
    set("shared-back-ends-removed");
    await deleteLoadBalancer(world.client, second);
    expect(world.service.enumerate("Endpoint")).not.toContain(c);
    expect(await getLoadBalancerById(world.client, third)).toMatchObject({ State: 4 });
    // A back end of one load balancer alone stays: it is its owner's.
    const d = await remote("10.0.0.13");
    await deleteLoadBalancer(world.client, await balance([d], { port: 83 }));
    expect(world.service.enumerate("Endpoint")).toContain(d);
  });

  it("F-26 front-end-keeps-back-ends: the load balancer that is made anew leads to the former back end", async () => {
    const again = async (): Promise<readonly string[]> => {
      const old = await balance([a.endpoint]);
      await deleteLoadBalancer(world.client, old);
      const id = await balance([b.endpoint]);
      const { HostComputeEndpoints = [] } = await getLoadBalancerById(world.client, id);
      await deleteLoadBalancer(world.client, id);
      return HostComputeEndpoints.map((text) => text.toLowerCase());
    };
    expect(await again()).toEqual([b.endpoint]);
    set("front-end-keeps-back-ends");
    expect(await again()).toEqual([a.endpoint]);
    await world.client.faults.restart("keep");
    expect(await balance([b.endpoint]).then((id) => getLoadBalancerById(world.client, id))).toMatchObject({
      HostComputeEndpoints: [b.endpoint.toUpperCase()],
    });
  });

  it("session-affinity-not-kept: connections of one client go to different back ends", async () => {
    await createLoadBalancer(world.client, {
      HostComputeEndpoints: [b.endpoint, await remote("10.0.0.12")],
      FrontendVIPs: [V],
      PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 80, DistributionType: 2 }],
      Flags: 1,
      SchemaVersion: { Major: 2, Minor: 0 },
    });
    world.serve(world.neighbour.root, "tcp", 80);
    const who = (): number =>
      new Set(
        Array.from({ length: 12 }, () => {
          const result = world.ask(a.compartment, "tcp", V, 80);
          return result.outcome === "answered" ? result.answer.split(" saw ")[0] : result.outcome;
        }),
      ).size;
    expect(who()).toBe(1);
    set("session-affinity-not-kept");
    expect(who()).toBe(2);
  });

  it("load-balancers-restored-late: the old ones come back while new ones are refused with 0xb7", async () => {
    const id = await balance([b.endpoint]);
    set("load-balancers-restored-late");
    await world.client.faults.restart();
    expect(await listLoadBalancers(world.client)).toEqual([]);
    await expect(balance([b.endpoint])).rejects.toMatchObject({
      code: "ERROR_ALREADY_EXISTS",
      hresult: 0x800700b7,
    });
    expect(outcome(a, V)).not.toBe("answered");
    world.run(10_000);
    expect((await listLoadBalancers(world.client)).map(({ ID }) => ID)).toEqual([id]);
    expect(outcome(a, V)).toBe("answered");
    await expect(balance([b.endpoint])).rejects.toMatchObject({ code: "HCN_E_PORT_ALREADY_EXISTS" });
    set("load-balancers-restored-late", "off");
    await world.client.faults.restart();
    expect(await listLoadBalancers(world.client)).toHaveLength(1);
  });

  it("load-balancers-restored-late: an end of the service before they are back loses none", async () => {
    const store = new MemoryObjectStore();
    const client = new InProcessHcnClient(world.service, store);
    const id = await balance([b.endpoint]);
    await createEndpoint(client, network, { IpConfigurations: [{ IpAddress: "10.0.0.60" }] });
    set("load-balancers-restored-late");
    await client.faults.restart();
    const stored = async (): Promise<readonly string[]> =>
      (await store.list()).filter(({ kind }) => kind === "LoadBalancer").map((each) => each.id);
    expect(await stored()).toEqual([id]);
    // A second restart of the same process, too.
    world.run(5_000);
    await client.faults.restart();
    expect(await listLoadBalancers(client)).toEqual([]);
    expect(await stored()).toEqual([id]);
    const heir = createHns({ profile: "ws2022", store });
    await loadService(heir.service, store, 1);
    expect((await listLoadBalancers(heir.client)).map(({ ID }) => ID)).toEqual([id]);
    world.run(10_000);
    expect((await listLoadBalancers(client)).map(({ ID }) => ID)).toEqual([id]);
    await deleteLoadBalancer(client, id);
    expect(await stored()).toEqual([]);
  });
});

describe("stacks of pods", () => {
  it("F-27 sockets-refused: programs of pods get WSAEACCES, the host's do not", async () => {
    expect([outcome(a, X), outcome(a, X, "icmp")]).toEqual(["answered", "answered"]);
    set("sockets-refused");
    for (const protocol of ["tcp", "udp", "icmp"] as const) {
      const result = world.ask(a.compartment, protocol, X, 80);
      expect(result).toMatchObject({
        outcome: "unreachable",
        detail: expect.stringContaining("WSAEACCES") as string,
      });
    }
    expect(world.ask(world.node.root, "tcp", X, 80).outcome).toBe("answered");
    const c = await world.pod("C", network, { IpConfigurations: [{ IpAddress: "10.0.0.52" }] });
    expect(() => world.serve(c.compartment, "tcp", 80)).toThrow("access-denied");
    set("sockets-refused", "off");
    expect(outcome(a, X)).toBe("answered");
  });

  /** What comes of a name that X, as a DNS server, never hears: nothing listens there. */
  function resolve(pod: DriverPod): KnowledgeCode | undefined {
    const dns = { domain: "", search: [], servers: [ip(X)] };
    pod.compartment.dns = dns;
    const lookup = new NameLookup({ compartment: pod.compartment, name: "web.example.com" });
    lookup.start();
    world.run(60_000);
    return lookup.result?.outcome === "failed" ? lookup.result.code : undefined;
  }

  it("DT-161 F-45 names-fail-at-first: in the first seconds of a pod no name is asked for", async () => {
    set("names-fail-at-first");
    const cold = await world.pod("C", network, {
      IpConfigurations: [{ IpAddress: "10.0.0.52" }],
      Policies: [NAT],
    });
    expect(resolve(cold)).toBe("dns-cold-start");
    // A minute later the question goes out.
    expect(resolve(cold)).not.toBe("dns-cold-start");
    set("names-fail-at-first", "off");
    const warm = await world.pod("D", network, {
      IpConfigurations: [{ IpAddress: "10.0.0.53" }],
      Policies: [NAT],
    });
    expect(resolve(warm)).not.toBe("dns-cold-start");
  });
});

describe("the node's addresses and routes", () => {
  it("F-44 management-address-flips: pods leave with the address that somebody added", async () => {
    const vnic = world.node.root.getInterface("vEthernet (Ethernet)")!;
    world.node.root.addAddress(vnic, parseInterfaceAddress("10.0.0.200/24")!);
    const leaves = (): string | undefined => {
      const rows = world.uplinkRows(() => world.ask(a.compartment, "udp", X, 80));
      return rows.map((row) => /\| (\S+)→X/.exec(row)?.[1]).find((source) => source !== undefined);
    };
    const managementIp = async (): Promise<unknown> =>
      JSON.stringify(await getNetworkById(world.client, network)).match(
        /"(?:ManagementIP|ProviderAddress)":"([^"]*)"/,
      )?.[1];
    await modifyEndpointPolicies(world.client, a.endpoint, "Update", [NAT]);
    expect(leaves()).toBe("W1");
    const before = await managementIp();
    set("management-address-flips");
    expect(leaves()).toBe("10.0.0.200");
    if (before !== undefined) expect(await managementIp()).toBe("10.0.0.200");
  });

  it("F-53 metadata-route-lost: a new switch leaves the route to 169.254.169.254 behind", async () => {
    const hasRoute = async (quirk?: QuirkName): Promise<boolean> => {
      world = new DriverWorld({ profile: "ws2022" });
      if (quirk !== undefined) set(quirk);
      const prefix = parsePrefix("169.254.169.254/32")!;
      const adapter = world.node.root.getInterface("Ethernet")!;
      world.node.root.addRoute({ prefix, interface: adapter, nextHop: ip("10.0.0.1"), metric: 5 });
      await world.network("L2Bridge", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
      const routes = world.node.root.listRoutes();
      expect(routes.some((route) => route.prefix.length === 0)).toBe(true);
      return routes.some((route) => route.prefix.address === prefix.address);
    };
    expect(await hasRoute()).toBe(true);
    expect(await hasRoute("metadata-route-lost")).toBe(false);
  });
});

describe("proxies of the Windows Filtering Platform", () => {
  it("F-31 proxy-policy-limit: of sixteen pods with a proxy the last one is not redirected", async () => {
    const proxied = async (quirk?: QuirkName): Promise<number> => {
      await boot("ws2025", quirk);
      const Settings = { OutboundProxyPort: "15001", FilterTuple: { Protocols: "6" }, UserSID: "S-1-5-20" };
      let redirected = 0;
      for (let index = 0; index < 16; index++) {
        const pod = await world.pod(`P${index}`, network, {
          IpConfigurations: [{ IpAddress: `10.0.0.${100 + index}` }],
          Policies: [{ Type: "L4WFPPROXY", Settings }],
        });
        world.serve(pod.compartment, "tcp", 15_001);
        const result = world.ask(pod.compartment, "tcp", B, 80);
        if (result.outcome === "answered" && result.answer.includes("127.0.0.1")) redirected++;
      }
      return redirected;
    };
    expect(await proxied()).toBe(16);
    expect(await proxied("proxy-policy-limit")).toBe(15);
  });
});

describe("nat-denies-outbound: containers of NAT networks on Server 2019", () => {
  async function natPod(profile: string, policies: readonly PolicyDocument[] = []): Promise<DriverPod> {
    world = new DriverWorld({ profile });
    world.x.serve("tcp", 80);
    const id = await world.network("NAT", { prefix: "172.20.0.0/20", gateway: "172.20.0.1" });
    return world.pod("A", id, { IpConfigurations: [{ IpAddress: "172.20.1.5" }], Policies: [...policies] });
  }

  it("open no connections without an ACL, and take those that a mapping lets in", async () => {
    const open = await natPod("ws2022");
    expect(outcome(open, X)).toBe("answered");
    const mapping = { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080 } };
    const closed = await natPod("ws2019", [mapping]);
    world.serve(closed.compartment, "tcp", 80);
    expect(outcome(closed, X)).toBe("timed-out");
    expect(world.dropsOf("hns-nat-denies-outbound")).toBeGreaterThan(0);
    expect(world.ask(world.neighbour.root, "tcp", "10.0.0.11", 8080).outcome).toBe("answered");
    set("nat-denies-outbound", "off");
    expect(outcome(closed, X)).toBe("answered");
  });

  it("an ACL that allows what goes out lets them", async () => {
    const allow = { Type: "ACL", Settings: { Action: "Allow", Direction: "Out", Priority: 100 } };
    expect(outcome(await natPod("ws2019", [allow]), X)).toBe("answered");
  });
});

describe("deleting the endpoint that was left behind", () => {
  it("F-25 the second deletion is carried out once the defect is off", async () => {
    const left = await remote("10.0.0.60");
    set("remote-endpoint-left-behind", { rate: 1, seed: "x" });
    await deleteEndpoint(world.client, left);
    set("remote-endpoint-left-behind", "off");
    await deleteEndpoint(world.client, left);
    await expect(deleteEndpoint(world.client, left)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
  });
});
