import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type StateFolder, type StateFolderOptions, openStateFolder } from "./state-folder.node.ts";
import { StateFolderError } from "./folder-files.node.ts";
import { loadSqlite } from "./store-disk.node.ts";
import { SimulatedDisk } from "#test/support/hns/simulated-disk.ts";
import type { StoredObject } from "./stored-object.ts";
import { describeObjectStore, putOf, storedObject } from "#test/support/hns/store.suite.ts";

const OPTIONS: StateFolderOptions = { node: "w1", version: { Major: 15, Minor: 3 } };

/** Makes the database of format 1, as Mullion wrote it before its files had checksums. */
function writeFormat1(path: string, objects: readonly StoredObject[]): void {
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(join(path, "hns.db"));
  database.exec(`PRAGMA journal_mode = WAL; BEGIN; PRAGMA application_id = 1297435726; PRAGMA user_version = 1;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE objects (position INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL,
      document TEXT NOT NULL, internal TEXT NOT NULL, UNIQUE (kind, id)) STRICT;
    INSERT INTO meta VALUES ('incarnation', '7'), ('node', 'w1'), ('hnsVersion', '15.3'); COMMIT`);
  const put = database.prepare("INSERT INTO objects (kind, id, document, internal) VALUES (?, ?, ?, ?)");
  for (const { kind, id, document, internal } of objects)
    put.run(kind, id, JSON.stringify(document), JSON.stringify(internal ?? {}));
  database.close();
}

function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "mullion-state-"));
}

describeObjectStore("the state folder", async () => {
  const root = temporaryFolder();
  let folder = openStateFolder(join(root, "state"), OPTIONS);
  return Promise.resolve({
    store: folder,
    reopen: async () => {
      await folder.close();
      folder = openStateFolder(join(root, "state"), OPTIONS);
      return folder;
    },
    close: async () => {
      await folder.close();
      rmSync(root, { recursive: true });
    },
  });
});

describe("a state folder", () => {
  let path = "";
  const opened: StateFolder[] = [];
  const network = storedObject("Network", "n1", "cbr0");

  beforeEach(() => {
    path = temporaryFolder();
  });

  afterEach(async () => {
    for (const folder of opened.splice(0)) await folder.close();
    rmSync(path, { recursive: true });
  });

  function open(options: StateFolderOptions = OPTIONS): StateFolder {
    const folder = openStateFolder(path, options);
    opened.push(folder);
    return folder;
  }

  /** A folder with one network in it, which nobody has open. */
  async function leaveOneNetwork(): Promise<void> {
    const folder = openStateFolder(path, OPTIONS);
    await folder.write([putOf(network)]);
    await folder.close();
  }

  it("is for its owner alone, and says what it is", () => {
    open();
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, "hns.db")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(path, "README.txt"), "utf8")).toContain("state folder of a Mullion HNS");
  });

  it("refuses a second writer and names the folder and the process that has it", () => {
    open();
    expect(() => open()).toThrow(
      new StateFolderError(
        `The state folder ${path} is in use by process ${process.pid}. Stop it, or name another folder.`,
      ),
    );
  });

  it("lets the next one in when the first has closed it", async () => {
    const first = open();
    await first.write([putOf(network)]);
    await first.close();
    const second = open();
    expect(await second.list()).toEqual([network]);
    expect(second.incarnation).toBe(2);
  });

  it("refuses a store of a newer format and leaves it alone", async () => {
    await leaveOneNetwork();
    const { DatabaseSync } = loadSqlite();
    const database = new DatabaseSync(join(path, "hns.db"));
    database.exec("PRAGMA user_version = 3");
    database.close();
    const before = readFileSync(join(path, "hns.db"));
    expect(() => open()).toThrow(
      `The store in ${path} was written by a newer Mullion: its format is 3, and this one knows 2. Update Mullion, or name another folder.`,
    );
    expect(readFileSync(join(path, "hns.db"))).toEqual(before);
  });

  it("refuses a file that is no database", () => {
    writeFileSync(join(path, "hns.db"), "[HNS.data of another world]".repeat(100));
    expect(() => open()).toThrow(/^The store .*hns\.db is damaged \(file is not a database\)\. Move it away/);
  });

  it("refuses a store whose pages are torn", () => {
    const many = Array.from({ length: 200 }, (_, n) => storedObject("Endpoint", `e${n}`, "x".repeat(200)));
    writeFormat1(path, many);
    const file = join(path, "hns.db");
    truncateSync(file, Math.floor(statSync(file).size / 2 / 4_096) * 4_096);
    expect(() => open()).toThrow(/^The store .*hns\.db is damaged/);
  });

  it("opens a folder of format 1, keeps its database, and counts on", async () => {
    writeFormat1(path, [network, storedObject("Endpoint", "e1", "second")]);
    const folder = open();
    expect(await folder.list()).toEqual([network, storedObject("Endpoint", "e1", "second")]);
    expect(folder.incarnation).toBe(8);
    await folder.close();
    expect(readdirSync(path)).toContain("hns.db.format-1");
    const { DatabaseSync } = loadSqlite();
    const former = new DatabaseSync(join(path, "hns.db.format-1"), { readOnly: true });
    expect(former.prepare("SELECT count(*) AS count FROM objects").get()).toEqual({ count: 2 });
    former.close();
    expect(await open().list()).toHaveLength(2);
  });

  it("tells an older Mullion that its format is newer", async () => {
    await openStateFolder(path, OPTIONS).close();
    const { DatabaseSync } = loadSqlite();
    const database = new DatabaseSync(join(path, "hns.db"), { readOnly: true });
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 2 });
    database.close();
  });

  it("gets the end of a torn log back from the position, and what was written before it stays", async () => {
    // The writer is killed: nothing is folded or closed.
    const program = `
      const { openStateFolder } = await import(${JSON.stringify(join(import.meta.dirname, "state-folder.node.ts"))});
      const folder = openStateFolder(${JSON.stringify(path)}, ${JSON.stringify(OPTIONS)});
      for (const id of ["n1", "n2"]) await folder.write([{ kind: "Network", id, object: { kind: "Network", id, document: { ID: id } } }]);
      process.kill(process.pid, "SIGKILL");`;
    spawnSync(process.execPath, ["--input-type=module", "-e", program]);
    const log = join(path, "changes-1.log");
    truncateSync(log, statSync(log).size - 30);
    const folder = open();
    expect((await folder.list()).map((object) => object.id)).toEqual(["n1", "n2"]);
    expect(folder.recoveries).toEqual([
      "changes-1.log: the checksum is wrong there; all acknowledged changes could be taken from position",
    ]);
  });

  it("keeps all changes, in their order, while the clock of the machine jumps both ways", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const years = [2026, 1971, 2100, 2000, 2038];
      for (const [index, year] of years.entries()) {
        vi.setSystemTime(Date.UTC(year, 0, 1));
        const folder = open();
        expect(folder.incarnation).toBe(index + 1);
        await folder.write([putOf(storedObject("Network", `n${index}`, "old"))]);
        vi.setSystemTime(Date.UTC(year - 1, 0, 1));
        await folder.write([putOf(storedObject("Network", `n${index}`, "new"))]);
        await folder.close();
      }
      const wanted = years.map((_year, index) => storedObject("Network", `n${index}`, "new"));
      expect(await open().list()).toEqual(wanted);
    } finally {
      vi.useRealTimers();
    }
  });

  it("takes garbage behind the end of the log for nothing", async () => {
    await leaveOneNetwork();
    appendFileSync(join(path, "changes-1.log"), Buffer.alloc(10_000, 7));
    expect(await open().list()).toEqual([network]);
  });

  it("refuses a folder that holds something else", () => {
    writeFileSync(join(path, "thesis.doc"), "");
    expect(() => open()).toThrow(
      `${path} is not a state folder: it holds thesis.doc. Name a new or an empty folder.`,
    );
  });

  it("refuses a path that can be no folder", () => {
    writeFileSync(join(path, "file"), "");
    expect(() => openStateFolder(join(path, "file", "state"), OPTIONS)).toThrow(
      /^The state folder .* cannot be used: ENOTDIR.*Name a folder that this user can write\.$/,
    );
  });

  it("refuses the database of another program", () => {
    const { DatabaseSync } = loadSqlite();
    const database = new DatabaseSync(join(path, "hns.db"));
    database.exec("CREATE TABLE songs (name TEXT)");
    database.close();
    expect(() => open()).toThrow(/is a database of another program/);
  });

  it("fails a write that has no room with 0x80070070, keeps what it has, and goes on when there is room", async () => {
    const disk = new SimulatedDisk();
    const folder = open({ ...OPTIONS, disk });
    await folder.write([putOf(network)]);
    disk.room = 5_000;
    const large = storedObject("Endpoint", "e1", "x".repeat(100_000));
    const small = storedObject("Endpoint", "e2", "small");
    const writes = await Promise.allSettled([folder.write([putOf(small)]), folder.write([putOf(large)])]);
    for (const write of writes) {
      expect(write).toMatchObject({
        status: "rejected",
        reason: { code: "ERROR_DISK_FULL", hresult: 0x8007_0070 },
      });
    }
    expect(await folder.list()).toEqual([network]);
    expect(folder.fault).toMatchObject({ reason: "disk-full" });
    disk.room = 1_000_000;
    await folder.write([putOf(small)]);
    expect(folder.fault).toBeUndefined();
    expect(await folder.list()).toEqual([network, small]);
  });

  it("refuses to write when it is closed", async () => {
    const folder = open();
    await folder.close();
    await expect(folder.write([putOf(network)])).rejects.toMatchObject({ code: "ERROR_WRITE_FAULT" });
  });

  it("does not warn its users of node:sqlite", () => {
    const program = `await import(${JSON.stringify(join(import.meta.dirname, "state-folder.node.ts"))}).then((it) => it.openStateFolder(${JSON.stringify(join(path, "state"))}, ${JSON.stringify(OPTIONS)}).close());`;
    mkdirSync(join(path, "state"));
    const { stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  });
});
