/** An HNS whose objects outlive the process, in one call: a service on a state folder. */
import { hnsVersionOf } from "#core/catalogue/profiles.ts";
import { LOCAL_NODE, type LocalHns, type LocalHnsOptions, createHns, windowsOf } from "./local-hns.ts";
import { type StateFolder, openStateFolder } from "./store/state-folder.node.ts";
import type { RestoreNote, ObjectStore } from "./store/stored-object.ts";
import type { HnsService } from "./service/hns-service.ts";

/** A service and the folder that it keeps its objects in. */
export interface DurableHns extends LocalHns {
  readonly folder: StateFolder;
  /** What of the stored objects is not as it was. */
  readonly notes: readonly RestoreNote[];
  /** Says good-bye to listeners and lets the folder go. */
  close(): Promise<void>;
}

/**
 * Opens the HNS whose objects are in the folder `path`, which is made when it is missing. A change is on disk before the
 * call that made it is answered.
 *
 * ```ts
 * const { client, close } = await openHns("/var/lib/mullion/hns", { profile: "ws2025" });
 * ```
 * @throws StateFolderError: another process has the folder, a newer Mullion wrote it, it is damaged or not writable.
 * @throws RangeError when a profile, an address or a MAC is none.
 */
export async function openHns(path: string, options: LocalHnsOptions = {}): Promise<DurableHns> {
  const windows = windowsOf(options);
  const folder = openStateFolder(path, { node: LOCAL_NODE, version: hnsVersionOf(windows) });
  try {
    const hns = createHns({ ...options, store: folder });
    const notes = await loadService(hns.service, folder, folder.incarnation);
    const close = async (): Promise<void> => {
      await hns.client.close();
      await folder.close();
    };
    return { ...hns, folder, notes, close };
  } catch (error) {
    await folder.close();
    throw error;
  }
}

// A service on a store: it begins with what is stored, and a client stores what changes.

/**
 * Brings a new service to what its store holds; an empty store gets what every service begins with. `incarnation` is
 * how often the store was opened.
 * @returns what of the objects is not as it was.
 */
export async function loadService(
  service: HnsService,
  store: ObjectStore,
  incarnation: number,
): Promise<readonly RestoreNote[]> {
  const objects = await store.list();
  const notes = objects.length === 0 ? [] : service.restore(objects, { areStored: true, incarnation });
  const changes = service.takeChanges();
  if (changes.length > 0) await store.write(changes);
  return notes;
}
