/**
 * Whose frame it is that carries the host's MAC (dataplane.md §2.17 step 4): the port that owns the NAT binding of its
 * destination address and port. Two kinds of packets have the port in another place.
 *
 * - A later fragment has none: it goes where the first one of its datagram went (dataplane.md §1.10). One that comes before
 *   the first is not matched.
 * - An ICMP error has it inside: it quotes a packet, whose sender it is for (dataplane.md §10). Inferred: the switch looks there as
 *   the port does (ParseIcmpMessage, dataplane.md §1.10, §11 Q-9); otherwise no error about a translated packet would
 *   reach the port that can translate it back, and each smaller MTU of a path would be a black hole.
 */
import { readU16 } from "#core/base/bytes.ts";
import type { Clock } from "#core/base/clock.ts";
import type { Ip } from "#core/net/ip.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { isErrorMessage } from "../vfp/actions/icmp-error.ts";
import { FragmentCache, identificationOf } from "../vfp/flows/fragment-cache.ts";
import { PortBlockTable } from "./port-blocks.ts";
import type { SwitchPort } from "./switch-port.ts";

/** TCP or UDP port of an address that belongs to a switch port, whatever MAC a frame carries. */
export interface StaticBinding {
  readonly ip: Ip;
  readonly protocol: number;
  readonly port: number;
}

function bindingKey({ ip, protocol, port }: StaticBinding): string {
  return `${ip}|${protocol}|${port}`;
}

export class NatBindings {
  /** Ports of the dynamic range, in blocks. */
  readonly blocks: PortBlockTable = new PortBlockTable();
  /** Static bindings, by the key of each. */
  private readonly statics = new Map<string, SwitchPort>();
  /** Which static bindings a port has, by its id; of several ports that have one, the last owns it. */
  private readonly held = new Map<string, Set<string>>();
  /** Which port the first fragment of a datagram went to. */
  private readonly trains = new FragmentCache<{ readonly owner: SwitchPort }>();
  private readonly quoted = new Headers();
  private readonly ports: ReadonlyMap<string, SwitchPort>;
  private readonly clock: Clock;

  /** `ports`: those of the switch by id, at any time. */
  constructor(ports: ReadonlyMap<string, SwitchPort>, clock: Clock) {
    this.ports = ports;
    this.clock = clock;
  }

  /** Each static binding with the id of the port that owns it, and those of all that hold it. */
  *listStatic(): Iterable<StaticBinding & { readonly owner: string; readonly holders: readonly string[] }> {
    for (const [key, { id: owner }] of this.statics) {
      const [ip = "", protocol = "", port = ""] = key.split("|");
      const holders = [...this.held].flatMap(([id, keys]) => (keys.has(key) ? [id] : []));
      const address = (Number(ip) <= 0xffff_ffff ? Number(ip) : BigInt(ip)) as Ip;
      yield { ip: address, protocol: Number(protocol), port: Number(port), owner, holders };
    }
  }

  /** All else that it has. */
  get rest(): readonly unknown[] {
    return [this.blocks, this.trains, this.quoted, this.ports, this.clock];
  }

  /** `binding` belongs to `port`, whatever MAC a frame carries. */
  add(port: SwitchPort, binding: StaticBinding): void {
    const key = bindingKey(binding);
    const keys = this.held.get(port.id) ?? new Set();
    this.held.set(port.id, keys.add(key));
    this.settle(key);
  }

  remove(port: SwitchPort, binding: StaticBinding): void {
    const key = bindingKey(binding);
    if (this.held.get(port.id)?.delete(key) === true) this.settle(key);
  }

  /** A port went, and what it had. */
  removePort(port: SwitchPort): void {
    const keys = this.held.get(port.id) ?? [];
    this.held.delete(port.id);
    for (const key of keys) this.settle(key);
  }

  private settle(key: string): void {
    let owner: SwitchPort | undefined;
    for (const port of this.ports.values()) if (this.held.get(port.id)?.has(key) === true) owner = port;
    if (owner === undefined) this.statics.delete(key);
    else this.statics.set(key, owner);
  }

  /** Notes of a datagram's first fragment where the others go. Other frames teach nothing. */
  learn(packet: Packet, headers: Headers): void {
    if (!headers.isFragment || headers.fragmentOffset !== 0 || !hasPorts(headers)) return;
    const { bytes } = packet;
    const train = trainOf(bytes, headers);
    const owner = this.ownerOf(destinationIp(bytes, headers), headers, bytes, 2);
    if (owner === undefined) this.trains.forget(train);
    // When no more can be remembered, later fragments go to the host, whose reassembly tells what is missing.
    else this.trains.remember(train, { owner }, this.clock.nowMs);
  }

  /** The port whose frame it is; undefined: none owns it. */
  findOwner(packet: Packet, headers: Headers): SwitchPort | undefined {
    if (headers.family === 0) return undefined;
    const { bytes } = packet;
    if (isErrorMessage(bytes, headers)) return this.ownerOfQuoted(bytes, headers);
    if (!hasPorts(headers)) return undefined;
    if (headers.fragmentOffset === 0) return this.ownerOf(destinationIp(bytes, headers), headers, bytes, 2);
    const owner = this.trains.find(trainOf(bytes, headers), this.clock.nowMs)?.owner;
    return owner !== undefined && this.ports.get(owner.id) === owner ? owner : undefined;
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
    if (owner !== undefined) return this.ports.get(owner);
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
