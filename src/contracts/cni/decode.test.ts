import { describe, expect, it } from "vitest";
import { DecodeError, StructReader, equalFold, readStruct } from "./json.ts";

describe("struct-like objects are read as Go reads them", () => {
  const reader = new StructReader({
    Policies: [{ NAME: "EndpointPolicy" }],
    hostPort: 80,
    HOSTPORT: 81,
    absent: null,
    flag: true,
    dns: { Nameservers: ["10.96.0.10", null] },
  });

  it("matches names without regard to case, the later of two spellings wins, null is absent", () => {
    expect(reader.structs("policies")[0]?.text("name")).toBe("EndpointPolicy");
    expect(reader.integer("hostport")).toBe(81);
    expect(reader.raw("absent")).toBeUndefined();
    expect(reader.struct("DNS")?.texts("nameservers")).toEqual(["10.96.0.10", ""]);
    expect(new StructReader({ "\u212aey": 1 }).integer("key")).toBe(1);
  });

  it("gives the zero value for what is absent", () => {
    expect([reader.text("x"), reader.boolean("x"), reader.integer("x"), reader.list("x")]).toEqual([
      "",
      false,
      undefined,
      [],
    ]);
  });

  it.each([
    [() => reader.text("flag"), 'field "flag" must be a text, not true'],
    [() => reader.boolean("dns"), 'field "dns" must be true or false, not an object'],
    [() => reader.integer("policies"), 'field "policies" must be a whole number, not a list'],
    [() => reader.integer("flag"), 'field "flag" must be a whole number, not true'],
    [
      () => new StructReader({ apiVersion: "2" }).integer("apiVersion"),
      'field "apiVersion" must be a whole number, not the text "2"',
    ],
    [() => new StructReader({ n: 1.5 }).integer("n"), 'field "n" must be a whole number, not 1.5'],
    [() => reader.struct("dns")?.text("nameservers"), 'field "dns.nameservers" must be a text, not a list'],
    [
      () => reader.struct("dns")?.list("x") && new StructReader({ s: [1] }, "dns").texts("s"),
      'field "dns.s[0]" must be a text, not 1',
    ],
    [() => new StructReader({ list: [{}, 7] }).structs("list"), 'field "list[1]" must be an object, not 7'],
    [() => new StructReader({ o: [] }).object("o"), 'field "o" must be an object, not a list'],
    [
      () => readStruct("x".repeat(60), "ipam"),
      `field "ipam" must be an object, not the text "${"x".repeat(40)}…"`,
    ],
  ])("names the field: %#", (read, message) => {
    expect(read).toThrowError(DecodeError);
    expect(read).toThrowError(message);
  });

  it("folds as Go folds", () => {
    expect(equalFold("EndpointPolicy", "ENDPOINTPOLICY")).toBe(true);
    expect(equalFold("EndpointPolicy", "EndpointPolicies")).toBe(false);
  });
});
