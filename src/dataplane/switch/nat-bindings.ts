/**
 * Whose frame it is that carries the host's MAC (dataplane.md §2.17 step 4): the port that owns the NAT binding of its
 * destination address and port. Two kinds of packets have the port in another place.
 *
 * - A later fragment has none: it goes where the first one of its datagram went (§1.10, DT-022). One that comes before
 *   the first is not matched.
 * - An ICMP error has it inside: it quotes a packet, whose sender it is for (DT-187). Inferred: the switch looks there as
 *   the port does (ParseIcmpMessage, dataplane.md §1.10, §11 Q-9); otherwise no error about a translated packet would
 *   reach the port that can translate it back, and each smaller MTU of a path would be a black hole.
 */
import { readU16 } from "#core/base/bytes.ts";
import type { Ip } from "#core/net/ip.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { isErrorMessage } from "../vfp/actions/icmp-error.ts";
import { FragmentCache, identificationOf } from "../vfp/flows/fragment-cache.ts";
import { PortBlockTable } from "./port-blocks.ts";
import { type StaticBinding, type SwitchPort, bindingKey } from "./switch-port.ts";

/** The ports of a switch, as bindings are looked up among them. */
interface BindingPorts {
  getPort(id: string): SwitchPort | undefined;
  listPorts(): readonly SwitchPort[];
}

export class NatBindings {
  /** Ports of the dynamic range, in blocks. */
  readonly blocks: PortBlockTable = new PortBlockTable();
  private statics = new Map<string, SwitchPort>();
  /** Which port the first fragment of a datagram went to. */
  private readonly trains = new FragmentCache<{ readonly owner: SwitchPort }>();
  private readonly quoted = new Headers();
  private readonly ports: BindingPorts;

  constructor(ports: BindingPorts) {
    this.ports = ports;
  }

  /** Ports came or went, or have other bindings. */
  relearn(): void {
    this.statics = new Map();
    for (const port of this.ports.listPorts()) {
      if (port.kind === "external") continue;
      for (const binding of port.staticBindings) this.statics.set(bindingKey(binding), port);
    }
  }

  /** A binding came or went; the last of the ports that have it owns it. */
  bindingChanged(binding: StaticBinding): void {
    const key = bindingKey(binding);
    const owner = this.ports.listPorts().findLast((port) => port.hasStaticBinding(binding));
    if (owner === undefined) this.statics.delete(key);
    else this.statics.set(key, owner);
  }

  /** The port whose frame it is; undefined: none owns it. */
  findOwner(packet: Packet, headers: Headers, nowMs: number): SwitchPort | undefined {
    if (headers.family === 0) return undefined;
    const { bytes } = packet;
    if (isErrorMessage(bytes, headers)) return this.ownerOfQuoted(bytes, headers);
    if (!hasPorts(headers)) return undefined;
    if (!headers.isFragment) return this.ownerOf(destinationIp(bytes, headers), headers, bytes, 2);
    const train = trainOf(bytes, headers);
    if (headers.fragmentOffset !== 0) {
      const owner = this.trains.find(train, nowMs)?.owner;
      return owner !== undefined && this.ports.getPort(owner.id) === owner ? owner : undefined;
    }
    const owner = this.ownerOf(destinationIp(bytes, headers), headers, bytes, 2);
    if (owner === undefined) this.trains.forget(train);
    // When no more can be remembered, later fragments go to the host, whose reassembly tells what is missing.
    else this.trains.remember(train, { owner }, nowMs);
    return owner;
  }

  private ownerOfQuoted(bytes: Uint8Array, headers: Headers): SwitchPort | undefined {
    const { quoted } = this;
    if (quoted.parseEmbedded(bytes, headers.payload, headers.end) !== undefined) return undefined;
    if (quoted.family !== headers.family || !hasPorts(quoted)) return undefined;
    // Who is told is who has sent.
    const ip = sourceIp(bytes, quoted);
    return ip === destinationIp(bytes, headers) ? this.ownerOf(ip, quoted, bytes, 0) : undefined;
  }

  /** The owner of `ip` and the port that stands `offset` bytes behind the transport header's start. */
  private ownerOf(
    ip: Ip,
    { protocol, transport }: Headers,
    bytes: Uint8Array,
    offset: number,
  ): SwitchPort | undefined {
    if (transport < 0) return undefined;
    const port = readU16(bytes, transport + offset);
    const owner = this.blocks.findOwner(ip, protocol, port);
    if (owner !== undefined) return this.ports.getPort(owner);
    return this.statics.get(bindingKey({ ip, protocol, port }));
  }
}

function hasPorts({ protocol }: Headers): boolean {
  return protocol === IpProtocol.tcp || protocol === IpProtocol.udp;
}

/** What all fragments of one datagram share (RFC 791 §3.2, RFC 8200 §4.5). */
function trainOf(bytes: Uint8Array, headers: Headers): string {
  const ends = `${sourceIp(bytes, headers)}|${destinationIp(bytes, headers)}`;
  return `${ends}|${headers.protocol}|${identificationOf(bytes, headers)}`;
}
