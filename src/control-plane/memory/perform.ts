/** Does what a controller wants. */
import { LIMITS } from "#core/base/limits.ts";
import type { Changes } from "../controllers/changes.ts";
import type { ControlPlane } from "./control-plane.ts";
import { cascadeOf } from "./garbage.ts";
import { referenceOf } from "./object-store.ts";

/** Removes, changes and creates, in this order; what is removed takes its dependents with it. */
export function perform(plane: ControlPlane, { create, update, remove }: Changes): void {
  for (const object of remove)
    for (const reference of cascadeOf(plane.store, referenceOf(object))) plane.remove(reference);
  for (const object of update) {
    // What a controller changes is no record of a dump any more.
    plane.settled.delete(referenceOf(object));
    plane.put(object);
  }
  for (const object of create) {
    if (object.kind === "Pod" && plane.store.count("Pod") >= LIMITS.podsMax) return;
    plane.put(object);
  }
}
