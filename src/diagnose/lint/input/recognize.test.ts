import { describe, expect, it } from "vitest";
import { recognize } from "./recognize.ts";
import { SourceText, decodeSource } from "#core/base/source-text.ts";
import type { LintPath } from "./fields.ts";

function read(file: string, text: string): ReturnType<typeof recognize> {
  return recognize(new SourceText(file, text));
}

/** What stands at the place of a field. */
function textAtPlace(file: string, text: string, document: number, path: LintPath): string {
  const found = read(file, text).documents[document];
  const [range] = found?.locate([{ path }]) ?? [];
  return text.slice(range?.start ?? 0, range?.end ?? 0);
}

const FLANNEL = `# flannel
apiVersion: v1
kind: ConfigMap
metadata:
  name: kube-flannel-cfg
data:
  cni-conf.json: |
    {
      "name": "cbr0",
      "cniVersion": "0.3.1",
      "plugins": [{ "type": "flannel", "delegate": { "hairpinMode": true } }]
    }
  net-conf.json: |
    {
      "Network": "10.244.0.0/16",
      "Backend": { "Type": "vxlan", "VNI": 4096 }
    }
`;

describe("recognition", () => {
  it.each([
    ["web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\n", "kubernetes"],
    ["10-cbr0.conf", '{"cniVersion":"0.2.0","name":"cbr0","type":"flannel"}', "cni"],
    ["10-cbr0.conflist", '\u00a0{\n\u00a0"name":"cbr0","plugins":[]}', "cni"],
    ["net-conf.json", '{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"}}', "flannel"],
    [
      "proxy.yaml",
      "kind: KubeProxyConfiguration\napiVersion: kubeproxy.config.k8s.io/v1alpha1\n",
      "kube-proxy",
    ],
    ["start.ps1", "c:\\k\\kube-proxy.exe --hostname-override=$(hostname) --v=4", "kube-proxy-flags"],
    ["network.json", '{"Type":"L2Bridge","Name":"cbr0","Subnets":[]}', "hns"],
    ["cluster.yaml", "apiVersion: mullion/v1alpha1\nkind: Cluster\n", "cluster"],
    ["subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\n", "subnet-env"],
  ])("%s: %j is %s", (file, text, kind) => {
    const { documents, passedBy } = read(file, text);
    expect(documents.map((document) => document.kind)).toEqual([kind]);
    expect(passedBy).toEqual([]);
  });

  // Siemens-Healthineers/K2s: addons/dicom/manifests/dicom/orthanc.json.
  it("takes no list of paths for plugins of CNI", () => {
    const text = '{ // of a server for images\n "Name": "K2s", "Plugins": ["/usr/share/a.so"] }';
    expect(read("orthanc.json", text).documents).toEqual([]);
  });

  it("finds what stands inside a ConfigMap, with its places in the file", () => {
    expect(read("f.yaml", FLANNEL).documents.map(({ kind }) => kind)).toEqual([
      "kubernetes",
      "cni",
      "flannel",
    ]);
    expect(textAtPlace("f.yaml", FLANNEL, 2, ["Backend", "VNI"])).toBe('"VNI"');
    expect(textAtPlace("f.yaml", FLANNEL, 1, ["plugins", 0, "delegate"])).toBe('"delegate"');
  });

  it("finds the flags of kube-proxy in a pod", () => {
    const text = `apiVersion: v1
kind: Pod
metadata: { name: kube-proxy }
spec:
  containers:
    - name: kube-proxy
      image: registry.example/kube-proxy
      command: [kube-proxy]
      args:
        - --hostname-override=$(NODE_NAME)
        - --enable-dsr=true
`;
    const found = read("p.yaml", text).documents[1];
    expect(found?.value).toEqual({
      flags: { "hostname-override": "$(NODE_NAME)", "enable-dsr": "true" },
    });
    expect(textAtPlace("p.yaml", text, 1, ["flags", "enable-dsr"])).toBe("--enable-dsr=true");
  });

  it.each(["yaml", "json"])("places the items of a %s list in the file", (format) => {
    const items = ["a", "b"].map((name) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { sessionAffinity: name },
    }));
    const list = { apiVersion: "v1", kind: "List", items };
    const yaml = `apiVersion: v1\nkind: List\nitems:\n${items.map((item) => `- ${JSON.stringify(item)}\n`).join("")}`;
    const text = format === "json" ? JSON.stringify(list, undefined, 2) : yaml;
    const documents = read(`l.${format}`, text).documents;
    const [range] = documents[1]?.locate([{ path: ["spec", "sessionAffinity"], part: "value" }]) ?? [];
    expect(documents).toHaveLength(2);
    expect(text.slice(range?.start, range?.end)).toBe('"b"');
  });

  it("tells apart objects of the same kind in other groups", () => {
    const { documents, passedBy } = read("s.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\n");
    expect(documents).toHaveLength(1);
    expect(passedBy).toEqual([]);
  });

  it("passes by what it cannot read, and says why", () => {
    const template = "apiVersion: v1\nkind: Pod\n{{- if .Values.x }}\nmetadata: {}\n{{- end }}\n";
    expect(read("t.yaml", template).passedBy[0]?.reason).toMatch(/template/);
    expect(read("n.txt", "hello").passedBy[0]?.reason).toMatch(/not a file that lint reads/);
  });

  it.each([
    // Each name, a text to be filled in: as values, unquoted, right at the beginning.
    [
      "Go's, as a value",
      '{ "name": "{{ .Name }}", "cniVersion": "0.3.1", "type": "calico", "mode": "vxlan" }',
    ],
    [
      "Go's, unquoted",
      '{ "name": "{{ .Name }}", "cniVersion": "0.3.1", "type": "calico", "vxlan_vni": {{ .Vni }} }',
    ],
    ["Calico's", '{ "name": "Calico", "cniVersion": "0.3.1", "type": "calico", "vxlan_vni": __VNI__ }'],
  ])("reads a CNI template: %s", (_, text) => {
    const { documents, passedBy } = read("cni.conf.template", text);
    expect(documents.map(({ kind }) => kind)).toEqual(["cni"]);
    expect(passedBy).toEqual([]);
  });

  it.each([
    [
      "containerd's template",
      "cni.template",
      '{ "plugins": [ {{range .Routes}}{"dst": "{{.}}"}{{end}} ] }',
      false,
    ],
    ["a chart's", "pod.yaml", "kind: Pod\napiVersion: v1\nspec: {{ .Values.spec }}\nx: {{ end }}\n", true],
  ])("names Helm only for what Helm renders: %s", (_, file, text, isOfHelm) => {
    const [passed] = read(file, text).passedBy;
    expect(passed?.reason).toContain("a template that is not rendered");
    expect(passed?.reason.includes("helm template")).toBe(isOfHelm);
  });

  it("reads the documents around a broken one", () => {
    const text =
      "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\n  kind: ConfigMap\n---\napiVersion: v1\nkind: Service\n";
    const { documents, faults } = read("b.yaml", text);
    expect(documents.map(({ value }) => value["kind"])).toEqual(["Pod", "Service"]);
    expect(faults.map(({ code }) => code)).toContain("manifest-invalid-yaml");
  });
});

describe("bytes", () => {
  it.each([
    ["UTF-16 with a mark", [0xff, 0xfe, 0x61, 0], "a"],
    ["UTF-16 without one", [0x61, 0, 0x62, 0], "ab"],
    ["UTF-8 with a mark", [0xef, 0xbb, 0xbf, 0x61], "a"],
  ])("%s", (_, bytes, text) => {
    expect(decodeSource("f", Uint8Array.from(bytes))?.text).toBe(text);
  });

  it("that are no text are not decoded", () => {
    expect(decodeSource("f", Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0]))).toBeUndefined();
  });
});
