/** What makes a network of leases: one for each type and operating system. */
import type { FlanneldDifferences } from "../differences.ts";
import { type FlannelFinding, FlannelError, findingOf, type FlannelLog } from "../reports.ts";
import type { ExternalInterface } from "../node/flannel-host.ts";
import type { LeaseStore } from "../leases/lease-store.ts";
import type { Lease, LeaseAttributes, LeaseEvent } from "../leases/lease.ts";
import type { NetworkConfig } from "../network-config.ts";
import { Poll, type Progress, done, failed } from "../progress.ts";
import type { FlanneldBehaviour } from "../flanneld-options.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

/** What is known once the network stands. */
export interface Registration {
  readonly lease: Lease;
  /** Of pods. */
  readonly mtuBytes: number;
}

/** Plain data, so that a world that holds it can be forked. One call at a time. */
export interface Backend {
  /** Takes the lease and makes the network. Call again while it waits. */
  register(nowMs: number): Promise<Progress<Registration>>;
  /** Programs what has become of other nodes' leases. What fails is logged, and tried again by `hardened`. */
  handle(events: readonly LeaseEvent[], nowMs: number): Promise<void>;
  /** All leases that were there at the start have been handled. */
  synced(nowMs: number): Promise<void>;
  /** Does what is due. @returns how long until something is due again; undefined: nothing is. */
  tick(nowMs: number): Promise<number | undefined>;
  /** What keeps this node from reaching others now. */
  findings(): readonly FlannelFinding[];
}

export interface BackendParts {
  readonly store: LeaseStore;
  readonly config: NetworkConfig;
  readonly external: ExternalInterface;
  readonly differences: FlanneldDifferences;
  readonly log: FlannelLog;
  /** Of the release that it is. */
  readonly behaviour: FlanneldBehaviour;
}

/** Asks a store as patiently as it wants to be asked. */
export class LeaseRequest {
  private readonly store: LeaseStore;
  private readonly poll: Poll;

  constructor(store: LeaseStore) {
    this.store = store;
    this.poll = new Poll(store.patience.everyMs, store.patience.timeoutMs);
  }

  async acquire(attributes: LeaseAttributes, nowMs: number): Promise<Progress<Lease>> {
    try {
      const result = await this.store.acquire(attributes);
      if (result.state === "acquired") {
        this.poll.reset();
        return done(result.lease);
      }
      const finding: FlannelFinding = {
        code: "flannel-store-unreachable",
        message: `failed to acquire lease: ${result.message}`,
      };
      const retryAfterMs = this.poll.next(nowMs);
      return retryAfterMs === undefined ? failed(finding) : { state: "waiting", retryAfterMs, finding };
    } catch (error) {
      return failed(findingOf(error, "flannel-store-refused", "failed to acquire lease: "));
    }
  }
}

/** @throws FlannelError what host-gw says behind a NAT. */
export function refuseTranslation(external: ExternalInterface): void {
  if (external.publicIp === external.address && external.publicIpv6 === external.ipv6Address) return;
  throw new FlannelError("flanneld-cannot-start", WORDS.hostGwPublicIpDiffers);
}
