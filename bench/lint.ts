/** What does it cost to check 10 000 objects? Against parsing the same YAML with the library alone. */
import { parseAllDocuments } from "yaml";
import { SourceText, lint } from "#diagnose/lint/mod.ts";
import { type Candidate, measure, printTable } from "./measure.ts";

const OBJECTS = 10_000;
const WINDOWS_EVERY = 10;

function deployment(index: number): string {
  const os = index % WINDOWS_EVERY === 0 ? "windows" : "linux";
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-${index}
  namespace: team-${index % 50}
  labels: { app: web-${index}, tier: front }
spec:
  replicas: 3
  selector:
    matchLabels: { app: web-${index} }
  template:
    metadata:
      labels: { app: web-${index} }
    spec:
      nodeSelector:
        kubernetes.io/os: ${os}
      containers:
        - name: web
          image: registry.example/web:${index}
          env:
            - name: API
              value: http://api-${index}.team-${index % 50}.svc.cluster.local:8080
          ports:
            - containerPort: 8080
          resources:
            limits: { cpu: 500m, memory: 256Mi }
`;
}

function service(index: number): string {
  return `apiVersion: v1
kind: Service
metadata:
  name: web-${index}
  namespace: team-${index % 50}
spec:
  type: ${index % 7 === 0 ? "LoadBalancer" : "ClusterIP"}
  selector: { app: web-${index} }
  ports:
    - name: http
      port: 80
      targetPort: 8080
`;
}

/** Half of them Deployments, half Services. One Windows Deployment in a hundred has a finding. */
function manifests(): string {
  const documents: string[] = [];
  for (let index = 0; index < OBJECTS / 2; index++) {
    const text = deployment(index);
    documents.push(
      index % 1_000 === 0
        ? text.replace("      nodeSelector", "      hostNetwork: true\n      nodeSelector")
        : text,
    );
    documents.push(service(index));
  }
  return documents.join("---\n");
}

export function run(): void {
  const text = manifests();
  const candidates: Candidate[] = [
    {
      name: "yaml alone, documents to values",
      operations: 1,
      run: () =>
        parseAllDocuments(text).reduce((sum, document) => sum + (document.toJS() === null ? 0 : 1), 0),
    },
    {
      name: "lint",
      operations: 1,
      run: () => {
        const { counts } = lint({ sources: [new SourceText("all.yaml", text)] });
        if (counts.documents !== OBJECTS || counts.error !== OBJECTS / 2 / 1_000)
          throw new Error(`lint did not do its work: ${JSON.stringify(counts)}`);
        return counts.documents;
      },
    },
  ];
  printTable(
    `${OBJECTS} objects, ${(text.length / 1e6).toFixed(1)} MB of YAML`,
    measure(candidates),
    "yaml alone, documents to values",
  );
}
