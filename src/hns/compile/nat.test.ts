import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { type Ipv4, formatPrefix, parseIp } from "#core/net/ip.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { endpointRecord } from "#test/support/hns/endpoint-record.ts";
import { compileOutBoundNat } from "./outbound-nat.ts";
import { compilePortMappings } from "./port-mapping.ts";

const NODE = parseIp("10.0.0.11") as Ipv4;
const nat = (Settings: object): PolicyDocument => ({ Type: "OutBoundNAT", Settings: { ...Settings } });
const route = (DestinationPrefix: string): PolicyDocument => ({
  Type: "SDNRoute",
  Settings: { DestinationPrefix, NeedEncap: true },
});

function compile(
  policies: readonly PolicyDocument[],
  ips?: readonly string[],
): ReturnType<typeof compileOutBoundNat> {
  return compileOutBoundNat(endpointRecord({ policies, ...(ips !== undefined && { ips }) }), NODE);
}

/** `protocol source ≠exceptions =destinations`. */
function show(rule: Rule): string {
  const { protocols, source, destination, destinationExcept } = rule.condition;
  const list = (prefixes: typeof source): string => prefixes?.map(formatPrefix).join(",") ?? "";
  return `${protocols?.join(",")} ${list(source)} ≠${list(destinationExcept)} =${list(destination)}`;
}

describe("OutBoundNAT → SLB_NAT_LAYER", () => {
  it.each<[string, readonly PolicyDocument[], readonly string[]]>([
    ["no policy, no rule", [], []],
    ["{} translates all", [nat({})], ["6 10.244.1.10/32 ≠ =", "17 10.244.1.10/32 ≠ ="]],
    [
      "exceptions keep the address",
      [nat({ Exceptions: ["10.96.0.0/12", "10.0.0.5"] })],
      ["6 10.244.1.10/32 ≠10.96.0.0/12,10.0.0.5/32 =", "17 10.244.1.10/32 ≠10.96.0.0/12,10.0.0.5/32 ="],
    ],
    [
      "an SDNRoute bypasses source NAT",
      [nat({ Exceptions: ["10.244.0.0/16"] }), route("10.0.0.11/32")],
      ["6 10.244.1.10/32 ≠10.0.0.11/32,10.244.0.0/16 =", "17 10.244.1.10/32 ≠10.0.0.11/32,10.244.0.0/16 ="],
    ],
    [
      "two policies unite their exceptions (CNI-EX-A6)",
      [nat({ Exceptions: ["10.96.0.0/12"] }), nat({ Exceptions: ["10.244.0.0/16"] })],
      ["6 10.244.1.10/32 ≠10.96.0.0/12,10.244.0.0/16 =", "17 10.244.1.10/32 ≠10.96.0.0/12,10.244.0.0/16 ="],
    ],
    [
      "DT-140 a positive list stands apart and is asked first (CNI-EX-A10)",
      [nat({ Exceptions: ["10.244.0.0/16"] }), nat({ Destinations: ["10.244.1.10"] })],
      [
        "6 10.244.1.10/32 ≠ =10.244.1.10/32",
        "17 10.244.1.10/32 ≠ =10.244.1.10/32",
        "6 10.244.1.10/32 ≠10.244.0.0/16 =",
        "17 10.244.1.10/32 ≠10.244.0.0/16 =",
      ],
    ],
    ["HCN-084 a policy for IPv6 makes no rule", [nat({ Flags: 2 })], []],
    ["an SDNRoute alone makes no rule", [route("10.96.0.0/12")], []],
  ])("%s", (_name, policies, rules) => {
    expect(compile(policies).groups.flatMap((group) => group.rules.map(show))).toEqual(rules);
  });

  it("names of group, rules and pools are those of Windows", () => {
    const compiled = compile([nat({})]);
    expect(compiled.groups[0]).toMatchObject({ name: "SLB_GROUP_NAT_IPv4_OUT", direction: "out", family: 4 });
    expect(compiled.groups[0]?.rules.map((rule) => rule.name)).toEqual([
      "SNAT_TCP_OUTBOUNDNAT_ep_10.0.0.11",
      "SNAT_UDP_OUTBOUNDNAT_ep_10.0.0.11",
    ]);
    expect(compiled.pools).toEqual([
      { name: "SLB_NATPOOL_IPV4_TCP_10.244.1.1010.0.0.11ep0", ip: NODE, protocol: 6, portsMax: undefined },
      { name: "SLB_NATPOOL_IPV4_UDP_10.244.1.1010.0.0.11ep0", ip: NODE, protocol: 17, portsMax: undefined },
    ]);
    expect(compiled.groups[0]?.rules[0]?.action).toEqual({ type: "dynnat", pool: compiled.pools[0]?.name });
  });

  it("VirtualIP replaces the node's address, and MaxPortPoolUsage bounds the pool", () => {
    const compiled = compile([nat({ VirtualIP: "10.0.0.99", MaxPortPoolUsage: 64 })]);
    expect(compiled.addresses).toEqual([parseIp("10.0.0.99")]);
    expect(compiled.pools[0]).toMatchObject({ ip: parseIp("10.0.0.99"), portsMax: 64 });
  });

  it("each rule knows its policy and explains what it misses", () => {
    const compiled = compile([route("10.96.0.0/12"), nat({ Exceptions: ["10.244.0.0/16"] })]);
    expect(compiled.groups[0]?.rules[0]).toMatchObject({
      provenance: { object: "HostComputeEndpoint", policy: { type: "OutBoundNAT", index: 1 } },
      missCodes: {
        protocols: "icmp-outbound-not-translated",
        destinationExcept: "outbound-nat-exception",
      },
    });
  });

  it("a second policy for the same address widens the first one's rules, and changes nothing else of them", () => {
    const first = nat({ Exceptions: ["10.96.0.0/12"], MaxPortPoolUsage: 64 });
    const one = compile([first]);
    const two = compile([first, nat({ Exceptions: ["10.244.0.0/16"], MaxPortPoolUsage: 8 })]);
    const withoutExceptions = ({ condition, ...rest }: Rule): object => ({
      ...rest,
      condition: { ...condition, destinationExcept: undefined },
    });
    expect(two.groups[0]?.rules.map(withoutExceptions)).toEqual(one.groups[0]?.rules.map(withoutExceptions));
    expect(two.groups[0]?.rules.map((rule) => rule.condition.destinationExcept?.map(formatPrefix))).toEqual([
      ["10.96.0.0/12", "10.244.0.0/16"],
      ["10.96.0.0/12", "10.244.0.0/16"],
    ]);
    expect(two.pools).toEqual(one.pools);
    // The same for another address are rules of their own.
    const other = compile([first, nat({ VirtualIP: "10.0.0.99" })]);
    expect(new Set(other.groups[0]?.rules.map(({ id }) => id)).size).toBe(4);
  });

  it("an endpoint without an IPv4 address has no rules", () => {
    expect(compile([nat({})], ["fd00::10"]).groups).toEqual([]);
  });
});

describe("PortMapping → SLB_NAT_LAYER", () => {
  const mapping = (Settings: object): PolicyDocument => ({
    Type: "PortMapping",
    Settings: { InternalPort: 80, ExternalPort: 8080, ...Settings },
  });
  const compileMapping = (settings: object): ReturnType<typeof compilePortMappings> =>
    compilePortMappings(endpointRecord({ policies: [mapping(settings)] }), NODE, [4, 6]);

  it("DT-126 the node's port becomes the pod's, on the pod's own port of the switch", () => {
    const compiled = compileMapping({ Protocol: 6, Flags: 1 });
    expect(compiled.groups[0]).toMatchObject({ name: "SLB_GROUP_NAT_IPv4_IN", direction: "in" });
    expect(compiled.groups[0]?.rules).toMatchObject([
      {
        name: "NAT_ep_10.0.0.11_8080_6",
        condition: {
          protocols: [6],
          destination: [{ address: NODE, length: 32 }],
          destinationPorts: [{ first: 8080, last: 8080 }],
        },
        action: { type: "nat", side: "destination", ip: parseIp("10.244.1.10"), port: 80 },
        isStateful: true,
        provenance: { policy: { type: "PortMapping", index: 0 } },
      },
    ]);
    expect(compiled.bindings).toEqual([{ ip: NODE, protocol: 6, port: 8080 }]);
  });

  it("a VIP replaces the node's address", () => {
    expect(compileMapping({ Protocol: 6, Flags: 1, VIP: "10.0.0.99" }).addresses).toEqual([
      parseIp("10.0.0.99"),
    ]);
  });

  it("without a protocol it holds for TCP and UDP", () => {
    expect(compileMapping({ Flags: 1 }).bindings.map((binding) => binding.protocol)).toEqual([6, 17]);
  });

  it.each([{}, { Flags: 1 }, { Flags: 4 }])("CNI-055 flags %j: the mapping stands", (settings) => {
    expect(compileMapping({ Protocol: 6, ...settings }).bindings).toEqual([
      { ip: NODE, protocol: 6, port: 8080 },
    ]);
  });

  it.each([{ Protocol: 6, Flags: 3 }])("%j makes no rule", (settings) => {
    expect(compileMapping(settings).bindings).toEqual([]);
  });
});
