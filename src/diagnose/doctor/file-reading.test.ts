// A reading that another thread has made is the same as one made here.
import { readFileSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { FileReading } from "./read-evidence.ts";

/** What a reading tells, without the places, which a quoted text has elsewhere. */
function told({ holds, objects, host }: FileReading): string {
  const plain = (key: string, value: unknown): unknown =>
    key === "place" ? undefined : typeof value === "bigint" ? String(value) : value;
  return JSON.stringify([holds, objects, host], plain);
}

// As people paste files into threads: quoted (`> `), or moved to the right as code.
it.each(["> ", "    "])("reads the files of a node where each line begins with %j as without it", (mark) => {
  for (const [name, text] of Object.entries(filesOf(healthyNode()))) {
    // A line alone may begin as it likes.
    if (text.trim().split("\n").length < 2) continue;
    const marked = text.replaceAll(/^|(?<=\n)/gu, mark);
    const [plain, quoted] = [text, marked].map((each) => told(new FileReading(new SourceText(name, each))));
    expect([name, quoted]).toEqual([name, plain]);
  }
});

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
