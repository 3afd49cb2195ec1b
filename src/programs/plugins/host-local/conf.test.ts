import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runWithTexts } from "#test/support/cni/cni-process.ts";
import { CniError } from "#contracts/cni/error.ts";
import { DecodeError, parseJson } from "#contracts/cni/json.ts";
import { isJsonObject, type JsonValue } from "#core/base/json.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { formatIp } from "#core/net/ip.ts";
import { HostLocalConfigurationError, readHostLocalConfiguration, HostLocal } from "./plugin.ts";
import { MemoryLeaseStore, formatRangeSet } from "./leases.ts";

function requestOf(configuration: JsonValue, args = ""): PluginRequest {
  return {
    command: "ADD",
    containerId: "SBX",
    netns: "ns",
    ifName: "eth0",
    args,
    path: "",
    env: {},
    cniVersion: "1.0.0",
    configuration: isJsonObject(configuration) ? configuration : {},
    configurationText: JSON.stringify(configuration),
    platform: "linux",
    warn: () => undefined,
  };
}

const read = (ipam: JsonValue, rest: { readonly [key: string]: JsonValue } = {}, args = "") =>
  readHostLocalConfiguration(requestOf({ cniVersion: "1.0.0", name: "n", ipam, ...rest }, args));

describe("text to value (cni.md §4.1)", () => {
  it("sets come in the order runtime, single, ranges", () => {
    const configuration = read(
      { subnet: "10.2.0.0/24", Ranges: [[{ SUBNET: "10.3.0.0/24" }]] },
      { runtimeConfig: { ipRanges: [[{ subnet: "10.1.0.0/24" }]] } },
    );
    expect(configuration.rangeSets.map(formatRangeSet)).toEqual([
      "10.1.0.1-10.1.0.254",
      "10.2.0.1-10.2.0.254",
      "10.3.0.1-10.3.0.254",
    ]);
  });

  it("requested addresses come from CNI_ARGS, args and the runtime, each once, prefix or not", () => {
    const configuration = read(
      { subnet: "10.1.0.0/24" },
      {
        args: { cni: { ips: ["10.1.0.8", "10.1.0.7/24"] } },
        runtimeConfig: { ips: ["10.1.0.9/24", "10.1.0.7"] },
      },
      "IgnoreUnknown=1;K8S_POD_NAME=web;IP=10.1.0.6/24",
    );
    expect(configuration.requestedIps.map(formatIp)).toEqual([
      "10.1.0.6",
      "10.1.0.8",
      "10.1.0.7",
      "10.1.0.9",
    ]);
  });

  it("the default folder is that of upstream", () => {
    expect(read({ subnet: "10.1.0.0/24" }).network).toEqual({ dataDir: "/var/lib/cni/networks", name: "n" });
    expect(read({ subnet: "10.1.0.0/24", dataDir: "/run/x" }).network.dataDir).toBe("/run/x");
  });
});

/** cni.md §7.F F12, and what upstream was seen to answer to further mistakes. */
const MISTAKES: readonly [id: string, ipam: JsonValue, message: string | RegExp][] = [
  ["CNI-EX-F12 no ipam", null, "IPAM config missing 'ipam' key"],
  ["CNI-EX-F12 empty", {}, "no IP ranges specified"],
  ["CNI-EX-F12 only rangeStart", { rangeStart: "10.0.0.1" }, "no IP ranges specified"],
  [
    "CNI-EX-F12 host bits",
    { subnet: "10.1.2.3/24" },
    "invalid range set 0: Network has host bits set. For a subnet mask of length 24 the network address is 10.1.2.0",
  ],
  [
    "CNI-EX-F12 small",
    { subnet: "10.1.2.0/31" },
    "invalid range set 0: Network 10.1.2.0/31 too small to allocate from",
  ],
  [
    "CNI-EX-F12 start",
    { subnet: "10.1.2.0/24", rangeStart: "10.9.0.1" },
    "invalid range set 0: RangeStart 10.9.0.1 not in network 10.1.2.0/24",
  ],
  [
    "CNI-EX-F12 mixed",
    { ranges: [[{ subnet: "10.1.2.0/24" }, { subnet: "fd00::/64" }]] },
    "invalid range set 0: mixed address families",
  ],
  [
    "CNI-EX-F12 overlap of sets",
    { ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "10.1.0.0/25" }]] },
    "range set 0 overlaps with 1",
  ],
  [
    "CNI-EX-F12 overlap in a set",
    { ranges: [[{ subnet: "10.1.0.0/24" }, { subnet: "10.1.0.0/25" }]] },
    "invalid range set 0: subnets 10.1.0.1-10.1.0.254 and 10.1.0.1-10.1.0.126 overlap",
  ],
  ["empty set", { ranges: [[]] }, "invalid range set 0: empty range set"],
  ["null set", { ranges: [null] }, "invalid range set 0: empty range set"],
  [
    "a range without subnet",
    { ranges: [[{ rangeStart: "10.0.0.1" }]] },
    "invalid range set 0: IP <nil> not v4 nor v6",
  ],
  [
    "a prefix beyond 32",
    { subnet: "10.1.2.0/33" },
    /field "ipam.subnet" must be a network such as .*, not the text "10.1.2.0\/33"/,
  ],
  ["a subnet that is not text", { subnet: 5 }, /field "ipam.subnet" must be a text, not 5/],
  [
    "a gateway that is none",
    { subnet: "10.1.2.0/24", gateway: "zz" },
    /field "ipam.gateway" must be an IP address, not the text "zz"/,
  ],
  [
    "a range that is not a list",
    { ranges: [{ subnet: "10.1.2.0/24" }] },
    /field "ipam.ranges\[0\]" must be a list of ranges, not an object/,
  ],
  [
    "a bad subnet deep inside",
    { ranges: [[{ subnet: "10.1.0.0/24" }, { subnet: "x" }]] },
    /field "ipam.ranges\[0\]\[1\].subnet"/,
  ],
  [
    "a route without dst",
    { subnet: "10.1.2.0/24", routes: [{ gw: "10.1.2.1" }] },
    /field "ipam.routes\[0\].dst"/,
  ],
  ["ipam that is a text", "host-local", /field "ipam" must be an object/],
];

describe("mistakes name the field", () => {
  it.each(MISTAKES)("%s", (_id, ipam, message) => {
    expect(() => read(ipam)).toThrowError(message);
  });

  it.each(MISTAKES)("%s: code 999 as upstream, 7 in hardened mode", async (_id, ipam) => {
    for (const compat of ["upstream", "hardened"] as const) {
      const plugin = new HostLocal({ store: new MemoryLeaseStore(), compat });
      const run = await runWithTexts(plugin, { stdin: { cniVersion: "1.0.0", name: "n", ipam } });
      expect(JSON.parse(run.stdout)).toMatchObject({ code: compat === "hardened" ? 7 : 999 });
      expect(run.explained).toBe("ipam-range-invalid");
    }
  });

  it("CNI-EX-F12 CNI-127 two IPv4 sets with 0.2.0", () => {
    const two = { ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "10.2.0.0/24" }]] };
    const message = "CNI version 0.2.0 does not support more than 1 address per family";
    expect(() => read(two, { cniVersion: "0.2.0" })).toThrowError(message);
    expect(read(two, { cniVersion: "0.3.0" }).rangeSets).toHaveLength(2);
    const dual = { ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "fd00::/64" }]] };
    expect(read(dual, { cniVersion: "0.2.0" }).rangeSets).toHaveLength(2);
  });

  it.each([
    ["K8S_POD_NAME=web", 'ARGS: unknown args ["K8S_POD_NAME=web"]'],
    ["IP=foo", 'ARGS: error parsing value of pair "IP=foo": invalid IP address foo'],
  ])("CNI-125 CNI_ARGS %s", (args, message) => {
    expect(() => read({ subnet: "10.1.0.0/24" }, {}, args)).toThrowError(message);
  });

  it("addresses that are none", () => {
    const subnet = { subnet: "10.1.0.0/24" };
    expect(() => read(subnet, { runtimeConfig: { ips: ["10.1.0.9", "x"] } })).toThrowError(
      'field "runtimeConfig.ips[1]" must be an IP address, not the text "x"',
    );
    expect(() => read(subnet, { runtimeConfig: { ips: [""] } })).toThrowError(
      "cannot understand ip: IP <nil> not v4 nor v6",
    );
  });
});

function outcome(document: object): string {
  try {
    readHostLocalConfiguration(requestOf(parseJson(JSON.stringify(document))));
    return "read";
  } catch (error) {
    const isOurs = [DecodeError, HostLocalConfigurationError, CniError].some((kind) => error instanceof kind);
    return isOurs ? "refused" : String(error);
  }
}

it("any configuration is either read or refused in the words of the contract", () => {
  const leaf = fc.oneof(
    fc.constantFrom(
      "10.1.0.0/24",
      "10.1.0.9",
      "fd00::/64",
      "fd00::1",
      "host-local",
      "",
      "x",
      "0.0.0.0/0",
      "::/0",
    ),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  const key = fc.constantFrom(
    "ipam",
    "Ipam",
    "subnet",
    "ranges",
    "rangeStart",
    "rangeEnd",
    "gateway",
    "routes",
    "dst",
    "gw",
    "dataDir",
    "resolvConf",
    "runtimeConfig",
    "ips",
    "ipRanges",
    "args",
    "cni",
    "cniVersion",
    "__proto__",
  );
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, value, { maxKeys: 5 }), (document) => {
      expect(["read", "refused"]).toContain(outcome({ ...document, name: "n" }));
    }),
    { numRuns: 2000 },
  );
});
