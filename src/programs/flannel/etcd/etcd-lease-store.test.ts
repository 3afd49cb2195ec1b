import { FLANNELD_DIFFERENCES } from "../differences.ts";
import { LeaseWatcher } from "../leases/peers.ts";
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { type Ipv4, parseIp, parsePrefix } from "#core/net/ip.ts";
import { FlanneldWorld, routesOf } from "#test/support/flannel/flanneld-world.ts";
import { MemoryEtcd } from "#test/support/flannel/memory-etcd.ts";
import { KeptLog } from "../reports.ts";
import { type Lease, formatSubnets, parseSubnetKey } from "../leases/lease.ts";
import { EtcdLeaseStore } from "./etcd-lease-store.ts";
import { SubnetRegistry, formatLeaseValue, parseLeaseValue } from "./subnet-registry.ts";

const PREFIX = "/coreos.com/network";
const HOUR_MS = 3_600_000;
const BOTH = ["upstream", "hardened"] as const;

interface Cell {
  readonly world: FlanneldWorld;
  readonly etcd: MemoryEtcd;
  readonly registry: SubnetRegistry;
  readonly log: KeptLog;
  readonly store: (compat: "upstream" | "hardened", previous?: string) => EtcdLeaseStore;
}

function cell(config: object = { Network: "10.5.0.0/16", Backend: { Type: "host-gw" } }): Cell {
  const world = new FlanneldWorld();
  const etcd = new MemoryEtcd(world.clock);
  const log = new KeptLog();
  const registry = new SubnetRegistry(etcd, PREFIX, log);
  const prng = new Prng(5);
  etcd.set(`${PREFIX}/config`, JSON.stringify(config));
  return {
    world,
    etcd,
    registry,
    log,
    store: (compat, previous) =>
      new EtcdLeaseStore({
        registry,
        clock: world.clock,
        prng,
        compat,
        log,
        previous: {
          subnet: previous === undefined ? undefined : parsePrefix(previous),
          ipv6Subnet: undefined,
        },
      }),
  };
}

function attributes(address: string, backendData?: string): Lease["attributes"] {
  return {
    publicIp: parseIp(address) as Ipv4,
    publicIpv6: undefined,
    backendType: "host-gw",
    backendData,
    backendV6Data: undefined,
  };
}

function lease(subnet: string, address: string, backendData?: string): Lease {
  return {
    subnet: parsePrefix(subnet),
    ipv6Subnet: undefined,
    attributes: attributes(address, backendData),
    owner: undefined,
    timeToLiveMs: undefined,
  };
}

async function taken(store: EtcdLeaseStore, address: string): Promise<string> {
  const result = await store.acquire(attributes(address));
  return result.state === "acquired" ? formatSubnets(result.lease) : result.message;
}

describe("keys and values (control-planes.md §1.5)", () => {
  it("CP-F41: a value without BackendData, and one with", () => {
    expect(formatLeaseValue(attributes("192.168.64.3"))).toBe(
      '{"PublicIP":"192.168.64.3","PublicIPv6":null,"BackendType":"host-gw"}',
    );
    const data = '{"VNI":1,"VtepMAC":"aa:bb:cc:dd:ee:01"}';
    const value = formatLeaseValue({ ...attributes("192.168.64.3", data), backendType: "vxlan" });
    expect(value).toBe(
      `{"PublicIP":"192.168.64.3","PublicIPv6":null,"BackendType":"vxlan","BackendData":${data}}`,
    );
    expect(parseLeaseValue(value).backendData).toBe(data);
  });

  it.each([
    ["10.5.52.0-24", "10.5.52.0/24"],
    ["10.5.0.0-24&fc00::-64", "10.5.0.0/24 and fc00::/64"],
    ["/coreos.com/network/subnets/10.5.52.0-24", "10.5.52.0/24"],
    ["10.5.52.7-24", undefined],
    ["10.5.52.0-33", undefined],
    ["10.5.520.0-24", undefined],
    ["config", undefined],
  ])("the key %s", (key, expected) => {
    const subnets = parseSubnetKey(key);
    expect(subnets === undefined ? undefined : formatSubnets(subnets)).toBe(expected);
  });

  it("a key or a value that is none is left out and named", async () => {
    const { etcd, registry, log } = cell();
    etcd.set(`${PREFIX}/subnets/nonsense`, "{}");
    etcd.set(`${PREFIX}/subnets/10.5.1.0-24`, "no JSON");
    etcd.set(`${PREFIX}/subnets/10.5.2.0-24`, '{"PublicIP":"10.0.0.300"}');
    etcd.set(`${PREFIX}/subnets/10.5.3.0-24`, formatLeaseValue(attributes("10.0.0.3")));
    expect((await registry.list()).leases.map(formatSubnets)).toEqual(["10.5.3.0/24"]);
    expect(log.lines.map(({ text }) => text.split(":")[0])).toEqual([
      "Ignoring bad subnet node",
      "Ignoring bad subnet node",
      "Ignoring bad subnet node",
    ]);
  });
});

describe("which subnet a node gets", () => {
  it("the one that it has by its address, the one of the run before, else a free one", async () => {
    const { etcd, store } = cell();
    etcd.set(`${PREFIX}/subnets/10.5.9.0-24`, formatLeaseValue(attributes("10.0.0.9")));
    expect(await taken(store("upstream"), "10.0.0.9")).toBe("10.5.9.0/24");
    expect(await taken(store("upstream", "10.5.42.0/24"), "10.0.0.1")).toBe("10.5.42.0/24");
    expect(await taken(store("upstream", "10.5.42.0/24"), "10.0.0.2")).not.toBe("10.5.42.0/24");
    expect(await taken(store("upstream", "10.99.42.0/24"), "10.0.0.3")).toMatch(/^10\.5\.\d+\.0\/24$/);
  });

  it("a lease that does not fit the configuration any more is deleted", async () => {
    const { etcd, store } = cell();
    etcd.set(`${PREFIX}/subnets/10.9.9.0-24`, formatLeaseValue(attributes("10.0.0.9")));
    expect(await taken(store("upstream"), "10.0.0.9")).toMatch(/^10\.5\./);
    expect(etcd.text(`${PREFIX}/subnets/10.9.9.0-24`)).toBeUndefined();
  });

  it("none when all are leased", async () => {
    const { store } = cell({ Network: "10.5.0.0/28", Backend: { Type: "host-gw" } });
    for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
      expect(await taken(store("hardened"), address)).toContain("/30");
    await expect(store("hardened").acquire(attributes("10.0.0.4"))).rejects.toMatchObject({
      code: "flannel-subnets-exhausted",
      message: expect.stringContaining("out of subnets") as string,
    });
  });

  it("CP-F39: after a lost race upstream fails; hardened takes another one", async () => {
    for (const compat of BOTH) {
      const { etcd, store, registry } = cell();
      let races = 0;
      etcd.beforeCreate = () => {
        if (races++ > 0) return;
        etcd.set(registry.keyOf(lease("10.5.42.0/24", "10.0.0.7")), formatLeaseValue(attributes("10.0.0.7")));
      };
      const result = taken(store(compat, "10.5.42.0/24"), "10.0.0.1");
      if (compat === "upstream") await expect(result).rejects.toThrow("subnet already exists");
      else expect(await result).not.toBe("10.5.42.0/24");
    }
  });
});

describe("a flanneld whose leases are in etcd", () => {
  it("CP-F42: renews an hour before the end, and again a minute after a failure", async () => {
    const { world, etcd, store } = cell();
    const node = world.flanneld("l1", { os: "linux", store: store("upstream"), compat: "upstream" });
    await world.run(22.9 * HOUR_MS);
    expect(node.lines().some((line) => line.includes("Lease renewed"))).toBe(false);
    etcd.isGone = true;
    await world.run(0.2 * HOUR_MS);
    const failures = (): number =>
      node.lines().filter((line) => line.includes("trying again in 1 min")).length;
    expect(failures()).toBeGreaterThanOrEqual(6);
    expect(failures()).toBeLessThanOrEqual(7);
    etcd.isGone = false;
    await world.run(60_000);
    expect(node.lines().some((line) => line.includes("Lease renewed"))).toBe(true);
    await world.run(22.9 * HOUR_MS);
    expect(node.lines().filter((line) => line.includes("Lease renewed"))).toHaveLength(1);
  });

  it("CP-F40: a key that an administrator deletes ends it", async () => {
    for (const compat of BOTH) {
      const { world, etcd, store } = cell();
      const node = world.flanneld("l1", { os: "linux", store: store(compat), compat });
      await world.run(100);
      const [key = ""] = etcd.allKeys().filter((each) => each.includes("/subnets/"));
      etcd.unset(key);
      await world.run(100);
      expect(node.state).toMatchObject({ state: "ended", exitCode: compat === "upstream" ? 0 : 1 });
      expect(node.lines().at(-1)).toContain("Lease has been revoked. Shutting down daemon.");
    }
  });

  it("waits for its configuration, each second, for ever", async () => {
    const { world, etcd, store } = cell();
    etcd.set(`${PREFIX}/config`, '{"Network":"10.5.0.0/16","SubnetLen":31,"Backend":{"Type":"host-gw"}}');
    const node = world.flanneld("l1", { os: "linux", store: store("upstream") });
    await world.run(100_000);
    expect(node.state).toMatchObject({ state: "waiting", retryAfterMs: 1_000 });
    etcd.unset(`${PREFIX}/config`);
    await world.run(10_000);
    expect(node.lines().at(-1)).toContain("flannel config not found in etcd store");
    etcd.set(`${PREFIX}/config`, '{"Network":"10.5.0.0/16","Backend":{"Type":"host-gw"}}');
    await world.run(1_000);
    expect(node.state?.state).toBe("running");
  });

  it("etcd that goes and comes back: what is programmed stays, what changed is learnt", async () => {
    for (const compat of BOTH) {
      const { world, etcd, store } = cell();
      etcd.set(`${PREFIX}/subnets/10.5.9.0-24`, formatLeaseValue(attributes("10.0.0.9")));
      const node = world.flanneld("l1", { os: "linux", store: store(compat), compat });
      await world.run(100);
      const route = "10.5.9.0/24 via 10.0.0.9 on eth0";
      expect(routesOf(node.machine)).toEqual([route]);
      etcd.isGone = true;
      etcd.cut();
      await world.run(60_000);
      expect(routesOf(node.machine)).toEqual([route]);
      etcd.set(`${PREFIX}/subnets/10.5.8.0-24`, formatLeaseValue(attributes("10.0.0.8")));
      etcd.unset(`${PREFIX}/subnets/10.5.9.0-24`);
      etcd.isGone = false;
      await world.run(60_000);
      expect(routesOf(node.machine)).toEqual(["10.5.8.0/24 via 10.0.0.8 on eth0"]);
    }
  });

  it("changes that were compacted are read as a whole", async () => {
    const { world, etcd, store } = cell();
    etcd.set(`${PREFIX}/subnets/10.5.9.0-24`, formatLeaseValue(attributes("10.0.0.9")));
    const node = world.flanneld("l1", { os: "linux", store: store("hardened"), compat: "hardened" });
    await world.run(100);
    etcd.cut();
    etcd.unset(`${PREFIX}/subnets/10.5.9.0-24`);
    etcd.set(`${PREFIX}/subnets/10.5.8.0-24`, formatLeaseValue(attributes("10.0.0.8")));
    etcd.compact();
    await world.run(60_000);
    expect(routesOf(node.machine)).toEqual(["10.5.8.0/24 via 10.0.0.8 on eth0"]);
  });

  it("a lease that ran out while the machine slept and is another node's now: hardened ends", async () => {
    const { etcd, store, registry } = cell();
    const mine = await store("hardened").acquire(attributes("10.0.0.1"));
    if (mine.state !== "acquired") throw new Error(mine.message);
    etcd.unset(registry.keyOf(mine.lease));
    etcd.set(registry.keyOf(mine.lease), formatLeaseValue(attributes("10.0.0.2")));
    await expect(store("hardened").renew(mine.lease)).rejects.toMatchObject({
      code: "flannel-lease-conflict",
    });
    expect(etcd.text(registry.keyOf(mine.lease))).toContain("10.0.0.2");
    await store("upstream").renew(mine.lease);
    expect(etcd.text(registry.keyOf(mine.lease))).toContain("10.0.0.1");
  });

  // In etcd a lease has no name of a node (control-planes.md §1.5).
  it("a lease of etcd that hardened leaves out is told by its range alone", async () => {
    const { world, etcd, store } = cell();
    etcd.set(`${PREFIX}/subnets/10.5.9.0-24`, formatLeaseValue(attributes("127.0.0.1")));
    const node = world.flanneld("l1", { os: "linux", store: store("hardened"), compat: "hardened" });
    await world.run(100);
    expect(node.flanneld.findings().map(({ message }) => message)).toEqual([
      "the lease 10.5.9.0/24 is left out: its public address 127.0.0.1 is not that of a node",
    ]);
  });

  it("two nodes with one public address share one lease; hardened says so", async () => {
    const { world, store } = cell({ Network: "10.5.0.0/16", Backend: { Type: "vxlan", VNI: 4096 } });
    const first = world.flanneld("l1", { os: "linux", store: store("hardened"), compat: "hardened" });
    await world.run(100);
    world.flanneld("l2", { os: "linux", store: store("hardened"), compat: "hardened" });
    await world.run(100);
    expect(first.flanneld.findings()).toMatchObject([{ code: "flannel-lease-conflict" }]);
  });
});

describe("what a watcher makes of a list (control-planes.md §1.6)", () => {
  const own = lease("10.5.1.0/24", "10.0.0.1");
  const other = lease("10.5.2.0/24", "10.0.0.2", '{"VNI":1}');

  it("CP-F23: the own subnet in a change is no event; in a second list upstream tells it as removed", () => {
    for (const compat of BOTH) {
      const watcher = new LeaseWatcher(own, FLANNELD_DIFFERENCES[compat]);
      expect(watcher.update([{ type: "added", lease: own }])).toEqual([]);
      expect(watcher.reset([own, other])).toEqual([{ type: "added", lease: other }]);
      expect(watcher.reset([own, other])).toEqual(
        compat === "upstream" ? [{ type: "removed", lease: own }] : [],
      );
    }
  });

  it("CP-F24: a known subnet with another MAC is nothing to upstream, and an event to hardened", () => {
    const moved = lease("10.5.2.0/24", "10.0.0.2", '{"VNI":2}');
    for (const compat of BOTH) {
      const watcher = new LeaseWatcher(own, FLANNELD_DIFFERENCES[compat]);
      watcher.reset([other]);
      expect(watcher.reset([moved])).toEqual(compat === "upstream" ? [] : [{ type: "added", lease: moved }]);
    }
  });

  it("what is missing in a list has gone", () => {
    const watcher = new LeaseWatcher(own, FLANNELD_DIFFERENCES.hardened);
    watcher.reset([other]);
    expect(watcher.reset([])).toEqual([{ type: "removed", lease: other }]);
    expect(watcher.list()).toEqual([]);
  });
});
