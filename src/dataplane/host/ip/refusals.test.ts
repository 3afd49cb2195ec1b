// What a stack does not take, and what a router does not pass on, by the standards; no stack is needed.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { buildIpFrame } from "#core/wire/build-frame.ts";
import { type IpView, ipViewOf } from "#core/wire/ip-view.ts";
import { MACS, headersOf, ip } from "#test/support/dataplane/engine-kit.ts";
import { type Hop, findArrivalRefusal, findForwardingRefusal } from "./refusals.ts";

/** RFC 3692: no headers of its own. */
const EXPERIMENT = 253;

interface Fields {
  readonly ttl?: number;
  readonly bytes?: number;
  readonly isDontFragment?: boolean;
  readonly protocol?: number;
}

function packet(source: string, destination: string, fields: Fields = {}): IpView {
  const { ttl = 64, bytes = 8, isDontFragment = true, protocol = EXPERIMENT } = fields;
  const frame = buildIpFrame({
    link: { sourceMac: MACS.Rm, destinationMac: MACS.W1m },
    ip: { source: ip(source), destination: ip(destination), ttl, identification: 1, isDontFragment },
    protocol,
    payload: new Uint8Array(bytes),
  });
  return defined(ipViewOf(frame.bytes, headersOf(frame)), "an IP packet");
}

describe("what never comes from a network (RFC 1122 §3.2.1.3)", () => {
  it.each([
    ["a group as source", "224.0.0.1", "10.0.0.11"],
    ["everybody as source", "255.255.255.255", "10.0.0.11"],
    ["no source", "0.0.0.0", "10.0.0.11"],
    ["a host of network 0", "0.1.2.3", "10.0.0.11"],
    ["loopback as source", "127.0.0.1", "10.0.0.11"],
    ["loopback as destination", "10.0.0.1", "127.0.0.1"],
    ["loopback of IPv6 (RFC 4291 §2.5.3)", "::1", "fd00::11"],
  ])("%s", (_what, source, destination) => {
    const refusal = findArrivalRefusal(packet(source, destination), { name: "eth0" }, false);
    expect(refusal).toEqual({
      code: "martian-source",
      text: `a packet from ${source} to ${destination} cannot come over eth0`,
    });
  });

  it("an address of the stack itself, unless something below the stack sends from it", () => {
    const view = packet("10.0.0.11", "10.0.0.11");
    expect(findArrivalRefusal(view, { name: "eth0" }, true)).toMatchObject({ code: "martian-source" });
    expect(findArrivalRefusal(view, { name: "eth0" }, false)).toBeUndefined();
  });

  it("but who has no address yet and speaks to everybody, as a client of DHCP", () => {
    const view = packet("0.0.0.0", "255.255.255.255");
    expect(findArrivalRefusal(view, { name: "eth0" }, false)).toBeUndefined();
  });

  it("but ICMPv6 without a source, which asks whether an address is free (RFC 4862 §5.4.2)", () => {
    const ask = (protocol: number): unknown =>
      findArrivalRefusal(packet("::", "ff02::1", { protocol }), { name: "eth0" }, false);
    expect(ask(58)).toBeUndefined();
    expect(ask(EXPERIMENT)).toMatchObject({ code: "martian-source" });
  });
});

describe("what a router does not pass on", () => {
  const HOP: Hop = {
    router: "host",
    from: { name: "eth0" },
    route: { interface: { name: "eth1", mtuBytes: 1300 } },
    isCut: false,
  };
  const pass = (view: IpView, hop: Partial<Hop> = {}): unknown =>
    findForwardingRefusal(view, { ...HOP, ...hop });
  const [A, X] = ["10.244.1.10", "203.0.113.10"];
  const [A6, X6] = ["fd00::10", "2001:db8::10"];

  it.each([
    ["RFC 1812 §5.3.1: a TTL of 1 or 0", packet(A, X, { ttl: 1 }), {}, "ttl-expired", "ttl-expired"],
    ["RFC 8200 §3: the same of a hop limit", packet(A6, X6, { ttl: 0 }), {}, "ttl-expired", "ttl-expired"],
    ["RFC 1812 §5.2.7.1: no route", packet(A, X), { route: undefined }, "no-route", "net-unreachable"],
    [
      "RFC 4291 §2.5.6: a link-local source, silently",
      packet("fe80::1", X6),
      {},
      "destination-not-local",
      undefined,
    ],
    [
      "RFC 4291 §2.5.6: a link-local destination",
      packet(A6, "fe80::2"),
      {},
      "destination-not-local",
      undefined,
    ],
    [
      "RFC 1191 §4: too long with DF",
      packet(A, X, { bytes: 1281 }),
      {},
      "mtu-exceeded",
      "fragmentation-needed",
    ],
    [
      "RFC 8201 §4: too long, of IPv6",
      packet(A6, X6, { bytes: 1261 }),
      {},
      "mtu-exceeded",
      "fragmentation-needed",
    ],
  ] as const)("%s", (_what, view, hop, code, reason) => {
    const refusal = pass(view, hop) as { readonly reason?: string };
    expect(refusal).toMatchObject({ code });
    expect(refusal.reason).toBe(reason);
  });

  it("the sender of what is too long hears how much fits", () => {
    expect(pass(packet(A, X, { bytes: 1281 }))).toMatchObject({
      mtuBytes: 1300,
      text: "1301 bytes with DF do not fit eth1 (MTU 1300)",
    });
  });

  it.each([
    ["a TTL of 2", packet(A, X, { ttl: 2 }), {}],
    ["what just fits", packet(A, X, { bytes: 1280 }), {}],
    ["what may be cut (RFC 1812 §5.2.6)", packet(A, X, { bytes: 1281, isDontFragment: false }), {}],
    ["what connection tracking put together", packet(A6, X6, { bytes: 1261 }), { isCut: true }],
  ])("passes on %s", (_what, view, hop) => {
    expect(pass(view, hop)).toBeUndefined();
  });
});
