/** A disk that is full, for real: a file system in memory of two megabytes. Needs root. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createNetwork, listEndpoints } from "#contracts/hcn/operations.ts";
import { CBR0, hnsNode } from "#test/support/hns/hns-node.ts";
import { InProcessHcnClient } from "../service/in-process-client.ts";
import { type StateFolder, openStateFolder } from "./state-folder.node.ts";
import { loadService } from "../durable-hns.node.ts";

const OPTIONS = { node: "w1", version: { Major: 15, Minor: 3 } } as const;

let disk = "";

beforeEach(() => {
  disk = mkdtempSync(join(tmpdir(), "mullion-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]);
});

afterEach(() => {
  execFileSync("umount", [disk]);
  rmSync(disk, { recursive: true });
});

async function clientOn(folder: StateFolder): Promise<InProcessHcnClient> {
  const { service } = hnsNode();
  expect(await loadService(service, folder, folder.incarnation)).toEqual([]);
  return new InProcessHcnClient(service, folder);
}

/** Takes all that is left of the disk. */
function fill(): string {
  const { bavail, bsize } = statfsSync(disk);
  const file = join(disk, "filler");
  writeFileSync(file, Buffer.alloc(bavail * bsize));
  return file;
}

it("a full disk fails a change with 0x80070070 and keeps all that was acknowledged; with room it goes on", async () => {
  const path = join(disk, "state");
  const folder = openStateFolder(path, OPTIONS);
  const client = await clientOn(folder);
  const network = await createNetwork(client, CBR0);
  const filler = fill();
  const acknowledged: string[] = [];
  const large = { SchemaVersion: { Major: 2, Minor: 0 }, Owner: "x".repeat(20_000) };
  const failure: unknown = await (async () => {
    for (;;) acknowledged.push(await client.create("Endpoint", large, { network: network.ID }));
  })().catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "ERROR_DISK_FULL", hresult: 0x8007_0070 });
  expect((await listEndpoints(client)).map((endpoint) => endpoint.ID)).toEqual(acknowledged);
  rmSync(filler);
  acknowledged.push(await client.create("Endpoint", large, { network: network.ID }));
  await folder.close();
  const again = openStateFolder(path, OPTIONS);
  expect((await listEndpoints(await clientOn(again))).map((endpoint) => endpoint.ID)).toEqual(acknowledged);
  await again.close();
});

it("a folder on a disk that is read-only is refused with a sentence", () => {
  execFileSync("mount", ["-o", "remount,ro", disk]);
  expect(() => openStateFolder(join(disk, "state"), OPTIONS)).toThrow(
    /^The state folder .* cannot be used: EROFS.*Name a folder that this user can write\.$/,
  );
  expect(() => readFileSync(join(disk, "state", "hns.db"))).toThrow(/ENOENT/);
});
