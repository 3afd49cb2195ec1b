/**
 * The hooks for frames that a bridge of the machine carries from one pod to another (net/bridge/br_netfilter_hooks.c;
 * Kubernetes asks for `net.bridge.bridge-nf-call-iptables = 1`). Without them the answer of a back end on the client's
 * own node would reach the client with the back end's address.
 */
import type { StackInterface } from "../stack.ts";
import type { HookedStack } from "../hooked-stack.ts";
import { isMulticastIp } from "#core/net/ip.ts";
import { isGroupMac } from "#core/net/mac.ts";
import { EtherType, EthernetView } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { ipViewOf } from "#core/wire/ip-view.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Admitted, Netfilter } from "./netfilter.ts";

/** What becomes of a frame: it goes on as these frames, or to the machine itself, whose stack redirects it. */
export type BridgeVerdict = readonly Packet[] | "redirected";

const ENDED: readonly Packet[] = Object.freeze([]);

/** FORWARD and POSTROUTING of a packet that stays on the bridge. @returns the frames to send: none when it ended. */
export function passBridge(
  compartment: HookedStack,
  netInterface: StackInterface,
  admitted: Admitted,
): readonly Packet[] {
  const { netfilter } = compartment;
  const { packet, headers, view, tracked } = admitted;
  if (netfilter === undefined) return [packet];
  const nextHop = view.destination;
  const isPassed =
    netfilter.forward(packet, headers, tracked) &&
    netfilter.postrouting(packet, headers, tracked, netInterface, nextHop);
  if (!isPassed) return ENDED;
  return view.totalLength <= netInterface.mtuBytes
    ? [packet]
    : compartment.output.fragment(packet, view, netInterface.mtuBytes);
}

/** All hooks for a frame from one port of the bridge to another. `netInterface` is the machine's on that bridge. */
export function filterBridged(
  compartment: HookedStack,
  netInterface: StackInterface,
  packet: Packet,
): BridgeVerdict {
  const { netfilter } = compartment;
  if (netfilter === undefined) return [packet];
  const headers = new Headers();
  if (headers.parse(packet) !== undefined || !isBridgedIp(packet, headers)) return [packet];
  const view = ipViewOf(packet.bytes, headers);
  if (view === undefined || isMulticastIp(view.destination)) return [packet];
  if (netfilter.isRedirecting(packet, headers)) return "redirected";
  return passAll(compartment, netfilter, netInterface, { packet, headers, view });
}

function passAll(
  compartment: HookedStack,
  netfilter: Netfilter,
  netInterface: StackInterface,
  frame: Omit<Admitted, "tracked">,
): readonly Packet[] {
  const outer = netfilter.handled;
  const admitted = netfilter.enter(frame.packet, frame.headers, frame.view);
  const frames = admitted === undefined ? ENDED : passBridge(compartment, netInterface, admitted);
  netfilter.leave(outer);
  return frames;
}

function isBridgedIp(packet: Packet, headers: Headers): boolean {
  const ethernet = EthernetView.parse(packet.bytes, packet.start, packet.end);
  return (
    (headers.etherType === EtherType.ipv4 || headers.etherType === EtherType.ipv6) &&
    !headers.isTagged &&
    typeof ethernet !== "string" &&
    !isGroupMac(ethernet.destinationMac)
  );
}
