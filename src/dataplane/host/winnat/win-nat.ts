/**
 * WinNAT: translates between the networks behind a Windows host and its own addresses (dataplane.md §2.7). `IpInput` and
 * the forwarding of the host's compartment call it; the README tells the way of a packet.
 */
import type { Stack, StackInterface } from "../stack.ts";
import { assert } from "#core/base/assert.ts";
import { readU8 } from "#core/base/bytes.ts";
import type { Provenance } from "#core/base/recorder.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { type Ip, type Ipv4, formatIp, prefixContains } from "#core/net/ip.ts";
import { ETHERNET_HEADER_BYTES } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol, ipProtocolName } from "#core/wire/ip-protocol.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import type { Packet } from "#core/wire/packet.ts";
import { LocalPorts } from "../local-ports.ts";
import { rewriteError, rewriteSide } from "../netfilter/rewrite.ts";
import type { Side } from "../netfilter/tuple.ts";
import { Reassembly } from "../ip/fragmentation.ts";
import {
  type NatBinding,
  type NatEnds,
  type NatPorts,
  type NatProgram,
  type NatSession,
  SessionTable,
  type StaticMapping,
  isError,
  readEnds,
  readQuotedEnds,
  tupleWith,
} from "./session-table.ts";

/** Offset of the flags in a TCP header. */
const TCP_FLAGS_OFFSET = 13;
const SECTION = "dataplane.md §2.7";

/** A packet that WinNAT has seen; `isRouted`: it goes behind the host, whatever the interface forwards. */
export interface Admitted {
  readonly packet: Packet;
  readonly headers: Headers;
  readonly view: Ipv4View;
  readonly isRouted: boolean;
}

export class WinNat implements NatPorts {
  private readonly compartment: Stack;
  private readonly programs = new Map<string, NatProgram>();
  private readonly table: SessionTable;
  private readonly echoIdentifiers: LocalPorts;
  private readonly reassembly: Reassembly;

  /** Made by `Compartment.enableWinNat` only. */
  constructor(compartment: Stack) {
    this.compartment = compartment;
    const { ephemeralPorts } = compartment.profile;
    // Inferred: echo identifiers are numbers of the same range; one that the host itself uses must not be among them.
    this.echoIdentifiers = new LocalPorts(ephemeralPorts, compartment.prng.derive("winnat-echo"));
    this.table = new SessionTable(this);
    this.reassembly = new Reassembly(compartment, "silent");
  }

  /** Replaces what `owner` asks for; undefined ends it, with all its sessions. */
  program(owner: string, program: NatProgram | undefined): void {
    const before = this.programs.get(owner);
    const mappings = program?.mappings.map(
      (wanted) => before?.mappings.find((known) => areEqual(known, wanted)) ?? wanted,
    );
    for (const mapping of before?.mappings ?? [])
      if (mappings?.includes(mapping) !== true) this.release(mapping);
    for (const mapping of mappings ?? [])
      if (before?.mappings.includes(mapping) !== true)
        this.portsOf(mapping.protocol)?.hold(mapping.externalPort);
    if (program === undefined || mappings === undefined) this.programs.delete(owner);
    else this.programs.set(owner, Object.freeze({ ...program, mappings: Object.freeze(mappings) }));
    this.table.removeInternal((ip) => !this.isInternal(ip));
  }

  listSessions(): readonly NatSession[] {
    return this.table.list(this.compartment.nowMs);
  }

  listMappings(): readonly StaticMapping[] {
    return [...this.programs.values()].flatMap(({ mappings }) => mappings);
  }

  /** True for addresses behind the host. */
  isInternal(ip: Ip): boolean {
    return this.programOf(ip) !== undefined;
  }

  portsOf(protocol: number): LocalPorts | undefined {
    switch (protocol) {
      case IpProtocol.tcp:
        return this.compartment.tcp.ports;
      case IpProtocol.udp:
        return this.compartment.udp.ports;
      case IpProtocol.icmp:
        return this.echoIdentifiers;
      default:
        return undefined;
    }
  }

  /** A packet arrived on `from`. @returns undefined when it waits for further fragments, or ended. */
  receive(from: StackInterface, packet: Packet, headers: Headers, view: Ipv4View): Admitted | undefined {
    const isLocal = this.compartment.isLocal(view.destination);
    const concerns = this.isBehind(from) ? this.isInternal(view.source) && !isLocal : isLocal;
    const arrived = { packet, headers, view, isRouted: false };
    if (!concerns) return arrived;
    const whole = headers.isFragment ? this.defragment(packet, view) : arrived;
    if (whole === undefined || this.isBehind(from)) return whole;
    return this.translateIn(whole);
  }

  /** A packet is routed to `nextHop` over `out`. @returns false when it ended. */
  forward(packet: Packet, out: StackInterface, nextHop: Ipv4): boolean {
    const { headers, view } = parse(packet);
    const program = this.programOf(view.source);
    if (program === undefined || this.isBehind(out)) return true;
    if (isError(packet.bytes, headers)) return this.translateErrorOut(packet, headers);
    const ends = readEnds(packet.bytes, headers, "source");
    const externalIp = this.compartment.sourceFor(out, view.destination, nextHop);
    if (ends === undefined || typeof externalIp !== "number") {
      const what = ends === undefined ? ipProtocolName(view.protocol) : `${out.name} has no address`;
      this.compartment.drop(packet, "winnat-not-translated", `not translated: ${what}`, program.provenance);
      return false;
    }
    const isClosed = program.closed?.includes(ends.ip) === true;
    if (isClosed && this.table.findOut(ends, this.compartment.nowMs) === undefined) {
      const text = `${formatIp(ends.ip)} may open no connections: no ACL allows it`;
      this.compartment.drop(packet, "hns-nat-denies-outbound", text, program.provenance);
      return false;
    }
    const session = this.sessionOut(ends, externalIp);
    if (session === undefined) {
      const text = `no port of ${formatIp(externalIp)} is left for ${formatEnd(ends)}`;
      this.compartment.drop(packet, "winnat-ports-exhausted", text, program.provenance);
      return false;
    }
    const { binding } = session;
    session.touch("out", tcpFlags(packet, headers), this.compartment.nowMs);
    const target = tupleWith("source", ends.protocol, binding.externalIp, binding.externalPort);
    rewriteSide(packet.bytes, headers, "source", target);
    const after = { ...ends, ip: binding.externalIp, port: binding.externalPort };
    this.record(packet, "source", ends, after, binding.mapping?.provenance ?? program.provenance);
    return true;
  }

  /** The host itself sends an ICMP error about a packet that was translated on its way in: its sender knows another. */
  restoreQuoted(packet: Packet): void {
    const { headers } = parse(packet);
    const ends = readQuotedEnds(packet.bytes, headers, "source");
    if (ends === undefined || !this.isInternal(ends.ip)) return;
    const source = parse(packet).view.source;
    const binding = this.table.findOut(ends, this.compartment.nowMs)?.binding;
    if (binding !== undefined) this.rewriteQuoted(packet, headers, "source", source, binding);
  }

  private translateIn(arrived: Admitted): Admitted | undefined {
    const { packet, headers, view } = arrived;
    const { bytes } = packet;
    if (isError(bytes, headers)) return this.translateErrorIn(arrived);
    const ends = readEnds(bytes, headers, "destination");
    const mapping = ends === undefined ? undefined : this.mappingOf(ends);
    const binding =
      ends === undefined || mapping === undefined
        ? ends && this.table.findBinding(ends, this.compartment.nowMs)
        : this.table.bindingOf(mapping, ends.ip);
    if (ends === undefined || binding === undefined) return arrived;
    const provenance = mapping?.provenance ?? this.programOf(binding.internalIp)?.provenance;
    const nowMs = this.compartment.nowMs;
    if (!binding.letsIn(ends.remote, nowMs)) {
      const text = `${formatIp(ends.remote)} was never asked by ${formatIp(binding.internalIp)}, which has port ${ends.port}`;
      this.compartment.drop(packet, "winnat-address-filtered", text, provenance);
      return undefined;
    }
    if (view.ttl <= 1) {
      this.compartment.drop(packet, "ttl-expired", "the TTL ran out at the host");
      this.compartment.icmp.sendError(packet, "ttl-expired");
      return undefined;
    }
    const session =
      this.table.findIn(binding, ends, nowMs) ??
      (mapping === undefined ? undefined : this.table.open(binding, ends, "in", nowMs));
    if (mapping !== undefined && session === undefined) {
      this.compartment.drop(packet, "winnat-ports-exhausted", "no session is left", provenance);
      return undefined;
    }
    session?.touch("in", tcpFlags(packet, headers), nowMs);
    const target = tupleWith("destination", ends.protocol, binding.internalIp, binding.internalPort);
    rewriteSide(bytes, headers, "destination", target);
    const after = { ...ends, ip: binding.internalIp, port: binding.internalPort };
    this.record(packet, "destination", ends, after, provenance);
    return { ...arrived, isRouted: true };
  }

  private sessionOut(ends: NatEnds, externalIp: Ipv4): NatSession | undefined {
    const nowMs = this.compartment.nowMs;
    const known = this.table.findOut(ends, nowMs);
    if (
      known !== undefined &&
      (known.binding.mapping !== undefined || known.binding.externalIp === externalIp)
    )
      return known;
    // Inferred: what a published port sends first leaves by it, too; the first of several mappings decides.
    const mapping = this.listMappings().find(
      ({ protocol, internalIp, internalPort }) =>
        protocol === ends.protocol && internalIp === ends.ip && internalPort === ends.port,
    );
    const binding =
      mapping === undefined
        ? this.table.bindingFor(ends, externalIp, nowMs)
        : this.table.bindingOf(mapping, mapping.externalIp ?? externalIp);
    return binding && this.table.open(binding, ends, "out", nowMs);
  }

  private mappingOf({ protocol, ip, port }: NatEnds): StaticMapping | undefined {
    for (const { mappings } of this.programs.values())
      for (const mapping of mappings)
        if (
          mapping.protocol === protocol &&
          mapping.externalPort === port &&
          (mapping.externalIp === undefined || mapping.externalIp === ip)
        )
          return mapping;
    return undefined;
  }

  private translateErrorIn(arrived: Admitted): Admitted {
    const { packet, headers } = arrived;
    const ends = readQuotedEnds(packet.bytes, headers, "destination");
    const binding = ends && this.table.findBinding(ends, this.compartment.nowMs);
    const isKnown = ends !== undefined && binding?.letsIn(ends.remote, this.compartment.nowMs) === true;
    if (!isKnown || binding === undefined) return arrived;
    const { protocol, internalIp, internalPort } = binding;
    const target = tupleWith("destination", protocol, internalIp, internalPort);
    const quoted = tupleWith("source", protocol, internalIp, internalPort);
    rewriteError(packet.bytes, headers, "destination", target, quoted);
    const text = `an ICMP error about a packet of ${formatIp(internalIp)}`;
    this.recordText(packet, text, this.programOf(internalIp)?.provenance);
    return { ...arrived, isRouted: true };
  }

  private translateErrorOut(packet: Packet, headers: Headers): boolean {
    const ends = readQuotedEnds(packet.bytes, headers, "source");
    const session = ends && this.table.findOut(ends, this.compartment.nowMs);
    if (session === undefined) {
      const text = "not translated: an ICMP error for a packet without a session";
      this.compartment.drop(packet, "winnat-not-translated", text);
      return false;
    }
    this.rewriteQuoted(packet, headers, "source", session.binding.externalIp, session.binding);
    return true;
  }

  /** Gives an error that goes out `source`, and what it quotes the ends that its receiver knows. */
  private rewriteQuoted(
    packet: Packet,
    headers: Headers,
    side: Side,
    source: Ipv4,
    { protocol, externalIp, externalPort }: NatBinding,
  ): void {
    const target = tupleWith(side, protocol, source, 0);
    const quoted = tupleWith("destination", protocol, externalIp, externalPort);
    rewriteError(packet.bytes, headers, side, target, quoted);
    this.recordText(packet, `an ICMP error from behind ${formatIp(externalIp)}`, undefined);
  }

  private release(mapping: StaticMapping): void {
    this.portsOf(mapping.protocol)?.letGo(mapping.externalPort);
    this.table.removeMapping(mapping);
  }

  private programOf(ip: Ip): NatProgram | undefined {
    for (const program of this.programs.values())
      if (program.prefixes.some((prefix) => prefixContains(prefix, ip))) return program;
    return undefined;
  }

  private isBehind({ name }: StackInterface): boolean {
    for (const { interfaceName } of this.programs.values()) if (interfaceName === name) return true;
    return false;
  }

  private defragment(packet: Packet, view: Ipv4View): Admitted | undefined {
    const whole = this.reassembly.accept(packet, view);
    if (whole === undefined) return undefined;
    const headers = new Headers();
    const reason = headers.parse(whole);
    const wholeView = Ipv4View.parse(whole.bytes, whole.start + ETHERNET_HEADER_BYTES, whole.end);
    if (reason === undefined && typeof wholeView !== "string")
      return { packet: whole, headers, view: wholeView, isRouted: false };
    this.compartment.dropMalformed(whole, reason ?? "ipv4-truncated");
    return undefined;
  }

  private record(
    packet: Packet,
    side: Side,
    before: NatEnds,
    after: NatEnds,
    provenance: Provenance | undefined,
  ): void {
    if (packet.tag === 0) return;
    this.recordText(packet, `${side} ${formatEnd(before)} becomes ${formatEnd(after)}`, provenance);
  }

  private recordText(packet: Packet, text: string, provenance: Provenance | undefined): void {
    if (packet.tag !== 0) this.compartment.recordTranslation(packet, "WinNAT", text, provenance, SECTION);
  }
}

function areEqual(a: StaticMapping, b: StaticMapping): boolean {
  return (
    a.protocol === b.protocol &&
    a.externalIp === b.externalIp &&
    a.externalPort === b.externalPort &&
    a.internalIp === b.internalIp &&
    a.internalPort === b.internalPort
  );
}

/** The headers of a packet that was checked on arrival. */
function parse(packet: Packet): { readonly headers: Headers; readonly view: Ipv4View } {
  const headers = new Headers();
  assert(headers.parse(packet) === undefined, "a routed packet is well formed");
  const view = Ipv4View.parse(packet.bytes, packet.start + ETHERNET_HEADER_BYTES, packet.end);
  assert(typeof view !== "string", "a routed packet has an IPv4 header");
  return { headers, view };
}

function tcpFlags({ bytes }: Packet, headers: Headers): number {
  const isRead = headers.protocol === IpProtocol.tcp && headers.transport >= 0;
  return isRead ? readU8(bytes, headers.transport + TCP_FLAGS_OFFSET) : 0;
}

function formatEnd({ protocol, ip, port }: NatEnds): string {
  return protocol === IpProtocol.icmp ? `${formatIp(ip)} id ${port}` : formatSocketAddress(ip, port);
}
