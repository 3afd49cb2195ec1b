import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { type FieldPath, below } from "./field-path.ts";
import { PlainYamlReader, readPlainYaml } from "./plain-yaml.ts";
import { offsetsInAnyYaml, readAnyYaml } from "./yaml-value.ts";

/** The ways to all fields of a value, and one that leads nowhere at each. */
function pathsIn(value: unknown, path?: FieldPath): (FieldPath | undefined)[] {
  if (typeof value !== "object" || value === null) return [path, below(path, "absent"), below(path, 7)];
  const parts = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  const ways = parts.flatMap(([step, part]) => pathsIn(part, below(path, step)));
  return [path, below(path, "absent"), below(path, 99), ...ways];
}

/** What the library makes of a text that the short way has read, and where it finds the fields. */
function holdAlike(text: string): void {
  const plain = readPlainYaml(text);
  if (plain === undefined) return;
  expect({ text, reading: readAnyYaml(text) }).toEqual({ text, reading: { values: [plain.value] } });
  const paths = pathsIn(plain.value);
  const offsets = new PlainYamlReader().offsets(text, paths);
  expect({ text, offsets }).toEqual({ text, offsets: offsetsInAnyYaml(text, paths) });
}

/** True for a text that the short way reads, and reads as the library does. */
function isRead(text: string): boolean {
  holdAlike(text);
  return readPlainYaml(text) !== undefined;
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
  "0b379176-2ab0-40c8",
  "0o9",
  "0x",
  "0b12",
  "-0x1_f",
  "0XG",
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

/** Lines that begin, continue and end blocks of text. */
const BLOCK_LINE = fc.constantFrom("a: |", "  b: |-", "- |", "  - |", "    x", "   # y", "  ", "", "      z");

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

  // https://yaml.org/spec/1.2.2/#812-literal-style: a literal block keeps its lines, and `|-` drops the last line end.
  it.each([
    ["a: |\n  b\n  c\n", true],
    ["a: |-\n  b: c\n\n    # d\n\nx: 1\n", true],
    ["l:\n- |\n  # no comment\n  {}\n- c: |\n    d\n  e: f\n", true],
    ["a: |\r\n  b\r\nc: d\r\n", true],
    ["a: |\n  b\n   \nc: d\n", false],
    ["a: |\n   b\n  c\n", false],
    ["a: |\n    b\n # c\nd: e\n", false],
    ["a: |2\n    b\n", false],
    ["a: |\nb: c\n", false],
    ["a: |\n  b", false],
    ["a: |\n\n   \n  b\n", false],
    ["a: |\n  b\tc\n", false],
    ["a: >\n  b\n", false],
  ])("reads the block of text in %j as the library does, or leaves it alone", (text, expected) => {
    expect(isRead(text)).toBe(expected);
  });

  it("remembers scalars from text to text and takes each for what it is", () => {
    const reader = new PlainYamlReader();
    const texts = [
      "a: 1\n",
      'a: "1"\n',
      "- 1\n- yes\n",
      "a: '1'\nb: 1\n",
      "1: a\n",
      "a: true\n- b\n",
      "b: 1\n",
    ];
    const fresh = texts.map((text) => readPlainYaml(text));
    expect(texts.map((text) => reader.read(text))).toEqual(fresh);
    expect(texts.map((text) => reader.read(text))).toEqual(fresh);
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
      fc.property(
        fc.array(fc.oneof(line, line, line, BLOCK_LINE), { minLength: 1, maxLength: 8 }),
        (lines) => {
          holdAlike(`${lines.join("\n")}\n`);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

it("errors of others keep their call stacks after a text was read, whatever was wrong with it", () => {
  const frames = Error.stackTraceLimit;
  for (const text of ["a: 1", "a: [", '"'.repeat(50)]) {
    readAnyYaml(text);
    expect(Error.stackTraceLimit).toBe(frames);
  }
});
