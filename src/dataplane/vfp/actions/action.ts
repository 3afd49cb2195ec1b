/** Actions of rules: what they work on, what the port lends to them, what they change in one packet and undo in the answer. */
import { defined } from "#core/base/assert.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import { type Ip, type IpFamily, familyOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { destinationIp, sourceIp, type Headers } from "#core/wire/headers.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import { chooseBackEnd, type LbnatAction } from "./back-end.ts";
import type { Action, LbnatBackEnd, EncapDestination } from "../rule.ts";
import { NOTHING, Transposition } from "./transposition.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import { Encapsulation, type MappingSpace, type OuterHeadersTable } from "./encapsulation.ts";
import type { FlowKey } from "../flow-key.ts";
import type { NatPool } from "./nat-pool.ts";
import type { NextHopResolver, NextHopWaiter } from "./next-hop.ts";
import { hashWords } from "../flows/flow-table.ts";

/** The packet an action works on. */
export interface ActionSubject {
  bytes: Uint8Array;
  readonly headers: Headers;
  readonly key: FlowKey;
  /** The tunnel that the packet comes in or was put in. */
  readonly tunnel: TunnelHeaders;
  /** What the port has done to the packet so far. */
  readonly total: Transposition;
  /** The virtual subnet that the packet came out of on this port; 0 without. */
  poppedTni: number;
}

/** What the port lends to actions. */
export interface ActionContext {
  getNatPool(name: string): NatPool | undefined;
  getSpace(name: string): MappingSpace | undefined;
  /** The port's own provider address of a family: the source of what it encapsulates. */
  providerAddress(family: IpFamily): Ip | undefined;
  /** The outer source MAC until a next hop is known. */
  readonly providerMac: Mac;
  /** What flows share of the headers that they get. */
  readonly outerHeaders: OuterHeadersTable;
  /** The UDP destination port of VXLAN. */
  readonly vxlanPort: number;
  /** Frees ports of idle flows; true when it found any. */
  sweepIdleFlows(): boolean;
  readonly nextHopResolver: NextHopResolver | undefined;
  readonly nextHopWaiter: NextHopWaiter;
}

export interface ActionPass {
  readonly kind: "pass";
  readonly forward: Transposition;
  readonly reverse: Transposition;
  readonly nat?: { readonly pool: NatPool; readonly port: number };
  /** Where an lbnat rule sends the flow. */
  readonly backEnd?: LbnatBackEnd;
  /** True when the result may change although no rule does: a next hop. */
  readonly ages?: boolean;
}

export type ActionResult =
  | ActionPass
  | { readonly kind: "drop"; readonly code: KnowledgeCode }
  | { readonly kind: "pending" };

function originalSource(subject: ActionSubject): Transposition {
  const reverse = new Transposition();
  reverse.setDestinationIp(sourceIp(subject.bytes, subject.headers));
  if (subject.key.hasPorts) reverse.destinationPort = readU16(subject.bytes, subject.headers.transport);
  return reverse;
}

function originalDestination(subject: ActionSubject): Transposition {
  const reverse = new Transposition();
  reverse.setSourceIp(destinationIp(subject.bytes, subject.headers));
  if (subject.key.hasPorts) reverse.sourcePort = readU16(subject.bytes, subject.headers.transport + 2);
  return reverse;
}

function evaluateNat(action: Extract<Action, { type: "nat" }>, subject: ActionSubject): ActionResult {
  const forward = new Transposition();
  const port = subject.key.hasPorts ? (action.port ?? -1) : -1;
  if (action.side === "source") {
    forward.setSourceIp(action.ip);
    forward.sourcePort = port;
    return { kind: "pass", forward, reverse: originalSource(subject) };
  }
  forward.setDestinationIp(action.ip);
  forward.destinationPort = port;
  return { kind: "pass", forward, reverse: originalDestination(subject) };
}

function evaluateRedirect(
  action: Extract<Action, { type: "redirect" }>,
  subject: ActionSubject,
): ActionResult {
  const forward = new Transposition().setDestinationIp(action.ip);
  if (subject.key.hasPorts) forward.destinationPort = action.port ?? -1;
  forward.destinationMac = action.mac;
  return { kind: "pass", forward, reverse: originalDestination(subject) };
}

function evaluateDynnat(poolName: string, subject: ActionSubject, context: ActionContext): ActionResult {
  const pool = context.getNatPool(poolName);
  if (pool === undefined || !subject.key.hasPorts) return { kind: "drop", code: "nat-port-pool-exhausted" };
  const asked = pool.choosesInTurn
    ? {
        by: sourceIp(subject.bytes, subject.headers),
        ip: destinationIp(subject.bytes, subject.headers),
        port: readU16(subject.bytes, subject.headers.transport + 2),
      }
    : undefined;
  let port = pool.allocate(asked);
  if (port === undefined && context.sweepIdleFlows()) port = pool.allocate(asked);
  if (port === undefined) return { kind: "drop", code: "nat-port-pool-exhausted" };
  const forward = new Transposition().setSourceIp(pool.ip);
  forward.sourcePort = port;
  const reverse = originalSource(subject);
  // Inferred: the answer is steered to the port by its binding and carries the host's MAC; the flow knows whose
  // packet it was (dataplane.md §2.4 B-6 row 6 shows only that the pod's MAC stands there).
  reverse.destinationMac = readU48(subject.bytes, subject.headers.ethernet + 6) as Mac;
  // Inferred: and whose virtual subnet, where several hold the address (dataplane.md §2.3 O-5 shows one network).
  if (subject.poppedTni > 0) reverse.tni = subject.poppedTni;
  return { kind: "pass", forward, reverse, nat: { pool, port } };
}

/** MAC fix-up only towards back ends of this switch; the answer keeps its MACs (dataplane.md §2.13, §2.15). */
function evaluateLbnat(action: LbnatAction, subject: ActionSubject): ActionResult {
  const backEnd = defined(
    chooseBackEnd(action, subject.key),
    "a group takes no lbnat rule without back ends",
  );
  const forward = new Transposition();
  forward.destinationMac = backEnd.mac;
  if (action.rewrites === "mac") return { kind: "pass", forward, reverse: NOTHING, backEnd };
  forward.setDestinationIp(backEnd.ip);
  if (subject.key.hasPorts) forward.destinationPort = backEnd.port;
  return { kind: "pass", forward, reverse: originalDestination(subject), backEnd };
}

/** The answer gets its addresses back; what else was rewritten is not undone. */
function evaluateTranspose(
  action: Extract<Action, { type: "transpose" }>,
  subject: ActionSubject,
): ActionResult {
  const forward = new Transposition();
  const reverse = new Transposition();
  forward.sourceMac = action.sourceMac;
  forward.destinationMac = action.destinationMac;
  if (action.source !== undefined) {
    forward.setSourceIp(action.source);
    reverse.setDestinationIp(sourceIp(subject.bytes, subject.headers));
  }
  if (action.destination !== undefined) {
    forward.setDestinationIp(action.destination);
    reverse.setSourceIp(destinationIp(subject.bytes, subject.headers));
  }
  forward.dscp = action.dscp ?? -1;
  forward.tni = action.tni ?? -1;
  if (action.decrementTtl === true) {
    if (readTtl(subject.bytes, subject.headers) <= 1) return { kind: "drop", code: "ttl-expired" };
    forward.ttlDecrements = 1;
  }
  return { kind: "pass", forward, reverse };
}

function evaluateParoute(subject: ActionSubject, context: ActionContext): ActionResult {
  const destination: Ip = destinationIp(subject.bytes, subject.headers);
  const hop = context.nextHopResolver?.resolve(destination, context.nextHopWaiter) ?? "unreachable";
  if (hop === "pending") return { kind: "pending" };
  if (hop === "unreachable") return { kind: "drop", code: "next-hop-unresolved" };
  const forward = new Transposition();
  forward.sourceMac = hop.sourceMac;
  forward.destinationMac = hop.destinationMac;
  return { kind: "pass", forward, reverse: NOTHING, ages: true };
}

function evaluateMark(dscp: number): ActionResult {
  const forward = new Transposition();
  forward.dscp = dscp;
  return { kind: "pass", forward, reverse: NOTHING };
}

const ALLOWED: ActionPass = Object.freeze({ kind: "pass", forward: NOTHING, reverse: NOTHING });

/** Says what `action` does to `subject`; changes nothing but the NAT pool it takes a port from. */
export function evaluateAction(action: Action, subject: ActionSubject, context: ActionContext): ActionResult {
  switch (action.type) {
    case "allow":
    case "qos":
      return ALLOWED;
    case "block":
      return { kind: "drop", code: action.code };
    case "nat":
      return evaluateNat(action, subject);
    case "redirect":
      return evaluateRedirect(action, subject);
    case "dynnat":
      return evaluateDynnat(action.pool, subject, context);
    case "lbnat":
      return evaluateLbnat(action, subject);
    case "transpose":
      return evaluateTranspose(action, subject);
    case "mark":
      return evaluateMark(action.dscp);
    case "routeencap":
      return evaluateRouteencap(action, subject, context);
    case "mapencap":
      return evaluateMapencap(action, subject, context);
    case "decap":
      return evaluateDecap(action, subject);
    case "paroute":
      return evaluateParoute(subject, context);
  }
}

/** True when both actions do the same, whatever rule objects they stand in. */
export function equalActions(a: Action, b: Action): boolean {
  if (a === b) return true;
  const left = a as unknown as Record<string, unknown>;
  const right = b as unknown as Record<string, unknown>;
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => left[name] === right[name]);
}

// Those that put outer headers on or take them off (dataplane.md §1.6, §2.3).

type RouteencapAction = Extract<Action, { type: "routeencap" }>;
type MapencapAction = Extract<Action, { type: "mapencap" }>;
type DecapAction = Extract<Action, { type: "decap" }>;

/** Outer headers from the port to `destination`; what stands inside is in `forward` already. */
function encapsulate(
  action: RouteencapAction | MapencapAction,
  tni: number,
  destination: EncapDestination,
  subject: ActionSubject,
  context: ActionContext,
): ActionResult {
  // A packet leaves a port in one tunnel at most; one that came in a tunnel may leave inside another.
  if (subject.total.push !== undefined) return { kind: "drop", code: "tunnel-refused" };
  const source = context.providerAddress(familyOf(destination.providerAddress));
  if (source === undefined) return { kind: "drop", code: "provider-address-missing" };
  const forward = new Transposition();
  if (action.decrementTtl === true) {
    if (readTtl(subject.bytes, subject.headers) <= 1) return { kind: "drop", code: "ttl-expired" };
    forward.ttlDecrements = 1;
  }
  if (action.type === "routeencap") forward.sourceMac = action.innerSourceMac;
  forward.destinationMac = destination.innerMac;
  forward.push = new Encapsulation(context.outerHeaders, {
    kind: action.encapsulation,
    id: tni,
    source,
    destination: destination.providerAddress,
    sourceMac: context.providerMac,
    destinationMac: destination.providerMac ?? (0 as Mac),
    destinationPort: (action.type === "routeencap" ? action.udpPort : undefined) ?? context.vxlanPort,
    entropy: hashWords(subject.key.words, 0, subject.key.tupleLength),
  });
  return { kind: "pass", forward, reverse: NOTHING };
}

function evaluateRouteencap(
  action: RouteencapAction,
  subject: ActionSubject,
  context: ActionContext,
): ActionResult {
  const { destinations } = action;
  const hash = destinations.length === 1 ? 0 : hashWords(subject.key.words, 0, subject.key.tupleLength);
  const destination = defined(destinations[hash % destinations.length], "a routeencap rule has destinations");
  return encapsulate(action, action.tni, destination, subject, context);
}

function evaluateMapencap(
  action: MapencapAction,
  subject: ActionSubject,
  context: ActionContext,
): ActionResult {
  const { bytes, headers } = subject;
  const space = context.getSpace(action.space);
  const mapping =
    action.byMac === true
      ? space?.findByMac(readU48(bytes, headers.ethernet) as Mac)
      : space?.find(destinationIp(bytes, headers));
  if (mapping === undefined) return { kind: "drop", code: "mapping-unknown" };
  const { providerAddress, mac, tni = action.tni } = mapping;
  const destination = action.rewritesMac === true ? { providerAddress, innerMac: mac } : { providerAddress };
  return encapsulate(action, tni, destination, subject, context);
}

function evaluateDecap(action: DecapAction, { tunnel }: ActionSubject): ActionResult {
  if (tunnel.kind === undefined) return { kind: "drop", code: "tunnel-refused" };
  const forward = new Transposition();
  forward.pops = true;
  forward.sourceMac = action.innerSourceMac;
  forward.destinationMac = action.innerDestinationMac;
  if (action.pushesTni === true) forward.tni = tunnel.id;
  return { kind: "pass", forward, reverse: NOTHING };
}
