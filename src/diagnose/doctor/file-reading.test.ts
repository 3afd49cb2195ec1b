// A reading that another thread has made is the same as one made here.
import { readFileSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { FileReading } from "./read-evidence.ts";

const FOLDER = "examples/broken-node/collected";
const COLLECTED = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => [name, readFileSync(`${FOLDER}/${name}`, "utf8")] as const);

it.each([...Object.entries(filesOf(healthyNode())), ...COLLECTED])("%s", (name, text) => {
  const reading = new FileReading(new SourceText(name, text));
  const arrived = FileReading.from(structuredClone(reading));
  // Where lines begin is found when it is asked for.
  for (const { source } of [reading, arrived]) source.lineText(1);
  expect(arrived).toStrictEqual(reading);
});
