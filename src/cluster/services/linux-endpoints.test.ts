// pkg/proxy/topology.go, CategorizeEndpoints: which endpoints a node uses.
import { describe, expect, it } from "vitest";
import { type EndpointChoice, makeService, makeSlice } from "#test/support/dataplane/linux-world.ts";
import { formatIp } from "#core/net/ip.ts";
import { type PlannedPort, planService, usedEndpoints } from "./linux-service-plan.ts";

const NODE = { name: "lin-1", zone: "z1" };
const NAMES: Readonly<Record<string, string>> = {
  "10.244.1.10": "a",
  "10.244.1.11": "b",
  "10.244.2.10": "c",
};
const going = { ready: false, serving: true, terminating: true };
const gone = { ready: false, serving: false, terminating: true };

function portOf(choices: readonly (EndpointChoice | string)[], spec: object = {}): PlannedPort {
  return planService(makeService(spec), [makeSlice(...choices)])[0]!;
}

function names(endpoints: readonly { readonly ip: Parameters<typeof formatIp>[0] }[]): string {
  return endpoints.map(({ ip }) => NAMES[formatIp(ip)]).join("");
}

describe("policy Cluster", () => {
  it.each<[string, readonly (EndpointChoice | string)[], string]>([
    ["ready ones, by address", ["c", "a", "b"], "abc"],
    ["ready before going ones", [{ pod: "a", ...going }, "c"], "c"],
    [
      "going ones when none is ready",
      [
        { pod: "a", ...going },
        { pod: "c", ready: false },
      ],
      "a",
    ],
    ["none that does not serve", [{ pod: "a", ...gone }], ""],
    [
      "hints for the zone",
      [
        { pod: "a", zones: ["z1"] },
        { pod: "c", zones: ["z2"] },
      ],
      "a",
    ],
    [
      "hints for other zones only: all",
      [
        { pod: "a", zones: ["z3"] },
        { pod: "c", zones: ["z2"] },
      ],
      "ac",
    ],
    ["an endpoint without a hint: all", [{ pod: "a", zones: ["z1"] }, "c"], "ac"],
  ])("%s", (_what, choices, expected) => {
    expect(names(usedEndpoints(portOf(choices), NODE).cluster)).toBe(expected);
  });
});

describe("policy Local", () => {
  it.each<[string, readonly (EndpointChoice | string)[], string, boolean]>([
    ["those of the node", ["a", "b", "c"], "ab", true],
    ["going ones of the node when none of it is ready", [{ pod: "a", ...going }, "c"], "a", true],
    ["none on the node, some elsewhere", ["c"], "", true],
    ["none anywhere", [], "", false],
  ])("%s", (_what, choices, expected, isServed) => {
    const used = usedEndpoints(portOf(choices, { internalTrafficPolicy: "Local" }), NODE);
    expect([names(used.local), used.isServed]).toEqual([expected, isServed]);
  });
});

describe("what of a Service is read", () => {
  it("an endpoint that stands in two slices counts once; slices of IPv6 and of other ports do not", () => {
    const slice = makeSlice("a");
    const six = { ...makeSlice("b"), addressType: "IPv6" } as typeof slice;
    const other = { ...makeSlice("c"), ports: [{ name: "metrics", port: 9_000, protocol: "TCP" }] };
    const [port] = planService(makeService(), [slice, slice, six, other]);
    expect(names(port!.endpoints)).toBe("a");
  });

  it("session affinity lasts 3 hours unless the Service says otherwise", () => {
    expect(portOf([], { sessionAffinity: "ClientIP" }).affinitySeconds).toBe(10_800);
    expect(portOf([]).affinitySeconds).toBeUndefined();
  });

  it("externalTrafficPolicy of a Service that nothing outside leads to says nothing", () => {
    const spec = { type: "ClusterIP", externalTrafficPolicy: "Local", ports: [{ port: 80, name: "http" }] };
    expect(portOf([], spec).isExternalLocal).toBe(false);
  });

  it("a Service with a proxy of its own is that proxy's", () => {
    const service = makeService();
    const labels = { "service.kubernetes.io/service-proxy-name": "other" };
    expect(planService({ ...service, metadata: { ...service.metadata, labels } }, [])).toEqual([]);
  });
});
