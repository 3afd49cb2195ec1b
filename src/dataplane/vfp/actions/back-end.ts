/**
 * Which back end of an `lbnat` rule a packet goes to. The hash that Windows uses is not public: this one is stable,
 * and its value is taken over the list in the list's order (dataplane.md §3.1). Nobody should expect the same choice
 * as on a node, only one that behaves alike.
 */
import { wordAt } from "#core/base/bytes.ts";
import { type ConnectionTuple, FlowKey } from "../flow-key.ts";
import type { Action, LbnatBackEnd, Distribution } from "../rule.ts";

export type LbnatAction = Extract<Action, { type: "lbnat" }>;

function mix(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e37_79b1);
  return mixed ^ (mixed >>> 15);
}

/**
 * 32 bits of what `distribution` looks at: both addresses, the protocol unless it is the 2-tuple, both ports only in
 * the 5-tuple.
 */
export function hashForBackEnd(key: FlowKey, distribution: Distribution): number {
  let hash = mix(0x6d75_6c6c, distribution === "2-tuple" ? 0 : key.protocol);
  if (distribution === "5-tuple") hash = mix(hash, wordAt(key.words, 1));
  for (let at = 2; at < key.outerTupleLength; at++) hash = mix(hash, wordAt(key.words, at));
  hash = Math.imul(hash ^ (hash >>> 13), 0x85eb_ca6b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The back end of the first packet of a flow; undefined only for an empty list, which no group takes. */
export function chooseBackEnd(action: LbnatAction, key: FlowKey): LbnatBackEnd | undefined {
  const { backEnds, distribution } = action;
  return backEnds[hashForBackEnd(key, distribution) % backEnds.length];
}

/**
 * Says where connections of one client to one address and port will be led, by their source ports: for who wants to meet
 * every back end, and not the same ones again and again.
 */
export class BackEndForecast {
  private readonly key = new FlowKey();
  private readonly connection: Omit<ConnectionTuple, "sourcePort">;

  constructor(connection: Omit<ConnectionTuple, "sourcePort">) {
    this.connection = connection;
  }

  /** The place of its back end in a list of so many, of a rule that looks at the whole tuple. */
  placeOf(sourcePort: number, backEnds: number): number {
    this.key.loadConnection({ ...this.connection, sourcePort });
    return hashForBackEnd(this.key, "5-tuple") % backEnds;
  }
}

function isSameBackEnd(a: LbnatBackEnd, b: LbnatBackEnd): boolean {
  return a === b || (a.ip === b.ip && a.port === b.port && a.mac === b.mac);
}

/**
 * True when a flow that `before` sent to `backEnd` may stay with it under `after`: the list still has it
 * (dataplane.md §3.7).
 */
export function keepsBackEnd(before: LbnatAction, after: Action, backEnd: LbnatBackEnd): boolean {
  return (
    after.type === "lbnat" &&
    after.rewrites === before.rewrites &&
    (after.backEnds === before.backEnds || after.backEnds.some((each) => isSameBackEnd(each, backEnd)))
  );
}
