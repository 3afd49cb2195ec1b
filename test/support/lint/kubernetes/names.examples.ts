/** Examples of the rules of `names.ts`. */
import type { ExampleInput, ExampleTable } from "../example-input.ts";
import { podExample } from "./pods.examples.ts";

const WINDOWS = "nodeSelector: { kubernetes.io/os: windows }";

const API = {
  name: "api.yaml",
  text: "apiVersion: v1\nkind: Service\nmetadata: { name: api, namespace: shop }\nspec: { ports: [{ port: 80 }] }\n",
};

function withApi(example: ExampleInput): ExampleInput {
  return { ...example, files: [...example.files, API] };
}

/** The pod's own Service, and a kube-proxy with DSR. */
function withOwnService(example: ExampleInput): ExampleInput {
  const text =
    "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { selector: { app: web }, ports: [{ port: 80 }] }\n";
  const start = "kube-proxy.exe --hostname-override=win-1 --network-name=cbr0 --enable-dsr=true\n";
  return {
    files: [...example.files, { name: "service.yaml", text }, { name: "start.ps1", text: start }],
  };
}

function databases(serviceName: string): ExampleInput {
  const text = `apiVersion: v1
kind: Service
metadata: { name: db-headless }
spec: { clusterIP: None, selector: { app: db }, ports: [{ port: 1433 }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  ${serviceName}
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers:
        - name: db
          image: registry.example/db:1
          ports: [{ containerPort: 1433 }]
`;
  return { files: [{ name: "db.yaml", text }] };
}

export const NAME_EXAMPLES: ExampleTable = {
  "dns-name-with-dot-not-completed": {
    bad: withApi(
      podExample(
        WINDOWS,
        `env:
  - name: API
    value: «http://api.shop:8080/v1
  - name: STORE
    value: «store.shop.svc
args:
  - «--peer=api.shop`,
      ),
    ),
    good: withApi(
      podExample(
        WINDOWS,
        `env:
  - name: API
    value: http://api.shop.svc.cluster.local:8080/v1
  - name: NO_PROXY
    value: localhost,api.shop,.svc
args:
  - --peer=api`,
      ),
    ),
  },
  "icmp-outbound-not-translated": {
    bad: podExample(WINDOWS, `livenessProbe:\n  exec:\n    «command: [ping, -n, "1", 8.8.8.8]`),
    good: podExample(WINDOWS, `command: [cmd, /c, ping -t localhost > nul]`),
  },
  "icmp-to-service-not-balanced": {
    bad: withApi(
      podExample(
        WINDOWS,
        `readinessProbe:\n  exec:\n    «command: [powershell, -c, Test-Connection api.shop.svc.cluster.local]`,
      ),
    ),
    good: withApi(
      podExample(
        WINDOWS,
        `readinessProbe:\n  exec:\n    command: [powershell, -c, Test-NetConnection api.shop.svc.cluster.local -Port 80]`,
      ),
    ),
  },
  "pod-name-service-missing": {
    bad: databases("«serviceName: db"),
    good: databases("serviceName: db-headless"),
  },
  "hairpin-under-dsr": {
    bad: withOwnService(
      podExample(WINDOWS, "env:\n  - name: SELF\n    value: «http://web.default.svc.cluster.local:80/ready"),
    ),
    good: withOwnService(podExample(WINDOWS, "env:\n  - name: SELF\n    value: http://localhost:80/ready")),
  },
};
