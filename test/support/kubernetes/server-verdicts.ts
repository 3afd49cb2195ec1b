/**
 * Objects that a real kube-apiserver 1.34 refuses or takes, one row for each kind of difference that comparing it with the loader
 * at random has shown. The fast test asks the loader, the live test the server.
 */
type Fields = Readonly<Record<string, unknown>>;

export interface VerdictRow {
  readonly what: string;
  readonly isTaken: boolean;
  readonly object: Fields & { readonly apiVersion: string; readonly kind: string };
}

const POD: Fields = { containers: [{ name: "c", image: "i" }] };
const withContainer = (fields: Fields): Fields => ({ containers: [{ name: "c", image: "i", ...fields }] });
const template = (spec: Fields): Fields => ({
  metadata: { labels: { app: "a" } },
  spec: { ...POD, ...spec },
});

function row(isTaken: boolean, what: string, apiVersion: string, kind: string, fields: Fields): VerdictRow {
  const { metadata, ...rest } = fields;
  return {
    what: `${kind}: ${what}`,
    isTaken,
    object: { apiVersion, kind, metadata: { name: "a", ...(metadata as Fields | undefined) }, ...rest },
  };
}

const service = (isTaken: boolean, what: string, spec: Fields, metadata: Fields = {}): VerdictRow =>
  row(isTaken, what, "v1", "Service", { metadata, spec: { ports: [{ port: 80 }], ...spec } });
const slice = (isTaken: boolean, what: string, endpoint: Fields): VerdictRow =>
  row(isTaken, what, "discovery.k8s.io/v1", "EndpointSlice", {
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.1.2.3"], ...endpoint }],
  });
const node = (isTaken: boolean, what: string, spec: Fields): VerdictRow =>
  row(isTaken, what, "v1", "Node", { spec });
const pod = (isTaken: boolean, what: string, spec: Fields): VerdictRow =>
  row(isTaken, what, "v1", "Pod", { spec: { ...POD, ...spec } });
const workload = (
  isTaken: boolean,
  what: string,
  kind: string,
  spec: Fields,
  pods: Fields = {},
): VerdictRow =>
  row(isTaken, what, "apps/v1", kind, {
    spec: { selector: { matchLabels: { app: "a" } }, template: template(pods), ...spec },
  });
const job = (isTaken: boolean, what: string, spec: Fields): VerdictRow =>
  row(isTaken, what, "batch/v1", "Job", {
    spec: { template: template({ restartPolicy: "Never" }), ...spec },
  });
const cron = (isTaken: boolean, what: string, spec: Fields): VerdictRow =>
  row(isTaken, what, "batch/v1", "CronJob", {
    spec: {
      schedule: "@daily",
      jobTemplate: { spec: { template: template({ restartPolicy: "Never" }) } },
      ...spec,
    },
  });
const EXTERNAL = { type: "ExternalName", externalName: "a.b" };
const RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges";

export const SERVER_VERDICTS: readonly VerdictRow[] = [
  service(false, "ranges of sources without a load balancer", { loadBalancerSourceRanges: ["10.0.0.0/8"] }),
  service(false, "the same as an annotation", {}, { annotations: { [RANGES]: "10.0.0.0/8" } }),
  service(true, "a range of sources with a space", {
    type: "LoadBalancer",
    loadBalancerSourceRanges: [" 10.0.0.0/8"],
  }),
  service(false, "node ports of a load balancer without one", { allocateLoadBalancerNodePorts: false }),
  service(false, "a class of load balancers without one", { loadBalancerClass: "a/b" }),
  service(false, "families of a name outside", { ...EXTERNAL, ipFamilies: ["IPv4"] }),
  service(false, "a policy of families of a name outside", { ...EXTERNAL, ipFamilyPolicy: "SingleStack" }),
  service(true, "ports of a name outside", EXTERNAL),
  service(false, "None and an address", { clusterIP: "None", clusterIPs: ["None", "10.96.3.4"] }),
  service(false, "an address of another family", {
    clusterIP: "10.96.3.4",
    clusterIPs: ["10.96.3.4"],
    ipFamilies: ["IPv6"],
  }),
  service(true, "settings of an affinity that it has not", {
    sessionAffinityConfig: { clientIP: { timeoutSeconds: -1 } },
  }),
  service(false, "a finalizer without a domain", {}, { finalizers: ["done"] }),
  service(
    false,
    "two controllers",
    {},
    {
      ownerReferences: ["a", "b"].map((name) => ({
        apiVersion: "v1",
        kind: "Pod",
        name,
        uid: name,
        controller: true,
      })),
    },
  ),
  service(
    false,
    "an owner without a version",
    {},
    { ownerReferences: [{ kind: "Pod", name: "a", uid: "a" }] },
  ),
  service(false, "annotations that are too long", {}, { annotations: { a: "a".repeat(262_144) } }),
  slice(false, "a node without a name", { nodeName: "" }),
  slice(false, "an empty name of a host", { hostname: "" }),
  slice(false, "a hint that is no label", { hints: { forZones: [{ name: "a b" }] } }),
  slice(false, "a hint twice", { hints: { forZones: [{ name: "a" }, { name: "a" }] } }),
  slice(true, "a hint", { hints: { forZones: [{ name: "a" }] } }),
  row(false, "a subset of nothing", "v1", "Endpoints", { subsets: [{}] }),
  row(false, "ports without names", "v1", "Endpoints", {
    subsets: [{ addresses: [{ ip: "10.1.2.3" }], ports: [{ port: 1 }, { port: 2 }] }],
  }),
  row(false, "three types", "networking.k8s.io/v1", "NetworkPolicy", {
    spec: { podSelector: {}, policyTypes: ["Ingress", "Egress", "Ingress"] },
  }),
  row(true, "a rule that is null", "networking.k8s.io/v1", "NetworkPolicy", {
    spec: { podSelector: {}, ingress: [null] },
  }),
  node(false, "a range that is none", { podCIDR: "10.244.1.0", podCIDRs: ["10.244.1.0"] }),
  node(true, "ranges behind another one", { podCIDR: "10.244.1.0/24", podCIDRs: ["x"] }),
  node(false, "two ranges of a family", { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24", "10.2.0.0/24"] }),
  node(true, "a range of each family", { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24", "fd00::/64"] }),
  node(false, "a taint twice", {
    taints: [1, 2].map((value) => ({ key: "os", value: String(value), effect: "NoSchedule" })),
  }),
  row(false, "a level that is none", "v1", "Namespace", {
    metadata: { labels: { "pod-security.kubernetes.io/enforce": "low" } },
  }),
  row(false, "a version that is none", "v1", "Namespace", {
    metadata: { labels: { "pod-security.kubernetes.io/warn-version": "1.30" } },
  }),
  row(false, "bytes that are none", "v1", "ConfigMap", { binaryData: { a: "?" } }),
  row(false, "a key twice", "v1", "ConfigMap", { data: { a: "b" }, binaryData: { a: "YQ==" } }),
  row(false, "more than a mebibyte", "v1", "ConfigMap", { data: { a: "a".repeat(1_048_577) } }),
  pod(false, "a deadline of zero", { activeDeadlineSeconds: 0 }),
  pod(false, "a user with a sign", { securityContext: { windowsOptions: { runAsUserName: "a|b" } } }),
  pod(true, "a user of a domain", { securityContext: { windowsOptions: { runAsUserName: "CORP\\web" } } }),
  pod(false, "a profile of the node's without a name", {
    securityContext: { seccompProfile: { type: "Localhost" } },
  }),
  pod(false, "a probe of one that ends", {
    initContainers: [{ name: "i", image: "i", livenessProbe: { tcpSocket: { port: 80 } } }],
  }),
  pod(
    false,
    "two successes of a liveness probe",
    withContainer({
      livenessProbe: { tcpSocket: { port: 80 }, successThreshold: 2 },
    }),
  ),
  pod(
    false,
    "a header with a space",
    withContainer({
      readinessProbe: { httpGet: { port: 80, httpHeaders: [{ name: "a b", value: "c" }] } },
    }),
  ),
  pod(false, "an empty quantity", withContainer({ resources: { limits: { cpu: "" } } })),
  pod(false, "a claim that the pod has not", withContainer({ resources: { claims: [{ name: "x" }] } })),
  pod(true, "arguments that are null", withContainer({ args: [null, "b"] })),
  workload(false, "nothing may be missing, nothing too much", "Deployment", {
    strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
  }),
  workload(false, "more than all may be missing", "Deployment", {
    strategy: { rollingUpdate: { maxUnavailable: "101%" } },
  }),
  workload(false, "a deadline before it is ready", "Deployment", { minReadySeconds: 600 }),
  workload(false, "pods that end", "Deployment", {}, { activeDeadlineSeconds: 5 }),
  workload(false, "both ways to roll", "DaemonSet", { updateStrategy: { rollingUpdate: { maxSurge: 1 } } }),
  workload(true, "one way to roll", "DaemonSet", {
    updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
  }),
  workload(false, "no way to roll", "DaemonSet", {
    updateStrategy: { rollingUpdate: { maxUnavailable: 0 } },
  }),
  workload(false, "a partition of what nobody rolls", "StatefulSet", {
    serviceName: "s",
    updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } },
  }),
  workload(true, "a volume of a claim's name", "StatefulSet", {
    serviceName: "s",
    template: template({ volumes: [{ name: "data", emptyDir: {} }] }),
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  }),
  row(false, "a name with a dot", "apps/v1", "StatefulSet", {
    metadata: { name: "a.b" },
    spec: { selector: { matchLabels: { app: "a" } }, serviceName: "s", template: template({}) },
  }),
  job(false, "a selector of one's own", { selector: { matchLabels: { app: "a" } } }),
  job(false, "failures of indexes that it has not", { backoffLimitPerIndex: 1 }),
  cron(false, "a zone in the schedule", { schedule: "TZ=UTC 0 3 * * *" }),
  cron(true, "a zone", { timeZone: "Etc/UTC" }),
  cron(false, "a zone that is none", { timeZone: "Nowhere/Town" }),
  cron(false, "a selector", {
    jobTemplate: {
      spec: { selector: { matchLabels: { app: "a" } }, template: template({ restartPolicy: "Never" }) },
    },
  }),
  row(false, "a limit of null below what is asked for", "v1", "Pod", {
    spec: withContainer({ resources: { requests: { memory: "1Mi" }, limits: { memory: null } } }),
  }),
  row(true, "a limit of null, and nothing asked for", "v1", "Pod", {
    spec: withContainer({ resources: { limits: { memory: null } } }),
  }),
];
