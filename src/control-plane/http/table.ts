/**
 * Lists as kubectl shows them: the server gives columns and cells (k8s.io/apimachinery, `meta/v1.Table`). The columns of
 * each kind, narrow and wide, are those of k8s.io/kubernetes, `pkg/printers/internalversion/printers.go`.
 */
import type {
  ConfigMap,
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
  StatefulSet,
} from "#contracts/kubernetes/objects.ts";
import type { ServedResource } from "./served-resources.ts";

interface TableColumn<T> {
  readonly name: string;
  readonly isWide?: boolean;
  readonly cell: (object: T, nowMs: number) => string | number;
}

const NONE = "<none>";
const MS_PER_SECOND = 1_000;

/** As kubectl has it: `5s`, `3m20s`, `47m`, `5h`, `3d` (k8s.io/apimachinery, `util/duration`). */
function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / MS_PER_SECOND);
  if (seconds < 0) return seconds < -1 ? "<invalid>" : "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

function since(time: string | undefined, nowMs: number): string {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? "<unknown>" : humanDuration(nowMs - at);
}

const NAME: TableColumn<KubeObject> = { name: "Name", cell: ({ metadata }) => metadata.name };
const AGE: TableColumn<KubeObject> = {
  name: "Age",
  cell: ({ metadata }, nowMs) => since(metadata.creationTimestamp, nowMs),
};

function joined(texts: readonly string[]): string {
  return texts.length === 0 ? NONE : texts.join(",");
}

function pairs(labels: Readonly<Record<string, string>> | undefined): string {
  return joined(Object.entries(labels ?? {}).map(([label, value]) => `${label}=${value}`));
}

type PodTemplate = { readonly containers?: readonly { readonly name: string; readonly image?: string }[] };

function containerColumns<T>(specOf: (object: T) => PodTemplate | undefined): readonly TableColumn<T>[] {
  return [
    {
      name: "Containers",
      isWide: true,
      cell: (object) => joined((specOf(object)?.containers ?? []).map(({ name }) => name)),
    },
    {
      name: "Images",
      isWide: true,
      cell: (object) => joined((specOf(object)?.containers ?? []).map(({ image }) => image ?? "")),
    },
  ];
}

function podReady({ spec, status }: Pod): string {
  const total = spec?.containers.length ?? 0;
  const known = status?.containerStatuses;
  const isReady = status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
  const ready =
    known === undefined ? (isReady === true ? total : 0) : known.filter((each) => each.ready).length;
  return `${ready}/${total}`;
}

function podStatus({ metadata, status }: Pod): string {
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  return status?.reason ?? status?.phase ?? "Pending";
}

function restarts({ status }: Pod): number {
  return (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

const PODS: readonly TableColumn<Pod>[] = [
  NAME,
  { name: "Ready", cell: podReady },
  { name: "Status", cell: podStatus },
  { name: "Restarts", cell: restarts },
  AGE,
  { name: "IP", isWide: true, cell: ({ status }) => status?.podIP ?? NONE },
  { name: "Node", isWide: true, cell: ({ spec }) => spec?.nodeName ?? NONE },
  { name: "Nominated Node", isWide: true, cell: ({ status }) => status?.nominatedNodeName ?? NONE },
  { name: "Readiness Gates", isWide: true, cell: () => NONE },
];

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const word = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

function nodeRoles({ metadata }: Node): string {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(metadata.labels ?? {}).flatMap((label) =>
    label.startsWith(prefix) ? label.slice(prefix.length) : [],
  );
  return joined(roles.toSorted());
}

function addressOf({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? NONE;
}

const NODES: readonly TableColumn<Node>[] = [
  NAME,
  { name: "Status", cell: nodeStatus },
  { name: "Roles", cell: nodeRoles },
  AGE,
  { name: "Version", cell: ({ status }) => status?.nodeInfo?.kubeletVersion ?? "" },
  { name: "Internal-IP", isWide: true, cell: (node) => addressOf(node, "InternalIP") },
  { name: "External-IP", isWide: true, cell: (node) => addressOf(node, "ExternalIP") },
  { name: "OS-Image", isWide: true, cell: ({ status }) => status?.nodeInfo?.osImage ?? "<unknown>" },
  {
    name: "Kernel-Version",
    isWide: true,
    cell: ({ status }) => status?.nodeInfo?.kernelVersion ?? "<unknown>",
  },
  {
    name: "Container-Runtime",
    isWide: true,
    cell: ({ status }) => status?.nodeInfo?.containerRuntimeVersion ?? "<unknown>",
  },
];

function externalAddresses({ spec, status }: Service): string {
  if (spec?.type === "ExternalName") return spec.externalName ?? NONE;
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "");
  const all = [...ingress, ...(spec?.externalIPs ?? [])];
  return all.length === 0 && spec?.type === "LoadBalancer" ? "<pending>" : joined(all);
}

function servicePorts({ spec }: Service): string {
  return joined(
    (spec?.ports ?? []).map(({ port, nodePort = 0, protocol = "TCP" }) =>
      nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
    ),
  );
}

const SERVICES: readonly TableColumn<Service>[] = [
  NAME,
  { name: "Type", cell: ({ spec }) => spec?.type ?? "ClusterIP" },
  { name: "Cluster-IP", cell: ({ spec }) => spec?.clusterIP ?? NONE },
  { name: "External-IP", cell: externalAddresses },
  { name: "Port(s)", cell: servicePorts },
  AGE,
  { name: "Selector", isWide: true, cell: ({ spec }) => pairs(spec?.selector) },
];

const DEPLOYMENTS: readonly TableColumn<Deployment>[] = [
  NAME,
  { name: "Ready", cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 1}` },
  { name: "Up-to-date", cell: ({ status }) => status?.updatedReplicas ?? 0 },
  { name: "Available", cell: ({ status }) => status?.availableReplicas ?? 0 },
  AGE,
  ...containerColumns<Deployment>(({ spec }) => spec?.template.spec),
  { name: "Selector", isWide: true, cell: ({ spec }) => pairs(spec?.selector.matchLabels) },
];

const REPLICA_SETS: readonly TableColumn<ReplicaSet>[] = [
  NAME,
  { name: "Desired", cell: ({ spec }) => spec?.replicas ?? 1 },
  { name: "Current", cell: ({ status }) => status?.replicas ?? 0 },
  { name: "Ready", cell: ({ status }) => status?.readyReplicas ?? 0 },
  AGE,
  ...containerColumns<ReplicaSet>(({ spec }) => spec?.template?.spec),
  { name: "Selector", isWide: true, cell: ({ spec }) => pairs(spec?.selector.matchLabels) },
];

const STATEFUL_SETS: readonly TableColumn<StatefulSet>[] = [
  NAME,
  { name: "Ready", cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 1}` },
  AGE,
  ...containerColumns<StatefulSet>(({ spec }) => spec?.template.spec),
];

const DAEMON_SETS: readonly TableColumn<DaemonSet>[] = [
  NAME,
  { name: "Desired", cell: ({ status }) => status?.desiredNumberScheduled ?? 0 },
  { name: "Current", cell: ({ status }) => status?.currentNumberScheduled ?? 0 },
  { name: "Ready", cell: ({ status }) => status?.numberReady ?? 0 },
  { name: "Up-to-date", cell: ({ status }) => status?.updatedNumberScheduled ?? 0 },
  { name: "Available", cell: ({ status }) => status?.numberAvailable ?? 0 },
  { name: "Node Selector", cell: ({ spec }) => pairs(spec?.template.spec?.nodeSelector) },
  AGE,
  ...containerColumns<DaemonSet>(({ spec }) => spec?.template.spec),
];

const JOBS: readonly TableColumn<Job>[] = [
  NAME,
  { name: "Completions", cell: ({ spec, status }) => `${status?.succeeded ?? 0}/${spec?.completions ?? 1}` },
  AGE,
];

const CRON_JOBS: readonly TableColumn<CronJob>[] = [
  NAME,
  { name: "Schedule", cell: ({ spec }) => spec?.schedule ?? "" },
  { name: "Suspend", cell: ({ spec }) => (spec?.suspend === true ? "True" : "False") },
  AGE,
];

const SHOWN_MAX = 3;

function shortened(texts: readonly string[]): string {
  const rest = texts.length - SHOWN_MAX;
  return rest > 0 ? `${texts.slice(0, SHOWN_MAX).join(",")} + ${rest} more...` : joined(texts);
}

const ENDPOINT_SLICES: readonly TableColumn<EndpointSlice>[] = [
  NAME,
  { name: "AddressType", cell: ({ addressType }) => addressType },
  { name: "Ports", cell: ({ ports = [] }) => joined(ports.map(({ port }) => String(port ?? "*"))) },
  {
    name: "Endpoints",
    cell: ({ endpoints = [] }) => shortened(endpoints.flatMap(({ addresses }) => addresses)),
  },
  AGE,
];

const ENDPOINTS: readonly TableColumn<Endpoints>[] = [
  NAME,
  {
    name: "Endpoints",
    cell: ({ subsets = [] }) =>
      shortened(
        subsets.flatMap(({ addresses = [], ports = [] }) =>
          addresses.flatMap(({ ip }) => ports.map(({ port }) => `${ip}:${port}`)),
        ),
      ),
  },
  AGE,
];

const NAMESPACES: readonly TableColumn<Namespace>[] = [
  NAME,
  { name: "Status", cell: ({ status }) => status?.phase ?? "Active" },
  AGE,
];

const NETWORK_POLICIES: readonly TableColumn<NetworkPolicy>[] = [
  NAME,
  { name: "Pod-Selector", cell: ({ spec }) => pairs(spec?.podSelector?.matchLabels) },
  AGE,
];

const CONFIG_MAPS: readonly TableColumn<ConfigMap>[] = [
  NAME,
  {
    name: "Data",
    cell: ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
  },
  AGE,
];

const LEASES: readonly TableColumn<Lease>[] = [
  NAME,
  { name: "Holder", cell: ({ spec }) => spec?.holderIdentity ?? "" },
  AGE,
];

const EVENTS: readonly TableColumn<KubeEvent>[] = [
  {
    name: "Last Seen",
    cell: ({ lastTimestamp, eventTime, metadata }, nowMs) =>
      since(lastTimestamp ?? eventTime ?? metadata.creationTimestamp, nowMs),
  },
  { name: "Type", cell: ({ type }) => type ?? "" },
  { name: "Reason", cell: ({ reason }) => reason ?? "" },
  {
    name: "Object",
    cell: ({ involvedObject: { kind = "", name = "" } }) => `${kind.toLowerCase()}/${name}`,
  },
  { name: "Message", cell: ({ message }) => (message ?? "").trim() },
];

const TABLE_COLUMNS: { readonly [Kind in KubeKind]: readonly TableColumn<KubeObjects[Kind]>[] } = {
  Node: NODES,
  Namespace: NAMESPACES,
  Pod: PODS,
  Deployment: DEPLOYMENTS,
  ReplicaSet: REPLICA_SETS,
  StatefulSet: STATEFUL_SETS,
  DaemonSet: DAEMON_SETS,
  Job: JOBS,
  CronJob: CRON_JOBS,
  Service: SERVICES,
  EndpointSlice: ENDPOINT_SLICES,
  Endpoints: ENDPOINTS,
  NetworkPolicy: NETWORK_POLICIES,
  ConfigMap: CONFIG_MAPS,
  Lease: LEASES,
  Event: EVENTS,
};

/** Whether the client prefers a table to the objects. */
export function wantsTable(accept: string | undefined): boolean {
  return /^application\/json\s*;[^,]*\bas=Table\b/.test((accept ?? "").split(",")[0]?.trim() ?? "");
}

/** What of each object is in its row: `includeObject` of the request. */
export type IncludeObject = "None" | "Metadata" | "Object";

export interface TableOptions {
  readonly include: IncludeObject;
  readonly resourceVersion: string;
  readonly nowMs: number;
}

function columnsOf(kind: KubeKind): readonly TableColumn<KubeObject>[] {
  return TABLE_COLUMNS[kind] as readonly TableColumn<KubeObject>[];
}

function definitionOf({ name, isWide }: TableColumn<KubeObject>): object {
  const format = name === "Name" ? "name" : "";
  return { name, type: "string", format, description: "", priority: isWide === true ? 1 : 0 };
}

function included(object: KubeObject, { toServed }: ServedResource, include: IncludeObject): object {
  if (include === "None") return {};
  if (include === "Object") return { object: toServed(object) };
  const { metadata } = toServed(object) as { readonly metadata: object };
  return { object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata } };
}

/** A table of objects of one kind. `withColumns` is false for all but the first table of a watch. */
export function tableOf(
  resource: ServedResource,
  objects: readonly KubeObject[],
  { include, resourceVersion, nowMs }: TableOptions,
  withColumns = true,
): object {
  const columns = columnsOf(resource.kind);
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion },
    columnDefinitions: withColumns ? columns.map(definitionOf) : null,
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, nowMs)),
      ...included(object, resource, include),
    })),
  };
}
