/**
 * Rules as values: what a packet must look like, and what happens to it then; and sets of them. They say what the rules of
 * iptables say that kube-proxy, flannel and the portmap plugin write, without its text.
 *
 * Rules are frozen, so that the worlds of a fork and the nodes of a cluster share them.
 */
import { type Ip, type Prefix, bitsOf, familyOf } from "#core/net/ip.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Provenance } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

/** Table and chain of the kernel at which a rule stands. */
export type Hook =
  | "nat-prerouting"
  | "nat-output"
  | "nat-postrouting"
  | "filter-input"
  | "filter-forward"
  | "filter-output";

/** All that is given must hold. */
export interface Match {
  /** IANA protocol number. */
  readonly protocol?: number;
  /** Of a rule that names no address and stands in the tables of one family alone. */
  readonly family?: 4 | 6;
  readonly source?: Prefix;
  readonly notSource?: Prefix;
  readonly destination?: Prefix;
  readonly notDestination?: Prefix;
  readonly destinationPort?: number;
  /** `addrtype --src-type LOCAL`: the sender is this machine. */
  readonly isFromLocal?: boolean;
  /** `addrtype --dst-type LOCAL`: the destination is an address of this machine. */
  readonly isToLocal?: boolean;
  /** True when one of these bits of the packet's mark is set. */
  readonly mark?: number;
  /** `new`: no answer was seen yet. `invalid`: fits no connection and begins none. */
  readonly state?: "new" | "invalid";
}

/** What takes connections to a translated destination. */
export interface DnatBackEnd {
  readonly ip: Ip;
  readonly port: number;
  /** Under which its clients are remembered; the same back end has the same key in every list. */
  readonly key: string;
}

export type Target =
  /** Goes on in another chain; comes back when nothing there decided. */
  | { readonly kind: "jump"; readonly chain: Chain }
  /** Sets bits of the packet's mark and goes on. */
  | { readonly kind: "mark"; readonly bits: number }
  | DnatTarget
  /** Gives the connection the address of the interface it leaves by. */
  | { readonly kind: "masquerade" }
  /** Answers with "port unreachable", which is iptables' default. */
  | { readonly kind: "reject"; readonly code: KnowledgeCode; readonly text: string }
  | { readonly kind: "drop"; readonly code: KnowledgeCode; readonly text: string }
  /** Leaves the chain. */
  | { readonly kind: "return" }
  /** Leaves the table: nothing else is asked. */
  | { readonly kind: "accept" };

/** Sends the connection to one of `backEnds`, each as likely as the others. */
export interface DnatTarget {
  readonly kind: "dnat";
  /** At least one. */
  readonly backEnds: readonly DnatBackEnd[];
  /** Clients keep their back end for so long after their last new connection; undefined: they do not. */
  readonly affinitySeconds?: number;
  /** Bits of the mark that a packet gets whose source is the chosen back end itself. */
  readonly hairpinMark?: number;
}

export interface Rule {
  readonly match: Match;
  readonly target: Target;
  /** Says in a trace why this happens: `Service default/web port 80`. */
  readonly name: string;
  readonly provenance: Provenance;
}

/** Rules that are asked one after the other. */
export interface Chain {
  /** As the program that writes it calls it: `KUBE-SVC`, `FLANNEL-POSTRTG`. */
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** What one object puts into the tables. */
export type HookRules = { readonly [At in Hook]?: readonly Rule[] };

const NO_RULES: readonly Rule[] = Object.freeze([]);

/** Rules by a key. The lists are frozen and replaced, so that forks share them. */
class RuleIndex {
  /** By key. */
  readonly lists = new Map<string, readonly Rule[]>();

  get(key: string): readonly Rule[] {
    return this.lists.get(key) ?? NO_RULES;
  }

  add(key: string, rule: Rule): void {
    this.lists.set(key, Object.freeze([...this.get(key), rule]));
  }

  remove(key: string, rule: Rule): void {
    const left = this.get(key).filter((other) => other !== rule);
    if (left.length === 0) this.lists.delete(key);
    else this.lists.set(key, Object.freeze(left));
  }
}

/** The key of rules that are looked up by nothing. */
const OTHERS = "";

/** By what a rule with that match is looked up. */
function keyOf(match: Match): string {
  const { protocol, destination, destinationPort, isToLocal } = match;
  if (protocol === undefined || destinationPort === undefined) return OTHERS;
  if (destination === undefined) return isToLocal === true ? localKey(protocol, destinationPort) : OTHERS;
  if (destination.length !== bitsOf(familyOf(destination.address))) return OTHERS;
  return destinationKey(protocol, destination.address, destinationPort);
}

/**
 * The rules of several owners (a Service, a pod, the node), found fast: a rule for one protocol, address and port is
 * looked up and not searched, and so is one for a port of the machine itself. Putting or taking the rules of one owner
 * costs that owner only. One set may serve many machines.
 */
export class RuleSet {
  private readonly owners = new Map<string, HookRules>();
  private readonly hooks = new Map<Hook, RuleIndex>();

  /** Puts what `owner` wants in place of what it had; rules of one hook keep their order. */
  set(owner: string, rules: HookRules): void {
    if (this.owners.get(owner) === rules) return;
    this.remove(owner);
    this.owners.set(owner, rules);
    for (const hook of hooksOf(rules)) {
      let index = this.hooks.get(hook);
      if (index === undefined) this.hooks.set(hook, (index = new RuleIndex()));
      for (const rule of rules[hook] ?? NO_RULES) index.add(keyOf(rule.match), rule);
    }
  }

  /** Takes away all rules of `owner`; an unknown one is ignored. */
  remove(owner: string): void {
    const rules = this.owners.get(owner);
    if (rules === undefined) return;
    this.owners.delete(owner);
    for (const hook of hooksOf(rules))
      for (const rule of rules[hook] ?? NO_RULES) this.hooks.get(hook)?.remove(keyOf(rule.match), rule);
  }

  /** In the order in which they were last set. */
  listOwners(): readonly string[] {
    return [...this.owners.keys()];
  }

  /** Each rule that packets can meet, by hook and by what it is looked up by. */
  *list(): Iterable<{ readonly hook: Hook; readonly key: string; readonly rule: Rule }> {
    for (const [hook, { lists }] of this.hooks)
      for (const [key, rules] of lists) for (const rule of rules) yield { hook, key, rule };
  }

  /** Rules for exactly this destination. */
  forDestination(hook: Hook, tuple: FiveTuple): readonly Rule[] {
    const key = destinationKey(tuple.protocol, tuple.destination, tuple.destinationPort);
    return this.hooks.get(hook)?.get(key) ?? NO_RULES;
  }

  /** Rules for this port, whatever address of the machine it was sent to. */
  forLocalPort(hook: Hook, tuple: FiveTuple): readonly Rule[] {
    const key = localKey(tuple.protocol, tuple.destinationPort);
    return this.hooks.get(hook)?.get(key) ?? NO_RULES;
  }

  /** All further rules of the hook. */
  others(hook: Hook): readonly Rule[] {
    return this.hooks.get(hook)?.get(OTHERS) ?? NO_RULES;
  }
}

function hooksOf(rules: HookRules): readonly Hook[] {
  return Object.keys(rules) as Hook[];
}

function destinationKey(protocol: number, ip: Ip, port: number): string {
  return `${protocol}/${ip}/${port}`;
}

function localKey(protocol: number, port: number): string {
  return `${protocol}/local/${port}`;
}
