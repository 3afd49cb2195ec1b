import { expect, it } from "vitest";
import { formatSocketAddress, reverseTuple } from "./five-tuple.ts";
import { parseIp } from "./ip.ts";

it("the answer of a connection swaps both ends, and its answer is the connection again", () => {
  const tuple = {
    protocol: 6,
    source: parseIp("10.0.0.1")!,
    sourcePort: 1000,
    destination: parseIp("10.0.0.2")!,
    destinationPort: 80,
  };
  const reversed = reverseTuple(tuple);
  expect(reversed).toEqual({
    protocol: 6,
    source: tuple.destination,
    sourcePort: 80,
    destination: tuple.source,
    destinationPort: 1000,
  });
  expect(reverseTuple(reversed)).toEqual(tuple);
});

it.each([
  { ip: "10.0.0.1", port: 80, text: "10.0.0.1:80" },
  { ip: "fd00::1", port: 80, text: "[fd00::1]:80" },
])("$text", ({ ip, port, text }) => {
  expect(formatSocketAddress(parseIp(ip)!, port)).toBe(text);
});
