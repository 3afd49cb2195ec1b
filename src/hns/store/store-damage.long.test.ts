/** The same as `store-damage.test.ts`, many times over. `MULLION_SEED` says where the seeds begin. */
import { expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import {
  damageStore,
  faultyRun,
  live,
  openAfter,
  powerCutRun,
  repairRun,
} from "#test/support/hns/damaged-stores.ts";
import { type DiskCall, type DiskError, SimulatedDisk } from "#test/support/hns/simulated-disk.ts";

const SEED = Number(process.env["MULLION_SEED"] ?? 20_261_123);
const STORES = 1_000;
const CUTS = 400;
const DISKS_EACH = 60;
const CALLS: readonly DiskCall[] = ["read", "write", "sync", "rename", "open"];
const ERRORS: readonly DiskError[] = ["EIO", "ENOSPC", "EROFS"];

it(`${STORES} damaged stores: wrong data served 0, acknowledged changes lost in silence 0 (MULLION_SEED=${SEED})`, async () => {
  const faults: string[] = [];
  let refusals = 0;
  for (let n = 0; n < STORES; n++) {
    const prng = new Prng(SEED + n);
    const lived = await live(prng, new SimulatedDisk(), 5 + prng.below(20));
    const disk = lived.disk.afterKill();
    const done = damageStore(prng, disk);
    const { refusal, wrong } = await openAfter(disk, lived);
    faults.push(...wrong.map((text) => `${SEED + n} ${done}: ${text}`));
    if (refusal !== undefined) refusals++;
  }
  expect(faults).toEqual([]);
  expect(refusals).toBeGreaterThan(STORES / 10);
  expect(refusals).toBeLessThan(STORES);
});

it(`${CUTS} power cuts lose nothing that was acknowledged (MULLION_SEED=${SEED})`, async () => {
  for (let n = 0; n < CUTS; n++)
    expect({ seed: SEED + n, ...(await powerCutRun(SEED + n)) }).toEqual({ seed: SEED + n, wrong: [] });
});

it(`${STORES} repairs leave what was acknowledged, or say what is lost (MULLION_SEED=${SEED})`, async () => {
  for (let n = 0; n < STORES; n++)
    expect({ seed: SEED + n, ...(await repairRun(SEED + n)) }).toEqual({ seed: SEED + n, wrong: [] });
});

it.each(CALLS.flatMap((call) => ERRORS.map((error) => [error, call] as const)))(
  `disks that give %s on %s: nothing lost, nothing comes back (MULLION_SEED=${SEED})`,
  async (error, call) => {
    for (let n = 0; n < DISKS_EACH; n++)
      expect({ seed: SEED + n, ...(await faultyRun(SEED + n, call, error)) }).toEqual({
        seed: SEED + n,
        wrong: [],
      });
  },
);

it(`disks that fill up: nothing lost, nothing comes back (MULLION_SEED=${SEED})`, async () => {
  for (let n = 0; n < CUTS; n++) {
    const prng = new Prng(SEED + n);
    const disk = new SimulatedDisk();
    const lived = await live(prng, disk, 2);
    const killed = disk.afterKill();
    killed.room = prng.below(140_000);
    await live(prng, killed, 12, lived);
    expect({ seed: SEED + n, ...(await openAfter(killed.afterKill(), lived)) }).toEqual({
      seed: SEED + n,
      wrong: [],
    });
  }
});
