import { describe, expect, expectTypeOf, it } from "vitest";
import { type Field, type ObjectDescription, type ObjectOf, type V1Of, fieldsOf } from "./description.ts";
import { schemaOf } from "./description-schema.ts";
import { ENDPOINT } from "../documents/endpoint.ts";
import { formatDocument } from "../../../../tools/format-documents-page.ts";
import { JsonReader } from "./json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { printerOf } from "./object-json.ts";
import { readerOf } from "./object-json.ts";
import { v1FormOf } from "../v1-form/v1-form.ts";

const GUID = "0fb28d70-306c-469d-9690-3245a82d882a";

interface Row {
  readonly field: Field;
  readonly value: JsonValue;
  readonly wrong: JsonValue;
  readonly schema: JsonObject;
  /** What v1 shows of the value. */
  readonly v1: JsonObject;
  /** Cells of the page: kind, schema versions, names in v1. */
  readonly cells: readonly string[];
}

/** One new field `Planted` of each kind. */
const ROWS: Readonly<Record<string, Row>> = {
  text: {
    field: { is: "text", text: "Planted.", since: "2.14", v1: "PlantedV1" },
    value: "some",
    wrong: 5,
    schema: { type: "string" },
    v1: { PlantedV1: "some" },
    cells: ["text", "from 2.14", "`PlantedV1`"],
  },
  guid: {
    field: { is: "guid", text: "Planted.", until: "2.6", v1: "Inside.Planted" },
    value: GUID,
    wrong: "no guid",
    schema: { $ref: "#/components/schemas/Guid" },
    v1: { Inside: { Planted: GUID } },
    cells: ["GUID", "up to 2.6", "`Inside.Planted`"],
  },
  boolean: {
    field: { is: "boolean", text: "Planted.", v1: { answer: "PlantedV1" } },
    value: true,
    wrong: "yes",
    schema: { type: "boolean" },
    v1: { PlantedV1: true },
    cells: ["true or false", "", "`PlantedV1` (answers)"],
  },
  u16: {
    field: { is: "u16", text: "Planted.", unit: "bytes", v1: "PlantedV1" },
    value: 1_450,
    wrong: 65_536,
    schema: { type: "integer", minimum: 0, maximum: 65_535 },
    v1: { PlantedV1: 1_450 },
    cells: ["0 to 65535 bytes", "", "`PlantedV1`"],
  },
  flags: {
    field: { is: "flags", text: "Planted.", bits: { One: 1, Four: 4 }, v1: { IsFour: "Four" } },
    value: 4,
    wrong: -1,
    schema: { type: "integer", minimum: 0 },
    v1: { IsFour: true },
    cells: ["number", "", "`IsFour`"],
  },
  enumeration: {
    field: { is: "enumeration", text: "Planted.", names: ["Static", "Dhcp"], v1: "PlantedV1" },
    value: "Dhcp",
    wrong: "Bootp",
    schema: { enum: ["Static", "Dhcp"] },
    v1: { PlantedV1: "Dhcp" },
    cells: ["Static, Dhcp", "", "`PlantedV1`"],
  },
  texts: {
    field: { is: "texts", text: "Planted.", v1: "PlantedV1" },
    value: ["a", "b"],
    wrong: [5],
    schema: { type: "array", items: { type: "string" } },
    v1: { PlantedV1: "a,b" },
    cells: ["list of texts", "", "`PlantedV1`"],
  },
  object: {
    field: {
      is: "object",
      text: "Planted.",
      of: { text: "A part.", fields: { Inner: { is: "text", text: "Inner.", v1: "InnerV1" } } },
    },
    value: { Inner: "some" },
    wrong: "some",
    schema: { type: "object", description: "A part.", properties: { Inner: { type: "string" } } },
    v1: { InnerV1: "some" },
    cells: ["`Planted`", "", ""],
  },
  u32: {
    field: { is: "u32", text: "Planted.", v1: "PlantedV1" },
    value: 4_294_967_295,
    wrong: 4_294_967_296,
    schema: { type: "integer", minimum: 0 },
    v1: { PlantedV1: 4_294_967_295 },
    cells: ["number", "", "`PlantedV1`"],
  },
  protocol: {
    field: { is: "protocol", text: "Planted.", v1: "PlantedV1" },
    value: 17,
    wrong: "quic",
    schema: { type: "integer", minimum: 0 },
    v1: { PlantedV1: 17 },
    cells: ["number of a protocol, or its name", "", "`PlantedV1`"],
  },
  numbered: {
    field: { is: "numbered", text: "Planted.", names: ["None", "SourceIP"], v1: "PlantedV1" },
    value: 1,
    wrong: "Random",
    schema: { enum: [0, 1] },
    v1: { PlantedV1: 1 },
    cells: ["0 None, 1 SourceIP", "", "`PlantedV1`"],
  },
  "flags as a number": {
    field: { is: "flags", text: "Planted.", bits: { One: 1 }, v1: "PlantedV1" },
    value: 1,
    wrong: -1,
    schema: { type: "integer", minimum: 0 },
    v1: { PlantedV1: 1 },
    cells: ["number", "", "`PlantedV1`"],
  },
  "texts as a list": {
    field: { is: "texts", text: "Planted.", v1: { list: "PlantedV1", prefix: "/at/" } },
    value: ["a", "b"],
    wrong: [5],
    schema: { type: "array", items: { type: "string" } },
    v1: { PlantedV1: ["/at/a", "/at/b"] },
    cells: ["list of texts", "", "`PlantedV1`"],
  },
  "list of objects": {
    field: {
      is: "list",
      text: "Planted.",
      of: { text: "An entry.", fields: { Inner: { is: "text", text: "Inner.", v1: "InnerV1" } } },
      v1: "PlantedV1",
    },
    value: [{ Inner: "some" }],
    wrong: {},
    schema: { type: "array", items: { type: "object", properties: { Inner: { type: "string" } } } },
    v1: { PlantedV1: [{ InnerV1: "some" }] },
    cells: ["list of `Planted[]`", "", "`PlantedV1`"],
  },
  "lists in a list": {
    field: {
      is: "list",
      text: "Planted.",
      of: {
        text: "A group.",
        fields: {
          PlantedV1: {
            is: "list",
            text: "Inner.",
            of: { text: "An entry.", fields: { Inner: { is: "text", text: "Inner.", v1: "InnerV1" } } },
            v1: "PlantedV1",
          },
        },
      },
      v1: { joined: "PlantedV1", with: {} },
    },
    value: [{ PlantedV1: [{ Inner: "some" }] }],
    wrong: {},
    schema: { type: "array" },
    v1: { PlantedV1: [{ InnerV1: "some" }] },
    cells: ["list of `Planted[]`", "", "`PlantedV1`"],
  },
  list: {
    field: {
      is: "list",
      text: "Planted.",
      of: {
        text: "An entry.",
        fields: {
          At: { is: "text", text: "Where.", v1: ["At4", "At6"] },
          Length: { is: "prefixLength", text: "How long.", v1: ["Length4", "Length6"] },
        },
      },
      v1: { perFamilyOf: "At" },
    },
    value: [
      { At: "10.0.0.1", Length: 24 },
      { At: "fd00::1", Length: 64 },
    ],
    wrong: {},
    schema: {
      type: "array",
      items: {
        type: "object",
        description: "An entry.",
        properties: { At: { type: "string" }, Length: { type: "integer", minimum: 0, maximum: 128 } },
      },
    },
    v1: { At4: "10.0.0.1", Length4: 24, At6: "fd00::1", Length6: 64 },
    cells: ["list of `Planted[]`", "", ""],
  },
};

function planted({ field }: Row): ObjectDescription {
  return { ...ENDPOINT, fields: { ...ENDPOINT.fields, Planted: field } };
}

function readerFor(document: JsonObject): JsonReader {
  return new JsonReader(document, "endpoint", "HCN_E_INVALID_JSON");
}

describe.each(Object.entries(ROWS))("a new field of an endpoint, of kind %s, is", (_kind, row) => {
  const description = planted(row);

  it("read out of a request, and refused when it has the wrong type", () => {
    const reader = readerOf(description);
    expect(reader.read(readerFor({ Name: "pod", Planted: row.value, Unknown: 1 }))).toEqual({
      Name: "pod",
      Planted: row.value,
    });
    const wrong = readerFor({ Planted: row.wrong });
    expect(() => reader.read(wrong)).toThrow(/^.*endpoint\.Planted(?:\[0\])? (?:is|must be)/);
  });

  it("printed behind the others, and left out when it is not there", () => {
    const printer = printerOf(description);
    const printed = printer.print({ Planted: row.value, Flags: 1, ID: GUID });
    expect(JSON.stringify(printed)).toBe(JSON.stringify({ ID: GUID, Flags: 1, Planted: row.value }));
    expect(printer.print({ ID: GUID })).toEqual({ ID: GUID });
  });

  it("part of the schema", () => {
    expect(schemaOf(description)["properties"]).toMatchObject({ Planted: row.schema });
  });

  it("written in v1 and read from there", () => {
    const form = v1FormOf(description);
    const values: JsonObject = { Planted: row.value };
    expect(form.print(values)).toEqual(row.v1);
    const dumped = form.fromDump(row.v1, {});
    expect(dumped).toEqual(values);
    const isAnswer = row.cells[2]?.includes("(answers)") === true;
    expect(form.fromRequest(form.read(readerFor(row.v1)), {})).toEqual(isAnswer ? {} : values);
  });

  it("told on the page", () => {
    const line = formatDocument(description)
      .split("\n")
      .find((each) => each.startsWith("| `Planted` "));
    const cells = line?.split("|").map((cell) => cell.trim());
    expect(cells?.slice(2, 5)).toEqual(row.cells);
    expect(cells?.[6]).toContain("Planted.");
  });
});

it("fields that v1 alone has are told on the page, where there are any", () => {
  const fields = { Planted: { is: "u16", text: "Planted." } } as const;
  const plain = formatDocument({ text: "A document.", fields });
  const page = formatDocument({
    text: "A document.",
    fields,
    v1Only: { Old: { is: "boolean", text: "Of old builds." } },
  });
  expect(page).toMatch(/^\| `Old` +\| .*Of old builds\./mu);
  expect(page.startsWith(plain.trimEnd())).toBe(true);
  expect(plain.match(/^\| /gmu)).toHaveLength(3);
});

const TYPED = {
  text: "A document.",
  base: (): typeof ENDPOINT => ENDPOINT,
  fields: {
    Planted: { is: "u16", text: "Planted.", v1: "Inside.Planted" },
    Kind: { is: "enumeration", names: ["A", undefined, "B"], text: "Planted." },
    Misspelt: { is: "text", text: "Planted.", sinse: "2.3" },
  },
  needs: ["Kind"],
} as const;

describe("the type of a document", () => {
  it("has the new field in both forms, and needs what it needs", () => {
    const document: ObjectOf<typeof TYPED> = { Kind: "B", Planted: 5 };
    expectTypeOf(document.Planted).toEqualTypeOf<number | undefined>();
    expectTypeOf(document.Kind).toEqualTypeOf<"A" | "B">();
    const v1: V1Of<typeof TYPED> & V1Of<typeof ENDPOINT> = { Inside: { Planted: 5 } };
    expectTypeOf(v1.Inside?.Planted).toEqualTypeOf<number | undefined>();
    expectTypeOf(v1.DNSSuffix).toEqualTypeOf<string | undefined>();
    expectTypeOf(v1.DisableICC).toEqualTypeOf<boolean | undefined>();
    expect(v1FormOf(TYPED).print(document)).toEqual(v1);
  });

  it("is never where a mark is misspelt", () => {
    const document: ObjectOf<typeof TYPED> = { Kind: "A" };
    expectTypeOf(document.Misspelt).toEqualTypeOf<undefined>();
    expect(document.Misspelt).toBeUndefined();
  });

  it("has the fields of the base first", () => {
    expect(fieldsOf(TYPED).map(([name]) => name)).toEqual([
      ...fieldsOf(ENDPOINT).map(([name]) => name),
      "Planted",
      "Kind",
      "Misspelt",
    ]);
  });
});
