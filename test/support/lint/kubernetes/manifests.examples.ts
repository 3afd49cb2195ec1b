/** Examples of the rules of `manifests.ts`. */
import { type ExampleTable, oneFile } from "../example-input.ts";

const CLUSTER = (address: string): string => `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: two }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11 }
  - { name: win-2, os: windows, build: ws2022, address: ${address} }
`;

const SERVICE = (port: string): string => `apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  selector: { app: web }
  ports: [{ ${port} }]
`;

export const MANIFEST_EXAMPLES: ExampleTable = {
  "manifest-invalid-value": {
    bad: oneFile("web.yaml", SERVICE("«port: 70000")),
    good: oneFile("web.yaml", SERVICE("port: 7000")),
  },
  "manifest-missing-field": {
    bad: oneFile("web.yaml", SERVICE("name: http").replace("[{", "[«{")),
    good: oneFile("web.yaml", SERVICE("name: http, port: 80")),
  },
  "manifest-unknown-field": {
    bad: oneFile("web.yaml", SERVICE("port: 80, «targetport: 8080")),
    good: oneFile("web.yaml", SERVICE("port: 80, targetPort: 8080")),
  },
  "manifest-version-unknown": {
    bad: oneFile(
      "web.yaml",
      SERVICE("port: 80").replace("apiVersion: v1", "«apiVersion: networking.k8s.io/v1"),
    ),
    good: oneFile("web.yaml", SERVICE("port: 80")),
  },
  "manifest-duplicate-object": {
    bad: oneFile(
      "web.yaml",
      `${SERVICE("port: 80")}---\n${SERVICE("port: 443").replace("name: web", "«name: web")}`,
    ),
    good: oneFile(
      "web.yaml",
      `${SERVICE("port: 80")}---\n${SERVICE("port: 443").replace("name: web", "name: web-tls")}`,
    ),
  },
  "manifest-old-version": {
    bad: oneFile(
      "job.yaml",
      "«apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: { name: report }\nspec: { schedule: '0 3 * * *' }\n",
      { kubernetes: "1.25" },
    ),
    good: oneFile(
      "job.yaml",
      "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: { name: report }\nspec: { schedule: '0 3 * * *' }\n",
      { kubernetes: "1.24" },
    ),
  },
  "manifest-no-break-space": {
    bad: oneFile("web.yaml", SERVICE("port: 80, «name: \u00a0http").replace("spec:", "spec:")),
    good: oneFile("web.yaml", SERVICE("port: 80, name: http")),
  },
  "cluster-file-invalid-value": {
    bad: oneFile("cluster.yaml", CLUSTER("«10.0.0.300")),
    good: oneFile("cluster.yaml", CLUSTER("10.0.0.12")),
  },
};
