import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryTcpFrame } from "#test/support/wire/arbitrary-frames.ts";
import { Headers } from "./headers.ts";
import { segmentTcp } from "./segmentation.ts";
import { TcpFlag, TcpView } from "./tcp.ts";
import { verifyChecksums } from "./transport-checksum.ts";

function tcpOf(bytes: Uint8Array, headers: Headers): TcpView {
  const view = TcpView.parse(bytes, headers.transport, headers.end);
  if (typeof view === "string") throw new Error(view);
  return view;
}

describe("segmentTcp", () => {
  it("DT-185: cuts any TCP frame into sound segments in order; CWR on the first, FIN and PSH on the last", () => {
    fc.assert(
      fc.property(arbitraryTcpFrame, fc.integer({ min: 1, max: 70 }), (packet, payloadBytesMax) => {
        const before = packet.frame.slice();
        const headers = new Headers();
        headers.parse(packet);
        const whole = tcpOf(packet.bytes, headers);
        const own = new Headers();
        const parts: number[] = [];
        const segments = segmentTcp(packet, headers, payloadBytesMax);
        for (const [index, segment] of segments.entries()) {
          expect(own.parse(segment)).toBeUndefined();
          expect(verifyChecksums(segment.bytes, own)).toBeUndefined();
          const tcp = tcpOf(segment.bytes, own);
          expect(tcp.sequence).toBe((whole.sequence + parts.length) % 0x1_0000_0000);
          expect(tcp.payloadLength).toBeLessThanOrEqual(payloadBytesMax);
          const isLast = index === segments.length - 1;
          const early = whole.flags & ~(isLast ? 0 : TcpFlag.fin | TcpFlag.psh);
          expect(tcp.flags).toBe(early & ~(index === 0 ? 0 : TcpFlag.cwr));
          parts.push(...segment.bytes.subarray(tcp.payloadStart, tcp.payloadEnd));
        }
        expect(parts).toEqual([...packet.bytes.subarray(whole.payloadStart, whole.payloadEnd)]);
        expect(segments).toHaveLength(Math.max(1, Math.ceil(whole.payloadLength / payloadBytesMax)));
        expect(packet.frame).toEqual(before);
      }),
    );
  });
});
