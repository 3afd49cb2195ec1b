/** Examples of the rules of `services.ts`. */
import { type ExampleInput, type ExampleTable, oneFile } from "../example-input.ts";

function indent(text: string, width: number): string {
  return text
    .split("\n")
    .map((line) => `${" ".repeat(width)}${line}\n`)
    .join("");
}

interface ServiceLines {
  readonly spec: string;
  readonly annotations?: string;
  readonly replicas?: number;
  readonly os?: "windows" | "linux";
  readonly more?: string;
}

/** A Service and the Deployment behind it, which runs on Windows unless it is said otherwise. */
function service(
  { spec, annotations, replicas = 2, os = "windows", more = "" }: ServiceLines,
  options: Pick<ExampleInput, "profile" | "kubernetes"> = {},
): ExampleInput {
  const notes = annotations === undefined ? "" : `  annotations:\n${indent(annotations, 4)}`;
  return oneFile(
    "web.yaml",
    `apiVersion: v1
kind: Service
metadata:
  name: web
${notes}spec:
${indent(spec, 2)}  ports: [{ port: 80 }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeSelector: { kubernetes.io/os: ${os} }
      containers: [{ name: web, image: registry.example/web:1 }]
${more}`,
    options,
  );
}

/** A Service with one port, and the Deployment behind it. */
function withPorts(servicePort: string, containerPort: string): ExampleInput {
  return oneFile(
    "web.yaml",
    `apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  selector: { app: web }
  ports:
    - port: 80
      ${servicePort}
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers:
        - name: web
          image: registry.example/web:1
          ports: [${containerPort}]
`,
  );
}

/** Pods that have one port at one number, and another one at two. */
function twoNumbers(servicePort: string): ExampleInput {
  const pod = (name: string, os: string, number: number): string => `---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: web } }
spec:
  nodeSelector: { kubernetes.io/os: ${os} }
  containers:
    - name: web
      image: registry.example/web:1
      ports: [{ name: http, containerPort: ${number} }, { name: metrics, containerPort: 9100 }]
`;
  return oneFile(
    "web.yaml",
    `apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  selector: { app: web }
  ports:
    - port: 80
      ${servicePort}
${pod("iis", "windows", 80)}${pod("nginx", "linux", 8080)}`,
  );
}

function diameter(os: string, protocol: string): string {
  return `apiVersion: v1
kind: Service
metadata: { name: diameter }
spec:
  selector: { app: diameter }
  ports: [{ port: 3868, ${protocol} }]
---
apiVersion: v1
kind: Pod
metadata: { name: diameter, labels: { app: diameter } }
spec:
  nodeSelector: { kubernetes.io/os: ${os} }
  containers: [{ name: diameter, image: registry.example/diameter:1 }]
`;
}

const SELECTOR = "selector: { app: web }";
const OVERLAY = {
  name: "10-vxlan0.conf",
  text: '{"cniVersion":"0.3.0","name":"vxlan0","type":"win-overlay","apiVersion":2,"capabilities":{"dns":true}}',
};

function manyServices(count: number, mark: string): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `---\napiVersion: v1\nkind: Service\nmetadata:\n  ${index === 225 ? mark : ""}name: web-${index}\nspec: { ports: [{ port: 80 }] }\n`,
  ).join("");
}

const PROXY_WITHOUT_DSR = {
  name: "start.ps1",
  text: "C:\\k\\kube-proxy.exe --v=4 --hostname-override=win-1 --network-name=cbr0 --enable-dsr=false\n",
};

function slice(target: number, mark: string): ExampleInput {
  return oneFile(
    "database.yaml",
    `apiVersion: v1
kind: Service
metadata: { name: database }
spec:
  ports: [{ port: 5432, targetPort: ${target} }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: database-1
  labels: { kubernetes.io/service-name: database }
addressType: IPv4
ports: [{ ${mark}port: 15432 }]
endpoints: [{ addresses: [10.9.0.4] }]
`,
    { profile: "ws2022", kubernetes: "1.33" },
  );
}

/** The same with a cluster file, whose pods the Service may select. */
function inCluster(
  spec: string,
  { build = "ws2022", more = "", mark = "" }: { build?: string; more?: string; mark?: string } = {},
): ExampleInput {
  return {
    files: [
      {
        name: "cluster.yaml",
        text: `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11 }
  - { name: win-2, os: windows, build: ${build}, address: 10.0.0.12 }
pods:
  - { name: web, node: win-1, labels: { app: web } }
${more}`,
      },
      {
        name: "web.yaml",
        text: `apiVersion: v1
kind: Service
metadata: { ${mark}name: web }
spec:
${indent(spec, 2)}  ports: [{ port: 80 }]
`,
      },
    ],
  };
}

const SECOND_POD = "  - { name: web-2, node: win-2, labels: { app: web } }\n";

const LOCAL = `type: LoadBalancer\n${SELECTOR}\n`;

export const SERVICE_EXAMPLES: ExampleTable = {
  "service-sctp-unsupported": {
    bad: oneFile("web.yaml", diameter("windows", "«protocol: SCTP")),
    good: oneFile("web.yaml", diameter("linux", "protocol: SCTP")),
  },
  "service-without-back-ends": {
    bad: inCluster("«selector: { app: shop }"),
    good: inCluster("selector: { app: web }"),
  },
  "service-target-port-undeclared": {
    bad: withPorts("«targetPort: web", "{ name: http, containerPort: 8080 }"),
    good: withPorts("targetPort: http", "{ name: http, containerPort: 8080 }"),
  },
  "service-target-ports-differ": {
    bad: twoNumbers("«targetPort: http"),
    good: twoNumbers("targetPort: metrics"),
  },
  "load-balancer-without-address": {
    bad: inCluster("«type: LoadBalancer\nselector: { app: web }"),
    good: inCluster("type: LoadBalancer\nselector: { app: web }", {
      more: "loadBalancers: { pool: 198.51.100.0/24 }\n",
    }),
  },
  "external-traffic-policy-local-without-local-endpoint": {
    bad: inCluster("type: NodePort\n«externalTrafficPolicy: Local\nselector: { app: web }"),
    good: inCluster("type: NodePort\nexternalTrafficPolicy: Local\nselector: { app: web }", {
      more: SECOND_POD,
    }),
  },
  "service-vip-from-node-unsupported": {
    bad: inCluster("selector: { app: web }", { build: "ws2019", mark: "«" }),
    good: inCluster("selector: { app: web }"),
  },
  "session-affinity-timeout-ignored": {
    bad: service({
      spec: `${SELECTOR}\nsessionAffinity: ClientIP\nsessionAffinityConfig:\n  clientIP:\n    «timeoutSeconds: 600`,
    }),
    good: service({
      spec: `${SELECTOR}\nsessionAffinity: ClientIP\nsessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } }`,
    }),
  },
  "session-affinity-unsupported": {
    bad: service({ spec: `${SELECTOR}\n«sessionAffinity: ClientIP` }, { profile: "ws2019" }),
    good: service({ spec: `${SELECTOR}\nsessionAffinity: ClientIP` }, { profile: "ws2022" }),
  },
  "external-traffic-policy-local-without-dsr": {
    bad: service({ spec: `${LOCAL}«externalTrafficPolicy: Local` }, { profile: "ws2019.1217" }),
    good: service({ spec: `${LOCAL}externalTrafficPolicy: Local` }, { profile: "ws2019.1432" }),
  },
  "internal-traffic-policy-ignored": {
    bad: service({ spec: `${SELECTOR}\n«internalTrafficPolicy: Local` }, { kubernetes: "1.25" }),
    good: service({ spec: `${SELECTOR}\ninternalTrafficPolicy: Local` }, { kubernetes: "1.27" }),
  },
  "terminating-endpoints-not-used": {
    bad: service({ spec: `${LOCAL}«externalTrafficPolicy: Local` }, { kubernetes: "1.26" }),
    good: service({ spec: `${LOCAL}externalTrafficPolicy: Local` }, { kubernetes: "1.27" }),
  },
  "traffic-distribution-ignored": {
    bad: service({ spec: `${SELECTOR}\n«trafficDistribution: PreferClose` }),
    good: service({ spec: `${SELECTOR}\ntrafficDistribution: PreferClose`, os: "linux" }),
  },
  "load-balancer-source-ranges-ignored": {
    bad: service({ spec: `${LOCAL}«loadBalancerSourceRanges: [192.0.2.0/24]` }),
    good: service({ spec: `${LOCAL}loadBalancerSourceRanges: [192.0.2.0/24]`, os: "linux" }),
  },
  "preserve-destination-not-active": {
    bad: service({ spec: SELECTOR, annotations: '«preserve-destination: "True"' }),
    good: service({ spec: SELECTOR, annotations: 'preserve-destination: "true"' }),
  },
  "win-proxy-optimization-not-active": {
    bad: service({ spec: SELECTOR, annotations: '«winProxyOptimization: "false"' }),
    good: service({ spec: SELECTOR, annotations: 'winProxyOptimization: "Disabled"' }),
  },
  "too-many-back-ends": {
    bad: service({ spec: "«selector: { app: web }", replicas: 100 }, { profile: "ws2019.1432" }),
    good: service({ spec: SELECTOR, replicas: 100 }, { profile: "ws2022" }),
  },
  "node-port-equals-port": {
    bad: oneFile(
      "web.yaml",
      `apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  type: NodePort
  ports: [{ port: 30080, «nodePort: 30080 }]
`,
      { profile: "ws2019", kubernetes: "1.14" },
    ),
    good: oneFile(
      "web.yaml",
      `apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  type: NodePort
  ports: [{ port: 30080, nodePort: 30080 }]
`,
      { profile: "ws2019", kubernetes: "1.20" },
    ),
  },
  "service-ipv6-unsupported": {
    bad: service({ spec: `${SELECTOR}\n«ipFamilies: [IPv6]` }, { profile: "ws2019" }),
    good: service({ spec: `${SELECTOR}\nipFamilies: [IPv6]` }, { profile: "ws2022" }),
  },
  "dual-stack-node-port-missing": {
    bad: service(
      { spec: `type: NodePort\n${SELECTOR}\nipFamilyPolicy: RequireDualStack\n«ipFamilies: [IPv4, IPv6]` },
      { kubernetes: "1.32" },
    ),
    good: service(
      { spec: `type: NodePort\n${SELECTOR}\nipFamilyPolicy: RequireDualStack\nipFamilies: [IPv4, IPv6]` },
      { kubernetes: "1.36" },
    ),
  },
  "load-balancer-ip-mode-ignored": {
    bad: oneFile(
      "web.yaml",
      `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { type: LoadBalancer, ports: [{ port: 80 }] }
status: { loadBalancer: { ingress: [{ ip: 192.0.2.7, «ipMode: Proxy }] } }
`,
      { profile: "ws2022", kubernetes: "1.31" },
    ),
    good: oneFile(
      "web.yaml",
      `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { type: LoadBalancer, ports: [{ port: 80 }] }
status: { loadBalancer: { ingress: [{ ip: 192.0.2.7, ipMode: VIP }] } }
`,
      { profile: "ws2022", kubernetes: "1.31" },
    ),
  },
  "node-port-on-overlay-server-2022": {
    bad: { files: [...service({ spec: `«type: NodePort\n${SELECTOR}` }).files, OVERLAY], profile: "ws2022" },
    good: service({ spec: `type: NodePort\n${SELECTOR}` }, { profile: "ws2022" }),
  },
  "load-balancer-ports-exhausted": {
    bad: { files: [{ name: "services.yaml", text: manyServices(230, "«") }, PROXY_WITHOUT_DSR] },
    good: { files: [{ name: "services.yaml", text: manyServices(230, "") }] },
  },
  "slice-port-not-used": { bad: slice(5432, "«"), good: slice(15_432, "") },
};
