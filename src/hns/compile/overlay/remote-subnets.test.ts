// Routes that come and go one at a time against all of them compiled anew: the same rules win for every destination.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { parseIpv4 } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { networkRecord } from "#test/support/hns/endpoint-record.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { PolicyIndexes, type SubnetRoute } from "../../service/network/policy-index.ts";
import { combineNetworkPolicies } from "../../service/policies/network-policies.ts";
import { compileHostEncap, compileEncapOut } from "./overlay-rules.ts";
import { type OverlayPlan, planOverlay } from "./overlay-plan.ts";
import { type CompiledRoutes, type RemoteSubnets, RouteRules, remoteSubnetsOf } from "./remote-subnets.ts";

const INDEXES = new PolicyIndexes();
const RULES = new RouteRules();

const NODE = {
  providerAddress: defined(parseIpv4("10.0.0.11"), "an address"),
  hostMac: defined(parseMac("00-15-5D-00-00-11"), "a MAC"),
};
const HOST_ROUTE: NetworkPolicy = Object.freeze({ Type: "HostRoute", Settings: Object.freeze({}) });

/** 10.244.1.0/24 is the network's own. */
function route(subnet: number, node: number, length = 24): SubnetRoute {
  const Settings = {
    DestinationPrefix: `10.244.${subnet}.0/${length}`,
    ProviderAddress: `10.0.0.${node}`,
    IsolationId: 4_096,
    DistributedRouterMacAddress: `00-15-5d-00-02-${node}`,
  };
  return Object.freeze({ Type: "RemoteSubnetRoute", Settings: Object.freeze(Settings) });
}

function planOf(policies: readonly NetworkPolicy[]): OverlayPlan {
  return planOverlay(INDEXES.frameOf({ ...networkRecord(), type: "Overlay", policies }), NODE, []);
}

/** The rules of each prefix in the order in which they are tried: only there does it decide who wins. */
function idsByPrefix(groups: readonly Group[]): Readonly<Record<string, readonly string[]>> {
  const rules = groups.flatMap((group) =>
    group.rules.map(({ name, id }) => ({ name: `${group.name} ${name}`, id })),
  );
  const grouped = [...Map.groupBy(rules, ({ name }) => name)];
  return Object.fromEntries(grouped.map(([name, list]) => [name, list.map(({ id }) => id)]));
}

type Compile = (plan: OverlayPlan, remote: RemoteSubnets, before?: CompiledRoutes) => CompiledRoutes;

const SENDERS: readonly (readonly [string, Compile])[] = [
  ["endpoints", compileEncapOut],
  ["the host", compileHostEncap],
];

const STEP = fc.record({
  requestType: fc.constantFrom("Add" as const, "Add" as const, "Remove" as const, "Update" as const),
  routes: fc.array(
    fc.record({
      // The network's own is among them: a route with the prefix of another rule.
      subnet: fc.integer({ min: 1, max: 6 }),
      node: fc.integer({ min: 12, max: 14 }),
      length: fc.constantFrom(24, 24, 25),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

describe.each(SENDERS)("the ways of %s to other nodes' subnets", (_, compile) => {
  it("are those that all routes come to, whichever came and went", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 30 }), (steps) => {
        const first = Object.freeze([HOST_ROUTE]);
        const plan = planOf(first);
        let policies: readonly NetworkPolicy[] = first;
        let compiled = compile(plan, remoteSubnetsOf(INDEXES, RULES, policies));
        for (const { requestType, routes } of steps) {
          const given = routes.map(({ subnet, node, length }) => route(subnet, node, length));
          try {
            policies = combineNetworkPolicies(INDEXES, policies, given, requestType);
          } catch {
            continue; // There is none to remove.
          }
          compiled = compile(plan, remoteSubnetsOf(INDEXES, RULES, policies), compiled);
          // The same policies in a list that is not known yet.
          const anew = compile(plan, remoteSubnetsOf(INDEXES, RULES, Object.freeze([...policies])));
          expect(idsByPrefix(compiled.groups)).toEqual(idsByPrefix(anew.groups));
        }
      }),
    );
  });

  it("keep all other rules when one comes or goes", () => {
    const plan = planOf([]);
    const [a, b, c] = [route(2, 12), route(3, 13), route(4, 14)];
    const two = INDEXES.changedPolicies(Object.freeze([]), [], [a, b]);
    const before = compile(plan, remoteSubnetsOf(INDEXES, RULES, two));
    const three = INDEXES.changedPolicies(two, [], [c]);
    const after = compile(plan, remoteSubnetsOf(INDEXES, RULES, three), before);
    const rules = (of: CompiledRoutes): readonly unknown[] => defined(of.routed.group, "has rules").rules;
    expect(after.routed.group?.size).toBe(defined(before.routed.group, "has rules").size + 1);
    expect(rules(before).every((rule) => rules(after).includes(rule))).toBe(true);
    const left = compile(
      plan,
      remoteSubnetsOf(INDEXES, RULES, INDEXES.changedPolicies(three, [a], [])),
      after,
    );
    expect(rules(left).every((rule) => rules(after).includes(rule))).toBe(true);
    expect(rules(left)).toHaveLength(rules(after).length - 1);
  });
});

describe("the policies of a network, changed", () => {
  const [a, b] = [route(2, 12), route(3, 13)];

  it("keep their settings while routes come and go behind them", () => {
    const before = Object.freeze([HOST_ROUTE, a]);
    const after = INDEXES.changedPolicies(before, [a], [b]);
    expect(after).toEqual([HOST_ROUTE, b]);
    expect(INDEXES.settingsOf(after)).toBe(INDEXES.settingsOf(before));
    expect(INDEXES.routeRevisionOf(after).token).not.toBe(INDEXES.routeRevisionOf(before).token);
  });

  it("have settings at other places when a route before them goes", () => {
    const before = Object.freeze([a, HOST_ROUTE, b]);
    const after = INDEXES.changedPolicies(before, [a], []);
    expect(after).toEqual([HOST_ROUTE, b]);
    expect(INDEXES.settingsOf(after)).toEqual([{ policy: HOST_ROUTE, index: 0 }]);
    expect(INDEXES.settingsOf(before)).toEqual([{ policy: HOST_ROUTE, index: 1 }]);
  });

  it("have the same routes when a setting comes", () => {
    const before = Object.freeze([a, b]);
    const after = INDEXES.changedPolicies(before, [], [HOST_ROUTE]);
    expect(INDEXES.routeRevisionOf(after)).toBe(INDEXES.routeRevisionOf(before));
    expect(INDEXES.settingsOf(after)).toEqual([{ policy: HOST_ROUTE, index: 2 }]);
  });

  it("can be changed twice from one list, as two copies of a node do", () => {
    const before = Object.freeze([a, b]);
    expect(combineNetworkPolicies(INDEXES, before, [a], "Remove")).toEqual([b]);
    expect(combineNetworkPolicies(INDEXES, before, [b], "Remove")).toEqual([a]);
    expect(combineNetworkPolicies(INDEXES, before, [a, b], "Remove")).toEqual([]);
  });
});
