/** A service on a store: it begins with what is stored, and a client stores what changes. */
import type { HnsService } from "../service/hns-service.ts";
import type { ObjectStore } from "./store.ts";
import type { RestoreNote } from "./stored-object.ts";

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
