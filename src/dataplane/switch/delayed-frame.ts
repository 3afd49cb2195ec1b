/** A frame that passed a port's pipeline and waits for its turn under a rate (dataplane.md §1.6, DT-026). */
import type { Task } from "#core/base/clock.ts";
import type { VfpDirection } from "../vfp/rule.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { SwitchPort } from "./switch-port.ts";

/** How a frame left a port's pipeline. */
export interface Passage {
  readonly port: SwitchPort;
  readonly packet: Packet;
  /** The direction in which it came to the port. */
  readonly direction: VfpDirection;
  /** It goes back to the side that it came from. */
  readonly isHairpin: boolean;
  /** It came to the port in a tunnel. */
  readonly cameInTunnel: boolean;
  /** Its length when it came to the port. */
  readonly arrivedBytes: number;
}

/** Where a frame goes on. */
export interface PassageOwner {
  goOn(passage: Passage): void;
}

/**
 * Plain data, so that a world with frames that wait can be copied. What waits is bounded: a rate's queue has a length in
 * bytes, and what does not fit in is dropped by the engine.
 */
export class DelayedFrame implements Task {
  private readonly owner: PassageOwner;
  private readonly passage: Passage;

  constructor(owner: PassageOwner, passage: Passage) {
    this.owner = owner;
    this.passage = passage;
  }

  run(): void {
    this.owner.goOn(this.passage);
  }
}
