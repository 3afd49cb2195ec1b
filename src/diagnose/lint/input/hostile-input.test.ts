/** Broken and hostile texts: lint never throws, never hangs, and says what it passed by. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lint } from "../lint.ts";
import type { LintReport } from "../report/report.ts";
import { LINT_EXAMPLES } from "#test/support/lint/all-examples.ts";
import { SourceText, decodeSource } from "#core/base/source-text.ts";

function report(file: string, text: string): LintReport {
  return lint({ sources: [new SourceText(file, text)], options: { isWindows: true } });
}

const POD =
  "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { os: { name: windows }, nodeSelector: { kubernetes.io/os: windows }, hostNetwork: true }\n";

function bomb(levels: number): string {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < levels; level++) {
    const items = Array.from({ length: 10 }, () => `*a${level - 1}`).join(", ");
    lines.push(`a${level}: &a${level} [${items}]`);
  }
  return `${lines.join("\n")}\napiVersion: v1\nkind: ConfigMap\n`;
}

describe("one broken document among good ones", () => {
  it.each([
    ["a template", "apiVersion: v1\nkind: Pod\n{{ if .Values.x }}\nspec: {}\n{{ end }}\n", "passedBy"],
    ["an alias bomb", bomb(12), "findings"],
    ["nested brackets", `apiVersion: v1\nkind: Pod\nspec: ${"[".repeat(50_000)}\n`, "findings"],
    ["a tab", "apiVersion: v1\nkind: Pod\nspec:\n\ta: 1\n", "findings"],
    ["other YAML", "on: push\njobs: {}\n", "passedBy"],
    ["a list of texts", "- a\n- b\n", "passedBy"],
  ] as const)("%s", (_, broken, where) => {
    const result = report("all.yaml", `${POD}---\n${broken}---\n${POD}`);
    const own = result.findings.filter(({ code }) => code === "host-network-unsupported");
    expect(own).toHaveLength(2);
    expect(result.counts.documents).toBe(2);
    expect(
      where === "passedBy" ? result.passedBy.length : result.findings.length - own.length,
    ).toBeGreaterThan(0);
  });

  it("comments of Helm and empty documents are no documents", () => {
    const text = `---\n# Source: web/templates/pod.yaml\n---\n\n---\n# Source: x\n${POD}`;
    expect(report("all.yaml", text)).toMatchObject({ passedBy: [], counts: { documents: 1, error: 1 } });
  });

  it("aliases stand for what they mean, and are found where the alias stands", () => {
    const text = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  nodeSelector: &windows { kubernetes.io/os: windows }
  hostNetwork: &yes true
`;
    expect(report("pod.yaml", text).findings.map(({ line, column }) => `${line}:${column}`)).toEqual(["6:3"]);
  });

  it.each([
    ["kind: Pod\nmetadata: { name: api }\n", "apiVersion: required value"],
    ["apiVersion: v1\nmetadata: { name: api }\n", "kind: required value"],
    ["apiVersion: 1\nkind: Pod\nmetadata: { name: api }\n", "apiVersion: must be text"],
  ])("an object without its type: %j", (text, message) => {
    const { findings } = report("pod.yaml", `${POD}---\n${text}`);
    expect(findings.map((each) => [each.code, each.line, each.message])).toContainEqual([
      "manifest-missing-field",
      6,
      message,
    ]);
  });

  it.each(["metadata: { name: values }\nreplicas: 2\n", "kind: Pod\nreplicas: 2\n"])(
    "what is no object: %j",
    (text) => {
      expect(report("values.yaml", `${POD}---\n${text}`).findings.map(({ code }) => code)).not.toContain(
        "manifest-missing-field",
      );
    },
  );

  it("lines end as Windows writes them", () => {
    const text = POD.replaceAll("\n", "\r\n");
    const [found] = report("pod.yaml", `${text}---\r\n${text.replace("web", "api")}`).findings.slice(1);
    expect([found?.line, found?.lineText.endsWith("true }")]).toEqual([9, true]);
  });
});

describe("any text", () => {
  const texts = Object.values(LINT_EXAMPLES).flatMap(({ bad }) =>
    bad.files.map(({ name, text }) => ({ name, text: text.replaceAll("«", "") })),
  );

  /** A text of an example in which something was cut out, doubled or replaced. */
  const mutated = fc
    .record({
      source: fc.constantFrom(...texts),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.nat(30),
      insert: fc.constantFrom(
        "",
        "\u0000",
        "\u00a0",
        "\t",
        "{",
        "[",
        '"',
        "'",
        ": ",
        "- ",
        "&a ",
        "*a",
        "\n---\n",
        "|\n",
        "{{ .x }}",
        "null",
        "9".repeat(400),
      ),
    })
    .map(({ source, at, length, insert }) => {
      const offset = Math.floor(at * source.text.length);
      return {
        name: source.name,
        text: source.text.slice(0, offset) + insert + source.text.slice(offset + length),
      };
    });

  it("is read without a fault of ours, and every place lies in the file", () => {
    fc.assert(
      fc.property(mutated, ({ name, text }) => {
        const lines = text.split("\n").length;
        for (const { line, column, endLine } of report(name, text).findings) {
          expect(line).toBeGreaterThanOrEqual(1);
          expect(column).toBeGreaterThanOrEqual(1);
          expect(endLine).toBeLessThanOrEqual(lines);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("any bytes", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 400 }),
        fc.constantFrom("a.yaml", "a.json", "a.conf", "a.env", "a.ps1"),
        (bytes, name) => {
          const source = decodeSource(name, bytes);
          if (source !== undefined) lint({ sources: [source] });
        },
      ),
      { numRuns: 300 },
    );
  });
});
