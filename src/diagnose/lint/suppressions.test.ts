import { describe, expect, it } from "vitest";
import { lintExample } from "#test/support/lint/example-input.ts";
import type { LintReport } from "./report/report.ts";

const POD = (annotation: string): string => `apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    mullion.dev/lint-ignore: ${annotation}
spec:
  nodeSelector: { kubernetes.io/os: windows }
  hostNetwork: true
  containers: [{ name: web, image: registry.example/web:1 }]
`;

function report(pod: string, configuration?: string, name = "legacy/web.yaml"): LintReport {
  const own = configuration === undefined ? [] : [{ name: ".mullion-lint.yaml", text: configuration }];
  return lintExample({ files: [{ name, text: pod }, ...own] });
}

function reported({ findings }: LintReport): readonly string[] {
  return findings.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`);
}

const FOUND = "legacy/web.yaml:9:3 host-network-unsupported";
const IGNORE = (lines: string): string => `ignore:\n  - ${lines}\n`;

describe("an annotation", () => {
  it("with a reason silences one code", () => {
    const result = report(POD('"host-network-unsupported: is replaced in May"'));
    expect(reported(result)).toEqual([]);
    expect(result.suppressed.map(({ reason }) => reason)).toEqual(["is replaced in May"]);
  });

  it("without a reason is a finding, and silences nothing", () => {
    expect(reported(report(POD("host-network-unsupported")))).toEqual([
      "legacy/web.yaml:6:5 lint-suppression-invalid",
      FOUND,
    ]);
  });

  it("of an unknown code is a finding", () => {
    expect(reported(report(POD('"hostnetwork: why not"')))).toEqual([
      "legacy/web.yaml:6:5 lint-suppression-invalid",
      FOUND,
    ]);
  });

  it("of another code silences nothing", () => {
    expect(reported(report(POD('"dns-options-ignored: on purpose"')))).toEqual([FOUND]);
  });
});

describe(".mullion-lint.yaml", () => {
  it.each([
    ["legacy/**", true],
    ["./legacy/*", true],
    ["web.yaml", true],
    ["**/web.yaml", true],
    ["leg?cy/*.yaml", true],
    ["*/web.yaml", true],
    ["l**b.yaml", true],
    ["leg*", true],
    ["*.yml", false],
    ["le/*", false],
    ["?web.yaml", false],
    ["l*b.yaml", false],
    ["legacy/web", false],
    ["w.b.yaml", false],
    // In a backtracking search these forty stars would take years.
    [`${"*w".repeat(40)}*b`, false],
  ])("paths: [%j] fits legacy/web.yaml: %s", (path, fits) => {
    const entry = IGNORE(`{ code: host-network-unsupported, reason: old, paths: [${JSON.stringify(path)}] }`);
    expect(reported(report(POD("x"), entry)).includes(FOUND)).toBe(!fits);
  });

  const plain = POD('""');

  it.each([
    [IGNORE("{ code: host-network-unsupported, reason: old }"), true],
    [IGNORE('{ code: host-network-unsupported, paths: ["legacy/**"], reason: old }'), true],
    [IGNORE('{ code: host-network-unsupported, paths: ["*.yaml"], reason: old }'), true],
    [IGNORE('{ code: "*", paths: [legacy], reason: old }'), true],
    [IGNORE('{ code: host-network-unsupported, paths: ["new/**"], reason: old }'), false],
    [IGNORE("{ code: dns-options-ignored, reason: old }"), false],
  ])("%j silences: %s", (configuration, isSilent) => {
    const result = report(plain, configuration);
    expect(reported(result)).toEqual(isSilent ? [] : [FOUND]);
    expect(result.suppressed).toHaveLength(isSilent ? 1 : 0);
  });

  it.each([
    ["{ code: host-network-unsupported }", ".mullion-lint.yaml:2:5"],
    ["{ code: nothing-known, reason: old }", ".mullion-lint.yaml:2:5"],
    ["7", ".mullion-lint.yaml:2:5"],
  ])("an entry %j is a finding", (entry, place) => {
    expect(reported(report(plain, IGNORE(entry)))).toEqual([`${place} lint-suppression-invalid`, FOUND]);
  });
});
