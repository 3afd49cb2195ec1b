/** Ports of Services that lead to nobody, though there are pods or endpoints behind the Service: nothing tells it on a cluster. */
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { SERVICE_NAME_LABEL, matchesLabels } from "#contracts/kubernetes/labels.ts";
import type { Service } from "#contracts/kubernetes/objects.ts";
import { lastingContainers } from "#contracts/kubernetes/pod.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { type PodTemplate, protocolOf, templateOf } from "./assumed-ports.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

/** A port of slices or of Endpoints. */
interface EndpointPort {
  readonly name?: string;
  readonly protocol?: string;
}

function keyOfPort({ name, protocol }: EndpointPort): string {
  return `${protocolOf(protocol)} ${name === undefined || name === "" ? "without a name" : name}`;
}

/** By Service, the ports of its slices, or of its Endpoints, that have an endpoint. */
function endpointPorts(objects: readonly LoadedObject[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const add = (service: string, ports: readonly EndpointPort[] | undefined): void => {
    const known = found.get(service) ?? new Set<string>();
    for (const port of ports ?? []) known.add(keyOfPort(port));
    found.set(service, known);
  };
  for (const { object } of objects) {
    const { namespace, name, labels } = object.metadata;
    const service = labels?.[SERVICE_NAME_LABEL];
    if (object.kind === "EndpointSlice" && service !== undefined && (object.endpoints ?? []).length > 0)
      add(`${namespace}/${service}`, object.ports);
    if (object.kind !== "Endpoints") continue;
    for (const { addresses = [], ports } of object.subsets ?? [])
      if (addresses.length > 0) add(`${namespace}/${name}`, ports);
  }
  return found;
}

function declares(name: string, protocol: string, { spec }: PodTemplate): boolean {
  return lastingContainers(spec).some(({ ports }) =>
    (ports ?? []).some((port) => port.name === name && protocolOf(port.protocol) === protocol),
  );
}

/** Why no endpoint comes of a port; undefined where one does, or where nobody shows it. */
type Lack = (port: NonNullable<NonNullable<Service["spec"]>["ports"]>[number]) => string | undefined;

/** k8s.io/kubernetes, `pkg/proxy/endpointslicecache.go`: endpoints are found by the name and the protocol of their port. */
function lackOfSlices(service: string, known: ReadonlySet<string>): Lack {
  const names = [...known].join(", ");
  return (port) =>
    known.has(keyOfPort(port))
      ? undefined
      : WORDS.lonelyPortOfSlices({ service, wanted: keyOfPort(port), names: names || "none" });
}

/** k8s.io/endpointslice, `FindPort`. */
function lackOfPods(service: string, pods: readonly PodTemplate[]): Lack {
  return ({ targetPort, protocol }) => {
    if (typeof targetPort !== "string" || targetPort === "" || pods.length === 0) return undefined;
    const own = protocolOf(protocol);
    return pods.some((pod) => declares(targetPort, own, pod))
      ? undefined
      : WORDS.lonelyPortOfPods({ service, wanted: `${own} ${targetPort}` });
  };
}

/** See the head of this file. */
export function lonelyPorts(objects: readonly LoadedObject[]): readonly FileProblem[] {
  const services = objects.filter(({ object }) => object.kind === "Service");
  if (services.length === 0) return [];
  const ofSlices = endpointPorts(objects);
  const templates = objects.flatMap((loaded) => templateOf(loaded) ?? []);
  return services.flatMap(({ object, origin }) => {
    const { metadata, spec } = object as Service;
    const { selector = {}, type, clusterIP, ports = [] } = spec ?? {};
    if (type === "ExternalName" || clusterIP === "None") return [];
    const service = `${metadata.namespace}/${metadata.name}`;
    const known = ofSlices.get(service);
    const selects = ({ namespace, labels }: PodTemplate): boolean =>
      namespace === metadata.namespace && matchesLabels(selector, labels);
    const isSelector = Object.keys(selector).length > 0;
    const lack =
      known === undefined
        ? lackOfPods(service, isSelector ? templates.filter(selects) : [])
        : lackOfSlices(service, known);
    const { file = "", line = 0, column = 0 } = origin ?? {};
    return ports.flatMap((port, index): readonly FileProblem[] => {
      const message = lack(port);
      return message === undefined
        ? []
        : [
            {
              code: "service-target-port-undeclared",
              file,
              line,
              column,
              path: `spec.ports[${index}]`,
              message,
              advice: WORDS.adviceLonelyPort,
            },
          ];
    });
  });
}
