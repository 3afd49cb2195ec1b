import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { FlannelError } from "./reports.ts";
import { parseNetworkConfig, subnetRangesOf } from "./network-config.ts";

function failure(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof FlannelError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "no failure";
}

function ranges(config: object): string {
  const { ipv4, ipv6 } = subnetRangesOf(parseNetworkConfig(JSON.stringify(config)));
  return [ipv4, ipv6]
    .flatMap((range) =>
      range === undefined ? [] : [`${formatIp(range.min)}-${formatIp(range.max)}/${range.length}`],
    )
    .join(" ");
}

describe("net-conf.json", () => {
  it("CP-F7: keys in small letters are the same keys", () => {
    const config = parseNetworkConfig(
      '{"network":"10.244.0.0/16","backend":{"name":"vxlan0","type":"vxlan"}}',
    );
    expect(config.network && formatPrefix(config.network)).toBe("10.244.0.0/16");
    expect(config.backendType).toBe("vxlan");
    expect(config.unknownFields).toEqual([]);
  });

  it("CP-F8: without a backend the type is udp", () => {
    expect(parseNetworkConfig('{"Network":"10.244.0.0/16"}').backendType).toBe("udp");
  });

  it("of a key that is there twice the later one counts, and IPv4 is on unless it is switched off", () => {
    const config = parseNetworkConfig('{"Network":"10.1.0.0/16","network":"10.2.0.0/16"}');
    expect(config.network && formatPrefix(config.network)).toBe("10.2.0.0/16");
    expect(config).toMatchObject({ isIpv4Enabled: true, isIpv6Enabled: false });
  });

  it("host bits of Network are cleared", () => {
    const config = parseNetworkConfig('{"Network":"10.244.7.9/16"}');
    expect(config.network && formatPrefix(config.network)).toBe("10.244.0.0/16");
  });

  it.each([
    ["no JSON", '{"Network": 10.244.0.0/16}', "line 1"],
    ["a comma too many", '{"Network": "10.244.0.0/16",}', "line 1"],
    ["a list", "[]", "not a JSON object"],
    [
      "a network without a length",
      '{"Network":"10.244.0.0"}',
      'Network is "10.244.0.0"; write a range of IPv4',
    ],
    [
      "a network of the other family",
      '{"Network":"fd00::/48"}',
      'Network is "fd00::/48"; write a range of IPv4',
    ],
    ["a network that is a number", '{"Network":10}', "Network is 10; write a range"],
    ["an IPv6 network that is none", '{"IPv6Network":"10.0.0.0/8"}', "IPv6Network is"],
    ["a length in quotes", '{"SubnetLen":"24"}', 'SubnetLen is "24"; write a whole number from 0 to 32'],
    ["a switch in quotes", '{"EnableIPv6":"true"}', 'EnableIPv6 is "true"; write true or false'],
    ["an address that is none", '{"SubnetMin":"10.244.300.0"}', "SubnetMin is"],
    ["a backend that is a text", '{"Backend":"vxlan"}', 'Backend is "vxlan"; write an object'],
    ["a type that is a number", '{"Backend":{"Type":7}}', "Backend.Type is 7; write a text"],
  ])("%s is refused by its field", (_, text, message) => {
    const reported = failure(() => parseNetworkConfig(text));
    expect(reported).toMatch(/^flanneld-configuration-invalid: /);
    expect(reported).toContain(message);
  });

  it("a typing error is told with what was probably meant", () => {
    expect(parseNetworkConfig('{"Netwrok":"10.244.0.0/16","SubnetLength":24}').unknownFields).toEqual([
      "Netwrok is not a field that flanneld reads; did you mean Network?",
      "SubnetLength is not a field that flanneld reads; did you mean SubnetLen?",
    ]);
  });
});

describe("subnets of an etcd store (control-planes.md §1.3)", () => {
  it.each([
    ["/24 each where the network is large", { Network: "10.5.0.0/16" }, "10.5.1.0-10.5.255.0/24"],
    ["a /22 still has room for that", { Network: "10.5.0.0/22" }, "10.5.1.0-10.5.3.0/24"],
    ["four subnets of a /23", { Network: "10.5.0.0/23" }, "10.5.0.128-10.5.1.128/25"],
    ["the smallest network", { Network: "10.5.0.0/28" }, "10.5.0.4-10.5.0.12/30"],
    ["a length that is given", { Network: "10.5.0.0/16", SubnetLen: 26 }, "10.5.0.64-10.5.255.192/26"],
    [
      "bounds that are given",
      { Network: "10.5.0.0/16", SubnetMin: "10.5.20.0", SubnetMax: "10.5.50.0" },
      "10.5.20.0-10.5.50.0/24",
    ],
    [
      "IPv6 beside IPv4",
      { Network: "10.5.0.0/16", EnableIPv6: true, IPv6Network: "fd00:1::/48" },
      "10.5.1.0-10.5.255.0/24 fd00:1:0:1::-fd00:1:0:ffff::/64",
    ],
    [
      "IPv6 alone",
      { EnableIPv4: false, EnableIPv6: true, IPv6Network: "fd00:1::/64" },
      "fd00:1:0:0:4000::-fd00:1:0:0:c000::/66",
    ],
  ])("%s", (_, config, expected) => {
    expect(ranges(config)).toBe(expected);
  });

  it.each([
    ["no network", {}, "flannel-network-invalid: please define a correct Network parameter"],
    ["IPv6 without its network", { Network: "10.5.0.0/16", EnableIPv6: true }, "IPv6Network parameter"],
    ["SubnetLen 31", { Network: "10.5.0.0/16", SubnetLen: 31 }, "SubnetLen must be less than /31"],
    ["SubnetLen 17 in a /16", { Network: "10.5.0.0/16", SubnetLen: 17 }, "at least four subnets"],
    ["a /29", { Network: "10.5.0.0/29" }, "network is too small. Minimum useful network prefix is /28"],
    ["SubnetMin outside", { Network: "10.5.0.0/16", SubnetMin: "10.6.0.0" }, "SubnetMin is not in the range"],
    ["SubnetMax outside", { Network: "10.5.0.0/16", SubnetMax: "10.6.0.0" }, "SubnetMax is not in the range"],
    ["SubnetMin off the boundary", { Network: "10.5.0.0/16", SubnetMin: "10.5.1.8" }, "SubnetLen boundary"],
    [
      "SubnetMin behind SubnetMax",
      { Network: "10.5.0.0/16", SubnetMin: "10.5.9.0", SubnetMax: "10.5.8.0" },
      "no subnet is left",
    ],
    [
      "IPv6SubnetLen 127",
      { Network: "10.5.0.0/16", EnableIPv6: true, IPv6Network: "fd00::/48", IPv6SubnetLen: 127 },
      "SubnetLen must be less than /127",
    ],
  ])("%s is refused", (_, config, message) => {
    expect(failure(() => ranges(config))).toContain(message);
  });
});
