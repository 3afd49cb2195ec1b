/**
 * One switch port's pipeline: layers on the slow path (walk.ts), unified flows on the fast one. Both give the same bytes.
 * Source of the algorithm: dataplane.md §1.12. Inferred: the order of its steps, from the facts of §1.1–1.11.
 */
import { readU8 } from "#core/base/bytes.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Prng } from "#core/base/prng.ts";
import type { Recorder } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import type { Burst, BurstFrame } from "./burst.ts";
import { CONTROL_FLAGS, NO_PORT_COUNTERS, type PortCounters, countTcpFlags } from "./counters.ts";
import { OuterHeadersTable } from "./actions/encapsulation.ts";
import type { FlowKey } from "./flow-key.ts";
import { FragmentCache, isUdpFragment, trainKey } from "./flows/fragment-cache.ts";
import type { QuotedPacket } from "./actions/icmp-error.ts";
import type { Layer } from "./layer.ts";
import type { RuleMatch } from "./flows/layer-flow.ts";
import { PortScratch } from "./port-scratch.ts";
import type { Ip } from "#core/net/ip.ts";
import { PortRecorder } from "./port-recorder.ts";
import { vxlanPortFor } from "./port-settings.ts";
import { ProgrammedPort } from "./programmed-port.ts";
import type { VfpDirection } from "./rule.ts";
import { type Charge, TokenBuckets, admitAll } from "./token-bucket.ts";
import { wordsToIp } from "./actions/transposition.ts";
import { type FlowEffects, UnifiedFlow, applyTransposition, suits } from "./flows/unified-flow.ts";
import { UnifiedFlowTable } from "./flows/unified-flow-table.ts";
import { type Verdict, Walk, type WalkedPort } from "./walk.ts";

export type { VfpPortOptions } from "./programmed-port.ts";
export type { Verdict } from "./walk.ts";

/** Observed for paroute: cache entries live 30 s (dataplane.md §1.6). */
const NEXT_HOP_CACHE_MS = 30_000;
/** How much of each flow table one packet may search for idle flows: a full table must not cost a full search. */
const SWEEP_SLOTS = 1_024;
/** How long nothing is searched for once a whole search has found no idle flow. */
const SEARCH_PAUSE_MS = 1_000;
/** How many unified flows each new one looks at. */
const SWEEP_SLOTS_USUAL = 2;
/** Words of a plain IPv4 key. */
const KEY_WORDS_USUAL = 8;

/** Takes the copies that rules with `mirrorTo` ask for. */
export interface MirrorSink {
  /** `copy` is the receiver's own. */
  mirror(target: string, copy: Packet): void;
}

export class VfpPort extends ProgrammedPort implements WalkedPort {
  mirrorSink: MirrorSink | undefined;
  /** False: frames pass untouched and uncounted (dataplane.md §1.2). */
  isEnabled = true;
  /** True: everything is dropped; health checks call such a pod broken (dataplane.md §1.2). */
  isBlocked = false;
  /** Dropped packets by code. */
  readonly drops: Map<KnowledgeCode, number> = new Map();
  /** Behind the verdict `drop`: why. */
  lastDropCode: KnowledgeCode | undefined;
  readonly packets: Record<VfpDirection, number> = { in: 0, out: 0 };
  readonly counters: Readonly<Record<VfpDirection, PortCounters>> = {
    in: { ...NO_PORT_COUNTERS },
    out: { ...NO_PORT_COUNTERS },
  };
  /** Behind the verdict `delayed`: when the packet goes on, and whether it is turned. */
  readonly delay: { untilMs: number; isHairpin: boolean } = { untilMs: 0, isHairpin: false };
  /** The IPv4 identification of the next packet that is encapsulated. */
  nextIdentification = 0;
  /** A known defect: later fragments lost because their entry collides with another one (dataplane.md §9, F-04). */
  fragmentCollisions: { readonly rate: number; readonly random: Prng } | undefined;
  /** A known defect: datagrams in fragments that the vNIC sends are lost (dataplane.md §9, F-32). */
  losesUdpFragments = false;
  private buckets: TokenBuckets | undefined;
  private scratchPad: PortScratch | undefined;
  /** Only the port itself changes it; others list it. */
  readonly unified: UnifiedFlowTable = new UnifiedFlowTable(KEY_WORDS_USUAL);
  private outers: OuterHeadersTable | undefined;
  private readonly fragments = new FragmentCache();
  private sweepNowMs = 0;
  /** Slots that were searched since an idle flow was found last, and when the next search begins. */
  private readonly search: { slots: number; beginsMs: number } = { slots: 0, beginsMs: 0 };

  private get scratch(): PortScratch {
    return (this.scratchPad ??= new PortScratch());
  }

  get key(): FlowKey {
    return this.scratch.key;
  }

  get layerKey(): FlowKey {
    return this.scratch.layerKey;
  }

  get scratchKey(): FlowKey {
    return this.scratch.otherKey;
  }

  get tunnel(): TunnelHeaders {
    return this.scratch.tunnel;
  }

  get unifiedFlowCount(): number {
    return this.unified.size;
  }

  /** True while `flow` gives what the layers would give. */
  isCurrent(flow: UnifiedFlow, nowMs: number): boolean {
    return flow.isCurrent(this.generation, this.census.flowsMade, nowMs);
  }

  get outerHeaders(): OuterHeadersTable {
    return (this.outers ??= new OuterHeadersTable());
  }

  sweepIdleFlows(): boolean {
    const { search, sweepNowMs: nowMs } = this;
    const waitsMs = search.beginsMs - nowMs;
    // A clock that was set back must not end all searches.
    if (waitsMs > 0 && waitsMs <= SEARCH_PAUSE_MS) return false;
    let removed = 0;
    let largest = 0;
    for (const layer of this.layers) {
      removed += layer.sweep(nowMs, SWEEP_SLOTS);
      largest = Math.max(largest, layer.flowSlots);
    }
    search.slots = removed > 0 ? 0 : search.slots + SWEEP_SLOTS;
    if (removed > 0 || search.slots < largest) return removed > 0;
    // A flood that finds no room must not cost a search for each packet.
    search.slots = 0;
    search.beginsMs = nowMs + SEARCH_PAUSE_MS;
    return false;
  }

  /** Forgets flows that nothing has used for as long as flows live, and gives their memory back. */
  forgetIdleFlows(nowMs: number): void {
    for (const layer of this.layers) layer.forgetIdle(nowMs);
    this.unified.forgetIdle(this.generation, nowMs);
  }

  keepHead(bytes: Uint8Array, start: number, end: number): void {
    this.scratch.keepHead(bytes, start, end);
  }

  restoreHead(bytes: Uint8Array, start: number): void {
    this.scratch.restoreHead(bytes, start);
  }

  takeIdentification(): number {
    const identification = this.nextIdentification;
    this.nextIdentification = (identification + 1) & 0xffff;
    return identification;
  }

  returnIdentification(): void {
    this.nextIdentification = (this.nextIdentification - 1) & 0xffff;
  }

  /** A `qos` rule of the same id in the same group goes on with what its former version had let in. */
  chargeOf(layer: Layer, { group, rule }: RuleMatch): Charge | undefined {
    if (rule.action.type !== "qos") return undefined;
    const name = [layer.definition.name, group.direction, group.family, group.name, rule.id].join("|");
    return { bucket: (this.buckets ??= new TokenBuckets()).get(name), limit: rule.action };
  }

  /**
   * Where a packet was going before a rule of `layerName` sent it elsewhere. `packet` is the one that `layerName` left
   * behind; its answer would be rewritten back.
   */
  findOriginalDestination(
    layerName: string,
    direction: VfpDirection,
    packet: Packet,
    headers: Headers,
    nowMs: number,
  ): { readonly ip: Ip; readonly port: number } | undefined {
    this.scratchKey.read(packet, headers, direction);
    this.scratchKey.writeReverseTuple(this.layerKey);
    const flow = this.layerNamed(layerName).findFlow(this.layerKey, nowMs);
    const source = flow?.transposition.newSource;
    if (flow === undefined || source === undefined) return undefined;
    const { sourcePort } = flow.transposition;
    return { ip: wordsToIp(source), port: sourcePort < 0 ? this.scratchKey.destinationPort : sourcePort };
  }

  /**
   * Moves a packet through the port and rewrites it in place; behind `pass` and `turned`, `headers`, which describes the
   * packet, describes what it has become. After `pending` the packet is as it came and must be offered again when the
   * next hop is settled. With a recorder the layers are walked even when a unified flow exists, so that they can say
   * what they do.
   */
  process(
    direction: VfpDirection,
    packet: Packet,
    headers: Headers,
    nowMs: number,
    recorder?: Recorder,
  ): Verdict {
    if (!this.isEnabled) return "pass";
    if (direction === "out") this.packets.out++;
    else this.packets.in++;
    if (this.isBlocked) return this.refuse("switch-port-blocked", packet, direction, nowMs, recorder);
    if (this.guardPost !== undefined) {
      const refusal = this.guardPost.evaluate(direction, packet, headers, this.addressInfo, nowMs);
      if (refusal !== undefined) return this.refuse(refusal, packet, direction, nowMs, recorder);
    }
    // Port flag 128, process non-IP, is not set (dataplane.md §1.2): ARP and the like pass untouched.
    if (headers.family === 0) return "pass";
    if (this.losesUdpFragments && direction === "out" && isUdpFragment(headers))
      return this.refuse("large-udp-dropped", packet, direction, nowMs, recorder);
    const { tunnel, key } = this.scratch;
    tunnel.kind = undefined;
    const mayBeTunnel = headers.protocol === IpProtocol.udp || headers.protocol === IpProtocol.gre;
    if (mayBeTunnel && this.parser.parsesTunnels) {
      const vxlanPort = vxlanPortFor(this.parser, packet.bytes, headers);
      if (tunnel.locate(packet.bytes, headers, vxlanPort) !== undefined)
        return this.refuse("tunnel-refused", packet, direction, nowMs, recorder);
    }
    key.isSourceTranslated = false;
    key.read(packet, headers, direction, tunnel, packet.tni);
    const frame = tunnel.kind === undefined ? headers : tunnel.inner;
    if (headers.fragmentOffset !== 0 || frame.fragmentOffset !== 0)
      return this.followFirstFragment(packet, headers, nowMs, recorder);
    const tcpFlags =
      frame.protocol === IpProtocol.tcp && frame.transport >= 0
        ? readU8(packet.bytes, frame.transport + 13)
        : 0;
    key.isSyn = (tcpFlags & (TcpFlag.syn | TcpFlag.ack)) === TcpFlag.syn;
    const quoted = this.locateQuoted(direction, packet, headers);
    const isControl = (tcpFlags & CONTROL_FLAGS) !== 0 || quoted !== undefined;
    const isWhole = !headers.isFragment && !frame.isFragment;
    if (isWhole && recorder === undefined && !isControl && this.census.settings.usesUnifiedFlows) {
      const flow = this.unified.find(key.words, key.length, key.hash);
      if (flow >= 0) {
        const verdict = this.followUnifiedFlow(flow, direction, packet, headers, tunnel, nowMs);
        if (verdict !== undefined) return verdict;
      }
    }
    this.sweepNowMs = nowMs;
    if (isControl) countTcpFlags(this.counters[direction], tcpFlags);
    const walk = new Walk({
      port: this,
      packet,
      headers,
      direction,
      nowMs,
      tcpFlags,
      quoted,
      recorder: this.listenFor(recorder, packet, direction, nowMs),
    });
    return this.walkLayers(walk, isWhole);
  }

  /** Passes frames that are not IP, as `process` does. @returns false where it would look at each; then nothing has changed. */
  passOthers(direction: VfpDirection, frames: number): boolean {
    if (!this.isEnabled) return true;
    if (this.isBlocked || this.guardPost !== undefined) return false;
    this.packets[direction] += frames;
    return true;
  }

  /**
   * Reads all frames of a burst that goes in `direction`, and what is kept of their flows, so that `processRead` waits for
   * none of it. Changes nothing. Until their turn comes, nobody else may change the frames.
   */
  readAhead(direction: VfpDirection, burst: Burst): void {
    burst.direction = direction;
    burst.settings = this.parser;
    const { hashes, length } = burst;
    let count = 0;
    for (let i = 0; i < length; i++) {
      const frame = burst.frameAt(i);
      frame.isRead = this.readFrame(frame, direction);
      if (frame.isRead) hashes[count++] = frame.key.hash;
    }
    burst.seen = this.unified.lookAhead(hashes, count);
  }

  /** @returns false when a flow alone cannot say what becomes of the frame. */
  private readFrame({ packet, headers, key, tunnel }: BurstFrame, direction: VfpDirection): boolean {
    const { protocol } = headers;
    if (headers.family === 0 || protocol === IpProtocol.icmp || protocol === IpProtocol.icmpv6) return false;
    tunnel.kind = undefined;
    if ((protocol === IpProtocol.udp || protocol === IpProtocol.gre) && this.parser.parsesTunnels) {
      const vxlanPort = vxlanPortFor(this.parser, packet.bytes, headers);
      if (tunnel.locate(packet.bytes, headers, vxlanPort) !== undefined) return false;
    }
    const frame = tunnel.kind === undefined ? headers : tunnel.inner;
    if (headers.isFragment || frame.isFragment) return false;
    if (frame.protocol === IpProtocol.tcp && frame.transport >= 0) {
      if ((readU8(packet.bytes, frame.transport + 13) & CONTROL_FLAGS) !== 0) return false;
    }
    key.read(packet, headers, direction, tunnel, packet.tni);
    return true;
  }

  /** What `process` does, for a frame of a burst that was read ahead; its headers are in the burst. */
  processRead(burst: Burst, index: number, nowMs: number, recorder?: Recorder): Verdict {
    const { direction } = burst;
    const frame = burst.frameAt(index);
    const { packet, headers } = frame;
    if (frame.isRead && burst.settings === this.parser && recorder === undefined && this.followsFlows) {
      frame.isRead = false;
      const { key } = frame;
      const flow = this.unified.find(key.words, key.length, key.hash);
      const verdict =
        flow < 0 ? undefined : this.followUnifiedFlow(flow, direction, packet, headers, frame.tunnel, nowMs);
      if (verdict !== undefined) {
        if (direction === "out") this.packets.out++;
        else this.packets.in++;
        return verdict;
      }
    }
    return this.process(direction, packet, headers, nowMs, recorder);
  }

  /** True while nothing is asked before the flows are. */
  private get followsFlows(): boolean {
    return (
      this.isEnabled &&
      !this.isBlocked &&
      this.guardPost === undefined &&
      this.census.settings.usesUnifiedFlows
    );
  }

  private walkLayers(walk: Walk, isWhole: boolean): Verdict {
    const { packet, headers, direction, nowMs } = walk;
    this.scratch.arrivalKey.copyFrom(this.key);
    const train = isWhole ? "" : trainKey(packet.bytes, headers, this.key, this.tunnel);
    const verdict = walk.run();
    if (verdict === "pending") this.counters[direction].pendingPackets++;
    if (walk.dropCode !== undefined) this.count(walk.dropCode, direction);
    // A packet that waits will walk the layers again; only its last walk is told.
    if (verdict === "drop") walk.recorder?.flush();
    const { effects } = walk;
    if (verdict === "pending" || verdict === "drop") {
      if (!isWhole) this.noteUnsent(train, verdict, nowMs);
      return verdict;
    }
    if (isWhole) this.rememberUnifiedFlow(walk, effects);
    else if (!this.fragments.remember(train, { transposition: walk.total, effects }, nowMs))
      this.count("fragment-cache-full", direction);
    walk.recorder?.flush();
    if (effects !== undefined) this.mirror(effects, packet);
    if (verdict === "delayed") this.noteDelay(nowMs + walk.delayMs, walk.total.isHairpin);
    return verdict;
  }

  /** The first fragment of a datagram did not get on: those behind it wait, too, or belong to nothing. */
  private noteUnsent(train: string, verdict: Verdict, nowMs: number): void {
    if (verdict === "drop") this.fragments.forget(train);
    else this.fragments.remember(train, { transposition: undefined, effects: undefined }, nowMs);
  }

  private rememberUnifiedFlow(walk: Walk, effects: FlowEffects | undefined): void {
    if (!this.census.settings.usesUnifiedFlows || !walk.isCacheable) return;
    const { unified, generation } = this;
    // A few at a time, so that a table holds about as many flows as live, and a full one finds room if there is any.
    const isFull = unified.size >= LIMITS.flowsPerPortMax;
    unified.sweep(isFull ? SWEEP_SLOTS : SWEEP_SLOTS_USUAL, generation, walk.nowMs);
    if (unified.size >= LIMITS.flowsPerPortMax) return;
    const { arrivalKey } = this.scratch;
    let ttlMs = this.census.settings.defaultTtlMs;
    for (const pair of walk.pairs) ttlMs = Math.min(ttlMs, this.census.ttlMs(pair));
    if (walk.total.pops) arrivalKey.writeInner(this.scratchKey);
    const flow = new UnifiedFlow({
      transposition: walk.total,
      misses: walk.misses,
      effects,
      staleAtMs: walk.ages ? walk.nowMs + NEXT_HOP_CACHE_MS : Number.POSITIVE_INFINITY,
      ttlMs,
    });
    const { flowsMade } = this.census;
    const rewriteKey = walk.total.pops ? this.scratchKey : arrivalKey;
    unified.add(arrivalKey, rewriteKey, flow, { generation, flowsMade, nowMs: walk.nowMs });
    for (const pair of walk.pairs) pair.addUser(flow);
    walk.recorder?.kept(walk.total);
  }

  /** @returns undefined when only the layers can say what becomes of the packet. */
  private followUnifiedFlow(
    flow: number,
    direction: VfpDirection,
    packet: Packet,
    headers: Headers,
    tunnel: TunnelHeaders,
    nowMs: number,
  ): Verdict | undefined {
    const verdict = this.unified.take(flow, this, nowMs, packet, headers, tunnel);
    if (verdict === "not") return this.followUnusualFlow(flow, direction, packet, headers, tunnel, nowMs);
    if (direction === "out") this.counters.out.unifiedFlowMatch++;
    else this.counters.in.unifiedFlowMatch++;
    return verdict;
  }

  /** One whose packets are charged, copied, or rewritten as only its object knows; or one that does not hold any more. */
  private followUnusualFlow(
    flow: number,
    direction: VfpDirection,
    packet: Packet,
    headers: Headers,
    tunnel: TunnelHeaders,
    nowMs: number,
  ): Verdict | undefined {
    const { unified } = this;
    if (!unified.isCurrent(flow, this.generation, this.census.flowsMade, nowMs)) return undefined;
    if (!unified.suits(flow, packet, headers, tunnel)) return undefined;
    const effects = unified.effectsOf(flow);
    const delayMs = effects === undefined ? 0 : admitAll(effects.charges, packet.length, nowMs);
    if (delayMs < 0) return undefined;
    this.counters[direction].unifiedFlowMatch++;
    unified.touch(flow, nowMs);
    const isHairpin = unified.isHairpin(flow);
    const identification = unified.pushes(flow) ? this.takeIdentification() : 0;
    unified.apply(flow, packet, headers, tunnel, identification);
    if (effects !== undefined) this.mirror(effects, packet);
    if (delayMs > 0) return this.noteDelay(nowMs + delayMs, isHairpin);
    return isHairpin ? "hairpin" : "pass";
  }

  private locateQuoted(direction: VfpDirection, packet: Packet, headers: Headers): QuotedPacket | undefined {
    const { protocol } = headers;
    if (protocol !== IpProtocol.icmp && protocol !== IpProtocol.icmpv6) return undefined;
    if (!this.parser.parsesIcmpErrors) return undefined;
    const { quoted } = this.scratch;
    return quoted.locate(packet, headers, direction) ? quoted : undefined;
  }

  private followFirstFragment(packet: Packet, headers: Headers, nowMs: number, recorder?: Recorder): Verdict {
    const { direction } = this.key;
    const train = this.fragments.find(trainKey(packet.bytes, headers, this.key, this.tunnel), nowMs);
    const collisions = this.fragmentCollisions;
    if (train === undefined) return this.refuse("fragment-without-first", packet, direction, nowMs, recorder);
    if (collisions !== undefined && collisions.random.nextU32() < collisions.rate * 0x1_0000_0000)
      return this.refuse("fragment-cache-collision", packet, direction, nowMs, recorder);
    const { transposition, effects } = train;
    if (transposition === undefined) {
      this.counters[direction].pendingPackets++;
      return "pending";
    }
    if (!suits(transposition, packet, headers, this.tunnel))
      return this.refuse("ttl-expired", packet, direction, nowMs, recorder);
    let delayMs = 0;
    for (const { bucket, limit } of effects?.charges ?? []) {
      const waitMs = bucket.admit(limit, packet.length, nowMs);
      if (waitMs < 0) return this.refuse("bandwidth-exceeded", packet, direction, nowMs, recorder);
      delayMs = Math.max(delayMs, waitMs);
    }
    const identification = transposition.push === undefined ? 0 : this.takeIdentification();
    applyTransposition(transposition, packet, headers, this.tunnel, identification);
    if (effects !== undefined) this.mirror(effects, packet);
    const heard = this.listenFor(recorder, packet, direction, nowMs);
    heard?.unified();
    heard?.flush();
    if (delayMs > 0) return this.noteDelay(nowMs + delayMs, transposition.isHairpin);
    return transposition.isHairpin ? "hairpin" : "pass";
  }

  private mirror(effects: FlowEffects, packet: Packet): void {
    if (this.mirrorSink === undefined) return;
    for (const target of effects.mirrors) this.mirrorSink.mirror(target, packet.copy());
  }

  private noteDelay(untilMs: number, isHairpin: boolean): Verdict {
    this.delay.untilMs = untilMs;
    this.delay.isHairpin = isHairpin;
    return "delayed";
  }

  private listenFor(
    recorder: Recorder | undefined,
    packet: Packet,
    direction: VfpDirection,
    nowMs: number,
  ): PortRecorder | undefined {
    return recorder === undefined ? undefined : new PortRecorder(recorder, this, packet, direction, nowMs);
  }

  private refuse(
    code: KnowledgeCode,
    packet: Packet,
    direction: VfpDirection,
    nowMs: number,
    recorder?: Recorder,
  ): Verdict {
    this.count(code, direction);
    const heard = this.listenFor(recorder, packet, direction, nowMs);
    heard?.dropped(code);
    heard?.flush();
    return "drop";
  }

  private count(code: KnowledgeCode, direction: VfpDirection): void {
    this.drops.set(code, (this.drops.get(code) ?? 0) + 1);
    this.lastDropCode = code;
    const counters = this.counters[direction];
    counters.droppedPackets++;
    if (code.startsWith("acl-")) counters.droppedAcl++;
  }
}
