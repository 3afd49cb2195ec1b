/** This node's Node object: its addresses, waited for at the start, and what its changes mean (kube-proxy.md §2.1). */
import type { Clock } from "#core/base/clock.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import { type IpFamily, familyOf } from "#core/net/ip.ts";
import { parseTolerantIp } from "../configuration/validate.ts";

// Waits of the start, which a change may cut short, and which end for good.

export class Waiter {
  private readonly clock: Clock;
  private isOver = false;
  private cut: () => void = () => undefined;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get isEnded(): boolean {
    return this.isOver;
  }

  /** Ends the present wait: there may be something new. */
  wake(): void {
    this.cut();
  }

  /** Ends all waits, also later ones. */
  end(): void {
    this.isOver = true;
    this.cut();
  }

  async sleep(ms: number): Promise<void> {
    if (this.isOver) return;
    await new Promise<void>((resolve) => {
      const timer = this.clock.schedule(ms, { run: () => resolve() });
      this.cut = (): void => {
        this.clock.cancel(timer);
        resolve();
      };
    });
    this.cut = (): void => undefined;
  }
}

/**
 * The node's addresses as kube-proxy takes them: internal ones before external ones, the first, and the first of the
 * other family. Empty: there are none.
 */
function nodeAddresses(node: Node | undefined): readonly string[] {
  const all = node?.status?.addresses ?? [];
  const wanted = ["InternalIP", "ExternalIP"].flatMap((type) => all.filter((each) => each.type === type));
  const known = wanted.flatMap(({ address }) => {
    const ip = parseTolerantIp(address);
    return ip === undefined ? [] : [{ address, family: familyOf(ip) }];
  });
  const [first] = known;
  if (first === undefined) return [];
  const second = known.find(({ family }) => family !== first.family);
  return second === undefined ? [first.address] : [first.address, second.address];
}

interface NodeAddress {
  readonly address: string;
  readonly family: IpFamily;
  readonly isLoopback: boolean;
}

const UNSPECIFIED: readonly string[] = ["0.0.0.0", "::"];

/** `bindAddress`, if it is one; else the Node's first address; else 127.0.0.1. */
export function primaryAddress(bindAddress: string, ofNode: readonly string[]): NodeAddress {
  const bound = UNSPECIFIED.includes(bindAddress) ? undefined : parseTolerantIp(bindAddress);
  const address = bound === undefined ? (ofNode[0] ?? "127.0.0.1") : bindAddress;
  const ip = parseTolerantIp(address);
  const isLoopback = address.startsWith("127.") || address === "::1";
  return { address, family: ip === undefined ? 4 : familyOf(ip), isLoopback };
}

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

  /** All Nodes have been reported. */
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
      : `has other addresses: ${now.join(", ")} instead of ${this.atStart.join(", ")}`;
  }
}
