/**
 * What a durable call of HNS costs: against the store's own put, and against the same call on the store of format 1, which
 * had neither checksums nor a position.
 */
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { assert } from "#core/base/assert.ts";
import { openHns } from "#hns/durable-hns.node.ts";
import { type LocalHns, createHns } from "#hns/local-hns.ts";
import { openStateFolder } from "#hns/store/state-folder.node.ts";
import type { ObjectStore, StoredChange, StoredObject } from "#hns/store/stored-object.ts";
import { NETWORK, endpointDocument } from "./hns-documents.ts";
import { type Measured, printTable } from "./measure.ts";

const CALLS_AT_ONCE = 64;
const CALLS_A_ROUND = 64;
const ROUNDS = 20;
const WARM_UP = 8;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** One thing to time; `index` grows with each call. */
interface Candidate {
  readonly name: string;
  readonly call: (index: number) => unknown;
}

/** Runs `call` so many times, so many at a time. @returns nanoseconds per call. */
async function timeCalls({ call }: Candidate, first: number, atOnce: number): Promise<number> {
  let next = first;
  const started = process.hrtime.bigint();
  const worker = async (): Promise<void> => {
    while (next < first + CALLS_A_ROUND) await call(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return Number(process.hrtime.bigint() - started) / CALLS_A_ROUND;
}

/**
 * In turns: a disk that others use is many times slower at one moment than at the next. What one leaves to the journal
 * of the disk the first calls of the next one wait for, so no round is short, and not all begin at the same one.
 */
async function measureInTurns(
  candidates: readonly Candidate[],
  atOnce: number,
): Promise<readonly Measured[]> {
  const samples = new Map(candidates.map((candidate): [Candidate, number[]] => [candidate, []]));
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const first = round * CALLS_A_ROUND;
    const turn = round % 2 === 0 ? candidates : [...candidates.slice(1), ...candidates.slice(0, 1)];
    for (const candidate of turn) samples.get(candidate)?.push(await timeCalls(candidate, first, atOnce));
  }
  return Array.from(samples, ([{ name }, all]) => {
    const own = all.slice(WARM_UP);
    return { name: `${name}, ${atOnce} at once`, ns: median(own), minNs: Math.min(...own) };
  });
}

interface Waiting {
  readonly changes: readonly StoredChange[];
  readonly answer: () => void;
}

/** What the store of format 1 did, which had neither checksums nor a position: a row of SQLite for each object. */
class FormerStore implements ObjectStore {
  private readonly database: DatabaseSync;
  private readonly put: StatementSync;
  private readonly remove: StatementSync;
  private waiting: Waiting[] = [];

  constructor(path: string) {
    this.database = new DatabaseSync(path);
    this.database.exec(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
    );
    this.database.exec(`CREATE TABLE objects (position INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL,
      document TEXT NOT NULL, internal TEXT NOT NULL, UNIQUE (kind, id)) STRICT`);
    this.put = this.database.prepare(
      `INSERT INTO objects (kind, id, document, internal) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET document = excluded.document, internal = excluded.internal`,
    );
    this.remove = this.database.prepare("DELETE FROM objects WHERE kind = ? AND id = ?");
  }

  /** Calls that wait at the same time share one commit. */
  async write(changes: readonly StoredChange[]): Promise<void> {
    return new Promise((answer) => {
      if (this.waiting.length === 0) setImmediate(() => this.commit());
      this.waiting.push({ changes, answer });
    });
  }

  async list(): Promise<readonly StoredObject[]> {
    return Promise.resolve([]);
  }

  close(): void {
    this.database.close();
  }

  private commit(): void {
    const batch = this.waiting;
    this.waiting = [];
    this.database.exec("BEGIN IMMEDIATE");
    for (const { kind, id, object } of batch.flatMap(({ changes }) => changes))
      if (object === undefined) this.remove.run(kind, id);
      else this.put.run(kind, id, JSON.stringify(object.document), JSON.stringify(object.internal ?? {}));
    this.database.exec("COMMIT");
    for (const { answer } of batch) answer();
  }
}

/** Endpoints made and deleted again, the last one first. */
function endpointsOf({ client }: LocalHns, network: string, what: string): readonly [Candidate, Candidate] {
  const ids: string[] = [];
  return [
    {
      name: `create ${what}`,
      call: async (index) => ids.push(await client.create("Endpoint", endpointDocument(index), { network })),
    },
    { name: `delete ${what}`, call: async () => client.delete("Endpoint", ids.pop() ?? "") },
  ];
}

async function nodeOn(hns: LocalHns, name: string): Promise<readonly [Candidate, Candidate]> {
  return endpointsOf(hns, await hns.client.create("Network", NETWORK), name);
}

/** Measures in folders below `root`. */
export async function measureOnDisk(root: string): Promise<void> {
  const hns = await openHns(join(root, "service"), { profile: "ws2025" });
  const formerStore = new FormerStore(join(root, "former.db"));
  const store = openStateFolder(join(root, "store"), { node: "bench", version: { Major: 15, Minor: 3 } });
  const [create, remove] = await nodeOn(hns, "an endpoint");
  await create.call(0);
  const object = hns.service.export().find(({ kind }) => kind === "Endpoint");
  assert(object !== undefined, "an endpoint was made");
  await remove.call(0);
  const put: Candidate = {
    name: "the store's put",
    call: async (index) => {
      const id = `${index}`;
      await store.write([{ kind: "Endpoint", id, object: { ...object, id } }]);
    },
  };
  const alone = await measureInTurns([put, create, remove], 1);
  const together = await measureInTurns([put, create, remove], CALLS_AT_ONCE);
  printTable("Durable, each", [...alone, ...together], alone[0]?.name ?? "");
  const former = createHns({ profile: "ws2025", store: formerStore });
  const [formerCreate] = await nodeOn(former, "an endpoint, format 1");
  const compared = await measureInTurns([formerCreate, create], 1);
  printTable("Durable, against the store of format 1", compared, compared[0]?.name ?? "");
  await Promise.all([hns.close(), store.close(), former.client.close()]);
  formerStore.close();
}
