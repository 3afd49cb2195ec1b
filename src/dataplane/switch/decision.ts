/**
 * What becomes of a frame on a switch. Rules decide and change nothing, neither the frame nor the tables that they read;
 * `virtual-switch.ts` carries decisions out.
 */
import type { PipelineEvent } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Delivery, SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";

/** A frame goes back to the machine that sent the one decided about. */
export interface Reply {
  readonly kind: "reply";
  readonly frame: Packet;
  readonly reason: string;
  /** The port itself answers, so its pipeline does not see the frame. */
  readonly isFromPort: boolean;
}

/** The frame ends here, counted under a code. */
export interface Drop {
  readonly kind: "drop";
  readonly code: KnowledgeCode;
  readonly text: string;
}

/** The frame ends here as it should: no fault, and nothing more to do. */
export interface Consumed {
  readonly kind: "consumed";
}

export type Decision = Delivery | Reply | Drop | Consumed;

/**
 * The seam for forwarding extensions of the Hyper-V switch, such as that of Open vSwitch: one per switch decides in place of
 * the switch's own rules. VFP stays on the ports, and runs before on the way in and after on the way out.
 *
 * An extension is part of the world's state: plain data with named methods, forked with its switch.
 */
export interface SwitchExtension {
  /** As `Get-VMSwitchExtension` names it. */
  readonly name: string;
  /**
   * What becomes of a frame that came from behind `source`; undefined leaves it to the switch. `headers` are the frame's.
   * `witness` hears what it met on its way; undefined where nobody follows it. A frame that goes on may be rewritten in place,
   * and get or lose outer headers; `headers` are then those of what it has become. One that ends stays as it is.
   */
  decide(
    tables: SwitchTables,
    source: SwitchPort,
    packet: Packet,
    headers: Headers,
    witness: PipelineWitness | undefined,
  ): Decision | undefined;
}

/** Hears of each pipeline that a followed frame came to, with the frame as it was there. */
export type PipelineWitness = (pipeline: Pick<PipelineEvent, "text" | "logical">, frame: Uint8Array) => void;

/** Sends `packet` out of `port`. Only packets that are followed have readers of the reason; the others cost no object. */
export function toPort(port: SwitchPort, packet: Packet, reason: string): Delivery {
  return packet.tag === 0 ? port.delivery : { kind: "to", ports: [port], reason, frame: undefined };
}

/** Sends `frame` out of `port`, in place of the one that came. */
export function toPortAs(port: SwitchPort, frame: Packet, reason: string): Delivery {
  return { kind: "to", ports: [port], reason, frame };
}

/** Sends a frame out of many ports. */
export function toPorts(ports: readonly SwitchPort[], reason: string): Delivery {
  return { kind: "to", ports, reason, frame: undefined };
}

export function drop(code: KnowledgeCode, text: string): Drop {
  return { kind: "drop", code, text };
}

export const CONSUMED: Consumed = Object.freeze({ kind: "consumed" });
