/** A packet's way through the naive twin of the match-action engine: one layer, one rule, one edit after the other. */
import { readU16, readU8, writeU16 } from "#core/base/bytes.ts";
import { type Ip, familyOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { chooseBackEnd } from "#dataplane/vfp/actions/back-end.ts";
import { hashWords } from "#dataplane/vfp/flows/flow-table.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { NatPool } from "#dataplane/vfp/actions/nat-pool.ts";
import type { LbnatBackEnd, Rule, VfpDirection, LayerDefinition } from "#dataplane/vfp/rule.ts";
import type { Charge } from "#dataplane/vfp/token-bucket.ts";
import { checksumOf, updateChecksum } from "#core/wire/checksum.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { fillChecksums } from "#core/wire/transport-checksum.ts";
import {
  Dropped,
  type Edit,
  type Identifications,
  type Ends,
  type Seen,
  type Subject,
  endsOf,
  textOf,
  writeIp,
} from "./reference-packet.ts";
import type { Mapping } from "#dataplane/vfp/actions/encapsulation.ts";

export interface Step {
  readonly group: Group;
  readonly rule: Rule;
  readonly seen: Seen;
  readonly backEnd: LbnatBackEnd | undefined;
}

export interface Flow {
  readonly layer: LayerState;
  readonly main: string;
  readonly answer: string;
  chain: Step[];
  readonly forward: readonly Edit[];
  readonly reverse: readonly Edit[];
  readonly isHairpin: boolean;
  readonly isTcp: boolean;
  readonly ttlMs: number | undefined;
  readonly port: { readonly pool: NatPool; readonly port: number } | undefined;
  state: "opening" | "open" | "closing" | "time-wait";
  finished: Set<boolean>;
  lastUsedMs: number;
  version: number;
  isGone: boolean;
}

export interface LayerState {
  readonly definition: LayerDefinition;
  groups: readonly Group[];
  readonly flows: Map<string, { readonly flow: Flow; readonly isMain: boolean }>;
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
  readonly verdict: "pass" | "hairpin" | "drop" | "delayed";
  readonly untilMs: number;
  readonly isHairpin: boolean;
  readonly mirrors: readonly string[];
}

/** The engine as a packet meets it on its way. */
export interface WalkedEngine extends Identifications {
  readonly world: ReferenceSettings;
  orderOf(direction: VfpDirection): readonly LayerState[];
  chargeOf(layer: LayerState, match: { group: Group; rule: Rule }): Charge | undefined;
  findRule(layer: LayerState, seen: Seen, after?: Group): { group: Group; rule: Rule } | undefined;
  findFlow(layer: LayerState, tuple: string, nowMs: number): { flow: Flow; isMain: boolean } | undefined;
  isUnchanged(flow: Flow): boolean;
  addFlow(flow: Flow): void;
  remove(flow: Flow): void;
  removeExpired(nowMs: number): void;
  returnIdentification(): void;
}

/** A packet's way through the layers. */
export class ReferenceWalk {
  readonly edits: Edit[] = [];
  readonly charges: Charge[] = [];
  private readonly mirrors: string[] = [];
  private readonly engine: WalkedEngine;
  private readonly subject: Subject;
  private readonly nowMs: number;
  private readonly arrivedBytes: number;
  private readonly tcpFlags: number;
  /** Behind outer headers of its own the packet quotes nothing. */
  private quoted: QuotedTwin | undefined;
  private delayMs = 0;
  private isHairpin = false;
  private hasPushed = false;
  private readonly arrivedInTunnel: boolean;
  /** The virtual subnet of the tunnel that came off last. */
  private poppedTni: number | undefined;

  constructor(engine: WalkedEngine, subject: Subject, nowMs: number) {
    this.engine = engine;
    this.subject = subject;
    this.nowMs = nowMs;
    this.arrivedBytes = subject.packet.length;
    this.tcpFlags = subject.tcpFlags;
    this.arrivedInTunnel = subject.tunnel.kind !== undefined;
    this.quoted = QuotedTwin.of(subject);
  }

  outcome(): ReferenceOutcome {
    const { isHairpin, mirrors, delayMs } = this;
    const verdict = delayMs > 0 ? "delayed" : isHairpin ? "hairpin" : "pass";
    return { verdict, untilMs: delayMs > 0 ? this.nowMs + delayMs : 0, isHairpin, mirrors };
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
    if (edit.kind === "pop") this.poppedTni = subject.tunnel.id;
    subject.apply(edit, engine);
    if (edit.kind === "pop" && this.hasPushed) {
      // What was put on is gone, and what was done to it.
      engine.returnIdentification();
      this.hasPushed = false;
      if (!this.edits.some(({ kind }) => kind === "pop")) subject.seesTunnel = this.arrivedInTunnel;
      this.edits.splice(this.edits.findIndex(({ kind }) => kind === "push"));
      return;
    }
    if (edit.kind === "push") {
      this.hasPushed = true;
      this.quoted = undefined;
    }
    this.edits.push(edit);
  }

  private turn(): void {
    if (this.isHairpin) return;
    this.isHairpin = true;
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
    if (flow.isHairpin) this.turn();
    if (isMain) for (const step of flow.chain) this.takeEffect(flow.layer, step);
  }

  private walkGroups(layer: LayerState): void {
    const { engine, subject, nowMs } = this;
    const arrived = subject.look();
    const chain: Step[] = [];
    const edits: Edit[] = [];
    let isHairpin = false;
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
      isHairpin ||= turns;
      const keeps = rule.isStateful && layer.definition.isStateful;
      if (keeps) {
        engine.addFlow({
          layer,
          main: arrived.tuple,
          answer: subject.look().answerTuple,
          chain,
          forward: edits,
          reverse: made.reverse,
          isHairpin,
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
      this.takeEffect(layer, match);
      if (rule.isTerminating || keeps) return;
      match = engine.findRule(layer, subject.look(), group);
    }
  }

  private takeEffect(layer: LayerState, match: { group: Group; rule: Rule }): void {
    const { rule } = match;
    if (rule.mirrorTo !== undefined) this.mirrors.push(rule.mirrorTo);
    const charge = this.engine.chargeOf(layer, match);
    if (charge === undefined) return;
    this.charges.push(charge);
    const waitMs = charge.bucket.admit(charge.limit, this.arrivedBytes, this.nowMs);
    if (waitMs < 0) throw new Dropped();
    this.delayMs = Math.max(this.delayMs, waitMs);
  }

  private evaluate(rule: Rule, seen: Seen): Evaluated {
    const forward: Edit[] = [];
    const reverse: Edit[] = [];
    const extra: { backEnd?: LbnatBackEnd; port?: { pool: NatPool; port: number } } = {};
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
    extra: { backEnd?: LbnatBackEnd; port?: { pool: NatPool; port: number } },
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
        if (this.poppedTni !== undefined) reverse.push({ kind: "tni", tni: this.poppedTni });
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
  readonly backEnd: LbnatBackEnd | undefined;
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

  follow(engine: WalkedEngine, layer: LayerState, nowMs: number, turn: () => void): boolean {
    const tuple = `${this.subject.direction} ${this.headers.protocol} false ${textOf(this.ends, false)} `;
    const found = engine.findFlow(layer, tuple, nowMs);
    if (found === undefined || !engine.isUnchanged(found.flow)) return false;
    const edits = found.isMain ? found.flow.forward : found.flow.reverse;
    if (edits.some(({ kind }) => kind === "pop" || kind === "push")) return false;
    for (const edit of edits) this.translate(edit, engine);
    if (found.flow.isHairpin) turn();
    return true;
  }

  private translate(edit: Edit, engine: WalkedEngine): void {
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
      case "tni":
        subject.apply(edit, engine);
        return;
      case "dscp":
      case "mss":
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
