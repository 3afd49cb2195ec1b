/** What is kept without an effect is said in health data, and on the page that lists it. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { STORED_ENDPOINT_POLICIES, STORED_NETWORK_POLICIES } from "./enforcement.ts";

const PAGE = readFileSync(new URL("../../../docs/reference/fidelity.md", import.meta.url), "utf8");

/** `endpoint QOS: what leaves is not held back`, from the rows of the page. */
function listed(): readonly string[] {
  const row = /^\| (endpoint|network) +\| `(\w+)` +\| (.+?) +\|$/gm;
  return [...PAGE.matchAll(row)].map(([, owner, type, text]) => `${owner} ${type}: ${text}`);
}

describe("docs/reference/fidelity.md", () => {
  it("lists every policy that never acts, in the words of the health data", () => {
    const lines = (owner: string, reasons: Readonly<Record<string, string>>): readonly string[] =>
      Object.entries(reasons).map(([type, text]) => `${owner} ${type}: ${text}`);
    expect(listed()).toEqual([
      ...lines("endpoint", STORED_ENDPOINT_POLICIES),
      ...lines("network", STORED_NETWORK_POLICIES),
    ]);
  });
});
