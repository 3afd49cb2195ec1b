/** Nodes, router, outside hosts and a Linux bridge together: who reaches whom, and who does not. */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { formatIp } from "#core/net/ip.ts";
import { Host } from "../host/host.ts";
import { EchoProbe, TcpProbe, UdpProbe, type ProbeResult } from "../host/probes/probe.ts";
import type { Compartment } from "../host/compartment.ts";
import { IdentificationServer } from "../host/services/identification-server.ts";
import {
  CaptureDevice,
  EventList,
  type TestEnvironment,
  cidr,
  findWrongFrames,
  ip,
  mac,
  makeEnvironment,
  prefix,
} from "#test/support/dataplane/stack-world.ts";
import { LinuxBridge } from "./linux-bridge.ts";
import { Underlay } from "./underlay.ts";

interface World {
  readonly env: TestEnvironment;
  readonly underlay: Underlay;
  readonly node: Host;
  readonly pod: Compartment;
  readonly captures: readonly CaptureDevice[];
}

/** A Linux node 10.0.0.21 with a pod 10.244.3.10 behind its bridge, a router, an outside host. */
function makeWorld(seed = "world"): World {
  const env = makeEnvironment(seed);
  const underlay = new Underlay(env, {
    subnet: prefix("10.0.0.0/24"),
    routerIp: ip("10.0.0.1"),
    outside: [{ name: "outside", ip: ip("203.0.113.10") }],
  });
  underlay.getOutsideHost("outside")!.serve("tcp", 443);
  underlay.getOutsideHost("outside")!.serve("udp", 53);
  const node = new Host(env, { name: "l1", os: "linux" });
  const uplink = new CaptureDevice(env.clock, underlay.connect("l1"));
  const eth0 = node.root.addInterface({ name: "eth0", mac: mac("52-54-00-00-00-21"), device: uplink });
  node.root.addAddress(eth0, cidr("10.0.0.21/24"));
  node.root.addRoute({ prefix: prefix("0.0.0.0/0"), nextHop: ip("10.0.0.1"), interface: eth0, metric: 0 });
  node.root.setForwarding(true);
  const bridge = new LinuxBridge(env, {
    name: "cbr0",
    compartment: node.root,
    mac: mac("52-54-00-00-03-01"),
    address: cidr("10.244.3.1/24"),
  });
  const pod = node.createCompartment("pod default/d");
  const cable = new CaptureDevice(env.clock, bridge.connect("veth0"));
  const podEth0 = pod.addInterface({ name: "eth0", mac: mac("52-54-00-00-03-0A"), device: cable });
  pod.addAddress(podEth0, cidr("10.244.3.10/24"));
  pod.addRoute({ prefix: prefix("0.0.0.0/0"), nextHop: ip("10.244.3.1"), interface: podEth0, metric: 0 });
  new IdentificationServer(pod, "d").listenTcp(8080);
  return { env, underlay, node, pod, captures: [uplink, cable] };
}

function run(world: World, probe: EchoProbe | TcpProbe | UdpProbe): ProbeResult {
  probe.start();
  world.env.clock.runUntil(world.env.clock.nowMs + 20_000);
  return probe.result!;
}

const routeToPods = { prefix: prefix("10.244.3.0/24"), nextHop: ip("10.0.0.21") };

describe("the underlay", () => {
  it("joins nodes on the segment", () => {
    const world = makeWorld();
    const other = new Host(world.env, { name: "w1", os: "windows" });
    const eth0 = other.root.addInterface({
      name: "Ethernet",
      mac: mac("00-15-5D-00-00-11"),
      device: world.underlay.connect("w1"),
    });
    other.root.addAddress(eth0, cidr("10.0.0.11/24"));
    const result = run(world, new EchoProbe({ compartment: other.root, destination: ip("10.0.0.21") }));
    expect(result).toEqual({ outcome: "answered", answer: "echo reply from 10.0.0.21, TTL 64", rttMs: 0.5 });
    expect(world.underlay.segment.listPorts()).toEqual(["router", "l1", "w1"]);
  });

  it.each(["tcp", "udp"] as const)(
    "reaches the outside host from a node over %s, which sees the node's address",
    (protocol) => {
      const world = makeWorld();
      const options = {
        compartment: world.node.root,
        destination: ip("203.0.113.10"),
        port: protocol === "tcp" ? 443 : 53,
      };
      const result = run(world, protocol === "tcp" ? new TcpProbe(options) : new UdpProbe(options));
      expect(result).toMatchObject({ outcome: "answered" });
      expect(result.outcome === "answered" && result.answer).toMatch(/^outside saw 10\.0\.0\.21:\d+\n$/);
    },
  );

  it("has no way back to pods: a pod's packet reaches outside, its answer ends at the router", () => {
    const world = makeWorld();
    const events = new EventList();
    world.env.recorder = events;
    const probe = new EchoProbe({
      compartment: world.pod,
      destination: ip("203.0.113.10"),
      isFollowed: true,
    });
    expect(run(world, probe)).toMatchObject({ outcome: "timed-out" });
    expect(events.lines()).toEqual([
      "1 send l1/pod default/d",
      "1 switch l1/cbr0",
      "1 forward l1/host",
      "1 wire underlay/segment",
      "1 forward router/router",
      "1 wire underlay/outside 203.0.113.0/24",
      "1 deliver outside/host",
      "2 send outside/host",
      "2 wire underlay/outside 203.0.113.0/24",
      "2 drop router/router no-route",
    ]);
  });

  it("finds the way back once the router is given the route", () => {
    const world = makeWorld();
    expect(world.underlay.router.addRoute(routeToPods)).toBe(true);
    const probe = (): EchoProbe => new EchoProbe({ compartment: world.pod, destination: ip("203.0.113.10") });
    expect(run(world, probe())).toMatchObject({
      outcome: "answered",
      answer: "echo reply from 203.0.113.10, TTL 62",
    });
    expect(world.underlay.router.removeRoute(routeToPods)).toBe(true);
    expect(world.underlay.router.removeRoute(routeToPods)).toBe(false);
    expect(run(world, probe())).toMatchObject({ outcome: "timed-out" });
  });

  it("takes no route over a next hop that it is not connected to", () => {
    const { underlay } = makeWorld();
    expect(underlay.router.addRoute({ ...routeToPods, nextHop: ip("10.1.0.21") })).toBe(false);
  });

  it("reaches a pod from outside when the router knows the way", () => {
    const world = makeWorld();
    const outside = world.underlay.getOutsideHost("outside")!;
    const probe = (): TcpProbe =>
      new TcpProbe({ compartment: outside.compartment, destination: ip("10.244.3.10"), port: 8080 });
    expect(run(world, probe())).toEqual({
      outcome: "unreachable",
      detail: "destination network unreachable, says 203.0.113.1",
    });
    world.underlay.router.addRoute(routeToPods);
    expect(run(world, probe())).toMatchObject({
      outcome: "answered",
      answer: expect.stringMatching(/^d saw 203\.0\.113\.10:\d+\n$/) as string,
    });
    expect(world.captures.flatMap((capture) => findWrongFrames(capture.frames))).toEqual([]);
  });

  it("has room for more hosts outside, on one network or on several", () => {
    const { underlay, env, node } = makeWorld();
    const names = [
      ["second", "203.0.113.20"],
      ["client", "198.51.100.7"],
      ["first-address", "192.0.2.1"],
    ] as const;
    for (const [name, address] of names) underlay.addOutsideHost({ name, ip: ip(address) }).serve("tcp", 80);
    for (const [name, address] of names) {
      const probe = new TcpProbe({ compartment: node.root, destination: ip(address), port: 80 });
      probe.start();
      env.clock.runUntil(env.clock.nowMs + 1_000);
      expect(probe.result!.outcome === "answered" && probe.result!.answer).toContain(
        `${name} saw 10.0.0.21:`,
      );
    }
    // The router has the first address of a network, or the second where a host has the first.
    const addresses = underlay.router.compartment
      .listInterfaces()
      .flatMap((each) => each.addresses.map((address) => formatIp(address.ip)));
    expect(addresses).toEqual(expect.arrayContaining(["203.0.113.1", "198.51.100.1", "192.0.2.2"]));
    expect(underlay.listOutsideHosts().map((host) => host.name)).toEqual([
      "outside",
      "second",
      "client",
      "first-address",
    ]);
    expect(underlay.router.compartment.listInterfaces().map((each) => each.name)).toEqual([
      "eth0",
      "eth1",
      "eth2",
      "eth3",
    ]);
  });

  it("serves a port outside when asked", () => {
    const world = makeWorld();
    const outside = world.underlay.getOutsideHost("outside")!;
    const probe = (): TcpProbe =>
      new TcpProbe({ compartment: world.node.root, destination: outside.ip, port: 5432 });
    expect(run(world, probe())).toMatchObject({ outcome: "refused" });
    expect(outside.serve("tcp", 5432)).toBeUndefined();
    expect(outside.serve("tcp", 5432)).toBeUndefined();
    expect(run(world, probe())).toMatchObject({ outcome: "answered" });
  });

  it("lets a node go", () => {
    const world = makeWorld();
    world.underlay.disconnect("l1");
    const outside = world.underlay.getOutsideHost("outside")!;
    const result = run(
      world,
      new EchoProbe({ compartment: outside.compartment, destination: ip("10.0.0.21") }),
    );
    expect(result).toEqual({
      outcome: "unreachable",
      detail: "destination host unreachable, says 203.0.113.1",
    });
  });

  it("is copied in the middle of a conversation, and both go on alike", () => {
    const world = makeWorld();
    const probe = new TcpProbe({ compartment: world.pod, destination: ip("10.0.0.1"), port: 80 });
    probe.start();
    world.env.clock.runUntil(0.1);
    const copy = fork({ world, probe });
    copy.world.env.clock.runUntil(20_000);
    expect(probe.result).toBeUndefined();
    world.env.clock.runUntil(20_000);
    expect(copy.probe.result).toEqual(probe.result);
    expect(copy.world.captures.map((capture) => capture.lines())).toEqual(
      world.captures.map((capture) => capture.lines()),
    );
  });

  it("gives the same frames from the same seed", () => {
    const lines = (seed: string): string[] => {
      const world = makeWorld(seed);
      run(world, new TcpProbe({ compartment: world.node.root, destination: ip("203.0.113.10"), port: 443 }));
      return world.captures.flatMap((capture) => capture.lines());
    };
    expect(lines("a")).toEqual(lines("a"));
    expect(lines("a")).not.toEqual(lines("b"));
  });
});
