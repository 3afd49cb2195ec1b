/** Frames that nobody well-meaning sends, from pods and from the wire, into a whole cluster. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { framesBesideIpv6, makeHostile } from "../wire/hostile-frames.ts";
import { openTestCluster } from "./walk.ts";
import { Packet } from "#core/wire/packet.ts";
import { DATAPLANE_VECTORS } from "../wire/dataplane-vectors.ts";
import type { Device } from "#dataplane/device/device.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Cluster } from "#cluster/cluster.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { TraceCollector } from "#cluster/trace/trace-collector.ts";
import { tracePacket } from "#cluster/trace/trace.ts";

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
  throwFrames(cluster, prng, count, () => [damage(frames[prng.below(frames.length)]!, prng)]);
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

/** Sends what `next` makes, from everywhere, until `count` frames were sent. */
function throwFrames(cluster: Cluster, prng: Prng, count: number, next: () => readonly Uint8Array[]): void {
  const devices: Device[] = [
    ...cluster.pods.flatMap((pod) => pod.compartment.listInterfaces().map((each) => each.device)),
    ...cluster.nodes.flatMap((node) => node.host.root.listInterfaces().map((each) => each.device)),
    cluster.underlay.connect("stranger"),
  ];
  // Half of the frames are followed, so that recorders see all of it, too.
  cluster.env.recorder = new TraceCollector();
  for (let sent = 0; sent < count; ) {
    for (const frame of next()) {
      const device = devices[prng.below(devices.length)]!;
      device.transmit(Packet.fromFrame(frame, prng.below(2) === 0 ? 0 : 1));
      cluster.clock.runUntil(cluster.clock.nowMs + prng.below(20));
      sent++;
    }
  }
  cluster.env.recorder = undefined;
  cluster.clock.runUntil(cluster.clock.nowMs + 600_000);
}

/** Pods, a Service, the nodes and the outside of examples/dual-stack: who asks whom, on which port. */
const IPV6_CONVERSATIONS = [
  ["pod/client", "pod/web-1", 8080],
  ["pod/client", "pod/web-2", 8080],
  ["pod/tools", "pod/web-2", 8080],
  ["pod/client", "service/web", 80],
  ["external", "node/win-1", 30080],
  ["external", "node/linux-1", 8088],
  ["pod/client", "external", 443],
] as const;

/**
 * The same in a cluster of two families, with frames of IPv6: conversations, neighbour discovery, errors, all of them
 * fragmented, with extension headers and from nobody, too. Tables stay bounded, and IPv6 works as before.
 */
export async function surviveHostileIpv6(seed: number, count: number): Promise<void> {
  const cluster = await openDualStack();
  const prng = new Prng(seed);
  const ask = ([from, to, port]: (typeof IPV6_CONVERSATIONS)[number]) =>
    tracePacket(cluster, { from, to, protocol: "tcp", port, family: "ipv6" });
  const macs = cluster.pods.flatMap(({ compartment }) => compartment.listInterfaces().map(({ mac }) => mac));
  const ips = cluster.pods.flatMap(({ address6 }) => address6 ?? []);
  const pick = <T>(list: readonly T[]): T => list[prng.below(list.length)]!;
  const frames = [
    ...IPV6_CONVERSATIONS.flatMap((each) => ask(each).heard.map(({ frame }) => frame)),
    ...Array.from({ length: 8 }, () =>
      framesBesideIpv6([pick(macs), pick(macs)], [pick(ips), pick(ips)]),
    ).flat(),
  ];
  throwFrames(cluster, prng, count, () => makeHostile(pick(frames), prng));
  for (const { compartment } of cluster.pods)
    for (const { neighbors } of compartment.listInterfaces())
      expect(neighbors.list().length).toBeLessThanOrEqual(LIMITS.neighborsPerInterfaceMax);
  for (const each of IPV6_CONVERSATIONS)
    expect(ask(each).report.verdict, `${each[0]} → ${each[1]}`).toBe("answered");
}

async function openDualStack(): Promise<Cluster> {
  const textOf = (name: string): string => readFileSync(`examples/dual-stack/${name}`, "utf8");
  const read = readInput([
    { name: "cluster.yaml", text: textOf("cluster.yaml").replace("manifests:\n  - services.yaml\n", "") },
    { name: "services.yaml", text: textOf("services.yaml") },
  ]);
  if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
  return (await openSession(read.input)).session.cluster;
}
