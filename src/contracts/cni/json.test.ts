import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import {
  DecodeError,
  JsonError,
  StructReader,
  equalFold,
  formatJson,
  parseJson,
  readStruct,
  sortKeys,
} from "./json.ts";

function messageOf(text: string): string {
  try {
    parseJson(text);
    return "no error";
  } catch (error) {
    return error instanceof JsonError ? error.message : "another error";
  }
}

describe("what editors and shells do to JSON is named with its place", () => {
  it.each([
    [
      "byte order mark",
      '\ufeff{"name":"n"}',
      /U\+FEFF \(byte order mark\).* line 1, column 1; save the file/,
    ],
    ["no-break space", '{\n\u00a0"name": "n"}', /U\+00A0 \(no-break space\).* line 2, column 1; replace it/],
    ["line comment", '{"a": 1, // why\n"b": 2}', /a comment at line 1, column 10; remove it/],
    ["block comment", '/* x */ {"a": 1}', /a comment at line 1, column 1/],
    ["hash comment", '{"a": 1}\n# end', /after the document: a comment at line 2, column 1/],
    ["trailing comma in an object", '{"a": 1,}', /a comma before "}" at line 1, column 8; remove it/],
    ["trailing comma in a list", '{"a": [1,\n2,\n]}', /a comma before "]" at line 2, column 2/],
    ["typographic quotes", '{\u201cname\u201d: "n"}', /U\+201C \(typographic quote\).*use the plain quote "/],
    ["single quotes", "{'name': 'n'}", /single quote.*double quotes/],
    ["placeholder", '{"vni": __VNI__}', /"__VNI__" looking for a value: a placeholder at line 1, column 9/],
    ["word", '{"a": True}', /unexpected word "True" looking for a value at line 1, column 7/],
    ["UTF-16", '{\u0000"\u0000a\u0000', /U\+0000 \(null byte\).*UTF-16/],
    ["bytes that are no UTF-8", '\ufffd\ufffd{"a":1}', /U\+FFFD.*save the file as UTF-8/],
    ["unclosed string", '{"name": "cbr0}', /a string is not closed at line 1, column 10/],
    ["bad escape", '{"path": "C:\\etc"}', /invalid escape in a string.*write a backslash as \\\\/],
    ["line break in a string", '{"a": "x\ny"}', /U\+000A \(white space\) in a string/],
    ["missing comma", '{"a": 1 "b": 2}', /invalid character """ looking for "," or "}"/],
    ["missing colon", '{"a" 1}', /looking for a colon after a field name/],
    ["nothing", "", /unexpected end of JSON input at line 1, column 1/],
    ["a leading zero", '{"a": 01}', /invalid character "1" looking for/],
    ["two documents", "{} {}", /invalid character "{" after the document/],
  ])("%s", (_name, text, message) => {
    expect(messageOf(text)).toMatch(message);
  });

  it("bounds depth and length", () => {
    const depth = LIMITS.documentDepthMax + 1;
    expect(messageOf("[".repeat(depth + 1) + "]".repeat(depth + 1))).toMatch(/nested deeper than 128 levels/);
    expect(parseJson("[".repeat(depth) + "]".repeat(depth))).toBeDefined();
    expect(messageOf(" ".repeat(LIMITS.jsonBytesMax + 1))).toMatch(/longer than/);
  });
});

function parsesNatively(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

it("accepts exactly what JSON.parse accepts", () => {
  const soup = fc.array(
    fc.constantFrom(
      ..."{}[],:\"\\ \n\tnultrefas0123.-+eE/*#'\u00a0\ufeff\u2028x".split(""),
      "true",
      "null",
      '""',
      '"a":1',
    ),
    { maxLength: 14 },
  );
  const texts = fc.oneof(
    soup.map((parts) => parts.join("")),
    fc.json(),
    fc.string(),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const isFine = messageOf(text) === "no error";
      expect(isFine).toBe(parsesNatively(text));
      expect(messageOf(text)).not.toBe("another error");
    }),
    { numRuns: 3000 },
  );
});

describe("printing as Go prints", () => {
  it("indents by four spaces, escapes what could be HTML, ends without a newline", () => {
    expect(formatJson({ msg: "IP <nil> & more", list: [], empty: {} }, 4)).toBe(
      '{\n    "msg": "IP \\u003cnil\\u003e \\u0026 more",\n    "list": [],\n    "empty": {}\n}',
    );
  });

  it("sorts the keys of maps at every level", () => {
    expect(JSON.stringify(sortKeys({ b: [{ z: 1, a: 2 }], a: null }))).toBe('{"a":null,"b":[{"a":2,"z":1}]}');
  });
});

describe("struct-like objects are read as Go reads them", () => {
  const reader = new StructReader({
    Policies: [{ NAME: "EndpointPolicy" }],
    hostPort: 80,
    HOSTPORT: 81,
    absent: null,
    flag: true,
    dns: { Nameservers: ["10.96.0.10", null] },
  });

  it("matches names without regard to case, the later of two spellings wins, null is absent", () => {
    expect(reader.structs("policies")[0]?.text("name")).toBe("EndpointPolicy");
    expect(reader.integer("hostport")).toBe(81);
    expect(reader.raw("absent")).toBeUndefined();
    expect(reader.struct("DNS")?.texts("nameservers")).toEqual(["10.96.0.10", ""]);
    expect(new StructReader({ "\u212aey": 1 }).integer("key")).toBe(1);
  });

  it("gives the zero value for what is absent", () => {
    expect([reader.text("x"), reader.boolean("x"), reader.integer("x"), reader.list("x")]).toEqual([
      "",
      false,
      undefined,
      [],
    ]);
  });

  it.each([
    [() => reader.text("flag"), 'field "flag" must be a text, not true'],
    [() => reader.boolean("dns"), 'field "dns" must be true or false, not an object'],
    [() => reader.integer("policies"), 'field "policies" must be a whole number, not a list'],
    [() => reader.integer("flag"), 'field "flag" must be a whole number, not true'],
    [
      () => new StructReader({ apiVersion: "2" }).integer("apiVersion"),
      'field "apiVersion" must be a whole number, not the text "2"',
    ],
    [() => new StructReader({ n: 1.5 }).integer("n"), 'field "n" must be a whole number, not 1.5'],
    [() => reader.struct("dns")?.text("nameservers"), 'field "dns.nameservers" must be a text, not a list'],
    [
      () => reader.struct("dns")?.list("x") && new StructReader({ s: [1] }, "dns").texts("s"),
      'field "dns.s[0]" must be a text, not 1',
    ],
    [() => new StructReader({ list: [{}, 7] }).structs("list"), 'field "list[1]" must be an object, not 7'],
    [() => new StructReader({ o: [] }).object("o"), 'field "o" must be an object, not a list'],
    [
      () => readStruct("x".repeat(60), "ipam"),
      `field "ipam" must be an object, not the text "${"x".repeat(40)}…"`,
    ],
  ])("names the field: %#", (read, message) => {
    expect(read).toThrowError(DecodeError);
    expect(read).toThrowError(message);
  });

  it("folds as Go folds", () => {
    expect(equalFold("EndpointPolicy", "ENDPOINTPOLICY")).toBe(true);
    expect(equalFold("EndpointPolicy", "EndpointPolicies")).toBe(false);
  });
});
