/**
 * One switch port's pipeline: layers on the slow path (walk.ts), unified flows on the fast one. Both give the same bytes.
 * Source of the algorithm: dataplane.md §1.12. Inferred: the order of its steps, from the facts of §1.1–1.11.
 */
import { assert } from "../base/assert.ts";
import { readU8 } from "../base/bytes.ts";
import { LIMITS } from "../base/limits.ts";
import type { Prng } from "../base/prng.ts";
import type { Recorder } from "../base/recorder.ts";
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { Ip, IpFamily } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import type { Packet } from "../wire/packet.ts";
import { TcpFlag } from "../wire/tcp.ts";
import type { TunnelHeaders } from "../wire/tunnel.ts";
import { CONTROL_FLAGS, type PortCounters, countTcpFlags, newPortCounters } from "./counters.ts";
import { OuterHeadersTable } from "./encapsulation.ts";
import { FlowCensus } from "./flow-census.ts";
import type { FlowKey } from "./flow-key.ts";
import { FragmentCache, isUdpFragment, trainKey } from "./fragment-cache.ts";
import type { Group } from "./group.ts";
import type { QuotedPacket } from "./icmp-error.ts";
import { Layer, type RuleMatch } from "./layer.ts";
import type { MappingSpace } from "./mapping-space.ts";
import type { NatPool } from "./nat-pool.ts";
import { NOBODY_WAITS, type NextHopResolver, type NextHopWaiter } from "./next-hop.ts";
import { PortScratch } from "./port-scratch.ts";
import { GuardPost } from "./port-guards.ts";
import { PortRecorder } from "./port-recorder.ts";
import {
  DEFAULT_FLOW_SETTINGS,
  DEFAULT_PARSER_SETTINGS,
  NO_ADDRESS_INFO,
  type PortAddressInfo,
  type PortFlowSettings,
  type PortGuards,
  type PortParserSettings,
  vxlanPortFor,
} from "./port-settings.ts";
import type { Direction, LayerDefinition } from "./rule.ts";
import { type Charge, TokenBuckets, admitAll } from "./token-bucket.ts";
import { wordsToIp } from "./transposition.ts";
import { type FlowEffects, UnifiedFlow, applyTransposition, suits } from "./unified-flow.ts";
import { UnifiedFlowTable } from "./unified-flow-table.ts";
import { type Verdict, Walk, type WalkedPort } from "./walk.ts";

export type { Verdict } from "./walk.ts";

/** Observed for paroute: cache entries live 30 s (dataplane.md §1.6). */
const NEXT_HOP_CACHE_MS = 30_000;
/** How much of each flow table one packet may search for idle flows: a full table must not cost a full search. */
const SWEEP_SLOTS = 1_024;
/** How many unified flows each new one looks at. */
const SWEEP_SLOTS_USUAL = 2;
/** Words of a plain IPv4 key. */
const KEY_WORDS_USUAL = 8;

/** Takes the copies that rules with `mirrorTo` ask for. */
export interface MirrorSink {
  /** `copy` is the receiver's own. */
  mirror(target: string, copy: Packet): void;
}

export interface VfpPortOptions {
  readonly id: string;
  /** As traces name it. */
  readonly name: string;
  /** The node, as traces name it. */
  readonly node: string;
  readonly layers: readonly LayerDefinition[];
  readonly nextHopResolver?: NextHopResolver | undefined;
  /** Is told when a next hop that a packet waits for is settled. */
  readonly nextHopWaiter?: NextHopWaiter | undefined;
  /** False walks the layers for every packet. Default true. */
  readonly unifiedFlows?: boolean;
}

export class VfpPort implements WalkedPort {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  nextHopResolver: NextHopResolver | undefined;
  nextHopWaiter: NextHopWaiter;
  mirrorSink: MirrorSink | undefined;
  /** False: frames pass untouched and uncounted (dataplane.md §1.2). */
  isEnabled = true;
  /** True: everything is dropped; health checks call such a pod broken (dataplane.md §1.2). */
  isBlocked = false;
  /** Goes up with every change of rules; a unified flow of an older generation is walked again. */
  generation = 0;
  /** Dropped packets by code. */
  readonly drops: Map<KnowledgeCode, number> = new Map();
  /** Behind the verdict `drop`: why. */
  lastDropCode: KnowledgeCode | undefined;
  readonly packets: Record<Direction, number> = { in: 0, out: 0 };
  readonly counters: Readonly<Record<Direction, PortCounters>> = {
    in: newPortCounters(),
    out: newPortCounters(),
  };
  /** Behind the verdict `delayed`: when the packet goes on, and whether it is turned. */
  readonly delay: { untilMs: number; isTurned: boolean } = { untilMs: 0, isTurned: false };
  readonly census: FlowCensus;
  /** The IPv4 identification of the next packet that is encapsulated. */
  nextIdentification = 0;
  /** A known defect: later fragments lost because their entry collides with another one (dataplane.md §9, F-04). */
  fragmentCollisions: { readonly rate: number; readonly random: Prng } | undefined;
  /** A known defect: datagrams in fragments that the vNIC sends are lost (dataplane.md §9, F-32). */
  losesUdpFragments = false;
  private readonly outOrder: readonly Layer[];
  private readonly inOrder: readonly Layer[];
  private readonly layersByName: Map<string, Layer>;
  private readonly natPools = new Map<string, NatPool>();
  private spaces: Map<string, MappingSpace> | undefined;
  private buckets: TokenBuckets | undefined;
  private absent: Set<Layer> | undefined;
  /** The pipeline without what is absent; undefined until somebody asks. */
  private presentOrder: Readonly<Record<Direction, readonly Layer[]>> | undefined;
  private scratchPad: PortScratch | undefined;
  /** Only the port itself changes it; others list it. */
  readonly unified: UnifiedFlowTable = new UnifiedFlowTable(KEY_WORDS_USUAL);
  private outers: OuterHeadersTable | undefined;
  private readonly fragments = new FragmentCache();
  private guardPost: GuardPost | undefined;
  private addressInfo: PortAddressInfo = NO_ADDRESS_INFO;
  private parser: PortParserSettings = DEFAULT_PARSER_SETTINGS;
  private sweepNowMs = 0;

  constructor(options: VfpPortOptions) {
    this.id = options.id;
    this.name = options.name;
    this.node = options.node;
    this.nextHopResolver = options.nextHopResolver;
    this.nextHopWaiter = options.nextHopWaiter ?? NOBODY_WAITS;
    this.census = new FlowCensus(
      options.unifiedFlows === false
        ? { ...DEFAULT_FLOW_SETTINGS, usesUnifiedFlows: false }
        : DEFAULT_FLOW_SETTINGS,
    );
    const layers = options.layers.map((definition) => new Layer(definition, this.census));
    this.outOrder = layers.sort((a, b) => a.definition.priority - b.definition.priority);
    this.inOrder = this.outOrder.toReversed();
    this.layersByName = new Map(layers.map((layer) => [layer.definition.name, layer]));
  }

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

  /** Layers in the order in which outgoing packets meet them. */
  get layers(): readonly Layer[] {
    return this.outOrder;
  }

  get unifiedFlowCount(): number {
    return this.unified.size;
  }

  /** True while `flow` gives what the layers would give. */
  isCurrent(flow: UnifiedFlow, nowMs: number): boolean {
    return flow.isCurrent(this.generation, this.census.flowsMade, nowMs);
  }

  /** Who is behind the port, and what stands outside on what it encapsulates. */
  get address(): PortAddressInfo {
    return this.addressInfo;
  }

  set address(address: PortAddressInfo) {
    this.addressInfo = Object.freeze({ ...address });
    this.generation++;
  }

  /** What the port refuses whatever its rules say. Default: nothing. */
  get guards(): PortGuards {
    return this.guardPost?.guards ?? {};
  }

  set guards(guards: PortGuards) {
    const isEmpty = Object.values(guards).every((value) => value === undefined || value === false);
    this.guardPost = isEmpty ? undefined : new GuardPost(guards);
  }

  get parserSettings(): PortParserSettings {
    return this.parser;
  }

  set parserSettings(settings: PortParserSettings) {
    this.parser = Object.freeze({ ...settings });
    this.generation++;
  }

  get flowSettings(): PortFlowSettings {
    return this.census.settings;
  }

  /** Flows that are there already live by the new settings, too. */
  set flowSettings(settings: PortFlowSettings) {
    this.census.settings = Object.freeze({ ...settings });
    this.generation++;
  }

  get vxlanPort(): number {
    return this.parser.vxlanPort;
  }

  get providerMac(): Mac {
    return this.addressInfo.fakeMac ?? (0 as Mac);
  }

  get outerHeaders(): OuterHeadersTable {
    return (this.outers ??= new OuterHeadersTable());
  }

  providerAddress(family: IpFamily): Ip | undefined {
    return family === 4 ? this.addressInfo.providerIpv4 : this.addressInfo.providerIpv6;
  }

  /** True while a rule may put outer headers on what comes from behind the port. */
  get mayEncapsulate(): boolean {
    return this.outOrder.some((layer) => layer.encapsulates);
  }

  getLayer(name: string): Layer | undefined {
    return this.layersByName.get(name);
  }

  /** Replaces the groups of a layer. Existing flows are judged again when their next packet comes. */
  setGroups(layerName: string, groups: readonly Group[]): void {
    const layer = this.layerNamed(layerName);
    const isSame =
      groups.length === layer.groups.length && groups.every((group) => layer.groups.includes(group));
    if (isSame) return;
    layer.setGroups(groups);
    this.generation++;
  }

  /**
   * Takes a layer out of the pipeline, or puts it back. `isNoticed` false leaves flows as they are, which is a known
   * defect: flows made in the gap go on without the layer (dataplane.md §9, F-03).
   */
  setLayerPresent(layerName: string, isPresent: boolean, isNoticed = true): void {
    const layer = this.layerNamed(layerName);
    this.absent ??= new Set();
    if (isPresent) this.absent.delete(layer);
    else this.absent.add(layer);
    this.presentOrder = undefined;
    if (isNoticed) this.generation++;
  }

  /** False while the layer is taken out of the pipeline. */
  isLayerPresent(layerName: string): boolean {
    return this.absent?.has(this.layerNamed(layerName)) !== true;
  }

  /** Ends all flows of a layer; what is left of connections is judged by its rules anew (dataplane.md §9, F-02). */
  forgetFlows(layerName: string): void {
    this.layerNamed(layerName).removeFlows();
  }

  addNatPool(pool: NatPool): void {
    assert(!this.natPools.has(pool.name), `port ${this.name} has a NAT pool ${pool.name} already`);
    this.natPools.set(pool.name, pool);
  }

  /** Forgets a pool and all flows that hold a port of it; its blocks go back to the node. */
  removeNatPool(name: string): void {
    const pool = this.natPools.get(name);
    if (pool === undefined) return;
    for (const layer of this.outOrder) layer.removeFlowsOf(pool);
    pool.close();
    this.natPools.delete(name);
    this.generation++;
  }

  getNatPool(name: string): NatPool | undefined {
    return this.natPools.get(name);
  }

  listNatPools(): NatPool[] {
    return [...this.natPools.values()];
  }

  /** Puts a space in the place of one of the same name. */
  setSpace(space: MappingSpace): void {
    this.spaces ??= new Map();
    this.spaces.set(space.name, space);
    this.generation++;
  }

  removeSpace(name: string): void {
    if (this.spaces?.delete(name) === true) this.generation++;
  }

  getSpace(name: string): MappingSpace | undefined {
    return this.spaces?.get(name);
  }

  listSpaces(): MappingSpace[] {
    return [...(this.spaces?.values() ?? [])];
  }

  sweepIdleFlows(): boolean {
    let removed = 0;
    for (const layer of this.outOrder) removed += layer.sweep(this.sweepNowMs, SWEEP_SLOTS);
    return removed > 0;
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

  orderOf(direction: Direction): readonly Layer[] {
    const { absent } = this;
    if (absent === undefined || absent.size === 0) return direction === "out" ? this.outOrder : this.inOrder;
    this.presentOrder ??= {
      out: this.outOrder.filter((layer) => !absent.has(layer)),
      in: this.inOrder.filter((layer) => !absent.has(layer)),
    };
    return this.presentOrder[direction];
  }

  /**
   * Where a packet was going before a rule of `layerName` sent it elsewhere. `packet` is the one that `layerName` left
   * behind; its answer would be rewritten back.
   */
  findOriginalDestination(
    layerName: string,
    direction: Direction,
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
    direction: Direction,
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
      const refusal = this.guardPost.judge(direction, packet, headers, this.addressInfo, nowMs);
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
        const verdict = this.followUnifiedFlow(flow, direction, packet, headers, nowMs);
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

  private walkLayers(walk: Walk, isWhole: boolean): Verdict {
    const { packet, headers, direction, nowMs } = walk;
    this.scratch.arrivalKey.copyFrom(this.key);
    const train = isWhole ? "" : trainKey(packet.bytes, headers, this.key, this.tunnel);
    const verdict = walk.run();
    if (verdict === "pending") this.counters[direction].pendingPackets++;
    if (walk.dropCode !== undefined) this.count(walk.dropCode, direction);
    // A packet that waits will walk the layers again; only its last walk is told.
    if (verdict === "drop") walk.recorder?.flush();
    if (verdict === "pending" || verdict === "drop") return verdict;
    const { effects } = walk;
    if (isWhole) this.rememberUnifiedFlow(walk, effects);
    else if (!this.fragments.remember(train, { transposition: walk.total, effects }, nowMs))
      this.count("fragment-cache-full", direction);
    walk.recorder?.flush();
    if (effects !== undefined) this.mirror(effects, packet);
    if (verdict === "delayed") this.noteDelay(nowMs + walk.delayMs, walk.total.isTurned);
    return verdict;
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
    direction: Direction,
    packet: Packet,
    headers: Headers,
    nowMs: number,
  ): Verdict | undefined {
    const verdict = this.unified.take(flow, this, nowMs, packet, headers, this.scratch.tunnel);
    if (verdict === "not") return this.followUnusualFlow(flow, direction, packet, headers, nowMs);
    if (direction === "out") this.counters.out.unifiedFlowMatch++;
    else this.counters.in.unifiedFlowMatch++;
    return verdict;
  }

  /** One whose packets are charged, copied, or rewritten as only its object knows; or one that does not hold any more. */
  private followUnusualFlow(
    flow: number,
    direction: Direction,
    packet: Packet,
    headers: Headers,
    nowMs: number,
  ): Verdict | undefined {
    const { unified, tunnel } = this;
    if (!unified.isCurrent(flow, this.generation, this.census.flowsMade, nowMs)) return undefined;
    if (!unified.suits(flow, packet, headers, tunnel)) return undefined;
    const effects = unified.effectsOf(flow);
    const delayMs = effects === undefined ? 0 : admitAll(effects.charges, packet.length, nowMs);
    if (delayMs < 0) return undefined;
    this.counters[direction].unifiedFlowMatch++;
    unified.touch(flow, nowMs);
    const isTurned = unified.isTurned(flow);
    const identification = unified.pushes(flow) ? this.takeIdentification() : 0;
    unified.apply(flow, packet, headers, tunnel, identification);
    if (effects !== undefined) this.mirror(effects, packet);
    if (delayMs > 0) return this.noteDelay(nowMs + delayMs, isTurned);
    return isTurned ? "turned" : "pass";
  }

  private locateQuoted(direction: Direction, packet: Packet, headers: Headers): QuotedPacket | undefined {
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
    if (delayMs > 0) return this.noteDelay(nowMs + delayMs, transposition.isTurned);
    return transposition.isTurned ? "turned" : "pass";
  }

  private mirror(effects: FlowEffects, packet: Packet): void {
    if (this.mirrorSink === undefined) return;
    for (const target of effects.mirrors) this.mirrorSink.mirror(target, packet.copy());
  }

  private noteDelay(untilMs: number, isTurned: boolean): Verdict {
    this.delay.untilMs = untilMs;
    this.delay.isTurned = isTurned;
    return "delayed";
  }

  private listenFor(
    recorder: Recorder | undefined,
    packet: Packet,
    direction: Direction,
    nowMs: number,
  ): PortRecorder | undefined {
    return recorder === undefined ? undefined : new PortRecorder(recorder, this, packet, direction, nowMs);
  }

  private layerNamed(name: string): Layer {
    const layer = this.layersByName.get(name);
    assert(layer !== undefined, `port ${this.name} has no layer ${name}`);
    return layer;
  }

  private refuse(
    code: KnowledgeCode,
    packet: Packet,
    direction: Direction,
    nowMs: number,
    recorder?: Recorder,
  ): Verdict {
    this.count(code, direction);
    const heard = this.listenFor(recorder, packet, direction, nowMs);
    heard?.dropped(code);
    heard?.flush();
    return "drop";
  }

  private count(code: KnowledgeCode, direction: Direction): void {
    this.drops.set(code, (this.drops.get(code) ?? 0) + 1);
    this.lastDropCode = code;
    const counters = this.counters[direction];
    counters.droppedPackets++;
    if (code.startsWith("acl-")) counters.droppedAcl++;
  }
}
