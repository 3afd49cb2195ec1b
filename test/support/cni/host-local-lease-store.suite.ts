/** The contract of `LeaseStore`, run on every implementation. */
import { describe, expect, it } from "vitest";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import {
  type LeaseNetwork,
  type LeaseStore,
  leasesOf,
  releaseOwner,
} from "#programs/plugins/host-local/leases.ts";

const SBX = { containerId: "SBX", ifName: "eth0" };
const OTHER = { containerId: "OTHER", ifName: "eth0" };
const ip = (text: string): Ip => parseIp(text)!;

export function describeLeaseStore(
  name: string,
  open: () => { store: LeaseStore; network: LeaseNetwork },
): void {
  describe(`${name} keeps the contract of LeaseStore`, () => {
    it("reserves an address once and remembers it as the last of its set", async () => {
      const { store, network } = open();
      await store.withLeases(network, "create", (leases) => {
        expect(leases.lastReserved(0)).toBeUndefined();
        expect(leases.reserve(ip("10.244.3.2"), SBX, 0)).toBe(true);
        expect(leases.reserve(ip("10.244.3.2"), OTHER, 0)).toBe(false);
        expect(leases.reserve(ip("10.244.3.3"), OTHER, 1)).toBe(true);
        expect(leases.lastReserved(0)).toBe(ip("10.244.3.2"));
        expect(leases.lastReserved(1)).toBe(ip("10.244.3.3"));
      });
    });

    it("keeps leases from one call to the next, both families", async () => {
      const { store, network } = open();
      await store.withLeases(network, "create", (leases) => {
        leases.reserve(ip("fd00:3::5"), SBX, 1);
        leases.reserve(ip("10.244.3.2"), SBX, 0);
      });
      const held = await store.withLeases(network, "existing", (leases) => leases.list());
      expect(held.map((lease) => [formatIp(lease.ip), lease.containerId, lease.ifName])).toEqual([
        ["10.244.3.2", "SBX", "eth0"],
        ["fd00:3::5", "SBX", "eth0"],
      ]);
    });

    it("release frees the address, keeps the last one, and may be repeated", async () => {
      const { store, network } = open();
      await store.withLeases(network, "create", (leases) => {
        leases.reserve(ip("10.244.3.2"), SBX, 0);
        leases.release(ip("10.244.3.2"));
        leases.release(ip("10.244.3.2"));
        expect(leases.list()).toEqual([]);
        expect(leases.lastReserved(0)).toBe(ip("10.244.3.2"));
        expect(leases.reserve(ip("10.244.3.2"), OTHER, 0)).toBe(true);
      });
    });

    it("finds and releases what an owner holds, and nobody else's", async () => {
      const { store, network } = open();
      await store.withLeases(network, "create", (leases) => {
        leases.reserve(ip("10.244.3.2"), SBX, 0);
        leases.reserve(ip("10.244.3.3"), { ...SBX, ifName: "eth1" }, 0);
        leases.reserve(ip("10.244.3.4"), OTHER, 0);
        expect(leasesOf(leases, { ...SBX, containerId: " SBX " }).map((lease) => formatIp(lease.ip))).toEqual(
          ["10.244.3.2"],
        );
        releaseOwner(leases, SBX);
        releaseOwner(leases, SBX);
        expect(leases.list().map((lease) => formatIp(lease.ip))).toEqual(["10.244.3.3", "10.244.3.4"]);
      });
    });

    it("a network that was never used is empty, and stays so", async () => {
      const { store, network } = open();
      const empty = await store.withLeases(network, "existing", (leases) => ({
        list: leases.list(),
        last: leases.lastReserved(0),
        reserved: leases.reserve(ip("10.244.3.2"), SBX, 0),
      }));
      expect(empty).toEqual({ list: [], last: undefined, reserved: false });
      expect(await store.withLeases(network, "existing", (leases) => leases.list())).toEqual([]);
    });

    it("keeps networks apart", async () => {
      const { store, network } = open();
      await store.withLeases(network, "create", (leases) => leases.reserve(ip("10.244.3.2"), SBX, 0));
      const other = { ...network, name: "other" };
      expect(await store.withLeases(other, "create", (leases) => leases.list())).toEqual([]);
    });

    it("lets an error of the work through and is free afterwards", async () => {
      const { store, network } = open();
      const failing = store.withLeases(network, "create", () => {
        throw new Error("no");
      });
      await expect(failing).rejects.toThrowError("no");
      expect(await store.withLeases(network, "create", (leases) => leases.list())).toEqual([]);
    });
  });
}
