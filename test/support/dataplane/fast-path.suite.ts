/** The invariant of dataplane.md §1.12: fast path and slow path give byte-identical frames. */
import fc from "fast-check";
import { expect } from "vitest";
import { formatHex } from "#core/base/encodings.ts";
import { fork } from "#core/base/fork.ts";
import {
  LAYERS,
  type Sent,
  arbitraryGroup,
  arbitrarySent,
  makeRandomPort,
  makeReferenceEngine,
} from "./random-traffic.ts";
import { readU16 } from "#core/base/bytes.ts";
import { checksumOf } from "#core/wire/checksum.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import { QuotedPacket } from "#dataplane/vfp/actions/icmp-error.ts";
import type { ReferenceEngine } from "./reference-engine.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { decrementTtl, readTtl } from "#core/wire/ip-view.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { BURST_FRAMES_MAX, Burst } from "#dataplane/vfp/burst.ts";
import type { Verdict, VfpPort } from "#dataplane/vfp/vfp-port.ts";

type Step =
  | { readonly kind: "send"; readonly sent: Sent; readonly ttl?: number | undefined }
  | { readonly kind: "change"; readonly layer: number; readonly groups: readonly Group[] };

const groups = fc.array(arbitraryGroup, { maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: arbitrarySent.map((sent): Step => ({ kind: "send", sent })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ layer: fc.nat(LAYERS.length - 1), groups })
      .map((fields): Step => ({ kind: "change", ...fields })),
  },
);
/** One of the pool once more; a packet perhaps with another TTL, which no flow is known by. */
function again(pool: readonly Step[]): fc.Arbitrary<Step> {
  return fc
    .record({ step: fc.constantFrom(...pool), ttl: fc.constantFrom(undefined, undefined, 1, 2) })
    .map(({ step: chosen, ttl }) => (chosen.kind === "send" ? { ...chosen, ttl } : chosen));
}

const run = fc.record({
  first: fc.array(groups, { minLength: LAYERS.length, maxLength: LAYERS.length }),
  // A pool of few packets, sent again and again, so that later ones hit flows.
  steps: fc
    .array(step, { minLength: 1, maxLength: 12 })
    .chain((pool) => fc.array(again(pool), { minLength: 1, maxLength: 60 })),
});

function packetOf(sent: Sent, ttl?: number): Packet {
  const packet = Packet.fromFrame(sent.frame);
  packet.tni = sent.tni;
  const headers = new Headers();
  headers.parse(packet);
  const hops = ttl === undefined ? 0 : readTtl(packet.bytes, headers) - ttl;
  for (let i = 0; i < hops; i++) decrementTtl(packet.bytes, headers);
  return packet;
}

/** What a port makes of one packet, as text. */
function outcome(port: VfpPort, sent: Sent, nowMs: number, ttl?: number): string {
  const packet = packetOf(sent, ttl);
  const headers = new Headers();
  headers.parse(packet);
  return outcomeOf(port, packet, headers, () => port.process(sent.direction, packet, headers, nowMs));
}

function outcomeOf(port: VfpPort, packet: Packet, headers: Headers, process: () => Verdict): string {
  const copies: string[] = [];
  port.mirrorSink = { mirror: (target, copy) => copies.push(`${target} ${formatHex(copy.frame)}`) };
  const wasRight = wrongChecksums(packet, headers).length === 0;
  const verdict = process();
  port.mirrorSink = undefined;
  if (verdict === "drop" || verdict === "pending") return verdict;
  const check = new Headers();
  expect(check.parse(packet)).toBeUndefined();
  expect(headers, "headers describe what the packet has become").toEqual(check);
  if (wasRight) expect(wrongChecksums(packet, check), formatHex(packet.frame)).toEqual([]);
  const delay = verdict === "delayed" ? `${port.delay.untilMs} ${port.delay.isHairpin}` : "";
  return [verdict, delay, packet.tni, formatHex(packet.frame), ...copies].join("\n");
}

/** Wrong checksums: of the packet, of the frame in its tunnel, of what an error quotes. */
function wrongChecksums(packet: Packet, headers: Headers): string[] {
  const { bytes } = packet;
  const found = [verifyChecksums(bytes, headers)?.header];
  const tunnel = new TunnelHeaders();
  tunnel.locate(bytes, headers);
  if (tunnel.kind !== undefined) found.push(verifyChecksums(bytes, tunnel.inner)?.header);
  const quoted = new QuotedPacket();
  if (quoted.locate(packet, headers, "in")) {
    const { network, family, end, transport } = quoted.headers;
    if (family === 4 && checksumOf(bytes, network, network + 20) !== 0) found.push("ipv4");
    const length = readU16(bytes, network + (family === 4 ? 2 : 4));
    const isWhole = length === end - (family === 4 ? network : transport);
    if (isWhole) found.push(verifyChecksums(bytes, quoted.headers)?.header);
  }
  return found.filter((header) => header !== undefined);
}

function configure(port: VfpPort, layer: number, wanted: readonly Group[]): void {
  const definition = LAYERS[layer]!;
  port.setGroups(
    definition.name,
    wanted.filter((group) => definition.isStateful || !group.allocatesPorts),
  );
}

export interface PropertyOptions {
  readonly numRuns: number;
  /** Default: that of the run. */
  readonly seed?: number;
}

/** Sends random packets through random rules on both paths, while rules change and time passes. */
export function holdBothPathsEqual(options: PropertyOptions): void {
  fc.assert(
    fc.property(run, ({ first, steps }) => {
      const fast = makeRandomPort(true);
      const slow = makeRandomPort(false);
      for (const [layer, wanted] of first.entries()) {
        configure(fast, layer, wanted);
        configure(slow, layer, wanted);
      }
      let nowMs = 0;
      for (const each of steps) {
        if (each.kind === "change") {
          configure(fast, each.layer, each.groups);
          configure(slow, each.layer, each.groups);
          continue;
        }
        nowMs += each.sent.waitMs;
        if (each.sent.waitMs > 0) for (const port of [fast, slow]) port.forgetIdleFlows(nowMs);
        expect(outcome(fast, each.sent, nowMs, each.ttl)).toBe(outcome(slow, each.sent, nowMs, each.ttl));
      }
    }),
    options,
  );
}

type Send = Extract<Step, { readonly kind: "send" }>;

/** Cuts steps into runs of sends that go one way, and single changes. */
function burstsOf(steps: readonly Step[]): (readonly Send[] | Step)[] {
  const found: (Send[] | Step)[] = [];
  for (const each of steps) {
    const last = found.at(-1);
    if (each.kind === "change") found.push(each);
    else if (!Array.isArray(last) || last.length === BURST_FRAMES_MAX) found.push([each]);
    else if (last[0]?.sent.direction === each.sent.direction) last.push(each);
    else found.push([each]);
  }
  return found;
}

/** Sends random packets one by one through one port, and by the burst through another. */
export function holdBurstsEqual(options: PropertyOptions): void {
  const burst = new Burst();
  fc.assert(
    fc.property(run, ({ first, steps }) => {
      const [alone, together] = [makeRandomPort(true), makeRandomPort(true)];
      const change = (layer: number, wanted: readonly Group[]): void => {
        configure(alone, layer, wanted);
        configure(together, layer, wanted);
      };
      for (const [layer, wanted] of first.entries()) change(layer, wanted);
      let nowMs = 0;
      for (const each of burstsOf(steps)) {
        if ("kind" in each) {
          if (each.kind === "change") change(each.layer, each.groups);
          continue;
        }
        nowMs += each[0]!.sent.waitMs;
        burst.clear();
        for (const { sent, ttl } of each) expect(burst.add(packetOf(sent, ttl))).toBeUndefined();
        together.readAhead(each[0]!.sent.direction, burst);
        for (const [index, { sent, ttl }] of each.entries()) {
          const { packet, headers } = burst.frameAt(index);
          const made = outcomeOf(together, packet, headers, () => together.processRead(burst, index, nowMs));
          expect(made).toBe(outcome(alone, sent, nowMs, ttl));
        }
        expect([together.counters, together.packets]).toEqual([alone.counters, alone.packets]);
      }
    }),
    options,
  );
}

/** Frames with bytes changed and ends cut off; most are still taken. */
const hostile: fc.Arbitrary<Sent> = fc
  .record({
    sent: arbitrarySent,
    patches: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
    cut: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat() }),
  })
  .map(({ sent, patches, cut }) => {
    const frame = sent.frame.slice(0, sent.frame.length - (cut % sent.frame.length));
    for (const [at, value] of patches) frame[at % frame.length] = value;
    return { ...sent, frame };
  });

/** What a port makes of bytes that anybody may send; undefined when the locator refuses them. */
function hostileOutcome(port: VfpPort, sent: Sent, nowMs: number): string | undefined {
  const packet = Packet.fromFrame(sent.frame);
  packet.tni = sent.tni;
  const headers = new Headers();
  if (headers.parse(packet) !== undefined) return undefined;
  const verdict = port.process(sent.direction, packet, headers, nowMs);
  if (verdict === "drop") return verdict;
  expect(new Headers().parse(packet), "what continues can be parsed").toBeUndefined();
  return `${verdict} ${packet.tni} ${formatHex(packet.frame)}`;
}

/**
 * Sends damaged frames through random rules on both paths: nothing throws, nothing that goes on is broken, and both give
 * the same. @returns how many frames were taken.
 */
export function holdHostileFrames(options: PropertyOptions): number {
  let taken = 0;
  const all = fc.array(hostile, { minLength: 50, maxLength: 50 });
  const rules = fc.array(groups, { minLength: LAYERS.length, maxLength: LAYERS.length });
  fc.assert(
    fc.property(rules, all, (first, frames) => {
      const [fast, slow] = [makeRandomPort(true), makeRandomPort(false)];
      for (const [layer, wanted] of first.entries()) {
        configure(fast, layer, wanted);
        configure(slow, layer, wanted);
      }
      let nowMs = 0;
      for (const sent of frames) {
        nowMs += sent.waitMs;
        const made = hostileOutcome(fast, sent, nowMs);
        expect(made).toBe(hostileOutcome(slow, sent, nowMs));
        if (made !== undefined) taken++;
      }
    }),
    options,
  );
  return taken;
}

/** The same of the naive twin. */
function twinOutcome(twin: ReferenceEngine, sent: Sent, nowMs: number, ttl?: number): string {
  const packet = Packet.fromFrame(sent.frame);
  packet.tni = sent.tni;
  const headers = new Headers();
  headers.parse(packet);
  const hops = ttl === undefined ? 0 : readTtl(packet.bytes, headers) - ttl;
  for (let i = 0; i < hops; i++) decrementTtl(packet.bytes, headers);
  const { verdict, untilMs, isHairpin, mirrors } = twin.process(sent.direction, packet, nowMs);
  if (verdict === "drop") return verdict;
  const delay = verdict === "delayed" ? `${untilMs} ${isHairpin}` : "";
  const copies = mirrors.map((target) => `${target} ${formatHex(packet.frame)}`);
  return [verdict, delay, packet.tni, formatHex(packet.frame), ...copies].join("\n");
}

/** Sends random packets through the engine and through its naive twin, while rules change and time passes. */
export function holdTwinEqual(options: PropertyOptions): void {
  fc.assert(
    fc.property(run, ({ first, steps }) => {
      const port = makeRandomPort(true);
      const twin = makeReferenceEngine();
      const change = (layer: number, wanted: readonly Group[]): void => {
        configure(port, layer, wanted);
        twin.setGroups(LAYERS[layer]!.name, port.getLayer(LAYERS[layer]!.name)!.groups);
      };
      for (const [layer, wanted] of first.entries()) change(layer, wanted);
      let nowMs = 0;
      for (const each of steps) {
        if (each.kind === "change") {
          change(each.layer, each.groups);
          continue;
        }
        nowMs += each.sent.waitMs;
        expect(outcome(port, each.sent, nowMs, each.ttl)).toBe(twinOutcome(twin, each.sent, nowMs, each.ttl));
      }
    }),
    options,
  );
}

/** Sends random packets through a port and through its fork. */
export function holdForkEqual(options: PropertyOptions): void {
  fc.assert(
    fc.property(run, ({ first, steps }) => {
      const port = makeRandomPort(true);
      // The fixture's resolver and port source are functions; a forked world has objects there.
      port.nextHopResolver = undefined;
      for (const pool of port.listNatPools()) port.removeNatPool(pool.name);
      for (const [layer, wanted] of first.entries()) configure(port, layer, wanted);
      const twin = fork(port);
      const sends = steps.filter((each) => each.kind === "send");
      const before = sends.map((each, index) => outcome(port, each.sent, index));
      const after = sends.map((each, index) => outcome(twin, each.sent, index));
      expect(after).toEqual(before);
    }),
    options,
  );
}
