/** This node's Node object: its addresses, waited for at the start, and what its changes mean (kube-proxy.md §2.1). */
import type { Clock } from "../../base/clock.ts";
import type { Node } from "../../kube/objects.ts";
import { nodeAddresses } from "./node-addresses.ts";
import type { Waiter } from "./waiter.ts";

/** Upstream waits so long for the Node object and its addresses, and goes on without them. */
const NODE_WAIT_MS = 30_000;
const NODE_POLL_MS = 1_000;

/** What ends the wait for addresses, beside the addresses themselves. */
export interface NodeWait {
  /** The address is given already, or will not come. */
  readonly isNotNeeded: boolean;
}

export class OwnNode {
  private readonly clock: Clock;
  private readonly waiter: Waiter;
  private current: Node | undefined;
  private isListed = false;
  private atStart: readonly string[] = [];

  constructor(clock: Clock, waiter: Waiter) {
    this.clock = clock;
    this.waiter = waiter;
  }

  get isThere(): boolean {
    return this.current !== undefined;
  }

  /** Those that were found at the start. */
  get addresses(): readonly string[] {
    return this.atStart;
  }

  /** All Nodes have been told. */
  listed(): void {
    this.isListed = true;
    this.waiter.wake();
  }

  changed(node: Node | undefined): void {
    this.current = node;
    this.waiter.wake();
  }

  /** Returns when the addresses are known, when they are not needed, or after half a minute. */
  async wait({ isNotNeeded }: NodeWait): Promise<void> {
    while (!this.waiter.isEnded && !this.isListed) await this.waiter.sleep(NODE_POLL_MS);
    const untilMs = this.clock.nowMs + (isNotNeeded ? 0 : NODE_WAIT_MS);
    while (!this.waiter.isEnded && this.clock.nowMs < untilMs) {
      if (nodeAddresses(this.current).length > 0) break;
      await this.waiter.sleep(NODE_POLL_MS);
    }
    this.atStart = nodeAddresses(this.current);
  }

  /** What has changed since the start so that other addresses count; undefined: nothing. */
  difference(): string | undefined {
    if (this.current === undefined) return "was deleted";
    const now = nodeAddresses(this.current);
    return now.join() === this.atStart.join()
      ? undefined
      : `has other addresses: ${now.join(", ")} in place of ${this.atStart.join(", ")}`;
  }
}
