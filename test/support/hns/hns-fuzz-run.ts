/** Runs of the fuzzer: over a service in memory, and over every path of its HTTP API. */
import { checkJsonValue, parseAnswerText } from "#contracts/hcn/description/json.ts";
import type { StoredObject } from "#hns/store/stored-object.ts";
import { HnsFuzz, findContradictions } from "./hns-fuzz.ts";
import { hnsNode } from "./hns-node.ts";
import { HTTP_OPERATIONS } from "#contracts/hcn/http/http-operations.ts";
import { type JsonObject, equalJson, isJsonObject } from "#core/base/json.ts";
import { HnsApp } from "#hns/http/http-app.node.ts";
import { FUZZ_CHANGES, FUZZ_DOCUMENTS } from "./hns-fuzz-corpus.ts";

/** The order of fields does not matter. */
function isSame(a: StoredObject, b: StoredObject | undefined): boolean {
  return b !== undefined && equalJson(checkJsonValue(a), checkJsonValue(b));
}

/** Makes calls, looks at the objects now and then, and restores them at the end. @returns what was wrong, with the step. */
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

const FAULT = 500;

/** What a server says of the connection of a request: these come over none. */
const NO_CONNECTION = Object.freeze({});

/** A request of any operation that may be right. */
function requestOf(fuzz: HnsFuzz): JsonObject {
  const kind = fuzz.kind();
  const query = fuzz.query();
  return {
    kind,
    id: fuzz.id(kind),
    settings: fuzz.document(fuzz.once(2) ? FUZZ_DOCUMENTS[kind] : FUZZ_CHANGES[kind]),
    ...(query !== undefined && { query }),
    ...(fuzz.once(3) && { network: fuzz.id("Network") }),
    portCount: fuzz.prng.below(70_000),
    reservation: fuzz.id("GuestNetworkService"),
    properties: fuzz.pick(["Features", "Metrics", "Moods"]),
    method: fuzz.pick(["GET", "POST", "DELETE"]),
    path: fuzz.path(),
    body: fuzz.body(),
  };
}

/**
 * Random and damaged bodies for every path: never a fault of the service, always an answer in its form.
 * @returns what was wrong with an answer, with the request.
 */
export async function runHttpFuzz(seed: number, steps: number): Promise<string | undefined> {
  const { client, service } = hnsNode({ seed });
  const { app, feed } = new HnsApp({ client, checkAccess: () => undefined });
  const fuzz = new HnsFuzz(seed, service);
  const paths = [...Object.keys(HTTP_OPERATIONS), "toString", "__proto__", "notifications/x", "", "%ff"];
  try {
    for (let step = 0; step < steps; step++) {
      const path = `/hcn/${fuzz.pick(paths)}`;
      const text = JSON.stringify(fuzz.once(3) ? fuzz.damage(requestOf(fuzz)) : requestOf(fuzz));
      const body = fuzz.once(5) ? fuzz.damageText(text) : text;
      const response = await app.request(
        path,
        { method: fuzz.once(20) ? "PUT" : "POST", body },
        NO_CONNECTION,
      );
      const answer = parseAnswerText(await response.text());
      const error = isJsonObject(answer) ? answer["error"] : undefined;
      const isRight =
        response.status === 200
          ? isJsonObject(answer) && answer["result"] !== undefined
          : response.status !== FAULT && isJsonObject(error) && error["Success"] === false;
      if (!isRight)
        return `seed ${seed}, step ${step}: POST ${path} ${body}: ${response.status} ${JSON.stringify(answer)}`;
    }
    const health = await app.request("/healthz", {}, NO_CONNECTION);
    return health.status === 200 ? undefined : `seed ${seed}: health is ${health.status}`;
  } finally {
    feed.close();
  }
}
