import { expect, it } from "vitest";
import { listedGuid } from "./list-port.ts";

it("gives each text a GUID of its own, the same every time", () => {
  const texts = Array.from({ length: 2_000 }, (_, index) => `7e7c1f0a-endpoint|${index}|allow-host`);
  const guids = texts.map(listedGuid);
  for (const guid of guids)
    expect(guid).toMatch(/^[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$/);
  expect(new Set(guids).size).toBe(texts.length);
  expect(texts.map(listedGuid)).toEqual(guids);
});
