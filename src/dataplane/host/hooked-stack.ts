/** An IP stack with the rules of its system: what sends, takes and forwards packets asks them on the way. */
import type { Ip } from "#core/net/ip.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Netfilter } from "./netfilter/netfilter.ts";
import type { Stack, StackInterface } from "./stack.ts";
import type { WindowsFiltering } from "./windows-filtering/windows-filtering.ts";
import type { WinNat } from "./winnat/win-nat.ts";

export interface HookedStack extends Stack {
  readonly netfilter: Netfilter | undefined;
  readonly winNat: WinNat | undefined;
  readonly filtering: WindowsFiltering | undefined;
  /** FORWARD and POSTROUTING, or WinNAT, for the packet that is being routed. @returns false when a rule ended it. */
  passHooks(packet: Packet, out: StackInterface, nextHop: Ip): boolean;
}
