import { describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { parseEndpoint } from "./endpoint.ts";
import { parseGuid } from "../guid.ts";
import { checkJsonValue, parseJsonText } from "../description/json.ts";
import { parseModifyRequest, parseQuery } from "./request.ts";
import { parseNamespace } from "./namespace.ts";
import { gatewayOf, parseNetwork, subnetsOf } from "./network.ts";

describe("GUIDs", () => {
  it.each([
    ["0FB28D70-306C-469D-9690-3245A82D882A", "0fb28d70-306c-469d-9690-3245a82d882a"],
    ["{0fb28d70-306c-469d-9690-3245a82d882a}", "0fb28d70-306c-469d-9690-3245a82d882a"],
    ["{0fb28d70-306c-469d-9690-3245a82d882a", undefined],
    ["0fb28d70306c469d96903245a82d882a", undefined],
    ["", undefined],
  ])("%j is %s", (text, guid) => {
    expect(parseGuid(text)).toBe(guid);
  });
});

describe("JSON from outside", () => {
  it("is refused when it nests too deeply", () => {
    const text = `${"[".repeat(LIMITS.documentDepthMax + 2)}${"]".repeat(LIMITS.documentDepthMax + 2)}`;
    expect(() => parseJsonText(text)).toThrow(expect.objectContaining({ code: "HCN_E_INVALID_JSON" }));
  });

  it.each(["", "{", '{"a":}', "nul"])("%j is refused", (text) => {
    expect(() => parseJsonText(text)).toThrow(expect.objectContaining({ code: "HCN_E_INVALID_JSON" }));
  });

  it("is a copy that the caller cannot change afterwards", () => {
    const given = { Ipams: [{ Type: "Static" }] };
    const checked = checkJsonValue(given);
    given.Ipams[0]!.Type = "Dhcp";
    expect(checked).toEqual({ Ipams: [{ Type: "Static" }] });
    expect(Object.isFrozen(checked)).toBe(true);
  });
});

describe("network documents", () => {
  it.each([
    ["L2Bridge", "L2Bridge"],
    ["l2bridge", "L2Bridge"],
    [3, "L2Bridge"],
    ["nat", "NAT"],
    [0, "NAT"],
  ])("Type %j is %s", (given, type) => {
    expect(parseNetwork({ Type: given }).Type).toBe(type);
  });

  it.each(["static", "Static", 0, "DHCP", "Dhcp", 1])("Ipam type %j is known", (Type) => {
    expect(["Static", "Dhcp"]).toContain(parseNetwork({ Ipams: [{ Type }] }).Ipams?.[0]?.Type);
  });

  it("an unknown type is an invalid network type", () => {
    expect(() => parseNetwork({ Type: "Layered3" })).toThrow(
      expect.objectContaining({ code: "HCN_E_INVALID_NETWORK_TYPE" }),
    );
  });

  it("a field of the wrong type is bad JSON and is named", () => {
    expect(() => parseNetwork({ Ipams: [{ Subnets: [{ IpAddressPrefix: 5 }] }] })).toThrow(
      "network.Ipams[0].Subnets[0].IpAddressPrefix is 5; it must be a text",
    );
  });

  it("unknown fields are ignored, and the old flat form of a subnet policy is read", () => {
    const network = parseNetwork({
      Naem: "x",
      Ipams: [
        { Subnets: [{ IpAddressPrefix: "10.0.0.0/8", Policies: [{ Type: "VLAN", IsolationId: 100 }] }] },
      ],
    });
    expect(network).not.toHaveProperty("Naem");
    expect(subnetsOf(network)[0]?.Policies).toEqual([{ Type: "VLAN", Settings: { IsolationId: 100 } }]);
  });

  it("the gateway is the next hop of the default route", () => {
    const [subnet] = subnetsOf(
      parseNetwork({
        Ipams: [
          {
            Subnets: [
              {
                IpAddressPrefix: "10.244.2.0/24",
                Routes: [
                  { NextHop: "10.244.2.9", DestinationPrefix: "10.0.0.0/8" },
                  { NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" },
                ],
              },
            ],
          },
        ],
      }),
    );
    expect(gatewayOf(subnet!)).toBe("10.244.2.1");
  });
});

describe("endpoint documents", () => {
  it("an empty policy is no policy (hcn.md §5.3)", () => {
    expect(parseEndpoint({ Policies: [{}] }).Policies).toEqual([]);
  });

  it("a malformed GUID has a code of its own", () => {
    expect(() => parseEndpoint({ HostComputeNetwork: "cbr0" })).toThrow(
      expect.objectContaining({ code: "HCN_E_GUID_CONVERSION_FAILURE" }),
    );
  });
});

describe("namespace documents", () => {
  it.each([
    [{ SchemaVersion: { Major: 0, Minor: 0 } }, undefined],
    [{ Type: "hostdefault" }, "HostDefault"],
    [{ Type: 2 }, "Guest"],
  ])("HCN-052 %j has the type %s", (document, type) => {
    expect(parseNamespace(document).Type).toBe(type);
  });
});

describe("queries (hcn.md §5.1, §9.22)", () => {
  it.each([
    [undefined, "v1", {}],
    [{}, "v1", {}],
    [{ SchemaVersion: { Major: 1, Minor: 0 }, Flags: 1, Filter: "{}" }, "v1", {}],
    [{ SchemaVersion: { Major: 2, Minor: 0 } }, "v2", {}],
    [{ SchemaVersion: { Major: 2, Minor: 0 }, Filter: "" }, "v2", {}],
    [{ SchemaVersion: { Major: 2, Minor: 0 }, Filter: '{"Name":"cbr0"}' }, "v2", { Name: "cbr0" }],
    [{ SchemaVersion: { Major: 2, Minor: 16 }, Filter: '{"Flags":328}' }, "v2", { Flags: 328 }],
    [{ Name: "x" }, "v1", { Name: "x" }],
  ])("%j", (query, dialect, filter) => {
    expect(parseQuery(query)).toMatchObject({ dialect, filter });
  });

  it("Flags 1 asks for details", () => {
    expect(parseQuery({ SchemaVersion: { Major: 1, Minor: 0 }, Flags: 1 }).isDetailed).toBe(true);
  });

  it("a filter that is no JSON object is bad JSON", () => {
    expect(() => parseQuery({ Filter: "Name=x" })).toThrow(
      expect.objectContaining({ code: "HCN_E_INVALID_JSON" }),
    );
  });
});

describe("modify requests (hcn.md §5.2)", () => {
  it.each([
    [{ ResourceType: "Policy", RequestType: "Add", Settings: {} }, "Policy", "Add"],
    [{ ResourceType: 1, RequestType: 2, Settings: {} }, "Policy", "Update"],
    [{ ResourceType: "port", RequestType: "remove" }, "Port", "Remove"],
    [{ RequestType: "Refresh" }, undefined, "Refresh"],
  ])("%j", (document, resourceType, requestType) => {
    expect(parseModifyRequest("Endpoint", document)).toMatchObject({ resourceType, requestType });
  });

  it("a resource type of another kind of object is unsupported", () => {
    expect(() => parseModifyRequest("Endpoint", { ResourceType: "Subnet", RequestType: "Add" })).toThrow(
      expect.objectContaining({ code: "HCN_E_REQUEST_UNSUPPORTED" }),
    );
  });
});
