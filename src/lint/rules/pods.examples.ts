/** Examples of the rules of `pods.ts`. */
import { type ExampleTable, oneFile } from "../rule.ts";

export const POD_EXAMPLES: ExampleTable = {
  "host-network-unsupported": {
    bad: oneFile(
      "agent.yaml",
      `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      «hostNetwork: true
      nodeSelector: { kubernetes.io/os: windows }
      containers:
        - name: agent
          image: registry.example/agent:1
`,
    ),
    good: oneFile(
      "agent.yaml",
      `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      hostNetwork: true
      securityContext:
        windowsOptions: { hostProcess: true, runAsUserName: NT AUTHORITY\\SYSTEM }
      nodeSelector: { kubernetes.io/os: windows }
      containers:
        - name: agent
          image: registry.example/agent:1
`,
    ),
  },
  "dns-host-network-policy-unsupported": {
    bad: oneFile(
      "pod.yaml",
      `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  os: { name: windows }
  «dnsPolicy: ClusterFirstWithHostNet
  containers:
    - name: web
      image: registry.example/web:1
`,
    ),
    good: oneFile(
      "pod.yaml",
      `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  os: { name: linux }
  dnsPolicy: ClusterFirstWithHostNet
  containers:
    - name: web
      image: registry.example/web:1
`,
    ),
  },
};
