/** Lists of Kubernetes objects, in the columns of kubectl where Mullion knows them. */
import { namesOfKind } from "#cluster/api/kube-kinds.ts";
import type {
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Endpoints,
  Job,
  KubeEvent,
  KubeKind,
  KubeObject,
  KubeObjects,
  Lease,
  Namespace,
  NetworkPolicy,
  Node,
  Pod,
  ReplicaSet,
  Service,
  ServicePort,
  StatefulSet,
} from "#contracts/kubernetes/objects.ts";
import { podStatus, readyContainers } from "./pod-status.ts";
import type { Column, Listing } from "../table.ts";

type Columns<T> = readonly Column<T>[];

const NAME: Column<KubeObject> = { title: "NAME", text: ({ metadata }) => metadata.name };
const NAMESPACE: Column<KubeObject> = { title: "NAMESPACE", text: ({ metadata }) => metadata.namespace };
/** More addresses than this are counted. */
const SHOWN_ADDRESSES_MAX = 3;

function count<T>(title: string, read: (row: T) => number | undefined): Column<T> {
  return { title, isRightAligned: true, text: (row) => String(read(row) ?? 0) };
}

function selector(labels: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(labels ?? {})
    .map(([label, value]) => `${label}=${value}`)
    .join(",");
}

function shortened(texts: readonly string[]): string {
  const rest = texts.length - SHOWN_ADDRESSES_MAX;
  const shown = texts.slice(0, SHOWN_ADDRESSES_MAX).join(",");
  return rest > 0 ? `${shown} + ${rest} more...` : shown;
}

function images(spec: { readonly containers: readonly { readonly image?: string }[] } | undefined): string {
  return (spec?.containers ?? []).map(({ image }) => image ?? "").join(",");
}

const PODS: Columns<Pod> = [
  NAME,
  { title: "READY", text: (pod) => `${readyContainers(pod)}/${pod.spec?.containers.length ?? 0}` },
  { title: "STATUS", text: podStatus },
  { title: "IP", text: ({ status }) => status?.podIP ?? "" },
  { title: "NODE", text: ({ spec }) => spec?.nodeName ?? "" },
  {
    title: "PORTS",
    isWide: true,
    text: ({ spec }) =>
      (spec?.containers ?? [])
        .flatMap(({ ports = [] }) => ports)
        .map(({ containerPort, hostPort, protocol = "TCP" }) =>
          hostPort === undefined
            ? `${containerPort}/${protocol}`
            : `${hostPort}:${containerPort}/${protocol}`,
        )
        .join(","),
  },
  {
    title: "MESSAGE",
    isWide: true,
    text: ({ status }) =>
      status?.message ??
      (status?.conditions ?? []).find((each) => each.status === "False" && each.message !== undefined)
        ?.message ??
      "",
  },
];

function servicePort({ port, nodePort, protocol = "TCP" }: ServicePort): string {
  return nodePort === undefined || nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`;
}

function externalAddresses({ spec, status }: Service): string {
  if (spec?.type === "ExternalName") return spec.externalName ?? "";
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "");
  const all = [...ingress, ...(spec?.externalIPs ?? [])];
  return all.length === 0 && spec?.type === "LoadBalancer" ? "<pending>" : all.join(",");
}

const SERVICES: Columns<Service> = [
  NAME,
  { title: "TYPE", text: ({ spec }) => spec?.type ?? "ClusterIP" },
  { title: "CLUSTER-IP", text: ({ spec }) => spec?.clusterIP ?? "" },
  { title: "EXTERNAL-IP", text: externalAddresses },
  { title: "PORT(S)", text: ({ spec }) => (spec?.ports ?? []).map(servicePort).join(",") },
  { title: "SELECTOR", isWide: true, text: ({ spec }) => selector(spec?.selector) },
];

function nodeStatus({ spec, status }: Node): string {
  const ready = (status?.conditions ?? []).find(({ type }) => type === "Ready");
  const word = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

const NODES: Columns<Node> = [
  NAME,
  { title: "STATUS", text: nodeStatus },
  {
    title: "OS",
    text: ({ metadata, status }) =>
      metadata.labels?.["kubernetes.io/os"] ?? status?.nodeInfo?.operatingSystem ?? "",
  },
  { title: "VERSION", text: ({ status }) => status?.nodeInfo?.kubeletVersion ?? "" },
  {
    title: "INTERNAL-IP",
    text: ({ status }) => (status?.addresses ?? []).find(({ type }) => type === "InternalIP")?.address ?? "",
  },
  { title: "POD-CIDR", text: ({ spec }) => spec?.podCIDR ?? "" },
  { title: "OS-IMAGE", isWide: true, text: ({ status }) => status?.nodeInfo?.osImage ?? "" },
  { title: "KERNEL-VERSION", isWide: true, text: ({ status }) => status?.nodeInfo?.kernelVersion ?? "" },
];

const NAMESPACES: Columns<Namespace> = [
  NAME,
  { title: "STATUS", text: ({ status }) => status?.phase ?? "Active" },
];

const DEPLOYMENTS: Columns<Deployment> = [
  NAME,
  { title: "READY", text: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 1}` },
  count("UP-TO-DATE", ({ status }) => status?.updatedReplicas),
  count("AVAILABLE", ({ status }) => status?.availableReplicas),
  { title: "IMAGES", isWide: true, text: ({ spec }) => images(spec?.template.spec) },
  { title: "SELECTOR", isWide: true, text: ({ spec }) => selector(spec?.selector.matchLabels) },
];

const REPLICA_SETS: Columns<ReplicaSet> = [
  NAME,
  count("DESIRED", ({ spec }) => spec?.replicas ?? 1),
  count("CURRENT", ({ status }) => status?.replicas),
  count("READY", ({ status }) => status?.readyReplicas),
  { title: "SELECTOR", isWide: true, text: ({ spec }) => selector(spec?.selector.matchLabels) },
];

const STATEFUL_SETS: Columns<StatefulSet> = [
  NAME,
  { title: "READY", text: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 1}` },
  { title: "SERVICE", isWide: true, text: ({ spec }) => spec?.serviceName ?? "" },
];

const DAEMON_SETS: Columns<DaemonSet> = [
  NAME,
  count("DESIRED", ({ status }) => status?.desiredNumberScheduled),
  count("CURRENT", ({ status }) => status?.currentNumberScheduled),
  count("READY", ({ status }) => status?.numberReady),
  { title: "NODE SELECTOR", text: ({ spec }) => selector(spec?.template.spec?.nodeSelector) },
];

const JOBS: Columns<Job> = [
  NAME,
  {
    title: "COMPLETIONS",
    text: ({ spec, status }) => `${status?.succeeded ?? 0}/${spec?.completions ?? 1}`,
  },
  count("ACTIVE", ({ status }) => status?.active),
];

const CRON_JOBS: Columns<CronJob> = [
  NAME,
  { title: "SCHEDULE", text: ({ spec }) => spec?.schedule ?? "" },
  { title: "SUSPEND", text: ({ spec }) => (spec?.suspend === true ? "True" : "False") },
];

const ENDPOINT_SLICES: Columns<EndpointSlice> = [
  NAME,
  { title: "ADDRESSTYPE", text: ({ addressType }) => addressType },
  { title: "PORTS", text: ({ ports = [] }) => ports.map(({ port }) => String(port ?? "*")).join(",") },
  {
    title: "ENDPOINTS",
    text: ({ endpoints = [] }) => shortened(endpoints.flatMap(({ addresses }) => addresses)),
  },
  {
    title: "READY",
    isWide: true,
    text: ({ endpoints = [] }) =>
      `${endpoints.filter(({ conditions }) => conditions?.ready !== false).length}/${endpoints.length}`,
  },
];

const ENDPOINTS: Columns<Endpoints> = [
  NAME,
  {
    title: "ENDPOINTS",
    text: ({ subsets = [] }) =>
      shortened(
        subsets.flatMap(({ addresses = [], ports = [] }) =>
          addresses.flatMap(({ ip }) => ports.map(({ port }) => `${ip}:${port}`)),
        ),
      ),
  },
];

const NETWORK_POLICIES: Columns<NetworkPolicy> = [
  NAME,
  { title: "POD-SELECTOR", text: ({ spec }) => selector(spec?.podSelector?.matchLabels) },
];

const CONFIG_MAPS: Columns<KubeObjects["ConfigMap"]> = [
  NAME,
  count(
    "DATA",
    ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
  ),
];

const LEASES: Columns<Lease> = [NAME, { title: "HOLDER", text: ({ spec }) => spec?.holderIdentity ?? "" }];

const EVENTS: Columns<KubeEvent> = [
  { title: "TYPE", text: ({ type }) => type ?? "" },
  { title: "REASON", text: ({ reason }) => reason ?? "" },
  {
    title: "OBJECT",
    text: ({ involvedObject: { kind = "", name = "" } }) => `${kind.toLowerCase()}/${name}`,
  },
  { title: "MESSAGE", text: ({ message }) => (message ?? "").trim() },
];

const COLUMNS: { readonly [Kind in KubeKind]: Columns<KubeObjects[Kind]> } = {
  Pod: PODS,
  Service: SERVICES,
  Node: NODES,
  Namespace: NAMESPACES,
  Deployment: DEPLOYMENTS,
  ReplicaSet: REPLICA_SETS,
  StatefulSet: STATEFUL_SETS,
  DaemonSet: DAEMON_SETS,
  Job: JOBS,
  CronJob: CRON_JOBS,
  EndpointSlice: ENDPOINT_SLICES,
  Endpoints: ENDPOINTS,
  NetworkPolicy: NETWORK_POLICIES,
  ConfigMap: CONFIG_MAPS,
  Lease: LEASES,
  Event: EVENTS,
};

/** How objects of a kind are shown; `withNamespace` puts the namespace in front, as `-A` does. */
export function kubeListing(
  kind: KubeKind,
  rows: readonly KubeObject[],
  withNamespace: boolean,
): Listing<KubeObject> {
  const { singular, plural, group, isNamespaced } = namesOfKind(kind);
  // All rows are of this kind.
  const columns = COLUMNS[kind] as Columns<KubeObject>;
  return {
    singular: group === "" ? singular : `${singular}.${group}`,
    plural,
    rows,
    name: ({ metadata }) => metadata.name,
    data: (object) => object,
    columns: withNamespace && isNamespaced ? [NAMESPACE, ...columns] : columns,
  };
}
