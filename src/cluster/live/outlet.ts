/**
 * The place at which frames leave the simulation: the end of a cable behind which a real machine stands. In a copy of the
 * cluster no machine is behind it; there the simulated one gets the frames whose place the real one has taken, if there is one.
 */
import type { FrameWatcher, Receiver } from "#dataplane/device/device.ts";
import type { Packet } from "#core/wire/packet.ts";

/** What stands for a real machine, and for who captures, in copies of the cluster. */
export const NOWHERE: Receiver & FrameWatcher = Object.freeze({
  receive: () => undefined,
  watch: () => undefined,
});

export class Outlet implements Receiver {
  private readonly outside: Receiver;
  private readonly simulated: Receiver;

  constructor(outside: Receiver, simulated: Receiver = NOWHERE) {
    this.outside = outside;
    this.simulated = simulated;
  }

  receive(packet: Packet): void {
    const receiver = this.outside === NOWHERE ? this.simulated : this.outside;
    receiver.receive(packet);
  }
}
