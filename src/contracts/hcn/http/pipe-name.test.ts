import { describe, expect, it } from "vitest";
import { defaultSocketPath, parseHnsAddress } from "./find-hns.node.ts";
import { formatHttpAddress } from "./http-client.node.ts";
import { DEFAULT_PIPE, isPipeName, parsePipeUrl } from "./http-exchange.node.ts";

describe("pipes of Windows", () => {
  it.each([
    ["\\\\.\\pipe\\mullion-hns", true],
    ["//./pipe/mullion-hns", true],
    ["\\\\?\\pipe\\x", true],
    ["\\\\.\\PIPE\\x", true],
    ["\\\\.\\pipe\\", false],
    ["/run/mullion/hns.sock", false],
    ["//pipe/x", false],
    ["C:\\pipe\\x", false],
  ])("%j is one: %s", (path, expected) => {
    expect(isPipeName(path)).toBe(expected);
  });

  it.each([
    ["////./pipe/mullion-hns", DEFAULT_PIPE],
    ["//./pipe/mullion-hns", DEFAULT_PIPE],
    ["\\\\.\\pipe\\mullion-hns", DEFAULT_PIPE],
    ["/run/x", undefined],
  ])("npipe:%s", (rest, expected) => {
    expect(parsePipeUrl(rest)).toBe(expected);
  });

  it("the node's service on Windows listens on a pipe, whose address reads back", () => {
    const socketPath = defaultSocketPath({}, 0, "win32");
    expect(socketPath).toBe("\\\\.\\pipe\\mullion-hns");
    const text = formatHttpAddress({ socketPath });
    expect(text).toBe("npipe:////./pipe/mullion-hns");
    expect(parseHnsAddress(text)).toEqual({ socketPath });
    expect(() => parseHnsAddress("npipe:/x")).toThrow("npipe:////./pipe/NAME");
  });
});
