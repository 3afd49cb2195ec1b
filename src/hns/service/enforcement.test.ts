/** What is kept without an effect is said in health data, and on the page that lists it. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ENDPOINT_POLICY_TYPES, NETWORK_POLICY_TYPES } from "#contracts/hcn/documents/policy-type.ts";
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

describe("docs/reference/policies.md", () => {
  const page = readFileSync(new URL("../../../docs/reference/policies.md", import.meta.url), "utf8");
  const [, endpoints = "", networks = ""] = page.split(/^## (?:Endpoints|Networks)$/m);
  const typesOf = (part: string): readonly string[] =>
    [...new Set([...part.matchAll(/^\| `(\w+)`/gm)].map(([, type = ""]) => type))].toSorted();

  /** Without the numbers of the enumeration that nobody knows the name of. */
  const known = (types: readonly (string | undefined)[]): readonly string[] =>
    types.filter((type) => type !== undefined).toSorted();

  it("has a row for every policy that an endpoint or a network can have", () => {
    expect(typesOf(endpoints)).toEqual(known(ENDPOINT_POLICY_TYPES));
    expect(typesOf(networks.split("## Load balancers")[0] ?? "")).toEqual(known(NETWORK_POLICY_TYPES));
  });
});
