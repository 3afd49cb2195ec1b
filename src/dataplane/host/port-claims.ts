/**
 * Ports of a host's own addresses that something below its stack serves: the node ports of load balancers.
 *
 * A connection of the host to itself never leaves the stack, so nothing on the switch could serve it. From KB4571748 on
 * a node reaches its own node ports (dataplane.md §2.4 B-8, DT-117). Inferred: by handing such packets to the switch,
 * and by taking answers from there although they carry an own address as source.
 */
import { readU16 } from "#core/base/bytes.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { IpView } from "#core/wire/ip-view.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";

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

export class PortClaims {
  private readonly claims = new Map<number, PortClaim>();

  set(claimed: ClaimedPort, claim: PortClaim): void {
    this.claims.set(keyOf(claimed), claim);
  }

  remove(claimed: ClaimedPort): void {
    this.claims.delete(keyOf(claimed));
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
