/** ICMP of a stack: who is told of errors, who is not, and what is counted (RFC 792, RFC 1122 §3.2.2). */
import { describe, expect, it } from "vitest";
import type { Mac } from "#core/net/mac.ts";
import { formatIp } from "#core/net/ip.ts";
import { buildIcmpFrame, buildIpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { checksumOf } from "#core/wire/checksum.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { writeU16 } from "#core/base/bytes.ts";
import { type RoutedPair, makeRoutedPair } from "#test/support/dataplane/routed-pair.ts";
import { cidr, ip } from "#test/support/dataplane/stack-world.ts";

function receive({ client }: RoutedPair, packet: Packet): void {
  client.netInterface.receive(packet);
}

function linkOf({ client }: RoutedPair): { readonly sourceMac: Mac; readonly destinationMac: Mac } {
  return { sourceMac: 2 as Mac, destinationMac: client.netInterface.mac };
}

function header(source: string, destination = "10.0.1.10") {
  return {
    source: ip(source),
    destination: ip(destination),
    ttl: 64,
    identification: 1,
    isDontFragment: false,
  };
}

/** Addresses of the ICMP packets that the client has sent. */
function sentIcmp({ client }: RoutedPair): readonly string[] {
  return client.capture.frames.flatMap(({ frame }) => {
    const headers = new Headers();
    if (headers.parseBytes(frame, 0, frame.length) !== undefined || headers.protocol !== 1) return [];
    return [`${formatIp(sourceIp(frame, headers))} > ${formatIp(destinationIp(frame, headers))}`];
  });
}

describe("errors", () => {
  it.each([
    ["10.0.2.20", 1],
    ["0.0.0.0", 0],
    ["224.0.0.5", 0],
    ["255.255.255.255", 0],
    ["127.0.0.1", 0],
  ])("a datagram from %s to a closed port is answered %i times", (source, count) => {
    const pair = makeRoutedPair();
    receive(
      pair,
      buildUdpFrame({
        link: linkOf(pair),
        ip: header(source),
        udp: { sourcePort: 5_000, destinationPort: 9 },
        payload: new Uint8Array(4),
      }),
    );
    pair.env.clock.runUntilIdle(100);
    expect(sentIcmp(pair)).toHaveLength(count);
  });

  it("one about a packet that was not sent here tells nobody, and is counted", () => {
    const pair = makeRoutedPair();
    const { compartment } = pair.client;
    const invoking = buildUdpFrame({
      link: linkOf(pair),
      ip: header("10.0.1.99", "10.0.2.20"),
      udp: { sourcePort: 5_000, destinationPort: 9 },
      payload: new Uint8Array(8),
    }).frame.slice(14);
    // Type 3 code 3: port unreachable.
    const payload = Uint8Array.of(3, 3, 0, 0, 0, 0, 0, 0, ...invoking);
    writeU16(payload, 2, checksumOf(payload, 0, payload.length));
    receive(pair, buildIpFrame({ link: linkOf(pair), ip: header("10.0.2.20"), protocol: 1, payload }));
    expect(compartment.drops.get("malformed-frame")).toBe(1);
  });
});

describe("an echo", () => {
  it("that failed is over: an answer that comes late finds nobody", () => {
    const pair = makeRoutedPair();
    const { compartment } = pair.client;
    const heard: string[] = [];
    const request = compartment.icmp.echo({
      destination: ip("10.0.2.99"),
      owner: { echoAnswered: () => heard.push("answered"), echoFailed: () => heard.push("failed") },
    });
    if (typeof request === "string") throw new Error(request);
    // The router finds no neighbour .99, and says so.
    pair.env.clock.runUntil(pair.env.clock.nowMs + 10_000);
    expect(heard).toEqual(["failed"]);
    const { identifier, sequence } = request;
    const icmp = { type: "echo-reply", identifier, sequence, payload: new Uint8Array(32) } as const;
    receive(pair, buildIcmpFrame({ link: linkOf(pair), ip: header("10.0.2.99"), icmp }));
    expect(heard).toEqual(["failed"]);
    expect(compartment.drops.get("port-not-listening")).toBe(1);
  });

  it.each(["10.0.1.10", "10.0.1.11"])("is answered by the address that was asked: %s", (address) => {
    const pair = makeRoutedPair();
    const { compartment, netInterface } = pair.client;
    compartment.addAddress(netInterface, cidr("10.0.1.11/24"));
    pair.client.capture.frames.length = 0;
    const icmp = { type: "echo-request", identifier: 7, sequence: 1, payload: new Uint8Array(8) } as const;
    receive(pair, buildIcmpFrame({ link: linkOf(pair), ip: header("10.0.2.20", address), icmp }));
    pair.env.clock.runUntilIdle(100);
    expect(sentIcmp(pair)).toEqual([`${address} > 10.0.2.20`]);
  });

  it("a request for the time to Windows is dropped and counted", () => {
    const pair = makeRoutedPair({ clientOs: "windows" });
    const payload = new Uint8Array(20);
    payload.set([13, 0, 0, 0, 0, 5, 0, 6]);
    writeU16(payload, 2, checksumOf(payload, 0, payload.length));
    receive(pair, buildIpFrame({ link: linkOf(pair), ip: header("10.0.2.20"), protocol: 1, payload }));
    expect(pair.client.compartment.drops.get("protocol-unknown")).toBe(1);
    expect(sentIcmp(pair)).toEqual([]);
  });
});
