/** The `ping` of a system: several echo requests, one second apart, and what came of each. */
import type { Task, Timer } from "#core/base/clock.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Compartment } from "../compartment.ts";
import type { DeliveryFailure, SocketFailure } from "../delivery-failure.ts";
import type { EchoOptions, EchoOwner, EchoReply, EchoRequest } from "./echo-request.ts";

const INTERVAL_MS = 1_000;
const TIMEOUT_MS = 4_000;
const COUNT = 4;

export interface PingOptions {
  readonly compartment: Compartment;
  readonly destination: Ip;
  readonly source?: Ip;
  /** Default 4, as Windows does. */
  readonly count?: number;
  /** How long each request waits. Default 4000. */
  readonly timeoutMs?: number;
  /** Default: Windows 32, Linux 56. */
  readonly payloadBytes?: number;
  readonly isDontFragment?: boolean;
  readonly ttl?: number;
}

/** What came of one request. */
export type PingOutcome =
  | { readonly kind: "reply"; readonly reply: EchoReply }
  | { readonly kind: "failure"; readonly failure: DeliveryFailure }
  | { readonly kind: "not-sent"; readonly failure: SocketFailure }
  | { readonly kind: "timed-out" };

/** Waits for one request's end. */
class Attempt implements Task, EchoOwner {
  private readonly ping: Ping;
  private readonly index: number;
  private request: EchoRequest | undefined;
  private timer: Timer | undefined;

  constructor(ping: Ping, index: number) {
    this.ping = ping;
    this.index = index;
  }

  start(): void {
    const { compartment, timeoutMs } = this.ping.options;
    const request = compartment.icmp.echo(this.ping.echoOptions(this, this.index));
    if (typeof request === "string") {
      this.ping.settle(this.index, { kind: "not-sent", failure: request });
      return;
    }
    this.request = request;
    this.timer = compartment.env.clock.schedule(timeoutMs ?? TIMEOUT_MS, this);
  }

  run(): void {
    this.request?.cancel();
    this.ping.settle(this.index, { kind: "timed-out" });
  }

  echoAnswered(_request: EchoRequest, reply: EchoReply): void {
    this.stop();
    this.ping.settle(this.index, { kind: "reply", reply });
  }

  echoFailed(_request: EchoRequest, failure: DeliveryFailure): void {
    this.stop();
    this.ping.settle(this.index, { kind: "failure", failure });
  }

  private stop(): void {
    if (this.timer !== undefined) this.ping.options.compartment.env.clock.cancel(this.timer);
  }
}

export class Ping implements Task {
  readonly options: PingOptions;
  private readonly outcomes: (PingOutcome | undefined)[] = [];
  private readonly identifier: number;

  constructor(options: PingOptions) {
    this.options = options;
    this.identifier = options.compartment.icmp.newIdentifier();
  }

  /** Per request in order; undefined while it waits. */
  get results(): readonly (PingOutcome | undefined)[] {
    return this.outcomes;
  }

  get isDone(): boolean {
    const count = this.options.count ?? COUNT;
    return this.outcomes.length === count && this.outcomes.every((outcome) => outcome !== undefined);
  }

  /** Sends the first request; the others follow by themselves. */
  start(): void {
    this.run();
  }

  /** Sends the next request. */
  run(): void {
    const index = this.outcomes.length;
    this.outcomes.push(undefined);
    new Attempt(this, index).start();
    if (index + 1 < (this.options.count ?? COUNT))
      this.options.compartment.env.clock.schedule(INTERVAL_MS, this);
  }

  /** Called by an attempt that ended. */
  settle(index: number, outcome: PingOutcome): void {
    this.outcomes[index] = outcome;
  }

  /** Called by an attempt: the request it sends. */
  echoOptions(owner: EchoOwner, index: number): EchoOptions {
    const { compartment, destination, source, payloadBytes, isDontFragment, ttl } = this.options;
    const isOwnIdentifier = compartment.profile.echoIdentifier === undefined;
    return {
      destination,
      owner,
      identifier: this.identifier,
      // Linux counts per client; Windows goes on with the count of the whole system.
      ...(isOwnIdentifier ? { sequence: (index + 1) & 0xffff } : {}),
      ...(source === undefined ? {} : { source }),
      ...(payloadBytes === undefined ? {} : { payloadBytes }),
      ...(isDontFragment === undefined ? {} : { isDontFragment }),
      ...(ttl === undefined ? {} : { ttl }),
    };
  }
}
