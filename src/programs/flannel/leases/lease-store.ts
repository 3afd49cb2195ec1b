/**
 * Where leases are kept: Node annotations, or etcd. Both do what upstream's subnet managers do; the contract suite
 * (`lease-store.suite.ts`) holds what they have in common.
 */
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Lease, LeaseAttributes, LeaseEvent } from "./lease.ts";
import type { NetworkConfig } from "../network-config.ts";
import type { Progress } from "../progress.ts";

/** What becomes of leases. */
export type Notice =
  /** Single changes. */
  | { readonly kind: "changed"; readonly events: readonly LeaseEvent[] }
  /** The whole list: of a store that has lost count of the changes. */
  | { readonly kind: "listed"; readonly leases: readonly Lease[] }
  /** All that was there when the watch began has been reported. */
  | { readonly kind: "synced" }
  /** The node's own attributes are not in the store any more: they have to be published again. */
  | { readonly kind: "unpublished" }
  /**
   * The node's own lease has been taken away; another node writes it; the store cannot be reached, and it is tried
   * again.
   */
  | { readonly kind: "revoked" | "conflicted" | "troubled"; readonly message: string };

/** Hears it, in order. Returns at once and throws nothing. */
export type LeaseListener = (notice: Notice) => void;

/** A lease that was taken, or why there is none yet. */
export type Acquisition =
  | { readonly state: "acquired"; readonly lease: Lease }
  /** The store cannot be asked now, or does not know the node yet: ask again. */
  | { readonly state: "unavailable"; readonly message: string };

/** How long and how often a caller asks a store that is unavailable. */
export interface Patience {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

/** MACs of a node's tunnels. */
export interface StoredMacs {
  readonly ipv4: Mac | undefined;
  readonly ipv6: Mac | undefined;
}

/** Failing calls reject with `FlannelError`. */
export interface LeaseStore {
  /** As flanneld prints it at its start. */
  readonly name: string;
  readonly patience: Patience;
  /** False: a configuration that is wrong or not there ends flanneld; true: it may become right, and is asked for again. */
  readonly retriesConfiguration: boolean;
  /** Makes ready what the store needs. Call again while it waits. */
  open(nowMs: number): Promise<Progress<undefined>>;
  readNetworkConfig(): Promise<NetworkConfig>;
  /** Addresses that an administrator wants the node to be known by: they win over the options. */
  readPublicIps(): Promise<readonly Ip[]>;
  /** MACs of the node's tunnels from before a restart. */
  readMacs(): Promise<StoredMacs>;
  /** Takes a subnet for the node, or publishes other attributes for the one that it has. */
  acquire(attributes: LeaseAttributes): Promise<Acquisition>;
  /** Called once the network stands. */
  complete(lease: Lease): Promise<void>;
  /** @returns the lease with its new time; undefined for a store whose leases do not end by themselves. */
  renew(lease: Lease): Promise<Lease | undefined>;
  /** Reports all leases to `listener`, and then what becomes of them, until the returned function is called. */
  watch(own: Lease, listener: LeaseListener): Promise<() => void>;
}

/** What a store has reported and flanneld has not yet worked on. Plain data. Bounded: one that is full forgets everything, and asks for everything anew. */
export class Inbox {
  private readonly depth: number;
  private notices: Notice[] = [];
  /** Notices were lost: the watch has to begin again. */
  isOverflowed = false;

  constructor(depth: number) {
    this.depth = depth;
  }

  get isEmpty(): boolean {
    return this.notices.length === 0;
  }

  /** The next one in order. */
  take(): Notice | undefined {
    return this.notices.shift();
  }

  /** Takes a notice in. */
  put(notice: Notice): void {
    if (notice.kind === "changed" && notice.events.length === 0) return;
    if (this.notices.length >= this.depth) {
      this.notices = [];
      this.isOverflowed = true;
    }
    if (!this.isOverflowed || notice.kind === "revoked") this.notices.push(notice);
  }
}
