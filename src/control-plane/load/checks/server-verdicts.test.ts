/** Row by row what a real API server says; `npm run test:live` asks it the same. */
import { expect, it } from "vitest";
import { BOUNDS_OF_PODS } from "#test/support/kubernetes/bounds/of-pods.ts";
import { BOUNDS_OF_SERVICES } from "#test/support/kubernetes/bounds/of-services.ts";
import { SERVER_VERDICTS } from "#test/support/kubernetes/server-verdicts.ts";
import { loadManifests } from "../load-manifests.ts";

it.each([...SERVER_VERDICTS, ...BOUNDS_OF_SERVICES, ...BOUNDS_OF_PODS])("$what", ({ isTaken, object }) => {
  const { objects, problems } = loadManifests([{ name: "a.json", text: JSON.stringify(object) }]);
  expect([objects.length === 1, problems.length === 0]).toEqual([isTaken, isTaken]);
});
