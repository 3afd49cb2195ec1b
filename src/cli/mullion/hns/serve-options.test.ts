import { describe, expect, it } from "vitest";
import { parseAdapters, parseListen } from "./serve-options.ts";

describe("--listen", () => {
  it.each([
    ["127.0.0.1:8080", { host: "127.0.0.1", port: 8080 }],
    ["localhost:0", { host: "127.0.0.1", port: 0 }],
    ["[::1]:65535", { host: "::1", port: 65_535 }],
  ])("%s is taken", (text, expected) => {
    expect(parseListen(text)).toEqual(expected);
  });

  it.each([
    ["8080", "it is not an address with a port"],
    ["127.0.0.1", "it is not an address with a port"],
    ["::1:8080", "it is not an address with a port"],
    ["127.0.0.1:65536", "there is no port 65536"],
    [":8080", "an empty host is not a loopback address"],
    ["0.0.0.0:8080", "0.0.0.0 is not a loopback address"],
    ["[::]:8080", "[::] is not a loopback address"],
    ["10.0.0.1:80", "10.0.0.1 is not a loopback address"],
  ])("%s is refused: %s", (text, why) => {
    expect(() => parseListen(text)).toThrow(`--listen ${JSON.stringify(text)}: ${why}`);
  });
});

describe("--adapter", () => {
  it("none is the node of the examples", () => {
    expect(parseAdapters([])).toEqual([{ name: "Ethernet", addresses: ["10.0.0.11/24"] }]);
  });

  it("a name again adds an address; names may hold blanks and equal signs", () => {
    expect(parseAdapters(["Ethernet 2=10.0.0.5/24", "a=b=10.1.0.5/16", "Ethernet 2=fd00::5/64"])).toEqual([
      { name: "Ethernet 2", addresses: ["10.0.0.5/24", "fd00::5/64"] },
      { name: "a=b", addresses: ["10.1.0.5/16"] },
    ]);
  });

  it.each(["Ethernet", "=10.0.0.5/24", "Ethernet=10.0.0.5", "Ethernet=10.0.0.5/33", "Ethernet="])(
    "%s is refused with what to write",
    (text) => {
      expect(() => parseAdapters([text])).toThrow("is not a name with an address");
    },
  );
});
