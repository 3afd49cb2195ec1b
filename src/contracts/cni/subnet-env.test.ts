import { expect, it } from "vitest";
import { parsePrefix } from "#core/net/ip.ts";
import { formatSubnetEnv, parseSubnetEnv } from "./subnet-env.ts";

const NETWORK = parsePrefix("10.244.0.0/16");
const SUBNET = parsePrefix("10.244.1.0/24");

it("CP-F35: FLANNEL_SUBNET is the first address of the lease with the lease's length", () => {
  const text = formatSubnetEnv({ network: NETWORK, subnet: SUBNET, mtuBytes: 1450, isMasqueraded: true });
  expect(text).toBe(
    "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
  );
});

it("writes both families, IPv4 first, then the MTU and the choice about masquerading", () => {
  const text = formatSubnetEnv({
    network: NETWORK,
    subnet: SUBNET,
    ipv6Network: parsePrefix("fd00:10::/48"),
    ipv6Subnet: parsePrefix("fd00:10:0:1::/64"),
    mtuBytes: 1500,
    isMasqueraded: false,
  });
  expect(text.split("\n")).toEqual([
    "FLANNEL_NETWORK=10.244.0.0/16",
    "FLANNEL_SUBNET=10.244.1.1/24",
    "FLANNEL_IPV6_NETWORK=fd00:10::/48",
    "FLANNEL_IPV6_SUBNET=fd00:10:0:1::1/64",
    "FLANNEL_MTU=1500",
    "FLANNEL_IPMASQ=false",
    "",
  ]);
});

it("the plugin reads what flanneld writes", () => {
  const text = formatSubnetEnv({ network: NETWORK, subnet: SUBNET, mtuBytes: 1450, isMasqueraded: true });
  expect(parseSubnetEnv(text, "/run/flannel/subnet.env", { crashes: true })).toEqual({
    networks: [NETWORK],
    subnet: SUBNET,
    ipv6Networks: [],
    ipv6Subnet: undefined,
    mtuBytes: 1450,
    isMasqueraded: true,
  });
});
