import { describe, expect, it } from "vitest";
import { loadManifests } from "./load-manifests.ts";
import type { Manifests } from "./manifests.ts";

const load = (text: string, name = "a.yaml"): Manifests => loadManifests([{ name, text }]);
const names = ({ objects }: Manifests): string[] =>
  objects.map(({ object }) => `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`);
const reported = ({ problems }: Manifests): string[] =>
  problems.map(({ line, path, message }) => `${line} ${path}: ${message}`);
const codes = ({ problems, notes }: Manifests): string[] => [...problems, ...notes].map(({ code }) => code);

const CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n";
const config = (name: string): string => CONFIG.replace("NAME", name);

describe("documents", () => {
  it("are separated by lines of three dashes, also with comments and directives around them", () => {
    const text = `# first\n---\n${config("a")}--- # second\n${config("b")}---\n# nothing\n---\n\n--- \n${config("c")}...\n`;
    expect(names(load(text))).toEqual(["ConfigMap default/a", "ConfigMap default/b", "ConfigMap default/c"]);
  });

  it("know the line that they begin in", () => {
    const { objects } = load(`# first\n${config("a")}---\n${config("b")}`);
    expect(objects.map(({ origin }) => [origin?.file, origin?.line, origin?.column])).toEqual([
      ["a.yaml", 2, 1],
      ["a.yaml", 6, 1],
    ]);
  });

  it("may be JSON, one or several, also indented by tabs", () => {
    const one = `{\n\t"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`;
    expect(names(load(`${one}\n${one.replace('"a"', '"b"')}`))).toEqual([
      "ConfigMap default/a",
      "ConfigMap default/b",
    ]);
  });

  it("one that is a single letter is told in its line, and the next is read", () => {
    const result = load(`x\n---\n${config("a")}`);
    expect(names(result)).toEqual(["ConfigMap default/a"]);
    expect(result.problems.map(({ code, line, message }) => [code, line, message])).toEqual([
      ["manifest-invalid-value", 1, 'a manifest is a mapping of fields, but this is "x"'],
    ]);
  });

  it("may come with a byte order mark and with the line ends of Windows", () => {
    const text = `\uFEFF${config("a")}---\n${config("b")}`.replaceAll("\n", "\r\n");
    expect(names(load(text))).toEqual(["ConfigMap default/a", "ConfigMap default/b"]);
  });

  // What kubectl's decoder takes (k8s.io/apimachinery, pkg/util/yaml; sigs.k8s.io/yaml).
  it.each([
    [
      "a separator with blanks and tabs behind it",
      `${config("a")}---  \n${config("b")}---\t\n${config("c")}`,
    ],
    ["a byte order mark behind a separator", `${config("a")}---\n\uFEFF${config("b")}---\n${config("c")}`],
    [
      "null and empty documents between",
      `null\n---\n${config("a")}---\n---\n~\n---\n${config("b")}---\n${config("c")}---\n`,
    ],
    ["a directive in front", `%YAML 1.1\n---\n${config("a")}---\n${config("b")}---\n${config("c")}`],
    [
      "tabs behind values and colons",
      ["a", "b", "c"]
        .map((name) => config(name).replace("ConfigMap", "ConfigMap\t# x").replace("kind: ", "kind:\t"))
        .join("---\n"),
    ],
    [
      "lists in lists, and lists of one kind",
      `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n- apiVersion: v1\n  kind: ConfigMapList\n  items: [{metadata: {name: b}}]\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n`,
    ],
    [
      "JSON before YAML",
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}\n---\n${config("b")}---\n${config("c")}`,
    ],
    [
      "items that merge others",
      `apiVersion: v1\nkind: List\nitems:\n- &base {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {<<: *base, metadata: {name: b}}\n- {<<: [*base], metadata: {name: c}}\n`,
    ],
  ])("may have %s", (_what, text) => {
    expect(reported(load(text))).toEqual([]);
    expect(names(load(text))).toEqual(["ConfigMap default/a", "ConfigMap default/b", "ConfigMap default/c"]);
  });

  it("that are broken do not stop the others", () => {
    const result = load(`${config("a")}---\nkind: [\n---\n${config("c")}`);
    expect(names(result)).toEqual(["ConfigMap default/a", "ConfigMap default/c"]);
    expect(codes(result)).toContain("manifest-invalid-yaml");
    expect(result.problems[0]?.line).toBeGreaterThanOrEqual(5);
  });

  it.each([
    ["a list", "- a\n", "1 : a manifest is a mapping of fields, but this is a list"],
    ["a text", "hello\n", '1 : a manifest is a mapping of fields, but this is "hello"'],
    ["without kind", "apiVersion: v1\nmetadata: {name: a}\n", "1 kind: Required value"],
    ["without apiVersion", "kind: Pod\nmetadata: {name: a}\n", "1 apiVersion: Required value"],
    ["kind is a number", "apiVersion: v1\nkind: 5\n", "2 kind: must be text, but is the number 5"],
  ])("%s is refused", (_, text, message) => {
    expect(reported(load(text))).toEqual([message]);
  });
});

describe("lists", () => {
  const item = (name: string): string =>
    `- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: ${name}\n    namespace: x\n`;

  it.each([
    [
      "as kubectl prints it",
      `apiVersion: v1\nitems:\n${item("a")}${item("b")}kind: List\nmetadata:\n  resourceVersion: ""\n`,
    ],
    ["with the kind first", `apiVersion: v1\nkind: List\nitems:\n${item("a")}${item("b")}`],
    [
      "indented",
      `kind: List\napiVersion: v1\nitems:\n${(item("a") + item("b")).replace(/^/gm, "  ").trimEnd()}\n`,
    ],
    [
      "in brackets",
      `{apiVersion: v1, kind: List, items: [${config("a").trim().replaceAll("\n", ", ").replace("a}", "a, namespace: x}")}]}`.replaceAll(
        /apiVersion: v1, kind: ConfigMap, metadata: \{name: a, namespace: x\}/g,
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: x}}",
      ),
    ],
    [
      "inside a list",
      `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n${(item("a") + item("b")).replace(/^/gm, "  ").trimEnd()}\n`,
    ],
    [
      "of one kind, whose items do not repeat it",
      "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a, namespace: x}\n- metadata: {name: b, namespace: x}\n",
    ],
    [
      "JSON",
      JSON.stringify(
        {
          apiVersion: "v1",
          kind: "List",
          items: ["a", "b"].map((name) => ({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name, namespace: "x" },
          })),
        },
        null,
        4,
      ),
    ],
  ])("%s", (_, text) => {
    const result = load(text);
    expect(result.problems).toEqual([]);
    expect(names(result)).toEqual(["ConfigMap x/a", "ConfigMap x/b"]);
  });

  it("an empty one has nothing", () => {
    expect(load("apiVersion: v1\nitems: []\nkind: List\n")).toEqual({
      objects: [],
      policies: [],
      configurations: [],
      notes: [],
      problems: [],
    });
  });

  it.each(["apiVersion: v1\nitems: null\nkind: PodList\n", '{"apiVersion":"v1","kind":"List","items":null}'])(
    "an empty one, as Go writes it without items, has nothing: %j",
    (text) => {
      expect(load(text)).toMatchObject({ objects: [], notes: [], problems: [] });
    },
  );

  it("what has no items is none, and neither is another kind with items: both are passed by as they are", () => {
    const result = load(
      `apiVersion: v1\nkind: PodList\n---\napiVersion: example.org/v1\nkind: Basket\nmetadata: {name: a}\nitems:\n- {weight: 1}\n---\n${config("b")}`,
    );
    expect(result.problems).toEqual([]);
    expect(names(result)).toEqual([expect.stringMatching(/^ConfigMap .*b$/)]);
    expect(result.notes.map(({ line, path, message }) => [line, path, message])).toEqual([
      [2, "kind", expect.stringContaining("PodList")],
      [5, "kind", expect.stringContaining("Basket")],
    ]);
  });

  it("items may refer to each other", () => {
    const linked =
      "kind: List\napiVersion: v1\nitems:\n- &a {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- <<: *a\n  metadata: {name: b}\n";
    expect(names(load(linked))).toEqual(["ConfigMap default/a", "ConfigMap default/b"]);
  });

  it("an item that is broken does not stop the others, and its field is found in its line", () => {
    const text = `apiVersion: v1\nkind: List\nitems:\n${item("a")}${item("B")}${item("c")}`;
    const result = load(text);
    expect(names(result)).toEqual(["ConfigMap x/a", "ConfigMap x/c"]);
    expect(result.problems.map(({ line, column, path }) => [line, column, path])).toEqual([
      [12, 5, "metadata.name"],
    ]);
  });

  it("what stands behind the items is found in its line", () => {
    const text = `apiVersion: v1\nkind: List\nitems:\n${item("a")}metadata: [\n`;
    expect(load(text).problems.map(({ line }) => line)).toEqual([10]);
  });

  it("the field of an item of JSON is found in its line", () => {
    const items = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "B" } }];
    const result = load(JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2));
    expect(result.problems.map(({ line, path }) => [line, path])).toEqual([[9, "metadata.name"]]);
  });
});

describe("YAML as Kubernetes reads it", () => {
  const data = (value: string): unknown => {
    const [loaded] = load(`${config("a")}x: ${value}\n`).objects;
    return (loaded?.object as { readonly x?: unknown } | undefined)?.x;
  };

  it.each([
    ["yes", true],
    ["off", false],
    // A surprise that users of Kubernetes know: go-yaml takes one letter for a truth value.
    ["n", false],
    ["0755", 493],
    ["1:30", "1:30"],
    ["2024-01-01", "2024-01-01"],
    ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"],
    ["10.0.0.1", "10.0.0.1"],
    ["1.5", 1.5],
    ["0x10", 16],
    ["0b11", 3],
    ["08", 8],
    ["1_000", 1000],
    ["-5", -5],
    ["1e3", 1000],
    ["e-1", "e-1"],
    [".5", 0.5],
    ['"yes"', "yes"],
    ["7e9c", "7e9c"],
  ])("%s", (text, value) => {
    expect(data(text)).toEqual(value);
  });

  it("aliases and merges are resolved", () => {
    expect(data("{a: &a {b: 1, c: 2}, d: {<<: *a, c: 3}}")).toEqual({ a: { b: 1, c: 2 }, d: { b: 1, c: 3 } });
  });

  it.each([
    ["an alias without an anchor", "x: *a", "the alias *a has no anchor before it"],
    ["a field given twice", "metadata: {name: b}", 'the field "metadata" is given twice'],
    ["what JSON cannot say", "x: .inf", ".inf cannot be said in JSON"],
    ["a field without a name", "? {a: b}\n: c", "a field's name must be text"],
  ])("%s is a problem", (_, line, message) => {
    const result = load(`${config("a")}${line}\n`);
    expect(codes(result)).toEqual(["manifest-invalid-yaml"]);
    expect(result.problems[0]?.message).toBe(message);
    expect(result.problems[0]?.line).toBe(4);
  });
});

describe("bounds", () => {
  it("depth", () => {
    const result = load(`${config("a")}x: ${"[".repeat(500)}${"]".repeat(500)}\n`);
    expect(codes(result)).toEqual(["manifest-too-large"]);
  });

  it("depth of JSON", () => {
    const result = load(`{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
    expect(codes(result)).toEqual(["manifest-too-large"]);
  });

  it.each([
    ["long", `x: "${"a".repeat(4_200_000)}"\n`],
    ["full of brackets", `x: ${"[".repeat(1_000_000)}\n`],
    ["full of lines", `x:\n${"- [a]\n".repeat(600_000)}`],
  ])("a document that is %s", (_, text) => {
    expect(codes(load(`${config("a")}${text}`))).toEqual(["manifest-too-large"]);
  });

  it("what aliases stand for", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let i = 1; i < 9; i++)
      lines.push(`a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(", ")}]`);
    expect(codes(load(`${config("a")}${lines.join("\n")}\n`))).toEqual(["manifest-too-large"]);
  });

  it("a zero byte", () => {
    expect(codes(load(`${config("a")}\u0000`))).toEqual(["manifest-invalid-yaml"]);
  });

  it("problems beyond the five hundredth are counted", () => {
    const { problems } = load(`${config("A")}---\n`.repeat(600));
    expect(problems).toHaveLength(501);
    expect(problems.at(-1)?.message).toBe("100 further problems are not listed");
    // It stands where the last of those stands that are listed.
    const [last, rest] = problems.slice(-2);
    expect([rest?.file, rest?.line, rest?.path]).toEqual([last?.file, last?.line, ""]);
    expect(load(`${config("A")}---\n`.repeat(500)).problems).toHaveLength(500);
  });
});

describe("kinds", () => {
  it("that are unknown are passed by, with one note per kind", () => {
    const ingress = (name: string): string =>
      `apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: ${name}}\n`;
    const result = load(
      `${ingress("a")}---\n${ingress("b")}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\n${config("c")}`,
    );
    expect(names(result)).toEqual(["ConfigMap default/c"]);
    expect(result.notes.map(({ code, line, message }) => [code, line, message])).toEqual([
      [
        "manifest-kind-not-carried-out",
        2,
        "objects of kind Ingress (networking.k8s.io/v1) could change a flow, and are left out (2 times)",
      ],
      ["manifest-kind-unused", 10, "objects of kind Secret (v1) have no effect here and were skipped"],
    ]);
  });

  it("of a removed version that could change a flow are not said to have no effect", () => {
    const { notes } = load("apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n");
    expect(notes.map(({ code, message }) => [code, message])).toEqual([
      ["manifest-old-version", "extensions/v1beta1 of Ingress was removed in Kubernetes 1.22"],
      [
        "manifest-kind-not-carried-out",
        "objects of kind Ingress (extensions/v1beta1) could change a flow, and are left out",
      ],
    ]);
  });

  it("of somebody else's group are not those of Kubernetes", () => {
    const result = load("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {}\n");
    expect([names(result), codes(result)]).toEqual([[], ["manifest-kind-not-carried-out"]]);
  });

  it("of which nothing is known are named once, together", () => {
    const kinds = Array.from(
      { length: 7 },
      (_, i) => `apiVersion: example.com/v1\nkind: Kind${i}\nmetadata: {name: a}\n`,
    );
    const result = load([...kinds, ...kinds].join("---\n"));
    expect(result.notes.map(({ code, line, message }) => [code, line, message])).toEqual([
      [
        "manifest-kind-unknown",
        2,
        `of these kinds nothing is known here, and they are taken to change no flow and to make no pods: ${[
          0, 1, 2, 3, 4,
        ]
          .map((i) => `Kind${i} (example.com/v1)`)
          .join(", ")} and 2 more`,
      ],
    ]);
  });

  describe("from which others are made", () => {
    const ROLLOUT =
      "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a, uid: x}\nspec: {}\n";
    const POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n";

    it.each([
      [
        "written by hand, the pods are missing",
        ROLLOUT.replace(", uid: x", ""),
        "manifest-kind-not-carried-out",
      ],
      [
        "beside a pod of another, too",
        `${ROLLOUT.replace(", uid: x", "")}---\n${POD}`,
        "manifest-kind-not-carried-out",
      ],
      ["shown by a server without any pod, too", ROLLOUT, "manifest-kind-not-carried-out"],
      ["shown by a server with its pods, nothing is", `${ROLLOUT}---\n${POD}`, "manifest-kind-unused"],
      [
        "a controller of before ReplicaSets",
        "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: a}\n",
        "manifest-kind-not-carried-out",
      ],
    ])("%s", (_, text, code) => {
      expect(codes(load(text))).toEqual([code]);
    });
  });

  describe("that change others: a kustomization", () => {
    const KIND = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";

    it.each([
      ["lists files of its folder", `${KIND}resources: [web.yaml, ./policy.yml]\n`, "manifest-kind-unused"],
      ["lists another folder", `${KIND}resources: [../base]\n`, "manifest-kind-not-carried-out"],
      [
        "gives a namespace",
        `${KIND}namespace: shop\nresources: [web.yaml]\n`,
        "manifest-kind-not-carried-out",
      ],
      ["changes images", `${KIND}images: [{name: a, newTag: b}]\n`, "manifest-kind-not-carried-out"],
    ])("%s", (_, text, code) => {
      expect(codes(load(text))).toEqual([code]);
    });

    it("may leave its kind to the name of its file", () => {
      const text = "resources: [web.yaml]\nnamePrefix: x-\n";
      const { notes, problems } = loadManifests([{ name: "deploy/kustomization.yaml", text }]);
      expect(problems).toEqual([]);
      expect(notes.map(({ code, message }) => [code, message])).toEqual([
        [
          "manifest-kind-not-carried-out",
          "this kustomization changes the objects of other files, and is not applied here",
        ],
      ]);
    });
  });

  it("in a version that never had them are refused, as by kubectl", () => {
    const result = load("apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n");
    expect(reported(result)).toEqual(['1 apiVersion: no matches for kind "Deployment" in version "v1"']);
  });

  it("of the cluster have no namespace", () => {
    expect(names(load("apiVersion: v1\nkind: Node\nmetadata: {name: win-1, namespace: x}\n"))).toEqual([
      "Node /win-1",
    ]);
  });

  it("stand once, whatever the file", () => {
    const result = loadManifests([
      { name: "a.yaml", text: config("a") },
      { name: "b.yaml", text: `${config("b")}---\n${config("a")}data: { x: other }\n` },
    ]);
    expect(names(result)).toEqual(["ConfigMap default/a", "ConfigMap default/b"]);
    expect(result.problems.map(({ file, line, message }) => [file, line, message])).toEqual([
      ["b.yaml", 7, 'ConfigMap "a" is in a.yaml:1 already'],
    ]);
  });

  it("may leave the end of their name to the server, as often as they like", () => {
    const text = config("x").replace("name: x", "generateName: x-");
    expect(names(load(`${text}---\n${text}`))).toEqual(["ConfigMap default/", "ConfigMap default/"]);
  });
});

describe("removed API versions", () => {
  const template = "template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}";

  it.each([
    ["extensions/v1beta1", "Deployment", "1.16", "apps/v1"],
    ["extensions/v1beta1", "DaemonSet", "1.16", "apps/v1"],
    ["extensions/v1beta1", "ReplicaSet", "1.16", "apps/v1"],
    ["apps/v1beta1", "Deployment", "1.16", "apps/v1"],
    ["apps/v1beta1", "StatefulSet", "1.16", "apps/v1"],
    ["apps/v1beta2", "DaemonSet", "1.16", "apps/v1"],
    ["apps/v1beta2", "ReplicaSet", "1.16", "apps/v1"],
  ])("%s %s is read as today's, with the selector that it meant", (version, kind, removed, present) => {
    const result = load(`apiVersion: ${version}\nkind: ${kind}\nmetadata: {name: a}\nspec: {${template}}\n`);
    expect(result.problems).toEqual([]);
    expect(result.notes.map(({ message }) => message)).toEqual([
      `${version} of ${kind} was removed in Kubernetes ${removed}; read as ${present}`,
    ]);
    expect(result.objects[0]?.object).toMatchObject({
      apiVersion: present,
      spec: { selector: { matchLabels: { app: "a" } } },
    });
  });

  it("batch/v1beta1 CronJob", () => {
    const job = `{schedule: "0 3 * * *", jobTemplate: {spec: {${template.replace("{containers", "{restartPolicy: Never, containers")}}}}`;
    const result = load(`apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\nspec: ${job}\n`);
    expect([result.problems, result.objects[0]?.object.apiVersion]).toEqual([[], "batch/v1"]);
  });

  it("discovery.k8s.io/v1beta1 EndpointSlice said node and zone in a map", () => {
    const endpoint =
      "{addresses: [10.0.0.1], topology: {kubernetes.io/hostname: win-1, topology.kubernetes.io/zone: z, rack: r}}";
    const result = load(
      `apiVersion: discovery.k8s.io/v1beta1\nkind: EndpointSlice\nmetadata: {name: a}\naddressType: IPv4\nendpoints: [${endpoint}]\n`,
    );
    expect(result.objects[0]?.object).toMatchObject({
      apiVersion: "discovery.k8s.io/v1",
      endpoints: [
        { addresses: ["10.0.0.1"], nodeName: "win-1", zone: "z", deprecatedTopology: { rack: "r" } },
      ],
    });
  });

  it("policies of extensions/v1beta1 have today's fields", () => {
    const result = load(
      "apiVersion: extensions/v1beta1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {podSelector: {}}\n",
    );
    expect(result.objects[0]?.object.apiVersion).toBe("networking.k8s.io/v1");
  });
});

describe("Helm templates", () => {
  it.each([
    ["not even YAML", "{{- if .Values.enabled }}\napiVersion: v1\nkind: Service\n{{- end }}\n", 1],
    ["a value in braces", "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n", 4],
    ["a value in quotes", 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "{{ .Release.Name }}-a"\n', 4],
    [
      "a number that is none",
      `${config("a").replace("ConfigMap", "Service")}spec:\n  ports: [{port: "{{ .Values.port }}"}]\n`,
      5,
    ],
  ])("%s: the message names Helm and what to do", (_, text, line) => {
    const { problems, objects } = load(text);
    expect(objects).toEqual([]);
    expect(problems.map((problem) => [problem.code, problem.line])).toEqual([
      ["manifest-helm-template", line],
    ]);
    expect(problems[0]?.advice).toContain("helm template");
  });

  it("a text with braces is no template", () => {
    const result = load(`${config("a")}data: {x: "{{ .Name }}"}\n`);
    expect([names(result), result.problems]).toEqual([["ConfigMap default/a"], []]);
  });

  it("other documents of the file are read", () => {
    expect(names(load(`{{ include "x" . }}\n---\n${config("a")}`))).toEqual(["ConfigMap default/a"]);
  });
});

describe("what is stored", () => {
  it("lies in the namespace default when none is named, and has no null fields", () => {
    const [loaded] = load(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: null, creationTimestamp: null}\nspec: {containers: [{name: c, image: i}]}\n",
    ).objects;
    expect(loaded?.object.metadata).toEqual({
      name: "a",
      namespace: "default",
      uid: "",
      resourceVersion: "",
    });
  });

  // Go decodes null into the empty value of an item; a real API server takes these.
  it.each([
    [
      "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, ingress: [null]}}",
      { podSelector: {}, ingress: [{}] },
    ],
    [
      "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i, args: [null, b]}]}}",
      { containers: [{ name: "c", image: "i", args: ["", "b"] }] },
    ],
  ])("has empty items where a list has null: %s", (text, spec) => {
    const { objects, problems } = load(text);
    expect([objects.map(({ object }) => object), problems]).toEqual([
      [expect.objectContaining({ spec })],
      [],
    ]);
  });

  it("keeps uid, version and status of a dump, without managedFields and the copy of the last apply", () => {
    const [loaded] = load(
      `apiVersion: v1
kind: Pod
metadata:
  name: a
  uid: u-1
  resourceVersion: "42"
  managedFields: [{manager: kubectl}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", keep: me}
spec: {nodeName: win-1, containers: [{name: c, image: i}]}
status: {podIP: 10.0.0.1, phase: Running}
`,
    ).objects;
    expect(loaded?.object).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "a",
        namespace: "default",
        uid: "u-1",
        resourceVersion: "42",
        annotations: { keep: "me" },
      },
      spec: { nodeName: "win-1", containers: [{ name: "c", image: "i" }] },
      status: { podIP: "10.0.0.1", phase: "Running" },
    });
    expect(Object.isFrozen(loaded?.object.metadata)).toBe(true);
  });

  it("a Service knows the places of what may be refused later", () => {
    const [loaded] = load(
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  type: NodePort\n  clusterIP: 10.96.0.9\n  ports:\n  - port: 80\n    nodePort: 30080\n",
    ).objects;
    expect(loaded?.origin?.fields).toEqual({
      "spec.clusterIP": { line: 6, column: 3 },
      "spec.ports[0].nodePort": { line: 9, column: 5 },
    });
  });
});

it("reads what kubectl cluster-info dump prints to its end, and at its lines", () => {
  const named = "container c of pod shop/web";
  const text = [
    '{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "n"}}]}',
    `==== START logs for ${named} ====`,
    "key: value: {not yaml",
    `==== END logs for ${named} ====`,
    '{"kind": "PodList", "apiVersion": "v1", "items": [',
    '  {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}]}',
  ].join("\n");
  const { objects, problems } = loadManifests([{ name: "dump.txt", text }]);
  expect(problems).toEqual([]);
  expect(objects.map(({ object, origin }) => [object.kind, object.metadata.name, origin?.line])).toEqual([
    ["Node", "n", 1],
    ["Pod", "web", 6],
  ]);
});
