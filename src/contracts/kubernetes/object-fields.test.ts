// Fields that kinds have and do not have, by Kubernetes' API reference; and what was probably meant.
import { describe, expect, it } from "vitest";
import { formatPath } from "./text/field-path.ts";
import { ObjectFields, isOfServer } from "./object-fields.ts";

const FIELDS = new ObjectFields();

function found(apiVersion: string, kind: string, rest: object): readonly string[] {
  return FIELDS.find({ apiVersion, kind, metadata: { name: "web" }, ...rest }).unknown.map(
    ({ path, meant }) => `${formatPath(path)} → ${meant ?? "?"}`,
  );
}

const CONTAINER = { name: "c", image: "i" };

function deployment(spec: object, template: object = {}): object {
  return {
    spec: {
      selector: {},
      template: { metadata: {}, spec: { containers: [CONTAINER], ...spec } },
      ...template,
    },
  };
}

describe("unknown fields", () => {
  it.each<readonly [what: string, kind: readonly [string, string], rest: object, fields: readonly string[]]>([
    [
      "another letter case",
      ["v1", "Service"],
      { spec: { ports: [{ port: 80, targetport: 8080 }] } },
      ["spec.ports[0].targetport → spec.ports[0].targetPort"],
    ],
    [
      "a letter too few",
      ["apps/v1", "Deployment"],
      deployment({}, { replica: 2 }),
      ["spec.replica → spec.replicas"],
    ],
    [
      "a selector in a container",
      ["apps/v1", "Deployment"],
      deployment({ containers: [{ ...CONTAINER, nodeSelector: {} }] }),
      ["spec.template.spec.containers[0].nodeSelector → spec.template.spec.nodeSelector"],
    ],
    [
      "a toleration beside the template's specification",
      ["apps/v1", "DaemonSet"],
      { spec: { template: { spec: { containers: [CONTAINER] }, tolerations: [] } } },
      ["spec.template.tolerations → ?"],
    ],
    ["a field of another kind", ["apps/v1", "DaemonSet"], { spec: { replicas: 2 } }, ["spec.replicas → ?"]],
    ["a field of the object itself", ["v1", "Pod"], { sepc: {} }, ["sepc → spec"]],
    [
      "in a mapping of lists of mappings",
      ["networking.k8s.io/v1", "NetworkPolicy"],
      { spec: { podSelector: {}, ingress: [{ form: [] }] } },
      ["spec.ingress[0].form → spec.ingress[0].from"],
    ],
    [
      "beside a volume, whose sources stand in it",
      ["v1", "Pod"],
      {
        spec: {
          containers: [CONTAINER],
          volumes: [{ name: "v", hostPath: { path: "C:\\logs", typ: "Directory" } }],
        },
      },
      ["spec.volumes[0].hostPath.typ → spec.volumes[0].hostPath.type"],
    ],
  ])("%s", (_, [apiVersion, kind], rest, fields) => {
    expect(found(apiVersion, kind, rest)).toEqual(fields);
  });

  it.each<readonly [what: string, kind: readonly [string, string], rest: object]>([
    [
      "labels, annotations and data of any name",
      ["v1", "ConfigMap"],
      { metadata: { name: "c", labels: { x: "y" } }, data: { "a.b": "c" } },
    ],
    [
      "amounts and ports as texts or numbers",
      ["v1", "Pod"],
      { spec: { containers: [{ ...CONTAINER, resources: { limits: { cpu: 1, "example.com/gpu": "2" } } }] } },
    ],
    [
      "options of Windows",
      ["v1", "Pod"],
      {
        spec: {
          os: { name: "windows" },
          securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } },
          containers: [CONTAINER],
        },
      },
    ],
    [
      "probes, whose handlers stand in them",
      ["v1", "Pod"],
      {
        spec: {
          containers: [
            { ...CONTAINER, readinessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 3 } },
          ],
        },
      },
    ],
    [
      "directives of a strategic merge patch",
      ["v1", "Pod"],
      { spec: { $patch: "replace", containers: [{ name: "c", $patch: "delete" }] } },
    ],
    ["a field without a value", ["v1", "Pod"], { spec: { nodeSelectors: null, containers: [CONTAINER] } }],
    [
      "an old version, whose fields were others",
      ["extensions/v1beta1", "Deployment"],
      { spec: { rollbackTo: {} } },
    ],
    ["kinds without a description", ["cert-manager.io/v1", "Certificate"], { spec: { anything: 1 } }],
    ["shapes that are wrong otherwise", ["v1", "Pod"], { spec: { containers: "none", volumes: [1, null] } }],
  ])("are not: %s", (_, [apiVersion, kind], rest) => {
    expect(found(apiVersion, kind, rest)).toEqual([]);
  });

  it("are told up to a bound, whatever an object holds", () => {
    const spec = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, 1]));
    expect(found("v1", "Pod", { spec })).toHaveLength(32);
  });

  it.each([
    [{ metadata: { uid: "1" } }, true],
    [{ metadata: { resourceVersion: "7" } }, true],
    [{ metadata: { name: "web" } }, false],
    [{}, false],
  ])("%j is as a server showed it: %s", (object, expected) => {
    expect(isOfServer(object)).toBe(expected);
  });
});
