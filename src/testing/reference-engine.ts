/**
 * A naive twin of the match-action engine, for properties: no unified flows, no transpositions, no indices, no incremental
 * checksums. It reads what a rule can ask for into plain fields, looks through lists, edits one field after the other and
 * computes every checksum anew. What nobody can know (the hash that chooses a back end, the order in which a pool gives
 * ports, the arithmetic of a rate) it shares with the engine.
 */
import { readU16, readU48, readU8, writeU128, writeU16, writeU32, writeU48, writeU8 } from "../base/bytes.ts";
import { type Ip, bitsOf, familyOf } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { type Prefix, prefixContains } from "../net/prefix.ts";
import { chooseBackEnd, keepsBackEnd } from "../vfp/back-end.ts";
import type { Condition } from "../vfp/condition.ts";
import { entropyPort } from "../vfp/encapsulation.ts";
import { FlowKey } from "../vfp/flow-key.ts";
import { hashWords } from "../vfp/flow-table.ts";
import type { Group } from "../vfp/group.ts";
import type { Mapping } from "../vfp/mapping-space.ts";
import type { NatPool } from "../vfp/nat-pool.ts";
import type { BackEnd, Direction, LayerDefinition, Rule } from "../vfp/rule.ts";
import { TokenBucket } from "../vfp/token-bucket.ts";
import { checksumOf, updateChecksum } from "../wire/checksum.ts";
import {
  decapsulateNvgre,
  decapsulateVxlan,
  encapsulateNvgre,
  encapsulateVxlan,
} from "../wire/encapsulation.ts";
import { Headers, destinationIp, sourceIp } from "../wire/headers.ts";
import type { Packet } from "../wire/packet.ts";
import { TcpOptionKind, findTcpOption } from "../wire/tcp-options.ts";
import { fillChecksums } from "../wire/transport-checksum.ts";
import { readTtl } from "../wire/ttl.ts";
import { TunnelHeaders } from "../wire/tunnel.ts";

/** What a rule can ask for. */
interface Seen {
  readonly family: 4 | 6;
  readonly protocol: number;
  readonly hasPorts: boolean;
  readonly source: Ip;
  readonly destination: Ip;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly sourceMac: number;
  readonly destinationMac: number;
  readonly tni: number;
  readonly tunnelId: number;
  readonly isSourceTranslated: boolean;
  readonly direction: Direction;
  /** Both ends, and those of the frame inside: what flows are known by. */
  readonly tuple: string;
  readonly answerTuple: string;
}

/** One change of a packet. */
type Edit =
  | { readonly kind: "pop" }
  | {
      readonly kind: "push";
      readonly encapsulation: "vxlan" | "nvgre";
      readonly id: number;
      readonly from: Ip;
      readonly to: Ip;
      readonly entropy: number;
      readonly sourceMac: Mac;
    }
  | { readonly kind: "source-mac" | "destination-mac"; readonly mac: Mac }
  | { readonly kind: "source" | "destination"; readonly ip: Ip }
  | { readonly kind: "source-port" | "destination-port"; readonly port: number }
  | { readonly kind: "ttl" }
  | { readonly kind: "dscp"; readonly dscp: number }
  | { readonly kind: "mss"; readonly delta: number }
  | { readonly kind: "tni"; readonly tni: number };

interface Step {
  readonly group: Group;
  readonly rule: Rule;
  readonly seen: Seen;
  readonly backEnd: BackEnd | undefined;
}

interface Flow {
  readonly layer: LayerState;
  readonly main: string;
  readonly answer: string;
  chain: Step[];
  readonly forward: readonly Edit[];
  readonly reverse: readonly Edit[];
  readonly isTurned: boolean;
  readonly isTcp: boolean;
  readonly ttlMs: number | undefined;
  readonly port: { readonly pool: NatPool; readonly port: number } | undefined;
  state: "opening" | "open" | "closing" | "time-wait";
  finished: Set<boolean>;
  lastUsedMs: number;
  version: number;
  isGone: boolean;
}

interface LayerState {
  readonly definition: LayerDefinition;
  groups: readonly Group[];
  readonly flows: Map<string, { readonly flow: Flow; readonly isMain: boolean }>;
}

/** What all fragments of a datagram get. */
interface Train {
  readonly edits: readonly Edit[];
  readonly buckets: readonly TokenBucket[];
  readonly mirrors: readonly string[];
  readonly isTurned: boolean;
  readonly untilMs: number;
}

export interface ReferenceSettings {
  readonly layers: readonly LayerDefinition[];
  readonly pools: readonly NatPool[];
  readonly mappings: readonly Mapping[];
  readonly providers: Readonly<Record<4 | 6, Ip>>;
  readonly providerMac: Mac;
  readonly nextHop: { readonly sourceMac: Mac; readonly destinationMac: Mac };
  readonly ttlMs: { readonly halfOpen: number; readonly timeWait: number; readonly other: number };
}

export interface ReferenceOutcome {
  readonly verdict: "pass" | "turned" | "drop" | "delayed";
  readonly untilMs: number;
  readonly isTurned: boolean;
  readonly mirrors: readonly string[];
}

const DROP: ReferenceOutcome = { verdict: "drop", untilMs: 0, isTurned: false, mirrors: [] };

/** Ends a walk. */
class Dropped extends Error {}

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

  process(direction: Direction, packet: Packet, nowMs: number): ReferenceOutcome {
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
          buckets: walk.buckets,
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
    for (const bucket of train.buckets) {
      const waitMs = bucket.admit(length, nowMs);
      if (waitMs < 0) {
        this.identification = before;
        return DROP;
      }
      delayMs = Math.max(delayMs, waitMs);
    }
    const verdict = delayMs > 0 ? "delayed" : train.isTurned ? "turned" : "pass";
    return {
      verdict,
      untilMs: delayMs > 0 ? nowMs + delayMs : 0,
      isTurned: train.isTurned,
      mirrors: train.mirrors,
    };
  }

  takeIdentification(): number {
    return this.identification++ & 0xffff;
  }

  returnIdentification(): void {
    this.identification--;
  }

  orderOf(direction: Direction): readonly LayerState[] {
    return direction === "out" ? this.layers : this.layers.toReversed();
  }

  get world(): ReferenceSettings {
    return this.settings;
  }

  bucketOf(layer: LayerState, rule: Rule): TokenBucket | undefined {
    if (rule.action.type !== "qos") return undefined;
    const name = `${layer.definition.name}|${rule.id}`;
    const bucket = this.buckets.get(name) ?? new TokenBucket(rule.action);
    bucket.limit = rule.action;
    this.buckets.set(name, bucket);
    return bucket;
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

function isIn(prefixes: readonly Prefix[] | undefined, ip: Ip): boolean {
  return prefixes?.some((prefix) => prefixContains(prefix, ip)) === true;
}

function holds(condition: Condition, seen: Seen): boolean {
  const { protocols, source, destination, sourceSets, destinationSets } = condition;
  if (protocols !== undefined && !protocols.includes(seen.protocol)) return false;
  const isSource =
    isIn(source, seen.source) || sourceSets?.some((set) => set.hasAddress(seen.source)) === true;
  if ((source !== undefined || sourceSets !== undefined) && !isSource) return false;
  const isDestination =
    isIn(destination, seen.destination) ||
    destinationSets?.some((set) => set.hasAddress(seen.destination)) === true;
  if ((destination !== undefined || destinationSets !== undefined) && !isDestination) return false;
  if (isIn(condition.destinationExcept, seen.destination)) return false;
  for (const [ranges, port] of [
    [condition.sourcePorts, seen.sourcePort],
    [condition.destinationPorts, seen.destinationPort],
  ] as const) {
    if (ranges === undefined) continue;
    if (!seen.hasPorts || !ranges.some(({ first, last }) => port >= first && port <= last)) return false;
  }
  if (condition.sourceMac !== undefined && condition.sourceMac !== seen.sourceMac) return false;
  if (condition.destinationMac !== undefined && condition.destinationMac !== seen.destinationMac)
    return false;
  if (condition.tni !== undefined && condition.tni !== seen.tni) return false;
  if (condition.tunnelId !== undefined && condition.tunnelId !== seen.tunnelId) return false;
  return condition.isSourceTranslated !== true || seen.isSourceTranslated;
}

/** A packet that is looked at and edited. */
class Subject {
  readonly packet: Packet;
  readonly headers: Headers = new Headers();
  direction: Direction;
  isSourceTranslated = false;
  /** False once the tunnel that it came in is off: one inside is payload. */
  seesTunnel: boolean;

  constructor(packet: Packet, direction: Direction) {
    this.packet = packet;
    this.direction = direction;
    this.headers.parse(packet);
    this.seesTunnel = true;
  }

  get tunnel(): TunnelHeaders {
    const tunnel = new TunnelHeaders();
    if (this.seesTunnel) tunnel.locate(this.packet.bytes, this.headers);
    return tunnel;
  }

  get key(): FlowKey {
    const key = new FlowKey();
    key.read(this.packet.bytes, this.headers, this.direction, this.tunnel, this.packet.tni);
    return key;
  }

  get isLaterFragment(): boolean {
    return this.headers.fragmentOffset !== 0 || this.frame.fragmentOffset !== 0;
  }

  /** What its fragments have in common; undefined for whole packets. */
  get trainName(): string | undefined {
    const { headers, frame } = this;
    if (!headers.isFragment && !frame.isFragment) return undefined;
    const names = [headers, frame].map((each) =>
      each.family === 0
        ? ""
        : [
            each.protocol,
            sourceIp(this.packet.bytes, each),
            destinationIp(this.packet.bytes, each),
            each.isFragment ? this.identificationOf(each) : "",
          ].join(),
    );
    return [this.direction, this.tunnel.kind, this.tunnel.id, ...names].join("|");
  }

  private identificationOf(headers: Headers): string {
    const at = headers.family === 4 ? headers.network + 4 : headers.fragmentHeader + 4;
    return [...this.packet.bytes.subarray(at, at + (headers.family === 4 ? 2 : 4))].join(".");
  }

  /** The frame in the tunnel, or the packet. */
  private get frame(): Headers {
    const { tunnel } = this;
    return tunnel.kind === undefined ? this.headers : tunnel.inner;
  }

  get tcpFlags(): number {
    const { frame } = this;
    return frame.protocol === 6 && frame.transport >= 0 ? readU8(this.packet.bytes, frame.transport + 13) : 0;
  }

  look(): Seen {
    const { bytes, tni } = this.packet;
    const { headers, direction, tunnel } = this;
    const own = endsOf(bytes, headers);
    const isTunnel = tunnel.kind !== undefined;
    const outside = isTunnel ? { ...own, hasPorts: false, from: 0, to: 0 } : own;
    const protocol = tunnel.kind === "vxlan" ? 252 : headers.protocol;
    const inside = isTunnel ? endsOf(bytes, tunnel.inner) : undefined;
    const text = (turned: boolean): string => {
      const way = turned === (direction === "out") ? "in" : "out";
      const inner = inside === undefined ? "" : `${tunnel.kind} ${tunnel.id} ${textOf(inside, turned)}`;
      return `${way} ${protocol} ${isTunnel} ${textOf(outside, turned)} ${inner}`;
    };
    return {
      family: headers.family === 6 ? 6 : 4,
      protocol,
      hasPorts: outside.hasPorts,
      source: own.source as Ip,
      destination: own.destination as Ip,
      sourcePort: outside.from,
      destinationPort: outside.to,
      sourceMac: readU48(bytes, headers.ethernet + 6),
      destinationMac: readU48(bytes, headers.ethernet),
      tni,
      tunnelId: isTunnel ? tunnel.id : -1,
      isSourceTranslated: this.isSourceTranslated,
      direction,
      tuple: text(false),
      answerTuple: text(true),
    };
  }

  apply(edit: Edit, engine: ReferenceEngine): void {
    const { packet, headers } = this;
    const { bytes } = packet;
    switch (edit.kind) {
      case "pop":
        this.pop();
        return;
      case "push":
        this.push(edit, engine);
        return;
      case "source-mac":
        writeU48(bytes, headers.ethernet + 6, edit.mac);
        return;
      case "destination-mac":
        writeU48(bytes, headers.ethernet, edit.mac);
        return;
      case "source":
      case "destination":
        this.writeAddress(edit.kind, edit.ip);
        return;
      case "source-port":
      case "destination-port":
        if (headers.transport < 0 || (headers.protocol !== 6 && headers.protocol !== 17)) return;
        this.inFull(() =>
          writeU16(bytes, headers.transport + (edit.kind === "source-port" ? 0 : 2), edit.port),
        );
        return;
      case "ttl":
        if (readTtl(bytes, headers) <= 1) throw new Dropped();
        this.inFull(() => {
          const at = headers.network + (headers.family === 4 ? 8 : 7);
          writeU8(bytes, at, readU8(bytes, at) - 1);
        });
        return;
      case "dscp":
        this.inFull(() => {
          const at = headers.network;
          if (headers.family === 4) writeU8(bytes, at + 1, (edit.dscp << 2) | (readU8(bytes, at + 1) & 3));
          else writeU16(bytes, at, (readU16(bytes, at) & 0xf03f) | (edit.dscp << 6));
        });
        return;
      case "mss":
        this.lowerMss(edit.delta);
        return;
      case "tni":
        packet.tni = edit.tni;
    }
  }

  private pop(): void {
    const { packet, headers } = this;
    const { kind } = this.tunnel;
    if (kind === undefined) throw new Dropped();
    if (kind === "vxlan") decapsulateVxlan(packet, headers);
    else decapsulateNvgre(packet, headers);
    headers.parse(packet);
    this.seesTunnel = false;
  }

  private push(edit: Extract<Edit, { kind: "push" }>, engine: ReferenceEngine): void {
    const { packet, headers } = this;
    const link = { sourceMac: edit.sourceMac, destinationMac: 0 as Mac };
    const ip = {
      source: edit.from,
      destination: edit.to,
      ttl: 128,
      identification: engine.takeIdentification(),
      isDontFragment: true,
    };
    if (edit.encapsulation === "vxlan")
      encapsulateVxlan(packet, { link, ip, sourcePort: entropyPort(edit.entropy), vni: edit.id });
    else encapsulateNvgre(packet, { link, ip, virtualSubnetId: edit.id, flowId: edit.entropy & 0xff });
    headers.parse(packet);
    this.seesTunnel = true;
  }

  private writeAddress(kind: "source" | "destination", ip: Ip): void {
    const { headers } = this;
    const { bytes } = this.packet;
    const at = headers.network + (headers.family === 4 ? 12 : 8);
    this.inFull(() => writeIp(bytes, at + (kind === "source" ? 0 : bitsOf(familyOf(ip)) / 8), ip));
    if (kind === "source") this.isSourceTranslated = true;
  }

  private lowerMss(delta: number): void {
    const { headers } = this;
    const { bytes } = this.packet;
    if (headers.protocol !== 6 || headers.transport < 0 || (readU8(bytes, headers.transport + 13) & 2) === 0)
      return;
    const at = findTcpOption(bytes, headers.transport, TcpOptionKind.mss);
    if (at < 0) return;
    const mss = readU16(bytes, at + 2) - delta;
    if (mss > 0) this.inFull(() => writeU16(bytes, at + 2, mss));
  }

  /** Changes bytes, then computes all checksums anew; a UDP checksum that nobody computed stays 0. */
  private inFull(change: () => void): void {
    const { headers } = this;
    const { bytes } = this.packet;
    const udp = headers.protocol === 17 && headers.transport >= 0 ? headers.transport + 6 : -1;
    const isNone = udp >= 0 && readU16(bytes, udp) === 0;
    // A fragment's checksum covers bytes that are elsewhere: it follows the change alone.
    if (headers.isFragment && headers.transport >= 0) {
      this.changeFragment(change, isNone ? -1 : udp);
      return;
    }
    change();
    fillChecksums(bytes, headers);
    if (isNone) writeU16(bytes, udp, 0);
  }

  private changeFragment(change: () => void, udp: number): void {
    const { headers } = this;
    const { bytes } = this.packet;
    const covered = (): number[] => {
      const from = headers.network + (headers.family === 4 ? 12 : 8);
      const length = headers.family === 4 ? 8 : 32;
      const words = Array.from({ length: length / 2 }, (_, i) => readU16(bytes, from + i * 2));
      return [...words, readU16(bytes, headers.transport), readU16(bytes, headers.transport + 2)];
    };
    const before = covered();
    change();
    const after = covered();
    if (udp >= 0) {
      let checksum = readU16(bytes, udp);
      for (const [i, word] of before.entries()) checksum = updateChecksum(checksum, word, after[i]!);
      writeU16(bytes, udp, checksum === 0 ? 0xffff : checksum);
    }
    fillChecksums(bytes, headers);
  }
}

interface Ends {
  readonly name: string;
  readonly source: Ip | string;
  readonly destination: Ip | string;
  readonly hasPorts: boolean;
  readonly from: number;
  readonly to: number;
}

function endsOf(bytes: Uint8Array, headers: Headers): Ends {
  if (headers.family === 0)
    return {
      name: `ethertype ${headers.etherType}`,
      source: "",
      destination: "",
      hasPorts: false,
      from: 0,
      to: 0,
    };
  const { protocol, transport } = headers;
  const hasPorts = transport >= 0 && (protocol === 6 || protocol === 17);
  const isEcho =
    transport >= 0 &&
    (protocol === 1 || protocol === 58) &&
    [0, 8, 128, 129].includes(readU8(bytes, transport));
  const identifier = isEcho ? readU16(bytes, transport + 4) : 0;
  return {
    name: `${headers.family} ${protocol}`,
    source: sourceIp(bytes, headers),
    destination: destinationIp(bytes, headers),
    hasPorts,
    from: hasPorts ? readU16(bytes, transport) : identifier,
    to: hasPorts ? readU16(bytes, transport + 2) : identifier,
  };
}

function textOf(ends: Ends, turned: boolean): string {
  const from = `${ends.source}#${ends.from}`;
  const to = `${ends.destination}#${ends.to}`;
  return `${ends.name} ${ends.hasPorts} ${turned ? to : from} > ${turned ? from : to}`;
}

function writeIp(bytes: Uint8Array, at: number, ip: Ip): void {
  if (typeof ip === "number") writeU32(bytes, at, ip);
  else writeU128(bytes, at, ip);
}

/** A packet's way through the layers. */
class ReferenceWalk {
  readonly edits: Edit[] = [];
  readonly buckets: TokenBucket[] = [];
  private readonly mirrors: string[] = [];
  private readonly engine: ReferenceEngine;
  private readonly subject: Subject;
  private readonly nowMs: number;
  private readonly arrivedBytes: number;
  private readonly tcpFlags: number;
  private readonly quoted: QuotedTwin | undefined;
  private delayMs = 0;
  private isTurned = false;
  private hasPushed = false;
  private readonly arrivedInTunnel: boolean;

  constructor(engine: ReferenceEngine, subject: Subject, nowMs: number) {
    this.engine = engine;
    this.subject = subject;
    this.nowMs = nowMs;
    this.arrivedBytes = subject.packet.length;
    this.tcpFlags = subject.tcpFlags;
    this.arrivedInTunnel = subject.tunnel.kind !== undefined;
    this.quoted = QuotedTwin.of(subject);
  }

  outcome(): ReferenceOutcome {
    const { isTurned, mirrors, delayMs } = this;
    const verdict = delayMs > 0 ? "delayed" : isTurned ? "turned" : "pass";
    return { verdict, untilMs: delayMs > 0 ? this.nowMs + delayMs : 0, isTurned, mirrors };
  }

  run(): void {
    const { subject } = this;
    let order = this.engine.orderOf(subject.direction);
    for (let index = 0; index < order.length; index++) {
      const layer = order[index]!;
      const before = subject.direction;
      this.walkLayer(layer);
      if (subject.headers.family === 0) return;
      if (subject.direction === before) continue;
      order = this.engine.orderOf(subject.direction);
      index = order.indexOf(layer);
    }
  }

  private edit(edit: Edit): void {
    const { subject, engine } = this;
    subject.apply(edit, engine);
    if (edit.kind === "pop" && this.hasPushed) {
      // What was put on is gone, and what was done to it.
      engine.returnIdentification();
      this.hasPushed = false;
      if (!this.edits.some(({ kind }) => kind === "pop")) subject.seesTunnel = this.arrivedInTunnel;
      this.edits.splice(this.edits.findIndex(({ kind }) => kind === "push"));
      return;
    }
    if (edit.kind === "push") this.hasPushed = true;
    this.edits.push(edit);
  }

  private turn(): void {
    if (this.isTurned) return;
    this.isTurned = true;
    this.subject.direction = this.subject.direction === "out" ? "in" : "out";
  }

  private walkLayer(layer: LayerState): void {
    const { engine, subject, nowMs } = this;
    if (layer.definition.clearsTni === true) this.edit({ kind: "tni", tni: 0 });
    if (this.quoted?.follow(engine, layer, nowMs, () => this.turn()) === true) return;
    const found = engine.findFlow(layer, subject.look().tuple, nowMs);
    if (found !== undefined) {
      const { flow, isMain } = found;
      const isFirstSyn = (this.tcpFlags & 0x12) === 0x02;
      const isRepetition = isMain && flow.state === "opening";
      if ((isFirstSyn && !isRepetition) || !engine.isUnchanged(flow)) engine.remove(flow);
      else {
        this.followFlow(flow, isMain);
        return;
      }
    }
    this.walkGroups(layer);
  }

  private followFlow(flow: Flow, isMain: boolean): void {
    flow.lastUsedMs = this.nowMs;
    if (!isMain && flow.state === "opening") flow.state = "open";
    const ends = this.tcpFlags & 0x05;
    if (ends !== 0 && flow.state !== "time-wait") {
      flow.finished.add(isMain);
      flow.state = (ends & 0x04) !== 0 || flow.finished.size === 2 ? "time-wait" : "closing";
    }
    const edits = isMain ? flow.forward : flow.reverse;
    if (this.hasPushed && edits.some(({ kind }) => kind === "push")) throw new Dropped();
    for (const edit of edits) this.edit(edit);
    if (flow.isTurned) this.turn();
    if (isMain) for (const { rule } of flow.chain) this.takeEffect(flow.layer, rule);
  }

  private walkGroups(layer: LayerState): void {
    const { engine, subject, nowMs } = this;
    const arrived = subject.look();
    const chain: Step[] = [];
    const edits: Edit[] = [];
    let match = engine.findRule(layer, arrived);
    if (match === undefined && !layer.definition.isDefaultAllow) throw new Dropped();
    while (match !== undefined) {
      const { group, rule } = match;
      const seen = { ...subject.look(), isSourceTranslated: false };
      const made = this.evaluate(rule, seen);
      chain.push({ group, rule, seen, backEnd: made.backEnd });
      for (const edit of made.forward) this.edit(edit);
      edits.push(...made.forward);
      const turns = layer.definition.isHairpin === true && rule.skipsHairpin !== true;
      if (turns) this.turn();
      const keeps = rule.isStateful && layer.definition.isStateful;
      if (keeps) {
        engine.addFlow({
          layer,
          main: arrived.tuple,
          answer: subject.look().answerTuple,
          chain,
          forward: edits,
          reverse: made.reverse,
          isTurned: turns,
          isTcp: arrived.protocol === 6,
          ttlMs: rule.flowTtlMs,
          port: made.port,
          state: "opening",
          finished: new Set(),
          lastUsedMs: nowMs,
          version: 0,
          isGone: false,
        });
      }
      this.takeEffect(layer, rule);
      if (rule.isTerminating || keeps) return;
      match = engine.findRule(layer, subject.look(), group);
    }
  }

  private takeEffect(layer: LayerState, rule: Rule): void {
    if (rule.mirrorTo !== undefined) this.mirrors.push(rule.mirrorTo);
    const bucket = this.engine.bucketOf(layer, rule);
    if (bucket === undefined) return;
    this.buckets.push(bucket);
    const waitMs = bucket.admit(this.arrivedBytes, this.nowMs);
    if (waitMs < 0) throw new Dropped();
    this.delayMs = Math.max(this.delayMs, waitMs);
  }

  private evaluate(rule: Rule, seen: Seen): Evaluated {
    const forward: Edit[] = [];
    const reverse: Edit[] = [];
    const extra: { backEnd?: BackEnd; port?: { pool: NatPool; port: number } } = {};
    this.act(rule, seen, forward, reverse, extra);
    if (rule.mssDelta !== undefined) {
      // Before outer headers: it is about the frame inside.
      const at = forward.findIndex(({ kind }) => kind === "push");
      forward.splice(at < 0 ? forward.length : at, 0, { kind: "mss", delta: rule.mssDelta });
    }
    if (rule.reverseMssDelta !== undefined) reverse.push({ kind: "mss", delta: rule.reverseMssDelta });
    return { forward, reverse, backEnd: extra.backEnd, port: extra.port };
  }

  private act(
    rule: Rule,
    seen: Seen,
    forward: Edit[],
    reverse: Edit[],
    extra: { backEnd?: BackEnd; port?: { pool: NatPool; port: number } },
  ): void {
    const { action } = rule;
    const { engine } = this;
    const undoSource = (): void => {
      reverse.push({ kind: "destination", ip: seen.source });
      if (seen.hasPorts) reverse.push({ kind: "destination-port", port: seen.sourcePort });
    };
    const undoDestination = (): void => {
      reverse.push({ kind: "source", ip: seen.destination });
      if (seen.hasPorts) reverse.push({ kind: "source-port", port: seen.destinationPort });
    };
    const port = (kind: "source-port" | "destination-port", value: number | undefined): void => {
      if (value !== undefined && seen.hasPorts) forward.push({ kind, port: value });
    };
    switch (action.type) {
      case "allow":
      case "qos":
        return;
      case "block":
        throw new Dropped();
      case "nat":
        forward.push({ kind: action.side, ip: action.ip });
        port(action.side === "source" ? "source-port" : "destination-port", action.port);
        if (action.side === "source") undoSource();
        else undoDestination();
        return;
      case "redirect":
        forward.push({ kind: "destination", ip: action.ip });
        port("destination-port", action.port);
        if (action.mac !== undefined) forward.push({ kind: "destination-mac", mac: action.mac });
        undoDestination();
        return;
      case "dynnat": {
        const pool = engine.world.pools.find(({ name }) => name === action.pool);
        if (pool === undefined || !seen.hasPorts) throw new Dropped();
        let free = pool.allocate();
        if (free === undefined) {
          engine.removeExpired(this.nowMs);
          free = pool.allocate();
        }
        if (free === undefined) throw new Dropped();
        forward.push({ kind: "source", ip: pool.ip }, { kind: "source-port", port: free });
        undoSource();
        reverse.push({ kind: "destination-mac", mac: seen.sourceMac as Mac });
        extra.port = { pool, port: free };
        return;
      }
      case "lbnat": {
        const backEnd = chooseBackEnd(action, this.subject.key)!;
        extra.backEnd = backEnd;
        if (backEnd.mac !== undefined) forward.push({ kind: "destination-mac", mac: backEnd.mac });
        if (action.rewrites === "mac") return;
        forward.push({ kind: "destination", ip: backEnd.ip });
        port("destination-port", backEnd.port);
        undoDestination();
        return;
      }
      case "transpose":
        if (action.decrementTtl === true) forward.push({ kind: "ttl" });
        if (action.sourceMac !== undefined) forward.push({ kind: "source-mac", mac: action.sourceMac });
        if (action.destinationMac !== undefined)
          forward.push({ kind: "destination-mac", mac: action.destinationMac });
        if (action.dscp !== undefined) forward.push({ kind: "dscp", dscp: action.dscp });
        if (action.tni !== undefined) forward.push({ kind: "tni", tni: action.tni });
        if (action.source !== undefined) {
          forward.push({ kind: "source", ip: action.source });
          reverse.push({ kind: "destination", ip: seen.source });
        }
        if (action.destination !== undefined) {
          forward.push({ kind: "destination", ip: action.destination });
          reverse.push({ kind: "source", ip: seen.destination });
        }
        return;
      case "mark":
        forward.push({ kind: "dscp", dscp: action.dscp });
        return;
      case "decap": {
        const { tunnel } = this.subject;
        if (tunnel.kind === undefined) throw new Dropped();
        forward.push({ kind: "pop" });
        if (action.pushesTni === true) forward.push({ kind: "tni", tni: tunnel.id });
        return;
      }
      case "routeencap": {
        const hash = this.hash();
        const chosen =
          action.destinations[action.destinations.length === 1 ? 0 : hash % action.destinations.length]!;
        this.encapsulate(action, action.tni, chosen.providerAddress, chosen.innerMac, forward);
        return;
      }
      case "mapencap": {
        const mapping = engine.world.mappings.find(
          ({ customerAddress }) => customerAddress === seen.destination,
        );
        if (mapping === undefined) throw new Dropped();
        const inner = action.rewritesMac === true ? mapping.mac : undefined;
        this.encapsulate(action, mapping.tni ?? action.tni, mapping.providerAddress, inner, forward);
        return;
      }
      case "paroute":
        forward.push({ kind: "source-mac", mac: engine.world.nextHop.sourceMac });
        forward.push({ kind: "destination-mac", mac: engine.world.nextHop.destinationMac });
    }
  }

  private hash(): number {
    const { key } = this.subject;
    return hashWords(key.words, 0, key.tupleLength);
  }

  private encapsulate(
    action: { readonly encapsulation: "vxlan" | "nvgre"; readonly decrementTtl?: boolean },
    id: number,
    to: Ip,
    innerMac: Mac | undefined,
    forward: Edit[],
  ): void {
    if (this.hasPushed) throw new Dropped();
    const { providers, providerMac } = this.engine.world;
    if (action.decrementTtl === true) forward.push({ kind: "ttl" });
    if (innerMac !== undefined) forward.push({ kind: "destination-mac", mac: innerMac });
    forward.push({
      kind: "push",
      encapsulation: action.encapsulation,
      id,
      from: providers[familyOf(to)],
      to,
      entropy: this.hash(),
      sourceMac: providerMac,
    });
  }
}

interface Evaluated {
  readonly forward: readonly Edit[];
  readonly reverse: readonly Edit[];
  readonly backEnd: BackEnd | undefined;
  readonly port: { readonly pool: NatPool; readonly port: number } | undefined;
}

/** What an error quotes, as the ends of a packet that would be the answer to it. */
class QuotedTwin {
  private readonly subject: Subject;
  private readonly headers: Headers;
  private ends: Ends;

  private constructor(subject: Subject, headers: Headers) {
    this.subject = subject;
    this.headers = headers;
    const { source, destination, from, to, ...rest } = endsOf(subject.packet.bytes, headers);
    this.ends = { ...rest, source: destination, destination: source, from: to, to: from };
  }

  static of(subject: Subject): QuotedTwin | undefined {
    const { headers } = subject;
    const { bytes } = subject.packet;
    if (headers.transport < 0 || headers.isFragment) return undefined;
    const type = readU8(bytes, headers.transport);
    const isError =
      headers.protocol === 1 ? [3, 5, 11, 12].includes(type) : headers.protocol === 58 && type < 128;
    const quoted = new Headers();
    if (!isError || quoted.parseEmbedded(bytes, headers.payload, headers.end) !== undefined) return undefined;
    return quoted.family === headers.family && quoted.transport >= 0
      ? new QuotedTwin(subject, quoted)
      : undefined;
  }

  follow(engine: ReferenceEngine, layer: LayerState, nowMs: number, turn: () => void): boolean {
    const tuple = `${this.subject.direction} ${this.headers.protocol} false ${textOf(this.ends, false)} `;
    const found = engine.findFlow(layer, tuple, nowMs);
    if (found === undefined || !engine.isUnchanged(found.flow)) return false;
    const edits = found.isMain ? found.flow.forward : found.flow.reverse;
    if (edits.some(({ kind }) => kind === "pop" || kind === "push")) return false;
    for (const edit of edits) this.translate(edit, engine);
    if (found.flow.isTurned) turn();
    return true;
  }

  private translate(edit: Edit, engine: ReferenceEngine): void {
    const { subject, headers } = this;
    const { bytes } = subject.packet;
    const addresses = headers.network + (headers.family === 4 ? 12 : 8);
    const addressBytes = headers.family === 4 ? 4 : 16;
    switch (edit.kind) {
      case "source":
        if (sourceIp(bytes, subject.headers) === this.ends.source) subject.apply(edit, engine);
        this.ends = { ...this.ends, source: edit.ip };
        this.rewrite(addresses + addressBytes, addressBytes, () =>
          writeIp(bytes, addresses + addressBytes, edit.ip),
        );
        return;
      case "destination":
        if (destinationIp(bytes, subject.headers) === this.ends.destination) subject.apply(edit, engine);
        this.ends = { ...this.ends, destination: edit.ip };
        this.rewrite(addresses, addressBytes, () => writeIp(bytes, addresses, edit.ip));
        return;
      case "source-port":
        if (!this.ends.hasPorts) return;
        this.ends = { ...this.ends, from: edit.port };
        this.rewrite(headers.transport + 2, 2, () => writeU16(bytes, headers.transport + 2, edit.port));
        return;
      case "destination-port":
        if (!this.ends.hasPorts) return;
        this.ends = { ...this.ends, to: edit.port };
        this.rewrite(headers.transport, 2, () => writeU16(bytes, headers.transport, edit.port));
        return;
      case "source-mac":
      case "destination-mac":
      case "ttl":
        subject.apply(edit, engine);
        return;
      case "dscp":
      case "mss":
      case "tni":
      case "pop":
      case "push":
    }
  }

  /** Changes `length` bytes of the quoted packet; its own checksums follow word by word, the error's is computed anew. */
  private rewrite(at: number, length: number, change: () => void): void {
    const { subject, headers } = this;
    const { bytes } = subject.packet;
    const before = Array.from({ length: length / 2 }, (_, i) => readU16(bytes, at + i * 2));
    change();
    const offset =
      headers.protocol === 6 ? 16 : headers.protocol === 17 ? 6 : headers.protocol === 58 ? 2 : -1;
    const field = headers.transport + offset;
    const isNone = headers.protocol === 17 && readU16(bytes, field) === 0;
    if (offset >= 0 && field + 2 <= headers.end && !isNone) {
      let checksum = readU16(bytes, field);
      for (const [i, word] of before.entries())
        checksum = updateChecksum(checksum, word, readU16(bytes, at + i * 2));
      writeU16(bytes, field, headers.protocol === 17 && checksum === 0 ? 0xffff : checksum);
    }
    if (headers.family === 4) {
      writeU16(bytes, headers.network + 10, 0);
      const end = headers.network + (readU8(bytes, headers.network) & 0x0f) * 4;
      writeU16(bytes, headers.network + 10, checksumOf(bytes, headers.network, end));
    }
    fillChecksums(bytes, subject.headers);
  }
}
