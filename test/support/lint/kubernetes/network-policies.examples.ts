/** Examples of the rules of `network-policies.ts`. */
import { type ExampleInput, type ExampleTable, type RuleExamples, oneFile } from "../example-input.ts";

function policy(rules: string, os: "windows" | "linux", more = ""): ExampleInput {
  const lines = rules
    .split("\n")
    .map((line) => `  ${line}\n`)
    .join("");
  return oneFile(
    "policy.yaml",
    `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: web }
spec:
  podSelector: { matchLabels: { app: web } }
${lines}---
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec:
  nodeSelector: { kubernetes.io/os: ${os} }
  containers: [{ name: web, image: registry.example/web:1 }]
${more}`,
  );
}

function onlyOnWindows(rules: string): RuleExamples {
  return { bad: policy(rules, "windows"), good: policy(rules.replaceAll("«", ""), "linux") };
}

const WINDOWS_POD = `---
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: web, image: registry.example/web:1 }]
`;

const SERVICE = `---
apiVersion: v1
kind: Service
metadata: { name: api }
spec: { clusterIP: 10.96.0.20, ports: [{ port: 80 }] }
`;

export const NETWORK_POLICY_EXAMPLES: ExampleTable = {
  "network-policy-not-enforced": {
    bad: oneFile(
      "policy.yaml",
      `apiVersion: networking.k8s.io/v1
«kind: NetworkPolicy
metadata: { name: closed }
spec:
  podSelector: {}
${WINDOWS_POD}`,
    ),
    good: policy("ingress: []", "linux"),
  },
  "policy-kind-not-enforced": {
    bad: oneFile(
      "policy.yaml",
      `apiVersion: policy.networking.k8s.io/v1alpha1
«kind: AdminNetworkPolicy
metadata: { name: no-metadata-server }
spec:
  priority: 10
  subject: { namespaces: { matchExpressions: [{ key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system] }] } }
  egress: [{ action: Deny, to: [{ networks: [169.254.169.254/32] }] }]
${WINDOWS_POD}`,
    ),
    good: oneFile(
      "policy.yaml",
      `apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata: { name: tills }
spec: { selector: app == 'till', types: [Ingress] }
${WINDOWS_POD}`,
    ),
  },
  "network-policy-named-port": onlyOnWindows("ingress:\n  - ports: [{ «port: http }]"),
  "network-policy-sctp": onlyOnWindows("ingress:\n  - ports: [{ port: 36412, «protocol: SCTP }]"),
  "network-policy-wide-port-range": onlyOnWindows(
    "ingress:\n  - ports: [{ port: 1024, «endPort: 65535, protocol: TCP }]",
  ),
  "network-policy-except": onlyOnWindows(
    "ingress:\n  - from:\n      - ipBlock: { cidr: 10.0.0.0/8, «except: [10.1.0.0/16] }",
  ),
  "network-policy-ipv6": onlyOnWindows("ingress:\n  - from:\n      - ipBlock: { «cidr: 2001:db8::/32 }"),
  "network-policy-service-address": {
    bad: policy("egress:\n  - to:\n      - ipBlock: { «cidr: 10.96.0.20/32 }", "windows", SERVICE),
    good: policy("egress:\n  - to:\n      - podSelector: { matchLabels: { app: api } }", "linux", SERVICE),
  },
};
