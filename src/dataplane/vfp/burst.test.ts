import { describe, expect, it } from "vitest";
import { formatHex } from "#core/base/encodings.ts";
import {
  ends,
  group,
  ip4,
  layer,
  makePort,
  rule,
  send,
  tcp,
  udp,
} from "#test/support/dataplane/engine-kit.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { Packet } from "#core/wire/packet.ts";
import { BURST_FRAMES_MAX, Burst } from "./burst.ts";
import type { VfpPort } from "./vfp-port.ts";

const A = "10.244.1.10";
const X = "203.0.113.10";
/** More than the engine takes for near. */
const FLOWS = 3_000;

function natPort(): VfpPort {
  const port = makePort([layer("SLB_NAT_LAYER", 50)]);
  const action = { type: "nat", side: "destination", ip: ip4("10.244.2.10"), port: 8080 } as const;
  port.setGroups("SLB_NAT_LAYER", [group([rule("nat", action, { isStateful: true })])]);
  return port;
}

function segment(sourcePort: number, flags: number = TcpFlag.ack): Packet {
  return tcp([A, sourcePort], [X, 443], flags);
}

function burstOf(packets: readonly Packet[]): Burst {
  const burst = new Burst();
  for (const packet of packets) expect(burst.add(packet)).toBeUndefined();
  return burst;
}

describe("a burst", () => {
  it("of frames of many connections is translated as each frame alone", () => {
    const [alone, together] = [natPort(), natPort()];
    for (let i = 0; i < FLOWS; i++) {
      send(alone, "out", segment(1024 + i));
      send(together, "out", segment(1024 + i));
    }
    const burst = new Burst();
    for (let from = 0; from < FLOWS; from += BURST_FRAMES_MAX) {
      burst.clear();
      const packets = Array.from({ length: BURST_FRAMES_MAX }, (_, i) =>
        segment(1024 + (((from + i) * 7) % FLOWS)),
      );
      const twins = packets.map((packet) => packet.copy());
      for (const packet of packets) burst.add(packet);
      together.readAhead("out", burst);
      for (const [index, packet] of packets.entries()) {
        expect(together.processRead(burst, index, 2)).toBe("pass");
        send(alone, "out", twins[index]!, 2);
        expect(formatHex(packet.frame)).toBe(formatHex(twins[index]!.frame));
      }
    }
    expect(together.counters).toEqual(alone.counters);
    expect(together.packets).toEqual(alone.packets);
    expect(together.counters.out.unifiedFlowMatch).toBeGreaterThanOrEqual(FLOWS);
  });

  it("meets the flow that an earlier frame of it made, and rules that changed meanwhile", () => {
    const port = natPort();
    const burst = burstOf([segment(5000), segment(5000), segment(5000)]);
    port.readAhead("out", burst);
    expect(port.processRead(burst, 0, 1)).toBe("pass");
    expect(port.processRead(burst, 1, 1)).toBe("pass");
    expect(port.counters.out.unifiedFlowMatch).toBe(1);
    port.setGroups("SLB_NAT_LAYER", [group([rule("no", { type: "block", code: "acl-rule-blocked" })])]);
    expect(port.processRead(burst, 2, 1)).toBe("drop");
  });

  it("meets the port as it is when its turn comes", () => {
    const port = natPort();
    const datagram = (): Packet => udp([A, 5000], [X, 8472], Uint8Array.of(1, 2));
    send(port, "out", datagram());
    const burst = burstOf([datagram(), datagram(), datagram()]);
    port.readAhead("out", burst);
    expect(port.processRead(burst, 0, 1)).toBe("pass");
    // What was read as a datagram is a tunnel now, and a broken one.
    port.parserSettings = { ...port.parserSettings, vxlanPort: 8472 };
    expect(port.processRead(burst, 1, 1)).toBe("drop");
    expect(port.lastDropCode).toBe("tunnel-refused");
    port.isBlocked = true;
    expect(port.processRead(burst, 2, 1)).toBe("drop");
    expect(port.lastDropCode).toBe("switch-port-blocked");
  });

  it("leaves to the layers what no flow decides", () => {
    const port = natPort();
    const first = udp([A, 5000], [X, 53], Uint8Array.of(1, 2));
    const burst = burstOf([segment(5000, TcpFlag.syn), first, segment(5000, TcpFlag.fin | TcpFlag.ack)]);
    port.readAhead("out", burst);
    for (let i = 0; i < burst.length; i++) expect(port.processRead(burst, i, 1)).toBe("pass");
    expect(ends(first)).toBe("10.244.1.10:5000 > 10.244.2.10:8080");
    const { synPackets, finPackets, unifiedFlowMatch } = port.counters.out;
    expect({ synPackets, finPackets, unifiedFlowMatch }).toEqual({
      synPackets: 1,
      finPackets: 1,
      unifiedFlowMatch: 0,
    });
    expect(port.packets.out).toBe(3);
  });

  it("refuses a frame that cannot be read, and takes the next in its place", () => {
    const broken = segment(5000);
    broken.end = broken.start + 20;
    const burst = new Burst();
    expect(burst.add(broken)).toBe("ipv4-truncated");
    expect(burst.length).toBe(0);
    const sound = segment(5001);
    burst.add(sound);
    expect(burst.frameAt(0).packet).toBe(sound);
  });
});
