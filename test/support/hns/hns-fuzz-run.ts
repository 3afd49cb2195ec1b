/** One run of the fuzzer over a service in memory: calls, now and then a look at all objects, and a restore at the end. */
import { checkJsonValue, equalJson } from "#contracts/hcn/description/json.ts";
import type { StoredObject } from "#hns/store/stored-object.ts";
import { HnsFuzz, findContradictions } from "./hns-fuzz.ts";
import { hnsNode } from "./hns-node.ts";

/** The order of fields does not matter. */
function isSame(a: StoredObject, b: StoredObject | undefined): boolean {
  return b !== undefined && equalJson(checkJsonValue(a), checkJsonValue(b));
}

/** Makes calls and looks at the objects now and then. @returns what was wrong, with the step. */
export function runHnsFuzz(seed: number, steps: number, profile: string): string | undefined {
  const { service, clock } = hnsNode({ profile, seed });
  const fuzz = new HnsFuzz(seed, service);
  for (let step = 0; step < steps; step++) {
    let what = "";
    try {
      what = fuzz.call();
      if (fuzz.once(10)) clock.runUntil(clock.nowMs + 1_000);
      const problems = step % 20 === 0 ? findContradictions(service) : [];
      if (problems.length > 0) return `step ${step}, ${what}: ${problems.join("; ")}`;
    } catch (error) {
      const cause =
        error instanceof Error && error.cause instanceof Error ? `: ${error.cause.stack ?? ""}` : "";
      return `step ${step}: ${error instanceof Error ? (error.stack ?? "") : String(error)}${cause}`;
    }
  }
  const stored = service.export();
  const again = hnsNode({ profile, seed: seed + 1 });
  again.clock.runUntil(clock.nowMs);
  again.service.restore(stored);
  const restored = new Map(again.service.export().map((object) => [object.id, object]));
  const lost = stored.find((object) => !isSame(object, restored.get(object.id)));
  return lost && `restored, ${JSON.stringify(lost)} is ${JSON.stringify(restored.get(lost.id)) ?? "gone"}`;
}
