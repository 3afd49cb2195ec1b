/**
 * What programs are taken to do, though no manifest says so. Where a Service leads to, a server is taken to be (`servedPorts`),
 * and probes are taken to succeed: an answer says that it rests on it.
 */
import { andMore } from "#core/base/text-layout.ts";
import type { KubeObject, PodSpec, Service } from "#contracts/kubernetes/objects.ts";
import { DECIDING_PROBES } from "#contracts/kubernetes/probes.ts";
import { faultOfImageName } from "#contracts/kubernetes/container-image.ts";
import { podSpecOf } from "#contracts/kubernetes/runtime-class.ts";
import { type Labels, matchesLabels } from "#contracts/kubernetes/labels.ts";
import { portsOfImages } from "#contracts/kubernetes/image-ports.ts";
import { isSidecar, lastingContainers } from "#contracts/kubernetes/pod.ts";
import { clusterInput } from "#data/words.js";
import type { LoadedObject } from "#control-plane/load/manifests.ts";

const WORDS = clusterInput();

/** So many are named in one message. */
const NAMED_MAX = 3;

/** Pods, or a template of pods, of which some selector may be. */
export interface PodTemplate {
  readonly namespace: string;
  readonly labels: Labels;
  readonly spec: PodSpec | undefined;
}

/** A Service's port, and what the containers behind it declare instead: `TCP 8080`. */
export interface UndeclaredPort {
  /** Of the Service: `default/web`. */
  readonly service: string;
  readonly port: string;
  readonly declared: readonly string[];
}

export function templateOf({ object }: LoadedObject): PodTemplate | undefined {
  const { kind, metadata } = object;
  const { namespace } = metadata;
  if (kind === "Pod") return { namespace, labels: metadata.labels ?? {}, spec: object.spec };
  if (kind !== "Deployment" && kind !== "StatefulSet" && kind !== "DaemonSet" && kind !== "ReplicaSet")
    return undefined;
  const { metadata: own, spec } = object.spec?.template ?? {};
  return { namespace, labels: own?.labels ?? {}, spec };
}

function declaredIn({ spec }: PodTemplate): readonly string[] {
  const ports = lastingContainers(spec).flatMap((container) => container.ports ?? []);
  return ports.map(({ protocol, containerPort }) => `${protocolOf(protocol)} ${containerPort}`);
}

export function protocolOf(protocol: string | undefined): string {
  return protocol === undefined || protocol === "" ? "TCP" : protocol;
}

/** Where the ports lead that a Service gives as numbers. */
function targetsOf({ spec }: Service): readonly string[] {
  return (spec?.ports ?? []).flatMap(({ port, targetPort = port, protocol }) => {
    const number = targetPort === 0 || targetPort === "" ? port : targetPort;
    return typeof number === "number" ? [`${protocolOf(protocol)} ${number}`] : [];
  });
}

/** One label of a selector, by which its pods are found at once. */
function keyOf(namespace: string, [name, value]: readonly [string, string]): string {
  return `${namespace}\n${name}=${value}`;
}

/** Those of Services whose pods do not declare the one that the Service leads to; in the order of Services. */
export function undeclaredPorts(objects: readonly LoadedObject[]): readonly UndeclaredPort[] {
  const asked = objects.flatMap(({ object }) => {
    const [first] = object.kind === "Service" ? Object.entries(object.spec?.selector ?? {}) : [];
    return object.kind === "Service" && first !== undefined
      ? [{ service: object, key: keyOf(object.metadata.namespace, first) }]
      : [];
  });
  const found = new Map<string, PodTemplate[]>(asked.map(({ key }) => [key, []]));
  for (const loaded of objects) {
    const template = templateOf(loaded);
    if (template === undefined) continue;
    for (const label of Object.entries(template.labels))
      found.get(keyOf(template.namespace, label))?.push(template);
  }
  return asked.flatMap(({ service, key }) => {
    const { metadata, spec } = service;
    const pods = (found.get(key) ?? []).filter(({ labels }) => matchesLabels(spec?.selector ?? {}, labels));
    // What is known of the images needs no assumption, and what makes no pods has none that listen.
    if (pods.every((pod) => portsOfImages(lastingContainers(pod.spec)) !== undefined)) return [];
    const declared = [...new Set(pods.flatMap(declaredIn))];
    const name = `${metadata.namespace}/${metadata.name}`;
    return targetsOf(service)
      .filter((port) => !declared.includes(port))
      .map((port) => ({ service: name, port, declared }));
  });
}

/** The same as a sentence; undefined where there is none. */
export function describeUndeclaredPorts(ports: readonly UndeclaredPort[]): string | undefined {
  if (ports.length === 0) return undefined;
  const named = ports.map(
    ({ service, port, declared }) => `${service} to ${port} (declared: ${declared.join(", ") || "none"})`,
  );
  return WORDS.portsAssumed({ ports: firstNamed(named) });
}

function firstNamed(names: readonly string[]): string {
  const more = names.length > NAMED_MAX ? [`and ${names.length - NAMED_MAX} more`] : [];
  return [...names.slice(0, NAMED_MAX), ...more].join("; ");
}

/** The network leads an external address to a node; Kubernetes does nothing for that. Addresses of nodes are there already. */
export function describeExternalAddresses(objects: readonly LoadedObject[]): string | undefined {
  const ofNodes = new Set(
    objects.flatMap(({ object }) =>
      object.kind === "Node" ? (object.status?.addresses ?? []).map(({ address }) => address) : [],
    ),
  );
  const external = objects.flatMap(({ object }) => {
    if (object.kind !== "Service") return [];
    const strange = (object.spec?.externalIPs ?? []).filter((address) => !ofNodes.has(address));
    const { namespace, name } = object.metadata;
    return strange.length === 0 ? [] : [`${namespace}/${name} (${strange.join(", ")})`];
  });
  return external.length === 0
    ? undefined
    : WORDS.externalAddressesAssumed({ services: firstNamed(external) });
}

/** Pods that a Service gives names: `StatefulSet shop/db`, by the Service `db-headless`. */
interface NamedPods {
  readonly pods: LoadedObject;
  readonly service: string;
  readonly labels: Labels;
}

/** Kubernetes documentation, StatefulSet: stable network ID; DNS for Services and Pods: hostname and subdomain. */
function namedPods(loaded: LoadedObject): readonly NamedPods[] {
  const { object } = loaded;
  const template = templateOf(loaded);
  const { hostname = "", subdomain = "" } = template?.spec ?? {};
  const own = object.kind === "StatefulSet" ? (object.spec?.serviceName ?? "") : "";
  const service = own === "" && hostname !== "" ? subdomain : own;
  // What a StatefulSet of the input made is told of the StatefulSet.
  const isMade = object.kind === "Pod" && (object.metadata.ownerReferences ?? []).length > 0;
  return template === undefined || service === "" || isMade
    ? []
    : [{ pods: loaded, service, labels: template.labels }];
}

/** Pods whose names no Service gives, because the one that they ask for is not there, or selects others. */
export interface NamelessPods extends NamedPods {
  /** The input shows that the Service is nowhere else. */
  readonly isCertain: boolean;
}

/** See `NamelessPods`. A Service without a selector may have slices that somebody writes. */
export function namelessPods(objects: readonly LoadedObject[]): readonly NamelessPods[] {
  const named = objects.flatMap(namedPods);
  if (named.length === 0) return [];
  const services = objects.flatMap(({ object }) => (object.kind === "Service" ? [object] : []));
  const isShown = services.some(({ metadata }) => metadata.uid !== "");
  return named.flatMap((each) => {
    const { namespace, uid } = each.pods.object.metadata;
    const near = services.filter(({ metadata }) => metadata.namespace === namespace);
    const selects = ({ spec }: Service): boolean => {
      const selector = spec?.selector ?? {};
      return Object.keys(selector).length > 0 && matchesLabels(selector, each.labels);
    };
    const service = near.find(({ metadata }) => metadata.name === each.service);
    if (service !== undefined) {
      const hasNone = Object.keys(service.spec?.selector ?? {}).length === 0;
      return hasNone || selects(service) ? [] : [{ ...each, isCertain: true }];
    }
    const isOther = near.some((other) => other.spec?.clusterIP === "None" && selects(other));
    return [{ ...each, isCertain: isOther || (isShown && uid !== "") }];
  });
}

function nameOfPods({ pods, service }: NamelessPods): string {
  const { kind, metadata } = pods.object;
  return `${kind} ${metadata.namespace}/${metadata.name} (${service})`;
}

/** The same as a sentence; undefined where there are none. */
export function describeNamelessPods(pods: readonly NamelessPods[]): string | undefined {
  return pods.length === 0
    ? undefined
    : WORDS.podNamesNotAsked({ pods: firstNamed(pods.map((each) => nameOfPods(each))) });
}

/** Of pods that are made here: a CronJob makes none, for no time of day comes. */
function specOf(object: KubeObject): PodSpec | undefined {
  return object.kind === "CronJob" ? undefined : podSpecOf(object);
}

/** Init containers are not run. What an API server gave has a status that tells whether they have ended. */
export function describeInitContainers(objects: readonly LoadedObject[]): string | undefined {
  const waiting = objects.filter(
    ({ object }) =>
      object.metadata.uid === "" && (specOf(object)?.initContainers ?? []).some((each) => !isSidecar(each)),
  );
  return waiting.length === 0
    ? undefined
    : WORDS.initContainersAssumed({
        whose: firstNamed(
          waiting.map(({ object: { kind, metadata } }) => `${kind} ${metadata.namespace}/${metadata.name}`),
        ),
      });
}

/** Names of images in which something is still to be filled in; undefined where all can be read. */
export function describeOpenImages(objects: readonly LoadedObject[]): string | undefined {
  const open = objects.flatMap(({ object }) => {
    const { containers = [], initContainers = [] } = specOf(object) ?? {};
    const image = [...initContainers, ...containers]
      .map((each) => each.image ?? "")
      .find((each) => faultOfImageName(each) === "open");
    const { kind, metadata } = object;
    return image === undefined ? [] : [`${kind} ${metadata.namespace}/${metadata.name} (${image})`];
  });
  return open.length === 0 ? undefined : WORDS.imageNamesOpen({ images: firstNamed(open) });
}

/** Probes are not run. What an API server gave has a status that tells whether its pods are ready. */
export function describeProbes(objects: readonly LoadedObject[]): string | undefined {
  const probed = objects.filter(
    ({ object }) =>
      object.metadata.uid === "" &&
      lastingContainers(specOf(object)).some((each) =>
        DECIDING_PROBES.some((probe) => each[probe] !== undefined),
      ),
  );
  const [first] = probed;
  if (first === undefined) return undefined;
  const { kind, metadata } = first.object;
  const whose = `${kind} ${metadata.namespace}/${metadata.name}${andMore(probed.length - 1)}`;
  return WORDS.probesAssumed({ whose });
}
