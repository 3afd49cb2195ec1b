/** Cells that ask a Service by name. */
import type { FlowName } from "#core/catalogue/expectations.ts";
import { type Cell, makeCell } from "./cell.ts";
import { isOrdinary, pairFacts, serviceFacts } from "../facts.ts";
import type { VerifyModel, VerifyPod, VerifyService, VerifyServicePort } from "../model.ts";
import {
  type AskedPort,
  answerersOf,
  backEndsFor,
  classOfClient,
  clientAmong,
  whyItFails,
} from "../service-port.ts";

/** The host outside to which an ExternalName leads; undefined for an unknown one. */
function hostBehind(model: VerifyModel, service: VerifyService): VerifyModel["outside"][number] | undefined {
  const name = service.externalName?.replace(/\.$/, "").toLowerCase();
  if (service.kind !== "external-name") return undefined;
  return model.outside.find(({ names }) => names.some((each) => each.toLowerCase() === name));
}

/** The port that stands for a Service; an ExternalName has that of the host, whatever it says itself. */
function portOf(model: VerifyModel, service: VerifyService): VerifyServicePort | undefined {
  if (service.kind !== "external-name") return service.ports[0];
  const ports = hostBehind(model, service)?.ports ?? [];
  const port = ports.find(({ protocol }) => protocol === "tcp")?.port ?? service.ports[0]?.port ?? 80;
  return { name: "", protocol: "tcp", port, nodePort: undefined, backEnds: [] };
}

/** A headless Service is asked on the port of its pods. */
function askedPort({ service, port }: AskedPort): number {
  return service.kind === "headless" ? (port.backEnds[0]?.port ?? port.port) : port.port;
}

function answerersByName(
  model: VerifyModel,
  asked: AskedPort,
  source: VerifyPod,
): readonly string[] | undefined {
  const { service } = asked;
  if (service.kind === "external-name") {
    const host = hostBehind(model, service);
    return host === undefined ? undefined : [host.reference];
  }
  // A headless name leads to every ready pod, whatever internalTrafficPolicy says.
  return answerersOf(
    service.kind === "headless" ? asked.port.backEnds : backEndsFor(asked, source.node, model),
  );
}

interface NameRequest {
  readonly source: VerifyPod;
  readonly name: string;
  readonly standsFor: number;
}

function nameCell(model: VerifyModel, flow: FlowName, asked: AskedPort, request: NameRequest): Cell {
  const { service, port } = asked;
  const { source, name, standsFor } = request;
  const host = hostBehind(model, service);
  const facts = serviceFacts(model, flow, port.protocol, { source, service, port });
  const hasName = service.kind !== "external-name" || host !== undefined;
  // Behind an ExternalName the packet goes to the host itself.
  const way =
    host === undefined ? undefined : pairFacts(model, flow, port.protocol, { source, target: host });
  return makeCell({
    facts: {
      ...facts,
      hasName,
      ...(way === undefined ? {} : { outboundNat: way.outboundNat, hasRouteToSource: way.hasRouteToSource }),
    },
    source,
    target: {
      reference: service.reference,
      address: service.clusterIp,
      name,
      port: askedPort(asked),
      answerers: answerersByName(model, asked, source),
    },
    standsFor,
    ...whyItFails(asked, source.node, model),
  });
}

/** Clients of one class that are in one namespace. */
interface Neighbors {
  readonly pods: readonly VerifyPod[];
  /** Where each stands among all of the class. */
  readonly places: readonly number[];
  /** In small letters. */
  readonly hostnames: ReadonlySet<string>;
}

/** Clients of one class. They are many, and each Service asks for one of them: sorted once. */
class NameClients {
  readonly all: readonly VerifyPod[];
  private readonly byNamespace: ReadonlyMap<string, Neighbors>;

  constructor(all: readonly VerifyPod[]) {
    this.all = all;
    const places = Map.groupBy([...all.keys()], (place) => all[place]?.namespace ?? "");
    this.byNamespace = new Map(
      [...places].map(([namespace, own]) => {
        const pods = own.flatMap((place) => all[place] ?? []);
        return [namespace, { pods, places: own, hostnames: new Set(pods.map(hostnameOf)) }];
      }),
    );
  }

  /** Those who can ask for a Service by its short name. */
  near({ namespace, name }: VerifyService): Pick<Neighbors, "pods" | "places"> {
    const { pods, places, hostnames } = this.byNamespace.get(namespace) ?? NOBODY;
    // A pod that is called as the Service finds itself under the short name, before any name service is asked.
    if (!hostnames.has(name)) return { pods, places };
    const others = [...pods.keys()].filter((index) => hostnameOf(pods[index]) !== name);
    return {
      pods: others.flatMap((index) => pods[index] ?? []),
      places: others.flatMap((index) => places[index] ?? []),
    };
  }
}

const NOBODY: Neighbors = Object.freeze({ pods: [], places: [], hostnames: new Set<string>() });

function hostnameOf(pod: VerifyPod | undefined): string {
  return pod?.hostname.toLowerCase() ?? "";
}

/** How many of numbers that rise are below `bound`. */
function countBelow(rising: readonly number[], bound: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rising[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Full and short name of one Service from the clients of one class, from the place `from` on. */
function namesOf(model: VerifyModel, asked: AskedPort, clients: NameClients, from: number): readonly Cell[] {
  const { service, port } = asked;
  const { all } = clients;
  const here = clients.near(service);
  const anybody = clientAmong(all, port, model, from);
  const neighbor = clientAmong(here.pods, port, model, countBelow(here.places, from % all.length));
  const fullName = `${service.name}.${service.namespace}.svc.${model.dnsZone ?? "cluster.local"}`;
  const full = anybody && { source: anybody, name: fullName, standsFor: all.length };
  const short = neighbor && { source: neighbor, name: service.name, standsFor: here.pods.length };
  return [
    ...(full === undefined ? [] : [nameCell(model, "pod-to-service-full-name", asked, full)]),
    ...(short === undefined ? [] : [nameCell(model, "pod-to-service-short-name", asked, short)]),
  ];
}

/** `name.namespace` and `name.namespace.svc` of one Service: a question about resolvers, not about Services. */
function partialName(model: VerifyModel, asked: AskedPort, clients: readonly VerifyPod[]): readonly Cell[] {
  const source = clientAmong(clients, asked.port, model);
  if (source === undefined) return [];
  const { namespace, name } = asked.service;
  return [`${name}.${namespace}`, `${name}.${namespace}.svc`].map((partial) =>
    nameCell(model, "pod-to-service-partial-name", asked, {
      source,
      name: partial,
      standsFor: clients.length,
    }),
  );
}

const DNS_PORT = 53;

/** Each transport of the cluster's DNS, from one client: what is too long for UDP goes over TCP. */
function dnsCells(model: VerifyModel, clients: readonly VerifyPod[]): readonly Cell[] {
  const [source] = clients;
  const service = model.services.find(({ reference }) => reference === model.dns?.reference);
  const address = service?.clusterIp;
  if (source === undefined || service === undefined || address === undefined) return [];
  const question = `${service.name}.${service.namespace}.svc.${model.dnsZone ?? "cluster.local"}`;
  return (model.dns?.protocols ?? []).map((protocol) => {
    const port = { name: "", protocol, port: DNS_PORT, nodePort: undefined, backEnds: [] };
    return makeCell({
      facts: serviceFacts(model, "pod-to-cluster-dns", protocol, { source, service, port }),
      source,
      target: {
        reference: service.reference,
        address,
        name: undefined,
        port: DNS_PORT,
        question,
        answerers: undefined,
      },
      standsFor: clients.length,
    });
  });
}

export function nameCells(model: VerifyModel): readonly Cell[] {
  const asked = model.services.flatMap((service) => {
    const port = portOf(model, service);
    return port === undefined ? [] : [{ service, port }];
  });
  const resolving = model.pods.filter((pod) => isOrdinary(pod) && pod.usesClusterDns);
  const classes = [...Map.groupBy(resolving, classOfClient).values()];
  const sorted = classes.map((clients) => new NameClients(clients));
  const partial = asked.find(
    ({ service, port }) => service.kind === "cluster-ip" && port.backEnds.length > 0,
  );
  return [
    ...asked.flatMap((each, index) => sorted.flatMap((clients) => namesOf(model, each, clients, index))),
    ...classes.flatMap((clients) => dnsCells(model, clients)),
    ...(partial === undefined ? [] : classes.flatMap((clients) => partialName(model, partial, clients))),
  ];
}
