import { describe, expect, it } from "vitest";
import { liveThrough } from "#test/support/cluster/episodes.suite.ts";

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`a cluster with flannel whose nodes come and go, replay: SEED=${seed} npm run test:long -- life/`, () => {
  it.each(["vxlan", "host-gw"])("agrees on all leases after each of 200 episodes, %s", async (backend) => {
    expect(await liveThrough(backend, seed, 200)).toEqual([]);
  });
});
