import { describe, expect, it } from "vitest";
import { compareLines, formatLines, hashOf, normaliseOutput, parseLines } from "./output-lines.ts";

const line = (
  name: string,
  stdout = "a",
  exitCode = "0",
  stderr = "-",
): ReturnType<typeof parseLines>[number] => ({
  exitCode,
  stdout,
  stderr,
  name,
});
const BASE = [line("mullion get pods"), line('mullion explain "two words"', "b", "1", "c")];

describe("outputs", () => {
  it("are read as they were written", () => {
    expect(parseLines(formatLines(BASE))).toEqual(BASE);
  });

  it("that are as they were are no difference", () => {
    expect(compareLines(BASE, BASE)).toEqual([]);
  });

  it.each([
    ["a changed output", [line("mullion get pods", "x")], "changed (stdout): mullion get pods"],
    [
      "another exit code and another error",
      [line("mullion get pods", "a", "2", "e")],
      "changed (exit code 0 -> 2, stderr): mullion get pods",
    ],
    ["a lost command", [], "lost: mullion get pods"],
  ])("%s is found", (_, now, problem) => {
    expect(compareLines(BASE.slice(0, 1), now)).toEqual([problem]);
  });

  it("a new one is found, and one of two of the same name", () => {
    expect(compareLines([], BASE.slice(0, 1))).toEqual(["new: mullion get pods"]);
    expect(compareLines([line("a"), line("a", "b")], [line("a")])).toEqual([
      "changed (2 -> 1 of this name): a",
    ]);
  });

  it("do not depend on the version or the folder", () => {
    expect(normaliseOutput('{"version":"0.1.0"} at FOO/x, 10.0.1.0 and 0.1.0.1', "0.1.0", "FOO")).toBe(
      '{"version":"VERSION"} at FOLDER/x, 10.0.1.0 and 0.1.0.1',
    );
  });

  it("without a letter have no hash", () => {
    expect([hashOf(""), hashOf("a")]).toEqual(["-", "ca978112ca1b"]);
  });
});
