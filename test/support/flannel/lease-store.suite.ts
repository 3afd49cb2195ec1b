/** What every store of leases does: run on Nodes in memory, on an etcd in memory, and on a real etcd. */
import { describe, expect, it } from "vitest";
import { type Ipv4, parseIp, prefixCovers } from "#core/net/ip.ts";
import type { LeaseListener, LeaseStore } from "#programs/flannel/leases/lease-store.ts";
import {
  type Lease,
  type LeaseAttributes,
  type LeaseEvent,
  equalAttributes,
  formatSubnets,
  hasSameSubnets,
} from "#programs/flannel/leases/lease.ts";

/** A cluster with 10.244.0.0/16 whose nodes' stores the suite asks. */
export interface StoreWorld {
  /** The store of one node; each call is a flanneld that has just begun. Names are `n1`, `n2`, `n3`. */
  store(name: string): Promise<LeaseStore>;
  /** Lets everything happen that is under way. */
  settle(): Promise<void>;
  /** The node leaves: its Node is deleted, or its lease is. */
  leave(name: string, lease: Lease): Promise<void>;
  close(): Promise<void>;
}

function ip(text: string): Ipv4 {
  return parseIp(text) as Ipv4;
}

function attributesOf(address: string, mac: string): LeaseAttributes {
  return {
    publicIp: ip(address),
    publicIpv6: undefined,
    backendType: "vxlan",
    backendData: JSON.stringify({ VNI: 4096, VtepMAC: mac }),
    backendV6Data: undefined,
  };
}

const FIRST = attributesOf("10.0.0.11", "aa:bb:cc:dd:ee:01");
const SECOND = attributesOf("10.0.0.12", "aa:bb:cc:dd:ee:02");

class Ear {
  readonly leases = new Map<string, Lease>();
  readonly reported: string[] = [];
  isSynced = false;

  readonly hear: LeaseListener = (notice) => {
    if (notice.kind === "changed") for (const event of notice.events) this.take(event);
    else if (notice.kind === "listed") {
      this.leases.clear();
      for (const lease of notice.leases) this.leases.set(formatSubnets(lease), lease);
    } else if (notice.kind === "synced") this.isSynced = true;
    else if (notice.kind === "revoked" || notice.kind === "conflicted")
      this.reported.push(`${notice.kind} ${notice.message}`);
    else this.reported.push(notice.kind);
  };

  private take({ type, lease }: LeaseEvent): void {
    this.reported.push(`${type} ${formatSubnets(lease)}`);
    if (type === "added") this.leases.set(formatSubnets(lease), lease);
    else this.leases.delete(formatSubnets(lease));
  }
}

async function opened(world: StoreWorld, name: string): Promise<LeaseStore> {
  const store = await world.store(name);
  await store.open(0);
  await world.settle();
  expect((await store.open(0)).state).toBe("done");
  return store;
}

async function take(store: LeaseStore, attributes: LeaseAttributes): Promise<Lease> {
  const result = await store.acquire(attributes);
  if (result.state !== "acquired") throw new Error(result.message);
  return result.lease;
}

export function leaseStoreSuite(name: string, open: () => Promise<StoreWorld>): void {
  const inWorld = (body: (world: StoreWorld) => Promise<void>) => async (): Promise<void> => {
    const world = await open();
    try {
      await body(world);
    } finally {
      await world.close();
    }
  };

  describe(`a store of leases: ${name}`, () => {
    it(
      "tells the configuration",
      inWorld(async (world) => {
        const config = await (await opened(world, "n1")).readNetworkConfig();
        expect(config).toMatchObject({ backendType: "vxlan", isIpv4Enabled: true });
      }),
    );

    it(
      "gives a subnet of the network, and the same one to the same node again",
      inWorld(async (world) => {
        const lease = await take(await opened(world, "n1"), FIRST);
        const network = (await (await opened(world, "n1")).readNetworkConfig()).network;
        expect(
          network !== undefined && lease.subnet !== undefined && prefixCovers(network, lease.subnet),
        ).toBe(true);
        await world.settle();
        const again = await take(await opened(world, "n1"), FIRST);
        expect(hasSameSubnets(lease, again)).toBe(true);
      }),
    );

    it(
      "gives two nodes two subnets",
      inWorld(async (world) => {
        const [a, b] = [
          await take(await opened(world, "n1"), FIRST),
          await take(await opened(world, "n2"), SECOND),
        ];
        expect(formatSubnets(a)).not.toBe(formatSubnets(b));
      }),
    );

    it(
      "tells a watcher what is there, what comes, what changes and what goes",
      inWorld(async (world) => {
        const store = await opened(world, "n1");
        const own = await take(store, FIRST);
        const other = await opened(world, "n2");
        const lease = await take(other, SECOND);
        await world.settle();
        const ear = new Ear();
        const stop = await store.watch(own, ear.hear);
        await world.settle();
        expect(ear.isSynced).toBe(true);
        const seen = ear.leases.get(formatSubnets(lease));
        expect(seen !== undefined && equalAttributes(seen.attributes, SECOND)).toBe(true);
        const moved = attributesOf("10.0.0.12", "aa:bb:cc:dd:ee:99");
        await take(other, moved);
        await world.settle();
        expect(ear.leases.get(formatSubnets(lease))?.attributes.backendData).toBe(moved.backendData);
        const third = await take(await opened(world, "n3"), attributesOf("10.0.0.13", "aa:bb:cc:dd:ee:03"));
        await world.settle();
        expect(ear.leases.has(formatSubnets(third))).toBe(true);
        await world.leave("n2", lease);
        await world.settle();
        expect(ear.leases.has(formatSubnets(lease))).toBe(false);
        expect(ear.reported.filter((line) => line.startsWith("revoked"))).toEqual([]);
        stop();
        await world.leave("n3", third);
        await world.settle();
        expect(ear.leases.has(formatSubnets(third))).toBe(true);
      }),
    );

    it(
      "keeps a lease that is renewed",
      inWorld(async (world) => {
        const store = await opened(world, "n1");
        const lease = await take(store, FIRST);
        const renewed = await store.renew(lease);
        if (lease.timeToLiveMs === undefined) expect(renewed).toBeUndefined();
        else expect(renewed?.timeToLiveMs).toBe(24 * 60 * 60 * 1_000);
        await world.settle();
        expect(hasSameSubnets(lease, await take(store, FIRST))).toBe(true);
      }),
    );

    it(
      "is told when the network stands",
      inWorld(async (world) => {
        const store = await opened(world, "n1");
        await expect(store.complete(await take(store, FIRST))).resolves.toBeUndefined();
      }),
    );
  });
}
