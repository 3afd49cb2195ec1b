import { describe, expect, it } from "vitest";
import { formatCniArguments, parseCniArguments } from "./plugin-input.ts";

describe("CNI_ARGS (cni.md §1.3)", () => {
  it.each([
    ["", {}],
    ["IP=10.0.0.1", { IP: "10.0.0.1" }],
    ["IgnoreUnknown=1;K8S_POD_NAME=web;IP=10.0.0.1", { IP: "10.0.0.1" }],
    ["IgnoreUnknown=TRUE;X=", {}],
    ["IgnoreUnknown=0;IP=", { IP: "" }],
  ])("%s", (text, values) => {
    expect(Object.fromEntries(parseCniArguments(text, ["IP"]))).toEqual(values);
  });

  it.each([
    ["IP", 'ARGS: invalid pair "IP"'],
    ["IP=a=b", 'ARGS: invalid pair "IP=a=b"'],
    ["IP=1;", 'ARGS: invalid pair ""'],
    ["FOO=1;BAR=2", 'ARGS: unknown args ["FOO=1" "BAR=2"]'],
    ["ip=10.0.0.1", 'ARGS: unknown args ["ip=10.0.0.1"]'],
    ["IgnoreUnknown=0;X=1", 'ARGS: unknown args ["X=1"]'],
    [
      "IgnoreUnknown=yes",
      'ARGS: error parsing value of pair "IgnoreUnknown=yes": boolean unmarshal error: invalid input yes',
    ],
  ])("refuses %s", (text, message) => {
    expect(() => parseCniArguments(text, ["IP"])).toThrowError(message);
  });

  it("joins pairs", () => {
    expect(
      formatCniArguments([
        ["IgnoreUnknown", "1"],
        ["K8S_POD_NAME", "web"],
      ]),
    ).toBe("IgnoreUnknown=1;K8S_POD_NAME=web");
  });
});
