/** A row of data/facts/ that is wrong is named by its file and line. */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Table } from "#data/facts.js";
import { replaceFile } from "#core/base/owner-only.node.ts";
import { openTable, parseTable } from "../../../data/read-texts.node.ts";
import { readExpectations } from "./expectation-table.ts";
import { readSentences } from "./page-sentences.ts";
import { readQuirks } from "./quirks.ts";

/** What reading a table says in which a text is another. */
function problemWith(read: (table: Table) => unknown, table: string, good: string, bad: string): string {
  expect(table.split(good)).toHaveLength(2);
  try {
    read(parseTable("t.yaml", table.replace(good, bad)));
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing";
}

const EXPECTATIONS = `groups:
  POD_TO_POD: [pod-to-pod-ip, pod-to-pod-name]
rows:
  FABRIC:
    when: { isDeniedByFabric: true }
    denied: fabric-acl-denied
    proof: drop
    source: a page
  OLD:
    when:
      flow: POD_TO_POD
      sourceBuild: ws2019
      sourceRevision: { below: KB4571748 }
    notApplicable: nobody knows
    source: a page
`;

describe("a row of expectations", () => {
  it.each([
    ["[pod-to-pod-ip,", "[pod-to-pod,", "t.yaml:2: POD_TO_POD: pod-to-pod is no flow and no group above"],
    ["isDeniedByFabric:", "isDenied:", "t.yaml:5: isDenied is no fact of a flow"],
    ["isDeniedByFabric: true", "isDeniedByFabric: 1", "t.yaml:5: isDeniedByFabric is never 1"],
    ["fabric-acl-denied", "fabric-denied", "t.yaml:6: denied: fabric-denied is no code of the catalogue"],
    ["    proof: drop\n", "", "t.yaml:4: proof is missing"],
    ["proof: drop", "proof: none", "t.yaml:7: proof: none is unknown"],
    ["flow: POD_TO_POD", "flow: PODS", 't.yaml:11: flow is never "PODS"'],
    ["sourceBuild: ws2019", "sourceBuild: 17763", "t.yaml:12: sourceBuild is never 17763"],
    ["KB4571748", "KB1", 't.yaml:13: sourceRevision is never {"below":"KB1"}'],
    ["below", "under", 't.yaml:13: sourceRevision is never {"under":"KB4571748"}'],
    ["notApplicable", "because", "t.yaml:9: notApplicable is missing"],
    ["notApplicable: nobody knows", "notApplicable: x\n    why: y", "t.yaml:15: unknown: why"],
    ["  OLD:", "  FABRIC:", "t.yaml:9: Map keys must be unique"],
  ])("%j as %j", (good, bad, problem) => {
    expect(problemWith(readExpectations, EXPECTATIONS, good, bad)).toBe(problem);
  });
});

const SENTENCES = `PAGE-A:
  says: nothing
  editions: ["2021"]
  section: §8
  code: too-many-back-ends
  speaksOf:
    - { flow: node-to-pod }
    - { flow: FROM_ELSEWHERE }
  outcome: denied
  quirk: { name: back-ends-limited-to-64, on: every-build }
  differs:
    later:
      because: it does
      evidence: observed
      source: a page
`;

describe("a sentence of the Kubernetes page", () => {
  it.each([
    ['"2021"', '"1921"', "t.yaml:3: editions: 1921 is unknown"],
    ["{ flow: FROM_ELSEWHERE }", "{ flow: x }", 't.yaml:8: flow is never "x"'],
    ["outcome: denied", "outcome: lost", "t.yaml:9: outcome: lost is unknown"],
    ["name: back-ends-limited-to-64", "name: x", "t.yaml:10: name: x is unknown"],
    ["because: it does", "why: it does", "t.yaml:12: because is missing"],
    ["evidence: observed", "evidence: told", "t.yaml:14: evidence: told is unknown"],
    ["  says: nothing\n", "", "t.yaml:1: says is missing"],
  ])("%j as %j", (good, bad, problem) => {
    expect(problemWith(readSentences, SENTENCES, good, bad)).toBe(problem);
  });
});

const QUIRKS = `a-defect:
  title: Something fails
  concerns:
    - "2004"
    - { profile: ws2019, since: KB4565349, until: KB4577668 }
    - { profile: ws2025, hns: { Major: 15, Minor: 4 } }
  strikes: always
  explanation: hns-rules-differ
  sources: [a page]
`;

describe("a defect of HNS", () => {
  it.each([
    ['"2004"', '"2005"', "t.yaml:3: concerns: 2005 is unknown"],
    ["since: KB4565349", "since: KB1", "t.yaml:5: since: KB1 is unknown"],
    ["profile: ws2019", "name: ws2019", "t.yaml:5: profile is missing"],
    ["until", "before", "t.yaml:5: unknown: before"],
    ["Minor: 4", "Minor: four", "t.yaml:6: Minor is not a number"],
    ["strikes: always", "strikes: at-noon", "t.yaml:7: strikes: at-noon is unknown"],
    ["hns-rules-differ", "hns-differs", "t.yaml:8: explanation: hns-differs is no code of the catalogue"],
    ["sources: [a page]", "sources: a page", "t.yaml:9: sources is not a list of texts"],
    ["  title: Something fails\n", "", "t.yaml:1: title is missing"],
  ])("%j as %j", (good, bad, problem) => {
    expect(problemWith(readQuirks, QUIRKS, good, bad)).toBe(problem);
  });
});

describe("what a clone keeps of its tables, so that it need not parse them at each start", () => {
  const FOLDER = new URL("../../../data/facts/", import.meta.url);
  const KEPT = new URL("../../../node_modules/.cache/mullion/facts/hresults.json", import.meta.url);
  const read = (file: string): string => readFileSync(new URL(file, FOLDER), "utf8");

  it.each(readdirSync(FOLDER))("%s is the same as JSON", (file) => {
    const { value } = parseTable(file, read(file));
    expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value);
  });

  it.each([
    ["cut", '{"sum":1,'],
    ["of another text", '{"sum":1,"length":1,"value":{}}'],
    ["no table", "null"],
  ])("is read again where it is %s", (_, text) => {
    const { value } = parseTable("", read("hresults.yaml"));
    openTable("hresults");
    replaceFile(fileURLToPath(KEPT), text, 0o644);
    const again = openTable("hresults");
    expect(again.value).toStrictEqual(value);
    expect(openTable("hresults").value).toStrictEqual(value);
    expect(again.placeOf(["no such name"])).toBe("data/facts/hresults.yaml:1");
  });
});
