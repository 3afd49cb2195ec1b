import { describe, expect, it } from "vitest";
import { isFields, isJsonObject } from "./json.ts";
import { errorCode, messageOf } from "./thrown.ts";

describe("a mapping", () => {
  it.each([
    [{}, true],
    [{ a: 1 }, true],
    [[], false],
    [null, false],
    ["text", false],
    [7, false],
    [undefined, false],
  ])("%j: %s", (value, isMapping) => {
    expect(isFields(value)).toBe(isMapping);
    expect(isJsonObject(value)).toBe(isMapping);
  });
});

describe("what was thrown", () => {
  it.each<[thrown: unknown, message: string, code: string]>([
    [Object.assign(new Error("no such file"), { code: "ENOENT" }), "no such file", "ENOENT"],
    [new Error("plain"), "plain", ""],
    ["a text", "a text", ""],
    [undefined, "undefined", ""],
    [{ code: "ENOENT" }, "[object Object]", ""],
  ])("%s", (thrown, message, code) => {
    expect(messageOf(thrown)).toBe(message);
    expect(errorCode(thrown)).toBe(code);
  });
});
