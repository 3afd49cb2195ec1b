import { ENDPOINT_DIFFERENCES } from "./differences.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DecodeError, parseJson } from "#contracts/cni/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { CniError } from "#contracts/cni/error.ts";
import { type Ipv4, formatIp, parseInterfaceAddress } from "#core/net/ip.ts";
import { gatewayPlusTwo } from "../win-bridge/plugin.ts";
import { readWindowsConfiguration } from "./windows-plugin.ts";
import { holdsJson } from "./hcn-api.ts";
import { applyForeignMask } from "./hcn-endpoint.ts";
import { addOutboundNatException, parsePortProtocol, toHcnPolicies, toHnsPolicies } from "./endpoint-plan.ts";
import { containerOfEndpointName, endpointNameOf, isNamespaceGuid, isStale } from "./plugin-call.ts";

const address = (text: string) => parseInterfaceAddress(text)!;

describe("the gateway is network + 2 in the last byte (cni.md §2.2)", () => {
  it.each([
    ["10.244.3.77/24", "10.244.3.2"],
    ["10.244.5.10/23", "10.244.4.2"],
    ["10.244.3.200/25", "10.244.3.130"],
    ["10.240.0.35/12", "10.240.0.2"],
    ["10.0.0.255/32", "10.0.0.1"],
    ["10.0.0.254/31", "10.0.0.0"],
    ["255.255.255.255/32", "255.255.255.1"],
    ["fd00:3::9/64", "fd00:3::2"],
    ["fd00::1ff/128", "fd00::101"],
  ])("CNI-045 %s", (text, gateway) => {
    expect(formatIp(gatewayPlusTwo(address(text)))).toBe(gateway);
  });

  it("changes nothing but the last byte", () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xffff_ffff }), fc.nat({ max: 32 }), (value, length) => {
        const gateway = gatewayPlusTwo({ ip: value as Ipv4, length }) as number;
        const network =
          length === 0 ? 0 : Number((BigInt(value) >> BigInt(32 - length)) << BigInt(32 - length));
        expect(Math.floor(gateway / 256)).toBe(Math.floor(network / 256));
        expect(gateway % 256).toBe(((network % 256) + 2) % 256);
      }),
    );
  });
});

describe("whose endpoint (cni.md §2.1)", () => {
  it.each([
    ["SBX", "none", "SBX_cbr0"],
    ["SBX", "", "SBX_cbr0"],
    ["WKL", "container:SBX", "SBX_cbr0"],
    ["WKL", "container:a:b", "a:b_cbr0"],
    ["SBX", "7cb720c0-ac4c-4266-92e1-dc277b2a9b94", "SBX_cbr0"],
  ])("%s in %j", (containerId, netns, name) => {
    expect(endpointNameOf(containerId, netns, "cbr0")).toBe(name);
  });

  it.each([
    ["SBX_cbr0", "SBX"],
    ["a_b_cbr0", "a_b"],
    ["_cbr0", undefined],
    ["cbr0_ep", undefined],
    ["SBX_cbr1", undefined],
  ])("%s belongs to %s", (name, container) => {
    expect(containerOfEndpointName(name, "cbr0")).toBe(container);
  });

  it.each([
    ["7cb720c0-ac4c-4266-92e1-dc277b2a9b94", true],
    ["7CB720C0-AC4C-4266-92E1-DC277B2A9B94", true],
    ["{7cb720c0-ac4c-4266-92e1-dc277b2a9b94}", false],
    ["none", false],
    ["/var/run/netns/x", false],
  ])("%s is a namespace: %s", (netns, is) => {
    expect(isNamespaceGuid(netns)).toBe(is);
  });

  it("CNI-085 the bridge endpoint of a network that is called ep is not stale", () => {
    expect(isStale({ name: "ep_ep", isRemote: false }, "ep", [])).toBe(false);
    expect(isStale({ name: "dead_ep", isRemote: false }, "ep", [])).toBe(true);
  });
});

describe("protocols of port mappings (cni.md §2.1)", () => {
  it.each([
    ["tcp", 6],
    ["UDP", 17],
    ["icmpv4", 1],
    ["IGMP", 2],
    ["icmpv6", 58],
    ["6", 6],
    ["0", 0],
    ["0x11", 17],
    ["0X11", 17],
    ["0b110", 6],
    ["0o21", 17],
    ["021", 17],
    ["1_7", 17],
    ["1023", 1023],
    ["1024", undefined],
    ["_6", undefined],
    ["6_", undefined],
    ["08", undefined],
    ["-6", undefined],
    ["sctp", undefined],
    ["", undefined],
  ])("CNI-052 %j is %s", (text, protocol) => {
    expect(parsePortProtocol(text)).toBe(protocol);
  });
});

describe("policies between the dialects", () => {
  const policy = (value: unknown) => ({ name: "EndpointPolicy", value: value as never });

  it("HCN decodes names without case and keeps the settings as they are", () => {
    const value = { type: "ACL", settings: { Action: "Block", extra: 1 } };
    expect(toHcnPolicies([policy(value)], ENDPOINT_DIFFERENCES.hardened)).toEqual([
      { Type: "ACL", Settings: { Action: "Block", extra: 1 } },
    ]);
  });

  it("upstream: null is a policy without a type, what cannot be decoded vanishes", () => {
    const policies = [policy(null), policy(undefined), policy("x"), policy({ Type: 1 }), policy({})];
    expect(toHcnPolicies(policies, ENDPOINT_DIFFERENCES.upstream)).toEqual([{ Type: "" }, { Type: "" }]);
  });

  it("HNS v1 gets every value as it was written", () => {
    expect(toHnsPolicies([policy({ Type: 1 }), policy("x"), { name: "NetworkPolicy", value: 1 }])).toEqual([
      { Type: 1 },
      "x",
    ]);
  });

  it("an exception is searched with case, in the list of the dialect", () => {
    const v1 = policy({ Type: "OutBoundNAT", ExceptionList: ["10.0.0.0/8"] });
    expect(addOutboundNatException([v1], "10.0.0.0/8", "hns", ENDPOINT_DIFFERENCES.upstream)).toHaveLength(1);
    expect(addOutboundNatException([v1], "10.0.0.0/8", "hcn", ENDPOINT_DIFFERENCES.upstream)).toHaveLength(2);
    expect(addOutboundNatException([v1], "", "hns", ENDPOINT_DIFFERENCES.upstream)).toEqual([v1]);
    expect(addOutboundNatException([v1], "10.1.0.0/16", "hns", ENDPOINT_DIFFERENCES.hardened)).toEqual([
      policy({ Type: "OutBoundNAT", ExceptionList: ["10.0.0.0/8", "10.1.0.0/16"] }),
    ]);
  });
});

it.each([
  ["10.0.0.1", "10.0.0.0/24", "10.0.0.1/24"],
  ["10.0.0.1", "fd00::/64", "10.0.0.1/0"],
  ["10.0.0.1", "fd00::100/120", "10.0.0.1/24"],
])("%s under the mask of %s is %s, as Go prints it", (ip, prefix, printed) => {
  const result = applyForeignMask(address(`${ip}/32`).ip, address(prefix));
  expect(`${formatIp(result.ip)}/${result.length}`).toBe(printed);
});

it.each([
  [{ A: 1, B: [1, 2] }, { B: [2] }, true],
  [{ A: "Block" }, { A: "block" }, true],
  [{ A: 1 }, { A: 1, B: "" }, true],
  [{ A: 1 }, { B: 2 }, false],
  [{ B: 1 }, { B: [1] }, false],
  [{ L: ["a"] }, { L: ["a", "b"] }, false],
  ["x", { A: 1 }, false],
])("%j holds %j: %s", (actual, wanted, holds) => {
  expect(holdsJson(actual as never, wanted as never)).toBe(holds);
});

function outcome(text: string): string {
  try {
    const document = parseJson(text);
    readWindowsConfiguration(isJsonObject(document) ? document : {}, ENDPOINT_DIFFERENCES.hardened);
    return "read";
  } catch (error) {
    return error instanceof DecodeError || error instanceof CniError ? "refused" : String(error);
  }
}

it("any configuration is either read or refused in the words of the contract", () => {
  const key = fc.constantFrom(
    ..."apiVersion policies Policies name Value value loopbackDSR dns nameservers search runtimeConfig portMappings hostPort protocol servers ipam type capabilities prevResult __proto__ Type Settings".split(
      " ",
    ),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(2, "EndpointPolicy", "tcp", true, null, 1.5, ""),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, value, { maxKeys: 6 }), (document) => {
      expect(["read", "refused"]).toContain(outcome(JSON.stringify(document)));
    }),
    { numRuns: 2000 },
  );
});
