import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { decodeProtobuf } from "./protobuf.ts";

const MAGIC = [0x6b, 0x38, 0x73, 0x00];

/** A field with a length. Short ones only. */
function field(number: number, content: readonly number[] | string): readonly number[] {
  const bytes = typeof content === "string" ? [...new TextEncoder().encode(content)] : content;
  return [number * 8 + 2, bytes.length, ...bytes];
}

function varint(number: number, value: number): readonly number[] {
  return [number * 8, value];
}

/** A body as client-go writes it: `runtime.Unknown` with the type and the object. */
function body(apiVersion: string, kind: string, raw: readonly number[]): Uint8Array {
  const type = [...field(1, apiVersion), ...field(2, kind)];
  return Uint8Array.from([...MAGIC, ...field(1, type), ...field(2, raw), ...field(3, ""), ...field(4, "")]);
}

const NAME = field(1, field(1, "n"));

// Numbers of fields: generated.proto of k8s.io/api and k8s.io/apimachinery.
describe("a body in protobuf", () => {
  it.each<[title: string, bytes: Uint8Array, value: object]>([
    [
      "a Namespace, whose creation has no time yet",
      body(
        "v1",
        "Namespace",
        field(1, [...field(1, "shop"), ...field(2, ""), ...varint(7, 0), ...field(8, [])]),
      ),
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    ],
    [
      "a ConfigMap with texts, an empty one, and bytes",
      body("v1", "ConfigMap", [
        ...NAME,
        ...field(2, [...field(1, "a"), ...field(2, "1")]),
        ...field(2, [...field(1, "b"), ...field(2, "")]),
        ...field(3, [...field(1, "c"), ...field(2, [0, 255])]),
      ]),
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "n" },
        data: { a: "1", b: "" },
        binaryData: { c: "AP8=" },
      },
    ],
    [
      "a Deployment of 0 replicas keeps its 0",
      body("apps/v1", "Deployment", [...NAME, ...field(2, [...varint(1, 0), ...varint(5, 0)])]),
      { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "n" }, spec: { replicas: 0 } },
    ],
    [
      "a Service: ports as numbers and names, none as nothing",
      body("v1", "Service", [
        ...NAME,
        ...field(2, [
          ...field(1, [...varint(3, 80), ...field(4, [...varint(1, 0), ...varint(2, 90)]), ...varint(5, 0)]),
          ...field(1, [...varint(3, 81), ...field(4, [...varint(1, 1), ...field(3, "http")])]),
          ...field(1, [...varint(3, 82), ...field(4, [...varint(1, 0), ...varint(2, 0)])]),
        ]),
      ]),
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "n" },
        spec: { ports: [{ port: 80, targetPort: 90 }, { port: 81, targetPort: "http" }, { port: 82 }] },
      },
    ],
    [
      "a Lease with microseconds",
      body("coordination.k8s.io/v1", "Lease", [
        ...NAME,
        ...field(2, [...field(1, "win-1"), ...field(4, [...varint(1, 60), ...varint(2, 0)])]),
      ]),
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "n" },
        spec: { holderIdentity: "win-1", renewTime: "1970-01-01T00:01:00.000000Z" },
      },
    ],
    [
      "a volume, whose source is beside its name in JSON",
      body("v1", "Pod", [...NAME, ...field(2, field(1, [...field(1, "v"), ...field(2, field(2, []))]))]),
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "n" },
        spec: { volumes: [{ name: "v", emptyDir: {} }] },
      },
    ],
    [
      "the options of a deletion, under whatever version",
      body("apps/v1", "DeleteOptions", [...varint(1, 0), ...field(2, field(1, "u-1"))]),
      { apiVersion: "apps/v1", kind: "DeleteOptions", gracePeriodSeconds: 0, preconditions: { uid: "u-1" } },
    ],
  ])("%s", (_title, bytes, value) => {
    expect(decodeProtobuf(bytes)).toEqual(value);
  });

  it("of a kind that is not served is refused", () => {
    expect(() => decodeProtobuf(body("v1", "Secret", NAME))).toThrow('no kind "Secret" is registered');
  });

  it("whatever it holds, is read or refused with a code", () => {
    const kinds = fc.constantFrom("Pod", "Service", "Node", "ConfigMap");
    const raw = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 100 });
    fc.assert(
      fc.property(kinds, raw, (kind, bytes) => {
        try {
          decodeProtobuf(body("v1", kind, bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(KubeError);
        }
        expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
      }),
    );
  });
});
