// A document is described once: what is added to its shape is in its type, its schema, its page, and what is read of it.
import { describe, expect, it } from "vitest";
import { API_ROUTES, API_SHAPES, apiOpenApi, apiSchema } from "#cluster/api/schema.ts";
import { readRequest } from "#cluster/api/requests.ts";
import { TIME_REQUEST } from "#cluster/api/documents.ts";
import { type ValueOf, documentSchema } from "#core/base/shape.ts";
import { type ObjectDescription, fieldsOf, referredObject } from "#contracts/hcn/description/description.ts";
import { ENDPOINT } from "#contracts/hcn/documents/endpoint.ts";
import { LOAD_BALANCER } from "#contracts/hcn/documents/load-balancer.ts";
import { NAMESPACE } from "#contracts/hcn/documents/namespace.ts";
import { NETWORK } from "#contracts/hcn/documents/network.ts";
import {
  extraFieldsIn,
  flagsOfValues,
  idsOfNames,
  valuesOfFlags,
  v1FormOf,
} from "#contracts/hcn/v1-form/v1-form.ts";
import { defined } from "#core/base/assert.ts";
import { parsePrefix } from "#core/net/ip.ts";
import { printConfig, readConfig, unknownFields } from "#programs/flannel/config-fields.ts";
import { NET_CONF } from "#programs/flannel/net-conf.ts";
import { TRACE_REPORT } from "#cluster/trace/trace-report.ts";
import { formatNetConf, netConfSchema } from "./format-net-conf.ts";
import { formatRoutes, formatShapes } from "./format-shapes.ts";
import { readFiles } from "./source-files.ts";

const ADDED = { is: "integer", text: "How many moons there are." } as const;
const TIME_WITH_MOONS = { ...TIME_REQUEST, fields: { ...TIME_REQUEST.fields, moons: ADDED } } as const;
const SHAPES = { ...API_SHAPES, TimeRequest: TIME_WITH_MOONS };

describe("a field that is added to a shape", () => {
  it("is in the type", () => {
    const request: ValueOf<typeof TIME_WITH_MOONS> = { milliseconds: 5, moons: 2 };
    const isRequired: undefined extends (typeof request)["moons"] ? false : true = true;
    expect({ ...request, isRequired }).toEqual({ milliseconds: 5, moons: 2, isRequired: true });
  });

  it("is in the schema of the API, required where it is", () => {
    const definition = (apiSchema(SHAPES)["$defs"] as Record<string, unknown>)["TimeRequest"];
    expect(definition).toMatchObject({
      required: ["milliseconds", "moons"],
      properties: { moons: { type: "integer", description: "How many moons there are." } },
    });
  });

  it("is in the schema of a report, optional where it is", () => {
    const report = { ...TRACE_REPORT, optional: { ...TRACE_REPORT.optional, moons: ADDED } };
    const schema = documentSchema("Moons", report);
    expect(schema["properties"]).toHaveProperty("moons");
    expect(schema["required"]).not.toContain("moons");
  });

  it("is on the page", () => {
    expect(formatShapes(SHAPES)).toMatch(/\| `moons` +\| integer +\| How many moons there are\./u);
    expect(formatShapes(API_SHAPES)).not.toContain("moons");
  });

  it("is asked for in a request", () => {
    const body = { milliseconds: 5, moons: 2 };
    expect(
      readRequest(
        { ...TIME_REQUEST, fields: { ...TIME_REQUEST.fields, moons: "text" } },
        { ...body, moons: "2" },
      ),
    ).toEqual({
      ...body,
      moons: "2",
    });
    expect(() => readRequest(TIME_REQUEST, body)).toThrow('there is no field "moons"');
  });

  it("is known to OpenAPI by reference, and a path that is added is there and on the page", () => {
    const route = { method: "GET", path: "/moons/NAME", answer: TIME_REQUEST, text: "counts moons" } as const;
    const { paths } = apiOpenApi([...API_ROUTES, route]) as { readonly paths: Record<string, unknown> };
    expect(paths["/v1alpha1/moons/{NAME}"]).toMatchObject({
      get: {
        parameters: [{ name: "NAME", in: "path" }],
        responses: {
          200: {
            content: {
              "application/json": { schema: { $ref: "api.v1alpha1.json#/$defs/TimeRequest" } },
            },
          },
        },
      },
    });
    expect(formatRoutes([...API_ROUTES, route])).toContain("counts moons");
  });
});

// flannel's net-conf.json: one description gives the type, the reader, the printer, the schema and the page.

describe("a field that is added to net-conf.json", () => {
  const Moons = { is: "integer", min: 0, max: 9, text: "How many moons there are." } as const;
  const described = { ...NET_CONF, fields: { ...NET_CONF.fields, Moons } } as const;

  it("is read, whatever its letter case, and refused where it is wrong", () => {
    const moons: number | undefined = readConfig(described, { moons: 3 }).Moons;
    expect(moons).toBe(3);
    expect(() => readConfig(described, { Moons: 10 })).toThrow(
      "Moons is 10; write a whole number from 0 to 9",
    );
  });

  it("is known, and printed in its place", () => {
    expect(unknownFields([NET_CONF], { Moons: 3 })).toHaveLength(1);
    expect(unknownFields([described], { Moons: 3 })).toEqual([]);
    const Network = defined(parsePrefix("10.244.0.0/16"), "a range");
    const printed = printConfig(described, { Moons: 3, Network });
    expect(JSON.stringify(printed)).toBe('{"Network":"10.244.0.0/16","Moons":3}');
  });

  it("is in the schema and on the page", () => {
    expect(netConfSchema(described)).toHaveProperty("properties.Moons", {
      type: "integer",
      minimum: 0,
      maximum: 9,
      description: "How many moons there are.",
    });
    expect(formatNetConf(described)).toMatch(/\| `Moons` +\| 0 to 9 +\| +\| How many moons/u);
  });
});

// HNS documents: what v1 calls a field stands in its description, and in what translates the two forms only where that has
// another shape than any other field.

/** All names in v1 that no field of v2 has. */
function v1NamesOf(description: ObjectDescription): readonly string[] {
  const own = Object.keys(description.v1Only ?? {});
  const ofFields = fieldsOf(description).flatMap(([name, field]) => {
    const inside = "of" in field && field.is !== "policies" ? v1NamesOf(referredObject(field.of)) : [];
    const v1: unknown = "v1" in field ? field.v1 : undefined;
    const texts = JSON.stringify(v1 ?? null).match(/[A-Z][A-Za-z0-9]{4,}/gu) ?? [];
    return [...inside, ...texts.filter((text) => text !== name)];
  });
  return [...own, ...ofFields];
}

it("what v2 has elsewhere is in the marks of a field: a value, an id, Health.Extra, none", () => {
  const MOON = {
    text: "A moon.",
    fields: {
      Phase: { is: "enumeration", names: ["New", "Full"], text: "How it looks.", v1: { dump: "Phase" } },
      Planet: { is: "guid", text: "Where it is.", v1: "PlanetId" },
      Crater: { is: "u32", text: "How many.", v1: { answer: "Craters", none: 0 } },
    },
    v1Only: {
      IsBright: { is: "boolean", text: "It is full.", flag: { of: "Phase", for: ["Full"] } },
      PlanetName: { is: "text", text: "The planet's name.", nameFor: "Planet" },
      Visitors: { is: "texts", text: "Who was there.", isExtra: true },
    },
  } as const;
  expect(valuesOfFlags(MOON, (field) => field === "IsBright")).toEqual({ Phase: "Full" });
  expect(flagsOfValues(MOON, { Phase: "New" })).toEqual({ IsBright: false });
  expect(idsOfNames(MOON, { PlanetName: "Earth" }, (name) => `id of ${name}`)).toEqual({
    Planet: "id of Earth",
  });
  expect(extraFieldsIn(MOON, { Visitors: ["Buzz"], Phase: "New" })).toEqual({ Visitors: ["Buzz"] });
  expect(v1FormOf(MOON).fromDump({ Craters: 0, Phase: "full" }, {})).toEqual({ Phase: "Full" });
});

const TRANSLATIONS = [
  "src/hns/dump/v1-to-v2.ts",
  "src/hns/dump/v2-to-v1.ts",
  "src/hns/v1/request-mapping.ts",
];

/** Names that other documents have, too. */
const SHARED_NAMES = ["Policies", "Flags", "AdditionalParams", "Resources", "Static", "Subnets", "Namespace"];

it("names of v1 documents are spelled in their descriptions", () => {
  const names = new Set([NETWORK, ENDPOINT, NAMESPACE, LOAD_BALANCER].flatMap(v1NamesOf));
  for (const name of SHARED_NAMES) names.delete(name);
  expect(names.size).toBeGreaterThan(35);
  const places = readFiles("src/{hns/dump,hns/v1,contracts/hcn/documents}/*.ts")
    .filter(({ path }) => TRANSLATIONS.includes(path) || path.endsWith("/v1-documents.ts"))
    .flatMap(({ path, text }) =>
      [...names]
        .filter((name) => new RegExp(`\\b${name}\\b`, "u").test(text))
        .map((name) => `${path} ${name}`),
    );
  expect(places.toSorted()).toEqual([
    // Members under two names.
    "src/hns/dump/v1-to-v2.ts ResourceList",
    // What no document of v2 has, by the type that its description gives.
    "src/hns/v1/request-mapping.ts Extensions",
    "src/hns/v1/request-mapping.ts IsolateSwitch",
    // With a prefix length.
    "src/hns/v1/request-mapping.ts ManagementIP",
  ]);
});

/** They make schemas from tables of their own: of the cluster file. */
const GENERATORS = ["src/cluster/file/description-of-nodes.ts", "src/cluster/file/mapping.ts"];

it("nobody writes the schema of a report by hand", () => {
  const writers = readFiles("src/{cluster,cli,diagnose}/**/*.ts").filter(
    ({ path, text }) => !path.endsWith(".test.ts") && text.includes("additionalProperties"),
  );
  expect(writers.map(({ path }) => path).toSorted()).toEqual(GENERATORS);
});
