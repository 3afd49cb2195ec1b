/** The speaking parts of messages as text: TCP flags and options, ARP, ICMP, ICMPv6, neighbour discovery. */
import { formatIp } from "../../net/ip.ts";
import { formatMac } from "../../net/mac.ts";
import { ArpOperation, type ArpView } from "../arp.ts";
import { IcmpType, IcmpUnreachable, type IcmpView } from "../icmp.ts";
import { Icmpv6Type, Icmpv6Unreachable, type Icmpv6View } from "../icmpv6/icmpv6.ts";
import type { NdView } from "../icmpv6/nd.ts";
import { TcpFlag, type TcpView } from "../tcp.ts";
import { type TcpOption, parseTcpOptions } from "../tcp-options.ts";

/** Flags by name in the order of their bits, joined by blanks; `no flags` when none is set. */
export function formatTcpFlags(flags: number): string {
  const names = Object.entries(TcpFlag).flatMap(([name, bit]) =>
    (flags & bit) === 0 ? [] : [name.toUpperCase()],
  );
  return names.length === 0 ? "no flags" : names.join(" ");
}

function formatTcpOption(option: TcpOption): string {
  switch (option.kind) {
    case "nop":
      return "nop";
    case "mss":
      return `mss ${option.mssBytes}`;
    case "window-scale":
      return `window scale ${option.shift}`;
    case "sack-permitted":
      return "sack permitted";
    case "sack":
      return `sack ${option.blocks.map(({ left, right }) => `${left}-${right}`).join(" ")}`;
    case "timestamps":
      return `timestamps ${option.value} ${option.echo}`;
    case "unknown":
      return `option ${option.number}`;
  }
}

/** Options in their order, fillers left out, joined by commas. */
export function formatTcpOptions(view: TcpView): string {
  const options = parseTcpOptions(view.options);
  if (typeof options === "string") return "broken";
  const texts = options.flatMap((option) => (option.kind === "nop" ? [] : [formatTcpOption(option)]));
  return texts.length === 0 ? "none" : texts.join(", ");
}

/** An ARP message as a sentence, as packet tools say it. */
export function formatArp(view: ArpView): string {
  const sender = formatIp(view.senderIp);
  const target = formatIp(view.targetIp);
  switch (view.operation) {
    case ArpOperation.request:
      if (view.senderIp === view.targetIp) return `announcement of ${sender} at ${formatMac(view.senderMac)}`;
      return view.senderIp === 0 ? `probe for ${target}` : `who has ${target}? tell ${sender}`;
    case ArpOperation.reply:
      return `${sender} is at ${formatMac(view.senderMac)}`;
    default:
      return `operation ${view.operation} from ${sender} to ${target}`;
  }
}

const UNREACHABLE_TEXTS: ReadonlyMap<number, string> = new Map([
  [IcmpUnreachable.network, "network unreachable"],
  [IcmpUnreachable.host, "host unreachable"],
  [IcmpUnreachable.protocol, "protocol unreachable"],
  [IcmpUnreachable.port, "port unreachable"],
  [IcmpUnreachable.networkProhibited, "network administratively prohibited"],
  [IcmpUnreachable.hostProhibited, "host administratively prohibited"],
  [IcmpUnreachable.communicationProhibited, "communication administratively prohibited"],
]);

/** What an ICMP message says, without its addresses. */
export function formatIcmp(view: IcmpView): string {
  const { type, code } = view;
  switch (type) {
    case IcmpType.echoRequest:
      return `echo request id ${view.identifier} seq ${view.sequence}`;
    case IcmpType.echoReply:
      return `echo reply id ${view.identifier} seq ${view.sequence}`;
    case IcmpType.destinationUnreachable:
      if (code === IcmpUnreachable.fragmentationNeeded) return `fragmentation needed, MTU ${view.mtuBytes}`;
      return UNREACHABLE_TEXTS.get(code) ?? `destination unreachable code ${code}`;
    case IcmpType.timeExceeded:
      return code === 0 ? "time to live exceeded" : "fragment reassembly time exceeded";
    case IcmpType.redirect:
      return `redirect code ${code}`;
    case IcmpType.parameterProblem:
      return `parameter problem at byte ${view.pointer}`;
    default:
      return `type ${type} code ${code}`;
  }
}

const UNREACHABLE_TEXTS_V6: ReadonlyMap<number, string> = new Map([
  [Icmpv6Unreachable.noRoute, "no route to destination"],
  [Icmpv6Unreachable.prohibited, "administratively prohibited"],
  [Icmpv6Unreachable.address, "address unreachable"],
  [Icmpv6Unreachable.port, "port unreachable"],
]);

/** What an ICMPv6 message says, without its addresses. */
export function formatIcmpv6(view: Icmpv6View): string {
  const { type, code } = view;
  switch (type) {
    case Icmpv6Type.echoRequest:
      return `echo request id ${view.identifier} seq ${view.sequence}`;
    case Icmpv6Type.echoReply:
      return `echo reply id ${view.identifier} seq ${view.sequence}`;
    case Icmpv6Type.destinationUnreachable:
      return UNREACHABLE_TEXTS_V6.get(code) ?? `destination unreachable code ${code}`;
    case Icmpv6Type.packetTooBig:
      return `packet too big, MTU ${view.mtuBytes}`;
    case Icmpv6Type.timeExceeded:
      return code === 0 ? "hop limit exceeded" : "fragment reassembly time exceeded";
    case Icmpv6Type.parameterProblem:
      return `parameter problem code ${code} at byte ${view.pointer}`;
    case Icmpv6Type.routerSolicitation:
      return "router solicitation";
    case Icmpv6Type.routerAdvertisement:
      return "router advertisement";
    case Icmpv6Type.neighborSolicitation:
      return "neighbor solicitation";
    case Icmpv6Type.neighborAdvertisement:
      return "neighbor advertisement";
    case Icmpv6Type.listenerQuery:
      return "multicast listener query";
    case Icmpv6Type.listenerReport:
      return "multicast listener report";
    default:
      return `type ${type} code ${code}`;
  }
}

/** A message of neighbour discovery as a sentence. */
export function formatNd(view: NdView): string {
  const { sourceMac, targetMac } = view;
  const from = sourceMac === undefined ? "" : ` from ${formatMac(sourceMac)}`;
  switch (view.type) {
    case Icmpv6Type.neighborSolicitation:
      return `who has ${formatIp(view.target)}?${from}`;
    case Icmpv6Type.neighborAdvertisement: {
      const flags = [
        view.isRouter ? "router" : "",
        view.isSolicited ? "solicited" : "",
        view.isOverride ? "override" : "",
      ].filter((flag) => flag !== "");
      const at = targetMac === undefined ? "" : ` is at ${formatMac(targetMac)}`;
      return `${formatIp(view.target)}${at || " is here"}${flags.length === 0 ? "" : ` (${flags.join(", ")})`}`;
    }
    case Icmpv6Type.routerAdvertisement:
      return `router advertisement${from} lifetime ${view.lifetimeSeconds} s`;
    default:
      return `router solicitation${from}`;
  }
}
