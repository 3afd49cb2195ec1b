/** Row by row what a real API server says; `npm run test:live` asks it the same. */
import { expect, it } from "vitest";
import { SERVER_VERDICTS } from "#test/support/kubernetes/server-verdicts.ts";
import { loadManifests } from "../load-manifests.ts";

it.each(SERVER_VERDICTS)("$what", ({ isTaken, object }) => {
  const { objects, problems } = loadManifests([{ name: "a.json", text: JSON.stringify(object) }]);
  expect([objects.length === 1, problems.length === 0]).toEqual([isTaken, isTaken]);
});
