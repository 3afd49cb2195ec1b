/** The store of leases on a real etcd, which goes away, comes back, and forgets. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RealClock } from "#core/base/real-clock.node.ts";
import { Prng } from "#core/base/prng.ts";
import { type Ipv4, parseIp } from "#core/net/ip.ts";
import { RealEtcd, requireEtcd } from "#test/support/flannel/real-etcd.ts";
import { FlannelError, KeptLog } from "../reports.ts";
import type { LeaseListener } from "../leases/lease-store.ts";
import { type StoreWorld, leaseStoreSuite } from "#test/support/flannel/lease-store.suite.ts";
import { type Lease, formatSubnets } from "../leases/lease.ts";
import { EtcdLeaseStore } from "./etcd-lease-store.ts";
import { EtcdGatewayClient } from "./gateway-client.node.ts";
import { SubnetRegistry } from "./subnet-registry.ts";

const NET_CONF = '{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}';

let etcd: RealEtcd;
let prefixes = 0;

beforeAll(async () => {
  requireEtcd();
  etcd = await RealEtcd.start();
}, 30_000);

afterAll(async () => {
  await etcd.close();
});

async function pause(ms = 150): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until something holds: real servers take their time. */
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !holds(); tries++) await pause(50);
  expect(holds()).toBe(true);
}

interface Cell {
  readonly client: EtcdGatewayClient;
  readonly registry: SubnetRegistry;
  readonly log: KeptLog;
  readonly store: (compat?: "upstream" | "hardened") => EtcdLeaseStore;
}

async function cell(netConf = NET_CONF): Promise<Cell> {
  const prefix = `/test-${++prefixes}/network`;
  const client = new EtcdGatewayClient({ endpoints: ["http://127.0.0.1:1", etcd.endpoint] });
  const log = new KeptLog();
  const registry = new SubnetRegistry(client, prefix, log);
  await client.put(`${prefix}/config`, netConf, "0");
  const [clock, prng] = [new RealClock(), new Prng(prefixes)];
  return {
    client,
    registry,
    log,
    store: (compat = "hardened") =>
      new EtcdLeaseStore({
        registry,
        clock,
        prng,
        compat,
        log,
        previous: { subnet: undefined, ipv6Subnet: undefined },
      }),
  };
}

leaseStoreSuite("a real etcd", async (): Promise<StoreWorld> => {
  const { client, registry, store } = await cell();
  return {
    store: async () => store(),
    settle: () => pause(),
    leave: async (_, lease) => client.delete(registry.keyOf(lease)),
    close: () => client.close(),
  };
});

function attributes(address: string): Lease["attributes"] {
  return {
    publicIp: parseIp(address) as Ipv4,
    publicIpv6: undefined,
    backendType: "host-gw",
    backendData: undefined,
    backendV6Data: undefined,
  };
}

async function take(store: EtcdLeaseStore, address: string): Promise<Lease> {
  const result = await store.acquire(attributes(address));
  if (result.state !== "acquired") throw new Error(result.message);
  return result.lease;
}

class Ear {
  readonly seen = new Set<string>();
  readonly revocations: string[] = [];
  readonly troubles: string[] = [];
  lists = 0;

  readonly hear: LeaseListener = (notice) => {
    if (notice.kind === "changed")
      for (const { type, lease } of notice.events)
        if (type === "added") this.seen.add(formatSubnets(lease));
        else this.seen.delete(formatSubnets(lease));
    else if (notice.kind === "listed") {
      this.lists++;
      this.seen.clear();
      for (const lease of notice.leases) this.seen.add(formatSubnets(lease));
    } else if (notice.kind === "revoked") this.revocations.push(notice.message);
    else if (notice.kind === "troubled") this.troubles.push(notice.message);
  };
}

describe("a real etcd", () => {
  it("CP-F41: the keys and values are those of flannel, and end with their grant", async () => {
    const { client, registry, store } = await cell();
    const lease = await take(store(), "192.168.64.3");
    const [value] = (await client.list(registry.subnetsPrefix)).values;
    expect(value?.key).toMatch(/^\/test-\d+\/network\/subnets\/10\.244\.\d+\.0-24$/);
    expect(value?.value).toBe('{"PublicIP":"192.168.64.3","PublicIPv6":null,"BackendType":"host-gw"}');
    const seconds = await client.timeToLive(value?.grant ?? "0");
    expect(seconds).toBeGreaterThan(86_390);
    await client.revoke(value?.grant ?? "0");
    expect((await client.get(registry.keyOf(lease))).values).toEqual([]);
    expect(await client.timeToLive(value?.grant ?? "0")).toBe(-1);
    await client.close();
  });

  it("the second of two creations of one key fails and leaves no grant behind", async () => {
    const { client, registry, store } = await cell();
    const lease = await take(store(), "10.0.0.1");
    const grants = async (): Promise<number> =>
      ((await etcd.ask("/v3/lease/leases", {}))["leases"] as readonly unknown[]).length;
    const before = await grants();
    expect(await registry.create(lease, attributes("10.0.0.2"))).toBeUndefined();
    const [value] = (await client.get(registry.keyOf(lease))).values;
    expect(value?.value).toContain("10.0.0.1");
    expect(await grants()).toBe(before);
    await client.close();
  });

  it("etcd that is gone is said at once, and asked again when it is back", { timeout: 30_000 }, async () => {
    const { client, store, log } = await cell();
    const [first, second] = [store(), store()];
    const own = await take(first, "10.0.0.1");
    const ear = new Ear();
    const stop = await first.watch(own, ear.hear);
    await etcd.down();
    expect((await second.acquire(attributes("10.0.0.2"))).state).toBe("unavailable");
    await expect(store("upstream").acquire(attributes("10.0.0.2"))).rejects.toThrow(FlannelError);
    await expect(first.renew(own)).rejects.toMatchObject({ code: "flannel-store-unreachable" });
    await until(() => ear.troubles.length > 0);
    await etcd.up();
    const lease = await take(second, "10.0.0.2");
    await until(() => ear.seen.has(formatSubnets(lease)));
    expect(ear.revocations).toEqual([]);
    expect(log.lines.filter(({ severity }) => severity === "E")).toEqual([]);
    stop();
    await client.close();
  });

  it("changes that etcd has forgotten are read as a whole", { timeout: 30_000 }, async () => {
    const { client, registry, store } = await cell();
    const own = await take(store(), "10.0.0.1");
    const old = await registry.list();
    for (let round = 0; round < 5; round++) await take(store(), "10.0.0.2");
    const { revision } = await registry.list();
    await etcd.ask("/v3/kv/compaction", { revision: String(revision), physical: true });
    const reported = await new Promise((resolve) => {
      client.watch(`${registry.subnetsPrefix}/`, old.revision + 1, {
        changed: () => resolve("changed"),
        compacted: (at) => resolve(at),
        ended: (message) => resolve(message),
      });
    });
    expect(reported).toBe(revision);
    const ear = new Ear();
    const stop = await store().watch(own, ear.hear);
    expect(ear.seen.size).toBe(2);
    stop();
    await client.close();
  });

  it("CP-F40: a key that an administrator deletes is a lease that was taken away", async () => {
    const { client, registry, store } = await cell();
    const own = await take(store(), "10.0.0.1");
    const ear = new Ear();
    const stop = await store().watch(own, ear.hear);
    await client.delete(registry.keyOf(own));
    await until(() => ear.revocations.length > 0);
    expect(ear.revocations).toHaveLength(1);
    stop();
    await client.close();
  });

  it("what etcd refuses is said with the path; a name without rights too", async () => {
    const client = new EtcdGatewayClient({ endpoints: [etcd.endpoint], username: "nobody", password: "x" });
    await expect(client.get("/x")).rejects.toMatchObject({
      code: "flannel-store-refused",
      message: expect.stringContaining("/v3/auth/authenticate") as string,
    });
    await client.close();
  });
});
