import { describe, expect, it } from "vitest";
import { type Prefix, formatPrefix, parseIp } from "#core/net/ip.ts";
import { formatMac, parseMac } from "#core/net/mac.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { endpointRecord, networkRecord } from "#test/support/hns/endpoint-record.ts";
import type { PortProgram } from "../ports/datapath.ts";
import type { EndpointRecord } from "../service/records.ts";
import { CompileCache } from "./compile-cache.ts";
import { L2BRIDGE_STACK, type LayerName } from "./layers.ts";
import { LoadBalancerTable } from "./load-balancer/load-balancer-table.ts";
import type { NetworkView } from "./network-view.ts";
import { PolicyIndexes } from "../service/network/policy-index.ts";
import { compilePrograms } from "./port-program.ts";

const HOST_MAC = parseMac("00-22-48-00-00-11")!;
const NODE = { addresses: [parseIp("10.0.0.11")!], hostMac: HOST_MAC };
const NAT = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } };
const NODE_ROUTE = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.0.0.11/32", NeedEncap: true } };

const a = endpointRecord({ id: "a", policies: [NAT, NODE_ROUTE] });
const b = endpointRecord({ id: "b", ips: ["10.244.1.11"], mac: "00-15-5D-00-00-0B" });
const bridge = endpointRecord({
  id: "br",
  ips: ["10.244.1.2"],
  mac: "00-15-5D-00-00-02",
  gateway: "10.244.1.1",
  isOnHost: true,
});

function view(...attached: EndpointRecord[]): NetworkView {
  return {
    base: {},
    network: new PolicyIndexes().frameOf(networkRecord()),
    attached,
    services: new LoadBalancerTable(),
    node: NODE,
    overlay: undefined,
  };
}

function program(cache: CompileCache, of: NetworkView, id: string): PortProgram {
  return compilePrograms(cache, of).get(id)!;
}

/** `group: match → what is written` for each rule of a layer. */
function show(groups: readonly Group[]): string[] {
  return groups.flatMap((group) => group.rules.map((rule) => `${group.name}: ${showRule(rule)}`));
}

function showRule({ condition, action }: Rule): string {
  const prefixes = (list: readonly Prefix[] | undefined): string => (list ?? []).map(formatPrefix).join(",");
  const match =
    condition.destination === undefined
      ? `not ${prefixes(condition.destinationExcept)}`
      : prefixes(condition.destination);
  if (action.type !== "transpose") return `${match} → ${action.type}`;
  const { sourceMac, destinationMac } = action;
  const written =
    sourceMac === undefined ? `dst ${formatMac(destinationMac!)}` : `src ${formatMac(sourceMac)}`;
  return `${match} → ${written}`;
}

describe("the layers of an L2Bridge port (dataplane.md §2.2.3)", () => {
  it("have the documented names and numbers in outbound order", () => {
    expect(
      L2BRIDGE_STACK.definitions.map((layer) => [
        layer.name,
        layer.priority,
        layer.isStateful,
        layer.isDefaultAllow,
      ]),
    ).toEqual([
      // Only there while an L4Proxy policy asks for it.
      ["L4_PROXY_LAYER", 5, true, true],
      ["LB_DSR", 7, true, true],
      ["ACL_ENDPOINT_LAYER", 15, true, false],
      ["SLB_NAT_LAYER", 50, true, true],
      ["INTERNAL_L2_REWRITE_LAYER", 75, false, true],
      ["SLB_DECAP_LAYER_STATEFUL", 100, true, true],
      ["EXTERNAL_L2_REWRITE_LAYER", 110, false, true],
      ["VNET_PA_ROUTE_LAYER", 2000, false, true],
      // Only there while a QOS policy asks for it.
      ["QOS_LAYER", 3000, false, true],
    ]);
  });
});

describe("own subnet: the gateway is an endpoint of the host", () => {
  const network = view(bridge, a, b);

  it("towards endpoints of the node the MAC is theirs; nothing is rewritten towards the wire; the host routes", () => {
    const compiled = program(new CompileCache(), network, "a");
    expect(show(compiled.groups.INTERNAL_L2_REWRITE_LAYER!)).toEqual([
      "INTERNAL_L2_REWRITE_GROUP_IPV4_OUT: 10.244.1.2/32 → dst 00-15-5D-00-00-02",
      "INTERNAL_L2_REWRITE_GROUP_IPV4_OUT: 10.244.1.10/32 → dst 00-15-5D-00-00-0A",
      "INTERNAL_L2_REWRITE_GROUP_IPV4_OUT: 10.244.1.11/32 → dst 00-15-5D-00-00-0B",
    ]);
    expect(compiled.groups.INTERNAL_L2_REWRITE_LAYER![0]?.match).toBe("lpm-destination");
    expect(compiled.groups.EXTERNAL_L2_REWRITE_LAYER!).toEqual([]);
    expect(compiled.deliversByAddress).toBe(false);
  });

  it("translated packets ask the host for their next hop", () => {
    const compiled = program(new CompileCache(), network, "a");
    const [group] = compiled.groups.VNET_PA_ROUTE_LAYER!;
    expect(group).toMatchObject({ name: "VNET_GROUP_PA_ROUTE_IPV4_OUT", priority: 200 });
    expect(group?.rules).toMatchObject([
      {
        name: "PA_ROUTE",
        priority: 45_535,
        condition: { isSourceTranslated: true },
        action: { type: "paroute" },
      },
    ]);
  });

  it("the host's leg is no pod: nothing is delivered to it by address", () => {
    const compiled = program(new CompileCache(), network, "br");
    expect(compiled.deliversByAddress).toBe(false);
    expect(compiled.groups.EXTERNAL_L2_REWRITE_LAYER!).toEqual([]);
  });
});

describe("node's subnet: it is not", () => {
  const network = view(a, b);

  it("what leaves has the host's MAC, what comes for the pod gets the pod's; the node and the pods are inside", () => {
    const compiled = program(new CompileCache(), network, "a");
    expect(show(compiled.groups.EXTERNAL_L2_REWRITE_LAYER!.filter((group) => group.family === 4))).toEqual([
      "EXTERNAL_L2_REWRITE_GROUP_IPV4_OUT: not 10.244.1.10/32,10.244.1.11/32,10.0.0.11/32 → src 00-22-48-00-00-11",
      "EXTERNAL_L2_REWRITE_GROUP_IPV4_IN: 10.244.1.10/32 → dst 00-15-5D-00-00-0A",
    ]);
    expect(compiled.deliversByAddress).toBe(true);
  });

  it("an SDNRoute to the node sets the MAC of the host's vNIC", () => {
    expect(show(program(new CompileCache(), network, "a").groups.INTERNAL_L2_REWRITE_LAYER!)).toContain(
      "SDN_ROUTE_L2_REWRITE_GROUP_IPV4_OUT: 10.0.0.11/32 → dst 00-22-48-00-00-11",
    );
  });

  // AKS writes such a route for each family (Azure/AgentBaker, staging/cse/windows/azurecnifunc.ps1).
  it("an SDNRoute to Services of IPv6 leads over the host as one of IPv4 does", () => {
    const toServices = (DestinationPrefix: string) => ({
      Type: "SDNRoute",
      Settings: { DestinationPrefix, NeedEncap: true },
    });
    const policies = [toServices("10.0.0.0/16"), toServices("fd12:3456:789a:1::/108")];
    const pod = endpointRecord({ id: "a", ips: ["10.244.1.10", "fd12:3456:789a::1:a"], policies });
    expect(show(program(new CompileCache(), view(pod), "a").groups.INTERNAL_L2_REWRITE_LAYER!)).toEqual(
      expect.arrayContaining([
        "SDN_ROUTE_L2_REWRITE_GROUP_IPV4_OUT: 10.0.0.0/16 → dst 00-22-48-00-00-11",
        "SDN_ROUTE_L2_REWRITE_GROUP_IPV6_OUT: fd12:3456:789a:1::/108 → dst 00-22-48-00-00-11",
      ]),
    );
  });

  it("changes to the other shape when the bridge endpoint appears, and back when it goes", () => {
    const cache = new CompileCache();
    const shapes = [view(a), view(a, bridge), view(a)].map(
      (each) => program(cache, each, "a").deliversByAddress,
    );
    expect(shapes).toEqual([true, false, true]);
  });
});

describe("what is compiled is shared", () => {
  it("all ports of a network have the same groups for what is common to them", () => {
    const cache = new CompileCache();
    const compiled = compilePrograms(cache, view(a, b));
    const [first, second] = [compiled.get("a")!, compiled.get("b")!];
    const last = <T>(list: readonly T[]): T | undefined => list[0];
    for (const layer of [
      "INTERNAL_L2_REWRITE_LAYER",
      "EXTERNAL_L2_REWRITE_LAYER",
      "ACL_ENDPOINT_LAYER",
    ] as LayerName[])
      expect(last(first.groups[layer]!)).toBe(last(second.groups[layer]!));
  });

  it("a change of one endpoint's policies compiles nothing anew for the others", () => {
    const cache = new CompileCache();
    const before = compilePrograms(cache, view(a, b)).get("a")!;
    const changed = endpointRecord({
      id: "b",
      ips: ["10.244.1.11"],
      mac: "00-15-5D-00-00-0B",
      policies: [NAT],
    });
    const after = compilePrograms(cache, view(a, { ...changed, ipConfigs: b.ipConfigs })).get("a")!;
    for (const layer of Object.keys(before.groups) as LayerName[])
      expect(after.groups[layer]!.every((group, index) => group === before.groups[layer]![index])).toBe(true);
  });

  it("endpoints without ACLs share the built-in pair over networks", () => {
    const cache = new CompileCache();
    const other: NetworkView = {
      ...view(endpointRecord({ id: "c" })),
      network: { ...new PolicyIndexes().frameOf(networkRecord()), id: "net2" },
    };
    expect(program(cache, other, "c").groups.ACL_ENDPOINT_LAYER).toBe(
      program(cache, view(b), "b").groups.ACL_ENDPOINT_LAYER,
    );
  });
});
