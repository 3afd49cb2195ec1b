import { existsSync, readFileSync, readdirSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { clusterSchema, formatFieldTables } from "./cluster-schema.ts";

const EXAMPLES = readdirSync("examples")
  .map((name) => `examples/${name}/cluster.yaml`)
  .filter((path) => existsSync(path))
  .toSorted();

const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(clusterSchema());

describe.each(EXAMPLES)("%s", (path) => {
  const text = readFileSync(path, "utf8");

  it("is a cluster file", () => {
    expect(parseClusterFile(text, path)).not.toHaveProperty("problems");
  });

  it("fits the schema", () => {
    validate(parse(text));
    expect(validate.errors).toBeNull();
  });

  it("points at the schema for editors", () => {
    expect(text.split("\n")[0]).toBe("# yaml-language-server: $schema=../../schemas/cluster.v1alpha1.json");
  });
});

describe("the schema", () => {
  const base = {
    apiVersion: "mullion/v1alpha1",
    kind: "Cluster",
    metadata: { name: "test" },
    nodes: [{ name: "win-1", os: "windows", address: "10.0.0.11" }],
  };

  it.each([
    ["an unknown field", { ...base, seeed: 1 }],
    ["a backend that there is not", { ...base, network: { plugin: "flannel", backend: "wireguard" } }],
    ["an expectation without a receiver", { ...base, expectations: [{ from: "a", expect: "works" }] }],
    ["a path that leaves the folder", { ...base, manifests: ["../web.yaml"] }],
    ["a missing field", { ...base, metadata: {} }],
    ["a port out of range", { ...base, pods: [{ name: "a", node: "win-1", ports: [{ port: 70000 }] }] }],
    ["an address that is none", { ...base, underlay: { router: "10.0.0.300" } }],
    ["a range without a length", { ...base, network: { clusterCIDR: "10.244.0.0" } }],
    ["a word that is not possible", { ...base, network: { plugin: "calico" } }],
    ["no nodes", { ...base, nodes: [] }],
  ])("refuses %s, as the parser does", (_name, value) => {
    expect(validate(base)).toBe(true);
    expect(validate(value)).toBe(false);
    expect(parseClusterFile(JSON.stringify(value), "cluster.json")).toHaveProperty("problems");
  });

  it("describes every field", () => {
    const undescribed: string[] = [];
    const visit = (schema: unknown, path: string): void => {
      if (typeof schema !== "object" || schema === null) return;
      const { properties, items } = schema as { properties?: Record<string, unknown>; items?: unknown };
      for (const [name, child] of Object.entries(properties ?? {})) {
        const isJson = path.endsWith("policies[]") || path.endsWith("conflist");
        if (!isJson && !(child as { description?: string }).description) undescribed.push(`${path}.${name}`);
        visit(child, `${path}.${name}`);
      }
      visit(items, `${path}[]`);
    };
    visit(clusterSchema(), "");
    expect(undescribed).toEqual([]);
  });
});

describe("the tables of the reference page", () => {
  it("have a row for every field of every mapping", () => {
    const tables = formatFieldTables();
    for (const heading of ["The file", "`nodes[]`", "`network.outboundNAT`", "`pods[].ports[]`"]) {
      expect(tables).toContain(`### ${heading}\n`);
    }
    expect(tables).toMatch(
      /^\| `address` +\| an IPv4 address +\| \*\*required\*\* +\| The node's address on the underlay\. +\|$/m,
    );
  });
});
