// Lines inside quotes and brackets that begin too far to the left: the YAML specification refuses them, and libyaml, from
// which Kubernetes' reader comes, takes them. Values as libyaml reads them.
import { describe, expect, it } from "vitest";
import { below } from "./field-path.ts";
import { rangesOf, readYaml } from "./yaml-value.ts";

describe("lines that go on at the left edge", () => {
  it.each<readonly [text: string, value: unknown]>([
    ["a:\n  b: ['x', '\n  one;\n  two;\n  ']\nc: 1\n", { a: { b: ["x", " one; two; "] }, c: 1 }],
    ['a:\n  b: "one\ntwo\n    three"\n  c: 1\n', { a: { b: "one two three", c: 1 } }],
    ["a:\n  b: 'one\n\ntwo'\n", { a: { b: "one\ntwo" } }],
    ['a:\n  b: [\n"x",\nz\n]\n', { a: { b: ["x", "z"] } }],
    ["a:\n  b: { x: 1,\nz: [2,\n3\n]\n}\n  c: 1\n", { a: { b: { x: 1, z: [2, 3] }, c: 1 } }],
    ['a: "one\n# two\nthree"\n', { a: "one # two three" }],
  ])("%j", (text, value) => {
    expect(readYaml(text)).toEqual({ values: [value] });
  });

  it("what follows stands where it stands", () => {
    const text = 'a:\n  b: "one\ntwo"\n  c: 1\n';
    const [range] = rangesOf(text, [below(undefined, "a", "c")]);
    expect(range?.start).toBe(text.indexOf("c: 1"));
  });

  it.each<readonly [text: string, line: number]>([
    ['a: "one\n---\ntwo"\n', 1],
    ["a:\n  b: [1\n  c: 2\n", 3],
  ])("%j is refused, where it is noticed", (text, line) => {
    const read = readYaml(text);
    const offset = "faults" in read ? (read.faults[0]?.offset ?? 0) : 0;
    expect(text.slice(0, offset).split("\n")).toHaveLength(line);
  });
});
