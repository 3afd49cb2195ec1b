/** The false alarms that users have met (users.md §1, §4), and Linux workloads: all are silent. */
import { describe, expect, it } from "vitest";
import { lintExample, oneFile } from "#test/support/lint/example-input.ts";

/** A pod with everything that Windows has not. */
const LINUX_POD = (selector: string): string => `apiVersion: v1
kind: Pod
metadata: { name: agent, labels: { app: agent } }
spec:
  ${selector}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  dnsConfig: { searches: [a.example, b.example], options: [{ name: ndots, value: "5" }] }
  securityContext: { sysctls: [{ name: net.core.somaxconn, value: "1024" }] }
  containers:
    - name: agent
      image: registry.example/agent:1
      command: [sh, -c, ping 8.8.8.8]
      env: [{ name: API, value: api.shop.svc }]
      ports: [{ containerPort: 80, hostPort: 80 }]
      securityContext: { capabilities: { add: [NET_ADMIN] } }
      volumeMounts: [{ name: names, mountPath: /etc/resolv.conf }]
  volumes: [{ name: names, configMap: { name: names } }]
`;

const SILENT: readonly (readonly [name: string, file: string, text: string])[] = [
  ["a Linux pod", "pod.yaml", LINUX_POD("nodeSelector: { kubernetes.io/os: linux }")],
  ["a pod that names no operating system", "pod.yaml", LINUX_POD("restartPolicy: Always")],
  [
    "a Linux pod by affinity",
    "pod.yaml",
    LINUX_POD(
      "affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: kubernetes.io/os, operator: NotIn, values: [windows] }] }] } } }",
    ),
  ],
  [
    // kube-proxy.md §1.1: HNS has to have DSR; whether kube-proxy is told to use it does not matter.
    "preserve-destination where HNS has DSR and kube-proxy is not told to use it",
    "cluster.yaml",
    `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: c }
nodes: [{ name: win-1, os: windows, build: ws2022, address: 10.0.0.11 }]
kubeProxy: { enableDSR: false }
pods: [{ name: web, node: win-1, labels: { app: web } }]
---
apiVersion: v1
kind: Service
metadata: { name: web, annotations: { preserve-destination: "true" } }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`,
  ],
  [
    "the External network without policies",
    "network.json",
    '{"Name":"External","Type":"Overlay","Policies":[],"Subnets":[{"AddressPrefix":"192.168.255.0/30","GatewayAddress":"192.168.255.1","Policies":[{"Type":"VSID","VSID":9999}]}]}',
  ],
  [
    "CurrentEndpointCount: 0 and switch extensions that are off on a nat network",
    "network.json",
    '{"Name":"nat","Type":"nat","CurrentEndpointCount":0,"Policies":[],"Subnets":[{"AddressPrefix":"172.28.0.0/20","GatewayAddress":"172.28.0.1"}],"Extensions":[{"Id":"e7c3b2f0-f3c5-48df-af2b-10fed6d72e7a","IsEnabled":false,"Name":"Microsoft Windows Filtering Platform"},{"Id":"f74f241b-440f-4433-bb28-00f89eaa20d8","IsEnabled":false,"Name":"Microsoft Azure VFP Switch Filter Extension"}]}',
  ],
  [
    "a file for the loopback network, without a name as on Linux",
    "99-loopback.conf",
    '{ "cniVersion": "0.3.1", "type": "loopback" }',
  ],
  [
    "an MTU of 1450",
    "subnet.env",
    "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
  ],
  [
    "the time of session affinity that Kubernetes writes by itself",
    "dump.yaml",
    "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec:\n  selector: { app: web }\n  sessionAffinity: ClientIP\n  sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } }\n  ports: [{ port: 80 }]\n",
  ],
  [
    "a Service of another group",
    "knative.yaml",
    "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: { name: web }\nspec: { sessionAffinity: 7 }\n",
  ],
  [
    "a patch without most fields",
    "patch.yaml",
    "apiVersion: apps/v1\nkind: Deployment\nspec: { replicas: 3 }\n",
  ],
  [
    "a custom resource definition",
    "crd.yaml",
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: { name: webs.example.com }\nspec: { group: example.com }\n",
  ],
  [
    "names that are patterns, versions or files",
    "pod.yaml",
    `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers:
    - name: web
      image: registry.example/web:1
      env:
        - { name: NO_PROXY, value: ".svc,.cluster.local,api.shop.svc" }
        - { name: VERSION, value: "v1.22.svc1" }
        - { name: FILE, value: 'C:\\app\\store.shop.svc' }
        - { name: URL, value: "https://api.shop.svc.cluster.local/v1" }
        - { name: OUTSIDE, value: "www.example.com" }
`,
  ],
  [
    "names that are short on purpose: nslookup alone",
    "pod.yaml",
    "apiVersion: v1\nkind: Pod\nmetadata: { name: t }\nspec:\n  nodeSelector: { kubernetes.io/os: windows }\n  containers: [{ name: t, image: registry.example/t:1, command: [nslookup, web] }]\n",
  ],
];

describe("what must not be reported", () => {
  it.each(SILENT)("%s", (_, name, text) => {
    for (const profile of [undefined, "ws2019", "ws2022", "ws2025"]) {
      const example = oneFile(name, text, profile === undefined ? {} : { profile });
      const isAffinity = text.includes("sessionAffinity: ClientIP") && profile === "ws2019";
      const { findings } = lintExample(example);
      expect(isAffinity ? [] : findings.map(({ code }) => code)).toEqual([]);
    }
  });

  it("no field's wrong type breaks a rule", () => {
    const values = ["7", "true", "null", '""', "[]", "{}", "[7]", "{ a: 1 }", "[{ name: [] }]"];
    const fields = [
      "hostNetwork",
      "dnsPolicy",
      "dnsConfig",
      "securityContext",
      "nodeSelector",
      "containers",
      "affinity",
      "tolerations",
      "os",
    ];
    for (const field of fields)
      for (const value of values) {
        const text = `apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec:\n  nodeName: win-1\n  ${field}: ${value}\n`;
        expect(() => lintExample(oneFile("pod.yaml", text, { isWindows: true }))).not.toThrow();
      }
    for (const kind of ["Service", "NetworkPolicy", "Node", "EndpointSlice", "ConfigMap"])
      for (const field of ["spec", "metadata", "status", "data", "ports"])
        for (const value of values) {
          const text = `apiVersion: v1\nkind: ${kind}\n${field}: ${value}\n`;
          expect(() =>
            lintExample(oneFile("x.yaml", text, { profile: "ws2019", isWindows: true })),
          ).not.toThrow();
        }
  });

  it("a dump's pods beside the workload that made them: the fault is told once", () => {
    const spec = "{ nodeSelector: { kubernetes.io/os: windows }, hostNetwork: true, containers: [] }";
    const owned = (kind: string, name: string, owner: string, body: string): string =>
      `---\napiVersion: ${kind === "Pod" ? "v1" : "apps/v1"}\nkind: ${kind}\nmetadata:\n  name: ${name}\n  namespace: shop\n  ownerReferences: [${owner}]\nspec: ${body}\n`;
    const text = [
      owned("Deployment", "web", "", `{ template: { spec: ${spec} } }`),
      owned("ReplicaSet", "web-1", "{ kind: Deployment, name: web }", `{ template: { spec: ${spec} } }`),
      owned("Pod", "web-1-a", "{ kind: ReplicaSet, name: web-1 }", spec),
      owned("Pod", "lonely", "{ kind: ReplicaSet, name: not-here }", spec),
    ].join("");
    const { findings } = lintExample(oneFile("dump.yaml", text));
    expect(findings.map(({ title, code }) => `${title} ${code}`)).toEqual([
      "Deployment shop/web host-network-unsupported",
      "Pod shop/lonely host-network-unsupported",
    ]);
  });
});
