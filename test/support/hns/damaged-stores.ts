/**
 * A store on a simulated disk, what it has acknowledged, and ways to hurt it. Whatever happens, an opening afterwards
 * serves all that was acknowledged, or refuses with a sentence.
 */
import { Prng } from "#core/base/prng.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { StateFolderError } from "#hns/store/folder-files.node.ts";
import { checkFolder, repairFolder } from "#hns/store/repair-folder.node.ts";
import { type StateFolder, openStateFolder } from "#hns/store/state-folder.node.ts";
import type { StoredChange, StoredObject } from "#hns/store/stored-object.ts";
import { type DiskCall, type DiskError, SimulatedDisk } from "./simulated-disk.ts";

const PATH = "/state";
const OBJECTS = 12;

/** What is stored of an object: its name; undefined: it is not there. */
type Names = Map<string, string | undefined>;

export interface Lived {
  readonly disk: SimulatedDisk;
  readonly acknowledged: Names;
  /** By object: what calls wanted that were not answered, or answered with "outcome unknown". */
  readonly uncertain: Map<string, Set<string | undefined>>;
  /** Changes that were refused with "nothing was changed". */
  readonly refused: Names[];
}

export function openOn(disk: SimulatedDisk): StateFolder {
  return openStateFolder(PATH, { node: "w1", version: { Major: 15, Minor: 3 }, disk, logBytesMax: 3_000 });
}

function changeOf(id: string, name: string | undefined): StoredChange {
  const object: StoredObject | undefined =
    name === undefined ? undefined : { kind: "Endpoint", id, document: { ID: id, Name: name }, internal: {} };
  return { kind: "Endpoint", id, object };
}

function randomChanges(prng: Prng, count: number, label: string): Names {
  const names: Names = new Map();
  for (let n = 0; n < count; n++) {
    const name = `${label}-${n}${"x".repeat(prng.below(200))}`;
    names.set(`e${prng.below(OBJECTS)}`, prng.below(4) === 0 ? undefined : name);
  }
  return names;
}

/** Some life of a store, until its work is done or the disk stops it. It is not closed: its process is killed. */
export async function live(prng: Prng, disk: SimulatedDisk, commits: number, before?: Lived): Promise<Lived> {
  const lived: Lived = before ?? { disk, acknowledged: new Map(), uncertain: new Map(), refused: [] };
  let folder: StateFolder;
  try {
    folder = openOn(disk);
  } catch (error) {
    if (error instanceof StateFolderError) return lived;
    throw error;
  }
  for (let n = 0; n < commits; n++) {
    const wanted = randomChanges(prng, 1 + prng.below(3), `c${disk.calls}-${n}`);
    try {
      await folder.write([...wanted].map(([id, name]) => changeOf(id, name)));
      for (const [id, name] of wanted) {
        lived.acknowledged.set(id, name);
        lived.uncertain.delete(id);
      }
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      if (error.code === "RPC_S_CALL_FAILED")
        for (const [id, name] of wanted)
          lived.uncertain.set(id, (lived.uncertain.get(id) ?? new Set()).add(name));
      else lived.refused.push(wanted);
      await folder.list().catch(() => undefined);
    }
  }
  return lived;
}

/** What an opening came to: nothing lost, a refusal with its sentence, or what it serves wrongly. */
export interface Outcome {
  readonly refusal?: string;
  readonly wrong: readonly string[];
}

async function namesIn(folder: StateFolder): Promise<Names> {
  const objects = await folder.list();
  return new Map(objects.map(({ id, document }) => [id, JSON.stringify(document["Name"]).slice(1, -1)]));
}

export async function openAfter(disk: SimulatedDisk, lived: Lived): Promise<Outcome> {
  let folder: StateFolder;
  try {
    folder = openOn(disk);
  } catch (error) {
    if (error instanceof StateFolderError) return { refusal: error.message, wrong: [] };
    throw error;
  }
  const found = await namesIn(folder);
  const wrong: string[] = [];
  for (const id of new Set([...lived.acknowledged.keys(), ...lived.uncertain.keys(), ...found.keys()])) {
    const name = found.get(id);
    const isAllowed = name === lived.acknowledged.get(id) || lived.uncertain.get(id)?.has(name) === true;
    if (!isAllowed) wrong.push(`${id} is ${String(name)}, not ${String(lived.acknowledged.get(id))}`);
  }
  await folder.close();
  return { wrong };
}

/** One fault of the medium: a flipped bit, a cut, a file that is gone, a sector of zeros. @returns what was done. */
export function damageStore(prng: Prng, disk: SimulatedDisk): string {
  const files = disk.paths().filter((path) => /position$|\.log$|\.snapshot$/.test(path));
  const path = files[prng.below(files.length)] ?? "";
  const kind = prng.below(10);
  let done = "";
  disk.damage(path, (bytes) => {
    if (kind === 0) {
      done = `${path} removed`;
      return undefined;
    }
    const at = prng.below(Math.max(1, bytes.length));
    if (kind <= 2) {
      done = `${path} cut at ${at}`;
      return bytes.slice(0, at);
    }
    if (kind === 3) {
      done = `${path} zeros at ${at}`;
      return bytes.fill(0, at, at + 512);
    }
    const bit = prng.below(8);
    done = `${path} bit ${bit} of byte ${at}`;
    bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
    return bytes;
  });
  return done;
}

/** Some lives, each ended by a power cut at a random call to the disk. @returns what was wrong after any of them. */
export async function powerCutRun(seed: number): Promise<Outcome> {
  const prng = new Prng(seed);
  let disk = new SimulatedDisk();
  let lived: Lived | undefined;
  for (let life = 0; life < 3; life++) {
    disk.powerCutAt = prng.below(80);
    lived = { ...(await live(prng, disk, 10, lived)), disk };
    disk = disk.afterPowerCut(prng);
    const outcome = await openAfter(disk, lived);
    if (outcome.wrong.length > 0 || outcome.refusal !== undefined) return outcome;
    disk = disk.afterKill();
    await adoptFound(disk, lived);
  }
  return { wrong: [] };
}

/** A life on a disk whose calls of one kind fail now and then, a kill or a power cut, and an opening on a disk that is well again. */
export async function faultyRun(seed: number, call: DiskCall, error: DiskError): Promise<Outcome> {
  const prng = new Prng(seed);
  const disk = new SimulatedDisk();
  const lived = await live(prng, disk, 3);
  disk.failing = (made) => (made === call && prng.below(4) === 0 ? error : undefined);
  const killed = disk.afterKill();
  killed.failing = disk.failing;
  await live(prng, killed, 12, lived);
  return openAfter(seed % 2 === 0 ? killed.afterKill() : killed.afterPowerCut(prng), lived);
}

/** Takes what the store holds for what is acknowledged: what was uncertain is settled by the opening that served it. */
async function adoptFound(disk: SimulatedDisk, { acknowledged, uncertain }: Lived): Promise<void> {
  const folder = openOn(disk);
  const found = await namesIn(folder);
  for (const id of uncertain.keys()) acknowledged.set(id, found.get(id));
  uncertain.clear();
  await folder.close();
}

/** A damaged store, its repair, and an opening: it serves nothing that was not once acknowledged or asked for. */
export async function repairRun(seed: number): Promise<Outcome> {
  const prng = new Prng(seed);
  const lived = await live(prng, new SimulatedDisk(), 8);
  const disk = lived.disk.afterKill();
  damageStore(prng, disk);
  const { damages } = repairFolder(PATH, disk);
  if (damages.length === 0) return openAfter(disk, lived);
  const folder = openOn(disk.afterKill());
  const wrong = [...(await namesIn(folder))].flatMap(([id, name]) =>
    name !== undefined && /^c\d+-\d+-\d+x*$/.test(name) ? [] : [`${id} is ${String(name)}`],
  );
  return { wrong: [...wrong, ...checkFolder(PATH, disk).damages] };
}
