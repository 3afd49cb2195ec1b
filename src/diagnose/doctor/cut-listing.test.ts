// Listings of vfpctrl of which the end is missing: that is said, and no rule is missed.
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { DSR_RULES, NAT_RULE, filesOf, healthyNode, rulesText } from "#test/support/doctor/healthy-node.ts";
import { type DoctorReport, examineNodes } from "./doctor.ts";
import { FileReading } from "./read-evidence.ts";

const WHOLE = rulesText([...DSR_RULES, NAT_RULE]);
const BEGUN = "\n ITEM LIST\n===========\n\n";
const DONE = "\nCommand list-rule succeeded!\n";
const OTHER_PORT = WHOLE.replace(/^(Policy for port : ).*/u, "$1AAAAAAAA-7B32-4B36-9B93-0A1E38AC7C61");
const LAYER = "\nLAYER : VNET_PA_ROUTE_LAYER\n  Friendly name : VNET_PA_ROUTE_LAYER\n  Priority : 700\n";

function upTo(text: string, mark: string): string {
  return text.slice(0, text.lastIndexOf(mark));
}

const OF_HNS = Object.entries(filesOf(healthyNode())).filter(([name]) =>
  /(?:network|endpoint)\.txt$/u.test(name),
);

async function examine(rules: string): Promise<DoctorReport> {
  const files = [...OF_HNS, ["node/vfpOutput.txt", rules] as const];
  return examineNodes(files.map(([name, text]) => new FileReading(new SourceText(name, text))));
}

function said({ notRead }: DoctorReport): readonly string[] {
  return notRead.flatMap(({ file, reason }) => (file === "node/vfpOutput.txt" ? [reason] : []));
}

describe("a listing that is cut", () => {
  it.each([
    ["within a line", WHOLE.slice(0, -20), "ends within a line"],
    ["at the end of a line of a rule", upTo(WHOLE, "      Flow TTL"), "ends within a rule"],
    ["behind a rule's conditions", upTo(WHOLE, "      FlagsEx"), "ends within a rule"],
    [
      "between rules, below a command that was done",
      OTHER_PORT + DONE + upTo(WHOLE, "    RULE :"),
      "has succeeded",
    ],
    ["between rules of a single port", BEGUN + upTo(WHOLE, "    RULE :"), "has succeeded"],
    ["behind the only rule that is left", `${BEGUN}${rulesText(DSR_RULES.slice(0, 1))}`, "has succeeded"],
    ["between layers of its last port", OTHER_PORT + LAYER + WHOLE, "has the first layers of another one"],
  ])("%s", async (_, rules, says) => {
    const report = await examine(rules);
    expect(said(report)).toEqual([expect.stringContaining(says)]);
    expect(report.checksNotMade.flatMap(({ missing }) => missing)).toContain("all rules");
    expect(report.findings).toEqual([]);
  });

  it.each([
    ["one port", WHOLE],
    ["a command that was done", WHOLE + DONE],
    ["a command with all its lines", BEGUN + WHOLE + DONE],
    ["rules that somebody chose from a command", WHOLE.replace(/^.*\n/u, "")],
    ["two commands that were done", OTHER_PORT + DONE + WHOLE + DONE],
    ["two ports with the same layers", OTHER_PORT + LAYER + WHOLE + LAYER],
    ["rules without a field that this build does not print", WHOLE.replaceAll(/ +FlagsEx : 0\n/gu, "")],
  ])("is not %s", async (_, rules) => {
    const report = await examine(rules);
    expect(said(report)).toEqual([]);
    expect(report.findings).toEqual([]);
  });
});

it("reads what has a hundred thousand empty lines at once", () => {
  const text = `${WHOLE}${DONE}${"\n".repeat(100_000)}`;
  expect(new FileReading(new SourceText("vfpOutput.txt", text)).isListingCut).toBe(false);
});
