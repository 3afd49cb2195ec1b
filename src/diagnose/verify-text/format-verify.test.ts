import { describe, expect, it } from "vitest";
import { remedyOf } from "./explain-verification.ts";
import { formatVerification } from "./format-verify.ts";
import { formatJunit } from "./junit.ts";
import { PLAIN_STYLE } from "#cluster/trace/format-trace.ts";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";

const CELL: VerifyCell = {
  flow: "pod-to-external-ip",
  protocol: "icmp",
  relation: "outside",
  from: "pod/default/client",
  fromSystem: "ws2022",
  to: "203.0.113.10",
  toSystem: "outside",
  expected: "works",
  row: "EXT",
  documentedIn: "windows-networking-documentation.md §3",
  verdict: "finding",
  attempts: 1,
  standsFor: 1,
};

const REPORT: VerifyReport = {
  apiVersion: "mullion/v1alpha1",
  kind: "Verification",
  cluster: "test",
  compat: ["upstream"],
  basis: { facts: [], contradictions: [], assumptions: [], refused: [], notJudged: [], notes: [] },
  counts: {
    cells: 1,
    tried: 1,
    attempts: 1,
    works: 0,
    denied: 0,
    notApplicable: 0,
    notJudged: 0,
    findings: 1,
  },
  cells: [CELL],
  findings: [
    {
      cell: 0,
      expected: "works",
      observed: "no answer",
      code: "icmp-outbound-not-translated",
      remedy: remedyOf("icmp-outbound-not-translated"),
    },
  ],
};

describe("a finding of verify", () => {
  it("shows the commands that its remedy announces, each on a line of its own", () => {
    expect(formatVerification(REPORT)).toContain(
      [
        "    remedy    Test with TCP or UDP instead of ping, for example:",
        "                  curl.exe -Iv https://203.0.113.10",
        "                  Test-NetConnection 203.0.113.10 -Port 443",
        "",
      ].join("\n"),
    );
  });
});

describe("flows that rest on others", () => {
  it("are counted in text and in JUnit", () => {
    const report = { ...REPORT, counts: { ...REPORT.counts, compared: 5, takenOver: 7 } };
    const line =
      "Flows between equal nodes: 1 tried; 5 rest on those, between machines that were compared whole; 7 taken over from an equal node.";
    expect(formatVerification(report).replace(/\s+/g, " ")).toContain(line);
    expect(formatJunit(report)).toContain(line);
    expect(formatVerification(REPORT)).not.toContain("equal nodes");
  });
});

describe("machines that were compared", () => {
  it.each([
    [
      { classes: 3, compared: 7, equal: 7, seed: "a1" },
      "7 machines compared whole with another of the same class, 3 classes of nodes: all are equal.",
    ],
    [
      { classes: 1, compared: 1, equal: 0, seed: "a1" },
      "1 machine compared whole with another of the same class, 1 class of nodes: 1 not equal.",
    ],
  ])("are counted in text and in JUnit: %o", (machines, line) => {
    const report = { ...REPORT, machines };
    const style = { ...PLAIN_STYLE, columns: 200 };
    expect(formatVerification(report, "mullion trace", style).split("\n")).toContain(line);
    expect(formatJunit(report)).toContain(`<property name="machines" value="${line}"/>`);
  });

  it("are not mentioned where no two nodes are alike", () => {
    expect(formatVerification(REPORT)).not.toContain("machine");
    expect(formatJunit(REPORT)).not.toContain("machine");
  });
});

it.each([61, 73, 99])("remarks are as wide as the terminal, %i columns, under their label", (columns) => {
  // Words of one letter fill each line to its end.
  const message = Array.from({ length: 100 }, () => "a").join(" ");
  const remark = { code: "network-not-emulated", message, advice: "" } as const;
  const basis = { ...REPORT.basis, notes: [remark] };
  const text = formatVerification({ ...REPORT, basis }, "mullion trace", { ...PLAIN_STYLE, columns });
  const lines = text.split("\n").filter((line) => /^ {2}(?:note|    ) {6,}a a/.test(line));
  expect(lines.length).toBeGreaterThan(2);
  expect(lines[0]).toMatch(/^ {2}note {6}a a/);
  expect(lines.slice(1).every((line) => /^ {12}a a/.test(line))).toBe(true);
  expect(lines.slice(0, -1).map((line) => line.length)).toEqual(lines.slice(0, -1).map(() => columns));
});
