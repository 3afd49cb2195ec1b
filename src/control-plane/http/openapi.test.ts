// The schemas as kubectl reads them: v3 for explain, v2 in protobuf before it applies a List.
import { describe, expect, it } from "vitest";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { MemoryKubeSource } from "../memory/memory-kube-source.ts";
import { KubeApi } from "./api-app.node.ts";
import { fieldDescriptions } from "./openapi.ts";
import { Messages } from "#contracts/kubernetes/messages.ts";

const api = new KubeApi({
  source: new MemoryKubeSource(start("", { clusterCIDRs: [] })),
  gitVersion: "v1.34.0",
  nowMs: () => 0,
  checkAccess: () => undefined,
});

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly "x-kubernetes-group-version-kind"?: readonly object[];
}

async function read<T>(path: string): Promise<T> {
  return (await (await api.app.request(path)).json()) as T;
}

interface Document {
  readonly paths: Readonly<
    Record<string, { readonly patch?: { readonly parameters: readonly { name: string }[] } }>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

function referencesOf(schema: Schema): readonly string[] {
  const parts = [
    schema.items,
    schema.additionalProperties,
    ...(schema.allOf ?? []),
    ...Object.values(schema.properties ?? {}),
  ];
  const inside = parts.flatMap((part) => (part === undefined ? [] : referencesOf(part)));
  return schema.$ref === undefined ? inside : [schema.$ref, ...inside];
}

describe("OpenAPI v3", () => {
  it("has every kind of every group with its fields, and every schema that one refers to", async () => {
    const { paths: roots } = await read<{ paths: Record<string, { serverRelativeURL: string }> }>(
      "/openapi/v3",
    );
    const kinds: string[] = [];
    for (const [root, { serverRelativeURL }] of Object.entries(roots)) {
      const { components, paths } = await read<Document>(serverRelativeURL);
      const list = await read<{ resources: { name: string; kind: string }[] }>(`/${root}`);
      for (const { name, kind } of list.resources.filter((each) => !each.name.includes("/"))) {
        kinds.push(kind);
        const found = Object.values(components.schemas).filter((schema) =>
          JSON.stringify(schema["x-kubernetes-group-version-kind"] ?? "").includes(`"kind":"${kind}"`),
        );
        expect(found, `${root} ${kind}`).toHaveLength(1);
        expect(found[0]?.properties).toMatchObject({ apiVersion: {}, kind: {}, metadata: {} });
        const single = Object.entries(paths).find(([path]) => path.endsWith(`/${name}/{name}`));
        expect(single?.[1].patch?.parameters.map((each) => each.name)).toContain("fieldValidation");
      }
      const names = new Set(Object.keys(components.schemas).map((name) => `#/components/schemas/${name}`));
      expect(
        Object.values(components.schemas)
          .flatMap(referencesOf)
          .filter((ref) => !names.has(ref)),
      ).toEqual([]);
    }
    expect(kinds).toHaveLength(19);
  });

  it("types fields as the API's reference does", async () => {
    const { components } = await read<Document>("/openapi/v3/apis/apps/v1");
    const spec = components.schemas["io.k8s.api.apps.v1.DeploymentSpec"]?.properties ?? {};
    expect(spec["replicas"]).toMatchObject({ type: "integer", format: "int32" });
    expect(spec["paused"]).toMatchObject({ type: "boolean" });
    expect(spec["template"]?.allOf).toEqual([
      { $ref: "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec" },
    ]);
    const pod = components.schemas["io.k8s.api.core.v1.PodSpec"]?.properties ?? {};
    expect(pod["nodeSelector"]).toMatchObject({ type: "object", additionalProperties: { type: "string" } });
    expect(pod["containers"]?.items?.$ref).toBe("#/components/schemas/io.k8s.api.core.v1.Container");
    // In JSON a volume has the fields of its source beside its name.
    const volume = components.schemas["io.k8s.api.core.v1.Volume"]?.properties ?? {};
    expect(Object.keys(volume)).toEqual(
      expect.arrayContaining(["name", "configMap", "emptyDir", "hostPath"]),
    );
    const port = components.schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
    expect(port).toEqual({ type: "string", format: "int-or-string" });
  });
});

describe("descriptions", () => {
  /** Kinds that matter for networks, with the path of their group. */
  const KINDS: readonly (readonly [root: string, name: string])[] = [
    ...["Pod", "Service", "Node", "Namespace", "ConfigMap"].map(
      (kind) => ["api/v1", `core.v1.${kind}`] as const,
    ),
    ...["Deployment", "DaemonSet"].map((kind) => ["apis/apps/v1", `apps.v1.${kind}`] as const),
    ["apis/networking.k8s.io/v1", "networking.v1.NetworkPolicy"],
    ["apis/discovery.k8s.io/v1", "discovery.v1.EndpointSlice"],
  ];

  it.each(KINDS)("%s %s has one of itself and of each field at the top", async (root, name) => {
    const { components } = await read<Document>(`/openapi/v3/${root}`);
    const found = components.schemas[`io.k8s.api.${name}`];
    expect(found?.description).toMatch(/^[A-Z].*\.$/);
    expect(found?.description).not.toContain("Names and types of the fields that Mullion knows");
    const bare = Object.entries(found?.properties ?? {}).filter(([, each]) => each.description === undefined);
    expect(bare.map(([field]) => field)).toEqual([]);
  });

  it("say what differs on Windows, in v2 beside the reference", async () => {
    const { components } = await read<Document>("/openapi/v3/api/v1");
    const fields = components.schemas["io.k8s.api.core.v1.PodSpec"]?.properties ?? {};
    expect(fields["hostNetwork"]?.description).toMatch(/HostProcess/);
    expect(fields["dnsPolicy"]?.description).toMatch(/ClusterFirstWithHostNet does not work on Windows/);
    const { definitions } = await read<{ definitions: Record<string, Schema> }>("/openapi/v2");
    expect(definitions["io.k8s.api.core.v1.Pod"]?.properties?.["spec"]).toEqual({
      $ref: "#/definitions/io.k8s.api.core.v1.PodSpec",
      description: "What is wanted of the pod.",
    });
  });

  it("are short, and none is of a field that is gone", () => {
    const messages = new Messages();
    for (const [message, fields] of fieldDescriptions()) {
      const known = messages.fieldsOf(message).map(({ name }) => name);
      expect(
        [...fields.keys()].filter((name) => name !== "" && !known.includes(name)),
        message,
      ).toEqual([]);
      expect([...fields.values()].filter((text) => !/^[^\n]{4,169}\.$/.test(text))).toEqual([]);
    }
  });
});

/** Fields of a message whose fields are all texts or messages, by number. */
function fieldsOf(bytes: Uint8Array): readonly (readonly [number, Uint8Array])[] {
  const fields: [number, Uint8Array][] = [];
  let at = 0;
  const number = (): number => {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = number();
    expect(tag & 7).toBe(2);
    const length = number();
    fields.push([tag >> 3, bytes.subarray(at, at + length)]);
    at += length;
  }
  return fields;
}

function textOf(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

function one(bytes: Uint8Array, number: number): Uint8Array {
  return fieldsOf(bytes).find(([each]) => each === number)?.[1] ?? new Uint8Array();
}

describe("OpenAPI v2", () => {
  it("says the same in protobuf as in JSON, with the numbers of gnostic's OpenAPIv2.proto", async () => {
    const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    const answer = await api.app.request("/openapi/v2", { headers: { accept } });
    expect(answer.headers.get("content-type")).toBe(
      "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    );
    const document = new Uint8Array(await answer.arrayBuffer());
    expect(textOf(one(document, 1))).toBe("2.0");
    const named = fieldsOf(one(document, 9)).map(([, each]) => [textOf(one(each, 1)), one(each, 2)] as const);
    const { definitions } = await read<{ definitions: Record<string, Schema> }>("/openapi/v2");
    expect(named.map(([name]) => name)).toEqual(Object.keys(definitions));
    const schema = new Map(named).get("io.k8s.api.apps.v1.Deployment") ?? new Uint8Array();
    expect(textOf(one(one(schema, 22), 1))).toBe("object");
    const properties = fieldsOf(one(schema, 25)).map(([, each]) => textOf(one(each, 1)));
    expect(properties).toEqual(["apiVersion", "kind", "metadata", "spec", "status"]);
    const extension = one(schema, 31);
    expect(textOf(one(extension, 1))).toBe("x-kubernetes-group-version-kind");
    expect(JSON.parse(textOf(one(one(extension, 2), 2)))).toEqual([
      { group: "apps", version: "v1", kind: "Deployment" },
    ]);
  });
});
