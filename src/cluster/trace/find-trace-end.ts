/** Who a user means by `pod/default/web`, `node/win-1`, `external` or an address. */
import { listed } from "#core/base/text-layout.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Pod, Service } from "#contracts/kubernetes/objects.ts";
import { isFinished } from "#contracts/kubernetes/pod.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { type Cluster, type ClusterPod, podAt } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import type { TraceEndDescription } from "./trace-report.ts";
import { podOfWorkload } from "./workload-pods.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** More names than this help nobody. */
const KNOWN_MAX = 20;

/** Somebody found: where packets start, and the address they go to. */
export interface TraceEnd {
  readonly description: TraceEndDescription;
  /** The stack it sends from; undefined for an address that nobody in the cluster has. */
  readonly compartment: Compartment | undefined;
  readonly ip: Ip;
  /** Its address of the other family; undefined when it has none. */
  readonly ip6?: Ip | undefined;
}

/** The party by its IPv6 address. @throws RequestError when it has none. */
export function byIpv6(traceEnd: TraceEnd): TraceEnd {
  const { description, ip, ip6 } = traceEnd;
  if (typeof ip === "bigint") return traceEnd;
  if (ip6 !== undefined)
    return { ...traceEnd, ip: ip6, description: { ...description, address: formatIp(ip6) } };
  throw new RequestError(
    "unknown-object",
    `${description.reference} has no IPv6 address`,
    WORDS.adviceEnableIpv6,
  );
}

/** What stands before a pod's name where it is said what is meant. */
const POD_PREFIX = "pod/";

function withoutPodPrefix(text: string): string {
  return text.startsWith(POD_PREFIX) ? text.slice(POD_PREFIX.length) : text;
}

function podReference(pod: ClusterPod): string {
  return `pod/${pod.spec.namespace}/${pod.spec.name}`;
}

/** Its stack is looked for when somebody reads it: a pod's node may be at rest. */
function podTraceEnd(pod: ClusterPod): TraceEnd {
  return {
    description: {
      reference: podReference(pod),
      node: pod.node.spec.name,
      address: formatIp(pod.address),
    },
    get compartment() {
      return pod.compartment;
    },
    ip: pod.address,
    ip6: pod.address6,
  };
}

/** A party and the names a user may write for it, the full one first. */
interface NamedTraceEnd {
  readonly traceEnd: TraceEnd;
  readonly names: readonly string[];
}

function namesOfPod({ spec }: ClusterPod): readonly string[] {
  const { namespace, name } = spec;
  const short = namespace === "default" ? [`pod/${name}`, name] : [];
  return [`pod/${namespace}/${name}`, `${namespace}/${name}`, ...short];
}

/** Everybody who is no pod, in the order in which names are looked for. */
function otherTraceEnds({ nodes, outside, apiServers, file }: Cluster): readonly NamedTraceEnd[] {
  return [
    ...nodes.map(({ spec, host }) => {
      const reference = `node/${spec.name}`;
      const description = { reference, node: spec.name, address: formatIp(spec.address) };
      const ip6 = file.ipv6?.nodes[spec.name]?.address;
      return { traceEnd: { description, compartment: host.root, ip: spec.address, ip6 }, names: [reference] };
    }),
    ...outside.map((each, index) => ({
      traceEnd: {
        description: { reference: each.name, address: formatIp(each.ip) },
        compartment: each.compartment,
        ip: each.ip,
        ip6: each.ip6,
      },
      names: index === 0 ? [each.name, "external", "outside"] : [each.name],
    })),
    ...apiServers.map(({ name, ip, compartment }) => ({
      traceEnd: { description: { reference: name, address: formatIp(ip) }, compartment, ip, ip6: undefined },
      names: [name],
    })),
  ];
}

function namedTraceEnds(cluster: Cluster): readonly NamedTraceEnd[] {
  return [
    ...cluster.pods.map((pod) => ({ traceEnd: podTraceEnd(pod), names: namesOfPod(pod) })),
    ...otherTraceEnds(cluster),
  ];
}

/** The first pod with one of these names (`namesOfPod`). A cluster has many pods, so that none of their names is made for it. */
function podNamed({ pods }: Cluster, text: string): ClusterPod | undefined {
  // A namespace may be called `pod`, so that what begins like a reference is a name as well.
  const meant = new Set([text, withoutPodPrefix(text)]);
  const wanted = [...meant].map((each) => (each.includes("/") ? each : `default/${each}`).split("/"));
  const pairs = wanted.filter(({ length }) => length === 2);
  return pods.find(({ spec }) =>
    pairs.some(([namespace, name]) => spec.name === name && spec.namespace === namespace),
  );
}

/** Who has a name, whole as users may write it. */
function traceEndNamed(cluster: Cluster, text: string): TraceEnd | undefined {
  const pod = podNamed(cluster, text);
  if (pod !== undefined) return podTraceEnd(pod);
  return otherTraceEnds(cluster).find(({ names }) => names.includes(text))?.traceEnd;
}

/** Everybody in the cluster, in the order of the file. */
export function listTraceEnds(cluster: Cluster): readonly TraceEnd[] {
  return namedTraceEnds(cluster).map(({ traceEnd }) => traceEnd);
}

/** `service/ns/name`, `svc/name`: as kubectl writes it, with the namespace in between. */
const SERVICE_PREFIX = /^(?:service|svc)\//;

export function serviceReference({ metadata }: Service): string {
  return `service/${metadata.namespace}/${metadata.name}`;
}

/** The Service that `text` names; in namespace `default` the namespace may be left out. */
export function findService(text: string, cluster: Cluster): Service | undefined {
  if (!SERVICE_PREFIX.test(text)) return undefined;
  const name = text.replace(SERVICE_PREFIX, "");
  const full = name.includes("/") ? name : `default/${name}`;
  return cluster.objects.Service.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === full);
}

/** The Service's address. @throws RequestError for a Service without one. */
function serviceTraceEnd(service: Service): TraceEnd {
  const reference = serviceReference(service);
  const ips = [service.spec?.clusterIP, ...(service.spec?.clusterIPs ?? [])].flatMap(
    (text) => parseIp(text ?? "") ?? [],
  );
  const [ip] = ips;
  if (ip !== undefined) {
    const ip6 = ips.find((each) => typeof each === "bigint");
    return { description: { reference, address: formatIp(ip) }, compartment: undefined, ip, ip6 };
  }
  const isExternal = service.spec?.type === "ExternalName";
  throw new RequestError(
    "unknown-object",
    `${reference} has no address of its own: ${isExternal ? "it is an ExternalName" : "it is headless"}`,
    WORDS.adviceAskPodOrDns,
  );
}

/** A pod named without its namespace, when only one pod has the name; or by what made it. */
function findPod(text: string, cluster: Cluster): TraceEnd | undefined {
  const name = withoutPodPrefix(text);
  const named = cluster.pods.filter((pod) => pod.spec.name === name);
  const found = named.length === 1 ? named[0] : podOfWorkload(cluster, text);
  return found === undefined ? undefined : podTraceEnd(found);
}

/** A pod that there is, and that has no network; named as pods with one are. */
function findPodWithoutNetwork(text: string, cluster: Cluster): Pod | undefined {
  const name = withoutPodPrefix(text);
  const full = name.includes("/") ? name : `default/${name}`;
  const { Pod: pods } = cluster.objects;
  const named = pods.filter(({ metadata }) => metadata.name === name);
  return (
    pods.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === full) ??
    (named.length === 1 ? named[0] : undefined)
  );
}

/** Why a pod has no network, in one clause. */
function describeWaiting(pod: Pod): string {
  const { metadata, spec, status } = pod;
  const { phase = "Pending", conditions = [], containerStatuses = [] } = status ?? {};
  const reference = `pod/${metadata.namespace}/${metadata.name}`;
  const reason = containerStatuses.flatMap(({ state }) => state?.waiting?.reason ?? [])[0];
  const said = conditions.find((each) => each.status === "False" && (each.message ?? "") !== "")?.message;
  const why = isFinished(pod) ? "its containers have ended" : (reason ?? said ?? "it waits");
  const where = spec?.nodeName === undefined ? "without a node" : `on node ${spec.nodeName}`;
  return `${reference} has no network: it is ${phase} ${where} (${why.replace(/\.$/, "")})`;
}

/** A pod that there is and that has no network: its reference, and why. Undefined for everybody else. */
export function podWithoutNetwork(
  cluster: Cluster,
  text: string,
): { readonly reference: string; readonly why: string } | undefined {
  const pod = findPodWithoutNetwork(text, cluster);
  if (pod === undefined) return undefined;
  const { namespace, name } = pod.metadata;
  const isThere = cluster.pods.some(({ spec }) => spec.name === name && spec.namespace === namespace);
  // What else has the name is asked last: all names of the cluster are listed for it.
  if (isThere || isKnownEnd(cluster, text)) return undefined;
  return { reference: `pod/${namespace}/${name}`, why: describeWaiting(pod) };
}

/** The full name, and the short one of namespace `default`. */
function namesOfService(service: Service): readonly string[] {
  const { namespace, name } = service.metadata;
  return [serviceReference(service), ...(namespace === "default" ? [`service/${name}`] : [])];
}

function unknownTraceEnd(text: string, cluster: Cluster, traceEnds: readonly NamedTraceEnd[]): RequestError {
  const services = cluster.objects.Service;
  const names = [...traceEnds.flatMap((each) => each.names), ...services.flatMap(namesOfService)];
  // Pods of a workload have names that begin with its own.
  const begun = names.find((name) => name.startsWith(`${text}-`));
  const near = begun ?? nearestNames(text.replace(SERVICE_PREFIX, "service/"), names, 1)[0];
  const references = [
    ...traceEnds.map(({ traceEnd }) => traceEnd.description.reference),
    ...services.map(serviceReference),
  ];
  const known = listed(references, KNOWN_MAX);
  const advice = near === undefined ? "" : `Did you mean ${JSON.stringify(near)}? `;
  return new RequestError(
    "unknown-object",
    `nothing in cluster ${JSON.stringify(cluster.file.name)} is called ${JSON.stringify(text)}`,
    `${advice}There are ${known}; an address will do, too.`,
  );
}

/**
 * Finds a party by name or address. `asker`: of several pods with the address, it means the one of its own network.
 * @throws RequestError when there is none, with the nearest name.
 */
export function findTraceEnd(cluster: Cluster, text: string, asker?: TraceEnd): TraceEnd {
  const ip = parseIp(text);
  if (ip !== undefined) {
    const description = { reference: text, address: formatIp(ip) };
    const nobody = { description, compartment: undefined, ip, ip6: undefined };
    return ownerInNetworkOf(cluster, asker, ip) ?? ownerOf(cluster, ip) ?? nobody;
  }
  const service = findService(text, cluster);
  if (service !== undefined) return serviceTraceEnd(service);
  const found = traceEndNamed(cluster, text) ?? findPod(text, cluster);
  const waiting = found === undefined ? findPodWithoutNetwork(text, cluster) : undefined;
  if (waiting !== undefined)
    throw new RequestError("unknown-object", describeWaiting(waiting), WORDS.advicePodNotRunning);
  if (found === undefined) throw unknownTraceEnd(text, cluster, namedTraceEnds(cluster));
  return found;
}

/** True for what `findTraceEnd` finds. */
export function isKnownEnd(cluster: Cluster, text: string): boolean {
  if (parseIp(text) !== undefined || findService(text, cluster) !== undefined) return true;
  return traceEndNamed(cluster, text) !== undefined || findPod(text, cluster) !== undefined;
}

/** The pod of the asker's network that has an address, where pods of several networks have it. */
function ownerInNetworkOf(cluster: Cluster, asker: TraceEnd | undefined, ip: Ip): TraceEnd | undefined {
  const own = podAt(cluster, asker?.compartment);
  const owners = cluster.pods.filter(
    ({ address, address6, spec }) => (address === ip || address6 === ip) && spec.network !== "host",
  );
  if (own === undefined || new Set(owners.map(({ spec }) => spec.podNetwork)).size < 2) return undefined;
  const near = owners.find(({ spec }) => spec.podNetwork === own.spec.podNetwork);
  if (near === undefined) return undefined;
  const end = podTraceEnd(near);
  return end.ip === ip ? end : byIpv6(end);
}

/** Who has an address: the node itself before pods in its network. */
function ownerOf(cluster: Cluster, ip: Ip): TraceEnd | undefined {
  const pods = cluster.pods.filter(({ address, address6 }) => address === ip || address6 === ip);
  const owners = [...pods.map(podTraceEnd), ...otherTraceEnds(cluster).map(({ traceEnd }) => traceEnd)]
    .filter((traceEnd) => traceEnd.ip === ip || traceEnd.ip6 === ip)
    .map((traceEnd) => (traceEnd.ip === ip ? traceEnd : byIpv6(traceEnd)));
  const isNode = ({ description }: TraceEnd): boolean => description.reference.startsWith("node/");
  return owners.find(isNode) ?? owners[0];
}
