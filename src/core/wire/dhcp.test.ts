/** DHCP messages against RFC 2131 figure 1 and RFC 2132. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Ipv4 } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { type DhcpMessage, buildDhcp, parseDhcp } from "./dhcp.ts";

const OFFER: DhcpMessage = {
  type: "offer",
  transaction: 0x1234_5678,
  clientMac: 0x0015_5d01_0203 as Mac,
  yourIp: 0x0a00_0064 as Ipv4,
  serverId: 0x0a00_000c as Ipv4,
  leaseSeconds: 86_400,
  subnetMask: 0xffff_ff00 as Ipv4,
  router: 0x0a00_0001 as Ipv4,
  dnsServers: [0x0a00_0035 as Ipv4, 0x0808_0808 as Ipv4],
};

describe("a DHCP message", () => {
  it("has its fields where RFC 2131 puts them", () => {
    const bytes = buildDhcp(OFFER);
    const hex = (from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString("hex");
    expect(hex(0, 12)).toBe("020106001234567800008000");
    expect(hex(16, 20)).toBe("0a000064");
    expect(hex(28, 34)).toBe("00155d010203");
    expect(hex(236, 246)).toBe("6382536335010236040a");
    expect(bytes.length).toBe(300);
  });

  it.each([
    ["discover", undefined, "0101060012345678", "00008000", "00000000"],
    ["request", 0x0a00_0064, "0101060012345678", "00000000", "0a000064"],
    ["offer", undefined, "0201060012345678", "00008000", "00000000"],
    ["ack", undefined, "0201060012345678", "00008000", "00000000"],
    ["nak", undefined, "0201060012345678", "00008000", "00000000"],
  ] as const)(
    "%s: clients ask with op 1, servers answer with op 2 (RFC 2131 §2)",
    (type, clientIp, start, flags, ciaddr) => {
      const message = { type, transaction: 0x1234_5678, clientMac: 2 as Mac, yourIp: 0 as Ipv4 };
      const bytes = buildDhcp(clientIp === undefined ? message : { ...message, clientIp: clientIp as Ipv4 });
      const hex = (from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString("hex");
      expect([hex(0, 8), hex(8, 12), hex(12, 16)]).toEqual([start, flags, ciaddr]);
    },
  );

  it.each([
    OFFER,
    { type: "discover", transaction: 1, clientMac: 2 as Mac, yourIp: 0 as Ipv4 },
    { type: "request", transaction: 1, clientMac: 2 as Mac, yourIp: 0 as Ipv4, requestedIp: 9 as Ipv4 },
    { type: "request", transaction: 1, clientMac: 2 as Mac, yourIp: 0 as Ipv4, clientIp: 9 as Ipv4 },
    { type: "nak", transaction: 0xffff_ffff, clientMac: 2 as Mac, yourIp: 0 as Ipv4 },
  ] satisfies DhcpMessage[])("$type: what is built is read again", (message) => {
    expect(parseDhcp(buildDhcp(message))).toEqual(message);
  });

  it("bears anything: cut short, changed, or something else", () => {
    const whole = buildDhcp(OFFER);
    for (let length = 0; length < 240; length++) expect(parseDhcp(whole.subarray(0, length))).toBeUndefined();
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (at, value, length) => {
        const bytes = whole.slice(0, length);
        bytes[at] = value;
        parseDhcp(bytes);
      }),
    );
  });

  it("an option that reaches beyond the message makes it none", () => {
    const bytes = buildDhcp(OFFER);
    bytes[241] = 200;
    expect(parseDhcp(bytes)).toBeUndefined();
  });
});
