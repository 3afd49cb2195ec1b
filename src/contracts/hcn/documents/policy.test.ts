import { describe, expect, it } from "vitest";
import { parseEndpointPolicy } from "./endpoint-policy.ts";
import { parseNetworkPolicy, parseSubnetPolicy } from "./network-policy.ts";

function endpointPolicy(Type: string, Settings: Record<string, unknown> = {}): unknown {
  return parseEndpointPolicy({ Type, Settings: Settings as never }, "Policies[0]");
}

describe("endpoint policies", () => {
  it.each([
    ["SDNROUTE", { DestinationPrefix: "10.96.0.0/12", NeedEncap: true }, "SDNRoute"],
    ["OutboundNAT", { Exceptions: ["10.96.0.0/12"] }, "OutBoundNAT"],
    ["acl", { Action: "block", Direction: 1, Priority: 200 }, "ACL"],
    ["l2driver", {}, "L2Driver"],
    ["L4WfpProxy", { OutboundProxyPort: 15001 }, "L4WFPPROXY"],
  ])("the type %s comes back in canonical case", (type, settings, canonical) => {
    expect(endpointPolicy(type, settings)).toMatchObject({ Type: canonical });
  });

  it("enumerations come as names in any case or as numbers, and go out as names", () => {
    expect(endpointPolicy("ACL", { Action: 1, Direction: "in", RuleType: "SWITCH" })).toEqual({
      Type: "ACL",
      Settings: { Action: "Block", Direction: "In", RuleType: "Switch" },
    });
  });

  it("ports and protocols come as numbers or texts, and go out as the documents have them", () => {
    expect(
      endpointPolicy("PortMapping", { Protocol: "TCP", InternalPort: "80", ExternalPort: 8080, VIP: "" }),
    ).toEqual({
      Type: "PortMapping",
      Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, VIP: "" },
    });
    expect(
      endpointPolicy("ACL", { Action: "Allow", Direction: "In", Protocols: 6, LocalPorts: 80 }),
    ).toMatchObject({ Settings: { Protocols: "6", LocalPorts: "80" } });
  });

  it("unknown fields are ignored (hcn.md §1.6)", () => {
    expect(endpointPolicy("OutBoundNAT", { ExceptionList: ["10.0.0.0/8"] })).toEqual({
      Type: "OutBoundNAT",
      Settings: {},
    });
  });

  it.each([
    ["HCN-062", "ACL", { Action: "Allow", Direction: "In", RemoteAddresses: "Any" }, "HCN_E_INVALID_POLICY"],
    ["HCN-062", "ACL", { Action: "Allow", Direction: "In", LocalAddresses: "*" }, "HCN_E_INVALID_POLICY"],
    ["", "ACL", { Action: "Allow", Direction: "In", RemoteAddresses: "10.0.0.0/99" }, "HCN_E_INVALID_POLICY"],
    ["", "ACL", { Direction: "In" }, "HCN_E_INVALID_POLICY"],
    ["", "ACL", { Action: "Permit", Direction: "In" }, "HCN_E_INVALID_POLICY"],
    ["", "ACL", { Action: "Allow", Direction: "In", LocalPorts: "90-80" }, "HCN_E_INVALID_POLICY"],
    ["", "ACL", { Action: "Allow", Direction: "In", Protocols: "tcp" }, "HCN_E_INVALID_POLICY"],
    ["", "ACL", { Action: "Allow", Direction: "In", Priority: 70000 }, "HCN_E_INVALID_POLICY"],
    ["", "PortMapping", { Protocol: 6, InternalPort: 0, ExternalPort: 80 }, "HCN_E_INVALID_INTERNAL_PORT"],
    ["", "PortMapping", { Protocol: 6, ExternalPort: 80 }, "HCN_E_INVALID_INTERNAL_PORT"],
    ["", "OutBoundNAT", { Destinations: ["<nil>"] }, "HCN_E_INVALID_POLICY"],
    ["", "SDNRoute", { NeedEncap: true }, "HCN_E_INVALID_POLICY"],
    ["", "ROUTE", { DestinationPrefix: "10.96.0.0/12" }, "HCN_E_INVALID_POLICY_TYPE"],
    ["", "HostRoute", {}, "HCN_E_INVALID_POLICY_TYPE"],
  ])("%s %s %j is refused with %s", (_row, type, settings, code) => {
    expect(() => endpointPolicy(type, settings)).toThrow(expect.objectContaining({ code }));
  });

  it("the message says which field holds what and what to write", () => {
    expect(() => endpointPolicy("ACL", { Action: "Permit", Direction: "In" })).toThrow(
      'Policies[0].Settings.Action is "Permit"; it must be one of Allow, Block, Pass',
    );
  });
});

describe("network and subnet policies", () => {
  it("SetPolicy takes its type as a number (hcn.md §3.1)", () => {
    expect(
      parseNetworkPolicy(
        { Type: "SetPolicy", Settings: { Id: "set-2", PolicyType: 0, Values: "10.0.0.1" } },
        "",
      ),
    ).toEqual({ Type: "SetPolicy", Settings: { Id: "set-2", PolicyType: "IPSET", Values: "10.0.0.1" } });
  });

  it("a MAC address comes with either separator", () => {
    const settings = {
      DestinationPrefix: "10.42.7.0/24",
      IsolationId: 4096,
      ProviderAddress: "192.168.1.213",
      DistributedRouterMacAddress: "0a:1b:2c:3d:4e:5f",
    };
    expect(parseNetworkPolicy({ Type: "RemoteSubnetRoute", Settings: settings }, "")).toEqual({
      Type: "RemoteSubnetRoute",
      Settings: settings,
    });
  });

  it.each([
    [
      { Type: "VLAN", Settings: { IsolationId: 100 } },
      { Type: "VLAN", Settings: { IsolationId: 100 } },
    ],
    [
      { Type: "VSID", Settings: { IsolationId: 70000 } },
      { Type: "VSID", Settings: { IsolationId: 70000 } },
    ],
  ])("%j", (document, policy) => {
    expect(parseSubnetPolicy(document, "")).toEqual(policy);
  });

  it("a VLAN above 4095 is no VLAN", () => {
    expect(() => parseSubnetPolicy({ Type: "VLAN", Settings: { IsolationId: 4096 } }, "")).toThrow(
      expect.objectContaining({ code: "HCN_E_INVALID_POLICY" }),
    );
  });
});
