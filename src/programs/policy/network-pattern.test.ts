import { describe, expect, it } from "vitest";
import { matchesNetwork, parseNetworkPattern } from "./network-pattern.ts";

describe("patterns of KUBE_NETWORK", () => {
  it.each([
    ["cbr0", "cbr0", true],
    ["cbr0", "my-cbr0-net", true],
    ["^cbr0$", "my-cbr0-net", false],
    ["^cbr.$", "cbr0", true],
    ["^cbr.$", "cbr00", false],
    ["azure.*", "azure", true],
    ["^a.*e$", "azure", true],
    ["^a.*e$", "azures", false],
    ["^a.*b.*c$", "a-b-c", true],
    ["^a.*b.*c$", "a-c", false],
    ["Calico.*", "calico", false],
    ["(?i)calico.*", "CALICO-vxlan", true],
    ["x|y$", "lay", true],
    ["", "any", true],
  ])("%s and %s: %s", (text, name, expected) => {
    const pattern = parseNetworkPattern(text);
    expect(pattern !== undefined && matchesNetwork(pattern, name)).toBe(expected);
  });

  it.each(["(a+)+$", "a{2}", "[ab]", "a\\d", "a?", "a$b", "x".repeat(257)])("%s is not read", (text) => {
    expect(parseNetworkPattern(text)).toBeUndefined();
  });
});
