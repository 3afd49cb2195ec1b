// DHCP on overlay ports, without a switch (dataplane.md §1.2, §2.12; RFC 2131).
import { describe, expect, it } from "vitest";
import { BROADCAST_MAC } from "#core/net/mac.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { type DhcpMessage, buildDhcp, parseDhcp } from "#core/wire/dhcp.ts";
import type { Packet } from "#core/wire/packet.ts";
import { MACS, headersOf, ip4, link } from "#test/support/dataplane/engine-kit.ts";
import { KnownPorts, frameOf, told } from "#test/support/dataplane/switch-kit.ts";

const A = ip4("10.244.1.10");
const GATEWAY = ip4("10.244.1.1");

/** A pod's port; 336 are the flags that overlay ports were seen with, of which 256 is "process client DHCP". */
function withFlags(flags: number): KnownPorts<"a"> {
  return new KnownPorts({
    a: {
      kind: "container",
      mac: MACS.Am,
      ips: [A],
      virtualSubnets: [4096],
      flags,
      lease: {
        ip: A,
        subnetMask: ip4("255.255.255.0"),
        router: GATEWAY,
        routerMac: MACS.W1dr,
        dnsServers: [ip4("10.96.0.10")],
      },
    },
  });
}

function client(fields: Partial<DhcpMessage>, destinationPort = 67): Packet {
  const base = { transaction: 7, clientMac: MACS.Am, yourIp: ip4("0.0.0.0") };
  return buildUdpFrame({
    link: { sourceMac: MACS.Am, destinationMac: BROADCAST_MAC },
    ip: {
      source: ip4("0.0.0.0"),
      destination: ip4("255.255.255.255"),
      ttl: 128,
      identification: 1,
      isDontFragment: false,
    },
    udp: { sourcePort: 68, destinationPort },
    payload: buildDhcp({ ...base, type: "discover", ...fields }),
  });
}

describe("DHCP of an overlay endpoint", () => {
  it.each([
    ["a discovery: its own address is offered", { type: "discover" }, { type: "offer", yourIp: A }],
    ["a request for it: granted", { type: "request", requestedIp: A }, { type: "ack", yourIp: A }],
    ["a request for another address: refused", { type: "request", requestedIp: GATEWAY }, { type: "nak" }],
  ] as const)("§2.12 %s", (_what, fields, expected) => {
    const decision = withFlags(336).decide("a", client(fields));
    expect(told(decision)).toBe("reply");
    const frame = frameOf(decision);
    const { payload, end } = headersOf(frame);
    expect(parseDhcp(frame.bytes.subarray(payload, end))).toMatchObject({
      ...expected,
      transaction: 7,
      serverId: GATEWAY,
    });
    expect(link(frame)).toBe("00-15-5D-AA-00-01 > FF-FF-FF-FF-FF-FF");
  });

  it.each([
    ["a request to another server: none is in reach", 336, client({ type: "request", serverId: A })],
    ["a port without the flag: a group frame as any other", 80, client({})],
    ["no client's message", 336, client({}, 69)],
  ])("%s", (_what, flags, frame) => {
    expect(told(withFlags(flags).decide("a", frame))).toBe("drop broadcast-not-delivered");
  });
});
