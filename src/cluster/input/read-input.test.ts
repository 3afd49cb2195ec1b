// What users name with -f: cluster files, manifests, both in one text, and texts that are none of it. A broken part is
// told with file, line and field; the rest goes on where Kubernetes would.
import { describe, expect, it } from "vitest";
import { clusterText, openSessionWorld, service } from "#test/support/cluster/session-world.ts";
import { readInput } from "./read-input.ts";

const CLUSTER = clusterText().trimStart();
const POD = `apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec: { containers: [{ name: c, image: x, ports: [{ containerPort: 8080 }] }] }
`;

function read(...texts: readonly (readonly [name: string, text: string])[]): {
  readonly cluster: string | undefined;
  readonly objects: readonly string[];
  readonly reported: readonly string[];
} {
  const result = readInput(texts.map(([name, text]) => ({ name, text })));
  const input = "input" in result ? result.input : undefined;
  const problems = "input" in result ? [...result.input.problems, ...result.input.notes] : result.problems;
  return {
    cluster: input?.file.name,
    objects: (input?.objects ?? []).map(({ object }) => `${object.kind}/${object.metadata.name}`),
    reported: problems.map(
      ({ file, line, path, code }) => `${file}:${line}${path === "" ? "" : ` ${path}`} ${code}`,
    ),
  };
}

const ASSUMED = ":0 cluster-assumed";

describe("what a text is", () => {
  it.each([
    ["a cluster file", CLUSTER, "test", [], []],
    [
      "a cluster file in JSON",
      `{\n  "apiVersion": "mullion/v1alpha1", "kind": "Cluster", "metadata": {"name": "j"},\n "nodes": [{"name": "n", "os": "linux", "address": "10.0.0.2"}]}`,
      "j",
      [],
      [],
    ],
    ["manifests", POD, "manifests", ["Pod/web"], [ASSUMED]],
    ["a cluster file, then manifests", `${CLUSTER}---\n${POD}`, "test", ["Pod/web"], []],
    ["manifests, then a cluster file", `${POD}---\n${CLUSTER}`, "test", ["Pod/web"], []],
    [
      "a cluster file between manifests",
      `${POD}---\n${CLUSTER}--- # next\n${POD.replace("web,", "api,")}`,
      "test",
      ["Pod/web", "Pod/api"],
      [],
    ],
    ["a cluster file behind a comment and a separator", `# mine\n---\n${CLUSTER}`, "test", [], []],
    [
      "a ConfigMap that holds a cluster file",
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\ndata:\n  cluster.yaml: |\n    apiVersion: mullion/v1alpha1\n    kind: Cluster\n`,
      "manifests",
      ["ConfigMap/c"],
      [ASSUMED],
    ],
    ["nothing", "", undefined, [], ["t.yaml:1 input-without-documents"]],
    ["a comment", "# later\n", undefined, [], ["t.yaml:1 input-without-documents"]],
    ["bytes", "\u007fELF\u0000\u0001", undefined, [], ["t.yaml:1 manifest-invalid-yaml"]],
    ["prose", "hello there", undefined, [], ["t.yaml:1 manifest-invalid-value"]],
    [
      "two cluster files",
      `${CLUSTER}---\n${CLUSTER}`,
      undefined,
      [],
      ["t.yaml:11 cluster-file-duplicate-name"],
    ],
    [
      "a Helm template",
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n",
      undefined,
      [],
      ["t.yaml:4 manifest-helm-template"],
    ],
  ])("%s", (_, text, cluster, objects, reported) => {
    expect(read(["t.yaml", text])).toEqual({ cluster, objects, reported });
  });

  it("lines of a text that holds both are those of the text", () => {
    const broken = POD.replace("kind: Pod", "kind: Service");
    expect(read(["t.yaml", `${CLUSTER}---\n${broken}`]).reported).toEqual([
      expect.stringMatching(/^t\.yaml:14 spec\.ports manifest-missing-field$/),
      expect.stringMatching(/^t\.yaml:14 spec\.containers manifest-unknown-field$/),
    ]);
    const badCluster = CLUSTER.replace("address: 10.0.0.21", "address: 10.0.0.11");
    expect(read(["t.yaml", `${POD}---\n${badCluster}`]).reported).toEqual([
      "t.yaml:12 nodes[2].address cluster-file-duplicate-address",
    ]);
  });
});

describe("several texts", () => {
  it("add up", () => {
    expect(read(["c.yaml", CLUSTER], ["a.yaml", POD], ["b.yaml", POD.replace("web,", "api,")])).toEqual({
      cluster: "test",
      objects: ["Pod/web", "Pod/api"],
      reported: [],
    });
  });

  it.each([
    ["two cluster files", [CLUSTER, CLUSTER], undefined, ["b.yaml:1 cluster-file-duplicate-name"]],
    [
      "an object in both",
      [POD, POD.replace("image: ", "image: other-")],
      "manifests",
      ["b.yaml:3 metadata.name manifest-duplicate-object", ASSUMED],
    ],
    [
      "a broken cluster file stops everything",
      [CLUSTER.replace("nodes:", "node:"), POD],
      undefined,
      expect.anything(),
    ],
    ["an empty one beside a good one", ["", POD], "manifests", [ASSUMED]],
  ])("%s", (_, [a = "", b = ""], cluster, reported) => {
    const result = read(["a.yaml", a], ["b.yaml", b]);
    expect(result.cluster).toBe(cluster);
    expect(result.reported).toEqual(reported);
  });
});

describe("one broken document among good ones", () => {
  const GOOD = service("good", "selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]");
  const NODE_PORT = (name: string): string =>
    service(name, "type: NodePort, selector: { app: web }, ports: [{ port: 80, nodePort: 30001 }]");

  // Each row: the manifests, what is refused or noted (place, field, code), and the Services that are there afterwards.
  it.each([
    [
      "invalid YAML",
      "\napiVersion: v1\nkind: Service\nmetadata: { name: bad\nspec: {}\n---",
      [/^1\.yaml:\d+ manifest-invalid-yaml$/],
      [],
    ],
    [
      "a Service without ports",
      service("bad", "selector: { app: web }"),
      [/^1\.yaml:\d+ spec\.ports manifest-missing-field$/],
      [],
    ],
    [
      "a selector that matches nothing",
      service("odd", "selector: { app: nobody }, ports: [{ port: 80 }]"),
      [/^1\.yaml:\d+ spec\.selector selector-matches-nothing$/],
      ["odd"],
    ],
    [
      "two Services with one NodePort",
      NODE_PORT("a") + NODE_PORT("b"),
      [/^1\.yaml:\d+ spec\.ports\[0\]\.nodePort service-port-refused$/],
      ["a"],
    ],
    [
      "a slice that points at nobody",
      `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: good-own, labels: { kubernetes.io/service-name: good } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.244.0.77], nodeName: win-1, targetRef: { kind: Pod, name: ghost } }]
---`,
      [/^1\.yaml:\d+ endpoints\[0\]\.targetRef slice-target-unknown$/],
      [],
    ],
    [
      "a pod on a node that is not there",
      `\n${CLUSTER}---\n${POD.replace("name: web", "name: lost").replace("spec: {", "spec: { nodeName: wni-1,")}---`,
      [/^1\.yaml:\d+ node-without-machine$/],
      [],
    ],
    [
      "a Helm template",
      "\napiVersion: v1\nkind: Service\nmetadata: { name: {{ .Values.name }} }\n---",
      [/^1\.yaml:\d+ manifest-helm-template$/],
      [],
    ],
    [
      "a kind that has no effect",
      "\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: { name: c }\n---",
      [/^1\.yaml:\d+ kind manifest-kind-unused$/],
      [],
    ],
  ])("%s", async (_, bad, reported, services) => {
    const { session, begun, read: reading } = await openSessionWorld(`${GOOD}${bad}\n${POD}`);
    const heard = [...reading, ...begun.problems, ...begun.notes]
      .filter(({ code }) => code !== "cluster-assumed")
      .map(({ file, line, path, code }) => `${file}:${line}${path === "" ? "" : ` ${path}`} ${code}`);
    expect(heard).toHaveLength(reported.length);
    for (const [index, each] of reported.entries()) expect(heard[index]).toMatch(each);
    const { Service, Pod } = session.cluster.objects;
    const ofCluster = ["kube-dns", "kubernetes"];
    expect(Service.map(({ metadata }) => metadata.name).filter((name) => !ofCluster.includes(name))).toEqual(
      [...services, "good"].toSorted(),
    );
    expect(Pod.find(({ metadata }) => metadata.name === "web")?.status?.phase).toBe("Running");
  });
});

describe("a text that holds no object is called what it is", () => {
  const DESCRIBED =
    "Name:         web\nNamespace:    default\nLabels:       app=web\nStatus:       Pending\n";

  it.each([
    ["kubectl describe", `$ kubectl describe pod web\n${DESCRIBED}`, 2, "what kubectl describe prints"],
    ["a log", "I0418 08:11:02.1 11 main.go:1] up\nE0418 08:11:03.1 11 main.go:2] down\n", 1, "a log"],
    [
      "a list of policies",
      '[{"Type": "OutBoundNAT", "ExceptionList": ["10.0.0.0/8"]}]',
      1,
      "objects or policies of HNS",
    ],
    [
      "PowerShell's list",
      "ActivityId : 1\nID         : 2\nName       : nat\n",
      1,
      "objects or policies of HNS",
    ],
    ["PowerShell's table", "Name ID\n---- --\nnat  1\n", 1, "objects or policies of HNS"],
    [
      "an error of kubectl",
      'Error from server (NotFound): pods "web" not found\n',
      1,
      "what kubectl says when it has nothing to show",
    ],
    ["nothing found", "No resources found in shop namespace.\n", 1, "what kubectl says when"],
    [
      "no server",
      "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n",
      1,
      "what kubectl says when",
    ],
    [
      "a table",
      "NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          3d\n",
      1,
      "a table of kubectl get",
    ],
    ["a page", `# Deploy\n\nFirst: this\n\n\`\`\`yaml\n${POD}\`\`\`\n`, 1, "Markdown"],
    ["a chart that is packed", "\u001f\ufffd\b\u0000\u0000", 1, "an archive"],
    ["a zip", "PK\u0003\u0004\n\u0000", 1, "an archive"],
    [
      "a spec",
      "selector: { app: web }\nports: [{ port: 80 }]\n",
      1,
      "no object: apiVersion and kind are missing",
    ],
    [
      "annotations",
      "flannel.alpha.coreos.com/backend-type: vxlan\n",
      1,
      "no object: apiVersion and kind are missing",
    ],
    [
      "an operator's object",
      "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: { name: cluster }\nspec: {}\n",
      1,
      "no object of this file makes a cluster by itself: Network",
    ],
  ])("%s", (_, text, line, words) => {
    const result = readInput([{ name: "x.txt", text }]);
    const problems = "problems" in result ? result.problems : [];
    expect(problems.map(({ code, line: at }) => [code, at])).toEqual([["input-without-documents", line]]);
    expect(problems[0]?.message).toContain(words);
  });

  it("beside objects it is told, and they are read", () => {
    const { objects, reported } = read(["pod.yaml", POD], ["pod.txt", DESCRIBED]);
    expect(objects).toEqual(["Pod/web"]);
    expect(reported).toContain("pod.txt:1 input-without-documents");
  });

  it.each([
    ["shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "helm template shop"],
    ["shop/values.yaml", "replicas: 2\nimage: { tag: x }\n", "helm template shop"],
    ["shop/prod/kustomization.yaml", "resources: [../base]\n", "kubectl kustomize shop/prod"],
    [
      "kustomization.yaml",
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [base]\n",
      "kubectl kustomize .",
    ],
  ])("%s says what renders it", (name, text, command) => {
    const result = readInput([{ name, text }]);
    const problems = "problems" in result ? result.problems : [];
    expect(problems.map(({ code }) => code)).toEqual(["input-without-documents"]);
    expect(problems[0]?.advice).toContain(`${command} | mullion verify -f -`);
  });
});
