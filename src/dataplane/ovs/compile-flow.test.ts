// Flows with variables, which are others on each chassis (ovn-sb(5), Chassis_Template_Var), and what becomes of them where a value is
// missing, does not fit, or changes.
import { describe, expect, it } from "vitest";
import { LogicalWorld } from "#test/support/dataplane/logical-world.ts";
import { FollowedNetwork } from "./followed-network.ts";
import { LogicalNetwork } from "./logical-network.ts";
import type { LogicalFlowRow, Southbound } from "./southbound.ts";

const PORT = { datapath: "s", type: "", options: new Map<string, string>(), portSecurity: [], mac: [] };
const HOPS = ["hv1", "hv2", "hv3"];

/** A pod on each of three chassis; to the address of its own node it is sent to port `web`, otherwise it ends. */
function southbound(
  values: Readonly<Record<string, Readonly<Record<string, string>>>>,
  match = "ip4.dst == ^vip",
): Southbound {
  const flow = (priority: number, text: string, actions: string): LogicalFlowRow => ({
    id: `${priority}`.padStart(8, "0"),
    datapaths: ["s"],
    pipeline: "ingress",
    table: 0,
    priority,
    match: text,
    actions,
    stage: "ls_in_lb",
    hint: "",
    source: "",
  });
  const egress = { ...flow(0, "1", "output;"), id: "egress00", pipeline: "egress" as const };
  return {
    datapaths: [{ id: "s", name: "s", key: 1, kind: "switch", northbound: "", hasSourceZone: false }],
    ports: [
      ...HOPS.map((chassis, index) => ({ ...PORT, name: `pod-${chassis}`, key: index + 1, chassis })),
      { ...PORT, name: "web", key: 9, chassis: "" },
    ],
    flows: [flow(120, match, 'outport = "web"; output;'), flow(0, "1", "drop;"), egress],
    groups: [],
    addressSets: [],
    portGroups: [],
    macBindings: [],
    loadBalancers: [
      { name: "lb", vips: new Map([["^vip:80", "^ends"]]), protocol: "tcp", options: new Map() },
    ],
    fdb: [],
    chassis: HOPS.map((name) => ({ id: name, name, encapsulations: [] })),
    dns: [],
    variables: Object.entries(values).map(([chassis, each]) => ({
      chassis,
      values: new Map(Object.entries(each)),
    })),
  };
}

function arrives(world: LogicalWorld, from: string, destination: string): boolean {
  const asked = { from: "0a:58:00:00:00:01", to: "0a:58:00:00:00:09", source: "10.0.0.1", destination };
  return world.send({ ...asked, inport: `pod-${from}` })[0]?.startsWith("web: ") === true;
}

describe("a flow with a variable", () => {
  const rows = southbound({ hv1: { vip: "192.0.2.1" }, hv2: { vip: "192.0.2.2" } });
  it.each([
    ["hv1", "192.0.2.1", true],
    ["hv1", "192.0.2.2", false],
    ["hv2", "192.0.2.2", true],
    ["hv2", "192.0.2.1", false],
    ["hv3", "192.0.2.1", false],
  ])("on %s, to %s: %s", (chassis, destination, expected) => {
    expect(arrives(new LogicalWorld(rows, chassis), chassis, destination)).toBe(expected);
    // Who asks for no chassis gets that of the port.
    expect(arrives(new LogicalWorld(rows), chassis, destination)).toBe(expected);
  });

  it("is missing, by name, on a chassis without values, and nowhere else", () => {
    const network = new LogicalNetwork(rows);
    expect(network.unreadable).toEqual([]);
    expect(HOPS.map((chassis) => network.missingOn(chassis).map(({ row }) => row.match))).toEqual([
      [],
      [],
      ["ip4.dst == ^vip"],
    ]);
  });

  it.each([
    ["a value is missing", { hv1: { other: "1" } }, /^the variable vip has no value on hv1$/],
    ["a value does not fit", { hv1: { vip: "} ==" } }, /^.+ \(at character \d+\)$/],
    ["no chassis has values", {}, /^it has variables, and no chassis /],
  ])("is left out when %s", (_, values, problem) => {
    const { unreadable } = new LogicalNetwork(southbound(values));
    expect(unreadable.map((each) => each.row.match)).toEqual([expect.stringMatching(/^ip4\.dst == /)]);
    expect(unreadable[0]?.problem).toMatch(problem);
  });

  it("has no variable in a text", () => {
    expect(new LogicalNetwork(southbound({}, 'inport == "a^vip"')).unreadable).toEqual([]);
  });

  it("gives the load balancer the addresses of all chassis", () => {
    const [balancer] = new LogicalNetwork(
      southbound({
        hv1: { vip: "192.0.2.1", ends: "10.0.0.1:80" },
        hv2: { vip: "192.0.2.2", ends: "10.0.0.2:80" },
      }),
    ).loadBalancers;
    expect([...(balancer?.vips ?? [])]).toEqual([
      ["192.0.2.1:80", "10.0.0.1:80"],
      ["192.0.2.2:80", "10.0.0.2:80"],
    ]);
  });
});

describe("a value that changes", () => {
  const LOGICAL_FLOW = {
    logical_datapath: ["uuid", "s"],
    pipeline: "ingress",
    table_id: 0,
    priority: 1,
    match: "ip4.dst == ^vip",
    actions: "drop;",
  };
  const variables = (vip: string) =>
    new Map([
      ["Chassis_Template_Var", new Map([["v", { chassis: "hv1", variables: ["map", [["vip", vip]]] }]])],
    ]);
  const textOf = ({ network }: FollowedNetwork): unknown => {
    const there = network.flowsOf("s", "ingress", 0)[0]?.byChassis?.get("hv1");
    return there !== undefined && "match" in there ? there.row.match : undefined;
  };

  it("makes the flow another, whichever of the two came first", () => {
    const followed = new FollowedNetwork({ southbound: [], northbound: [] });
    followed.take(new Map([["Logical_Flow", new Map([["f", LOGICAL_FLOW]])]]), new Map());
    expect([textOf(followed), followed.network.unreadable.length]).toEqual([undefined, 1]);
    followed.take(variables("192.0.2.1"), new Map());
    expect([textOf(followed), followed.network.unreadable.length]).toEqual(["ip4.dst == 192.0.2.1", 0]);
    followed.take(variables("192.0.2.7"), new Map());
    expect(textOf(followed)).toBe("ip4.dst == 192.0.2.7");
    followed.take(new Map([["Logical_Flow", new Map([["f", undefined]])]]), new Map());
    followed.take(variables("192.0.2.8"), new Map());
    expect(followed.network.flowsOf("s", "ingress", 0)).toEqual([]);
  });
});
