/** The DNS server on the wire, and what it asks of others. */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { StaticZone } from "#control-plane/dns/static-zone.ts";
import {
  type NameWorld,
  POD_DNS,
  makeNameWorld,
  resolve,
  formatQuestion,
} from "#test/support/dataplane/name-world.ts";
import { eventsOf } from "#test/support/dataplane/routed-pair.ts";
import { serviceObject } from "#test/support/cluster/kube-objects.ts";
import { ip } from "#test/support/dataplane/stack-world.ts";
import { NameLookup } from "#dataplane/host/resolver/name-lookup.ts";
import { DnsServer } from "./dns-server.ts";

/** The router, as the resolver of the world outside. */
const OUTSIDE = ip("10.0.2.1");

function withOutside(clientOs: "windows" | "linux" = "windows"): NameWorld & { readonly outside: DnsServer } {
  const world = makeNameWorld({ clientOs, upstreams: [OUTSIDE] });
  const zone = new StaticZone();
  zone.addAddress("www.example.com", ip("93.184.216.34"));
  const outside = new DnsServer({ compartment: world.pair.routerToServer.compartment, sources: [zone] });
  outside.listen();
  return { ...world, outside };
}

describe("names of others", () => {
  it("are asked of another server, and its answer is passed on", () => {
    const world = withOutside();
    expect(resolve(world, "www.example.com")).toMatchObject({ addresses: [ip("93.184.216.34")] });
    expect(world.outside.answeredCount).toBe(1);
    expect(world.server.pending.size).toBe(0);
    expect(world.server.compartment.udp.listSockets()).toHaveLength(1);
  });

  it("are unknown when the other server says so (kubernetes.default from a Windows pod)", () => {
    expect(resolve(withOutside(), "kubernetes.default")).toMatchObject({
      code: "dns-name-with-dot-not-completed",
    });
    expect(resolve(withOutside("linux"), "kubernetes.default")).toMatchObject({ outcome: "resolved" });
  });

  it("are the targets of aliases too", () => {
    expect(resolve(withOutside(), "out")).toMatchObject({
      addresses: [ip("93.184.216.34")],
      canonicalName: "www.example.com.",
    });
  });

  it("that nobody knows leave the alias without an address", () => {
    const world = withOutside();
    world.zone.apply(
      serviceObject("default/out", { type: "ExternalName", externalName: "gone.example.net" }),
    );
    const result = resolve(world, "out");
    expect(result).toMatchObject({ code: "dns-no-address" });
    expect(result.questions[0]!.canonicalName).toBe("gone.example.net.");
  });

  it("fail after three attempts of two seconds when the other server is silent", () => {
    const world = withOutside();
    resolve(world, "www.example.com.");
    world.pair.routerToServer.lossy.passNext = 1;
    world.pair.routerToServer.lossy.loseNext = 1_000;
    world.outside.close();
    const heard: number[] = [];
    world.pair.routerToServer.compartment.udp.bind({
      port: 53,
      owner: { udpReceived: () => heard.push(world.pair.env.clock.nowMs), udpFailed: () => undefined },
    });
    const lookup = new NameLookup({ compartment: world.pair.client.compartment, name: "other.example.com" });
    lookup.start();
    world.pair.env.clock.runUntil(world.pair.env.clock.nowMs + 900);
    // The client's repetitions are lost on the way; the first question alone is asked on.
    world.pair.client.lossy.loseNext = 1_000;
    const startMs = heard[0]!;
    world.pair.env.clock.runUntil(startMs + 8_000);
    expect(heard.map((atMs) => Math.round((atMs - startMs) / 1_000))).toEqual([0, 2, 4]);
    expect(world.server.pending.size).toBe(0);
    expect(world.server.answeredCount).toBe(2);
  });

  it("fail with SERVFAIL soon when nothing listens there", () => {
    const world = withOutside("linux");
    world.outside.close();
    const result = resolve(world, "www.example.com.");
    expect(result).toMatchObject({ code: "dns-server-failure" });
    expect(result.questions[0]!.detail).toBe("SERVFAIL");
    expect(result.tookMs).toBeLessThan(1_000);
  });

  it("are refused when there is nobody to ask", () => {
    const result = resolve(makeNameWorld(), "www.example.com");
    expect(result.questions.map(formatQuestion)).toEqual(["A www.example.com.: REFUSED"]);
    expect(resolve(makeNameWorld(), "out")).toMatchObject({ code: "dns-no-address" });
  });

  it("may be asked of several servers, in turn", () => {
    const world = withOutside("linux");
    world.server.upstreams = [ip("10.0.2.99"), OUTSIDE];
    for (let round = 0; round < 6; round++)
      expect(resolve(world, "www.example.com.")).toMatchObject({ outcome: "resolved" });
  });
});

describe("a running server", () => {
  it("speaks of what its zone has become", () => {
    const world = makeNameWorld({ clientOs: "linux" });
    expect(resolve(world, "late")).toMatchObject({ code: "dns-server-failure" });
    world.zone.apply(serviceObject("default/late", { clusterIP: "10.96.0.50" }));
    expect(resolve(world, "late")).toMatchObject({ addresses: [ip("10.96.0.50")] });
    world.server.sources = [new StaticZone()];
    expect(resolve(world, "late")).toMatchObject({ code: "dns-name-unknown" });
  });

  it("cannot share its port, and serves no more when it is closed", () => {
    const world = makeNameWorld();
    const other = new DnsServer({ compartment: world.server.compartment, sources: [] });
    expect(other.listen()).toBe("port-in-use");
    world.server.close();
    expect(other.listen()).toBeUndefined();
  });

  it("can be copied while it waits for another one", () => {
    const world = withOutside();
    const { clock } = world.pair.env;
    const lookup = new NameLookup({ compartment: world.pair.client.compartment, name: "www.example.com" });
    lookup.start();
    while (world.server.pending.size === 0) clock.step();
    const copy = fork({ world, lookup });
    copy.world.pair.env.clock.runUntil(clock.nowMs + 20_000);
    expect(copy.lookup.result).toMatchObject({ addresses: [ip("93.184.216.34")] });
    expect(copy.world.server.pending.size).toBe(0);
    expect(lookup.result).toBeUndefined();
    expect(world.server.pending.size).toBe(1);
  });

  it("leaves nothing behind when it is closed while it waits", () => {
    const world = withOutside();
    const { clock } = world.pair.env;
    new NameLookup({ compartment: world.pair.client.compartment, name: "www.example.com" }).start();
    while (world.server.pending.size === 0) clock.step();
    world.server.close();
    expect(world.server.compartment.udp.listSockets()).toEqual([]);
    expect(clock.runUntilIdle(clock.nowMs + 60_000)).toBe(true);
  });

  it("marks its answer to a followed question, also when it had to ask itself", () => {
    const world = withOutside();
    eventsOf(world.pair).events.length = 0;
    resolve(world, "www.example.com", { followedQuestion: 0 });
    const lines = eventsOf(world.pair).lines();
    expect(lines.filter((line) => line.includes("deliver"))).toEqual([
      "1 deliver server/host",
      "2 deliver client/host",
    ]);
  });

  it("is no trouble to a pod that asks rubbish", () => {
    const world = makeNameWorld({ dns: POD_DNS });
    const socket = world.pair.client.compartment.udp.bind({
      owner: { udpReceived: () => undefined, udpFailed: () => undefined },
    });
    if (typeof socket === "string") throw new Error(socket);
    for (let length = 0; length < 40; length++) {
      const bytes = Uint8Array.from({ length }, (_each, index) => (index * 37) & 0xff);
      socket.send({ destination: ip("10.0.2.20"), port: 53, bytes });
    }
    world.pair.env.clock.runUntil(world.pair.env.clock.nowMs + 1_000);
    expect(resolve(world, "kubernetes")).toMatchObject({ outcome: "resolved" });
  });
});
