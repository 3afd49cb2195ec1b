import { describe, expect, it } from "vitest";
import { JsonMessages } from "./json-messages.ts";

describe("a stream of JSON objects", () => {
  const STREAM = '{"id":0,"result":["}{\\"",{"a":[]}]} {"id":1}{"method":"echo","params":[]}';

  it.each([1, 2, 7, STREAM.length])("is cut where messages end, in pieces of %d characters", (size) => {
    const messages = new JsonMessages();
    const heard: unknown[] = [];
    for (let at = 0; at < STREAM.length; at += size)
      heard.push(...messages.take(STREAM.slice(at, at + size)));
    expect(heard).toEqual([{ id: 0, result: ['}{"', { a: [] }] }, { id: 1 }, { method: "echo", params: [] }]);
  });

  it.each([["}"], ["]"], ['{"a":1}]']])("ends with an error for %s", (text) => {
    expect(() => new JsonMessages().take(text)).toThrow("it closes what is not open");
  });

  it("of other things than JSON ends with an error", () => {
    expect(() => new JsonMessages().take("{GET}")).toThrow(SyntaxError);
  });
});
