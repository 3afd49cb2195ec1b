/** Two hosts on both sides of a router, with ears on all cables: the smallest network with everything in it. */
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { Host } from "#dataplane/host/host.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import {
  CaptureDevice,
  EventList,
  type TestEnvironment,
  cidr,
  ip,
  mac,
  makeEnvironment,
  prefix,
} from "./stack-world.ts";
import type { Clock, Task } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import type { Packet } from "#core/wire/packet.ts";

/** How a cable treats frames: by chance, repeatably from a seed. */
export interface LossyOptions {
  /** Each from 0 to 1. Default 0. */
  readonly lossRatio?: number;
  readonly duplicateRatio?: number;
  /** How many frames are held back, so that later ones overtake them. */
  readonly delayRatio?: number;
  /** How long a frame is held back at most, in milliseconds. Default 20. */
  readonly delayMaxMs?: number;
}

class LateTransmission implements Task {
  private readonly inner: Device;
  private readonly packet: Packet;

  constructor(inner: Device, packet: Packet) {
    this.inner = inner;
    this.packet = packet;
  }

  run(): void {
    this.inner.transmit(this.packet);
  }
}

/** Loses, repeats and delays the frames that are sent through it; those that arrive pass. */
export class LossyDevice implements Device {
  lostCount = 0;
  /** Lets this many of the next frames pass, whatever the ratios say. */
  passNext = 0;
  /** Loses this many of the frames after those, whatever the ratios say. */
  loseNext = 0;
  private readonly inner: Device;
  private readonly clock: Clock;
  private readonly prng: Prng;
  private readonly options: LossyOptions;

  constructor(clock: Clock, prng: Prng, inner: Device, options: LossyOptions = {}) {
    this.clock = clock;
    this.prng = prng;
    this.inner = inner;
    this.options = options;
  }

  get mtuBytes(): number {
    return this.inner.mtuBytes;
  }

  attach(receiver: Receiver): void {
    this.inner.attach(receiver);
  }

  transmit(packet: Packet): boolean {
    const { lossRatio = 0, duplicateRatio = 0, delayRatio = 0, delayMaxMs = 20 } = this.options;
    if (this.passNext > 0) {
      this.passNext--;
      return this.inner.transmit(packet);
    }
    if (this.loseNext > 0 || this.happens(lossRatio)) {
      if (this.loseNext > 0) this.loseNext--;
      this.lostCount++;
      return true;
    }
    if (this.happens(duplicateRatio)) this.inner.transmit(packet.copy());
    if (!this.happens(delayRatio)) return this.inner.transmit(packet);
    const delayMs = 1 + this.prng.below(delayMaxMs);
    this.clock.schedule(delayMs, new LateTransmission(this.inner, packet));
    return true;
  }

  private happens(ratio: number): boolean {
    return ratio > 0 && this.prng.below(1_000_000) < ratio * 1_000_000;
  }
}

export interface RoutedPairOptions {
  readonly seed?: string;
  readonly clientOs?: OperatingSystem;
  readonly serverOs?: OperatingSystem;
  /** MTU of the cable between router and server. Default 1500. */
  readonly serverMtuBytes?: number;
}

/** One end of a cable with an ear and a fault injector. */
export interface Port {
  readonly compartment: Compartment;
  readonly netInterface: Interface;
  /** What this side sends. */
  readonly capture: CaptureDevice;
  /** Loses what this side sends when told. */
  readonly lossy: LossyDevice;
}

/** 10.0.1.10 (client) – 10.0.1.1, 10.0.2.1 (router) – 10.0.2.20 (server). Cables take 1 ms. */
export interface RoutedPair {
  readonly env: TestEnvironment;
  readonly client: Port;
  readonly routerToClient: Port;
  readonly routerToServer: Port;
  readonly server: Port;
}

export const CLIENT_MAC = "00-15-5D-00-00-10";
export const SERVER_MAC = "00-15-5D-00-00-20";

function attach(
  env: TestEnvironment,
  compartment: Compartment,
  device: ReturnType<typeof memoryPair>[number],
  [name, macText, address]: readonly [string, string, string],
): Port {
  const lossy = new LossyDevice(env.clock, env.prng.derive(`lossy/${macText}`), device);
  const capture = new CaptureDevice(env.clock, lossy);
  const netInterface = compartment.addInterface({ name, mac: mac(macText), device: capture });
  compartment.addAddress(netInterface, cidr(address));
  return { compartment, netInterface, capture, lossy };
}

export function makeRoutedPair(options: RoutedPairOptions = {}): RoutedPair {
  const env = makeEnvironment(options.seed ?? "pair");
  env.recorder = new EventList();
  const [clientEnd, routerClientEnd] = memoryPair(env.clock, { delayMs: 1 });
  const mtuBytes = options.serverMtuBytes ?? 1500;
  const [serverEnd, routerServerEnd] = memoryPair(env.clock, { delayMs: 1, mtuBytes });
  const router = new Host(env, { name: "router", os: "linux" });
  router.root.setForwarding(true);
  const client = new Host(env, { name: "client", os: options.clientOs ?? "windows" });
  const server = new Host(env, { name: "server", os: options.serverOs ?? "linux" });
  const pair = {
    env,
    client: attach(env, client.root, clientEnd, ["eth0", CLIENT_MAC, "10.0.1.10/24"]),
    routerToClient: attach(env, router.root, routerClientEnd, ["eth0", "52-54-00-00-00-01", "10.0.1.1/24"]),
    routerToServer: attach(env, router.root, routerServerEnd, ["eth1", "52-54-00-00-00-02", "10.0.2.1/24"]),
    server: attach(env, server.root, serverEnd, ["eth0", SERVER_MAC, "10.0.2.20/24"]),
  };
  for (const [port, nextHop] of [
    [pair.client, "10.0.1.1"],
    [pair.server, "10.0.2.1"],
  ] as const) {
    const route = {
      prefix: prefix("0.0.0.0/0"),
      nextHop: ip(nextHop),
      interface: port.netInterface,
      metric: 0,
    };
    port.compartment.addRoute(route);
  }
  env.clock.runUntilIdle(100);
  for (const port of listPorts(pair)) port.capture.frames.length = 0;
  return pair;
}

/** All four ends. */
export function listPorts(pair: RoutedPair): Port[] {
  return [pair.client, pair.routerToClient, pair.routerToServer, pair.server];
}

/** What the pair's recorder heard. */
export function eventsOf(pair: RoutedPair): EventList {
  return pair.env.recorder as EventList;
}

/**
 * Gives all four ends IPv6, too: fd00:1::10 (client) – fd00:1::1, fd00:2::1 (router) – fd00:2::20 (server), and lets
 * the links settle.
 */
export function addIpv6(pair: RoutedPair): void {
  for (const [port, address, nextHop] of [
    [pair.client, "fd00:1::10/64", "fd00:1::1"],
    [pair.routerToClient, "fd00:1::1/64", undefined],
    [pair.routerToServer, "fd00:2::1/64", undefined],
    [pair.server, "fd00:2::20/64", "fd00:2::1"],
  ] as const) {
    port.compartment.addAddress(port.netInterface, cidr(address));
    if (nextHop === undefined) continue;
    port.compartment.addRoute({
      prefix: prefix("::/0"),
      nextHop: ip(nextHop),
      interface: port.netInterface,
      metric: 0,
    });
  }
}
