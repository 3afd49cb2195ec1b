import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { JsonPatchOperation } from "#contracts/kubernetes/source.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyMergePatch } from "./apply-patch.ts";
import { applyStrategicMerge } from "./strategic-merge.ts";

// RFC 6902, appendix A.
describe("a JSON patch", () => {
  it.each<[title: string, document: unknown, patch: JsonPatchOperation[], result: unknown]>([
    [
      "A.1 adds a member",
      { foo: "bar" },
      [{ op: "add", path: "/baz", value: "qux" }],
      { baz: "qux", foo: "bar" },
    ],
    [
      "A.2 adds an item",
      { foo: ["bar", "baz"] },
      [{ op: "add", path: "/foo/1", value: "q" }],
      { foo: ["bar", "q", "baz"] },
    ],
    ["A.3 removes a member", { baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
    [
      "A.4 removes an item",
      { foo: ["a", "b", "c"] },
      [{ op: "remove", path: "/foo/1" }],
      { foo: ["a", "c"] },
    ],
    ["A.5 replaces a value", { baz: "qux" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo" }],
    [
      "A.6 moves a value",
      { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
      [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
      { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
    ],
    [
      "A.7 moves an item",
      { foo: ["a", "b", "c", "d"] },
      [{ op: "move", from: "/foo/1", path: "/foo/3" }],
      { foo: ["a", "c", "d", "b"] },
    ],
    [
      "A.8 tests",
      { baz: "qux", foo: ["a", 2] },
      [{ op: "test", path: "/foo/1", value: 2 }],
      { baz: "qux", foo: ["a", 2] },
    ],
    [
      "A.10 adds nested members",
      { foo: "bar" },
      [{ op: "add", path: "/child", value: { g: {} } }],
      { foo: "bar", child: { g: {} } },
    ],
    ["A.14 escapes", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }], { "/": 9, "~1": 10 }],
    [
      "A.16 adds a list to the end",
      { foo: ["bar"] },
      [{ op: "add", path: "/foo/-", value: ["abc"] }],
      { foo: ["bar", ["abc"]] },
    ],
    ["copies", { a: { b: 1 } }, [{ op: "copy", from: "/a", path: "/c" }], { a: { b: 1 }, c: { b: 1 } }],
    ["replaces the whole", { a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }], { b: 2 }],
  ])("%s", (_title, document, patch, result) => {
    const before = structuredClone(document);
    expect(applyJsonPatch(document, patch)).toEqual(result);
    expect(document).toEqual(before);
  });

  it.each<[title: string, document: unknown, patch: JsonPatchOperation[]]>([
    ["A.9 a test that fails", { baz: "qux" }, [{ op: "test", path: "/baz", value: "bar" }]],
    ["A.12 a member of nothing", { foo: "bar" }, [{ op: "add", path: "/baz/bat", value: "qux" }]],
    ["A.15 a text is not a number", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: "10" }]],
    ["an item behind the end", { a: [1] }, [{ op: "add", path: "/a/2", value: 1 }]],
    ["a leading zero", { a: [1, 2] }, [{ op: "remove", path: "/a/01" }]],
    ["the end of a list, to remove", { a: [1] }, [{ op: "remove", path: "/a/-" }]],
    ["the end of a list, to copy", { a: [1] }, [{ op: "copy", from: "/a/-", path: "/b" }]],
    ["an item behind the end, to move", { a: [1] }, [{ op: "move", from: "/a/1", path: "/b" }]],
    ["an item behind the end, to test", { a: [1] }, [{ op: "test", path: "/a/1", value: 1 }]],
    ["a value moved into itself", { a: { b: 1 } }, [{ op: "move", from: "/a", path: "/a/b/c" }]],
    ["what is inherited", {}, [{ op: "test", path: "/toString/name", value: "toString" }]],
  ])("is refused: %s", (_title, document, patch) => {
    expect(() => applyJsonPatch(document, patch)).toThrow(KubeError);
  });

  it("changes nothing of what it has copied when the copy changes", () => {
    const before = { a: { b: [1] } };
    const patch: JsonPatchOperation[] = [
      { op: "add", path: "/a/b/-", value: 2 },
      { op: "copy", from: "/a", path: "/c" },
      { op: "add", path: "/c/b/-", value: 3 },
      { op: "remove", path: "/a/b/0" },
    ];
    expect(applyJsonPatch(before, patch)).toEqual({ a: { b: [2] }, c: { b: [1, 2, 3] } });
    expect(before).toEqual({ a: { b: [1] } });
  });

  // k8s.io/apiserver: JSONPatchMaxCopyBytes, with the message of evanphx/json-patch.
  it("may copy three mebibytes of JSON in all", () => {
    const half = "x".repeat(1_572_862);
    const copies = (count: number): JsonPatchOperation[] =>
      Array.from({ length: count }, (_, index) => ({ op: "copy", from: "/a", path: `/${index}` }));
    expect(applyJsonPatch({ a: half }, copies(2))).toEqual({ a: half, 0: half, 1: half });
    expect(() => applyJsonPatch({ a: half }, copies(3))).toThrow("is 4718592, exceeding the limit 3145728");
  });

  it("whatever it holds, is done or refused with a code", () => {
    const op = fc.constantFrom("add", "remove", "replace", "move", "copy", "test", "fly");
    const path = fc.oneof(
      fc.constantFrom("", "/", "/a", "/a/0", "/a/-", "/b/c", "/__proto__", "a"),
      fc.string(),
    );
    const operation = fc.record({ op, path, from: path, value: fc.jsonValue() }, { requiredKeys: ["op"] });
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(operation, { maxLength: 5 }), (document, patch) => {
        try {
          applyJsonPatch(document, patch as JsonPatchOperation[]);
        } catch (error) {
          expect(error).toBeInstanceOf(KubeError);
        }
        expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
      }),
    );
  });
});

// RFC 7386, appendix A.
describe("a merge patch", () => {
  it.each<[document: unknown, patch: unknown, result: unknown]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("%j with %j gives %j", (document, patch, result) => {
    expect(applyMergePatch(document, patch)).toEqual(result);
  });
});

// kubernetes.io: "Update API Objects in Place Using kubectl patch"; strategic-merge-patch.md of sig-api-machinery.
describe("a strategic merge patch", () => {
  const containers = (...items: readonly object[]): object => ({
    spec: { template: { spec: { containers: items } } },
  });

  it.each<[title: string, before: object, patch: object, after: object]>([
    [
      "joins containers by name",
      containers({ name: "web", image: "web:1" }),
      containers({ name: "log", image: "log:1" }, { name: "web", image: "web:2" }),
      containers({ name: "web", image: "web:2" }, { name: "log", image: "log:1" }),
    ],
    [
      "deletes a container",
      containers({ name: "web" }, { name: "log" }),
      containers({ name: "log", $patch: "delete" }),
      containers({ name: "web" }),
    ],
    [
      "replaces a list that is marked so",
      containers({ name: "web" }, { name: "log" }),
      containers({ name: "new", image: "n" }, { $patch: "replace" }),
      containers({ name: "new", image: "n" }),
    ],
    [
      "joins ports in a container by containerPort, and orders them",
      containers({ name: "web", ports: [{ containerPort: 80 }, { containerPort: 90, name: "b" }] }),
      containers({
        name: "web",
        ports: [{ containerPort: 70 }],
        "$setElementOrder/ports": [{ containerPort: 70 }, { containerPort: 80 }, { containerPort: 90 }],
      }),
      containers({
        name: "web",
        ports: [{ containerPort: 70 }, { containerPort: 80 }, { containerPort: 90, name: "b" }],
      }),
    ],
    [
      "replaces lists without keys",
      containers({ name: "web", args: ["a", "b"] }),
      containers({ name: "web", args: ["c"] }),
      containers({ name: "web", args: ["c"] }),
    ],
    [
      "keeps the keys that are named, of a union",
      { spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } },
      { spec: { strategy: { type: "Recreate", $retainKeys: ["type"] } } },
      { spec: { strategy: { type: "Recreate" } } },
    ],
    [
      "adds to a set and takes from it",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { finalizers: ["c"], "$deleteFromPrimitiveList/finalizers": ["a"] } },
      { metadata: { finalizers: ["b", "c"] } },
    ],
    [
      "empties a mapping that is marked so",
      { metadata: { annotations: { a: "1", b: "2" } } },
      { metadata: { annotations: { $patch: "replace", c: "3" } } },
      { metadata: { annotations: { c: "3" } } },
    ],
    [
      "null takes a field away",
      { metadata: { labels: { a: "1" } } },
      { metadata: { labels: { a: null } } },
      { metadata: { labels: {} } },
    ],
    [
      "directives never stay",
      { spec: {} },
      { spec: { selector: { $patch: "merge", a: "b" } } },
      { spec: { selector: { a: "b" } } },
    ],
  ])("%s", (_title, before, patch, after) => {
    const copy = structuredClone(before);
    expect(applyStrategicMerge("Deployment", before, patch)).toEqual(after);
    expect(before).toEqual(copy);
  });

  it("whatever it holds, is done or refused with a code", () => {
    const word = fc.constantFrom(
      "$patch",
      "$retainKeys",
      "$setElementOrder/finalizers",
      "metadata",
      "finalizers",
      "a",
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom("replace", "delete", "merge", null, 1, "x"),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(word, tie("any"), { maxKeys: 4 }),
      ),
    })).any;
    fc.assert(
      fc.property(fc.dictionary(word, value), fc.dictionary(word, value), (before, patch) => {
        try {
          applyStrategicMerge("Pod", before, patch);
        } catch (error) {
          expect(error).toBeInstanceOf(KubeError);
        }
      }),
    );
  });
});

describe("a patch of many operations costs what they are", () => {
  const COUNT = 10_000;
  /** Ten times what each takes; looking at each pair takes several seconds. */
  const SECONDS_MAX = 0.5;
  const listOf = <T>(item: (index: number) => T): T[] =>
    Array.from({ length: COUNT }, (_, index) => item(index));
  const labels = Object.fromEntries(listOf((index) => [`k${index}`, "v"]));
  const finalizers = listOf((index) => `a/${index}`);
  const containersOf = (items: readonly object[]): object => ({
    spec: { template: { spec: { containers: items } } },
  });
  const containers = containersOf(listOf((index) => ({ name: `c${index}` })));
  const others = listOf((index) => `b/${index}`);
  const byJson = (document: object, operation: (index: number) => JsonPatchOperation) => (): unknown =>
    applyJsonPatch(document, listOf(operation));
  const strategic = (document: object, patch: object) => (): unknown =>
    applyStrategicMerge("Deployment", document, patch);

  it.each<[title: string, work: () => unknown, result: object]>([
    [
      "fields that come",
      byJson({ labels: {} }, (index) => ({ op: "add", path: `/labels/k${index}`, value: "v" })),
      { labels },
    ],
    [
      "fields that go",
      byJson({ labels }, (index) => ({ op: "remove", path: `/labels/k${index}` })),
      { labels: {} },
    ],
    [
      "values of a set that come",
      strategic({ metadata: { finalizers } }, { metadata: { finalizers: others } }),
      { metadata: { finalizers: [...finalizers, ...others] } },
    ],
    [
      "values of a set that go",
      strategic(
        { metadata: { finalizers } },
        { metadata: { "$deleteFromPrimitiveList/finalizers": finalizers.toReversed() } },
      ),
      { metadata: { finalizers: [] } },
    ],
    [
      "items that go, in another order",
      strategic(
        containers,
        containersOf(listOf((index) => ({ name: `c${COUNT - 1 - index}`, $patch: "delete" }))),
      ),
      containersOf([]),
    ],
  ])("%s", (_title, work, expected) => {
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(SECONDS_MAX);
    expect(result).toEqual(expected);
  });
});
