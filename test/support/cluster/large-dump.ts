/**
 * A large cluster as `kubectl get nodes,namespaces,pods,services,endpointslices -A -o yaml` prints it: one List, item by
 * item, so that it need not fit into one string. Same size and seed, same text.
 */
import { Prng } from "#core/base/prng.ts";

export interface DumpSize {
  readonly nodes: number;
  readonly pods: number;
  readonly services: number;
  readonly seed?: number;
  /** What the Nodes show of their network; `none`: a range for each node, and nothing else. */
  readonly network?: "none" | "host-gw" | "vxlan";
}

/** The sizes of the benchmarks: a large cluster, ten times what most people run, and the most that Kubernetes supports. */
export const DUMP_SIZES: Readonly<Record<"small" | "100" | "500" | "5000", DumpSize>> = Object.freeze({
  small: { nodes: 12, pods: 60, services: 8 },
  100: { nodes: 100, pods: 3_000, services: 200 },
  500: { nodes: 500, pods: 15_000, services: 1_000 },
  5000: { nodes: 5_000, pods: 150_000, services: 10_000 },
});

/** Of so many nodes, and of so many applications, these are Windows. */
const [WINDOWS, OF] = [3, 5];
const NAMESPACES = 20;
/** The first address of a range is the gateway's, the second win-bridge's endpoint of the node. */
const FIRST_POD_HOST = 3;
/** https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/: 100 addresses a slice. */
const ADDRESSES_PER_SLICE = 100;
const TIME = '"2025-03-04T08:15:27Z"';
const LETTERS = "bcdfghjklmnpqrstvwxz2456789";

interface Application {
  readonly name: string;
  readonly namespace: string;
  readonly isWindows: boolean;
  readonly hash: string;
  readonly replicaSetUid: string;
}

interface RunningPod {
  readonly name: string;
  readonly uid: string;
  readonly node: number;
  readonly address: string;
}

/** Chance that looks like Kubernetes' own names. */
class Names {
  private readonly prng: Prng;

  constructor(seed: number) {
    this.prng = new Prng(seed);
  }

  suffix(length: number): string {
    let text = "";
    for (let index = 0; index < length; index++) text += LETTERS[this.prng.below(LETTERS.length)];
    return text;
  }

  hex(length: number): string {
    let text = "";
    while (text.length < length) text += this.prng.below(0x1_00_00).toString(16).padStart(4, "0");
    return text.slice(0, length);
  }

  uid(): string {
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-a${this.hex(3)}-${this.hex(12)}`;
  }

  version(): string {
    return String(100_000 + this.prng.below(9_000_000));
  }
}

function isWindowsAt(index: number): boolean {
  return index % OF < WINDOWS;
}

/** The name of node `index`, from 0. */
export function nodeNameAt(index: number): string {
  return `${isWindowsAt(index) ? "win" : "lnx"}-${String(index + 1).padStart(4, "0")}`;
}

function nodeAddress(index: number): string {
  return `172.16.${index >> 7}.${10 + (index & 127)}`;
}

/** 10.128.0.0/10 has 16 384 ranges of 256 addresses. */
function podRange(index: number): string {
  return `10.${128 + (index >> 8)}.${index & 255}`;
}

function serviceAddress(index: number): string {
  return `10.${96 + ((index + 256) >> 16)}.${((index + 256) >> 8) & 255}.${index & 255}`;
}

function flannelAnnotations(network: "host-gw" | "vxlan", index: number): string {
  const isWindows = isWindowsAt(index);
  const mac = [0x02, 0x10, index >> 16, (index >> 8) & 255, index & 255, isWindows ? 1 : 2]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join(":");
  const data = network === "vxlan" ? `'{"VNI":4096,"VtepMAC":"${mac}"}'` : '"null"';
  return `      flannel.alpha.coreos.com/backend-data: ${data}
      flannel.alpha.coreos.com/backend-type: ${network}
      flannel.alpha.coreos.com/kube-subnet-manager: "true"
      flannel.alpha.coreos.com/public-ip: ${nodeAddress(index)}
`;
}

const CONDITIONS: readonly (readonly [type: string, status: string, reason: string, message: string])[] = [
  ["MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
  ["Ready", "True", "KubeletReady", "kubelet is posting ready status"],
];

function nodeItem(index: number, network: DumpSize["network"], names: Names): string {
  const os = isWindowsAt(index) ? "windows" : "linux";
  const name = nodeNameAt(index);
  const isWindows = os === "windows";
  const build = isWindows ? "      node.kubernetes.io/windows-build: 10.0.20348\n" : "";
  const flannel = network === "host-gw" || network === "vxlan" ? flannelAnnotations(network, index) : "";
  const conditions = CONDITIONS.map(
    ([type, status, reason, message]) => `    - lastHeartbeatTime: ${TIME}
      lastTransitionTime: ${TIME}
      message: ${message}
      reason: ${reason}
      status: "${status}"
      type: ${type}
`,
  ).join("");
  const capacity = `      cpu: "8"
      ephemeral-storage: 133703676Ki
      memory: 33554432Ki
      pods: "110"
`;
  return `- apiVersion: v1
  kind: Node
  metadata:
    annotations:
${flannel}      node.alpha.kubernetes.io/ttl: "0"
      volumes.kubernetes.io/controller-managed-attach-detach: "true"
    creationTimestamp: ${TIME}
    labels:
      beta.kubernetes.io/arch: amd64
      beta.kubernetes.io/os: ${os}
      kubernetes.io/arch: amd64
      kubernetes.io/hostname: ${name}
      kubernetes.io/os: ${os}
${build}    name: ${name}
    resourceVersion: "${names.version()}"
    uid: ${names.uid()}
  spec:
    podCIDR: ${podRange(index)}.0/24
    podCIDRs:
    - ${podRange(index)}.0/24
  status:
    addresses:
    - address: ${nodeAddress(index)}
      type: InternalIP
    - address: ${name}
      type: Hostname
    allocatable:
${capacity}    capacity:
${capacity}    conditions:
${conditions}    daemonEndpoints:
      kubeletEndpoint:
        Port: 10250
    nodeInfo:
      architecture: amd64
      bootID: ${names.uid()}
      containerRuntimeVersion: containerd://1.7.24
      kernelVersion: ${isWindows ? "10.0.20348.2966" : "6.8.0-51-generic"}
      kubeProxyVersion: v1.31.4
      kubeletVersion: v1.31.4
      machineID: ${names.hex(32)}
      operatingSystem: ${os}
      osImage: ${isWindows ? "Windows Server 2022 Datacenter" : "Ubuntu 24.04.1 LTS"}
      systemUUID: ${names.uid()}
`;
}

const POD_CONDITIONS = [
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
];

function podItem(app: Application, pod: RunningPod, names: Names): string {
  const os = app.isWindows ? "windows" : "linux";
  const token = `kube-api-access-${names.suffix(5)}`;
  const image = `registry.example.com/${app.namespace}/${app.name}:1.4.2`;
  const conditions = POD_CONDITIONS.map(
    (type) => `    - lastProbeTime: null
      lastTransitionTime: ${TIME}
      status: "True"
      type: ${type}
`,
  ).join("");
  const mounts = `      - mountPath: /var/run/secrets/kubernetes.io/serviceaccount
        name: ${token}
        readOnly: true
`;
  return `- apiVersion: v1
  kind: Pod
  metadata:
    creationTimestamp: ${TIME}
    generateName: ${app.name}-${app.hash}-
    labels:
      app: ${app.name}
      pod-template-hash: ${app.hash}
      tier: backend
    name: ${pod.name}
    namespace: ${app.namespace}
    ownerReferences:
    - apiVersion: apps/v1
      blockOwnerDeletion: true
      controller: true
      kind: ReplicaSet
      name: ${app.name}-${app.hash}
      uid: ${app.replicaSetUid}
    resourceVersion: "${names.version()}"
    uid: ${pod.uid}
  spec:
    containers:
    - env:
      - name: POD_IP
        valueFrom:
          fieldRef:
            apiVersion: v1
            fieldPath: status.podIP
      - name: LOG_LEVEL
        value: info
      image: ${image}
      imagePullPolicy: IfNotPresent
      name: server
      ports:
      - containerPort: 8080
        name: http
        protocol: TCP
      readinessProbe:
        failureThreshold: 3
        httpGet:
          path: /healthz
          port: http
          scheme: HTTP
        periodSeconds: 10
        successThreshold: 1
        timeoutSeconds: 1
      resources:
        limits:
          cpu: 500m
          memory: 512Mi
        requests:
          cpu: 100m
          memory: 256Mi
      terminationMessagePath: /dev/termination-log
      terminationMessagePolicy: File
      volumeMounts:
${mounts}    dnsPolicy: ClusterFirst
    enableServiceLinks: true
    nodeName: ${nodeNameAt(pod.node)}
    nodeSelector:
      kubernetes.io/os: ${os}
    preemptionPolicy: PreemptLowerPriority
    priority: 0
    restartPolicy: Always
    schedulerName: default-scheduler
    securityContext: {}
    serviceAccount: default
    serviceAccountName: default
    terminationGracePeriodSeconds: 30
    tolerations:
    - effect: NoExecute
      key: node.kubernetes.io/not-ready
      operator: Exists
      tolerationSeconds: 300
    - effect: NoExecute
      key: node.kubernetes.io/unreachable
      operator: Exists
      tolerationSeconds: 300
    volumes:
    - name: ${token}
      projected:
        defaultMode: 420
        sources:
        - serviceAccountToken:
            expirationSeconds: 3607
            path: token
        - configMap:
            items:
            - key: ca.crt
              path: ca.crt
            name: kube-root-ca.crt
        - downwardAPI:
            items:
            - fieldRef:
                apiVersion: v1
                fieldPath: metadata.namespace
              path: namespace
  status:
    conditions:
${conditions}    containerStatuses:
    - containerID: containerd://${names.hex(64)}
      image: ${image}
      imageID: registry.example.com/${app.namespace}/${app.name}@sha256:${"4f1d".repeat(16)}
      lastState: {}
      name: server
      ready: true
      restartCount: 0
      started: true
      state:
        running:
          startedAt: ${TIME}
      volumeMounts:
${mounts}        recursiveReadOnly: Disabled
    hostIP: ${nodeAddress(pod.node)}
    hostIPs:
    - ip: ${nodeAddress(pod.node)}
    phase: Running
    podIP: ${pod.address}
    podIPs:
    - ip: ${pod.address}
    qosClass: Burstable
    startTime: ${TIME}
`;
}

function serviceItem(app: Application, index: number, names: Names): string {
  const address = serviceAddress(index + 1);
  const isNodePort = index % 20 === 0 && index / 20 < 2_000;
  const nodePort = isNodePort ? `      nodePort: ${30_000 + index / 20}\n` : "";
  return `- apiVersion: v1
  kind: Service
  metadata:
    creationTimestamp: ${TIME}
    labels:
      app: ${app.name}
    name: ${app.name}
    namespace: ${app.namespace}
    resourceVersion: "${names.version()}"
    uid: ${names.uid()}
  spec:
    clusterIP: ${address}
    clusterIPs:
    - ${address}
${isNodePort ? "    externalTrafficPolicy: Cluster\n" : ""}    internalTrafficPolicy: Cluster
    ipFamilies:
    - IPv4
    ipFamilyPolicy: SingleStack
    ports:
    - name: http
${nodePort}      port: 80
      protocol: TCP
      targetPort: http
    selector:
      app: ${app.name}
    sessionAffinity: None
    type: ${isNodePort ? "NodePort" : "ClusterIP"}
  status:
    loadBalancer: {}
`;
}

function* sliceItems(app: Application, pods: readonly RunningPod[], names: Names): Generator<string> {
  for (let first = 0; first === 0 || first < pods.length; first += ADDRESSES_PER_SLICE) {
    const endpoints = pods.slice(first, first + ADDRESSES_PER_SLICE).map(
      ({ address, node, name, uid }) => `  - addresses:
    - ${address}
    conditions:
      ready: true
      serving: true
      terminating: false
    nodeName: ${nodeNameAt(node)}
    targetRef:
      kind: Pod
      name: ${name}
      namespace: ${app.namespace}
      uid: ${uid}
`,
    );
    yield `- addressType: IPv4
  apiVersion: discovery.k8s.io/v1
${endpoints.length === 0 ? "  endpoints: null\n" : `  endpoints:\n${endpoints.join("")}`}  kind: EndpointSlice
  metadata:
    creationTimestamp: ${TIME}
    generateName: ${app.name}-
    generation: 3
    labels:
      app: ${app.name}
      endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
      kubernetes.io/service-name: ${app.name}
    name: ${app.name}-${names.suffix(5)}
    namespace: ${app.namespace}
    resourceVersion: "${names.version()}"
    uid: ${names.uid()}
  ports:
  - name: http
    port: 8080
    protocol: TCP
`;
  }
}

function applicationsOf(services: number, names: Names): readonly Application[] {
  return Array.from({ length: services }, (_, index) => ({
    name: `app-${String(index + 1).padStart(5, "0")}`,
    namespace: `team-${String((index % NAMESPACES) + 1).padStart(2, "0")}`,
    isWindows: isWindowsAt(index),
    hash: names.suffix(10),
    replicaSetUid: names.uid(),
  }));
}

/** The pods of each application: as many for each, on the nodes of their system in turn. */
function podsOf(size: DumpSize, applications: readonly Application[], names: Names): readonly RunningPod[][] {
  const indices = Array.from({ length: size.nodes }, (_, index) => index);
  const byOs = [true, false].map((isWindows) => indices.filter((index) => isWindowsAt(index) === isWindows));
  const used = new Map<number, number>();
  const placed = [0, 0];
  const pods = applications.map((): RunningPod[] => []);
  for (let index = 0; index < size.pods; index++) {
    const at = index % applications.length;
    const app = applications[at];
    if (app === undefined) break;
    const system = app.isWindows ? 0 : 1;
    const nodes = byOs[system] ?? [];
    const turn = placed[system] ?? 0;
    const node = nodes[turn % nodes.length];
    if (node === undefined) continue;
    placed[system] = turn + 1;
    const host = (used.get(node) ?? FIRST_POD_HOST - 1) + 1;
    used.set(node, host);
    const address = `${podRange(node)}.${host}`;
    pods[at]?.push({ name: `${app.name}-${app.hash}-${names.suffix(5)}`, uid: names.uid(), node, address });
  }
  return pods;
}

const KUBERNETES_SERVICE = `- apiVersion: v1
  kind: Service
  metadata:
    labels:
      component: apiserver
      provider: kubernetes
    name: kubernetes
    namespace: default
    uid: 45e233c7-f824-4158-ae1d-36b3f2c4bde3
  spec:
    clusterIP: 10.96.0.1
    clusterIPs:
    - 10.96.0.1
    internalTrafficPolicy: Cluster
    ipFamilies:
    - IPv4
    ipFamilyPolicy: SingleStack
    ports:
    - name: https
      port: 443
      protocol: TCP
      targetPort: 6443
    sessionAffinity: None
    type: ClusterIP
  status:
    loadBalancer: {}
`;

/** The text, item by item. */
export function* largeDump(size: DumpSize): Generator<string> {
  const names = new Names(size.seed ?? 1);
  const applications = applicationsOf(size.services, names);
  const pods = podsOf(size, applications, names);
  yield "apiVersion: v1\nitems:\n";
  for (let index = 0; index < size.nodes; index++) yield nodeItem(index, size.network, names);
  for (let index = 0; index < Math.min(NAMESPACES, size.services); index++) {
    const name = `team-${String(index + 1).padStart(2, "0")}`;
    yield `- apiVersion: v1\n  kind: Namespace\n  metadata:\n    labels:\n      kubernetes.io/metadata.name: ${name}\n    name: ${name}\n    uid: ${names.uid()}\n  spec:\n    finalizers:\n    - kubernetes\n  status:\n    phase: Active\n`;
  }
  for (const [index, app] of applications.entries())
    for (const pod of pods[index] ?? []) yield podItem(app, pod, names);
  yield KUBERNETES_SERVICE;
  for (const [index, app] of applications.entries()) yield serviceItem(app, index, names);
  for (const [index, app] of applications.entries()) yield* sliceItems(app, pods[index] ?? [], names);
  yield 'kind: List\nmetadata:\n  resourceVersion: ""\n';
}

/** The same as one text; for sizes whose text fits into a string. */
export function largeDumpText(size: DumpSize): string {
  return [...largeDump(size)].join("");
}
