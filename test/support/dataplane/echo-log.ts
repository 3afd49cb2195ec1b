/** Hears what becomes of echo requests: for tests of stacks. */
import type { DeliveryFailure } from "#dataplane/host/delivery-failure.ts";
import type { EchoReply, EchoRequest } from "#dataplane/host/probes/echo-request.ts";

export class EchoLog {
  readonly replies: EchoReply[] = [];
  readonly failures: DeliveryFailure[] = [];

  echoAnswered(_request: EchoRequest, reply: EchoReply): void {
    this.replies.push(reply);
  }

  echoFailed(_request: EchoRequest, failure: DeliveryFailure): void {
    this.failures.push(failure);
  }
}
