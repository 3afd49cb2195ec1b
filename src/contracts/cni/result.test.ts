import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Ipv4, type Ipv6, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import { isFields } from "#core/base/json.ts";
import { resultSchema } from "./result-schema.ts";
import { SPEC_VERSIONS } from "./version.ts";
import { type CniResult, EMPTY_DNS, formatResult, parseResult, printResult } from "./result.ts";

const address = (text: string) => parseInterfaceAddress(text)!;
const ip = (text: string) => parseIp(text)!;

const FULL: CniResult = {
  interfaces: [
    { name: "eth0", mac: "00-15-5D-AA-BB-CC", mtuBytes: 1450, sandbox: "ns", pciId: "0000:00:1f.2" },
  ],
  ips: [
    { interface: 0, address: address("10.244.3.2/24"), gateway: ip("10.244.3.1") },
    { address: address("fd00:3::2/64") },
  ],
  routes: [
    { destination: address("0.0.0.0/0") },
    {
      destination: address("10.96.0.0/12"),
      gateway: ip("10.244.3.2"),
      mtuBytes: 1400,
      priority: 5,
      table: 100,
      scope: 0,
    },
    { destination: address("::/0"), gateway: ip("fd00:3::1") },
  ],
  dns: { nameservers: ["10.96.0.10"], domain: "", search: ["svc.cluster.local"], options: ["ndots:5"] },
};

/** The schema without room for fields that it does not name. */
function closed(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) =>
    isFields(value) && value["properties"] !== undefined ? { ...value, additionalProperties: false } : value,
  ) as object;
}

it.each(SPEC_VERSIONS)("the schema names every field of a result of %s", (version) => {
  const validate = new Ajv2020({ strict: true }).compile(closed(resultSchema()));
  validate(formatResult(FULL, version));
  expect(validate.errors ?? []).toEqual([]);
  validate({ ...formatResult(FULL, version), moons: 2 });
  expect(validate.errors).toMatchObject([{ keyword: "additionalProperties" }]);
});

describe("one result in every version (cni.md §1.5)", () => {
  it("0.2.0: the first address of each family, routes by destination, no interfaces", () => {
    expect(formatResult(FULL, "0.2.0")).toEqual({
      cniVersion: "0.2.0",
      ip4: {
        ip: "10.244.3.2/24",
        gateway: "10.244.3.1",
        routes: [{ dst: "0.0.0.0/0" }, { dst: "10.96.0.0/12", gw: "10.244.3.2" }],
      },
      ip6: { ip: "fd00:3::2/64", routes: [{ dst: "::/0", gw: "fd00:3::1" }] },
      dns: { nameservers: ["10.96.0.10"], search: ["svc.cluster.local"], options: ["ndots:5"] },
    });
  });

  it("0.4.0: keys in the order of the structures, families as texts, no mtu on interfaces", () => {
    expect(JSON.stringify(formatResult(FULL, "0.4.0"))).toBe(
      '{"cniVersion":"0.4.0","interfaces":[{"name":"eth0","mac":"00-15-5D-AA-BB-CC","sandbox":"ns"}],' +
        '"ips":[{"version":"4","interface":0,"address":"10.244.3.2/24","gateway":"10.244.3.1"},{"version":"6","address":"fd00:3::2/64"}],' +
        '"routes":[{"dst":"0.0.0.0/0"},{"dst":"10.96.0.0/12","gw":"10.244.3.2","mtu":1400,"priority":5,"table":100,"scope":0},{"dst":"::/0","gw":"fd00:3::1"}],' +
        '"dns":{"nameservers":["10.96.0.10"],"search":["svc.cluster.local"],"options":["ndots:5"]}}',
    );
  });

  it("1.1.0: keys in alphabetical order at every level", () => {
    expect(JSON.stringify(formatResult(FULL, "1.1.0"))).toBe(
      '{"cniVersion":"1.1.0","dns":{"nameservers":["10.96.0.10"],"options":["ndots:5"],"search":["svc.cluster.local"]},' +
        '"interfaces":[{"mac":"00-15-5D-AA-BB-CC","mtu":1450,"name":"eth0","pciID":"0000:00:1f.2","sandbox":"ns"}],' +
        '"ips":[{"address":"10.244.3.2/24","gateway":"10.244.3.1","interface":0},{"address":"fd00:3::2/64"}],' +
        '"routes":[{"dst":"0.0.0.0/0"},{"dst":"10.96.0.0/12","gw":"10.244.3.2","mtu":1400,"priority":5,"scope":0,"table":100},{"dst":"::/0","gw":"fd00:3::1"}]}',
    );
  });

  it("CNI-020 0.2.0 with two IPv4 addresses: only the first", () => {
    expect(formatResult(resultWith("10.0.0.1/24", "10.0.0.2/24"), "0.2.0")).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.0.0.1/24" },
      dns: {},
    });
  });

  it("CNI-021 no address in 0.2.0", () => {
    expect(() => formatResult(resultWith(), "0.2.0")).toThrowError("cannot convert: no valid IP addresses");
    expect(formatResult(resultWith(), "0.3.0")).toEqual({ cniVersion: "0.3.0", dns: {} });
  });

  it("CNI-022 an empty dns is printed below 1.0.0 and dropped from there on", () => {
    const result = resultWith("10.0.0.1/24");
    expect(formatResult(result, "0.4.0")["dns"]).toEqual({});
    expect(formatResult(result, "1.0.0")).not.toHaveProperty("dns");
  });

  it("CNI-023 ips carry their version in 0.4.0 and not in 1.0.0", () => {
    const result = resultWith("10.0.0.1/24");
    expect(formatResult(result, "0.4.0")["ips"]).toEqual([{ version: "4", address: "10.0.0.1/24" }]);
    expect(formatResult(result, "1.0.0")["ips"]).toEqual([{ address: "10.0.0.1/24" }]);
  });

  it("prints with four spaces and no newline at the end", () => {
    expect(printResult(resultWith("10.0.0.1/24"), "0.2.0")).toBe(
      '{\n    "cniVersion": "0.2.0",\n    "ip4": {\n        "ip": "10.0.0.1/24"\n    },\n    "dns": {}\n}',
    );
  });
});

describe("reading results", () => {
  it("passes by what the structure of its version does not have, and takes what a route has in any", () => {
    const interfaces = [{ name: "eth0", mac: "00-15-5D-00-00-01", mtu: 1450, pciID: "0000:00:1f.2" }];
    expect(parseResult({ cniVersion: "0.4.0", interfaces }, "").interfaces).toEqual([
      { name: "eth0", mac: "00-15-5D-00-00-01" },
    ]);
    expect(parseResult({ cniVersion: "1.0.0", interfaces }, "").interfaces).toMatchObject([
      { mtuBytes: 1450 },
    ]);
    const ip4 = { ip: "10.0.0.1/24", routes: [{ dst: "0.0.0.0/0", gw: "10.0.0.254", mtu: 1400 }] };
    expect(parseResult({ cniVersion: "0.2.0", ip4 }, "").routes).toMatchObject([{ mtuBytes: 1400 }]);
  });

  it("takes the version of the configuration when the result has none", () => {
    expect(parseResult({ ip4: { ip: "10.0.0.1/24" } }, "0.2.0")).toEqual(resultWith("10.0.0.1/24"));
    expect(parseResult({ ips: [{ address: "10.0.0.1/24" }] }, "1.0.0")).toEqual(resultWith("10.0.0.1/24"));
  });

  it.each([
    [{ cniVersion: "2.0.0" }, 'unsupported CNI result version "2.0.0"'],
    [
      { cniVersion: "1.0.0", ips: [{ address: "10.0.0.1" }] },
      'field "ips[0].address" must be an address with a prefix length',
    ],
    [
      { cniVersion: "1.0.0", ips: [{ address: "10.0.0.1/8", gateway: "x" }] },
      'field "ips[0].gateway" must be an IP address',
    ],
    [{ cniVersion: "1.0.0", routes: [{ gw: "10.0.0.1" }] }, 'field "routes[0].dst"'],
    ["text", 'must be an object, not the text "text"'],
  ])("refuses %j", (document, message) => {
    expect(() => parseResult(document, "1.0.0")).toThrowError(message);
  });

  const arbitraryIp = fc.oneof(
    fc.nat({ max: 0xffff_ffff }).map((value) => value as Ipv4),
    fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value) => value as Ipv6),
  );
  const arbitraryAddress = fc
    .tuple(arbitraryIp, fc.nat({ max: 128 }))
    .map(([value, length]) => ({ ip: value, length: typeof value === "number" ? length % 33 : length }));
  const text = fc.string({ minLength: 1, maxLength: 12 });
  const positive = fc.integer({ min: 1, max: 9000 });
  const arbitraryResult: fc.Arbitrary<CniResult> = fc.record({
    interfaces: fc.array(
      fc.record(
        { name: fc.string(), mac: text, mtuBytes: positive, sandbox: text, socketPath: text, pciId: text },
        { requiredKeys: ["name"] },
      ),
    ),
    ips: fc.array(
      fc.record(
        { interface: fc.nat(), address: arbitraryAddress, gateway: arbitraryIp },
        { requiredKeys: ["address"] },
      ),
    ),
    routes: fc.array(
      fc.record(
        {
          destination: arbitraryAddress,
          gateway: arbitraryIp,
          mtuBytes: positive,
          advertisedMssBytes: positive,
          priority: positive,
          table: fc.nat(),
          scope: fc.nat(),
        },
        { requiredKeys: ["destination"] },
      ),
    ),
    dns: fc.record({
      nameservers: fc.array(fc.string()),
      domain: fc.string(),
      search: fc.array(fc.string()),
      options: fc.array(fc.string()),
    }),
  });

  it("parse of format is the same result in 1.1.0", () => {
    fc.assert(
      fc.property(arbitraryResult, (result) => {
        const copy = parseResult(JSON.parse(printResult(result, "1.1.0")) as never, "");
        expect(copy).toEqual(stripPrototypes(result));
      }),
      { numRuns: 300 },
    );
  });

  it("what one version can hold survives the way to it and back", () => {
    fc.assert(
      fc.property(arbitraryResult, fc.constantFrom("0.3.0", "0.4.0", "1.0.0"), (result, version) => {
        const once = formatResult(result, version);
        expect(formatResult(parseResult(once, ""), version)).toEqual(once);
      }),
      { numRuns: 300 },
    );
  });

  it("an empty result is the empty result", () => {
    expect(parseResult({}, "1.1.0")).toEqual({ interfaces: [], ips: [], routes: [], dns: EMPTY_DNS });
  });
});

/** fast-check makes records without a prototype, which `toEqual` does not mind but nested ones print oddly. */
function stripPrototypes(result: CniResult): CniResult {
  return {
    interfaces: result.interfaces.map((value) => ({ ...value })),
    ips: result.ips.map((value) => ({ ...value })),
    routes: result.routes.map((value) => ({ ...value })),
    dns: { ...result.dns },
  };
}
