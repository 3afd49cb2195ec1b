/**
 * A Service on its way into the store: families, cluster IPs and node ports are checked or chosen
 * (k8s.io/kubernetes, `pkg/registry/core/service/storage/alloc.go`). The messages are the API server's.
 */
import type { Prng } from "#core/base/prng.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp, parseIp, familyOf } from "#core/net/ip.ts";
import type { Service, ServicePort } from "#contracts/kubernetes/objects.ts";
import { keyOf } from "../object-store.ts";
import { type ServiceAllocators, familyName } from "./service-addresses.ts";
import { type ServiceSpec, completeServiceSpec, isHeadless } from "./service-defaults.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** Why a Service cannot be stored. */
export interface ServiceRefusal {
  readonly code: KnowledgeCode;
  readonly path: string;
  readonly message: string;
  readonly advice: string;
}

/** Numbers that other Services of the same batch ask for by name: chance leaves them alone. */
export interface Reservations {
  readonly addresses: ReadonlySet<string>;
  readonly ports: ReadonlySet<number>;
}

interface Admission {
  readonly owner: string;
  readonly allocators: ServiceAllocators;
  readonly prng: Prng;
  readonly reserved: Reservations;
}

type Families = { readonly ipFamilies: readonly string[]; readonly ipFamilyPolicy: string };

function refuseFamily(path: string, value: string, detail: string): ServiceRefusal {
  return {
    code: "service-address-refused",
    path,
    message: `Invalid value: ${value}: ${detail}`,
    advice: WORDS.adviceServiceRangeOfFamily,
  };
}

/** The families of a Service: what it asks for, or the cluster's first. */
function familiesOf(spec: ServiceSpec, allocators: ServiceAllocators): Families | ServiceRefusal {
  const available = allocators.addresses.map(({ family }) => family as string);
  const policy =
    spec.ipFamilyPolicy ??
    (spec.ipFamilies?.length === 2 || spec.clusterIPs?.length === 2 ? "RequireDualStack" : "SingleStack");
  if (policy === "RequireDualStack" && available.length < 2) {
    const detail = "this cluster is not configured for dual-stack services";
    return refuseFamily("spec.ipFamilyPolicy", `"${policy}"`, detail);
  }
  const asked: string[] = [...(spec.ipFamilies ?? [])];
  for (const address of spec.clusterIPs ?? [spec.clusterIP ?? ""]) {
    const ip = parseIp(address);
    if (ip !== undefined && spec.ipFamilies === undefined) asked.push(familyName(familyOf(ip)));
  }
  for (const [index, family] of asked.entries()) {
    if (available.includes(family)) continue;
    return refuseFamily(`spec.ipFamilies[${index}]`, `"${family}"`, "not configured on this cluster");
  }
  if (asked.length === 0 && available[0] !== undefined) asked.push(available[0]);
  const second = available.find((family) => !asked.includes(family));
  if (policy !== "SingleStack" && asked.length === 1 && second !== undefined) asked.push(second);
  return { ipFamilies: asked.slice(0, policy === "SingleStack" ? 1 : 2), ipFamilyPolicy: policy };
}

function isRefusal(value: object): value is ServiceRefusal {
  return "message" in value;
}

/** Checks an address that a Service asks for by name. */
function checkAddress(address: string, shown: string, admission: Admission): ServiceRefusal | undefined {
  const ip = parseIp(address);
  if (ip === undefined) return undefined;
  const refuse = (detail: string, advice: string): ServiceRefusal => ({
    code: "service-address-refused",
    path: "spec.clusterIPs",
    message: `Invalid value: ${shown}: failed to allocate IP ${formatIp(ip)}: ${detail}`,
    advice,
  });
  const allocator = admission.allocators.allocatorOf(familyName(familyOf(ip)));
  if (allocator === undefined || !allocator.contains(ip)) {
    const ranges = admission.allocators.addresses.map(String).join(",");
    const detail = WORDS.clusterIpOutOfRange({ ip: formatIp(ip), ranges });
    return refuse(detail, "Leave spec.clusterIP out, or name an address of the range.");
  }
  const other = allocator.ownerOf(ip);
  if (other === undefined || other === admission.owner) return undefined;
  return refuse("provided IP is already allocated", WORDS.adviceClusterIpTaken({ other }));
}

function addressesOf(
  spec: ServiceSpec,
  families: Families,
  admission: Admission,
): readonly string[] | ServiceRefusal {
  const given = (spec.clusterIPs ?? [spec.clusterIP ?? ""]).filter((address) => address !== "");
  for (const address of given) {
    const refusal = checkAddress(address, JSON.stringify(given), admission);
    if (refusal !== undefined) return refusal;
  }
  const chosen: string[] = [];
  for (const family of families.ipFamilies) {
    const own = given.find((address) => {
      const ip = parseIp(address);
      return ip !== undefined && familyName(familyOf(ip)) === family;
    });
    if (own !== undefined) {
      chosen.push(own);
      continue;
    }
    const allocator = admission.allocators.allocatorOf(family);
    const address = allocator?.choose(
      admission.prng.derive(`address ${family}`),
      admission.reserved.addresses,
    );
    if (address === undefined) {
      return {
        code: "service-address-refused",
        path: "spec.clusterIPs",
        message: "Internal error occurred: failed to allocate a serviceIP: range is full",
        advice: "Give the cluster a larger service range.",
      };
    }
    chosen.push(address);
  }
  return chosen;
}

function refusePort(port: number, path: string, admission: Admission): ServiceRefusal | undefined {
  const { ports } = admission.allocators;
  const other = ports.ownerOf(port);
  const isOutside = !ports.contains(port);
  if (!isOutside && (other === undefined || other === admission.owner)) return undefined;
  const detail = isOutside
    ? WORDS.nodePortOutOfRange({ first: ports.first, last: ports.last })
    : "provided port is already allocated";
  return {
    code: "service-port-refused",
    path,
    message: `Invalid value: ${port}: ${detail}`,
    advice: isOutside
      ? WORDS.adviceNodePortRange({ first: ports.first, last: ports.last })
      : WORDS.adviceNodePortTaken({ other: other ?? "" }),
  };
}

/** Node ports that one Service chooses: they differ, but TCP and UDP of one port may share a number. */
class PortChoice {
  private readonly used = new Map<number, Set<string>>();
  private readonly admission: Admission;

  constructor(admission: Admission) {
    this.admission = admission;
  }

  keep(nodePort: number, protocol: string): void {
    const protocols = this.used.get(nodePort) ?? new Set<string>();
    this.used.set(nodePort, protocols.add(protocol));
  }

  /** A node port that another protocol of the same service port has, or a free one. */
  choose(label: string, protocol: string, siblings: readonly ServicePort[]): number | undefined {
    for (const { nodePort } of siblings) {
      if (nodePort === undefined || nodePort === 0 || this.used.get(nodePort)?.has(protocol) === true)
        continue;
      return nodePort;
    }
    const { allocators, prng, reserved } = this.admission;
    const taken = new Set([...reserved.ports, ...this.used.keys()]);
    return allocators.ports.choose(prng.derive(`node port ${label}`), taken);
  }
}

const PORTS_FULL: ServiceRefusal = Object.freeze({
  code: "service-port-refused",
  path: "spec.ports",
  message: "Internal error occurred: failed to allocate a nodePort: range is full",
  advice: WORDS.adviceNodePortsExhausted,
});

function portsOf(spec: ServiceSpec, admission: Admission): readonly ServicePort[] | ServiceRefusal {
  const ports = spec.ports ?? [];
  const choice = new PortChoice(admission);
  for (const [index, { nodePort, protocol }] of ports.entries()) {
    if (nodePort === undefined || nodePort === 0) continue;
    const refusal = refusePort(nodePort, `spec.ports[${index}].nodePort`, admission);
    if (refusal !== undefined) return refusal;
    choice.keep(nodePort, protocol ?? "TCP");
  }
  const complete: ServicePort[] = [];
  for (const port of ports) {
    if (port.nodePort !== undefined && port.nodePort !== 0) {
      complete.push(port);
      continue;
    }
    const protocol = port.protocol ?? "TCP";
    const siblings = [...complete, ...ports].filter((other) => other !== port && other.port === port.port);
    const nodePort = choice.choose(`${protocol} ${port.port}`, protocol, siblings);
    if (nodePort === undefined) return PORTS_FULL;
    choice.keep(nodePort, protocol);
    complete.push({ ...port, nodePort });
  }
  return complete;
}

function takesNodePorts({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean {
  return type === "NodePort" || (type === "LoadBalancer" && allocateLoadBalancerNodePorts !== false);
}

function healthPortOf(
  spec: ServiceSpec,
  taken: readonly ServicePort[],
  admission: Admission,
): number | ServiceRefusal {
  const given = spec.healthCheckNodePort ?? 0;
  if (given !== 0) return refusePort(given, "spec.healthCheckNodePort", admission) ?? given;
  const used = new Set([...admission.reserved.ports, ...taken.map(({ nodePort }) => nodePort ?? 0)]);
  return admission.allocators.ports.choose(admission.prng.derive("health check"), used) ?? PORTS_FULL;
}

function completePorts(spec: ServiceSpec, admission: Admission): ServiceSpec | ServiceRefusal {
  const named = (spec.ports ?? []).some(({ nodePort }) => (nodePort ?? 0) !== 0);
  const ports = takesNodePorts(spec) || named ? portsOf(spec, admission) : (spec.ports ?? []);
  if ("message" in ports) return ports;
  const withPorts = spec.ports === undefined ? spec : { ...spec, ports };
  if (spec.type !== "LoadBalancer" || spec.externalTrafficPolicy !== "Local") return withPorts;
  const healthCheckNodePort = healthPortOf(spec, ports, admission);
  if (typeof healthCheckNodePort !== "number") return healthCheckNodePort;
  return { ...withPorts, healthCheckNodePort };
}

/** The Service as it is stored, or why it is refused. */
export function admitService(
  service: Service,
  allocators: ServiceAllocators,
  prng: Prng,
  reserved: Reservations,
): { readonly service: Service } | { readonly refusal: ServiceRefusal } {
  const { namespace, name } = service.metadata;
  const owner = keyOf(namespace, name);
  const admission = { owner, allocators, prng: prng.derive(`service ${owner}`), reserved };
  const spec = completeServiceSpec(service.spec ?? {});
  if (spec.type === "ExternalName") return { service: { ...service, spec } };
  const families = familiesOf(spec, allocators);
  if (isRefusal(families)) return { refusal: families };
  if (isHeadless(spec)) {
    return { service: { ...service, spec: { ...spec, ...families, clusterIPs: ["None"] } } };
  }
  const clusterIPs = addressesOf(spec, families, admission);
  if ("message" in clusterIPs) return { refusal: clusterIPs };
  const [clusterIP] = clusterIPs;
  const addressed = { ...spec, ...families, ...(clusterIP === undefined ? {} : { clusterIP, clusterIPs }) };
  const complete = completePorts(addressed, admission);
  return isRefusal(complete) ? { refusal: complete } : { service: { ...service, spec: complete } };
}
