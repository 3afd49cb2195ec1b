import { describe, expect, it } from "vitest";
import { remedyOf } from "./explain-verification.ts";
import { formatVerification } from "./format-verify.ts";
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

describe("a finding of verify", () => {
  it("shows the commands that its remedy announces, each on a line of its own", () => {
    const report: VerifyReport = {
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
    expect(formatVerification(report)).toContain(
      [
        "    remedy    Test with TCP or UDP instead of ping, for example:",
        "                  curl.exe -Iv https://203.0.113.10",
        "                  Test-NetConnection 203.0.113.10 -Port 443",
        "",
      ].join("\n"),
    );
  });
});
