/**
 * One packet's way through the layers of a port: the slow path, from which a unified flow is made.
 * Source of the algorithm: dataplane.md §1.12 steps 4 to 8 (inferred there from the facts of §1.1–1.11).
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import {
  equalActions,
  evaluateAction,
  type ActionContext,
  type ActionPass,
  type ActionResult,
  type ActionSubject,
} from "./actions/action.ts";
import { keepsBackEnd } from "./actions/back-end.ts";
import type { FlowCensus } from "./flows/flow-census.ts";
import {
  classOfProtocol,
  type ChainStep,
  type LayerFlow,
  type LayerFlowPair,
  type RuleMatch,
} from "./flows/layer-flow.ts";
import type { FlowKey } from "./flow-key.ts";
import type { QuotedPacket } from "./actions/icmp-error.ts";
import type { Layer, LayerMiss } from "./layer.ts";
import { type PortParserSettings, vxlanPortFor } from "./port-settings.ts";
import type { PortRecorder } from "./port-recorder.ts";
import type { VfpDirection, Rule } from "./rule.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { Charge } from "./token-bucket.ts";
import { NOTHING, Transposition } from "./actions/transposition.ts";
import { IP_BYTES_MAX, popTunnel } from "./flows/unified-flow.ts";

/**
 * `turned`: the packet goes on, but leaves the port on the side that it came from. `delayed`: it is rewritten and passes
 * at the time that the port names.
 */
export type Verdict = "pass" | "hairpin" | "drop" | "pending" | "delayed";

/** What a port lends to the walk. */
export interface WalkedPort extends ActionContext {
  /** Goes up with every change of rules. */
  generation: number;
  readonly census: FlowCensus;
  /** The packet's key as it is now, and scratch keys. */
  readonly key: FlowKey;
  readonly layerKey: FlowKey;
  readonly scratchKey: FlowKey;
  /** The tunnel that the packet is in now. */
  readonly tunnel: TunnelHeaders;
  readonly parserSettings: PortParserSettings;
  orderOf(direction: VfpDirection): readonly Layer[];
  /** The identification of the next IPv4 header that the port makes. */
  takeIdentification(): number;
  /** Takes the last one back: its header is gone. */
  returnIdentification(): void;
  /** Copies some bytes, until the next call; and writes them back. */
  keepHead(bytes: Uint8Array, start: number, end: number): void;
  restoreHead(bytes: Uint8Array, start: number): void;
  /** What a `qos` rule takes from; undefined for other rules. */
  chargeOf(layer: Layer, match: RuleMatch): Charge | undefined;
}

/** A packet's stay in one layer. */
interface LayerVisit {
  readonly layer: Layer;
  /** What the layer has changed so far; not to be written into. */
  forward: Transposition;
  /** The rules that matched, one per group. */
  readonly chain: ChainStep[];
}

/** True when `current` would have done to the packet what the kept step did, or may leave it at that. */
function isSameDecision(current: RuleMatch, { match, backEnd }: ChainStep): boolean {
  const { rule } = match;
  if (current.rule === rule) return true;
  if (current.rule.id !== rule.id || !hasSameEffects(current.rule, rule)) return false;
  return backEnd !== undefined && rule.action.type === "lbnat"
    ? keepsBackEnd(rule.action, current.rule.action, backEnd)
    : equalActions(current.rule.action, rule.action);
}

function hasSameEffects(a: Rule, b: Rule): boolean {
  return (
    a.mssDelta === b.mssDelta &&
    a.reverseMssDelta === b.reverseMssDelta &&
    a.mirrorTo === b.mirrorTo &&
    a.skipsHairpin === b.skipsHairpin
  );
}

export class Walk {
  readonly packet: Packet;
  readonly headers: Headers;
  /** Changes once when the packet is turned round. */
  direction: VfpDirection;
  readonly nowMs: number;
  readonly total: Transposition = new Transposition();
  readonly pairs: LayerFlowPair[] = [];
  readonly misses: LayerMiss[] = [];
  /** What `qos` rules and mirrors ask for; undefined while none does. */
  effects: { readonly charges: Charge[]; readonly mirrors: string[] } | undefined;
  readonly recorder: PortRecorder | undefined;
  ages = false;
  /** How long the packet waits for its turn. */
  delayMs = 0;
  /** Why it was dropped. */
  dropCode: KnowledgeCode | undefined;
  private readonly port: WalkedPort;
  /** That of the port when the walk began. */
  private readonly generation: number;
  private readonly tcpFlags: number;
  /** The packet that this one is an error about. */
  private readonly quoted: QuotedPacket | undefined;
  /** Outer headers were put round the error: what it quotes is payload from there on. */
  private isQuoteBuried = false;
  /** The virtual subnet of the tunnel that came off. */
  private poppedTni = 0;
  /** What actions see of the packet. */
  private subject: ActionSubject | undefined;
  private readonly arrivedLength: number;
  private readonly arrivedTni: number;
  private readonly arrivedOuterBytes: number;
  private readonly arrivedInTunnel: boolean;
  /** Where the frame that arrived begins in the packet's bytes. */
  private arrivedStart: number;

  constructor(options: {
    readonly port: WalkedPort;
    readonly packet: Packet;
    readonly headers: Headers;
    readonly direction: VfpDirection;
    readonly nowMs: number;
    readonly tcpFlags: number;
    readonly quoted: QuotedPacket | undefined;
    readonly recorder: PortRecorder | undefined;
  }) {
    const { port, packet, headers } = options;
    this.port = port;
    this.packet = packet;
    this.headers = headers;
    this.direction = options.direction;
    this.nowMs = options.nowMs;
    this.tcpFlags = options.tcpFlags;
    this.quoted = options.quoted;
    this.recorder = options.recorder;
    this.generation = port.generation;
    this.arrivedStart = packet.start;
    this.arrivedLength = packet.length;
    this.arrivedTni = packet.tni;
    this.arrivedOuterBytes = packet.outerBytes;
    this.arrivedInTunnel = port.tunnel.kind !== undefined;
    port.keepHead(packet.bytes, packet.start, this.rewrittenEnd());
  }

  /** Behind `run`: true when the next packets with the same key meet the same. */
  get isCacheable(): boolean {
    if (this.quoted !== undefined || (this.total.isHairpin && this.hasOvertakenItself())) return false;
    // Rules that ask for SYN may say something else of the next segment.
    const { key } = this.port;
    return !(key.isSyn && this.port.orderOf("out").some((layer) => layer.asksForSyn));
  }

  /** Moves the packet through all layers. */
  run(): Verdict {
    const { port } = this;
    let order = port.orderOf(this.direction);
    for (let index = 0; index < order.length; index++) {
      const layer = order[index];
      if (layer === undefined) break;
      const before = this.direction;
      const verdict = this.walkLayer(layer);
      if (verdict === "pending") this.restore();
      if (verdict !== "pass") return verdict;
      // Behind its outer headers was something that no rule can ask for.
      if (this.headers.family === 0) break;
      if (this.direction === before) continue;
      // Turned round: on through the layers behind this one (dataplane.md §1.12 step 5).
      order = port.orderOf(this.direction);
      index = order.indexOf(layer);
      this.recorder?.hairpinTo(this.direction);
    }
    for (const pair of this.pairs) pair.isFresh = false;
    if (this.delayMs > 0) return "delayed";
    return this.total.isHairpin ? "hairpin" : "pass";
  }

  /**
   * A turned packet meets layers twice. The second time one of them may have begun to keep flows, which was not noted at
   * first, have put a flow in the place of the first time's, or have made one for the tuple that had none at first.
   */
  private hasOvertakenItself(): boolean {
    return (
      this.generation !== this.port.generation ||
      this.pairs.some((pair) => pair.isRemoved) ||
      this.misses.some((miss) => !miss.layer.isStillMissed(miss))
    );
  }

  private walkLayer(layer: Layer): Verdict {
    const { port } = this;
    if (layer.definition.clearsTni === true && this.packet.tni !== 0) this.clearTni();
    const quoting =
      this.quoted === undefined || this.isQuoteBuried ? undefined : this.followQuoted(layer, this.quoted);
    if (quoting !== undefined) return quoting;
    const flow = this.findLiveFlow(layer, port.key);
    if (flow !== undefined) return this.followFlow(layer, flow);
    const miss = layer.missOf(port.key);
    const pairCount = this.pairs.length;
    const verdict = this.walkGroups(layer);
    if (miss !== undefined && this.pairs.length === pairCount) this.misses.push(miss);
    return verdict;
  }

  private walkGroups(layer: Layer): Verdict {
    const { key, layerKey } = this.port;
    let match = layer.findRule(key);
    if (match === undefined) return this.missLayer(layer);
    layerKey.copyFrom(key);
    const visit: LayerVisit = { layer, forward: NOTHING, chain: [] };
    while (match !== undefined) {
      const verdict = this.applyRule(visit, match);
      if (verdict !== "pass" || match.rule.isTerminating || makesFlow(layer, match)) return verdict;
      match = layer.findRule(key, match.group);
    }
    return "pass";
  }

  private missLayer(layer: Layer): Verdict {
    layer.countersOn(this.direction).noMatch++;
    if (!layer.definition.isDefaultAllow) return this.drop("acl-no-rule-matched", layer);
    this.recorder?.missed(layer, this.port.key);
    return "pass";
  }

  /** The layer's flow for this packet, if it still stands for what the rules say. */
  private findLiveFlow(layer: Layer, key: FlowKey): LayerFlow | undefined {
    const flow = layer.findFlow(key, this.nowMs);
    if (flow === undefined) return undefined;
    const { pair } = flow;
    const isFirstSyn = (this.tcpFlags & (TcpFlag.syn | TcpFlag.ack)) === TcpFlag.syn;
    const isRepetition = flow.isMain && pair.state === "opening";
    if (isFirstSyn && !isRepetition) {
      this.port.census.resetBySyn(pair);
      layer.removeFlow(pair);
      return undefined;
    }
    if (this.isRuleUnchanged(layer, pair)) return flow;
    layer.countersFor(pair.decision.match.rule).droppedFlows++;
    layer.removeFlow(pair);
    return undefined;
  }

  private isRuleUnchanged(layer: Layer, pair: LayerFlowPair): boolean {
    const { port } = this;
    if (pair.generation === port.generation) return true;
    layer.loadMainKey(pair, port.scratchKey);
    port.scratchKey.isSyn = pair.isFromSyn;
    let current = layer.findRule(port.scratchKey);
    const chain: ChainStep[] = [];
    for (const [index, kept] of pair.chain.entries()) {
      if (current === undefined || !isSameDecision(current, kept)) return false;
      chain.push({ ...kept, match: current });
      const next = pair.chain[index + 1];
      // The next rule was found with what this one had made of the packet.
      if (next?.rewrittenKey !== undefined) port.scratchKey.load(next.rewrittenKey);
      port.scratchKey.isSyn = pair.isFromSyn;
      current = next === undefined ? undefined : layer.findRule(port.scratchKey, current.group);
    }
    pair.chain = chain;
    pair.generation = port.generation;
    return true;
  }

  private followFlow(layer: Layer, flow: LayerFlow): Verdict {
    const { pair } = flow;
    layer.countersOn(this.direction).flowMatch++;
    pair.lastUsedMs = this.nowMs;
    this.track(flow);
    this.pairs.push(pair);
    const refusal = this.refusalOf(flow.transposition);
    if (refusal !== undefined) {
      layer.countersOn(this.direction).flowDrop++;
      return this.drop(refusal, layer, pair.decision.match);
    }
    this.rewrite(flow.transposition);
    if (flow.isMain) {
      for (const { match } of pair.chain) {
        if (!this.takeEffect(layer, match)) return this.drop("bandwidth-exceeded", layer, match);
      }
    }
    if (pair.isFresh) this.recorder?.matched(layer, pair.decision, flow.transposition);
    else this.recorder?.followed(layer, flow);
    return "pass";
  }

  /** Why this packet cannot be changed as others were: too few hops, a tunnel that is not there, or one too many. */
  private refusalOf(step: Transposition): KnowledgeCode | undefined {
    const { tunnel } = this.port;
    if (step.pops && tunnel.kind === undefined) return "tunnel-refused";
    if (step.push !== undefined && this.total.push !== undefined) return "tunnel-refused";
    if (step.push !== undefined && this.packet.length + step.push.length > IP_BYTES_MAX)
      return "mtu-exceeded";
    const { poppedTtlDecrements } = step;
    if (poppedTtlDecrements > 0 && readTtl(this.packet.bytes, this.headers) <= poppedTtlDecrements)
      return "ttl-expired";
    const frame = step.pops ? tunnel.inner : this.headers;
    if (frame.family === 0 || step.ttlDecrements === 0) return undefined;
    return readTtl(this.packet.bytes, frame) <= step.ttlDecrements ? "ttl-expired" : undefined;
  }

  /** The states of a TCP connection (dataplane.md §1.12 step 8). */
  private track(flow: LayerFlow): void {
    const { pair } = flow;
    const { census } = this.port;
    if (!flow.isMain && pair.state === "opening") census.enter(pair, "open");
    const ends = this.tcpFlags & (TcpFlag.fin | TcpFlag.rst);
    if (ends === 0 || pair.state === "time-wait") return;
    pair.finished |= flow.isMain ? 1 : 2;
    if ((ends & TcpFlag.rst) !== 0) census.enter(pair, "time-wait", "reset");
    else census.enter(pair, pair.finished === 3 ? "time-wait" : "closing");
  }

  private applyRule(visit: LayerVisit, match: RuleMatch): Verdict {
    const { packet, headers, port } = this;
    const { layer } = visit;
    const { rule } = match;
    const counters = layer.countersFor(rule);
    counters.matchedPackets++;
    layer.countersOn(this.direction).ruleMatch++;
    const isFirst = makesFlow(layer, match) && this.pairs.length === 0;
    if (isFirst && this.findsNoRoom()) return this.dropByRule("flow-table-full", layer, match);
    if (isFirst && this.isOverFlowLimit()) return this.dropByRule("flow-limit-reached", layer, match);
    const subject = (this.subject ??= {
      bytes: packet.bytes,
      headers,
      key: port.key,
      tunnel: port.tunnel,
      total: this.total,
      poppedTni: 0,
    });
    subject.bytes = packet.bytes;
    subject.poppedTni = this.poppedTni;
    const result = withExtras(evaluateAction(rule.action, subject, port), rule, layer);
    if (result.kind === "drop") return this.dropByRule(result.code, layer, match);
    if (result.kind === "pending") {
      counters.pendingPackets++;
      layer.countersOn(this.direction).rulePending++;
      return "pending";
    }
    const refusal = this.refusalOf(result.forward);
    if (refusal !== undefined) return this.dropByRule(refusal, layer, match);
    // A turn changes the direction in which the next rule is looked for.
    const isSameKey = visit.forward.isEmpty && !visit.forward.isHairpin;
    const rewrittenKey = isSameKey ? undefined : port.key.keep();
    const step: ChainStep = { match, rewrittenKey, backEnd: result.backEnd };
    visit.chain.push(step);
    const { forward } = result;
    if (forward !== NOTHING) {
      this.rewrite(forward);
      visit.forward = sumOf(visit.forward, forward);
    }
    this.ages ||= result.ages === true;
    if (makesFlow(layer, match) && !this.openFlow(visit, result)) {
      if (result.nat !== undefined) result.nat.pool.release(result.nat.port);
      return this.dropByRule("flow-table-full", layer, match);
    }
    if (!this.takeEffect(layer, match)) return this.dropByRule("bandwidth-exceeded", layer, match);
    this.recorder?.matched(layer, step, forward);
    return "pass";
  }

  /** Idle flows of other ports are forgotten by and by (`VirtualSwitch.forgetIdleFlows`). */
  private findsNoRoom(): boolean {
    const { census } = this.port;
    if (!census.isRoomFull) return false;
    this.port.sweepIdleFlows();
    return census.isRoomFull;
  }

  private isOverFlowLimit(): boolean {
    const { port } = this;
    const transport = classOfProtocol(port.key.protocol);
    if (!port.census.isFull(transport)) return false;
    port.sweepIdleFlows();
    return port.census.isFull(transport);
  }

  /** @returns false when the packet exceeds a rate. */
  private takeEffect(layer: Layer, match: RuleMatch): boolean {
    const { rule } = match;
    const charge = this.port.chargeOf(layer, match);
    if (charge === undefined && rule.mirrorTo === undefined) return true;
    this.effects ??= { charges: [], mirrors: [] };
    if (rule.mirrorTo !== undefined) this.effects.mirrors.push(rule.mirrorTo);
    if (charge === undefined) return true;
    this.effects.charges.push(charge);
    const waitMs = charge.bucket.admit(charge.limit, this.arrivedLength, this.nowMs);
    if (waitMs < 0) return false;
    this.delayMs = Math.max(this.delayMs, waitMs);
    return true;
  }

  private openFlow(visit: LayerVisit, result: ActionPass): boolean {
    const { port } = this;
    let { reverse } = result;
    if (reverse.isHairpin !== visit.forward.isHairpin) {
      // A rule before this one turned the packet: its answer is turned as well.
      reverse = new Transposition();
      reverse.compose(result.reverse);
      reverse.isHairpin = visit.forward.isHairpin;
    }
    // Unified flows do not remember that a layer without any flow had none for them.
    if (!visit.layer.hadFlows) port.generation++;
    const pair = visit.layer.addFlow({
      chain: visit.chain,
      before: port.layerKey,
      after: port.key,
      forward: visit.forward,
      reverse,
      nat: result.nat,
      generation: port.generation,
      nowMs: this.nowMs,
      scratch: port.scratchKey,
    });
    if (pair === undefined) return false;
    if (this.pairs.length === 0) port.census.opened(pair);
    this.pairs.push(pair);
    return true;
  }

  private rewrite(step: Transposition): void {
    const { packet, headers, port } = this;
    const turns = step.isHairpin && !this.total.isHairpin;
    if (step.isEmpty && !turns) return;
    if (turns) {
      this.direction = this.direction === "out" ? "in" : "out";
      // What an error is about goes on with it.
      this.quoted?.answer.turn();
    }
    if (step.pops) {
      this.poppedTni = port.tunnel.id;
      popTunnel(packet, headers, port.tunnel);
      // A tunnel inside the tunnel stays payload: the key of the packet that arrived does not reach that far.
      port.tunnel.kind = undefined;
      if (this.total.push !== undefined) this.forgetPush();
    }
    step.applyFields(packet.bytes, headers);
    if (step.push !== undefined) this.pushHeaders(step.push);
    if (step.tni >= 0) packet.tni = step.tni;
    this.total.compose(step);
    port.key.isSourceTranslated ||= step.changesSource;
    if (headers.family !== 0) port.key.read(packet, headers, this.direction, port.tunnel, packet.tni);
  }

  /** What was put on here is gone as if it had never been; the tunnel that the packet came in is seen again. */
  private forgetPush(): void {
    const { packet, headers, port } = this;
    port.returnIdentification();
    if (!this.total.pops && this.arrivedInTunnel)
      port.tunnel.locate(packet.bytes, headers, vxlanPortFor(port.parserSettings, packet.bytes, headers));
  }

  private pushHeaders(push: NonNullable<Transposition["push"]>): void {
    const { packet, headers, port } = this;
    const before = packet.start;
    push.apply(packet, headers, port.takeIdentification());
    this.isQuoteBuried = true;
    // Without headroom the frame moves to other bytes.
    this.arrivedStart += packet.start + push.length - before;
    port.tunnel.locate(packet.bytes, headers, push.fields.destinationPort);
  }

  private clearTni(): void {
    const step = new Transposition();
    step.tni = 0;
    this.rewrite(step);
  }

  /**
   * An error passes as an answer to what it quotes does. Its own flow, if there is one, and the state of the connection
   * stay as they are.
   * @returns undefined when the layer has no flow for what is quoted.
   */
  private followQuoted(layer: Layer, quoted: QuotedPacket): Verdict | undefined {
    const flow = layer.findFlow(quoted.answer, this.nowMs);
    if (flow === undefined || !this.isRuleUnchanged(layer, flow.pair) || flow.transposition.changesTunnel)
      return undefined;
    layer.countersOn(this.direction).flowMatch++;
    const refusal = this.refusalOf(flow.transposition);
    if (refusal !== undefined) return this.drop(refusal, layer, flow.pair.decision.match);
    const { packet, headers, port } = this;
    const turns = flow.transposition.isHairpin && !this.total.isHairpin;
    const outer = quoted.translate(flow.transposition, packet.bytes, headers, turns);
    if (turns) this.direction = this.direction === "out" ? "in" : "out";
    if (outer.tni >= 0) packet.tni = outer.tni;
    this.total.compose(outer);
    port.key.isSourceTranslated ||= outer.changesSource;
    port.key.read(packet, headers, this.direction, port.tunnel, packet.tni);
    this.recorder?.followed(layer, flow);
    return "pass";
  }

  private dropByRule(code: KnowledgeCode, layer: Layer, match: RuleMatch): Verdict {
    layer.countersFor(match.rule).droppedPackets++;
    layer.countersOn(this.direction).ruleDrop++;
    return this.drop(code, layer, match);
  }

  private drop(code: KnowledgeCode, layer: Layer, match?: RuleMatch): Verdict {
    this.dropCode = code;
    this.recorder?.dropped(code, layer, match);
    return "drop";
  }

  /** The end of what a walk can change: all headers, of a tunnel the inner ones, of an error what it quotes. */
  private rewrittenEnd(): number {
    const { headers, packet, quoted } = this;
    if (quoted !== undefined) return headers.end;
    const { tunnel } = this.port;
    const last = tunnel.kind === undefined ? headers : tunnel.inner;
    // A TCP header has at most 60 bytes.
    return Math.min(packet.end, last.transport < 0 ? last.end : last.transport + 60);
  }

  /** Brings the packet back to how it came, so that it can be offered again. */
  private restore(): void {
    const { packet } = this;
    packet.start = this.arrivedStart;
    packet.end = packet.start + this.arrivedLength;
    packet.tni = this.arrivedTni;
    packet.outerBytes = this.arrivedOuterBytes;
    this.port.restoreHead(packet.bytes, packet.start);
    this.headers.parse(packet);
  }
}

/** Both changes, one after the other. */
function sumOf(first: Transposition, second: Transposition): Transposition {
  if (first === NOTHING) return second;
  const sum = new Transposition();
  sum.compose(first);
  sum.compose(second);
  return sum;
}

/** Completes what a rule makes of a packet with what every type of rule may have. */
function withExtras(result: ActionResult, rule: Rule, { definition }: Layer): ActionResult {
  // A packet is turned once: a second hairpin layer lets it go on.
  const isHairpin = definition.isHairpin === true && rule.skipsHairpin !== true;
  const { mssDelta = 0, reverseMssDelta = 0 } = rule;
  if (result.kind !== "pass" || (!isHairpin && mssDelta === 0 && reverseMssDelta === 0)) return result;
  const forward = new Transposition();
  const reverse = new Transposition();
  forward.compose(result.forward);
  reverse.compose(result.reverse);
  forward.mssDelta += mssDelta;
  reverse.mssDelta += reverseMssDelta;
  forward.isHairpin = isHairpin;
  reverse.isHairpin = isHairpin;
  return { ...result, forward, reverse };
}

function makesFlow(layer: Layer, match: RuleMatch): boolean {
  return match.rule.isStateful && layer.definition.isStateful;
}
