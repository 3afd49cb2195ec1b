/**
 * The rules of several owners (a Service, a pod, the node), found fast: a rule for one protocol, address and port is
 * looked up and not searched, and so is one for a port of the machine itself. Putting or taking the rules of one owner
 * costs that owner only. One set may serve many machines.
 */
import { type Ip, bitsOf, familyOf } from "../../net/ip.ts";
import type { FiveTuple } from "../../net/five-tuple.ts";
import type { Hook, HookRules, Match, Rule } from "./rule.ts";

const NO_RULES: readonly Rule[] = Object.freeze([]);

/** The rules of one hook. */
class HookIndex {
  /** By protocol, address and port of the destination. */
  readonly byDestination = new Map<string, Rule[]>();
  /** By protocol and port, for rules about addresses of the machine. */
  readonly byLocalPort = new Map<string, Rule[]>();
  readonly others: Rule[] = [];

  listOf(match: Match): Rule[] {
    const { protocol, destination, destinationPort, isToLocal } = match;
    if (protocol === undefined || destinationPort === undefined) return this.others;
    if (isToLocal === true && destination === undefined)
      return getOrMake(this.byLocalPort, localKey(protocol, destinationPort));
    if (destination === undefined || destination.length !== bitsOf(familyOf(destination.address)))
      return this.others;
    return getOrMake(this.byDestination, destinationKey(protocol, destination.address, destinationPort));
  }

  remove(rule: Rule): void {
    const list = this.listOf(rule.match);
    const index = list.indexOf(rule);
    if (index >= 0) list.splice(index, 1);
    if (list.length > 0 || list === this.others) return;
    const { protocol, destination, destinationPort } = rule.match;
    if (protocol === undefined || destinationPort === undefined) return;
    if (destination === undefined) this.byLocalPort.delete(localKey(protocol, destinationPort));
    else this.byDestination.delete(destinationKey(protocol, destination.address, destinationPort));
  }
}

export class RuleSet {
  private readonly owners = new Map<string, HookRules>();
  private readonly hooks = new Map<Hook, HookIndex>();

  /** Puts what `owner` wants in place of what it had; rules of one hook keep their order. */
  set(owner: string, rules: HookRules): void {
    if (this.owners.get(owner) === rules) return;
    this.remove(owner);
    this.owners.set(owner, rules);
    for (const hook of hooksOf(rules)) {
      let index = this.hooks.get(hook);
      if (index === undefined) this.hooks.set(hook, (index = new HookIndex()));
      for (const rule of rules[hook] ?? NO_RULES) index.listOf(rule.match).push(rule);
    }
  }

  /** Takes away all rules of `owner`; an unknown one is ignored. */
  remove(owner: string): void {
    const rules = this.owners.get(owner);
    if (rules === undefined) return;
    this.owners.delete(owner);
    for (const hook of hooksOf(rules))
      for (const rule of rules[hook] ?? NO_RULES) this.hooks.get(hook)?.remove(rule);
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
    return this.hooks.get(hook)?.byDestination.get(key) ?? NO_RULES;
  }

  /** Rules for this port, whatever address of the machine it was sent to. */
  forLocalPort(hook: Hook, tuple: FiveTuple): readonly Rule[] {
    const key = localKey(tuple.protocol, tuple.destinationPort);
    return this.hooks.get(hook)?.byLocalPort.get(key) ?? NO_RULES;
  }

  /** All further rules of the hook. */
  others(hook: Hook): readonly Rule[] {
    return this.hooks.get(hook)?.others ?? NO_RULES;
  }
}

function hooksOf(rules: HookRules): readonly Hook[] {
  return Object.keys(rules) as Hook[];
}

function destinationKey(protocol: number, ip: Ip, port: number): string {
  return `${protocol}/${ip}/${port}`;
}

function localKey(protocol: number, port: number): string {
  return `${protocol}/${port}`;
}

function getOrMake(map: Map<string, Rule[]>, key: string): Rule[] {
  let list = map.get(key);
  if (list === undefined) map.set(key, (list = []));
  return list;
}
