// ARP requests are offered to a machine as a whole. What comes of them is what comes of each as a frame.
import { afterEach, describe, expect, it, vi } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { parseIpv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import { NETWORKS } from "#test/support/cluster/every-network.suite.ts";
import { firstDifference, inputOf } from "#test/support/cluster/late-machines.suite.ts";
import { openSession } from "../session/open-session.ts";
import type { RunningCluster } from "../session/running-cluster.ts";

/** Scratch space, and the numbers of tasks. */
const BESIDES = [Headers, VirtualClock];
/** Adapters count up from 00-15-5D-00-00-11 (raise-machines.ts). */
const OF_LINUX = 0x0015_5d00_0014;
const STALE = 0x0200_0000_00aa as Mac;

afterEach(() => {
  vi.restoreAllMocks();
});

interface Opened {
  readonly session: RunningCluster;
  readonly frames: number;
}

async function opened(network: string, work: (session: RunningCluster) => Promise<void>): Promise<Opened> {
  const delivered = vi.spyOn(MemoryDevice.prototype, "deliver");
  const { session } = await openSession(inputOf({ network }));
  await work(session);
  return { session, frames: delivered.mock.calls.length };
}

/** The same with each request as a frame. */
async function openedByFrames(...world: Parameters<typeof opened>): Promise<Opened> {
  vi.restoreAllMocks();
  vi.spyOn(MemoryDevice.prototype, "hear").mockReturnValue("listens");
  return opened(...world);
}

function adapterOf({ cluster }: RunningCluster, index: number): Interface {
  const { host, spec } = defined(cluster.nodes[index], "the cluster has the node");
  return defined(host.root.interfaceOf(spec.address), "a node has its address");
}

/** The Linux node is the last: its announcements leave it at any time, those of a Windows node before it has its switch. */
const LINUX = 3;

/** The Linux node says of itself once more what it said when it came up. */
async function announceAgain(session: RunningCluster): Promise<void> {
  const { clock, nodes } = session.cluster;
  adapterOf(session, LINUX).neighbors.announce(defined(nodes[LINUX], "there is a Linux node").spec.address);
  clock.runUntil(clock.nowMs + 1_000);
}

const NOBODY = parseIpv4("10.0.0.99")!;
const WAITER = { nextHopSettled: (): void => undefined };

/** Each node asks for all others, and for an address that none has. */
async function askEachOther(session: RunningCluster): Promise<void> {
  const { clock, nodes } = session.cluster;
  for (const asker of nodes.keys())
    for (const ip of [...nodes.map(({ spec }) => spec.address), NOBODY])
      if (ip !== nodes[asker]!.spec.address) adapterOf(session, asker).neighbors.resolve(ip, WAITER);
  clock.runUntil(clock.nowMs + 10_000);
  await announceAgain(session);
}

describe("ARP requests change what frames change", () => {
  it.each(Object.entries(NETWORKS))("on %s", async (name, { text }) => {
    const whole = await opened(text, askEachOther);
    const byFrames = await openedByFrames(text, askEachOther);
    expect(firstDifference(whole.session.cluster, byFrames.session.cluster, BESIDES)).toBeUndefined();
    // L2Tunnel hangs on the switch of a physical host, which has no segment.
    if (name !== "L2Tunnel") expect(whole.frames).toBeLessThan(byFrames.frames);
  });

  it("and are noted by who knows the address (RFC 826)", async () => {
    const macs: (Mac | undefined)[] = [];
    const work = async (session: RunningCluster): Promise<void> => {
      const address = defined(session.cluster.nodes[LINUX], "there is a Linux node").spec.address;
      for (const other of [0, 1]) {
        const { neighbors } = adapterOf(session, other);
        neighbors.learn(address, STALE, true);
        await announceAgain(session);
        macs.push(neighbors.macOf(address));
      }
    };
    const whole = await opened("{ driver: L2Bridge }", work);
    const byFrames = await openedByFrames("{ driver: L2Bridge }", work);
    expect(firstDifference(whole.session.cluster, byFrames.session.cluster, BESIDES)).toBeUndefined();
    expect(macs).toEqual(Array.from(macs, () => OF_LINUX));
    expect(macs).toHaveLength(4);
  });
});
