import { expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { parseIp } from "#core/net/ip.ts";
import { describeLeaseStore } from "#test/support/cni/host-local-lease-store.suite.ts";
import { MemoryLeaseStore } from "./leases.ts";

const NETWORK = { dataDir: "/var/lib/cni/networks", name: "cbr0" };

describeLeaseStore("MemoryLeaseStore", () => ({ store: new MemoryLeaseStore(), network: NETWORK }));

it("forks with the world that holds it", async () => {
  const store = new MemoryLeaseStore();
  const copy = fork(store);
  await copy.withLeases(NETWORK, "create", (leases) =>
    leases.reserve(parseIp("10.0.0.2")!, { containerId: "a", ifName: "eth0" }, 0),
  );
  expect(await store.withLeases(NETWORK, "existing", (leases) => leases.list())).toEqual([]);
  expect(await copy.withLeases(NETWORK, "existing", (leases) => leases.list())).toHaveLength(1);
});
