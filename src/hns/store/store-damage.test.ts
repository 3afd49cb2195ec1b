/** Damage, power cuts and failing disks: nothing that was acknowledged is lost or changed without a word. */
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import {
  damageStore,
  faultyRun,
  live,
  openAfter,
  openOn,
  powerCutRun,
  repairRun,
} from "#test/support/hns/damaged-stores.ts";
import { checkFolder, repairFolder } from "./repair-folder.node.ts";
import { type DiskCall, type DiskError, SimulatedDisk } from "#test/support/hns/simulated-disk.ts";
import { putOf, storedObject } from "#test/support/hns/store.suite.ts";

const SEED = 20_261_123;
const PATH = "/state";

describe("a damaged store", () => {
  it("is served as it was, or refused with file, place and the next step (60 stores)", async () => {
    let refusals = 0;
    for (let n = 0; n < 60; n++) {
      const prng = new Prng(SEED + n);
      const lived = await live(prng, new SimulatedDisk(), 8);
      const disk = lived.disk.afterKill();
      const done = damageStore(prng, disk);
      const { refusal, wrong } = await openAfter(disk, lived);
      expect({ n, done, wrong }).toEqual({ n, done, wrong: [] });
      if (refusal === undefined) continue;
      refusals++;
      expect(refusal).toMatch(
        /^The store \/state is damaged: (position|objects-\d+\.snapshot|changes-\d+\.log)(, byte \d+| is missing): .*mullion hns repair \/state/,
      );
    }
    expect(refusals).toBeGreaterThan(10);
  });

  it("with every bit of a small log flipped in turn says how many changes are missing, or has them all", async () => {
    const disk = new SimulatedDisk();
    const folder = openOn(disk);
    const objects = ["a", "b", "c", "d"].map((id) => storedObject("Network", id, id));
    for (const object of objects) await folder.write([putOf(object)]);
    const path = `${PATH}/changes-1.log`;
    const length = disk.read(path)?.length ?? 0;
    const missing = new Set<string>();
    for (let bit = 0; bit < length * 8; bit += 5) {
      const damaged = disk.afterKill();
      damaged.damage(path, (bytes) => {
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        return bytes;
      });
      try {
        expect(await openOn(damaged).list()).toEqual(objects);
      } catch (error) {
        missing.add(
          /(\d+) acknowledged changes? (?:is|are) missing/.exec(String(error))?.[1] ?? String(error),
        );
      }
    }
    // The last two commits stand in the position as well.
    expect([...missing].toSorted()).toEqual(["3", "4"]);
  });

  it("is refused when it says that its format is newer", () => {
    const disk = new SimulatedDisk();
    openOn(disk);
    const next = disk.afterKill();
    next.lock().setFormat(7, "");
    expect(() => openOn(next.afterKill())).toThrow(/written by a newer Mullion: its format is 7/);
  });
});

describe("a power cut", () => {
  it("loses nothing that was acknowledged (40 cuts)", async () => {
    for (let n = 0; n < 40; n++) expect(await powerCutRun(SEED + n)).toEqual({ wrong: [] });
  });
});

describe("a disk that fails", () => {
  const calls: readonly DiskCall[] = ["read", "write", "sync", "rename", "open"];
  const errors: readonly DiskError[] = ["EIO", "ENOSPC", "EROFS"];

  it("lets no refused change come back and loses no acknowledged one (45 disks)", async () => {
    for (const call of calls)
      for (const error of errors)
        for (let n = 0; n < 3; n++)
          expect({ call, error, n, ...(await faultyRun(SEED + n, call, error)) }).toEqual({
            call,
            error,
            n,
            wrong: [],
          });
  });

  const network = storedObject("Network", "n1", "cbr0");
  const second = storedObject("Network", "n2", "second");

  it.each([
    ["EIO", "io-error"],
    ["ENOSPC", "disk-full"],
    ["EROFS", "read-only"],
  ] as const)("answers %s of a flush with an unknown outcome and says %s", async (code, reason) => {
    const disk = new SimulatedDisk();
    const folder = openOn(disk);
    await folder.write([putOf(network)]);
    disk.failing = (call) => (call === "sync" ? code : undefined);
    await expect(folder.write([putOf(second)])).rejects.toMatchObject({
      code: "RPC_S_CALL_FAILED",
      hresult: 0x8007_06be,
      explanation: "store-outcome-unknown",
      detail: expect.stringMatching(/it may be stored or not\. Ask for the object/) as unknown,
    });
    expect(folder.fault).toMatchObject({ reason });
    expect(folder.faults.get(reason)).toBeGreaterThan(0);
    // What was made on top of it is refused; nothing is written before the service has asked what is stored.
    await expect(folder.write([putOf(network)])).rejects.toMatchObject({
      detail: expect.stringContaining("nothing was changed") as unknown,
    });
    disk.failing = undefined;
    const now = await folder.list();
    expect(folder.fault).toBeUndefined();
    // What it says now stays, also over a power cut at once.
    expect(await openOn(disk.afterPowerCut(new Prng(1))).list()).toEqual(now);
    await folder.write([putOf(second)]);
    expect(await folder.list()).toEqual([network, second]);
  });

  it("answers a write that can be taken back with a refusal, and it is not there after a kill", async () => {
    const disk = new SimulatedDisk();
    const folder = openOn(disk);
    await folder.write([putOf(network)]);
    let failures = 1;
    disk.failing = (call, path) =>
      call === "write" && path.endsWith(".log") && failures-- > 0 ? "EROFS" : undefined;
    await expect(folder.write([putOf(second)])).rejects.toMatchObject({
      code: "ERROR_WRITE_PROTECT",
      hresult: 0x8007_0013,
    });
    expect(await openOn(disk.afterKill()).list()).toEqual([network]);
  });

  it("that cannot be read fails every listing with the same code until it can", async () => {
    const disk = new SimulatedDisk();
    const folder = openOn(disk);
    await folder.write([putOf(network)]);
    disk.failing = () => "EIO";
    await expect(folder.list()).rejects.toMatchObject({ code: "ERROR_FILE_CORRUPT", hresult: 0x8007_0570 });
    disk.failing = undefined;
    expect(await folder.list()).toEqual([network]);
  });
});

describe("a repair", () => {
  const objects = ["a", "b", "c", "d", "e"].map((id) => storedObject("Network", id, id));

  async function damagedDisk(): Promise<SimulatedDisk> {
    const disk = new SimulatedDisk();
    const folder = openOn(disk);
    for (const object of objects) await folder.write([putOf(object)]);
    const killed = disk.afterKill();
    killed.damage(`${PATH}/changes-1.log`, (bytes) => bytes.fill(0, bytes.length >> 1, bytes.length));
    return killed;
  }

  it("whose disk fills up leaves the folder as it was, and ends when there is room", async () => {
    const disk = await damagedDisk();
    const found = checkFolder(PATH, disk);
    expect(found.damages).toHaveLength(1);
    for (const room of [0, 100, 300, 500, 1_000, 60_000]) {
      disk.room = room;
      expect(() => repairFolder(PATH, disk)).toThrow(
        /^The repair of \/state stopped: ENOSPC.*The files of the store are as they were; make room/,
      );
      expect({ room, ...checkFolder(PATH, disk) }).toEqual({ room, ...found });
    }
    disk.room = Number.POSITIVE_INFINITY;
    expect(repairFolder(PATH, disk)).toMatchObject({
      damages: found.damages,
      kept: "/state/before-repair-7",
    });
    expect(await openOn(disk.afterKill()).list()).toEqual(objects.slice(0, found.objects));
  });

  it("on a disk that is read-only or fails is refused, and a check still says what is wrong", async () => {
    const disk = await damagedDisk();
    disk.failing = (call) => (call === "read" ? undefined : "EROFS");
    expect(() => repairFolder(PATH, disk)).toThrow(/EROFS/);
    expect(checkFolder(PATH, disk).damages).toHaveLength(1);
  });

  it("leaves the last good state, which opens (30 damaged stores)", async () => {
    for (let n = 0; n < 30; n++) expect({ n, ...(await repairRun(SEED + n)) }).toEqual({ n, wrong: [] });
  });
});
