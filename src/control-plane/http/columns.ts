/** How Kubernetes objects are listed: the columns of data/facts/kube-columns.yaml, and how their cells are written. */
import { kubeColumns } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { mappingOf } from "#core/base/json.ts";
import type {
  ConfigMap,
  Endpoints,
  EndpointSlice,
  KubeEvent,
  KubeKind,
  KubeObject,
  Node,
  Pod,
  Service,
} from "#contracts/kubernetes/objects.ts";
import { type ContainerStatus, isFinished, isSidecar } from "#contracts/kubernetes/pod.ts";

const NONE = "<none>";
/** When a column is shown: `wide` with `-o wide` only. */
const WIDTHS = ["wide", "never"] as const;
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

/** Undefined for none. */
function joined(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : texts.join(",");
}

/** More addresses than this are counted. */
const SHOWN_ADDRESSES_MAX = 3;

function shortened(texts: readonly string[]): string | undefined {
  const rest = texts.length - SHOWN_ADDRESSES_MAX;
  const shown = texts.slice(0, SHOWN_ADDRESSES_MAX);
  return rest > 0 ? `${shown.join(",")} + ${rest} more...` : joined(shown);
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

type Containers = NonNullable<Pod["spec"]>["containers"];

function podPorts(containers: Containers = []): string | undefined {
  const ports = containers.flatMap((container) => container.ports ?? []);
  return joined(
    ports.map(({ containerPort, hostPort, protocol = "TCP" }) =>
      hostPort === undefined ? `${containerPort}/${protocol}` : `${hostPort}:${containerPort}/${protocol}`,
    ),
  );
}

function podMessage({ message, conditions = [] }: NonNullable<Pod["status"]> = {}): string | undefined {
  const failed = conditions.find((each) => each.status === "False" && each.message !== undefined);
  return message ?? failed?.message;
}

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const word = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

function nodeRoles(labels: Labels = {}): string | undefined {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(labels).flatMap((label) =>
    label.startsWith(prefix) ? label.slice(prefix.length) : [],
  );
  return joined(roles.toSorted());
}

function externalAddresses({ spec, status }: Service): string | undefined {
  if (spec?.type === "ExternalName") return spec.externalName;
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "");
  const all = [...ingress, ...(spec?.externalIPs ?? [])];
  return all.length === 0 && spec?.type === "LoadBalancer" ? "<pending>" : joined(all);
}

type Labels = Readonly<Record<string, string>>;
type NodeAddresses = NonNullable<Node["status"]>["addresses"];
type ServicePorts = NonNullable<Service["spec"]>["ports"];

/** A cell of what stands at the path of a column. What a path leads to is of the type that its form takes. */
type Form = (value: never, nowMs: number) => string | number | undefined;

function asItStands(value: string | number | undefined): string | number | undefined {
  return value;
}

const FORMS = {
  nothing: () => undefined,
  age: since,
  list: (texts?: readonly string[]) => texts?.join(","),
  trimmed: (text = "") => text.trim(),
  pairs: (labels: Labels = {}) => joined(Object.entries(labels).map(([label, value]) => `${label}=${value}`)),
  names: (containers: Containers = []) => joined(containers.map(({ name }) => name)),
  images: (containers: Containers = []) => joined(containers.map(({ image }) => image ?? "")),
  podReady: (pod: Pod) => podSummary(pod).ready,
  podStatus: (pod: Pod) => podSummary(pod).status,
  restarts: (statuses: readonly ContainerStatus[] = []) =>
    statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
  podPorts,
  podMessage,
  nodeStatus,
  nodeRoles,
  nodeOs: ({ metadata, status }: Node) =>
    metadata.labels?.["kubernetes.io/os"] ?? status?.nodeInfo?.operatingSystem,
  internalAddress: (all: NodeAddresses = []) => all.find(({ type }) => type === "InternalIP")?.address,
  externalAddress: (all: NodeAddresses = []) => all.find(({ type }) => type === "ExternalIP")?.address,
  suspended: (isSuspended?: boolean) => (isSuspended === true ? "True" : "False"),
  externalAddresses,
  servicePorts: (ports: ServicePorts = []) =>
    joined(
      ports.map(({ port, nodePort = 0, protocol = "TCP" }) =>
        nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
      ),
    ),
  slicePorts: (ports: EndpointSlice["ports"] = []) => joined(ports.map(({ port }) => String(port ?? "*"))),
  sliceAddresses: (endpoints: EndpointSlice["endpoints"] = []) =>
    shortened(endpoints.flatMap(({ addresses }) => addresses)),
  readyEndpoints: (endpoints: EndpointSlice["endpoints"] = []) =>
    `${endpoints.filter(({ conditions }) => conditions?.ready !== false).length}/${endpoints.length}`,
  subsets: (subsets: Endpoints["subsets"] = []) =>
    shortened(
      subsets.flatMap(({ addresses = [], ports = [] }) =>
        addresses.flatMap(({ ip }) => ports.map(({ port }) => `${ip}:${port}`)),
      ),
    ),
  dataEntries: ({ data = {}, binaryData = {} }: ConfigMap) =>
    Object.keys(data).length + Object.keys(binaryData).length,
  lastSeen: ({ lastTimestamp, eventTime, metadata }: KubeEvent, nowMs: number) =>
    since(lastTimestamp ?? eventTime ?? metadata.creationTimestamp, nowMs),
  reference: ({ kind = "", name = "" }: KubeEvent["involvedObject"]) => `${kind.toLowerCase()}/${name}`,
};

/** A column as one program shows it. */
export interface ShownColumn {
  readonly name: string;
  readonly isWide: boolean;
  readonly isNumber: boolean;
  readonly cell: (object: KubeObject, nowMs: number) => string | number;
}

type Program = "kubectl" | "mullion";
type Cell = (object: KubeObject, nowMs: number) => string | number | undefined;

/** What stands in an object at a path, undefined for nothing. */
function valueAt(object: KubeObject, path: string | undefined): unknown {
  let value: unknown = object;
  for (const name of path?.split(".") ?? []) value = mappingOf(value)[name];
  return value ?? undefined;
}

function cellOf(row: CheckedFields, isNumber: boolean): Cell {
  const [path, of] = [row.optionalText("path"), row.optionalText("of")];
  const form = row.optionalWord("as", Object.keys(FORMS) as (keyof typeof FORMS)[]);
  const fallback = isNumber ? (row.optionalNumber("default") ?? 0) : row.optionalText("default");
  if (of !== undefined)
    return (object) => `${Number(valueAt(object, path) ?? 0)}/${Number(valueAt(object, of) ?? 1)}`;
  const write: Form = form === undefined ? asItStands : FORMS[form];
  return (object, nowMs) => write(valueAt(object, path) as never, nowMs) ?? fallback;
}

/** The columns that a program shows of a kind. */
function columnsOf(kind: KubeKind, program: Program): readonly ShownColumn[] {
  const rows = CheckedFields.ofTable(kubeColumns()).items(kind);
  return rows.flatMap((row) => {
    const name = row.text("name");
    const kubectl = row.optionalWord("kubectl", WIDTHS);
    const mullion = row.optionalWord("mullion", WIDTHS);
    const isNumber = row.isSet("isNumber");
    const absent = row.optionalText("absent") ?? NONE;
    const cell = cellOf(row, isNumber);
    row.end();
    const shown = program === "kubectl" ? kubectl : mullion;
    if (shown === "never") return [];
    const nothing = program === "kubectl" ? absent : "";
    const shownCell: ShownColumn["cell"] = (object, nowMs) => cell(object, nowMs) ?? nothing;
    return [{ name, isWide: shown === "wide", isNumber, cell: shownCell }];
  });
}

/** What `kubectl get` shows. */
export function kubectlColumns(kind: KubeKind): readonly ShownColumn[] {
  return columnsOf(kind, "kubectl");
}

/** What `mullion get` shows. Cells are empty where there is nothing, and none depends on the time. */
export function mullionColumns(kind: KubeKind): readonly ShownColumn[] {
  return columnsOf(kind, "mullion");
}
