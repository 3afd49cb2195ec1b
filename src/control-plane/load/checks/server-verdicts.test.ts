/** Row by row what a real API server says; `npm run test:live` asks it the same. */
import { expect, it } from "vitest";
import { BOUNDS_OF_PODS } from "#test/support/kubernetes/bounds/of-pods.ts";
import { BOUNDS_OF_SERVICES } from "#test/support/kubernetes/bounds/of-services.ts";
import { SERVER_SENTENCES } from "#test/support/kubernetes/server-sentences.ts";
import { SERVER_VERDICTS } from "#test/support/kubernetes/server-verdicts.ts";
import { loadManifests } from "../load-manifests.ts";

const ROWS = [...SERVER_VERDICTS, ...BOUNDS_OF_SERVICES, ...BOUNDS_OF_PODS];

it.each(ROWS)("$what", ({ what, isTaken, object }) => {
  const { objects, problems } = loadManifests([{ name: "a.json", text: JSON.stringify(object) }]);
  expect([objects.length === 1, problems.length === 0]).toEqual([isTaken, isTaken]);
  const sentence = SERVER_SENTENCES.get(what);
  if (sentence !== undefined)
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([sentence]);
});

it("has a row for each sentence", () => {
  const known = new Set(ROWS.map(({ what }) => what));
  expect([...SERVER_SENTENCES.keys()].filter((what) => !known.has(what))).toEqual([]);
});
