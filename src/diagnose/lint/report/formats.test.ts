import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { lintExample } from "#test/support/lint/example-input.ts";
import { lintDocument, lintSchema } from "./format-json.ts";
import { formatJunit } from "./format-junit.ts";
import { formatSarif, uriOf } from "./format-sarif.ts";
import { formatText } from "./format-text.ts";
import type { LintReport } from "./report.ts";
import { LINT_EXAMPLES } from "#test/support/lint/all-examples.ts";

const POD = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  nodeSelector: { kubernetes.io/os: windows }
  hostNetwork: true
  containers: [{ name: web, image: registry.example/web:1 }]
`;

const REPORT = lintExample({
  files: [
    { name: "a b/pod.yaml", text: POD },
    {
      name: "ignored.yaml",
      text: POD.replace(
        "  name: web",
        '  name: web\n  annotations: { mullion.dev/lint-ignore: "host-network-unsupported: old & <odd>" }',
      ),
    },
    { name: "notes.txt", text: "hello" },
  ],
});

const plain = {
  columns: 80,
  bold: (text: string) => text,
  dim: (text: string) => text,
  red: (text: string) => text,
  yellow: (text: string) => text,
  green: (text: string) => text,
};

describe("text", () => {
  it("shows place, code, sentence, line with carets, remedy, page and summary", () => {
    expect(formatText(REPORT, plain, true)).toBe(`a b/pod.yaml:7:3: error: host-network-unsupported (Pod web)
  hostNetwork does not exist for containers on Windows, unless they are
  HostProcess containers.
  7 |   hostNetwork: true
    |   ^^^^^^^^^^^
  → Remove hostNetwork, and open what is needed with a hostPort or a Service. A
  program that must run on the node itself (an agent, a CNI installer) becomes a
  HostProcess pod: hostNetwork: true together with hostProcess: true.
  data/catalogue/services/host-network-unsupported.md

2 documents in 3 files checked: 1 error; 1 suppressed
for Windows Server 2022 (assumed) and Kubernetes 1.37 (assumed)
skipped: notes.txt: not a file that lint reads
more about a code: mullion explain host-network-unsupported
`);
  });

  it("tells files that were passed by for one reason together, and of many reasons the first ten", () => {
    const because = (reason: string, ...files: readonly (readonly [string, number])[]) =>
      files.map(([file, line]) => ({ file, line, reason }));
    const skipped = (passedBy: LintReport["passedBy"]): readonly string[] =>
      formatText({ ...REPORT, passedBy }, plain, true)
        .split("\n")
        .filter((line) => line.startsWith("skipped: "));
    const several = [...because("odd", ["a", 1], ["b", 7]), ...because("old", ["c", 2])];
    expect(skipped([...several, ...because("odd", ["d", 1])])).toEqual([
      "skipped: a and 2 others: odd",
      "skipped: c:2: old",
    ]);
    expect(skipped(several)[0]).toBe("skipped: a and 1 other: odd");
    const many = Array.from({ length: 12 }, (_, index) => because(`r${index}`, ["f", 1])).flat();
    expect(skipped(many.slice(0, 10))).toHaveLength(10);
    expect(skipped(many).slice(9)).toEqual(["skipped: f: r9", "skipped: 2 more reasons"]);
  });

  it("cuts a long line around the caret", () => {
    const long = lintExample({
      files: [
        {
          name: "p.json",
          text: JSON.stringify({
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "x".repeat(200) },
            spec: {
              os: { name: "windows" },
              nodeSelector: { "kubernetes.io/os": "windows" },
              hostNetwork: true,
            },
          }),
        },
      ],
    });
    const lines = formatText(long, plain, true).split("\n");
    const at = lines.findIndex((line) => line.includes("^"));
    const [source = "", carets = ""] = lines.slice(at - 1, at + 1);
    expect(source.length).toBeLessThanOrEqual(80);
    expect(source.slice(carets.indexOf("^"), carets.lastIndexOf("^") + 1)).toBe('"hostNetwork"');
  });
});

describe("JSON", () => {
  const validate = new Ajv({ strict: true }).compile(lintSchema());

  it("follows its schema, for every bad example", () => {
    for (const examples of Object.values(LINT_EXAMPLES)) {
      const report = lintExample(examples.bad);
      validate(JSON.parse(JSON.stringify(lintDocument(report))));
      expect(validate.errors).toBeNull();
      for (const weight of ["error", "warning", "info"] as const)
        expect(report.counts[weight]).toBe(
          report.findings.filter(({ severity }) => severity === weight).length,
        );
    }
  });
});

/** What SARIF 2.1.0 demands of the objects that are used here (OASIS, sarif-schema-2.1.0, required and enum). */
const TEXT = { type: "object", required: ["text"], properties: { text: { type: "string", minLength: 1 } } };
const POSITIVE = { type: "integer", minimum: 1 };
const PLACE = {
  type: "object",
  required: ["artifactLocation", "region"],
  properties: {
    artifactLocation: {
      type: "object",
      required: ["uri"],
      properties: { uri: { type: "string", pattern: "^[^\\s\\\\]+$" } },
    },
    region: {
      type: "object",
      required: ["startLine"],
      properties: {
        startLine: POSITIVE,
        startColumn: POSITIVE,
        endLine: POSITIVE,
        endColumn: POSITIVE,
        snippet: TEXT,
      },
    },
  },
};
const LOCATIONS = { type: "array", items: { type: "object", properties: { physicalLocation: PLACE } } };
const SARIF = {
  type: "object",
  required: ["version", "runs"],
  additionalProperties: false,
  properties: {
    $schema: { type: "string" },
    version: { const: "2.1.0" },
    runs: {
      type: "array",
      items: {
        type: "object",
        required: ["tool", "results"],
        properties: {
          columnKind: { enum: ["utf16CodeUnits", "unicodeCodePoints"] },
          tool: {
            type: "object",
            required: ["driver"],
            properties: {
              driver: {
                type: "object",
                required: ["name"],
                properties: {
                  name: { type: "string" },
                  version: { type: "string" },
                  rules: {
                    type: "array",
                    uniqueItems: true,
                    items: {
                      type: "object",
                      required: ["id"],
                      properties: {
                        id: { type: "string" },
                        shortDescription: TEXT,
                        fullDescription: TEXT,
                        help: TEXT,
                      },
                    },
                  },
                },
              },
            },
          },
          invocations: { type: "array", items: { type: "object", required: ["executionSuccessful"] } },
          results: {
            type: "array",
            items: {
              type: "object",
              required: ["message"],
              properties: {
                ruleId: { type: "string" },
                ruleIndex: { type: "integer", minimum: 0 },
                level: { enum: ["none", "note", "warning", "error"] },
                message: TEXT,
                locations: LOCATIONS,
                suppressions: {
                  type: "array",
                  items: {
                    type: "object",
                    required: ["kind"],
                    properties: { kind: { enum: ["inSource", "external"] } },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};

interface SarifResult {
  readonly ruleId: string;
  readonly ruleIndex: number;
  readonly level: string;
  readonly suppressions: readonly unknown[];
  readonly locations: readonly {
    readonly physicalLocation: {
      readonly artifactLocation: { readonly uri: string };
      readonly region: { readonly startLine: number; readonly startColumn: number };
    };
  }[];
}

interface SarifLog {
  readonly runs: readonly {
    readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
    readonly results: readonly SarifResult[];
  }[];
}

function sarif(report: LintReport): SarifLog {
  return JSON.parse(formatSarif(report, "1.2.3")) as SarifLog;
}

describe("SARIF", () => {
  const validate = new Ajv({ strict: false }).compile(SARIF);

  it("has the structure of 2.1.0, for every bad example", () => {
    for (const examples of Object.values(LINT_EXAMPLES)) {
      validate(sarif(lintExample(examples.bad)));
      expect(validate.errors).toBeNull();
    }
  });

  it("carries file, line, column and rule", () => {
    const [run] = sarif(REPORT).runs;
    const [first, second] = run?.results ?? [];
    expect(first).toMatchObject({
      ruleId: "host-network-unsupported",
      level: "error",
      suppressions: [],
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: "a%20b/pod.yaml" },
            region: { startLine: 7, startColumn: 3, endLine: 7, endColumn: 14 },
          },
        },
      ],
    });
    expect(run?.tool.driver.rules[first?.ruleIndex ?? -1]?.id).toBe("host-network-unsupported");
    expect(second?.suppressions).toEqual([{ kind: "inSource", justification: "old & <odd>" }]);
  });

  it.each([
    ["./a/b.yaml", "a/b.yaml"],
    ["C:\\k\\cni.conf", "file:///C:/k/cni.conf"],
    ["/etc/x y", "file:///etc/x%20y"],
  ])("writes %j as %j", (file, uri) => {
    expect(uriOf(file)).toBe(uri);
  });
});

describe("JUnit", () => {
  it("has a suite per file, a failure per finding, and files without findings pass", () => {
    const xml = formatJunit(REPORT);
    expect(xml).toContain('<testsuites name="mullion lint" tests="3" failures="1" skipped="1">');
    expect(xml).toContain('<testcase classname="host-network-unsupported" name="a b/pod.yaml:7:3 Pod web">');
    expect(xml).toContain('<failure type="error" message="hostNetwork does not exist');
    expect(xml).toContain('<testcase classname="clean" name="ignored.yaml"/>');
  });

  it("escapes what XML cannot hold", () => {
    const pod = POD.replace("name: web", 'name: "a\\u0001<b"');
    const xml = formatJunit(lintExample({ files: [{ name: "p.yaml", text: pod }] }));
    expect([xml.includes("\u0001"), xml.includes("<b")]).toEqual([false, false]);
  });
});
