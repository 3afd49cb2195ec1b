/** Frames that nobody well-meaning sends, from pods and from the wire, into a whole cluster. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { Prng } from "../base/prng.ts";
import { openTestCluster } from "../testing/walk.ts";
import { Packet } from "../wire/packet.ts";
import { DATAPLANE_VECTORS } from "../testing/dataplane-vectors.ts";
import type { Device } from "../device/device.ts";
import type { Cluster } from "./cluster.ts";
import { TraceCollector } from "./trace-collector.ts";
import { tracePacket } from "./trace.ts";

/** Frames of real conversations in this cluster, so that damage hits flows, bindings and sockets. */
function collectFrames(cluster: Cluster): readonly Uint8Array[] {
  const pairs = [
    ["pod/client", "pod/api", "tcp"],
    ["pod/client", "external", "tcp"],
    ["pod/client", "external", "icmp"],
    ["external", "node/win-1", "icmp"],
  ] as const;
  const heard = pairs.flatMap(([from, to, protocol]) => {
    const port = protocol === "icmp" ? undefined : to === "external" ? 443 : 8080;
    return tracePacket(cluster, { from, to, protocol, port }).heard;
  });
  return [...heard.map(({ frame }) => frame), ...Object.values(DATAPLANE_VECTORS)];
}

/** Cuts, lengthens or overwrites a copy of `frame`; sometimes leaves it as it is. */
function damage(frame: Uint8Array, prng: Prng): Uint8Array {
  let bytes = frame.slice();
  for (let count = prng.below(4); count > 0 && bytes.length > 0; count--) {
    switch (prng.below(4)) {
      case 0:
        bytes = bytes.slice(0, prng.below(bytes.length + 1));
        break;
      case 1: {
        const longer = new Uint8Array(bytes.length + prng.below(64));
        longer.set(bytes);
        bytes = longer;
        break;
      }
      default:
        bytes[prng.below(bytes.length)] = prng.below(256);
    }
  }
  return bytes;
}

/**
 * Sends `count` frames and lets time pass. Nothing may throw, and afterwards ordinary packets must get through as
 * before.
 */
export async function surviveHostileFrames(
  seed: number,
  count: number,
  example = "two-windows-nodes",
): Promise<void> {
  const cluster = await openTestCluster(readFileSync(`examples/${example}/cluster.yaml`, "utf8"));
  const prng = new Prng(seed);
  const frames = collectFrames(cluster);
  const devices: Device[] = [
    ...cluster.pods.flatMap((pod) => pod.compartment.listInterfaces().map((each) => each.device)),
    ...cluster.nodes.flatMap((node) => node.host.root.listInterfaces().map((each) => each.device)),
    cluster.underlay.connect("stranger"),
  ];
  // Half of the frames are followed, so that recorders see all of it, too.
  cluster.env.recorder = new TraceCollector();
  for (let index = 0; index < count; index++) {
    const frame = damage(frames[prng.below(frames.length)]!, prng);
    const device = devices[prng.below(devices.length)]!;
    device.transmit(Packet.fromFrame(frame, prng.below(2) === 0 ? 0 : 1));
    cluster.clock.runUntil(cluster.clock.nowMs + prng.below(20));
  }
  cluster.env.recorder = undefined;
  cluster.clock.runUntil(cluster.clock.nowMs + 600_000);
  for (const [from, to] of [
    ["pod/client", "pod/api"],
    ["pod/client", "external"],
    ["pod/web", "pod/client"],
  ] as const) {
    const port = to === "external" ? 443 : 8080;
    expect(tracePacket(cluster, { from, to, protocol: "tcp", port }).report.verdict, `${from} → ${to}`).toBe(
      "answered",
    );
  }
}
