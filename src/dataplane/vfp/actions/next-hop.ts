/** What `paroute` asks the host stack. */
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";

/** The Ethernet header towards a next hop. */
export interface NextHop {
  readonly sourceMac: Mac;
  readonly destinationMac: Mac;
}

/** Is told when a question that was `pending` has an answer; it then asks again. */
export interface NextHopWaiter {
  nextHopSettled(): void;
}

/** The host's routing and neighbour tables, as far as VFP sees them. */
export interface NextHopResolver {
  /**
   * `pending`: the neighbour is being resolved; `waiter` is told once. `unreachable`: no route, or nobody answers.
   */
  resolve(destination: Ip, waiter: NextHopWaiter): NextHop | "pending" | "unreachable";
}

class NoWaiter implements NextHopWaiter {
  nextHopSettled(): void {}
}
/** For ports that are used without a switch. */
export const NO_WAITER: NextHopWaiter = Object.freeze(new NoWaiter());
