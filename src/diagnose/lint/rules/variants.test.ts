// Forms of a fault that the examples of rules do not have, and what lint says of each, whole.
import { describe, expect, it } from "vitest";
import { lintExample } from "#test/support/lint/example-input.ts";
import { lint } from "../lint.ts";
import { SourceText } from "#core/base/source-text.ts";

type File = readonly [name: string, text: string];

function report(...files: readonly File[]) {
  return lint({ sources: files.map(([name, text]) => new SourceText(name, text)) });
}

/** `severity code line:column message`. */
function said(...files: readonly File[]): readonly string[] {
  return report(...files).findings.map(
    ({ severity, code, line, column, message }) => `${severity} ${code} ${line}:${column} ${message}`,
  );
}

function configuration(mode: string, name = "kube-proxy"): string {
  return `apiVersion: v1
kind: ConfigMap
metadata: { name: ${name}, namespace: kube-system }
data:
  config.conf: |
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    mode: ${mode}
`;
}

function proxyPod(container: string, image: string): string {
  return `apiVersion: v1
kind: Pod
metadata: { name: p }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers:
    - { name: ${container}, image: "${image}", args: [kube-proxy.exe, --hostname-override=a, --proxy-mode=iptables] }
`;
}

function networksOf(...names: readonly string[]): readonly File[] {
  return names.map((name) => [
    `${name}.conf`,
    JSON.stringify({
      cniVersion: "1.0.0",
      name,
      type: "win-bridge",
      apiVersion: 2,
      capabilities: { dns: true, portMappings: true },
      ipam: { type: "host-local", subnet: "10.244.3.0/24", rangeStart: "10.244.3.3" },
    }),
  ]);
}

const VARIANTS: readonly (readonly [title: string, files: readonly File[], expected: readonly RegExp[]])[] = [
  [
    "a configuration of kernelspace without a network",
    [["kube-proxy.yaml", configuration("kernelspace")]],
    [/^\w+ kube-proxy-without-network-name /],
  ],
  ["one of userspace, which needs none", [["kube-proxy.yaml", configuration("userspace")]], []],
  [
    "a mode of Linux in the object of kube-proxy for Windows",
    [["kube-proxy.yaml", configuration("iptables", "kube-proxy-windows")]],
    [/^warning kube-proxy-mode-\S+ \S+ kube-proxy on Windows refuses the mode iptables$/],
  ],
  ["the same in the object of all nodes", [["kube-proxy.yaml", configuration("iptables")]], []],
  [
    "a call that says no mode",
    [["start.ps1", "C:\\k\\kube-proxy.exe --v=4 --hostname-override=a\n"]],
    [/^\w+ kube-proxy-without-network-name /],
  ],
  [
    "a network in quotes within a text of PowerShell",
    [
      ...networksOf("a1"),
      ["start.ps1", '$call = "kube-proxy.exe --v=4 --hostname-override=a --network-name=`"cbr0`""\n'],
    ],
    [/kube-proxy-network-name-mismatch .*cbr0(?!`)/],
  ],
  ["some flags that a text speaks of", [["notes.ps1", "kube-proxy.exe --enable-dsr=true\n"]], []],
  [
    "a container that is kube-proxy by its name alone",
    [["p.yaml", proxyPod("kube-proxy", "registry.example/x:1")]],
    [/^error kube-proxy-mode-not-for-windows /, /^warning kube-proxy-without-network-name /],
  ],
  ["a container that is another program", [["p.yaml", proxyPod("web", "registry.example/x:1")]], []],
  [
    "a network that none of four has",
    [
      ...networksOf("a1", "b2", "c3", "d4"),
      ["start.ps1", "kube-proxy.exe --v=4 --hostname-override=a --network-name=cbr0\n"],
    ],
    [/kube-proxy-network-name-mismatch .*"?a1"?, "?b2"?, "?c3"?(?!.*d4)/],
  ],
];

describe("what lint says of", () => {
  it.each(VARIANTS)("%s", (_title, files, expected) => {
    const own = said(...files).filter((line) => / kube-proxy-/.test(line));
    expect(own).toEqual(expected.map((pattern) => expect.stringMatching(pattern) as string));
  });

  it("suffixes that a pod has beside its own: two are named", () => {
    const pod = (policy: string): File => [
      "p.yaml",
      `apiVersion: v1
kind: Pod
metadata: { name: p }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  ${policy}dnsConfig: { nameservers: [10.96.0.10], searches: [a.example, b.example, c.example] }
  containers: [{ name: c, image: registry.example/c:1 }]
`,
    ];
    expect(said(pod(""))).toEqual([
      "info dns-single-suffix-only 6:43 Windows completes names with one suffix, so a.example, b.example may never be used",
    ]);
    // The list is all there is, and its first entry is used.
    expect(said(pod("dnsPolicy: None\n  "))).toEqual([
      "info dns-single-suffix-only 7:43 Windows completes names with one suffix, so b.example, c.example may never be used",
    ]);
  });

  it.each([
    ['"Protocols": "6,1"', true],
    ['"Protocols": "6, 17"', false],
    ['"Protocol": 6', false],
    ['"Protocol": 1', true],
    ['"Action": "Allow"', true],
  ])("ports of an ACL with %s", (fields, isFound) => {
    const text = `{ "Type": "ACL", "Settings": { ${fields}, "Action": "Allow", "Direction": "In", "LocalPorts": "80" } }`;
    const found = said(["policies.json", `[${text.replace('"Action": "Allow", "Action"', '"Action"')}]`]);
    expect(found.some((line) => line.includes("hns-acl-invalid"))).toBe(isFound);
  });

  it.each([
    ["10-a.conf", "error"],
    ["notes.json", undefined],
  ])("a configuration of Linux without a name, in %s", (file, severity) => {
    const text = JSON.stringify({ cniVersion: "1.0.0", type: "bridge", ipam: { type: "host-local" } });
    const found = report([file, text]).findings.filter(({ code }) => code === "cni-name-invalid");
    expect(found.map((each) => each.severity)).toEqual(severity === undefined ? [] : ["info"]);
  });

  it("annotations of a Node that were copied alone", () => {
    const text =
      'flannel.alpha.coreos.com/backend-type: vxlan\nflannel.alpha.coreos.com/public-ip: 169.254.1.1\nflannel.alpha.coreos.com/backend-data: {"VNI":1,"VtepMAC":"ba:c1:6f:91:17:c7"}\n';
    expect(report(["node.yaml", text]).counts.documents).toBe(1);
  });

  it("a cluster whose Linux nodes are newer: the version is that of nodes with Windows", () => {
    const node = (os: string, version: string): string =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: os, labels: { "kubernetes.io/os": os } },
        status: { nodeInfo: { operatingSystem: os, kubeletVersion: version } },
      });
    const nodes = [node("linux", "v1.33.1"), node("windows", "v1.31.4")];
    for (const all of [nodes, nodes.toReversed()])
      expect(report(["nodes.yaml", all.join("\n---\n")]).assumptions.kubernetes).toMatch(/^1\.31/);
  });

  // A slice without endpoints leads nowhere, whatever its port.
  it.each([
    ["[{ addresses: [10.9.0.5] }]", 1],
    ["[]", 0],
  ])("two slices of a Service with two ports, of which one has the endpoints %s", (endpoints, count) => {
    const slice = (name: string, port: number, all: string): string => `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: database-${name}, labels: { kubernetes.io/service-name: database } }
addressType: IPv4
ports: [{ port: ${port} }]
endpoints: ${all}
`;
    const text = `apiVersion: v1
kind: Service
metadata: { name: database }
spec: { ports: [{ port: 5432, targetPort: 5432 }] }
${slice("a", 5432, "[{ addresses: [10.9.0.4] }]")}${slice("b", 15432, endpoints)}`;
    const files = [{ name: "s.yaml", text }];
    const { findings } = lintExample({ files, profile: "ws2022", kubernetes: "1.33" });
    const messages = findings.map(({ message }) => message).filter((each) => each.includes("database-a"));
    expect(messages).toHaveLength(count);
  });

  it("a text that is no object and no YAML: it is passed by", () => {
    const { findings, passedBy } = report(["notes.yaml", "a: [1\nb: }\n"]) as unknown as {
      findings: readonly unknown[];
      passedBy: readonly { reason: string }[];
    };
    expect(findings).toEqual([]);
    expect(passedBy.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^not a Kubernetes object, and not valid: /) as string,
    ]);
  });
});
