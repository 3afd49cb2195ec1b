/** Examples of the rules of `pods.ts`. */
import { type ExampleInput, type ExampleTable, type RuleExamples, oneFile } from "../example-input.ts";

function indent(text: string, width: number): string {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `${" ".repeat(width)}${line}\n`)
    .join("");
}

/** A pod with these lines in its spec, and these in its container. */
export function podExample(spec: string, container = "", image = "registry.example/web:1"): ExampleInput {
  return oneFile(
    "pod.yaml",
    `apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec:
${indent(spec, 2)}  containers:
    - name: web
      image: ${image}
${indent(container, 6)}`,
  );
}

const WINDOWS = "nodeSelector: { kubernetes.io/os: windows }";
const LINUX = "nodeSelector: { kubernetes.io/os: linux }";

/** The same lines in a pod for Windows, with marks, and in one for Linux, without. */
function onlyOnWindows(spec: string, container = ""): RuleExamples {
  return {
    bad: podExample(`${WINDOWS}\n${spec}`, container),
    good: podExample(`${LINUX}\n${spec.replaceAll("«", "")}`, container.replaceAll("«", "")),
  };
}

/** A pod for Windows with an annotation. */
function meshed(annotation: string, mark = ""): ExampleInput {
  return oneFile(
    "pod.yaml",
    `apiVersion: v1
kind: Pod
${mark}metadata:
  name: web
  annotations: { ${annotation} }
spec:
  ${WINDOWS}
  containers: [{ name: web, image: registry.example/web:1 }]
`,
  );
}

/** An agent of the node in a namespace that enforces a level. */
function secured(level: string, mark = ""): ExampleInput {
  return oneFile(
    "agent.yaml",
    `apiVersion: v1
kind: Namespace
metadata: { name: agents, labels: { pod-security.kubernetes.io/enforce: ${level} } }
---
apiVersion: v1
kind: Pod
metadata: { name: agent, namespace: agents }
${mark}spec:
  ${WINDOWS}
  hostNetwork: true
  securityContext: { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } }
  containers: [{ name: agent, image: registry.example/agent:1 }]
`,
  );
}

/** A pod in a namespace whose quota counts memory. */
function withQuota(resources: string, mark = ""): ExampleInput {
  return oneFile(
    "web.yaml",
    `apiVersion: v1
kind: ResourceQuota
metadata: { name: memory, namespace: shop }
spec: { hard: { requests.memory: 1Gi } }
---
apiVersion: v1
kind: Pod
metadata: { name: web, namespace: shop }
${mark}spec:
  ${WINDOWS}
  containers: [{ name: web, image: registry.example/web:1${resources} }]
`,
  );
}

const DAEMON_SET = (spec: string): ExampleInput =>
  oneFile(
    "agent.yaml",
    `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
${indent(spec, 6)}      nodeSelector: { kubernetes.io/os: windows }
      containers:
        - name: agent
          image: registry.example/agent:1
`,
  );

/** A pod of a pool, in a cluster that has one Windows node of that pool. */
function ofPool(selector: string): ExampleInput {
  const text = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, labels: { agentpool: orders } }
`;
  return { files: [{ name: "cluster.yaml", text }, ...podExample(selector).files] };
}

const HOST_PROCESS = "securityContext:\n  windowsOptions: { hostProcess: true }";

function imagePod(image: string): string {
  return `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  ${WINDOWS}
  containers:
    - name: web
      ${image}
`;
}

/** The port of the second container as written. */
function twoContainers(port: string): string {
  return `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  ${WINDOWS}
  containers:
    - name: web
      image: registry.example/web:1
      ports: [{ containerPort: 80 }]
    - name: proxy
      image: registry.example/proxy:1
      ports: [{ ${port} }]
`;
}

export const POD_EXAMPLES: ExampleTable = {
  "pod-unschedulable": {
    bad: ofPool("«nodeSelector: { agentpool: order }"),
    good: ofPool("nodeSelector: { agentpool: orders }"),
  },
  "host-network-unsupported": {
    bad: DAEMON_SET("«hostNetwork: true"),
    good: DAEMON_SET(`hostNetwork: true\n${HOST_PROCESS}`),
  },
  "dns-host-network-policy-unsupported": onlyOnWindows("«dnsPolicy: ClusterFirstWithHostNet"),
  "host-process-without-host-network": {
    bad: DAEMON_SET(`«hostNetwork: false\n${HOST_PROCESS}`),
    good: DAEMON_SET(`hostNetwork: true\n${HOST_PROCESS}`),
  },
  "host-process-mixed-with-others": {
    bad: podExample(
      `${WINDOWS}
hostNetwork: true
${HOST_PROCESS}
initContainers:
  - «name: prepare
    image: registry.example/prepare:1
    securityContext: { windowsOptions: { hostProcess: false } }`,
    ),
    good: podExample(
      `${WINDOWS}
hostNetwork: true
${HOST_PROCESS}
initContainers:
  - name: prepare
    image: registry.example/prepare:1`,
    ),
  },
  "host-port-ignored": {
    bad: {
      files: [
        ...podExample(WINDOWS, "ports: [{ containerPort: 80, «hostPort: 8080 }]").files,
        {
          name: "10-cbr0.conf",
          text: '{"cniVersion": "0.3.0", "name": "vxlan0", "type": "win-overlay", "apiVersion": 2, "capabilities": {"dns": true}}',
        },
      ],
    },
    good: podExample(WINDOWS, "ports: [{ containerPort: 80 }]"),
  },
  "host-port-conflict": {
    bad: podExample(
      WINDOWS,
      "ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81, «hostPort: 8080 }]",
    ),
    good: podExample(WINDOWS, "ports: [{ containerPort: 80 }, { containerPort: 81 }]"),
  },
  "resolv-conf-mapped": onlyOnWindows(
    "volumes: [{ name: names, configMap: { name: names } }]",
    "volumeMounts:\n  - name: names\n    «mountPath: /etc/resolv.conf\n    subPath: resolv.conf",
  ),
  "dns-options-ignored": onlyOnWindows('dnsConfig:\n  «options: [{ name: ndots, value: "2" }]'),
  "dns-single-suffix-only": onlyOnWindows("dnsConfig:\n  «searches: [corp.example]"),
  "volume-not-for-windows": onlyOnWindows(
    "volumes:\n  - name: data\n    «nfs: { server: files.example, path: / }",
  ),
  "network-sysctl-on-windows": onlyOnWindows(
    'securityContext:\n  sysctls:\n    - «name: net.ipv4.tcp_keepalive_time\n      value: "120"',
  ),
  "network-capability-on-windows": onlyOnWindows(
    "",
    "securityContext:\n  capabilities:\n    add: [«NET_ADMIN]",
  ),
  "windows-pod-without-node-selector": {
    bad: oneFile(
      "pod.yaml",
      `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  containers:
    - name: web
      «image: mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022
`,
    ),
    good: podExample(WINDOWS, "", "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"),
  },
  "windows-image-on-linux-node": {
    bad: oneFile(
      "pod.yaml",
      `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  nodeSelector: { kubernetes.io/os: linux }
  containers:
    - name: web
      «image: mcr.microsoft.com/windows/nanoserver:ltsc2022
`,
    ),
    good: podExample(LINUX, "", "mcr.microsoft.com/dotnet/aspnet:8.0"),
  },
  "linux-image-on-windows-node": {
    bad: oneFile("pod.yaml", imagePod("«image: nginx:1.27")),
    // A list of manifests with Windows among its platforms.
    good: oneFile("pod.yaml", imagePod("image: traefik:v3.1")),
  },
  "image-name-invalid": {
    bad: oneFile("pod.yaml", imagePod("«image: registry.example/Shop/Web:1")),
    good: oneFile(
      "pod.yaml",
      imagePod("image: registry.example:5000/shop/web_1:1.0@sha256:" + "0a".repeat(32)),
    ),
  },
  "image-of-another-build": {
    bad: oneFile("pod.yaml", imagePod("«image: mcr.microsoft.com/windows/nanoserver:1809"), {
      profile: "ws2022",
    }),
    // Server 2025 runs what is made for Server 2022.
    good: oneFile("pod.yaml", imagePod("image: mcr.microsoft.com/windows/nanoserver:ltsc2022"), {
      profile: "ws2025",
    }),
  },
  "container-ports-conflict": {
    bad: oneFile("pod.yaml", twoContainers("«containerPort: 80")),
    good: oneFile("pod.yaml", twoContainers("containerPort: 80, protocol: UDP")),
  },
  "probe-port-undeclared": {
    bad: podExample(
      WINDOWS,
      "ports: [{ name: http, containerPort: 8080 }]\nreadinessProbe:\n  httpGet: { path: /healthz, «port: web }",
    ),
    good: podExample(
      WINDOWS,
      "ports: [{ name: http, containerPort: 8080 }]\nreadinessProbe:\n  httpGet: { path: /healthz, port: http }",
    ),
  },
  "mesh-sidecar-left-out": {
    bad: meshed("linkerd.io/inject: enabled", "«"),
    good: meshed("consul.hashicorp.com/connect-inject: 'true'"),
  },
  "pod-security-violated": {
    bad: secured("baseline", "«"),
    good: secured("privileged"),
  },
  "namespace-limit-exceeded": {
    bad: withQuota("", "«"),
    good: withQuota(", resources: { requests: { memory: 128Mi } }"),
  },
  "pod-os-mismatch": {
    bad: podExample("os: { name: windows }\nnodeSelector:\n  «kubernetes.io/os: linux"),
    good: podExample("os: { name: windows }\nnodeSelector:\n  kubernetes.io/os: windows"),
  },
};
