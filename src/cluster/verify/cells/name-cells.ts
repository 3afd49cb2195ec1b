/** Cells that ask a Service by name. */
import type { FlowName } from "#core/catalogue/expectations.ts";
import { type Cell, makeCell } from "./cell.ts";
import { groupBy } from "../classes.ts";
import { isOrdinary, pairFacts, serviceFacts } from "../facts.ts";
import type { VerifyModel, VerifyPod, VerifyService, VerifyServicePort } from "../model.ts";
import {
  type AskedPort,
  answerersOf,
  backEndsFor,
  classOfClient,
  clientAmong,
  rotate,
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
  });
}

/** Full and short name of one Service from the clients of one class. */
function namesOf(model: VerifyModel, asked: AskedPort, clients: readonly VerifyPod[]): readonly Cell[] {
  const { service, port } = asked;
  // A pod that is called as the Service finds itself under the short name, before any name service is asked.
  const here = clients.filter(
    (pod) => pod.namespace === service.namespace && pod.hostname.toLowerCase() !== service.name,
  );
  const [anybody, neighbor] = [clientAmong(clients, port, model), clientAmong(here, port, model)];
  const fullName = `${service.name}.${service.namespace}.svc.${model.dnsZone ?? "cluster.local"}`;
  const full = anybody && { source: anybody, name: fullName, standsFor: clients.length };
  const short = neighbor && { source: neighbor, name: service.name, standsFor: here.length };
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
  const classes = [...groupBy(resolving, classOfClient).values()];
  const partial = asked.find(
    ({ service, port }) => service.kind === "cluster-ip" && port.backEnds.length > 0,
  );
  return [
    ...asked.flatMap((each, index) =>
      classes.flatMap((clients) => namesOf(model, each, rotate(clients, index))),
    ),
    ...classes.flatMap((clients) => dnsCells(model, clients)),
    ...(partial === undefined ? [] : classes.flatMap((clients) => partialName(model, partial, clients))),
  ];
}
