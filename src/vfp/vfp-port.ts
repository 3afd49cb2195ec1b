/**
 * One switch port's pipeline: layers on the slow path, unified flows on the fast one. Both give the same bytes.
 * Source of the algorithm: dataplane.md §1.12 (inferred there from the facts of §1.1–1.11).
 */
import { readU8 } from "../base/bytes.ts";
import { assert } from "../base/assert.ts";
import { LIMITS } from "../base/limits.ts";
import type { Recorder } from "../base/recorder.ts";
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import type { Packet } from "../wire/packet.ts";
import { type ActionContext, type ActionResult, equalActions, evaluateAction } from "./action.ts";
import { keepsBackEnd } from "./back-end.ts";
import { FlowKey, KEY_WORDS_MAX } from "./flow-key.ts";
import { FlowTable } from "./flow-table.ts";
import { FragmentCache } from "./fragment-cache.ts";
import type { Group } from "./group.ts";
import type { ChainStep, LayerFlow, LayerFlowPair } from "./layer-flow.ts";
import { Layer, type LayerMiss, type RuleMatch } from "./layer.ts";
import type { NatPool } from "./nat-pool.ts";
import type { NextHopResolver, NextHopWaiter } from "./next-hop.ts";
import { PortRecorder } from "./port-recorder.ts";
import type { Direction, LayerDefinition } from "./rule.ts";
import { Transposition } from "./transposition.ts";
import { UnifiedFlow } from "./unified-flow.ts";

/** `turned`: the packet goes on, but leaves the port on the side that it came from. */
export type Verdict = "pass" | "turned" | "drop" | "pending";

const TCP_FLAG = { fin: 0x01, syn: 0x02, rst: 0x04, ack: 0x10 } as const;
/** Observed for paroute: cache entries live 30 s (dataplane.md §1.6). */
const NEXT_HOP_CACHE_MS = 30_000;
/** How much of each flow table one packet may search for idle flows: a full table must not cost a full search. */
const SWEEP_SLOTS = 1_024;

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

/** One packet's way through the layers. */
interface Walk {
  readonly packet: Packet;
  readonly headers: Headers;
  /** Changes once when the packet is turned round. */
  direction: Direction;
  readonly nowMs: number;
  readonly tcpFlags: number;
  readonly total: Transposition;
  readonly pairs: LayerFlowPair[];
  readonly misses: LayerMiss[];
  readonly recorder: PortRecorder | undefined;
  /** That of the port when the walk began. */
  readonly generation: number;
  ages: boolean;
}

/** A packet's stay in one layer. */
interface LayerVisit {
  readonly layer: Layer;
  /** What the layer has changed so far. */
  readonly forward: Transposition;
  /** The rules that matched, one per group. */
  readonly chain: ChainStep[];
}

/** True when `current` would have done to the packet what the kept step did, or may leave it at that. */
function isSameDecision(current: RuleMatch, { match, backEnd }: ChainStep): boolean {
  const { rule } = match;
  if (current.rule === rule) return true;
  if (current.rule.id !== rule.id) return false;
  return backEnd !== undefined && rule.action.type === "lbnat"
    ? keepsBackEnd(rule.action, current.rule.action, backEnd)
    : equalActions(current.rule.action, rule.action);
}

export class VfpPort implements ActionContext {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  nextHopResolver: NextHopResolver | undefined;
  nextHopWaiter: NextHopWaiter;
  /** False: frames pass untouched and uncounted (dataplane.md §1.2). */
  isEnabled = true;
  /** True: everything is dropped; health checks call such a pod broken (dataplane.md §1.2). */
  isBlocked = false;
  /** Goes up with every change of rules; a unified flow of an older generation is walked again. */
  generation = 0;
  /** Dropped packets by code. */
  readonly drops: Map<KnowledgeCode, number> = new Map();
  readonly packets: Record<Direction, number> = { in: 0, out: 0 };
  private readonly outOrder: readonly Layer[];
  private readonly inOrder: readonly Layer[];
  private readonly layersByName: Map<string, Layer>;
  private readonly natPools = new Map<string, NatPool>();
  private readonly unified = new FlowTable<UnifiedFlow>(KEY_WORDS_MAX);
  private readonly usesUnifiedFlows: boolean;
  private readonly fragments = new FragmentCache();
  private readonly key = new FlowKey();
  private readonly arrivalKey = new FlowKey();
  private readonly layerKey = new FlowKey();
  private readonly scratchKey = new FlowKey();
  private sweepNowMs = 0;

  constructor(options: VfpPortOptions) {
    this.id = options.id;
    this.name = options.name;
    this.node = options.node;
    this.nextHopResolver = options.nextHopResolver;
    this.nextHopWaiter = options.nextHopWaiter ?? NOBODY_WAITS;
    this.usesUnifiedFlows = options.unifiedFlows ?? true;
    const layers = options.layers.map((definition) => new Layer(definition));
    this.outOrder = layers.sort((a, b) => a.definition.priority - b.definition.priority);
    this.inOrder = this.outOrder.toReversed();
    this.layersByName = new Map(layers.map((layer) => [layer.definition.name, layer]));
  }

  /** Layers in the order in which outgoing packets meet them. */
  get layers(): readonly Layer[] {
    return this.outOrder;
  }

  get unifiedFlowCount(): number {
    return this.unified.size;
  }

  getLayer(name: string): Layer | undefined {
    return this.layersByName.get(name);
  }

  /** Replaces the groups of a layer. Existing flows are judged again when their next packet comes. */
  setGroups(layerName: string, groups: readonly Group[]): void {
    const layer = this.layersByName.get(layerName);
    assert(layer !== undefined, `port ${this.name} has no layer ${layerName}`);
    const isSame =
      groups.length === layer.groups.length && groups.every((group) => layer.groups.includes(group));
    if (isSame) return;
    layer.setGroups(groups);
    this.generation++;
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

  sweepIdleFlows(): boolean {
    let removed = 0;
    for (const layer of this.outOrder) removed += layer.sweep(this.sweepNowMs, SWEEP_SLOTS);
    return removed > 0;
  }

  /**
   * Moves a packet through the port and rewrites it in place. `headers` describes the packet.
   * After `pending` the packet is as it came and must be offered again when the next hop is settled.
   * With a recorder the layers are walked even when a unified flow exists, so that they can say what they do.
   */
  process(
    direction: Direction,
    packet: Packet,
    headers: Headers,
    nowMs: number,
    recorder?: Recorder,
  ): Verdict {
    if (!this.isEnabled) return "pass";
    this.packets[direction]++;
    if (this.isBlocked) return this.refuse(packet, direction, nowMs, recorder);
    // Port flag 128, process non-IP, is not set (dataplane.md §1.2): ARP and the like pass untouched.
    if (headers.family === 0) return "pass";
    this.key.isSourceTranslated = false;
    this.key.read(packet.bytes, headers, direction);
    if (headers.fragmentOffset !== 0) return this.followFirstFragment(packet, headers, nowMs, recorder);
    const tcpFlags =
      headers.protocol === IpProtocol.tcp && headers.transport >= 0
        ? readU8(packet.bytes, headers.transport + 13)
        : 0;
    const isControl = (tcpFlags & (TCP_FLAG.syn | TCP_FLAG.fin | TCP_FLAG.rst)) !== 0;
    if (this.usesUnifiedFlows && recorder === undefined && !isControl && !headers.isFragment) {
      const flow = this.unified.get(this.key.words, this.key.length);
      if (flow?.isCurrent(this.generation, nowMs) === true && !flow.isOutOfHops(packet.bytes, headers)) {
        flow.touch(nowMs);
        flow.apply(packet.bytes, headers);
        return flow.transposition.isTurned ? "turned" : "pass";
      }
    }
    const walk: Walk = {
      packet,
      headers,
      direction,
      nowMs,
      tcpFlags,
      total: new Transposition(),
      pairs: [],
      misses: [],
      recorder:
        recorder === undefined ? undefined : new PortRecorder(recorder, this, packet, direction, nowMs),
      generation: this.generation,
      ages: false,
    };
    const verdict = this.walkLayers(walk);
    // A packet that waits will walk the layers again; only its last walk is told.
    if (verdict !== "pending") walk.recorder?.flush();
    return verdict;
  }

  private walkLayers(walk: Walk): Verdict {
    const { packet, headers, direction, nowMs } = walk;
    this.arrivalKey.copyFrom(this.key);
    this.sweepNowMs = nowMs;
    const headerEnd = headers.transport < 0 ? headers.end : Math.min(headers.end, headers.transport + 20);
    const arrived = packet.bytes.slice(packet.start, headerEnd);
    let order = this.orderOf(direction);
    for (let index = 0; index < order.length; index++) {
      const layer = order[index];
      if (layer === undefined) break;
      const before = walk.direction;
      const verdict = this.walkLayer(layer, walk);
      if (verdict === "pending") packet.bytes.set(arrived, packet.start);
      if (verdict !== "pass") return verdict;
      if (walk.direction === before) continue;
      // Turned round: on through the layers behind this one (dataplane.md §1.12 step 5).
      order = this.orderOf(walk.direction);
      index = order.indexOf(layer);
      walk.recorder?.turnedTo(walk.direction);
    }
    for (const pair of walk.pairs) pair.isFresh = false;
    if (headers.isFragment) {
      this.fragments.remember(packet.bytes, headers, this.arrivalKey, walk.total, nowMs);
    } else {
      this.rememberUnifiedFlow(walk);
    }
    return walk.total.isTurned ? "turned" : "pass";
  }

  private orderOf(direction: Direction): readonly Layer[] {
    return direction === "out" ? this.outOrder : this.inOrder;
  }

  private rememberUnifiedFlow(walk: Walk): void {
    if (!this.usesUnifiedFlows) return;
    // A turned packet meets layers twice. The second time one of them may have begun to keep flows, which was not
    // noted at first, or have put a flow in the place of the first time's.
    if (walk.total.isTurned) {
      if (walk.generation !== this.generation || walk.pairs.some((pair) => pair.isRemoved)) return;
    }
    if (this.unified.size >= LIMITS.flowsPerPortMax) this.sweepUnified(walk.nowMs);
    if (this.unified.size >= LIMITS.flowsPerPortMax) return;
    const { words, length } = this.arrivalKey;
    const former = this.unified.get(words, length);
    if (former !== undefined) former.isStale = true;
    const flow = new UnifiedFlow({
      key: this.arrivalKey,
      transposition: walk.total,
      pairs: walk.pairs,
      misses: walk.misses,
      generation: this.generation,
      staleAtMs: walk.ages ? walk.nowMs + NEXT_HOP_CACHE_MS : Number.POSITIVE_INFINITY,
      nowMs: walk.nowMs,
    });
    this.unified.set(words, length, flow);
  }

  private sweepUnified(nowMs: number): void {
    const live = [...this.unified.entries()].some((flow) => flow.isCurrent(this.generation, nowMs));
    if (!live) this.unified.clear();
  }

  private walkLayer(layer: Layer, walk: Walk): Verdict {
    const flow = this.findLiveFlow(layer, walk);
    if (flow !== undefined) {
      this.followFlow(layer, flow, walk);
      return "pass";
    }
    const visit: LayerVisit = { layer, forward: new Transposition(), chain: [] };
    this.layerKey.copyFrom(this.key);
    const miss = layer.missOf(this.key);
    const pairCount = walk.pairs.length;
    const verdict = this.walkGroups(visit, walk);
    if (miss !== undefined && walk.pairs.length === pairCount) walk.misses.push(miss);
    return verdict;
  }

  private walkGroups(visit: LayerVisit, walk: Walk): Verdict {
    const { layer } = visit;
    let match = layer.findRule(this.key);
    if (match === undefined) return this.missLayer(layer, walk);
    while (match !== undefined) {
      layer.countMatch(match.rule);
      const verdict = this.applyRule(visit, match, walk);
      if (verdict !== "pass" || match.rule.isTerminating || this.makesFlow(layer, match)) return verdict;
      match = layer.findRule(this.key, match.group);
    }
    return "pass";
  }

  private makesFlow(layer: Layer, match: RuleMatch): boolean {
    return match.rule.isStateful && layer.definition.isStateful;
  }

  private missLayer(layer: Layer, walk: Walk): Verdict {
    if (!layer.definition.isDefaultAllow) return this.drop("acl-no-rule-matched", layer, undefined, walk);
    walk.recorder?.missed(layer, this.key);
    return "pass";
  }

  /** The layer's flow for this packet, if it still stands for what the rules say. */
  private findLiveFlow(layer: Layer, walk: Walk): LayerFlow | undefined {
    const flow = layer.findFlow(this.key, walk.nowMs);
    if (flow === undefined) return undefined;
    const isFirstSyn = (walk.tcpFlags & (TCP_FLAG.syn | TCP_FLAG.ack)) === TCP_FLAG.syn;
    const isRepetition = flow.isMain && flow.pair.state === "opening";
    if ((isFirstSyn && !isRepetition) || !this.isRuleUnchanged(layer, flow.pair)) {
      layer.removeFlow(flow.pair);
      return undefined;
    }
    return flow;
  }

  private isRuleUnchanged(layer: Layer, pair: LayerFlowPair): boolean {
    if (pair.generation === this.generation) return true;
    this.scratchKey.load(pair.mainKey);
    let current = layer.findRule(this.scratchKey);
    const chain: ChainStep[] = [];
    for (const [index, kept] of pair.chain.entries()) {
      if (current === undefined || !isSameDecision(current, kept)) return false;
      chain.push({ ...kept, match: current });
      const next = pair.chain[index + 1];
      // The next rule was found with what this one had made of the packet.
      if (next?.rewrittenKey !== undefined) this.scratchKey.load(next.rewrittenKey);
      current = next === undefined ? undefined : layer.findRule(this.scratchKey, current.group);
    }
    pair.chain = chain;
    pair.generation = this.generation;
    return true;
  }

  private followFlow(layer: Layer, flow: LayerFlow, walk: Walk): void {
    const { pair } = flow;
    pair.lastUsedMs = walk.nowMs;
    if (!flow.isMain && pair.state === "opening") pair.state = "open";
    if ((walk.tcpFlags & (TCP_FLAG.fin | TCP_FLAG.rst)) !== 0) pair.state = "closing";
    walk.pairs.push(pair);
    this.rewrite(flow.transposition, walk);
    if (pair.isFresh) walk.recorder?.matched(layer, pair.decision);
    else walk.recorder?.followed(layer, flow);
  }

  private applyRule(visit: LayerVisit, match: RuleMatch, walk: Walk): Verdict {
    const { packet, headers } = walk;
    const { layer } = visit;
    const subject = { bytes: packet.bytes, headers, key: this.key };
    const result = evaluateAction(match.rule.action, subject, this);
    if (result.kind === "drop") return this.drop(result.code, layer, match, walk);
    if (result.kind === "pending") return "pending";
    const step = {
      match,
      rewrittenKey: visit.forward.isEmpty ? undefined : this.key.keep(),
      backEnd: result.backEnd,
    };
    visit.chain.push(step);
    result.forward.isTurned = layer.definition.isHairpin === true;
    result.reverse.isTurned = result.forward.isTurned;
    this.rewrite(result.forward, walk);
    visit.forward.compose(result.forward);
    walk.ages ||= result.ages === true;
    if (this.makesFlow(layer, match) && !this.openFlow(visit, result, walk)) {
      if (result.nat !== undefined) result.nat.pool.release(result.nat.port);
      return this.drop("flow-table-full", layer, match, walk);
    }
    walk.recorder?.matched(layer, step);
    return "pass";
  }

  private openFlow(visit: LayerVisit, result: Extract<ActionResult, { kind: "pass" }>, walk: Walk): boolean {
    // Unified flows do not remember that a layer without any flow had none for them.
    if (!visit.layer.hadFlows) this.generation++;
    const pair = visit.layer.addFlow({
      chain: visit.chain,
      before: this.layerKey,
      after: this.key,
      forward: visit.forward,
      reverse: result.reverse,
      nat: result.nat,
      generation: this.generation,
      nowMs: walk.nowMs,
      scratch: this.scratchKey,
    });
    if (pair === undefined) return false;
    walk.pairs.push(pair);
    return true;
  }

  private rewrite(step: Transposition, walk: Walk): void {
    const turns = step.isTurned && !walk.total.isTurned;
    if (step.isEmpty && !turns) return;
    if (turns) walk.direction = walk.direction === "out" ? "in" : "out";
    step.apply(walk.packet.bytes, walk.headers);
    walk.total.compose(step);
    this.key.isSourceTranslated ||= step.changesSource;
    this.key.read(walk.packet.bytes, walk.headers, walk.direction);
  }

  private followFirstFragment(packet: Packet, headers: Headers, nowMs: number, recorder?: Recorder): Verdict {
    const transposition = this.fragments.find(packet.bytes, headers, this.key, nowMs);
    const heard =
      recorder === undefined
        ? undefined
        : new PortRecorder(recorder, this, packet, this.key.direction, nowMs);
    if (transposition === undefined) {
      this.count("fragment-without-first");
      heard?.dropped("fragment-without-first");
      heard?.flush();
      return "drop";
    }
    transposition.apply(packet.bytes, headers);
    heard?.unified();
    heard?.flush();
    return transposition.isTurned ? "turned" : "pass";
  }

  private refuse(packet: Packet, direction: Direction, nowMs: number, recorder?: Recorder): Verdict {
    this.count("switch-port-blocked");
    if (recorder === undefined) return "drop";
    const heard = new PortRecorder(recorder, this, packet, direction, nowMs);
    heard.dropped("switch-port-blocked");
    heard.flush();
    return "drop";
  }

  private drop(code: KnowledgeCode, layer: Layer, match: RuleMatch | undefined, walk: Walk): Verdict {
    this.count(code);
    walk.recorder?.dropped(code, layer, match);
    return "drop";
  }

  private count(code: KnowledgeCode): void {
    this.drops.set(code, (this.drops.get(code) ?? 0) + 1);
  }
}

/** For ports that are used without a switch. */
class NobodyWaits implements NextHopWaiter {
  nextHopSettled(): void {}
}
const NOBODY_WAITS: NextHopWaiter = Object.freeze(new NobodyWaits());
