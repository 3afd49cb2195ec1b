/** Hosts that find their routers, and routers that ask their hosts, over cables (RFC 4861, RFC 4862, RFC 3810). */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { type Ip, type Ipv6, formatIp } from "#core/net/ip.ts";
import { arbitraryNd } from "#test/support/wire/arbitrary-frames.ts";
import {
  EchoLog,
  type CapturedFrame,
  cidr,
  findWrongFrames,
  ip,
  mac,
  prefix,
} from "#test/support/dataplane/stack-world.ts";
import {
  type Port,
  type RoutedPair,
  addIpv6,
  eventsOf,
  makeRoutedPair,
} from "#test/support/dataplane/routed-pair.ts";
import { buildMldFrame, buildNdFrame } from "#core/wire/build-frame.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { Icmpv6Type } from "#core/wire/icmpv6/icmpv6.ts";
import { type MldRecord, parseMld } from "#core/wire/icmpv6/mld.ts";
import type { NdOption } from "#core/wire/icmpv6/nd-options.ts";
import { type NdRepr, NdView, toNdRepr } from "#core/wire/icmpv6/nd.ts";
import { formatRoute } from "../ip/route-table.ts";
import type { OperatingSystem } from "../stack-profile.ts";
import type { AdvertiserOptions } from "./router-advertiser.ts";

const six = (text: string): Ipv6 => ip(text) as Ipv6;
/** The router's link-local address on the client's link: its MAC is 52-54-00-00-00-01. */
const ROUTER = "fe80::5054:ff:fe00:1";
const ALL_NODES = six("ff02::1");
const HOUR_S = 3_600;
const HOME: AdvertiserOptions = { prefixes: [{ prefix: prefix("fd00:1::/64") }] };

function run({ env }: RoutedPair, seconds: number): void {
  env.clock.runUntil(env.clock.nowMs + seconds * 1_000);
}

/** Router and server have IPv6 and the client has none; the router advertises itself where `options` say what. */
function link(options: AdvertiserOptions | undefined, clientOs: OperatingSystem = "windows"): RoutedPair {
  const pair = makeRoutedPair({ clientOs });
  const { routerToClient: inside, routerToServer: outside, server } = pair;
  for (const [port, address] of [
    [inside, "fd00:1::1/64"],
    [outside, "fd00:2::1/64"],
    [server, "fd00:2::20/64"],
  ] as const)
    port.compartment.addAddress(port.netInterface, cidr(address));
  const back = {
    prefix: prefix("::/0"),
    nextHop: ip("fd00:2::1"),
    interface: server.netInterface,
    metric: 0,
  };
  server.compartment.addRoute(back);
  run(pair, 3);
  if (options !== undefined) inside.compartment.advertiseRouter(inside.netInterface, options);
  for (const { capture } of [pair.client, inside]) capture.frames.length = 0;
  return pair;
}

function discover({ client }: RoutedPair): void {
  client.compartment.discoverRouters(client.netInterface);
}

/** The same after everybody has spoken. */
function configured(options: AdvertiserOptions = HOME, clientOs: OperatingSystem = "windows"): RoutedPair {
  const pair = link(options, clientOs);
  discover(pair);
  run(pair, 5);
  return pair;
}

/** IPv6 addresses of the client, its link-local one left out. */
function addressesOf({ client }: RoutedPair): readonly string[] {
  const all = client.netInterface.addresses.map((each) => `${formatIp(each.ip)}/${each.length}`);
  return all.filter((text) => text.includes(":") && !text.startsWith("fe80"));
}

function routesOf({ client }: RoutedPair): readonly string[] {
  const all = client.compartment.listRoutes().map(formatRoute);
  return all.filter((text) => text.includes(":") && !text.startsWith("fe80"));
}

/** An ICMPv6 message that a port sent. */
interface Sent {
  readonly atMs: number;
  readonly from: string;
  readonly to: string;
  readonly hopLimit: number;
  readonly type: number;
  readonly message: Uint8Array;
}

function read({ frame, atMs }: CapturedFrame): Sent | undefined {
  const headers = new Headers();
  const reason = headers.parseBytes(frame, 0, frame.length);
  if (reason !== undefined || headers.family !== 6 || headers.transport < 0) return undefined;
  const message = frame.slice(headers.transport, headers.end);
  return {
    atMs,
    from: formatIp(sourceIp(frame, headers)),
    to: formatIp(destinationIp(frame, headers)),
    hopLimit: frame[21] ?? 0,
    type: message[0] ?? 0,
    message,
  };
}

function sentBy({ capture }: Port, type: number): readonly Sent[] {
  return capture.frames.map(read).filter((each) => each !== undefined && each.type === type) as Sent[];
}

function discoveryOf({ message }: Sent): NdRepr {
  const view = NdView.parse(message);
  if (typeof view === "string") throw new Error(view);
  return toNdRepr(view);
}

/** What somebody on the client's link sends in a router's name. */
function advertise(
  pair: RoutedPair,
  fields: Partial<Extract<NdRepr, { type: "router-advertisement" }>>,
  { source = ROUTER, ttl = 255 }: { readonly source?: string; readonly ttl?: number } = {},
): void {
  const packet = buildNdFrame({
    link: { sourceMac: mac("52-54-00-00-00-01"), destinationMac: multicastMac(ALL_NODES) },
    ip: { source: ip(source), destination: ALL_NODES, ttl, identification: 0, isDontFragment: false },
    nd: {
      type: "router-advertisement",
      hopLimit: 0,
      isManaged: false,
      isOtherConfigured: false,
      lifetimeSeconds: 1_800,
      reachableMs: 0,
      retransmitMs: 0,
      options: [],
      ...fields,
    },
  });
  pair.routerToClient.capture.transmit(packet);
  run(pair, 2);
}

function information(text: string, validSeconds: number, preferredSeconds = validSeconds): NdOption {
  const flags = { isOnLink: true, isAutonomous: true };
  return { kind: "prefix-information", prefix: prefix(text), ...flags, validSeconds, preferredSeconds };
}

function ping(pair: RoutedPair, destination: string): EchoLog {
  const owner = new EchoLog();
  pair.client.compartment.icmp.echo({ destination: ip(destination), owner });
  run(pair, 4);
  return owner;
}

describe("router discovery of a host", () => {
  it("nothing of it happens unasked", () => {
    const pair = link(HOME);
    advertise(pair, { options: [information("fd00:1::/64", HOUR_S)] });
    expect(addressesOf(pair)).toEqual([]);
    expect(pair.client.capture.frames).toEqual([]);
  });

  it("asks three times, 4 s apart, and gives up (RFC 4861 §6.3.7)", () => {
    const pair = link(undefined);
    discover(pair);
    run(pair, 30);
    const sent = sentBy(pair.client, Icmpv6Type.routerSolicitation);
    expect(sent.map(({ to, hopLimit }) => `${to} ${hopLimit}`)).toEqual(Array(3).fill("ff02::2 255"));
    const [first, ...later] = sent.map(({ atMs }) => atMs);
    expect(later.map((atMs) => atMs - first!)).toEqual([4_000, 8_000]);
  });

  it("who has no address of its own yet tells no MAC, and who has one does (RFC 4861 §4.1)", () => {
    const pair = link(undefined);
    discover(pair);
    run(pair, 30);
    for (const each of sentBy(pair.client, Icmpv6Type.routerSolicitation)) {
      const reported = discoveryOf(each).options.map(({ kind }) => kind);
      expect(reported).toEqual(each.from === "::" ? [] : ["source-link-layer"]);
    }
  });

  it("Linux makes its address of the MAC", () => {
    const pair = configured(HOME, "linux");
    expect(addressesOf(pair)).toEqual(["fd00:1::215:5dff:fe00:10/64"]);
  });

  it("Windows makes it at random, the same bits as in its link-local address", () => {
    const pair = configured();
    const { netInterface } = pair.client;
    const own = (netInterface.linkLocal() & 0xffff_ffff_ffff_ffffn) | six("fd00:1::");
    expect(addressesOf(pair)).toEqual([`${formatIp(own as Ipv6)}/64`]);
    expect(formatIp(netInterface.linkLocal())).not.toBe("fe80::215:5dff:fe00:10");
  });

  it("the router that advertised is the way out, and what is sent has the hop limit that it told", () => {
    const pair = configured();
    expect(routesOf(pair)).toContain(`::/0 via ${ROUTER} on eth0`);
    const heard = ping(pair, "fd00:2::20");
    expect(heard.replies).toHaveLength(1);
    expect(sentBy(pair.client, Icmpv6Type.echoRequest).map(({ hopLimit }) => hopLimit)).toEqual([64]);
    expect(findWrongFrames(pair.client.capture.frames)).toEqual([]);
    expect(findWrongFrames(pair.routerToClient.capture.frames)).toEqual([]);
  });

  it("asks no more once it was answered", () => {
    const pair = configured();
    run(pair, 20);
    expect(sentBy(pair.client, Icmpv6Type.routerSolicitation)).toHaveLength(1);
  });

  it("a smaller MTU is kept for IPv6, a larger one than the link's is not believed", () => {
    const pair = configured({ ...HOME, mtuBytes: 1_400 });
    const pathTo = (text: string): number | undefined =>
      pair.client.compartment.output.findPath(ip(text))?.mtuBytes;
    expect([pathTo("fd00:2::20"), pathTo("10.0.2.20")]).toEqual([1_400, 1_500]);
    advertise(pair, { options: [{ kind: "mtu", mtuBytes: 9_000 }] });
    advertise(pair, { options: [{ kind: "mtu", mtuBytes: 1_000 }] });
    expect(pathTo("fd00:2::20")).toBe(1_400);
  });

  it("DNS servers are taken where none is configured (RFC 8106)", () => {
    const pair = link({ ...HOME, dnsServers: [six("fd00:2::20")] });
    const { compartment } = pair.client;
    discover(pair);
    run(pair, 5);
    expect(compartment.dns.servers).toEqual([ip("fd00:2::20")]);
    compartment.dns = { ...compartment.dns, servers: [ip("10.0.2.20")] };
    advertise(pair, {
      options: [{ kind: "recursive-dns-servers", lifetimeSeconds: 60, servers: [six("fd00::5")] }],
    });
    expect(compartment.dns.servers).toEqual([ip("10.0.2.20")]);
  });

  it("a fork goes on as the original does", () => {
    const pair = link(HOME);
    discover(pair);
    const copy = fork(pair);
    for (const each of [pair, copy]) run(each, 5);
    expect(addressesOf(copy)).toEqual(addressesOf(pair));
    expect(addressesOf(copy)).toHaveLength(1);
  });
});

describe("what an advertisement may not do", () => {
  it.each([
    ["from an address of another scope", { source: "fd00:1::1" }],
    ["that a router may have passed on", { ttl: 254 }],
  ] as const)("one %s is malformed (RFC 4861 §6.1.2)", (_what, from) => {
    const pair = link(undefined);
    discover(pair);
    advertise(pair, { options: [information("fd00:1::/64", HOUR_S)] }, from);
    expect(addressesOf(pair)).toEqual([]);
    expect(pair.client.compartment.drops.get("malformed-frame")).toBe(1);
  });

  it.each([
    ["of another length", information("fd00:1::/80", HOUR_S), ["fd00:1::/80 on-link on eth0"]],
    ["of the link itself", information("fe80::/64", HOUR_S), []],
    ["of a group", information("ff05::/64", HOUR_S), []],
    ["preferred for longer than it is valid", information("fd00:1::/64", 60, 61), []],
    ["that is over", information("fd00:1::/64", 0), []],
  ])("no address comes of a prefix %s (RFC 4862 §5.5.3)", (_what, option, routes) => {
    const pair = link(undefined);
    discover(pair);
    advertise(pair, { lifetimeSeconds: 0, options: [option] });
    expect(addressesOf(pair)).toEqual([]);
    expect(routesOf(pair)).toEqual(routes);
  });

  it("who floods the link with prefixes and routers is heard up to a bound, and counted", () => {
    const pair = link(undefined);
    discover(pair);
    const options = Array.from({ length: 20 }, (_, index) => information(`fd00:${index + 1}::/64`, HOUR_S));
    advertise(pair, { options });
    expect(addressesOf(pair)).toHaveLength(16);
    for (let each = 1; each < 20; each++) advertise(pair, {}, { source: `fe80::${each}` });
    expect(routesOf(pair).filter((text) => text.startsWith("::/0"))).toHaveLength(16);
    expect(pair.client.compartment.drops.get("router-advertisement-refused")).toBe(4 + 4);
  });

  it("whatever one says, the host keeps to its bounds, and what it made goes in the end", () => {
    const pair = link(undefined);
    discover(pair);
    fc.assert(
      fc.property(arbitraryNd, fc.integer({ min: 1, max: 30 }), (nd, router) => {
        if (nd.type === "router-advertisement") advertise(pair, nd, { source: `fe80::${router}` });
        expect(addressesOf(pair).length).toBeLessThanOrEqual(16);
        expect(routesOf(pair).filter((text) => text.startsWith("::/0")).length).toBeLessThanOrEqual(16);
      }),
      { numRuns: 100 },
    );
    // The longest lifetime that is not for ever, 136 years.
    pair.env.clock.runUntil(pair.env.clock.nowMs + 0xffff_ffff * 1_000);
    expect(routesOf(pair).filter((text) => text.includes(" via "))).toEqual([]);
  });

  it("an address does not lose its life to one message (RFC 4862 §5.5.3 e)", () => {
    const pair = configured();
    advertise(pair, { options: [information("fd00:1::/64", 0)] });
    expect(addressesOf(pair)).toHaveLength(1);
    pair.routerToClient.netInterface.ipv6.advertiser?.stop();
    run(pair, 2 * HOUR_S);
    expect(addressesOf(pair)).toEqual([]);
  });
});

describe("lifetimes", () => {
  it("a router that says so, or is silent, is no way out any more", () => {
    const pair = configured();
    advertise(pair, { lifetimeSeconds: 0 });
    expect(routesOf(pair)).toEqual(["fd00:1::/64 on-link on eth0"]);
    advertise(pair, { lifetimeSeconds: 60 });
    expect(routesOf(pair)).toContain(`::/0 via ${ROUTER} on eth0`);
    pair.routerToClient.netInterface.ipv6.advertiser?.stop();
    run(pair, 60);
    expect(routesOf(pair)).not.toContain(`::/0 via ${ROUTER} on eth0`);
  });

  it("a router that goes on advertising stays, and so do addresses", () => {
    const pair = configured({
      prefixes: [{ prefix: prefix("fd00:1::/64"), validSeconds: 1_200, preferredSeconds: 900 }],
    });
    run(pair, 5 * HOUR_S);
    expect(addressesOf(pair)).toHaveLength(1);
    expect(ping(pair, "fd00:2::20").replies).toHaveLength(1);
  });

  it("an address that is no longer preferred is a source only where there is no other (RFC 6724 rule 3)", () => {
    const pair = configured();
    const { compartment } = pair.client;
    const sourceTo = (text: string): string => formatIp(compartment.output.findPath(ip(text))!.source);
    const [old = ""] = addressesOf(pair).map((text) => text.replace("/64", ""));
    expect(sourceTo("fd00:1::1")).toBe(old);
    advertise(pair, {
      options: [information("fd00:1::/64", 3 * HOUR_S, 0), information("fd00:99::/64", 3 * HOUR_S)],
    });
    expect(sourceTo("fd00:1::1")).toMatch(/^fd00:99::/);
    expect(ping(pair, "fd00:1::1").replies).toHaveLength(0);
    expect(compartment.isLocal(ip(old))).toBe(true);
  });
});

/** Groups of the reports that a port sent, by kind of record. */
function reportsOf(port: Port): readonly (readonly [source: string, ...records: string[]])[] {
  return sentBy(port, Icmpv6Type.listenerReport).map(({ from, message }) => {
    const report = parseMld(message);
    if (report === undefined || typeof report === "string" || report.type !== "report")
      throw new Error("a report");
    return [
      from,
      ...report.records.map(({ kind, group }: MldRecord) => `${kind} ${formatIp(group)}`),
    ] as const;
  });
}

function query(pair: RoutedPair, group: Ip, source = ROUTER, maxResponseMs = 10_000): void {
  const packet = buildMldFrame({
    link: { sourceMac: mac("52-54-00-00-00-01"), destinationMac: multicastMac(ALL_NODES) },
    source: six(source),
    destination: ALL_NODES,
    mld: {
      type: "query",
      maxResponseMs,
      group: group as Ipv6,
      robustness: 2,
      intervalSeconds: 125,
      sources: [],
    },
  });
  pair.routerToClient.capture.transmit(packet);
}

describe("listener reports (RFC 3810)", () => {
  function dual(): RoutedPair {
    const pair = makeRoutedPair({ clientOs: "linux" });
    addIpv6(pair);
    return pair;
  }
  const LINK_GROUP = "ff02::1:ff00:10";

  it("a group is told of before its address is checked, without a source, and again with one (RFC 3590)", () => {
    const pair = dual();
    run(pair, 3);
    // fd00:1::10 and fe80::215:5dff:fe00:10 share their last 24 bits, and so their group.
    expect(reportsOf(pair.client)).toEqual([
      ["::", `to-exclude ${LINK_GROUP}`],
      ["fe80::215:5dff:fe00:10", `to-exclude ${LINK_GROUP}`],
    ]);
    const types = pair.client.capture.frames.map(read).map((each) => each?.type);
    expect(types.indexOf(Icmpv6Type.listenerReport)).toBeLessThan(
      types.indexOf(Icmpv6Type.neighborSolicitation),
    );
    expect(findWrongFrames(pair.client.capture.frames)).toEqual([]);
  });

  it("a general query is answered with all groups, within the time that it gives", () => {
    const pair = dual();
    pair.client.compartment.addAddress(pair.client.netInterface, cidr("fd00:1::99/64"));
    run(pair, 3);
    pair.client.capture.frames.length = 0;
    query(pair, ip("::"));
    query(pair, ip("::"));
    run(pair, 10.1);
    expect(reportsOf(pair.client)).toEqual([
      ["fe80::215:5dff:fe00:10", `is-exclude ${LINK_GROUP}`, "is-exclude ff02::1:ff00:99"],
    ]);
  });

  it("one for a group is answered by who listens to it", () => {
    const pair = dual();
    run(pair, 3);
    pair.client.capture.frames.length = 0;
    query(pair, ip("ff02::1:ff00:77"));
    run(pair, 11);
    expect(reportsOf(pair.client)).toEqual([]);
    query(pair, ip(LINK_GROUP));
    run(pair, 11);
    expect(reportsOf(pair.client)).toEqual([["fe80::215:5dff:fe00:10", `is-exclude ${LINK_GROUP}`]]);
  });

  it("one that gives little time is answered in it, whatever one before it gave", () => {
    const pair = dual();
    run(pair, 3);
    pair.client.capture.frames.length = 0;
    query(pair, ip("::"), ROUTER, 32_000);
    query(pair, ip("::"), ROUTER, 10);
    run(pair, 0.1);
    expect(reportsOf(pair.client)).toHaveLength(1);
    run(pair, 40);
    expect(reportsOf(pair.client)).toHaveLength(1);
  });

  it("one that is not from the link is not answered", () => {
    const pair = dual();
    run(pair, 3);
    pair.client.capture.frames.length = 0;
    query(pair, ip("::"), "fd00:2::20");
    run(pair, 11);
    expect(reportsOf(pair.client)).toEqual([]);
  });

  it("the group of an address that goes is left, unless another address is in it", () => {
    const pair = dual();
    const { compartment, netInterface } = pair.client;
    compartment.addAddress(netInterface, cidr("fd00:1::99/64"));
    run(pair, 3);
    pair.client.capture.frames.length = 0;
    compartment.removeAddress(netInterface, ip("fd00:1::10"));
    compartment.removeAddress(netInterface, ip("fd00:1::99"));
    expect(reportsOf(pair.client)).toEqual([["fe80::215:5dff:fe00:10", "to-include ff02::1:ff00:99"]]);
  });

  it("an interface without IPv6 says nothing, and one that is taken away neither", () => {
    const pair = dual();
    run(pair, 3);
    query(pair, ip("::"));
    pair.client.capture.frames.length = 0;
    pair.client.compartment.removeInterface(pair.client.netInterface);
    run(pair, 11);
    expect(pair.client.capture.frames).toEqual([]);
    expect(eventsOf(pair).events).toEqual([]);
  });
});
