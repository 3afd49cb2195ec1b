/**
 * Our own TCP against the kernel's, over a TAP on which frames are lost, repeated and held back by chance, and a path that is
 * narrower than the link. None hangs, and none delivers anything wrong. `MULLION_TCP_CONNECTIONS=10000` runs as many, `SEED=…`
 * repeats a run as far as the kernel's own time lets it. Needs root, /dev/net/tun, iproute2 and util-linux.
 */
import { afterEach, describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import { Readiness } from "#dataplane/device/linux/readiness.node.ts";
import { SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { Host } from "#dataplane/host/host.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { TcpCloseReason, TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import type { Packet } from "#core/wire/packet.ts";
import { LossyDevice, type LossyOptions } from "#test/support/dataplane/routed-pair.ts";
import { cidr, ip, mac, makeEnvironment, prefix } from "#test/support/dataplane/stack-world.ts";
import {
  FIRST_SOURCE_PORT,
  GATEWAY,
  KERNEL_ADDRESS,
  KERNEL_PORT,
  KernelPeer,
  type KernelEnd,
  type KernelPlan,
  OUR_ADDRESS,
  OUR_PORT,
  streamByte,
} from "#test/support/live/kernel-peer.ts";

const CONNECTIONS = Number(process.env["MULLION_TCP_CONNECTIONS"] ?? 300);
/** On one link, at once. */
const AT_ONCE = 50;
/** No connection takes longer: the retries of both sides are over. */
const END_MS = 90_000;
const TICK_MS = 2;
const PROBE_EVERY_MS = 500;

/** What this side does with a connection. */
interface Plan extends KernelPlan {
  readonly ours: number;
  /** Ends it with a reset then. */
  readonly abortsAfterMs: number | undefined;
}

/** This side of a connection: sends its stream, and keeps what it hears. */
class Side implements TcpOwner {
  received = 0;
  isRight = true;
  sawFinish = false;
  reason: TcpCloseReason | undefined;
  connection: TcpConnection | undefined;
  private readonly plan: Plan;

  constructor(plan: Plan) {
    this.plan = plan;
  }

  tcpConnected(connection: TcpConnection): void {
    this.connection = connection;
    const { id, ours, finishesLast } = this.plan;
    connection.send(Uint8Array.from({ length: ours }, (_, index) => streamByte(id, index)));
    // One of both finishes first.
    if (finishesLast) connection.close();
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    for (const value of bytes) if (value !== streamByte(this.plan.id, this.received++)) this.isRight = false;
  }

  tcpPeerFinished(connection: TcpConnection): void {
    this.sawFinish = true;
    connection.close();
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.reason = reason;
  }
}

/** Gives what arrives at a TAP to `LossyDevice` as well. */
class Arrivals implements Device {
  readonly mtuBytes = 1_500;
  private receiver: Receiver | undefined;

  attach(receiver: Receiver): void {
    this.receiver = receiver;
  }

  transmit(packet: Packet): boolean {
    this.receiver?.receive(packet);
    return true;
  }
}

interface LinkOptions {
  readonly seed: string;
  readonly os: OperatingSystem;
  readonly faults: LossyOptions;
  readonly hasOffloads: boolean;
  readonly pathMtuBytes: number;
}

const calls = new SystemCalls();

/** Our stack and the kernel's, and the faults between them. */
class Link {
  readonly compartment: Compartment;
  readonly sides = new Map<number, Side>();
  readonly peer: KernelPeer;
  private readonly env;
  private readonly originMs = performance.now();
  private readonly readiness = new Readiness(calls);
  private readonly ticks: NodeJS.Timeout;
  private readonly carrying: Promise<void>;
  private readonly plans = new Map<number, Plan>();
  private failure: unknown;

  private constructor({ seed, os, faults }: LinkOptions, peer: KernelPeer) {
    this.peer = peer;
    this.env = makeEnvironment(seed);
    const { clock, prng } = this.env;
    const arrivals = new Arrivals();
    const inward = new LossyDevice(clock, prng.derive("in"), arrivals, faults);
    const outward = new LossyDevice(clock, prng.derive("out"), peer.tap, faults);
    peer.tap.attach({ receive: (packet) => void inward.transmit(packet) });
    const device: Device = {
      mtuBytes: 1_500,
      transmit: (packet) => outward.transmit(packet),
      attach: (receiver) => arrivals.attach(receiver),
    };
    this.compartment = new Host(this.env, { name: "ours", os }).root;
    const eth0 = this.compartment.addInterface({ name: "eth0", mac: mac("02-00-00-00-00-10"), device });
    this.compartment.addAddress(eth0, cidr(`${OUR_ADDRESS}/24`));
    const nextHop = ip(GATEWAY);
    this.compartment.addRoute({ prefix: prefix("0.0.0.0/0"), nextHop, interface: eth0, metric: 0 });
    this.compartment.tcp.listen({ port: OUR_PORT, acceptor: { tcpAccepted: (each) => this.sideOf(each) } });
    this.readiness.add(peer.tap.fd);
    this.ticks = setInterval(() => this.catchUp(), TICK_MS);
    this.carrying = this.carry().catch((error: unknown) => void (this.failure = error));
  }

  static async open(options: LinkOptions): Promise<Link> {
    return new Link(options, await KernelPeer.open(calls, options));
  }

  start(plan: Plan): Side {
    const side = new Side(plan);
    this.sides.set(plan.id, side);
    this.plans.set(plan.id, plan);
    this.peer.plan(plan);
    if (!plan.connects) {
      const opened = this.compartment.tcp.connect({
        destination: ip(KERNEL_ADDRESS),
        port: KERNEL_PORT,
        sourcePort: FIRST_SOURCE_PORT + plan.id,
        owner: side,
      });
      if (typeof opened === "string") throw new Error(opened);
      side.connection = opened;
    }
    const { abortsAfterMs } = plan;
    if (abortsAfterMs !== undefined) setTimeout(() => side.connection?.abort(), abortsAfterMs);
    return side;
  }

  endOf(id: number): KernelEnd | undefined {
    return this.peer.ends.find((end) => end.id === id);
  }

  /** What is not over. Who waits for one that has lost all memory of it asks, as a program with SO_KEEPALIVE does. */
  unfinished(): readonly string[] {
    if (this.failure !== undefined) throw new Error("the link broke", { cause: this.failure });
    return [...this.sides].flatMap(([id, { reason, connection }]) => {
      const plan = this.plans.get(id);
      // One that was ended before the other side heard of it was never there for that.
      const isUnknown = plan?.abortsAfterMs !== undefined || plan?.resetsAfterMs !== undefined;
      const ours = reason === undefined && connection !== undefined ? connection.state : undefined;
      const theirs = this.endOf(id) === undefined && !isUnknown ? "open in the kernel" : undefined;
      if (ours !== undefined) connection?.probe();
      return ours === undefined && theirs === undefined
        ? []
        : [`${id}: ${[ours, theirs].filter(Boolean).join(", ")}, ${JSON.stringify(plan)}`];
    });
  }

  async close(): Promise<void> {
    clearInterval(this.ticks);
    this.readiness.close();
    await this.carrying;
    await this.peer.close();
    // TIME-WAIT takes minutes; nothing but it is left.
    const { clock } = this.env;
    const isIdle = clock.runUntilIdle(clock.nowMs + 3_600_000);
    const left = this.compartment.tcp.listConnections().map((each) => `${each.describe()} ${each.state}`);
    if (!isIdle || left.length > 0) throw new Error(`is left: ${left.join(", ") || "a timer"}`);
  }

  private sideOf(connection: TcpConnection): TcpOwner {
    const side = this.sides.get(connection.remotePort - FIRST_SOURCE_PORT)!;
    side.connection = connection;
    return side;
  }

  private catchUp(): void {
    this.env.clock.runUntil(performance.now() - this.originMs);
  }

  private async carry(): Promise<void> {
    while ((await this.readiness.wait()) !== undefined) {
      this.catchUp();
      this.peer.tap.readBurst(64);
      this.catchUp();
    }
  }
}

let link: Link | undefined;

afterEach(async () => {
  const open = link;
  link = undefined;
  await open?.close();
});

async function allOver(of: Link): Promise<void> {
  await expect.poll(() => of.unfinished(), { timeout: END_MS, interval: PROBE_EVERY_MS }).toEqual([]);
}

/** The plan of a connection by chance. */
function planOf(prng: Prng, id: number): Plan {
  const rarely = (ms: number): number | undefined => (prng.below(8) === 0 ? prng.below(ms) : undefined);
  return {
    id,
    connects: prng.below(2) === 0,
    bytes: prng.below(40_000),
    ours: prng.below(40_000),
    readsAfterMs: prng.below(3) === 0 ? prng.below(1_500) : 0,
    resetsAfterMs: rarely(400),
    abortsAfterMs: rarely(400),
    finishesLast: prng.below(2) === 0,
  };
}

/** @returns how many connections carried both streams whole. */
async function runLink(seed: string, count: number): Promise<number> {
  const prng = new Prng(seed);
  const ratio = (limit: number): number => prng.below(limit) / 100;
  const faults = {
    lossRatio: ratio(8),
    duplicateRatio: ratio(20),
    delayRatio: ratio(30),
    delayMaxMs: 1 + prng.below(50),
  };
  link = await Link.open({
    seed,
    os: prng.below(2) === 0 ? "windows" : "linux",
    faults,
    hasOffloads: prng.below(2) === 0,
    pathMtuBytes: prng.below(2) === 0 ? 600 + prng.below(900) : 1_500,
  });
  const plans = Array.from({ length: count }, (_, id) => planOf(prng, id));
  for (const plan of plans) link.start(plan);
  await allOver(link);
  let whole = 0;
  for (const plan of plans) {
    const ours = link.sides.get(plan.id)!;
    const kernel = link.endOf(plan.id);
    expect([ours.isRight, kernel?.isRight ?? true], `connection ${plan.id}`).toEqual([true, true]);
    // Who saw the end of a stream saw all of it.
    if (ours.sawFinish) expect(ours.received, `connection ${plan.id}`).toBe(plan.bytes);
    if (kernel?.sawFinish === true) expect(kernel.received, `connection ${plan.id}`).toBe(plan.ours);
    if (ours.sawFinish && kernel?.sawFinish === true) whole++;
  }
  await link.close();
  link = undefined;
  return whole;
}

describe("our TCP and the kernel's", () => {
  it(
    `${CONNECTIONS} connections over links that lose, repeat, reorder and delay: each ends, and none is wrong`,
    async () => {
      const base = process.env["SEED"] ?? "faults";
      let whole = 0;
      for (let done = 0; done < CONNECTIONS; done += AT_ONCE) {
        const seed = `${base}/${done / AT_ONCE}`;
        try {
          whole += await runLink(seed, Math.min(AT_ONCE, CONNECTIONS - done));
        } catch (error) {
          throw new Error(`link ${seed} failed`, { cause: error });
        }
      }
      expect(whole).toBeGreaterThan(CONNECTIONS / 2);
    },
    Math.ceil(CONNECTIONS / AT_ONCE) * END_MS,
  );
});
