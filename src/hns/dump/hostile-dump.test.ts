// Dumps are files from outside: whatever they hold, reading ends, throws nothing, and what was read can be restored.
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { anyText } from "#test/support/any-text.ts";
import { SourceText } from "#core/base/source-text.ts";
import { createHns } from "../local-hns.ts";
import { fromDump } from "./as-given.ts";
import { dumpItems } from "./dump-items.ts";
import { readDump } from "./read-dump.ts";

const SAMPLE = readFileSync("examples/node-dump/hnsdiag.txt", "utf8");
const SCREEN = `ID : 6F7E13A2-8ADE-48EE-844E-AC0B0AFF2301\nName : a\nSubnets : {@{AddressPrefix=10.0.0.0/8; Policies=System.Object[]}}\n`;
const TABLES = `Networks:\nName             ID\nnat              B5083512-BE1D-4326-B58F-56CA5154E801\n`;

function readAndRestore(text: string): number {
  const { objects, problems } = readDump(new SourceText("x.txt", text));
  const items = dumpItems(objects);
  createHns().service.restore(items, { keepsUnknownFields: true });
  for (const { kind, id } of items) {
    if (kind === "Globals") continue;
    for (const isV1 of [true, false]) fromDump(items, kind, [{ ID: id }], { isV1, isAdding: true });
  }
  return objects.length + problems.length;
}

/** A text with pieces taken out, doubled, or replaced. */
function mutated(text: string): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat(text.length),
    length: fc.nat(40),
    by: fc.oneof(
      fc.constant(""),
      fc.constantFrom("{", "}", "[", "]", '"', ",", "\n", "null", "-1", "1e999", "@{"),
      fc.string(),
    ),
  });
  return fc.array(edit, { minLength: 1, maxLength: 6 }).map((edits) => {
    let result = text;
    for (const { at, length, by } of edits) result = result.slice(0, at) + by + result.slice(at + length);
    return result;
  });
}

/** A document with a field of another type. */
const twisted: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(
      "Subnets",
      "Policies",
      "MacPools",
      "IPAddress",
      "References",
      "Namespace",
      "Health",
      "Type",
      "ID",
      "Ipams",
      "Dns",
      "Routes",
      "IpConfigurations",
      "PortMappings",
      "Flags",
    ),
    fc.jsonValue({ maxDepth: 3 }),
  )
  .map(([field, value]) =>
    JSON.stringify([
      { ID: "6f7e13a2-8ade-48ee-844e-ac0b0aff2301", Name: "n", Type: "Overlay", Subnets: [], [field]: value },
      {
        ID: "5e6298c2-4638-494e-be6b-ff6fef942c01",
        VirtualNetwork: "x",
        IPAddress: "10.0.0.1",
        [field]: value,
      },
      {
        ID: "3599612c-54b4-4b9d-9258-4fc5e2100501",
        IsApplied: true,
        References: [],
        Policies: [],
        [field]: value,
      },
      { ID: "7cb720c0-ac4c-4266-92e1-dc277b2a9b01", CompartmentId: 6, IsDefault: false, [field]: value },
      ...["Network", "Endpoint", "Namespace", "LoadBalancer"].map((Kind, index) => ({
        ID: `7cb720c0-ac4c-4266-92e1-dc277b2a9c0${index}`,
        Kind,
        SchemaVersion: { Major: 2, Minor: 0 },
        Policies: [{ Type: "ELB", Settings: { [field]: value } }],
        [field]: value,
      })),
    ]),
  );

describe("hostile dumps", { timeout: 60_000 }, () => {
  it.each<[what: string, text: fc.Arbitrary<string>, runs: number]>([
    ["any text", anyText(400), 200],
    ["any JSON", fc.json({ maxDepth: 5 }), 200],
    ["a dump of hnsdiag, damaged", mutated(SAMPLE), 60],
    ["what a screen shows, damaged", mutated(SCREEN), 100],
    ["tables, damaged", mutated(TABLES), 100],
    ["fields of another type", twisted, 150],
  ])("%s", (_what, arbitrary, numRuns) => {
    fc.assert(
      fc.property(arbitrary, (text) => {
        expect(readAndRestore(text)).toBeGreaterThan(0);
      }),
      { numRuns },
    );
  });
});
