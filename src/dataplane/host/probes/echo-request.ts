/** One ICMP echo request that waits for its answer. */
import type { PacketTag } from "#core/base/recorder.ts";
import type { Ip } from "#core/net/ip.ts";
import type { DeliveryFailure } from "../delivery-failure.ts";

/** The answer to an echo request. */
export interface EchoReply {
  readonly source: Ip;
  /** TTL of the answer as it arrived. */
  readonly ttl: number;
  readonly rttMs: number;
  readonly payloadBytes: number;
}

/** Hears how an echo request ended. */
export interface EchoOwner {
  echoAnswered(request: EchoRequest, reply: EchoReply): void;
  echoFailed(request: EchoRequest, failure: DeliveryFailure): void;
}

/** What `Icmp.echo` takes. Absent fields follow the system's `ping`. */
export interface EchoOptions {
  readonly destination: Ip;
  readonly owner: EchoOwner;
  readonly source?: Ip;
  readonly identifier?: number;
  /** Default: counts up over the whole compartment. */
  readonly sequence?: number;
  /** 0 to 65507. */
  readonly payloadBytes?: number;
  readonly isDontFragment?: boolean;
  readonly ttl?: number;
  readonly tag?: PacketTag;
}

interface EchoIdentity {
  /** Identifier and sequence number as one number. */
  readonly key: number;
  readonly identifier: number;
  readonly sequence: number;
  readonly sentAtMs: number;
}

/** Who keeps the requests that wait. */
interface EchoKeeper {
  forget(key: number): void;
}

export class EchoRequest {
  readonly destination: Ip;
  readonly identifier: number;
  readonly sequence: number;
  readonly sentAtMs: number;
  private readonly keeper: EchoKeeper;
  private readonly key: number;
  private readonly owner: EchoOwner;

  /** Made by `Icmp.echo` only. */
  constructor(keeper: EchoKeeper, options: EchoOptions, identity: EchoIdentity) {
    this.keeper = keeper;
    this.destination = options.destination;
    this.owner = options.owner;
    this.key = identity.key;
    this.identifier = identity.identifier;
    this.sequence = identity.sequence;
    this.sentAtMs = identity.sentAtMs;
  }

  /** Stops to wait: a later answer finds nobody. */
  cancel(): void {
    this.keeper.forget(this.key);
  }

  /** Called by `Icmp`. */
  answer(reply: EchoReply): void {
    this.owner.echoAnswered(this, reply);
  }

  /** Called by `Icmp`. */
  fail(failure: DeliveryFailure): void {
    this.owner.echoFailed(this, failure);
  }
}
