/**
 * What a load balancer document has to be (hcn.md §4.7, §8.5). Inferred: the order in which its faults are found. First
 * what the document says, then what HNS keeps, then what VFP is asked for, as the texts of the errors name them.
 */
import type { Guid } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import {
  type HostComputeLoadBalancer,
  LOAD_BALANCER_DISTRIBUTIONS,
  LOAD_BALANCER_FLAGS,
  type LoadBalancerPortMapping,
} from "../hcn/load-balancer.ts";
import { backEndsMaxOf } from "../knowledge/profiles.ts";
import { type Ip, isMulticastIp, parseIp } from "../net/ip.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import { readBackEndList } from "./back-end-list.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import { checkNotListening } from "./host-listeners.ts";
import type { LoadBalancerPortMappingRecord, LoadBalancerRecord } from "./load-balancer-record.ts";
import type { ServiceContext } from "./service-context.ts";

/** The checked values of a document. */
export type LoadBalancerFields = Pick<
  LoadBalancerRecord,
  "networkId" | "endpointIds" | "sourceVip" | "frontendVips" | "portMappings" | "flags"
>;

/** TCP, UDP and SCTP: what kube-proxy sends (hcn.md §8.5). */
const PROTOCOLS: readonly number[] = [IpProtocol.tcp, IpProtocol.udp, IpProtocol.sctp];

/** Inferred: the codes for a mapping without a protocol or an external port, and for a document without mappings. */
function invalid(detail: string): HcnError {
  return new HcnError("HCN_E_INVALID_POLICY", { detail });
}

function readMapping(
  context: ServiceContext,
  mapping: LoadBalancerPortMapping,
  where: string,
): LoadBalancerPortMappingRecord {
  const { Protocol: protocol = 0, InternalPort: internalPort = 0, ExternalPort: externalPort = 0 } = mapping;
  if (!PROTOCOLS.includes(protocol))
    throw invalid(`${where}.Protocol is ${protocol}; it has to be 6 (TCP), 17 (UDP) or 132 (SCTP)`);
  if (internalPort === 0)
    throw new HcnError("HCN_E_INVALID_INTERNAL_PORT", { detail: `${where}.InternalPort is 0 or missing` });
  if (externalPort === 0) throw invalid(`${where}.ExternalPort is 0 or missing`);
  // A service without the feature does not know the field, and ignores it as any unknown one (hcn.md §1.6, §8.3).
  const wanted = context.has("SessionAffinity") ? (mapping.DistributionType ?? 0) : 0;
  const distribution = LOAD_BALANCER_DISTRIBUTIONS[wanted] ?? "None";
  return Object.freeze({ protocol, internalPort, externalPort, distribution, flags: mapping.Flags ?? 0 });
}

/** Inferred: a service without DSR ignores the flag, as everything that it does not know (hcn.md §1.6, §7.1). */
function knownFlags(context: ServiceContext, flags: number): number {
  return context.has("DSR") ? flags : flags & ~LOAD_BALANCER_FLAGS.DSR;
}

function readVip(text: string, where: string): Ip {
  const ip = parseIp(text);
  if (ip !== undefined && !isMulticastIp(ip)) return ip;
  throw new HcnError("HCN_E_INVALID_IP", {
    detail: `${where} is ${JSON.stringify(text)}; it has to be a unicast IP address`,
  });
}

/**
 * A back end whose switch port was taken away is refused; one that never had a port is fine, and so is a remote one
 * (hcn.md §4.7, §10 rows 35 and 68). Inferred: that this is the line between the two.
 */
function checkPorts(context: ServiceContext, backEnds: readonly EndpointRecord[]): void {
  if (context.hasQuirk("load-balancer-port-missing")) {
    throw new HcnError("HCN_E_PORT_NOT_FOUND", {
      detail: "The ports of all endpoints are there; the defect load-balancer-port-missing strikes",
      explanation: "hns-switch-port-missing",
    });
  }
  const gone = backEnds.find((endpoint) => endpoint.isPortGone);
  if (gone === undefined) return;
  throw new HcnError("HCN_E_PORT_NOT_FOUND", {
    detail: `Endpoint ${gone.id} was detached and has no switch port any more; leave it out`,
  });
}

/** How many destinations the VFP rule of a load balancer takes (kube-proxy.md §3.13, dataplane.md §3.6). */
function checkCount(context: ServiceContext, count: number): void {
  const most = backEndsMaxOf(context.windows);
  if (count <= most) return;
  throw new HcnError("ERROR_INVALID_PARAMETER", {
    appendix: "Unable to initialize VFP LB rule: invalid number of destinations.",
    detail: `HostComputeEndpoints names ${count} endpoints; this build of Windows takes ${most} in one load balancer`,
    explanation: "too-many-back-ends",
  });
}

/**
 * Checks a document as a whole, for the load balancer `id`.
 * @throws HcnError with the code that Windows gives.
 */
export function readLoadBalancer(
  context: ServiceContext,
  document: HostComputeLoadBalancer,
  id: Guid,
): LoadBalancerFields {
  const backEnds = readBackEndList(context, document.HostComputeEndpoints ?? [], "a load balancer");
  const mappings = document.PortMappings ?? [];
  if (mappings.length === 0) throw invalid("PortMappings is empty; write at least one");
  const sourceVip = document.SourceVIP ?? "";
  const fields: LoadBalancerFields = {
    networkId: backEnds[0].networkId,
    endpointIds: Object.freeze(backEnds.map((endpoint) => endpoint.id)),
    portMappings: Object.freeze(
      mappings.map((mapping, index) => readMapping(context, mapping, `PortMappings[${index}]`)),
    ),
    // It need not lie in a subnet of the network (hcn.md §8.4).
    sourceVip: sourceVip === "" ? undefined : readVip(sourceVip, "SourceVIP"),
    frontendVips: Object.freeze(
      (document.FrontendVIPs ?? []).map((text, index) => readVip(text, `FrontendVIPs[${index}]`)),
    ),
    flags: knownFlags(context, document.Flags ?? 0),
  };
  context.state.frontEnds.checkFree(fields, id);
  for (const mapping of fields.portMappings)
    checkNotListening(context, mapping.protocol, mapping.externalPort);
  checkPorts(context, backEnds);
  checkCount(context, backEnds.length);
  return fields;
}
