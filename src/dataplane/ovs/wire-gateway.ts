/**
 * The wire behind a localnet port, where the node and its gateway router have one address: what of it is OVN's. ovn-kubernetes does
 * that with flows of the bridge `br-ex`: answers to connections that OVN has sent out, and what comes to addresses of Services, go
 * to the gateway router, all else to the node (control-planes.md §4.2, shared gateway).
 */
import { LIMITS } from "#core/base/limits.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { invertTuple, readTuple, tupleKey } from "../host/netfilter/tuple.ts";

export interface WireGatewayOptions {
  /** Name of the localnet port. */
  readonly localnet: string;
  /** The node's own. */
  readonly address: Ip;
  /** `tcp 10.0.0.11:30080`: Services that are reached from outside. */
  readonly services: ReadonlySet<string>;
}

export class WireGateway {
  readonly localnet: string;
  private readonly address: Ip;
  private services: ReadonlySet<string>;
  /** Connections that OVN has sent out, by their answers. */
  private readonly answers = new Set<string>();

  constructor({ localnet, address, services }: WireGatewayOptions) {
    this.localnet = localnet;
    this.address = address;
    this.services = services;
  }

  /** Services have changed; connections stay. */
  serve(services: ReadonlySet<string>): void {
    this.services = services;
  }

  /** A packet of OVN leaves by the wire. */
  sent(packet: Packet): void {
    const headers = new Headers();
    headers.parse(packet);
    const tuple = readTuple(packet.bytes, headers);
    if (tuple === undefined) return;
    if (this.answers.size >= LIMITS.trackedConnectionsMax) this.answers.clear();
    this.answers.add(tupleKey(invertTuple(tuple)));
  }

  /** Whose a packet from the wire is: OVN's, both's (OVN learns from it), or not OVN's. */
  ownerOf(packet: Packet, headers: Headers): "ovn" | "both" | "node" {
    if (headers.etherType === EtherType.arp) return "both";
    const tuple = readTuple(packet.bytes, headers);
    if (tuple === undefined) return "node";
    if (tuple.destination === this.address && this.answers.has(tupleKey(tuple))) return "ovn";
    const protocol =
      tuple.protocol === IpProtocol.tcp ? "tcp" : tuple.protocol === IpProtocol.udp ? "udp" : "";
    const isService = this.services.has(
      `${protocol} ${formatIp(tuple.destination)}:${tuple.destinationPort}`,
    );
    return isService ? "ovn" : "node";
  }
}
