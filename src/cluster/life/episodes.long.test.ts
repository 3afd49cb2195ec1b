import { describe, expect, it } from "vitest";
import { liveThrough } from "#test/support/cluster/episodes.suite.ts";

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`a cluster with flannel whose nodes come and go, replay: SEED=${seed} npm run test:long -- life/`, () => {
  it.each(["vxlan", "host-gw"])("agrees on all leases after each of 200 episodes, %s", async (backend) => {
    expect(await liveThrough(backend, seed, 200)).toEqual([]);
  });
});

// A kube-proxy that waited for its next try when its node left: its time was due for ever, and time stood still.
it.each([1005, 2006])("time goes on, seed %i", async (known) => {
  expect(await liveThrough("vxlan", known, 12)).toEqual([]);
});
