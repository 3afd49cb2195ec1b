/** What does it cost to read a dump, and to let the controllers run? Against parsing the same objects as JSON. */
import { stringify } from "yaml";
import { Prng } from "#core/base/prng.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { parseIpv4, prefixOf } from "#core/net/ip.ts";
import { type Candidate, measure, printTable } from "./measure.ts";

const PODS = 300;
const WORKLOADS = 200;
const REPLICAS = 15;
const NODES = 100;

/** A pod as `kubectl get pod -o yaml` prints it. */
function podOf(index: number): object {
  const name = `web-7d9c-${index}`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      creationTimestamp: "2024-01-01T00:00:00Z",
      generateName: "web-7d9c-",
      labels: { app: `web-${index % 50}`, "pod-template-hash": "7d9c" },
      name,
      namespace: "default",
      ownerReferences: [
        { apiVersion: "apps/v1", controller: true, kind: "ReplicaSet", name: "web-7d9c", uid: "u" },
      ],
      uid: `uid-${index}`,
    },
    spec: {
      containers: [
        {
          args: ["-c", "while true; do sleep 1; done"],
          env: [{ name: "POD_IP", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } }],
          image: "mcr.microsoft.com/windows/nanoserver:ltsc2022",
          name: "web",
          ports: [{ containerPort: 80, name: "http", protocol: "TCP" }],
        },
      ],
      dnsPolicy: "ClusterFirst",
      nodeName: `node-${index % 10}`,
      nodeSelector: { "kubernetes.io/os": "windows" },
      tolerations: [{ effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists" }],
    },
    status: {
      conditions: ["Initialized", "Ready", "PodScheduled"].map((type) => ({ status: "True", type })),
      hostIP: "10.0.0.5",
      phase: "Running",
      podIP: `10.244.${index >> 8}.${index & 255}`,
    },
  };
}

function reading(name: string, text: string): Candidate {
  return {
    name,
    operations: PODS,
    run: () => {
      const { objects } = loadManifests([{ name: "dump", text }]);
      if (objects.length !== PODS) throw new Error(`${objects.length} of ${PODS} pods were read`);
      return objects.length;
    },
  };
}

function workloads(): readonly LoadedObject[] {
  const documents: object[] = [];
  for (let index = 0; index < NODES; index++)
    documents.push({ apiVersion: "v1", kind: "Node", metadata: { name: `node-${index}` } });
  for (let index = 0; index < WORKLOADS; index++) {
    const labels = { app: `app-${index}` };
    const containers = [{ name: "web", image: "web", ports: [{ containerPort: 80, name: "http" }] }];
    const template = { metadata: { labels }, spec: { containers } };
    const metadata = { name: `app-${index}` };
    const spec = { replicas: REPLICAS, selector: { matchLabels: labels }, template };
    documents.push({ apiVersion: "apps/v1", kind: "Deployment", metadata, spec });
    const ports = [{ port: 80, targetPort: "http" }];
    documents.push({ apiVersion: "v1", kind: "Service", metadata, spec: { selector: labels, ports } });
  }
  return loadManifests(documents.map((document) => ({ name: "a", text: JSON.stringify(document) }))).objects;
}

function range(text: string, length: number): ReturnType<typeof prefixOf> {
  const ip = parseIpv4(text);
  if (ip === undefined) throw new Error(`${text} is not an address`);
  return prefixOf(ip, length);
}

function controllers(objects: readonly LoadedObject[]): Candidate {
  const options = { clusterCIDRs: [range("10.0.0.0", 8)], serviceCIDRs: [range("10.96.0.0", 12)] };
  return {
    name: `controllers, ${NODES} nodes, ${WORKLOADS} Services, per pod`,
    operations: WORKLOADS * REPLICAS,
    run: () => {
      const kube = new MemoryKube(new Prng(1), options);
      kube.apply(objects);
      kube.reconcile();
      const pods = kube.objects("Pod");
      for (const [index, { metadata }] of pods.entries()) {
        const podIP = `10.0.${index >> 8}.${index & 255}`;
        const conditions = [{ type: "Ready", status: "True" }] as const;
        kube.setPodStatus(metadata.namespace, metadata.name, { phase: "Running", podIP, conditions });
      }
      kube.reconcile();
      if (pods.length !== WORKLOADS * REPLICAS) throw new Error(`${pods.length} pods were made`);
      return kube.objects("EndpointSlice").length;
    },
  };
}

export function run(): void {
  const pods = Array.from({ length: PODS }, (_, index) => podOf(index));
  const list = { apiVersion: "v1", kind: "List", items: pods };
  const json = JSON.stringify(list, null, 4);
  const floor = "JSON.parse";
  const rows = measure([
    { name: floor, operations: PODS, run: () => Object.keys(JSON.parse(json) as object).length },
    reading("dump as JSON, per pod", json),
    reading("dump as YAML, per pod", stringify(list, { version: "1.1", lineWidth: 0 })),
    // A flow mapping is YAML that the short way leaves to the library.
    reading(
      "the same by the library, per pod",
      pods.map((pod) => `---\n${stringify(pod)}x: {y: z}\n`).join(""),
    ),
    controllers(workloads()),
  ]);
  printTable("Manifests and controllers", rows, floor);
}
