/** `HostComputeLoadBalancer` (hcn.md §2.7, §8). */
import type { BaseDocument } from "./base-document.ts";
import { readBase } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { type Enumeration, JsonReader, present } from "../description/json.ts";

/** Bits of a load balancer's `Flags` (hcn.md §8.1). */
export const LOAD_BALANCER_FLAGS = { DSR: 1, IPv6: 2 } as const;

/** Bits of a port mapping's `Flags` (hcn.md §8.2). */
export const LOAD_BALANCER_PORT_FLAGS = {
  ILB: 1,
  /** The front end is each address of the node: node ports. */
  LocalRoutedVip: 2,
  UseMux: 4,
  PreserveDip: 8,
  /** kube-proxy marks external addresses with it; hcsshim does not know it. */
  VipExternalIP: 16,
} as const;

/** What the choice of a back end depends on, at the number of the schema (hcn.md §8.3). */
export const LOAD_BALANCER_DISTRIBUTIONS = ["None", "SourceIPProtocol", "SourceIP"] as const;
export type LoadBalancerDistribution = (typeof LOAD_BALANCER_DISTRIBUTIONS)[number];

const DISTRIBUTIONS: Enumeration<LoadBalancerDistribution> = LOAD_BALANCER_DISTRIBUTIONS;

export interface LoadBalancerPortMapping {
  /** 6 TCP, 17 UDP, 132 SCTP. */
  readonly Protocol?: number;
  readonly InternalPort?: number;
  readonly ExternalPort?: number;
  /** On the wire its number. */
  readonly DistributionType?: number;
  readonly Flags?: number;
}

export interface HostComputeLoadBalancer extends BaseDocument {
  /** Output: the network of its endpoints. */
  readonly HostComputeNetwork?: Guid;
  /** At least one. */
  readonly HostComputeEndpoints?: readonly Guid[];
  /** The source address that clients without DSR are hidden behind. */
  readonly SourceVIP?: string;
  /** Empty or absent: the addresses of the node (node ports). */
  readonly FrontendVIPs?: readonly string[];
  readonly PortMappings?: readonly LoadBalancerPortMapping[];
  readonly Flags?: number;
}

function readDistribution(reader: JsonReader): number | undefined {
  const name = reader.enumeration("DistributionType", DISTRIBUTIONS);
  return name === undefined ? undefined : DISTRIBUTIONS.indexOf(name);
}

/**
 * Checks the shape of a v2 load balancer document. Addresses keep their text: the service judges them.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseLoadBalancer(document: JsonValue): HostComputeLoadBalancer {
  const reader = JsonReader.of(document, "load balancer", "HCN_E_INVALID_JSON");
  return present<HostComputeLoadBalancer>({
    ...readBase(reader),
    HostComputeNetwork: reader.guid("HostComputeNetwork"),
    HostComputeEndpoints: reader.texts("HostComputeEndpoints"),
    SourceVIP: reader.text("SourceVIP"),
    FrontendVIPs: reader.texts("FrontendVIPs"),
    PortMappings: reader.list("PortMappings", (mapping) =>
      present<LoadBalancerPortMapping>({
        Protocol: mapping.protocol("Protocol"),
        InternalPort: mapping.u16("InternalPort"),
        ExternalPort: mapping.u16("ExternalPort"),
        DistributionType: readDistribution(mapping),
        Flags: mapping.u32("Flags"),
      }),
    ),
    Flags: reader.u32("Flags"),
  });
}
