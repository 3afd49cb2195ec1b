/** What a port works with while it looks at a packet. Made for the first one: most ports of a large world see none. */
import { TunnelHeaders } from "../wire/tunnel.ts";
import { FlowKey } from "./flow-key.ts";
import { QuotedPacket } from "./icmp-error.ts";

export class PortScratch {
  readonly key: FlowKey = new FlowKey();
  readonly layerKey: FlowKey = new FlowKey();
  readonly otherKey: FlowKey = new FlowKey();
  readonly arrivalKey: FlowKey = new FlowKey();
  readonly tunnel: TunnelHeaders = new TunnelHeaders();
  readonly quoted: QuotedPacket = new QuotedPacket();
}
