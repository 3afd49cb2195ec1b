/**
 * Hostile frames through whole nodes of each driver, from pods and from the wire. Two nodes get the same frames at the same
 * times; one of them walks the layers for every packet. Nothing may throw, both send the same bytes to the same ports,
 * and afterwards ordinary packets get through.
 */
import { expect } from "vitest";
import { readU16 } from "#core/base/bytes.ts";
import { Prng } from "#core/base/prng.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { createLoadBalancer } from "#contracts/hcn/operations.ts";
import { ROUTER_MAC } from "#dataplane/fabric/underlay.ts";
import { DATAPLANE_VECTORS } from "../wire/dataplane-vectors.ts";
import { type DriverPod, DriverWorld, W1_MAC } from "../dataplane/driver-world.ts";
import { framesBeside, makeHostile } from "../wire/hostile-frames.ts";
import type { NextHop, NextHopResolver } from "#dataplane/vfp/actions/next-hop.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { formatFrame } from "#core/wire/text/format.ts";
import { Packet } from "#core/wire/packet.ts";

export const DRIVERS = ["L2Bridge", "L2Tunnel", "Overlay", "Transparent", "NAT"] as const;
export type Driver = (typeof DRIVERS)[number];

const SUBNETS: Readonly<Record<Driver, { readonly prefix: string; readonly gateway: string } | undefined>> = {
  L2Bridge: { prefix: "10.0.0.0/24", gateway: "10.0.0.1" },
  L2Tunnel: { prefix: "10.0.0.0/24", gateway: "10.0.0.1" },
  Overlay: { prefix: "10.244.1.0/24", gateway: "10.244.1.1" },
  Transparent: undefined,
  NAT: { prefix: "172.20.1.0/24", gateway: "172.20.1.1" },
};
const PODS: Readonly<Record<Driver, readonly [string, string]>> = {
  L2Bridge: ["10.0.0.50", "10.0.0.51"],
  L2Tunnel: ["10.0.0.50", "10.0.0.51"],
  Overlay: ["10.244.1.10", "10.244.1.11"],
  Transparent: ["10.0.0.50", "10.0.0.51"],
  NAT: ["172.20.1.5", "172.20.1.6"],
};

const acl = (settings: object): PolicyDocument => ({
  Type: "ACL",
  Settings: { RuleType: "Switch", ...settings },
});
/** What a port of a network with VFP enforces besides: rules by address and port, and source NAT. */
const POLICIES: readonly PolicyDocument[] = [
  acl({ Action: "Block", Direction: "In", Protocols: "17", LocalPorts: "4000-4999", Priority: 100 }),
  acl({ Action: "Allow", Direction: "In", Priority: 200 }),
  acl({ Action: "Block", Direction: "Out", RemoteAddresses: "203.0.113.128/25", Priority: 100 }),
  acl({ Action: "Allow", Direction: "Out", Priority: 200 }),
  { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/8"] } },
];

/** Sums up all frames that leave a port, in their order, and keeps some for later. */
class Tap implements Device {
  readonly mtuBytes: number;
  private readonly node: TappedNode;
  private readonly index: number;
  private readonly inner: Device;

  constructor(node: TappedNode, index: number, inner: Device) {
    this.node = node;
    this.index = index;
    this.inner = inner;
    this.mtuBytes = inner.mtuBytes;
  }

  attach(receiver: Receiver): void {
    this.inner.attach(receiver);
  }

  transmit(packet: Packet): boolean {
    this.node.hear(this.index, packet);
    return this.inner.transmit(packet);
  }
}

class Gateway implements NextHopResolver {
  resolve(): NextHop {
    return { sourceMac: W1_MAC, destinationMac: ROUTER_MAC };
  }
}

class TappedNode {
  readonly world: DriverWorld;
  readonly ports: readonly SwitchPort[];
  readonly pods: readonly DriverPod[];
  readonly heard: Uint8Array[] = [];
  isListening = false;
  sum = 0;
  frames = 0;
  /** What the last few frames were, for people. */
  private readonly recent: { readonly port: number; readonly frame: Uint8Array }[] = [];

  constructor(world: DriverWorld, pods: readonly DriverPod[], usesUnifiedFlows: boolean) {
    this.world = world;
    this.pods = pods;
    this.ports = world.datapath.listSwitches().flatMap((each) => each.listPorts());
    for (const [index, port] of this.ports.entries()) {
      Object.assign(port, { device: new Tap(this, index, port.device) });
      // A flow keeps its next hop for 30 s, the layers ask again and again: neighbours that age would tell them apart.
      port.vfp.nextHopResolver = new Gateway();
      port.vfp.flowSettings = { ...port.vfp.flowSettings, usesUnifiedFlows };
    }
  }

  hear(index: number, { bytes, start, end }: Packet): void {
    let sum = Math.imul(this.sum ^ index ^ (end - start), 0x01000193);
    for (let at = start; at < end; at++) sum = Math.imul(sum ^ (bytes[at] ?? 0), 0x01000193);
    this.sum = sum;
    this.frames++;
    this.recent.push({ port: index, frame: bytes.slice(start, end) });
    if (this.recent.length > 6) this.recent.shift();
    if (this.isListening) this.heard.push(bytes.slice(start, end));
  }

  /** A frame from whoever is behind port `index`. */
  send(index: number, frame: Uint8Array): void {
    const port = this.ports[index];
    const home = this.world.datapath.listSwitches().find((each) => each.getPort(port?.id ?? "") === port);
    if (port !== undefined) home?.handleFrame(port, Packet.fromFrame(frame));
  }

  report(): string {
    return this.recent
      .map(({ port, frame }) => [this.ports[port]?.name, ...formatFrame(frame)].join("\n  "))
      .join("\n");
  }

  /** All that was counted, to be compared. */
  counts(): unknown {
    return this.ports.map(({ counters, vfp }) => ({ ...counters, vfp: Object.fromEntries(vfp.drops) }));
  }
}

async function tappedNode(driver: Driver, usesUnifiedFlows: boolean): Promise<TappedNode> {
  const [first, second] = PODS[driver];
  const world = new DriverWorld(driver === "L2Tunnel" ? { fabricAddresses: [first, second] } : {});
  const subnet = SUBNETS[driver];
  const network = await world.network(driver, subnet, driver === "Overlay" ? overlayFields(subnet) : {});
  const hasRules = driver === "L2Bridge" || driver === "Overlay" || driver === "L2Tunnel";
  const fields = (address: string): HostComputeEndpoint => ({
    IpConfigurations: [{ IpAddress: address, PrefixLength: 24 }],
    ...(hasRules && { Policies: [...POLICIES] }),
  });
  const pods = [await world.pod("A", network, fields(first)), await world.pod("B", network, fields(second))];
  if (hasRules) {
    await createLoadBalancer(world.client, {
      HostComputeEndpoints: pods.map(({ endpoint }) => endpoint),
      FrontendVIPs: ["10.96.0.50"],
      PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
      Flags: 1,
    });
  }
  for (const { compartment } of pods) {
    world.serve(compartment, "tcp", 8080);
    world.serve(compartment, "udp", 8080);
  }
  world.x.serve("tcp", 443);
  return new TappedNode(world, pods, usesUnifiedFlows);
}

function overlayFields(subnet: { readonly prefix: string; readonly gateway: string } | undefined): object {
  const { prefix = "", gateway = "" } = subnet ?? {};
  return {
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: prefix,
            Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }],
            Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
          },
        ],
      },
    ],
    Policies: [
      { Type: "HostRoute", Settings: {} },
      {
        Type: "RemoteSubnetRoute",
        Settings: {
          DestinationPrefix: "10.244.2.0/24",
          IsolationId: 4096,
          ProviderAddress: "10.0.0.12",
          DistributedRouterMacAddress: "00-15-5D-AA-00-02",
        },
      },
    ],
  };
}

/** What people ask of such a node. */
function converse(node: TappedNode, driver: Driver): readonly string[] {
  const [a] = node.pods;
  const [, second] = PODS[driver];
  if (a === undefined) return [];
  const { world } = node;
  return [
    world.ask(a.compartment, "tcp", second, 8080).outcome,
    world.ask(a.compartment, "udp", second, 8080).outcome,
    world.ask(a.compartment, "icmp", second).outcome,
    world.ask(a.compartment, "tcp", "203.0.113.10", 443).outcome,
  ];
}

function besides({ pods }: TappedNode): readonly Uint8Array[] {
  const [a, b] = pods.map(({ compartment }) => compartment.listInterfaces()[0]);
  const [from, to] = [a?.addresses[0]?.ip, b?.addresses[0]?.ip];
  if (a === undefined || b === undefined || from === undefined || to === undefined) return [];
  return framesBeside([a.mac, b.mac], [from, to]);
}

/** Sends `count` frames made from those of `corpus` to both nodes. */
function flood(
  nodes: readonly TappedNode[],
  corpus: readonly Uint8Array[],
  prng: Prng,
  count: number,
  check: () => void = () => {},
): void {
  const [first] = nodes;
  for (let sent = 0; sent < count; ) {
    const frame = corpus[prng.below(corpus.length)];
    if (frame === undefined || first === undefined) return;
    const port = prng.below(first.ports.length);
    for (const each of makeHostile(frame, prng)) {
      for (const node of nodes) node.send(port, each);
      sent++;
    }
    const untilMs = first.world.clock.nowMs + prng.below(20);
    for (const { world } of nodes) world.clock.runUntil(untilMs);
    check();
  }
}

export async function surviveHostileFrames(driver: Driver, seed: number, count: number): Promise<void> {
  const nodes = [await tappedNode(driver, true), await tappedNode(driver, false)] as const;
  const [fast, slow] = nodes;
  fast.isListening = true;
  const before = nodes.map((node) => converse(node, driver));
  fast.isListening = false;
  expect(before[0]).toEqual(before[1]);
  expect(before[0]?.[0]).toBe("answered");
  const all = [...fast.heard, ...Object.values(DATAPLANE_VECTORS), ...besides(fast)];
  const isArp = (frame: Uint8Array): boolean => readU16(frame, 12) === EtherType.arp;
  const prng = new Prng(seed);
  flood(
    nodes,
    all.filter((frame) => !isArp(frame)),
    prng,
    count,
    () => {
      if (slow.sum === fast.sum) return;
      throw new Error(`SEED=${seed}: the two paths differ\n${fast.report()}\nslow:\n${slow.report()}`);
    },
  );
  expect(fast.frames).toBeGreaterThan(count / 10);
  expect(fast.counts()).toEqual(slow.counts());
  const hits = fast.ports.map(
    ({ vfp: { counters } }) => counters.in.unifiedFlowMatch + counters.out.unifiedFlowMatch,
  );
  const hasLayers = fast.ports.some(({ vfp }) => vfp.layers.length > 0);
  if (hasLayers) expect(Math.max(...hits), "the fast path was taken").toBeGreaterThan(count / 20);
  // Forged neighbours: what a node believes of its own neighbours is its stack's, not its ports'.
  flood(nodes, all.filter(isArp), prng, count / 20);
  for (const node of nodes) {
    for (const { vfp } of node.ports)
      expect(vfp.unifiedFlowCount).toBeLessThanOrEqual(LIMITS.flowsPerPortMax);
    node.world.run(600_000);
    // Stacks believe a forged neighbour until their probes find nobody there (#dataplane/host/ip/neighbor-table.ts), which can take
    // longer than the first caller waits. After that everybody has to be answered again.
    converse(node, driver);
    expect(converse(node, driver)).toEqual(before[0]);
  }
}
