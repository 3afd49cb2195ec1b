// What stands among the lines of a long log is read as if every line of it were looked at.
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { readDump } from "#hns/dump/read-dump.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { recognize } from "../lint/input/recognize.ts";
import { parseRules } from "../vfp-text/parse-rules.ts";
import { WITHIN_LOG_LINES, readHostFacts } from "./host-facts.ts";
import { readLinks } from "./host-addresses.ts";
import { withoutRuns } from "./log-runs.ts";
import { linesOf } from "./place.ts";
import { FileReading } from "./read-evidence.ts";

const RUN_LENGTH = 40;
const RUN = `I0102 15:04:05.000007    4120 proxier.go:1180] "Hns endpoint resource"\n`.repeat(RUN_LENGTH);

function short(text: string): ReturnType<typeof withoutRuns> {
  return withoutRuns(new SourceText("kubelet.log", text), WITHIN_LOG_LINES);
}

describe("lines of a log that say something are kept, with their numbers", () => {
  it.each([
    [
      "a certificate's time",
      "E0102 15:04:05.000007 1 a.go:1] x509: certificate has expired or is not yet valid: current time 2026-01-02T15:04:05Z is before 2026-01-02T16:04:05Z",
    ],
    ["a version", "2026-01-02 15:04:05.000 [INFO] os: Microsoft Windows 10.0.17763.1697"],
    ["an update", "2026-01-02 15:04:05 WIN-1 Update  KB5005619  NT AUTHORITY\\SYSTEM"],
    ["a look-up", 'time="2026-01-02T15:04:05Z" level=info msg="DNS request timed-out'],
    ["an adapter", "Jan 02 15:04:05 win-1 Ethernet  Intel  12 Up           00-15-5D-24-50-01       1 Gbps"],
    ["a flag", "I0102 15:04:05.000007 4120 flags.go:64] FLAG: --source-vip=10.244.1.2"],
    ["a proxy", "2026/01/02 15:04:05 AppEnvironment HTTP_PROXY=http://10.0.0.9:3128"],
    ["no log", "panic: runtime error"],
  ])("%s", (_, line) => {
    const { lines, isWhole } = short(RUN + line + "\n" + RUN);
    expect(isWhole).toBe(false);
    expect(lines()).toContainEqual({ file: "kubelet.log", text: line, line: RUN_LENGTH + 1 });
  });
});

it.each([
  ["", 0],
  [RUN, 33],
  [RUN.slice(0, -1), 32],
  [RUN.replaceAll("\n", "\r\n"), 33],
  [`a\n${RUN}b\n${RUN}c`, 67],
])("of a run its ends are left: %#", (text, count) => {
  const { lines, source } = short(text);
  expect(lines()).toHaveLength(Math.max(1, count));
  expect(lines().at(-1)?.line).toBe(text.split("\n").length);
  expect(lines().map(({ text: line }) => line)).toStrictEqual(linesOf(source).map(({ text: line }) => line));
});

const FOLDER = "examples/broken-node/collected";
const FILES: readonly (readonly [string, string])[] = [
  ...Object.entries(filesOf(healthyNode())),
  ...readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => [name, readFileSync(`${FOLDER}/${name}`, "utf8")] as const),
];

/** A log above, below, and after each third of a file's lines. */
function amongLogs(text: string): readonly string[] {
  const lines = text.split(/(?<=\n)/u);
  const third = Math.ceil(lines.length / 3);
  const cut = [lines.slice(0, third), lines.slice(third, 2 * third), lines.slice(2 * third)];
  return [RUN + text, `${text}\n${RUN}`, cut.map((part) => part.join("")).join(RUN)];
}

describe("every file among the lines of a log", () => {
  it.each(FILES)("%s", (file, text) => {
    for (const given of amongLogs(text)) {
      const source = new SourceText(file, given);
      const { lines, source: left, isWhole } = withoutRuns(source, WITHIN_LOG_LINES);
      expect(isWhole).toBe(false);
      expect(readHostFacts(lines())).toStrictEqual(readHostFacts(linesOf(source)));
      expect(readLinks(lines())).toStrictEqual(readLinks(linesOf(source)));
      const counts = (each: SourceText): readonly number[] => [
        readDump(each).objects.length,
        parseRules(each.text).ports.length,
        recognize(each).documents.length,
      ];
      expect(counts(left)).toStrictEqual(counts(source));
    }
  });
});

it("objects below a log stand where the whole file has them", () => {
  const objects = `apiVersion: v1\nkind: Node\nmetadata: {name: win-1}\n`;
  const { hns, listings } = new FileReading(
    new SourceText(
      "a.txt",
      `${RUN}[{"ID":"8e68213e-9443-4395-a50c-3977cb7bdba7","Name":"cbr0","Type":"L2Bridge"}]\n`,
    ),
  );
  expect(hns.map(({ where }) => where.line)).toStrictEqual([RUN_LENGTH + 1]);
  expect(listings).toStrictEqual([]);
  expect(new FileReading(new SourceText("a.yaml", objects)).objects).toHaveLength(1);
});
