/**
 * The columns in which Kubernetes objects are listed, by kind: those that `kubectl get` shows, narrow and wide
 * (k8s.io/kubernetes, `pkg/printers/internalversion/printers.go`), and those of `mullion get`, which leaves some out, shows
 * some without `-o wide`, and adds what matters on Windows nodes.
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
  RuntimeClass,
  ServiceCIDR,
  Namespace,
  NetworkPolicy,
  Node,
  Pod,
  ReplicaSet,
  Service,
  StatefulSet,
} from "#contracts/kubernetes/objects.ts";
import { type ContainerStatus, isFinished, isSidecar } from "#contracts/kubernetes/pod.ts";

/** When a column is shown: `wide` with `-o wide` only. */
export type ColumnWidth = "always" | "wide" | "never";

export interface KubeColumn<T> {
  /** As the API server writes it. */
  readonly name: string;
  /** Default: always. */
  readonly kubectl?: ColumnWidth;
  /** Default: always. */
  readonly mullion?: ColumnWidth;
  /** What kubectl shows where `cell` has nothing. Default: `<none>`. */
  readonly absent?: string;
  /** The cells are numbers. */
  readonly isNumber?: boolean;
  readonly cell: (object: T, nowMs: number) => string | number | undefined;
}

type Columns<T> = readonly KubeColumn<T>[];

const NONE = "<none>";
const UNKNOWN = "<unknown>";
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
  return Number.isNaN(at) ? UNKNOWN : humanDuration(nowMs - at);
}

const NAME: KubeColumn<KubeObject> = { name: "Name", cell: ({ metadata }) => metadata.name };
const AGE: KubeColumn<KubeObject> = {
  name: "Age",
  mullion: "never",
  cell: ({ metadata }, nowMs) => since(metadata.creationTimestamp, nowMs),
};

function count<T>(
  name: string,
  read: (object: T) => number | undefined,
  shown: Pick<KubeColumn<T>, "kubectl" | "mullion"> = {},
): KubeColumn<T> {
  return { name, isNumber: true, ...shown, cell: (object) => read(object) ?? 0 };
}

/** Undefined for none. */
function joined(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : texts.join(",");
}

function pairs(labels: Readonly<Record<string, string>> | undefined): string | undefined {
  return joined(Object.entries(labels ?? {}).map(([label, value]) => `${label}=${value}`));
}

/** More addresses than this are counted. */
const SHOWN_ADDRESSES_MAX = 3;

function shortened(texts: readonly string[]): string | undefined {
  const rest = texts.length - SHOWN_ADDRESSES_MAX;
  const shown = texts.slice(0, SHOWN_ADDRESSES_MAX);
  return rest > 0 ? `${shown.join(",")} + ${rest} more...` : joined(shown);
}

function selector<T>(labelsOf: (object: T) => Readonly<Record<string, string>> | undefined): KubeColumn<T> {
  return { name: "Selector", kubectl: "wide", mullion: "wide", cell: (object) => pairs(labelsOf(object)) };
}

type PodTemplate = { readonly containers?: readonly { readonly name: string; readonly image?: string }[] };

function containers<T>(
  specOf: (object: T) => PodTemplate | undefined,
  imagesInMullion: ColumnWidth = "never",
): Columns<T> {
  return [
    {
      name: "Containers",
      kubectl: "wide",
      mullion: "never",
      cell: (object) => joined((specOf(object)?.containers ?? []).map(({ name }) => name)),
    },
    {
      name: "Images",
      kubectl: "wide",
      mullion: imagesInMullion,
      cell: (object) => joined((specOf(object)?.containers ?? []).map(({ image }) => image ?? "")),
    },
  ];
}

/** Why a container ended, as kubectl says it. */
function endOf({ reason = "", signal = 0, exitCode }: ContainerEnd): string {
  if (reason !== "") return reason;
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

type ContainerEnd = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

interface Beginning {
  /** What the pod waits for; undefined when its init containers have done their work. */
  readonly reason: string | undefined;
  readonly readySidecars: number;
}

function beginningOf({ spec, status }: Pod): Beginning {
  const known = new Map((spec?.initContainers ?? []).map((each) => [each.name, each]));
  let readySidecars = 0;
  for (const [index, { name, state, started, ready }] of (status?.initContainerStatuses ?? []).entries()) {
    const { terminated, waiting } = state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (isSidecar(known.get(name)) && started === true) {
      if (ready) readySidecars++;
      continue;
    }
    const { reason = "" } = waiting ?? {};
    const isBlocked = reason !== "" && reason !== "PodInitializing";
    if (terminated !== undefined) return { reason: `Init:${endOf(terminated)}`, readySidecars };
    return { reason: isBlocked ? `Init:${reason}` : `Init:${index}/${known.size}`, readySidecars };
  }
  return { reason: undefined, readySidecars };
}

/** READY and STATUS of a pod, as kubectl prints them (k8s.io/kubernetes, `pkg/printers/internalversion`, `printPod`). */
interface PodSummary {
  readonly ready: string;
  readonly status: string;
}

function podSummary(pod: Pod): PodSummary {
  const { metadata, spec, status } = pod;
  const conditions = status?.conditions ?? [];
  const isTrue = (wanted: string): boolean =>
    conditions.some((each) => each.type === wanted && each.status === "True");
  const isGated = conditions.some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  const { phase = "Pending", reason: given = "" } = status ?? {};
  let reason = isGated ? "SchedulingGated" : given === "" ? phase : given;
  const beginning = beginningOf(pod);
  let ready = beginning.readySidecars;
  if (beginning.reason !== undefined) reason = beginning.reason;
  if (beginning.reason === undefined || isTrue("Initialized")) {
    let hasRunning = false;
    for (const { state, ready: isReady } of (status?.containerStatuses ?? []).toReversed()) {
      const { waiting, terminated, running } = state ?? {};
      if ((waiting?.reason ?? "") !== "") reason = waiting?.reason ?? reason;
      else if (terminated !== undefined) reason = endOf(terminated);
      else if (isReady && running !== undefined) {
        hasRunning = true;
        ready++;
      }
    }
    if (reason === "Completed" && hasRunning) reason = isTrue("Ready") ? "Running" : "NotReady";
  }
  if (metadata.deletionTimestamp !== undefined) {
    if (given === "NodeLost") reason = "Unknown";
    else if (!isFinished(pod)) reason = "Terminating";
  }
  const sidecars = (spec?.initContainers ?? []).filter(isSidecar).length;
  return { ready: `${ready}/${(spec?.containers ?? []).length + sidecars}`, status: reason };
}

function podPorts({ spec }: Pod): string | undefined {
  const ports = (spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  return joined(
    ports.map(({ containerPort, hostPort, protocol = "TCP" }) =>
      hostPort === undefined ? `${containerPort}/${protocol}` : `${hostPort}:${containerPort}/${protocol}`,
    ),
  );
}

function podMessage({ status }: Pod): string | undefined {
  const failed = (status?.conditions ?? []).find(
    (each) => each.status === "False" && each.message !== undefined,
  );
  return status?.message ?? failed?.message;
}

const PODS: Columns<Pod> = [
  NAME,
  { name: "Ready", cell: (pod) => podSummary(pod).ready },
  { name: "Status", cell: (pod) => podSummary(pod).status },
  count(
    "Restarts",
    ({ status }) =>
      (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
    { mullion: "never" },
  ),
  AGE,
  { name: "IP", kubectl: "wide", cell: ({ status }) => status?.podIP },
  { name: "Node", kubectl: "wide", cell: ({ spec }) => spec?.nodeName },
  {
    name: "Nominated Node",
    kubectl: "wide",
    mullion: "never",
    cell: ({ status }) => status?.nominatedNodeName,
  },
  { name: "Readiness Gates", kubectl: "wide", mullion: "never", cell: () => undefined },
  { name: "Ports", kubectl: "never", mullion: "wide", cell: podPorts },
  { name: "Message", kubectl: "never", mullion: "wide", cell: podMessage },
];

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const word = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

function nodeRoles({ metadata }: Node): string | undefined {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(metadata.labels ?? {}).flatMap((label) =>
    label.startsWith(prefix) ? label.slice(prefix.length) : [],
  );
  return joined(roles.toSorted());
}

function nodeOs({ metadata, status }: Node): string | undefined {
  return metadata.labels?.["kubernetes.io/os"] ?? status?.nodeInfo?.operatingSystem;
}

function addressOf({ status }: Node, wanted: string): string | undefined {
  return status?.addresses?.find(({ type }) => type === wanted)?.address;
}

const NODES: Columns<Node> = [
  NAME,
  { name: "Status", cell: nodeStatus },
  { name: "Roles", mullion: "never", cell: nodeRoles },
  { name: "OS", kubectl: "never", cell: nodeOs },
  AGE,
  { name: "Version", absent: "", cell: ({ status }) => status?.nodeInfo?.kubeletVersion },
  { name: "Internal-IP", kubectl: "wide", cell: (node) => addressOf(node, "InternalIP") },
  { name: "External-IP", kubectl: "wide", mullion: "never", cell: (node) => addressOf(node, "ExternalIP") },
  { name: "Pod-CIDR", kubectl: "never", cell: ({ spec }) => spec?.podCIDR },
  {
    name: "OS-Image",
    kubectl: "wide",
    mullion: "wide",
    absent: UNKNOWN,
    cell: ({ status }) => status?.nodeInfo?.osImage,
  },
  {
    name: "Kernel-Version",
    kubectl: "wide",
    mullion: "wide",
    absent: UNKNOWN,
    cell: ({ status }) => status?.nodeInfo?.kernelVersion,
  },
  {
    name: "Container-Runtime",
    kubectl: "wide",
    mullion: "never",
    absent: UNKNOWN,
    cell: ({ status }) => status?.nodeInfo?.containerRuntimeVersion,
  },
];

function externalAddresses({ spec, status }: Service): string | undefined {
  if (spec?.type === "ExternalName") return spec.externalName;
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "");
  const all = [...ingress, ...(spec?.externalIPs ?? [])];
  return all.length === 0 && spec?.type === "LoadBalancer" ? "<pending>" : joined(all);
}

function servicePorts({ spec }: Service): string | undefined {
  return joined(
    (spec?.ports ?? []).map(({ port, nodePort = 0, protocol = "TCP" }) =>
      nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
    ),
  );
}

const SERVICES: Columns<Service> = [
  NAME,
  { name: "Type", cell: ({ spec }) => spec?.type ?? "ClusterIP" },
  { name: "Cluster-IP", cell: ({ spec }) => spec?.clusterIP },
  { name: "External-IP", cell: externalAddresses },
  { name: "Port(s)", cell: servicePorts },
  AGE,
  selector(({ spec }) => spec?.selector),
];

const DEPLOYMENTS: Columns<Deployment> = [
  NAME,
  { name: "Ready", cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 1}` },
  count("Up-to-date", ({ status }) => status?.updatedReplicas),
  count("Available", ({ status }) => status?.availableReplicas),
  AGE,
  ...containers<Deployment>(({ spec }) => spec?.template.spec, "wide"),
  selector(({ spec }) => spec?.selector.matchLabels),
];

const REPLICA_SETS: Columns<ReplicaSet> = [
  NAME,
  count("Desired", ({ spec }) => spec?.replicas ?? 1),
  count("Current", ({ status }) => status?.replicas),
  count("Ready", ({ status }) => status?.readyReplicas),
  AGE,
  ...containers<ReplicaSet>(({ spec }) => spec?.template?.spec),
  selector(({ spec }) => spec?.selector.matchLabels),
];

const STATEFUL_SETS: Columns<StatefulSet> = [
  NAME,
  { name: "Ready", cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 1}` },
  AGE,
  ...containers<StatefulSet>(({ spec }) => spec?.template.spec),
  { name: "Service", kubectl: "never", mullion: "wide", cell: ({ spec }) => spec?.serviceName },
];

const DAEMON_SETS: Columns<DaemonSet> = [
  NAME,
  count("Desired", ({ status }) => status?.desiredNumberScheduled),
  count("Current", ({ status }) => status?.currentNumberScheduled),
  count("Ready", ({ status }) => status?.numberReady),
  count("Up-to-date", ({ status }) => status?.updatedNumberScheduled, { mullion: "never" }),
  count("Available", ({ status }) => status?.numberAvailable, { mullion: "never" }),
  { name: "Node Selector", cell: ({ spec }) => pairs(spec?.template.spec?.nodeSelector) },
  AGE,
  ...containers<DaemonSet>(({ spec }) => spec?.template.spec),
];

const JOBS: Columns<Job> = [
  NAME,
  { name: "Completions", cell: ({ spec, status }) => `${status?.succeeded ?? 0}/${spec?.completions ?? 1}` },
  count("Active", ({ status }) => status?.active, { kubectl: "never" }),
  AGE,
];

const CRON_JOBS: Columns<CronJob> = [
  NAME,
  { name: "Schedule", absent: "", cell: ({ spec }) => spec?.schedule },
  { name: "Suspend", cell: ({ spec }) => (spec?.suspend === true ? "True" : "False") },
  AGE,
];

function readyEndpoints({ endpoints = [] }: EndpointSlice): string {
  return `${endpoints.filter(({ conditions }) => conditions?.ready !== false).length}/${endpoints.length}`;
}

const ENDPOINT_SLICES: Columns<EndpointSlice> = [
  NAME,
  { name: "AddressType", cell: ({ addressType }) => addressType },
  { name: "Ports", cell: ({ ports = [] }) => joined(ports.map(({ port }) => String(port ?? "*"))) },
  {
    name: "Endpoints",
    cell: ({ endpoints = [] }) => shortened(endpoints.flatMap(({ addresses }) => addresses)),
  },
  { name: "Ready", kubectl: "never", mullion: "wide", cell: readyEndpoints },
  AGE,
];

const ENDPOINTS: Columns<Endpoints> = [
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

const NAMESPACES: Columns<Namespace> = [
  NAME,
  { name: "Status", cell: ({ status }) => status?.phase ?? "Active" },
  AGE,
];

const NETWORK_POLICIES: Columns<NetworkPolicy> = [
  NAME,
  { name: "Pod-Selector", cell: ({ spec }) => pairs(spec?.podSelector?.matchLabels) },
  AGE,
];

const CONFIG_MAPS: Columns<ConfigMap> = [
  NAME,
  count(
    "Data",
    ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
  ),
  AGE,
];

const LEASES: Columns<Lease> = [
  NAME,
  { name: "Holder", absent: "", cell: ({ spec }) => spec?.holderIdentity },
  AGE,
];

const SERVICE_CIDRS: Columns<ServiceCIDR> = [
  NAME,
  { name: "CIDRs", cell: ({ spec }) => spec?.cidrs?.join(",") },
  AGE,
];

const RUNTIME_CLASSES: Columns<RuntimeClass> = [
  NAME,
  { name: "Handler", cell: ({ handler }) => handler },
  AGE,
];

const EVENTS: Columns<KubeEvent> = [
  {
    name: "Last Seen",
    mullion: "never",
    cell: ({ lastTimestamp, eventTime, metadata }, nowMs) =>
      since(lastTimestamp ?? eventTime ?? metadata.creationTimestamp, nowMs),
  },
  { name: "Type", absent: "", cell: ({ type }) => type },
  { name: "Reason", absent: "", cell: ({ reason }) => reason },
  {
    name: "Object",
    cell: ({ involvedObject: { kind = "", name = "" } }) => `${kind.toLowerCase()}/${name}`,
  },
  { name: "Message", cell: ({ message }) => (message ?? "").trim() },
];

const COLUMNS: { readonly [Kind in KubeKind]: Columns<KubeObjects[Kind]> } = {
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
  ServiceCIDR: SERVICE_CIDRS,
  RuntimeClass: RUNTIME_CLASSES,
  Event: EVENTS,
};

/** A column as one program shows it. */
export interface ShownColumn {
  readonly name: string;
  readonly isWide: boolean;
  readonly isNumber: boolean;
  readonly cell: (object: KubeObject, nowMs: number) => string | number;
}

/** The columns that a program shows of a kind. */
function columnsOf(kind: KubeKind, program: "kubectl" | "mullion"): readonly ShownColumn[] {
  // All objects are of this kind.
  const columns = COLUMNS[kind] as Columns<KubeObject>;
  return columns
    .filter((column) => column[program] !== "never")
    .map((column) => ({
      name: column.name,
      isWide: column[program] === "wide",
      isNumber: column.isNumber === true,
      cell: (object, nowMs) =>
        column.cell(object, nowMs) ?? (program === "kubectl" ? (column.absent ?? NONE) : ""),
    }));
}

/** What `kubectl get` shows. */
export function kubectlColumns(kind: KubeKind): readonly ShownColumn[] {
  return columnsOf(kind, "kubectl");
}

/** What `mullion get` shows. Cells are empty where there is nothing, and none depends on the time. */
export function mullionColumns(kind: KubeKind): readonly ShownColumn[] {
  return columnsOf(kind, "mullion");
}
