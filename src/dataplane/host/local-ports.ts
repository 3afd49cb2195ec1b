/** The TCP or UDP ports of one compartment: which are taken, which are set aside, which comes next. */
import type { Prng } from "#core/base/prng.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { readU16 } from "#core/base/bytes.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { IpView } from "#core/wire/ip-view.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";

export class LocalPorts {
  private readonly ephemeral: PortRange;
  /** How many sockets use a port. */
  private readonly users = new Map<number, number>();
  private readonly excluded: PortRange[] = [];
  /** Ports that something below the stack has, and how often. */
  private readonly held = new Map<number, number>();
  private next: number;

  /** The first ephemeral port is drawn from `prng`, the others follow upwards (Inferred: systems differ). */
  constructor(ephemeral: PortRange, prng: Prng) {
    this.ephemeral = ephemeral;
    this.next = ephemeral.first + prng.below(ephemeral.last - ephemeral.first + 1);
  }

  /** A port of the ephemeral range that no socket uses; undefined when all are taken. */
  reserveEphemeral(): number | undefined {
    const count = this.ephemeral.last - this.ephemeral.first + 1;
    for (let tried = 0; tried < count; tried++) {
      const port = this.next;
      this.next = port === this.ephemeral.last ? this.ephemeral.first : port + 1;
      if (!this.users.has(port) && !this.held.has(port) && !this.isExcluded(port)) {
        this.reserve(port);
        return port;
      }
    }
    return undefined;
  }

  /** Takes `port` once more; who may share a port is for the caller to decide. */
  reserve(port: number): void {
    this.users.set(port, (this.users.get(port) ?? 0) + 1);
  }

  release(port: number): void {
    const count = this.users.get(port) ?? 0;
    if (count <= 1) this.users.delete(port);
    else this.users.set(port, count - 1);
  }

  /** Keeps sockets off `port`: address translation has it. */
  hold(port: number): void {
    this.held.set(port, (this.held.get(port) ?? 0) + 1);
  }

  /** Ends one `hold`. */
  letGo(port: number): void {
    const count = this.held.get(port) ?? 0;
    if (count <= 1) this.held.delete(port);
    else this.held.set(port, count - 1);
  }

  isHeld(port: number): boolean {
    return this.held.has(port);
  }

  /** Keeps `range` out of the ephemeral ports: the blocks that the node's NAT pools and load balancers hold. */
  exclude(range: PortRange): void {
    this.excluded.push(range);
  }

  /** Ends one `exclude` of the same range. */
  include(range: PortRange): void {
    const index = this.excluded.findIndex(
      (other) => other.first === range.first && other.last === range.last,
    );
    if (index >= 0) this.excluded.splice(index, 1);
  }

  listExcluded(): readonly PortRange[] {
    return this.excluded;
  }

  private isExcluded(port: number): boolean {
    return this.excluded.some((range) => port >= range.first && port <= range.last);
  }
}

/** `switched`: packets go to the switch. A code: packets that reach the stack end there, and this says why. */
export type PortClaim = "switched" | KnowledgeCode;

/** A port of the own addresses of one family. */
export interface ClaimedPort {
  readonly family: 4 | 6;
  readonly protocol: number;
  readonly port: number;
}

function keyOf({ family, protocol, port }: ClaimedPort): number {
  return (family * 0x100 + protocol) * 0x1_0000 + port;
}

function portOf(key: number): ClaimedPort {
  const [above, port] = [Math.floor(key / 0x1_0000), key % 0x1_0000];
  return { family: above >= 6 * 0x100 ? 6 : 4, protocol: above % 0x100, port };
}

/**
 * Ports of a host's own addresses that something below its stack serves: the node ports of load balancers.
 *
 * A connection of the host to itself never leaves the stack, so nothing on the switch could serve it. From KB4571748 on
 * a node reaches its own node ports (dataplane.md §2.4 B-8). Inferred: by handing such packets to the switch,
 * and by taking answers from there although they carry an own address as source.
 */
export class PortClaims {
  private readonly claims = new Map<number, PortClaim>();

  set(claimed: ClaimedPort, claim: PortClaim): void {
    this.claims.set(keyOf(claimed), claim);
  }

  remove(claimed: ClaimedPort): void {
    this.claims.delete(keyOf(claimed));
  }

  /** In the order in which they were claimed. */
  *list(): Iterable<ClaimedPort & { readonly claim: PortClaim }> {
    for (const [key, claim] of this.claims) yield { ...portOf(key), claim };
  }

  /** Who claims the port that the packet is for. */
  ofDestination(bytes: Uint8Array, view: IpView): PortClaim | undefined {
    return this.find(bytes, view, 2);
  }

  /** Who claims the port that the packet comes from. */
  ofSource(bytes: Uint8Array, view: IpView): PortClaim | undefined {
    return this.find(bytes, view, 0);
  }

  private find(bytes: Uint8Array, view: IpView, offset: number): PortClaim | undefined {
    if (this.claims.size === 0) return undefined;
    if (view.fragmentOffset !== 0) return undefined;
    const { protocol } = view;
    if (protocol !== IpProtocol.tcp && protocol !== IpProtocol.udp) return undefined;
    const transport = view.payloadStart;
    if (transport + 4 > view.payloadEnd) return undefined;
    const family = view instanceof Ipv4View ? 4 : 6;
    return this.claims.get(keyOf({ family, protocol, port: readU16(bytes, transport + offset) }));
  }
}
