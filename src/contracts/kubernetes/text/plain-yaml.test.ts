import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { readPlainYaml } from "./plain-yaml.ts";
import { readAnyYaml } from "./yaml-value.ts";

/** What the library makes of a text that the short way has read. */
function holdAlike(text: string): void {
  const plain = readPlainYaml(text);
  if (plain === undefined) return;
  expect({ text, reading: readAnyYaml(text) }).toEqual({ text, reading: { values: [plain.value] } });
}

const SCALARS = [
  "a",
  "1",
  "01",
  "-1",
  "1.5",
  "1e3",
  "e-1",
  "08",
  "1_0",
  "+7",
  ".5",
  ".inf",
  "0b11",
  "0o17",
  "7e9",
  "7e9c",
  "0x1f",
  "10.0.0.1",
  "1.2",
  "1:30",
  "2024-01-01",
  "yes",
  "No",
  "n",
  "null",
  "~",
  "true",
  '"a: b"',
  "'it''s'",
  '"\\n"',
  '"\\u0041"',
  "a b",
  "a:b",
  "a: b",
  "a #b",
  "a#b",
  "-c",
  "--flag",
  "- a",
  "-",
  "?",
  "{}",
  "[]",
  "{a: b}",
  "[a]",
  "|",
  ">-",
  "*a",
  "&a b",
  "!x y",
  "@a",
  "`a`",
  "%a",
  "C:\\k",
  "$x",
  "(a)",
  "<a>",
  "/a/b",
  ".a",
  "...",
  "---",
  "_1",
  "1_000",
  "+1",
  "=",
  "a,b",
  '"a" b',
  "''",
  '""',
  "key: |",
  "1Gi",
  "100m",
  "5%",
  "é",
  "a\tb",
];
const KEYS = [
  "a",
  "b",
  "a.b/c",
  "yes",
  "n",
  "1",
  '"q"',
  "'q'",
  "a b",
  "f:x",
  "-a",
  "<<",
  "__proto__",
  "?",
  "null",
  "é",
];

const line: fc.Arbitrary<string> = fc
  .record({
    indent: fc.integer({ min: 0, max: 4 }),
    hyphen: fc.constantFrom("", "", "- ", "-   ", "- - ", "-"),
    key: fc.option(fc.constantFrom(...KEYS)),
    value: fc.option(fc.constantFrom(...SCALARS)),
    end: fc.constantFrom("", "", "", " ", " # c", "\r"),
  })
  .map(({ indent, hyphen, key, value, end }) => {
    const field = key === null ? (value ?? "") : `${key}:${value === null ? "" : ` ${value}`}`;
    return `${" ".repeat(indent)}${hyphen}${field}${end}`;
  });

describe("the short way through YAML", () => {
  it("reads what dumps look like", () => {
    const text =
      'metadata:\n  labels:\n    app: web\nspec:\n  args:\n  - -c\n  - "a: b"\n  ports:\n  - containerPort: 80\n    name: http\n  volumes: []\nstatus: {}\n';
    expect(readPlainYaml(text)).toEqual({
      value: {
        metadata: { labels: { app: "web" } },
        spec: { args: ["-c", "a: b"], ports: [{ containerPort: 80, name: "http" }], volumes: [] },
        status: {},
      },
    });
  });

  it.each(SCALARS)("takes %j for the same as the library, or leaves it alone", (text) => {
    holdAlike(`a: ${text}\n`);
    holdAlike(`- ${text}\n`);
    holdAlike(`a: ${text}\n  b\n`);
  });

  it.each(KEYS)("takes the name %j for the same as the library, or leaves it alone", (key) => {
    holdAlike(`${key}: 1\n`);
    holdAlike(`x:\n- ${key}: 1\n  y2: 2\n`);
  });

  it("agrees with the library on all that the library writes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        holdAlike(stringify(value, { version: "1.1" }));
      }),
      { numRuns: 300 },
    );
  });

  it("agrees with the library on lines put together at random", () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
        holdAlike(`${lines.join("\n")}\n`);
      }),
      { numRuns: 3_000 },
    );
  });
});
