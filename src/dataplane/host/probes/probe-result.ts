/** How one attempt to reach somebody ended, and the words for it. */
import { formatIp } from "#core/net/ip.ts";
import { type DeliveryFailure, FAILURE_TEXTS } from "../delivery-failure.ts";
import { SOCKET_FAILURE_TEXTS, type SocketFailure } from "../socket-failure.ts";

export type ProbeResult =
  /** `rttMs`: from the start to the whole answer, on the clock of the world. */
  | { readonly outcome: "answered"; readonly answer: string; readonly rttMs: number }
  | {
      /**
       * `refused`: the host is there and nobody serves. `timed-out`: nobody said anything. `unreachable`: a router or
       * the own stack said why not.
       */
      readonly outcome: "refused" | "timed-out" | "unreachable";
      /** One clause without a full stop. */
      readonly detail: string;
    };

/** A client object that makes one attempt. */
export interface Probe {
  /** Undefined while the attempt runs. */
  readonly result: ProbeResult | undefined;
  /** Begins the attempt; call it once. */
  start(): void;
}

/** Is told when a probe has its result. */
export interface ProbeOwner {
  probeEnded(probe: Probe): void;
}

/** The result for a report about a packet of the probe. */
export function failureResult(failure: DeliveryFailure): ProbeResult {
  const reporter = failure.reporter === undefined ? "this host" : formatIp(failure.reporter);
  const detail = `${FAILURE_TEXTS[failure.reason]}, says ${reporter}`;
  const isRefusal = failure.reason === "port-unreachable" || failure.reason === "protocol-unreachable";
  return { outcome: isRefusal ? "refused" : "unreachable", detail };
}

/** The result when the own stack refused to send. */
export function socketResult(failure: SocketFailure): ProbeResult {
  return { outcome: "unreachable", detail: SOCKET_FAILURE_TEXTS[failure] };
}
