/** `HostComputeLoadBalancer` (hcn.md §2.7, §8). */
import { BASE } from "./base-document.ts";
import { type ObjectReader, readerOf } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { ObjectOf } from "../description/description.ts";
import { JsonReader } from "../description/json.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

export const PORT_MAPPING = {
  text: "A port of a load balancer.",
  name: "PortMapping",
  fields: {
    Protocol: { is: "protocol", text: "6 TCP, 17 UDP, 132 SCTP.", v1: "Protocol" },
    InternalPort: { is: "u16", text: "The port of the back ends.", v1: "InternalPort" },
    ExternalPort: { is: "u16", text: "The port of the front end.", v1: "ExternalPort" },
    DistributionType: {
      is: "numbered",
      names: ["None", "SourceIPProtocol", "SourceIP"],
      text: (): string => WORDS.portMappingDistributionType,
      absent: "0",
    },
    Flags: {
      is: "flags",
      bits: { ILB: 1, LocalRoutedVip: 2, UseMux: 4, PreserveDip: 8, VipExternalIP: 16 },
      text: (): string => WORDS.portMappingFlags,
      absent: "0",
      v1: { ILB: "ILB", LocalRoutedVip: "LocalRoutedVip" },
    },
  },
  always: ["Protocol", "InternalPort", "ExternalPort"],
} as const;

/** The one place that names the fields of a load balancer; `description.ts` says what comes from it. */
export const LOAD_BALANCER = {
  text: "A load balancer.",
  name: "HostComputeLoadBalancer",
  base: (): typeof BASE => BASE,
  fields: {
    HostComputeNetwork: {
      is: "guid",
      text: "The network of its endpoints.",
      by: "service",
      since: "2.5",
      v1: { answer: "HostComputeNetwork" },
    },
    HostComputeEndpoints: {
      is: "texts",
      text: "Its back ends: at least one.",
      v1: { list: "References", prefix: "/endpoints/" },
    },
    SourceVIP: {
      is: "text",
      text: "The address that clients without DSR are hidden behind.",
      absent: "none",
      v1: "Policies[].SourceVIP",
    },
    FrontendVIPs: {
      is: "texts",
      text: "Its addresses.",
      absent: "those of the node: a node port",
      v1: { list: "Policies[].VIPs" },
    },
    PortMappings: {
      is: "list",
      of: (): typeof PORT_MAPPING => PORT_MAPPING,
      text: "Its ports.",
      v1: { policies: "Policies", type: "ELB" },
    },
    Flags: {
      is: "flags",
      bits: { DSR: 1, IPv6: 2 },
      text: "How answers go.",
      absent: "0",
      v1: { "Policies[].IsDSR": "DSR" },
    },
  },
  always: ["ID", "PortMappings", "SchemaVersion"],
} as const;

/** Bits of a load balancer's `Flags` (hcn.md §8.1). */
export const LOAD_BALANCER_FLAGS: (typeof LOAD_BALANCER)["fields"]["Flags"]["bits"] =
  LOAD_BALANCER.fields.Flags.bits;
/** Bits of a port mapping's `Flags` (hcn.md §8.2). */
export const LOAD_BALANCER_PORT_FLAGS: (typeof PORT_MAPPING)["fields"]["Flags"]["bits"] =
  PORT_MAPPING.fields.Flags.bits;

/** What the choice of a back end depends on, at the number of the schema (hcn.md §8.3). */
export const LOAD_BALANCER_DISTRIBUTIONS: (typeof PORT_MAPPING)["fields"]["DistributionType"]["names"] =
  PORT_MAPPING.fields.DistributionType.names;
export type LoadBalancerDistribution = (typeof LOAD_BALANCER_DISTRIBUTIONS)[number];

export type LoadBalancerPortMapping = ObjectOf<typeof PORT_MAPPING>;
export type HostComputeLoadBalancer = ObjectOf<typeof LOAD_BALANCER>;

const READER: ObjectReader<HostComputeLoadBalancer> = readerOf(LOAD_BALANCER);

/**
 * Checks the shape of a v2 load balancer document. Addresses keep their text: the service judges them.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseLoadBalancer(document: JsonValue): HostComputeLoadBalancer {
  return READER.read(JsonReader.of(document, "load balancer", "HCN_E_INVALID_JSON"));
}
