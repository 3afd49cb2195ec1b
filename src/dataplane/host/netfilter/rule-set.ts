/**
 * The rules of several owners (a Service, a pod, the node), found fast: a rule for one protocol, address and port is
 * looked up and not searched, and so is one for a port of the machine itself. Putting or taking the rules of one owner
 * costs that owner only. One set may serve many machines.
 */
import { type Ip, bitsOf, familyOf } from "#core/net/ip.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Hook, HookRules, Match, Rule } from "./rule.ts";

const NO_RULES: readonly Rule[] = Object.freeze([]);

/** Rules by a key. The lists are frozen and replaced, so that forks share them. */
class RuleIndex {
  private readonly lists = new Map<string, readonly Rule[]>();

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

  get(owner: string): HookRules | undefined {
    return this.owners.get(owner);
  }

  /** In the order in which they were last set. */
  listOwners(): readonly string[] {
    return [...this.owners.keys()];
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
