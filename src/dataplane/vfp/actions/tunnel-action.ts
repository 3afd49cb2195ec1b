/** Actions that put outer headers on or take them off (dataplane.md §1.6, §2.3). */
import { defined } from "#core/base/assert.ts";
import { readU48 } from "#core/base/bytes.ts";
import { familyOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { destinationIp } from "#core/wire/headers.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import type { ActionContext, ActionResult, ActionSubject } from "./action-result.ts";
import { Encapsulation } from "./encapsulation.ts";
import { hashWords } from "../flows/flow-table.ts";
import type { Action, EncapDestination } from "../rule.ts";
import { NOTHING, Transposition } from "./transposition.ts";

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

export function evaluateRouteencap(
  action: RouteencapAction,
  subject: ActionSubject,
  context: ActionContext,
): ActionResult {
  const { destinations } = action;
  const hash = destinations.length === 1 ? 0 : hashWords(subject.key.words, 0, subject.key.tupleLength);
  const destination = defined(destinations[hash % destinations.length], "a routeencap rule has destinations");
  return encapsulate(action, action.tni, destination, subject, context);
}

export function evaluateMapencap(
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

export function evaluateDecap(action: DecapAction, { tunnel }: ActionSubject): ActionResult {
  if (tunnel.kind === undefined) return { kind: "drop", code: "tunnel-refused" };
  const forward = new Transposition();
  forward.pops = true;
  forward.sourceMac = action.innerSourceMac;
  forward.destinationMac = action.innerDestinationMac;
  if (action.pushesTni === true) forward.tni = tunnel.id;
  return { kind: "pass", forward, reverse: NOTHING };
}
