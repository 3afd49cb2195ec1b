// Defects of the rules of ports (dataplane.md §9): without each one it is good, with it as users met it.
import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import {
  createEndpoint,
  createLoadBalancer,
  deleteEndpoint,
  deleteLoadBalancer,
  listEndpoints,
  modifyEndpointPolicies,
  modifyLoadBalancer,
} from "#contracts/hcn/operations.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";

const A = "10.0.0.50";
const B = "10.0.0.51";
const V = "10.96.0.50";
const DNS = "10.96.0.10";
const X = "203.0.113.10";
const NAT: PolicyDocument = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/24"] } };

let world: DriverWorld;
let network: string;
let a: DriverPod;
let b: DriverPod;

async function boot(profile: string, setting?: readonly [QuirkName, QuirkSetting]): Promise<void> {
  world = new DriverWorld({ profile });
  // Its rules are looked at in a test of its own.
  world.service.setQuirk("l2bridge-dsr-kb5005619", "off");
  if (setting !== undefined) world.service.setQuirk(...setting);
  network = await world.network("L2Bridge", { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
  a = await world.pod("A", network, { IpConfigurations: [{ IpAddress: A }], Policies: [NAT] });
  b = await world.pod("B", network, { IpConfigurations: [{ IpAddress: B }], Policies: [NAT] });
  for (const pod of [a, b]) {
    world.serve(pod.compartment, "tcp", 80);
    world.serve(pod.compartment, "udp", 53);
  }
  world.x.serve("tcp", 80);
}

beforeEach(async () => boot("ws2022"));

function set(name: QuirkName, setting: QuirkSetting = "on"): void {
  world.service.setQuirk(name, setting);
}

function outcome(from: DriverPod, to: string, protocol: "tcp" | "udp" = "tcp", port = 80): string {
  return world.ask(from.compartment, protocol, to, port).outcome;
}

/** Whose address stands on what a pod sends to X. */
function sourcesOnWire(from: DriverPod): readonly string[] {
  const rows = world.uplinkRows(() => world.ask(from.compartment, "udp", X, 53));
  const sources = rows.flatMap((row) => /\| (\w+)→X/.exec(row)?.[1] ?? []);
  return [...new Set(sources)];
}

async function balance(
  backEnds: readonly string[],
  fields: { readonly vip?: string; readonly protocol?: number; readonly port?: number } = {},
): Promise<string> {
  const { vip = V, protocol = 6, port = 80 } = fields;
  return (await createLoadBalancer(world.client, document(backEnds, vip, protocol, port))).ID;
}

function document(
  backEnds: readonly string[],
  vip: string,
  protocol: number,
  port: number,
): HostComputeLoadBalancer {
  return {
    HostComputeEndpoints: [...backEnds],
    FrontendVIPs: [vip],
    PortMappings: [{ Protocol: protocol, ExternalPort: port, InternalPort: port }],
    Flags: 1,
    SchemaVersion: { Major: 2, Minor: 0 },
  };
}

async function remote(address: string): Promise<string> {
  const hex = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  const fields = { MacAddress: `02-11-${hex.join("-")}`, Flags: 1 };
  return (
    await createEndpoint(world.client, network, { IpConfigurations: [{ IpAddress: address }], ...fields })
  ).ID;
}

function portOf(address: string): SwitchPort {
  return world.datapath.listSwitches()[0]!.tables.findPortByIp(ip(address))!;
}

function rulesOf(address: string, layer: string): readonly string[] {
  return portOf(address)
    .vfp.getLayer(layer)!
    .groups.flatMap((group) => group.rules.map(({ name }) => name.replace(/_[0-9A-F]{5}_/, "_<h>_")));
}

describe("rules that are missing", () => {
  it("F-09 outbound-nat-rules-missing: packets to the outside keep the pod's address; neighbours are reached", () => {
    expect(sourcesOnWire(a)).toEqual(["W1"]);
    set("outbound-nat-rules-missing");
    expect(sourcesOnWire(a)).toEqual(["A"]);
    expect(outcome(a, B)).toBe("answered");
    expect(rulesOf(A, "SLB_NAT_LAYER")).toEqual([]);
    set("outbound-nat-rules-missing", "off");
    expect(sourcesOnWire(a)).toEqual(["W1"]);
  });

  it("F-19 load-balancer-rules-missing: the rule of DNS is not on the port, others are", async () => {
    await balance([b.endpoint], { vip: DNS, protocol: 17, port: 53 });
    await balance([b.endpoint]);
    expect(outcome(a, DNS, "udp", 53)).toBe("answered");
    set("load-balancer-rules-missing");
    // It leaves the node, translated; the router has no route to services and tells the pod so (DT-187).
    expect(outcome(a, DNS, "udp", 53)).toBe("unreachable");
    expect(outcome(a, V)).toBe("answered");
    expect(rulesOf(A, "LB_DSR").filter((name) => name.endsWith("53_53_17"))).toEqual([]);
  });

  it("F-36 client-policies-not-applied: ACLs, source NAT and load balancers are taken and do nothing", async () => {
    const block = {
      Type: "ACL",
      Settings: { Action: "Block", Direction: "Out", RemoteAddresses: B, Priority: 1 },
    };
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [block]);
    const id = await balance([b.endpoint]);
    expect(outcome(a, B)).toBe("timed-out");
    await deleteLoadBalancer(world.client, id);
    await balance([a.endpoint]);
    expect([outcome(b, V), sourcesOnWire(b)]).toEqual(["answered", ["W1"]]);
    set("client-policies-not-applied");
    expect(outcome(a, B)).toBe("answered");
    expect([outcome(b, V), sourcesOnWire(b)]).toEqual(["unreachable", ["B"]]);
  });

  it("F-37 load-balancer-count-limit: of 1300 rules the ports have 1290", async () => {
    for (let port = 1; port <= 1_300; port++) await balance([b.endpoint], { vip: "10.96.1.1", port });
    expect(rulesOf(A, "LB_DSR")).toHaveLength(1_300);
    set("load-balancer-count-limit");
    expect(rulesOf(A, "LB_DSR")).toHaveLength(1_290);
  });
});

describe("rules that stand there twice", () => {
  it("F-17 load-balancer-rules-doubled: each rule of LB_DSR; packets fare as before", async () => {
    await balance([b.endpoint]);
    const one = rulesOf(A, "LB_DSR");
    set("load-balancer-rules-doubled");
    expect(rulesOf(A, "LB_DSR")).toEqual([...one, ...one]);
    expect(outcome(a, V)).toBe("answered");
  });

  it("F-18 l2-rewrite-rules-doubled: each rule of EXTERNAL_L2_REWRITE_LAYER", () => {
    const count = rulesOf(A, "EXTERNAL_L2_REWRITE_LAYER").length;
    expect(count).toBeGreaterThan(0);
    set("l2-rewrite-rules-doubled");
    expect(rulesOf(A, "EXTERNAL_L2_REWRITE_LAYER")).toHaveLength(count * 2);
    expect(outcome(a, X)).toBe("answered");
  });
});

describe("rules that stay", () => {
  it("F-16 load-balancer-rules-stale: the deleted load balancer leads to a pod that is gone", async () => {
    const first = await balance([b.endpoint]);
    await deleteLoadBalancer(world.client, first);
    expect(rulesOf(A, "LB_DSR")).toEqual([]);
    const second = await balance([b.endpoint]);
    set("load-balancer-rules-stale");
    await deleteLoadBalancer(world.client, second);
    expect(rulesOf(A, "LB_DSR")).toHaveLength(1);
    expect(outcome(a, V)).toBe("answered");
    await deleteEndpoint(world.client, b.endpoint);
    const c = await world.pod("C", network, { IpConfigurations: [{ IpAddress: "10.0.0.52" }] });
    world.serve(c.compartment, "tcp", 80);
    await balance([c.endpoint]);
    expect(outcome(a, V)).not.toBe("answered");
    // Restarting the service brings the port in line again.
    await world.client.faults.restart("keep");
    expect(rulesOf(A, "LB_DSR")).toHaveLength(1);
    expect(outcome(a, V)).toBe("answered");
  });

  it("F-16 load-balancer-rules-stale: on the back end's port too, until the service restarts", async () => {
    const before = rulesOf(B, "SLB_NAT_LAYER");
    const id = await balance([b.endpoint]);
    const during = rulesOf(B, "SLB_NAT_LAYER");
    expect(during.length).toBeGreaterThan(before.length);
    set("load-balancer-rules-stale");
    await deleteLoadBalancer(world.client, id);
    expect(rulesOf(B, "SLB_NAT_LAYER")).toEqual(during);
    await world.client.faults.restart("keep");
    expect(rulesOf(B, "SLB_NAT_LAYER")).toEqual(before);
  });

  it("F-22 load-balancer-rules-left-on-change: the former back ends stay beside the new ones", async () => {
    await boot("ws2025");
    set("load-balancer-update-ignored", "off");
    const id = await balance([b.endpoint]);
    await modifyLoadBalancer(world.client, id, document([a.endpoint], V, 6, 80));
    expect(rulesOf(A, "LB_DSR")).toHaveLength(1);
    set("load-balancer-rules-left-on-change");
    await modifyLoadBalancer(world.client, id, document([b.endpoint], V, 6, 80));
    expect(rulesOf(A, "LB_DSR")).toHaveLength(2);
    // The older rule is asked first: A leads to itself.
    expect(outcome(a, V)).not.toBe("answered");
  });

  it("F-25 remote-endpoint-left-behind: the endpoint is listed still, and a pod with its address is cut off", async () => {
    const left = await remote("10.0.0.60");
    await deleteEndpoint(world.client, left);
    expect((await listEndpoints(world.client)).map(({ ID }) => ID)).not.toContain(left);
    const other = await remote("10.0.0.60");
    set("remote-endpoint-left-behind");
    await deleteEndpoint(world.client, other);
    expect((await listEndpoints(world.client)).map(({ ID }) => ID)).toContain(other);
    const fields = { IpConfigurations: [{ IpAddress: "10.0.0.60" }], Policies: [NAT] };
    const c = await world.pod("C", network, fields);
    expect([outcome(c, X), outcome(a, X)]).toEqual(["unreachable", "answered"]);
    expect(portOf("10.0.0.60").vfp.drops.get("switch-port-blocked")).toBeGreaterThan(0);
    set("remote-endpoint-left-behind", "off");
    await deleteEndpoint(world.client, other);
    world.run(60_000);
    expect(outcome(c, X)).toBe("answered");
  });
});

describe("ACLs", () => {
  const blockTo = (address: string): PolicyDocument => ({
    Type: "ACL",
    Settings: { Action: "Block", Direction: "Out", RemoteAddresses: address, Priority: 100 },
  });

  const ALLOW_OUT: PolicyDocument = {
    Type: "ACL",
    Settings: { Action: "Allow", Direction: "Out", Priority: 65_500 },
  };

  it("DT-153 F-29 acl-without-effect: what an ACL blocks passes", async () => {
    await boot("ws2025");
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [blockTo(B), ALLOW_OUT]);
    expect([outcome(a, B), outcome(a, X)]).toEqual(["timed-out", "answered"]);
    set("acl-without-effect");
    expect([outcome(a, B), outcome(a, X)]).toEqual(["answered", "answered"]);
  });

  it("DT-153 F-29 an ACL that blocks one address leaves nothing allowed on its way, until another one allows the rest", async () => {
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [blockTo(B)]);
    expect([outcome(a, B), outcome(a, X), outcome(b, A)]).toEqual(["timed-out", "timed-out", "answered"]);
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [ALLOW_OUT]);
    expect([outcome(a, B), outcome(a, X)]).toEqual(["timed-out", "answered"]);
    // Who has no such ACL is not concerned.
    expect(outcome(b, X)).toBe("answered");
  });

  it("F-51 an endpoint whose only ACL blocks what comes in is dead to callers, and calls itself", async () => {
    expect(outcome(a, B)).toBe("answered");
    const block = { Action: "Block", Direction: "In", Priority: 65_500 };
    await modifyEndpointPolicies(world.client, b.endpoint, "Add", [{ Type: "ACL", Settings: block }]);
    expect([outcome(a, B), outcome(b, X)]).toEqual(["timed-out", "answered"]);
  });
});

describe("defects at a rate", () => {
  /** Which of twenty pods lack their source NAT. */
  async function struck(setting: QuirkSetting): Promise<readonly boolean[]> {
    await boot("ws2022", ["outbound-nat-rules-missing", setting]);
    const addresses = Array.from({ length: 20 }, (_, index) => `10.0.0.${100 + index}`);
    for (const [index, address] of addresses.entries())
      await world.pod(`P${index}`, network, { IpConfigurations: [{ IpAddress: address }], Policies: [NAT] });
    return addresses.map((address) => rulesOf(address, "SLB_NAT_LAYER").length === 0);
  }

  it("strike some ports: equal seeds the same ones, other seeds others, and a port stays as it is", async () => {
    const first = await struck({ rate: 0.5, seed: "1" });
    expect(first).toContain(true);
    expect(first).toContain(false);
    await modifyEndpointPolicies(world.client, a.endpoint, "Update", [NAT]);
    expect(await struck({ rate: 0.5, seed: "1" })).toEqual(first);
    expect(await struck({ rate: 0.5, seed: "2" })).not.toEqual(first);
    expect(await struck({ rate: 0 })).not.toContain(true);
    expect(await struck({ rate: 1 })).not.toContain(false);
  });
});
