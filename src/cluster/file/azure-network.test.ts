// What Azure refuses of a virtual network (control-planes.md §6.2 to §6.4, rows A1 and A2).
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseClusterFile } from "./parse-cluster-file.ts";

function text(azure: string, nodeAddress = "10.240.0.4"): string {
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: test}
underlay:
  subnet: 10.240.0.0/16
  azure: ${azure}
nodes:
  - {name: win-1, os: windows, address: ${nodeAddress}}
`;
}

function problemsOf(azure: string, nodeAddress?: string): readonly string[] {
  const result = parseClusterFile(text(azure, nodeAddress), "cluster.yaml");
  const problems = "problems" in result ? result.problems : [];
  return problems.map(({ path, message }) => `${path.replace("underlay.azure.", "")}: ${message}`);
}

const SPACE = "addressSpace: [10.240.0.0/16]";
const SUBNET = "subnets: [{name: nodes, prefix: 10.240.0.0/24}]";
const rule = (more: string): string =>
  `{${SPACE}, securityGroups: [{name: g, rules: [{name: r, direction: Inbound, access: Allow, ${more}}]}]}`;
const route = (...routes: readonly string[]): string =>
  `{${SPACE}, routeTables: [{name: t, routes: [${routes.map((each) => `{${each}}`).join(", ")}]}]}`;

describe("service tags", () => {
  const tagged = (tags: string, side: string): string =>
    `{${SPACE}, serviceTags: [${tags}], securityGroups: [{name: g, rules: [{name: r, priority: 100, direction: Inbound, access: Allow, source: [${side}]}]}]}`;
  const STORAGE = "{name: Storage, ranges: [203.0.113.0/24]}";

  it("are those of packets, and those whose ranges the file gives", () => {
    expect(problemsOf(tagged(STORAGE, "Storage"))).toEqual([]);
    expect(problemsOf(tagged("", "AzurePlatformIMDS"))).toEqual([]);
    expect(problemsOf(tagged("", "Storage"))[0]).toContain(
      `no service tag and no application group "Storage"`,
    );
  });

  it("have one meaning each", () => {
    expect(problemsOf(tagged(`${STORAGE}, ${STORAGE}`, "Storage"))[0]).toContain(
      `"Storage" is there already`,
    );
    const own = "{name: Internet, ranges: [203.0.113.0/24]}";
    expect(problemsOf(tagged(own, "Internet"))[0]).toContain(`"Internet" is there already`);
  });
});

/** An example with the address of its second node changed; problems with their codes and fields. */
function mutated(example: string, before: string, after: string): readonly string[] {
  const file = `examples/${example}/cluster.yaml`;
  const written = readFileSync(file, "utf8");
  expect(written).toContain(`address: ${before}\n`);
  const result = parseClusterFile(written.replace(`address: ${before}\n`, `address: ${after}\n`), file);
  return "problems" in result ? result.problems.map(({ code, path }) => `${code} ${path}`) : [];
}

describe("CP-A1: one reserved address turns a green example red", () => {
  const CASES = ["azure-l2bridge", "azure-l2tunnel", "cloud-routes-l2bridge"].flatMap((example) =>
    ["10.240.0.0", "10.240.0.1", "10.240.0.2", "10.240.0.3", "10.240.255.255"].map((address) => ({
      example,
      address,
    })),
  );
  it.each(CASES)("$example: a node with $address", ({ example, address }) => {
    expect(mutated(example, "10.240.0.5", "10.240.0.9")).toEqual([]);
    expect(mutated(example, "10.240.0.5", address)).toContain("cluster-file-invalid-value nodes[1].address");
  });
});

describe("a virtual network", () => {
  it("is taken as it is when Azure would take it", () => {
    expect(problemsOf(`{${SPACE}, ${SUBNET}}`)).toEqual([]);
  });

  it.each([
    ["10.240.0.0", "not a host address of the underlay"],
    ["10.240.0.2", "Azure keeps 10.240.0.2 in 10.240.0.0/24"],
    ["10.240.0.3", "Azure keeps 10.240.0.3 in 10.240.0.0/24"],
    ["10.240.0.255", "Azure keeps 10.240.0.255 in 10.240.0.0/24"],
    ["10.240.1.4", "10.240.1.4 is in no subnet of the virtual network"],
  ])("CP-A1: refuses a node with %s", (address, message) => {
    expect(problemsOf(`{${SPACE}, ${SUBNET}}`, address).join("\n")).toContain(message);
  });

  it("CP-A1: of a /29 three addresses are for machines, and a /30 is too small", () => {
    const of = (prefix: string): string => `{${SPACE}, subnets: [{name: small, prefix: ${prefix}}]}`;
    for (const last of [4, 5, 6]) expect(problemsOf(of("10.240.0.0/29"), `10.240.0.${last}`)).toEqual([]);
    expect(problemsOf(of("10.240.0.0/29"), "10.240.0.7")).toHaveLength(1);
    expect(problemsOf(of("10.240.0.4/30"), "10.240.0.5")[0]).toBe(
      "subnets[0].prefix: 10.240.0.4/30 is too small: five addresses are reserved",
    );
  });

  it.each([
    ["168.63.129.16/32", "168.63.129.16/32"],
    ["169.254.0.0/16", "169.254.0.0/16"],
    ["224.0.0.0/8", "224.0.0.0/4"],
    ["127.0.0.0/8", "127.0.0.0/8"],
  ])("CP-A2: cannot hold %s", (space, refused) => {
    expect(problemsOf(`{addressSpace: [10.240.0.0/16, ${space}]}`)).toEqual([
      `addressSpace[1]: a virtual network cannot hold ${refused}`,
    ]);
  });

  it.each([
    [`{${SPACE}, peered: [10.240.4.0/24]}`, "peered[0]: 10.240.4.0/24 overlaps the address space"],
    [
      `{${SPACE}, subnets: [{name: a, prefix: 10.240.0.0/24}, {name: b, prefix: 10.240.0.128/25}]}`,
      "subnets[1].prefix: 10.240.0.128/25 overlaps another subnet",
    ],
    [
      `{${SPACE}, subnets: [{name: a, prefix: 10.240.0.0/24}, {name: b, prefix: 10.9.0.0/24}]}`,
      "subnets[1].prefix: 10.9.0.0/24 is not in the address space",
    ],
    [
      `{${SPACE}, subnets: [{name: a, prefix: 10.240.0.0/24, routeTable: pds}], routeTables: [{name: pods}]}`,
      'subnets[0].routeTable: there is no route table "pds"',
    ],
    [
      `{${SPACE}, interfaces: [{node: win-2}, {node: win-1, securityGroup: none}]}`,
      'interfaces[1].securityGroup: there is no security group "none"',
    ],
    [`{${SPACE}, interfaces: [{node: win-2}]}`, 'interfaces[0].node: there is no node "win-2"'],
  ])("is refused: %s", (azure, message) => {
    expect(problemsOf(azure)).toContain(message);
  });
});

describe("a rule", () => {
  const SIDE = "securityGroups[0].rules[0]";

  it.each([
    ["priority: 99", `${SIDE}.priority: 99 is not a priority from 100 to 4096`],
    [
      "priority: 100, source: [AzureClod]",
      `${SIDE}.source[0]: there is no service tag and no application group "AzureClod"`,
    ],
    [
      "priority: 100, source: [Internet, 10.0.0.1]",
      `${SIDE}.source[1]: a side has ranges, one service tag, or application groups`,
    ],
    [
      "priority: 100, source: [Internet, VirtualNetwork]",
      `${SIDE}.source[1]: a side has ranges, one service tag, or application groups`,
    ],
    [
      'priority: 100, destinationPorts: ["90-80"]',
      `${SIDE}.destinationPorts[0]: "90-80" is not a port or a range of ports`,
    ],
    [
      "priority: 100, source: [10.0.0.300]",
      `${SIDE}.source[0]: "10.0.0.300" is not an address, a range, a service tag or an application group`,
    ],
  ])("is refused: %s", (more, message) => {
    expect(problemsOf(rule(more)).join("\n")).toContain(message);
  });

  it("has a priority that no other rule of its direction has", () => {
    const rules = ["Inbound", "Outbound", "Inbound"].map(
      (direction, index) => `{name: r${index}, priority: 200, direction: ${direction}, access: Deny}`,
    );
    const azure = `{${SPACE}, securityGroups: [{name: g, rules: [${rules.join(", ")}]}]}`;
    expect(problemsOf(azure)).toEqual([
      'securityGroups[0].rules[2].priority: rule "r0" has this priority already',
    ]);
  });
});

describe("a route", () => {
  it.each([
    [["name: a, to: 10.1.0.0/24, nextHopType: VirtualAppliance"], "a virtual appliance has an address"],
    [["name: a, to: 10.1.0.0/24, nextHopType: None, nextHop: 10.240.0.5"], "None has no address"],
    [
      ["name: a, to: 10.1.0.0/24, nextHopType: None", "name: b, to: 10.1.0.0/24, nextHopType: Internet"],
      "the table has a route to 10.1.0.0/24 already",
    ],
    [["name: a, to: 10.1.0.0/24, nextHopType: VNetPeering"], '"VNetPeering" is not possible here'],
  ])("is refused: %s", (routes, message) => {
    expect(problemsOf(route(...routes)).join("\n")).toContain(message);
  });

  it("is one of at most 400 in a table", () => {
    const routes = (count: number): string =>
      route(
        ...Array.from(
          { length: count },
          (_, index) => `name: r${index}, to: 10.${index >> 8}.${index & 255}.0/24, nextHopType: None`,
        ),
      );
    expect(problemsOf(routes(400))).toEqual([]);
    expect(problemsOf(routes(401)).join("\n")).toContain("the list has 401 items, and 400 are the most");
  });
});
