/** What the DNS server keeps of Services and EndpointSlices: frozen values, shared by all copies of a world. */
import { addToList } from "#core/base/keyed-lists.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";

/** A port; names and protocols in lower case. */
export interface PortRecord {
  /** Empty when the port has no name. */
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

export interface ServiceRecord {
  readonly namespace: string;
  readonly name: string;
  readonly kind: "cluster-ip" | "headless" | "external-name";
  /** The cluster addresses of a Service that has them. */
  readonly ips: readonly Ip[];
  /** Undefined: the Service has no ports. */
  readonly ports: readonly PortRecord[] | undefined;
  /** The target of an ExternalName Service; empty when it cannot be written in DNS. */
  readonly externalName: string;
}

/** One address of an endpoint that is ready. */
export interface DnsEndpoint {
  readonly ip: Ip;
  /** Its label under the Service, in lower case: the endpoint's host name, else its address with dashes. */
  readonly label: string;
  /** True when the label is the endpoint's host name. */
  readonly isNamed: boolean;
}

export interface SliceRecord {
  readonly namespace: string;
  readonly name: string;
  readonly service: string;
  readonly ports: readonly PortRecord[] | undefined;
  readonly endpoints: readonly DnsEndpoint[];
  readonly byLabel: ReadonlyMap<string, readonly DnsEndpoint[]>;
}

interface NamedPort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
}

function readPorts(ports: readonly NamedPort[] | undefined): readonly PortRecord[] | undefined {
  if (ports === undefined || ports.length === 0) return undefined;
  return Object.freeze(
    ports.flatMap(({ name, protocol, port }) =>
      port === undefined
        ? []
        : Object.freeze({
            name: (name ?? "").toLowerCase(),
            protocol: (protocol ?? "TCP").toLowerCase(),
            port,
          }),
    ),
  );
}

/** True for one label that can be written in DNS. */
function isLabel(text: string): boolean {
  return isDnsName(text) && !text.includes(".");
}

/** The target of an ExternalName Service. CoreDNS gives no record for one that is an address. */
function readExternalName(text: string | undefined): string {
  const name = (text ?? "").replace(/\.$/, "");
  return isDnsName(name) && parseIp(name) === undefined ? name : "";
}

/** Undefined when the Service's name cannot stand in DNS, which Kubernetes allows for none. */
export function serviceRecordOf(service: Service): ServiceRecord | undefined {
  const { name, namespace } = service.metadata;
  if (!isLabel(name) || !isLabel(namespace)) return undefined;
  const { type, clusterIP, clusterIPs, ports, externalName } = service.spec ?? {};
  const texts = clusterIPs ?? (clusterIP === undefined ? [] : [clusterIP]);
  const isHeadless = texts[0] === "None";
  const ips = texts.map(parseIp).filter((ip): ip is Ip => ip !== undefined);
  const kind = type === "ExternalName" ? "external-name" : isHeadless ? "headless" : "cluster-ip";
  return Object.freeze({
    namespace: namespace.toLowerCase(),
    name: name.toLowerCase(),
    kind,
    ips: Object.freeze(kind === "cluster-ip" ? ips : []),
    ports: readPorts(ports),
    externalName: kind === "external-name" ? readExternalName(externalName) : "",
  });
}

/** The label of an endpoint without a host name: `10-244-1-5`, `fd00--5`. */
function labelOfAddress(ip: Ip): string {
  const label = formatIp(ip).replaceAll(".", "-").replaceAll(":", "-");
  // CoreDNS: a label may not end with a dash.
  return label.endsWith("-") ? `${label}0` : label;
}

function endpointRecords(slice: EndpointSlice): readonly DnsEndpoint[] {
  const records: DnsEndpoint[] = [];
  for (const { addresses, conditions, hostname } of slice.endpoints ?? []) {
    // A condition that is not there counts as ready (the field's own documentation). The controller says "ready" for
    // all endpoints of a Service with publishNotReadyAddresses, so that this one condition decides.
    if (conditions?.ready === false) continue;
    const isNamed = hostname !== undefined && isLabel(hostname);
    for (const text of addresses) {
      const ip = parseIp(text);
      if (ip === undefined) continue;
      const label = isNamed ? hostname.toLowerCase() : labelOfAddress(ip);
      records.push(Object.freeze({ ip, label, isNamed }));
    }
  }
  return Object.freeze(records);
}

/** Undefined for a slice of no Service that DNS could name, and for one of names in place of addresses. */
export function sliceRecordOf(slice: EndpointSlice): SliceRecord | undefined {
  const service = slice.metadata.labels?.[SERVICE_NAME_LABEL];
  if (service === undefined || slice.addressType === "FQDN") return undefined;
  if (!isLabel(service) || !isLabel(slice.metadata.namespace)) return undefined;
  const endpoints = endpointRecords(slice);
  const byLabel = new Map<string, DnsEndpoint[]>();
  for (const endpoint of endpoints) {
    addToList(byLabel, endpoint.label, endpoint);
  }
  return Object.freeze({
    namespace: slice.metadata.namespace.toLowerCase(),
    name: slice.metadata.name,
    service: service.toLowerCase(),
    ports: readPorts(slice.ports),
    endpoints,
    byLabel,
  });
}
