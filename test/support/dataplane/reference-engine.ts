/**
 * A naive twin of the match-action engine, for properties: no unified flows, no transpositions, no indices, no incremental
 * checksums. It reads what a rule can ask for into plain fields, looks through lists, edits one field after the other and
 * computes every checksum anew. What nobody can know (the hash that chooses a back end, the order in which a pool gives
 * ports, the arithmetic of a rate) it shares with the engine.
 */
import { keepsBackEnd } from "#dataplane/vfp/actions/back-end.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { VfpDirection, Rule } from "#dataplane/vfp/rule.ts";
import { type Charge, TokenBucket } from "#dataplane/vfp/token-bucket.ts";
import type { Packet } from "#core/wire/packet.ts";
import { Dropped, type Edit, type Seen, Subject, holds } from "./reference-packet.ts";
import {
  ReferenceWalk,
  type Step,
  type Flow,
  type LayerState,
  type ReferenceSettings,
  type ReferenceOutcome,
} from "./reference-walk.ts";

/** What all fragments of a datagram get. */
interface Train {
  readonly edits: readonly Edit[];
  readonly charges: readonly Charge[];
  readonly mirrors: readonly string[];
  readonly isHairpin: boolean;
  readonly untilMs: number;
}

const DROP: ReferenceOutcome = { verdict: "drop", untilMs: 0, isHairpin: false, mirrors: [] };
export class ReferenceEngine {
  private readonly settings: ReferenceSettings;
  private readonly layers: readonly LayerState[];
  private readonly buckets = new Map<string, TokenBucket>();
  private readonly trains = new Map<string, Train>();
  private identification = 0;
  private version = 0;

  constructor(settings: ReferenceSettings) {
    this.settings = settings;
    this.layers = settings.layers
      .map((definition): LayerState => ({ definition, groups: [], flows: new Map() }))
      .toSorted((a, b) => a.definition.priority - b.definition.priority);
  }

  setGroups(name: string, groups: readonly Group[]): void {
    const layer = this.layers.find(({ definition }) => definition.name === name)!;
    layer.groups = groups.toSorted((a, b) => a.priority - b.priority);
    this.version++;
  }

  process(direction: VfpDirection, packet: Packet, nowMs: number): ReferenceOutcome {
    const subject = new Subject(packet, direction);
    if (subject.headers.family === 0) return { ...DROP, verdict: "pass" };
    const train = subject.trainName;
    try {
      if (subject.isLaterFragment) return this.followTrain(train, subject, nowMs);
      const walk = new ReferenceWalk(this, subject, nowMs);
      walk.run();
      if (train !== undefined)
        this.trains.set(train, {
          ...walk.outcome(),
          edits: walk.edits,
          charges: walk.charges,
          untilMs: nowMs + 30_000,
        });
      return walk.outcome();
    } catch (error) {
      if (error instanceof Dropped) return DROP;
      throw error;
    }
  }

  private followTrain(name: string | undefined, subject: Subject, nowMs: number): ReferenceOutcome {
    const train = this.trains.get(name ?? "");
    if (train === undefined || nowMs >= train.untilMs) return DROP;
    const { length } = subject.packet;
    const before = this.identification;
    for (const edit of train.edits) subject.apply(edit, this);
    let delayMs = 0;
    for (const { bucket, limit } of train.charges) {
      const waitMs = bucket.admit(limit, length, nowMs);
      if (waitMs < 0) {
        this.identification = before;
        return DROP;
      }
      delayMs = Math.max(delayMs, waitMs);
    }
    const verdict = delayMs > 0 ? "delayed" : train.isHairpin ? "hairpin" : "pass";
    return {
      verdict,
      untilMs: delayMs > 0 ? nowMs + delayMs : 0,
      isHairpin: train.isHairpin,
      mirrors: train.mirrors,
    };
  }

  takeIdentification(): number {
    return this.identification++ & 0xffff;
  }

  returnIdentification(): void {
    this.identification--;
  }

  orderOf(direction: VfpDirection): readonly LayerState[] {
    return direction === "out" ? this.layers : this.layers.toReversed();
  }

  get world(): ReferenceSettings {
    return this.settings;
  }

  chargeOf(layer: LayerState, { group, rule }: { group: Group; rule: Rule }): Charge | undefined {
    if (rule.action.type !== "qos") return undefined;
    const name = `${layer.definition.name} ${group.direction} ${group.family} ${group.name} ${rule.id}`;
    const bucket = this.buckets.get(name) ?? new TokenBucket();
    this.buckets.set(name, bucket);
    return { bucket, limit: rule.action };
  }

  /** The first rule that wins, group by group, behind `after`. */
  findRule(layer: LayerState, seen: Seen, after?: Group): { group: Group; rule: Rule } | undefined {
    const from = after === undefined ? 0 : layer.groups.indexOf(after) + 1;
    for (const group of layer.groups.slice(from)) {
      if (group.family !== seen.family || group.direction !== seen.direction) continue;
      if (group.condition !== undefined && !holds(group.condition, seen)) continue;
      const matching = group.rules.filter((rule) => holds(rule.condition, seen));
      const best =
        group.match === "priority"
          ? Math.min(...matching.map((rule) => rule.priority))
          : Math.max(...matching.map((rule) => rule.condition.destination![0]!.length));
      const winner = matching.find((rule) =>
        group.match === "priority" ? rule.priority === best : rule.condition.destination![0]!.length === best,
      );
      if (winner !== undefined) return { group, rule: winner };
    }
    return undefined;
  }

  findFlow(layer: LayerState, tuple: string, nowMs: number): { flow: Flow; isMain: boolean } | undefined {
    const found = layer.flows.get(tuple);
    if (found === undefined) return undefined;
    if (!this.isExpired(found.flow, nowMs)) return found;
    this.remove(found.flow);
    return undefined;
  }

  /** True when the rules still say what the flow was made from. */
  isUnchanged(flow: Flow): boolean {
    if (flow.version === this.version) return true;
    const chain: Step[] = [];
    let after: Group | undefined;
    for (const step of flow.chain) {
      const now = this.findRule(flow.layer, step.seen, after);
      if (now === undefined || !isSameDecision(now.rule, step)) return false;
      chain.push({ ...step, ...now });
      after = now.group;
    }
    flow.chain = chain;
    flow.version = this.version;
    return true;
  }

  addFlow(flow: Flow): void {
    for (const tuple of [flow.answer, flow.main]) {
      const former = flow.layer.flows.get(tuple);
      if (former !== undefined && former.flow !== flow) this.remove(former.flow);
      flow.layer.flows.set(tuple, { flow, isMain: tuple === flow.main });
    }
    flow.version = this.version;
  }

  remove(flow: Flow): void {
    if (flow.isGone) return;
    flow.isGone = true;
    for (const [tuple, each] of flow.layer.flows) if (each.flow === flow) flow.layer.flows.delete(tuple);
    flow.port?.pool.release(flow.port.port);
  }

  removeExpired(nowMs: number): void {
    for (const layer of this.layers)
      for (const { flow } of Array.from(layer.flows.values()))
        if (this.isExpired(flow, nowMs)) this.remove(flow);
  }

  private isExpired(flow: Flow, nowMs: number): boolean {
    const { halfOpen, timeWait, other } = this.settings.ttlMs;
    let ttlMs = flow.ttlMs ?? other;
    if (flow.isTcp && flow.state === "opening") ttlMs = halfOpen;
    if (flow.isTcp && flow.state === "time-wait") ttlMs = timeWait;
    return nowMs - flow.lastUsedMs >= ttlMs;
  }
}
function isSameDecision(now: Rule, { rule, backEnd }: Step): boolean {
  if (now === rule) return true;
  const names = ["mssDelta", "reverseMssDelta", "mirrorTo", "skipsHairpin"] as const;
  if (now.id !== rule.id || names.some((name) => now[name] !== rule[name])) return false;
  if (backEnd !== undefined && rule.action.type === "lbnat")
    return keepsBackEnd(rule.action, now.action, backEnd);
  const [a, b] = [now.action, rule.action].map((action) => new Map(Object.entries(action)));
  return [...a!.keys(), ...b!.keys()].every((name) => a!.get(name) === b!.get(name));
}
