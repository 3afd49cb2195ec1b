import { describe, expect, it } from "vitest";
import { leftByUpstream, liveThrough } from "#test/support/cluster/episodes.suite.ts";

describe("a cluster with flannel whose nodes come and go", () => {
  it.each([
    ["vxlan", 4],
    ["host-gw", 6],
  ])("agrees on all leases after each episode, %s", async (backend, count) => {
    expect(await liveThrough(backend, 1, count)).toEqual([]);
  });

  // A MAC that nobody has any more, a lost network of HNS, and routes that a store of Windows or nobody takes away
  // (control-planes.md §1.8, §1.9; docs/reference/differences.md).
  it.each([
    ["vxlan", ["linux has too much: fdb MAC dst IP"]],
    ["host-gw", ["win has too much: IP via IP on vEthernet (Ethernet)"]],
  ])("keeps in upstream what is documented, %s", async (backend, kinds) => {
    expect(await leftByUpstream(backend, 3, 8)).toEqual(expect.arrayContaining(kinds));
  });
});
