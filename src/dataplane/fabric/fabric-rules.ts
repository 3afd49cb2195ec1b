/** What the switch of a physical host asks before it acts: where a packet of one machine goes, or why it ends. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Ip, type Prefix, formatIp, prefixContains } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { type Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";

/** A machine of the virtual network. */
export interface FabricMachine {
  readonly name: string;
  readonly mac: Mac;
  /** Its own and those of its pods. */
  readonly addresses: readonly Ip[];
  /** Ranges that its pods have their addresses from. Default none. */
  readonly ranges?: readonly Prefix[];
  /** Frames with another source MAC than its own end at its port (dataplane.md §10). Default false. */
  readonly refusesOtherMacs?: boolean;
  /** Takes what nobody else has. Default false. */
  readonly isRouter?: boolean;
}

/** True for an address of a machine, or of its pods. */
export function hasAddress({ addresses, ranges = [] }: FabricMachine, ip: Ip): boolean {
  return addresses.includes(ip) || ranges.some((range) => prefixContains(range, ip));
}

/** The machines that a switch has, as rules ask for them. */
export interface FabricMachines {
  /** Who has the address, or is given it as a load balancer's. */
  ownerOf(ip: Ip): FabricMachine | undefined;
  readonly router: FabricMachine | undefined;
}

/** `steps` says in order what was asked on the way, for traces. */
export type FabricDecision =
  | { readonly kind: "to"; readonly machine: FabricMachine; readonly steps: readonly string[] }
  | {
      readonly kind: "drop";
      readonly code: KnowledgeCode;
      readonly text: string;
      readonly steps: readonly string[];
    };

export interface FabricRules {
  /** `headers` are those of `bytes`, an IP packet that `from` has sent. */
  decide(
    from: FabricMachine,
    bytes: Uint8Array,
    headers: Headers,
    machines: FabricMachines,
    nowMs: number,
  ): FabricDecision;
}

/** Packets from one prefix to another end here. */
export interface FabricDenial {
  readonly from: Prefix;
  readonly to: Prefix;
}

/** Goes by address, and denies what single rules name. */
export class DenyRules implements FabricRules {
  private readonly denials: readonly FabricDenial[];

  constructor(denials: readonly FabricDenial[]) {
    this.denials = denials;
  }

  decide(from: FabricMachine, bytes: Uint8Array, headers: Headers, machines: FabricMachines): FabricDecision {
    const [source, destination] = [sourceIp(bytes, headers), destinationIp(bytes, headers)];
    const drop = (code: KnowledgeCode, text: string): FabricDecision => ({
      kind: "drop",
      code,
      text,
      steps: [],
    });
    const isDenied = this.denials.some(
      (denial) => prefixContains(denial.from, source) && prefixContains(denial.to, destination),
    );
    if (isDenied)
      return drop(
        "fabric-acl-denied",
        `a rule of the fabric denies ${formatIp(source)} to ${formatIp(destination)}`,
      );
    const router = machines.router?.name === from.name ? undefined : machines.router;
    const machine = machines.ownerOf(destination) ?? router;
    if (machine === undefined)
      return drop("no-route", `no endpoint of the virtual network has ${formatIp(destination)}`);
    return { kind: "to", machine, steps: [] };
  }
}
