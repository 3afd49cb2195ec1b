/**
 * Rules as values: what a packet must look like, and what happens to it then. They say what the rules of iptables say
 * that kube-proxy, flannel and the portmap plugin write, without its text.
 *
 * Rules are frozen, so that the worlds of a fork and the nodes of a cluster share them.
 */
import type { Provenance } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip, Prefix } from "#core/net/ip.ts";

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

/** Somebody who takes connections to a translated destination. */
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
