/** Who a user means by `pod/default/web`, `node/win-1`, `external` or an address. */
import { nearestNames } from "../base/nearest-name.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Service } from "../kube/objects.ts";
import { type Ip, formatIp, parseIp } from "../net/ip.ts";
import type { Cluster, ClusterPod } from "./cluster.ts";
import { RequestError } from "./request-error.ts";
import type { TraceParty } from "./trace-report.ts";

/** More names than this help nobody. */
const KNOWN_MAX = 20;

/** Somebody found: where packets start, and the address they go to. */
export interface Party {
  readonly description: TraceParty;
  /** The stack it sends from; undefined for an address that nobody in the cluster has. */
  readonly compartment: Compartment | undefined;
  readonly ip: Ip;
}

function podReference(pod: ClusterPod): string {
  return `pod/${pod.spec.namespace}/${pod.spec.name}`;
}

function podParty(pod: ClusterPod): Party {
  return {
    description: {
      reference: podReference(pod),
      node: pod.node.spec.name,
      address: formatIp(pod.address),
    },
    compartment: pod.compartment,
    ip: pod.address,
  };
}

/** Everybody in the cluster, in the order of the file. */
export function listParties(cluster: Cluster): readonly Party[] {
  return [
    ...cluster.pods.map(podParty),
    ...cluster.nodes.map(({ spec, host }) => ({
      description: { reference: `node/${spec.name}`, node: spec.name, address: formatIp(spec.address) },
      compartment: host.root,
      ip: spec.address,
    })),
    ...cluster.outside.map((outside) => ({
      description: { reference: outside.name, address: formatIp(outside.ip) },
      compartment: outside.compartment,
      ip: outside.ip,
    })),
  ];
}

/** The names a user may write for a party, the full one first. */
function namesOf(party: Party, cluster: Cluster): readonly string[] {
  const { reference } = party.description;
  const pod = cluster.pods.find((each) => podReference(each) === reference);
  if (pod !== undefined) {
    const { namespace, name } = pod.spec;
    const isDefault = namespace === "default";
    return [reference, `${namespace}/${name}`, ...(isDefault ? [`pod/${name}`, name] : [])];
  }
  const isFirstOutside = reference === cluster.outside[0]?.name;
  return isFirstOutside ? [reference, "external"] : [reference];
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
function serviceParty(service: Service): Party {
  const reference = serviceReference(service);
  const ip = parseIp(service.spec?.clusterIP ?? "");
  if (ip !== undefined)
    return { description: { reference, address: formatIp(ip) }, compartment: undefined, ip };
  const isExternal = service.spec?.type === "ExternalName";
  throw new RequestError(
    "unknown-object",
    `${reference} has no address of its own: ${isExternal ? "it is an ExternalName" : "it is headless"}`,
    "Ask one of its pods by name, or the name by DNS.",
  );
}

/** A pod named without its namespace, when only one pod has the name. */
function findBarePod(text: string, cluster: Cluster): Party | undefined {
  const name = text.startsWith("pod/") ? text.slice("pod/".length) : text;
  const named = cluster.pods.filter((pod) => pod.spec.name === name);
  return named.length === 1 && named[0] !== undefined ? podParty(named[0]) : undefined;
}

function unknownParty(text: string, cluster: Cluster, parties: readonly Party[]): RequestError {
  const services = cluster.objects.Service.map(serviceReference);
  const names = [...parties.flatMap((party) => namesOf(party, cluster)), ...services];
  const [near] = nearestNames(text, names, 1);
  const references = [...parties.map((party) => party.description.reference), ...services];
  const hidden = references.length - KNOWN_MAX;
  const known = references.slice(0, KNOWN_MAX).join(", ") + (hidden > 0 ? ` and ${hidden} more` : "");
  const advice = near === undefined ? "" : `Did you mean ${JSON.stringify(near)}? `;
  return new RequestError(
    "unknown-object",
    `nobody in cluster ${JSON.stringify(cluster.file.name)} is called ${JSON.stringify(text)}`,
    `${advice}There are ${known}; an address will do, too.`,
  );
}

/** Finds a party by name or address. @throws RequestError when there is none, with the nearest name. */
export function findParty(cluster: Cluster, text: string): Party {
  const parties = listParties(cluster);
  const ip = parseIp(text);
  if (ip !== undefined) {
    const owner = parties.find((party) => party.ip === ip);
    const nobody = { description: { reference: text, address: formatIp(ip) }, compartment: undefined, ip };
    return owner ?? nobody;
  }
  const service = findService(text, cluster);
  if (service !== undefined) return serviceParty(service);
  const named = parties.find((party) => namesOf(party, cluster).includes(text));
  const found = named ?? findBarePod(text, cluster);
  if (found === undefined) throw unknownParty(text, cluster, parties);
  return found;
}
