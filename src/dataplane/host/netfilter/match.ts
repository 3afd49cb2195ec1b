/** Asks rules about one packet. */
import type { Stack } from "../stack.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { type Prefix, familyOf, prefixContains } from "#core/net/ip.ts";
import type { TrackedPacket } from "./connection-table.ts";
import type { Hook, Match, Target, RuleSet, Rule } from "./rule-set.ts";

/** Targets that end the way through a table. */
export type FinalTarget = Exclude<Target, { readonly kind: "jump" | "mark" | "return" }>;

/** The rule that decided, and what it says. */
export interface Verdict {
  readonly rule: Rule;
  readonly target: FinalTarget;
}

/** What rules see of a packet. */
export interface Candidate {
  readonly tuple: FiveTuple;
  readonly tracked: TrackedPacket;
  /** The machine: it knows which addresses are its own. */
  readonly compartment: Stack;
}

function isIn(prefix: Prefix, ip: FiveTuple["source"]): boolean {
  return familyOf(prefix.address) === familyOf(ip) && prefixContains(prefix, ip);
}

export function isMatching(match: Match, { tuple, tracked, compartment }: Candidate): boolean {
  const { source, destination } = tuple;
  if (match.protocol !== undefined && match.protocol !== tuple.protocol) return false;
  if (match.family !== undefined && match.family !== familyOf(destination)) return false;
  if (match.destinationPort !== undefined && match.destinationPort !== tuple.destinationPort) return false;
  if (match.source !== undefined && !isIn(match.source, source)) return false;
  if (match.notSource !== undefined && isIn(match.notSource, source)) return false;
  if (match.destination !== undefined && !isIn(match.destination, destination)) return false;
  if (match.notDestination !== undefined && isIn(match.notDestination, destination)) return false;
  if (match.mark !== undefined && (tracked.mark & match.mark) === 0) return false;
  if (match.state !== undefined && match.state !== tracked.state) return false;
  if (match.isFromLocal !== undefined && match.isFromLocal !== compartment.isLocal(source)) return false;
  return match.isToLocal === undefined || match.isToLocal === compartment.isLocal(destination);
}

/** Asks `rules` in their order; "return" when one says so, undefined when none decides. */
function ask(rules: readonly Rule[], candidate: Candidate): Verdict | "return" | undefined {
  for (const rule of rules) {
    if (!isMatching(rule.match, candidate)) continue;
    const { target } = rule;
    if (target.kind === "return") return "return";
    if (target.kind === "mark") {
      candidate.tracked.mark |= target.bits;
    } else if (target.kind === "jump") {
      const verdict = ask(target.chain.rules, candidate);
      if (verdict !== undefined && verdict !== "return") return verdict;
    } else {
      return { rule, target };
    }
  }
  return undefined;
}

/**
 * What the rules of a hook say: those for the packet's very destination first, those for ports of the machine next
 * (kube-proxy has its NodePorts last in KUBE-SERVICES), then all others. Sets are asked in their order.
 */
export function evaluate(sets: readonly RuleSet[], hook: Hook, candidate: Candidate): Verdict | undefined {
  for (const set of sets) {
    const verdict = ask(set.forDestination(hook, candidate.tuple), candidate);
    if (verdict !== undefined && verdict !== "return") return verdict;
  }
  for (const set of sets) {
    const verdict = ask(set.forLocalPort(hook, candidate.tuple), candidate);
    if (verdict !== undefined && verdict !== "return") return verdict;
  }
  for (const set of sets) {
    const verdict = ask(set.others(hook), candidate);
    if (verdict !== undefined && verdict !== "return") return verdict;
  }
  return undefined;
}
