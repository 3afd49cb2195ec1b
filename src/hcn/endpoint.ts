/** `HostComputeEndpoint` (hcn.md §2.3). */
import {
  type BaseDocument,
  type Dns,
  type PolicyDocument,
  type Route,
  readBase,
  readDns,
  readPolicies,
  readRoutes,
} from "./base-document.ts";
import type { Guid, JsonValue } from "./client.ts";
import { JsonReader, present } from "./json-reader.ts";
import { readOnce } from "./json-value.ts";
import { ENDPOINT_POLICY_TYPES } from "./policy-type.ts";

/** Bits of an endpoint's `Flags`. */
export const ENDPOINT_FLAGS = {
  RemoteEndpoint: 1,
  DisableInterComputeCommunication: 2,
  EnableMirroring: 4,
  EnableLowInterfaceMetric: 8,
  OverrideDNSServerOrder: 16,
  EnableDhcp: 32,
} as const;

/** The life of an endpoint (hcn.md §2.10). */
export const ENDPOINT_STATES = {
  Uninitialized: 0,
  Created: 1,
  Attached: 2,
  AttachedSharing: 3,
  Detached: 4,
  Degraded: 5,
  Destroyed: 6,
} as const;

export interface IpConfig {
  readonly IpAddress?: string;
  readonly PrefixLength?: number;
  readonly IpSubnetId?: Guid;
}

export interface HostComputeEndpoint extends BaseDocument {
  readonly HostComputeNetwork?: Guid;
  /** Set by the service when the endpoint is in a namespace; not allowed on create. */
  readonly HostComputeNamespace?: Guid;
  readonly Policies?: readonly PolicyDocument[];
  readonly IpConfigurations?: readonly IpConfig[];
  readonly Dns?: Dns;
  readonly Routes?: readonly Route[];
  readonly MacAddress?: string;
  readonly Flags?: number;
}

/** A list that comes in many documents is read once (`keepJson`). */
function readIpConfigurations(reader: JsonReader): readonly IpConfig[] | undefined {
  return readOnce(reader.raw("IpConfigurations"), readIpConfigurations, () => {
    const configs = reader.list("IpConfigurations", (config) =>
      present<IpConfig>({
        IpAddress: config.text("IpAddress"),
        PrefixLength: config.number("PrefixLength", 128),
        IpSubnetId: config.guid("IpSubnetId"),
      }),
    );
    return configs && Object.freeze(configs);
  });
}

/**
 * Checks the shape of a v2 endpoint document. Addresses and policies keep their text: the service judges them.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseEndpoint(document: JsonValue): HostComputeEndpoint {
  const reader = JsonReader.of(document, "endpoint", "HCN_E_INVALID_JSON");
  return present<HostComputeEndpoint>({
    ...readBase(reader),
    HostComputeNetwork: reader.guid("HostComputeNetwork"),
    HostComputeNamespace: reader.guid("HostComputeNamespace"),
    Policies: readPolicies(reader, ENDPOINT_POLICY_TYPES),
    IpConfigurations: readIpConfigurations(reader),
    Dns: readDns(reader),
    Routes: readRoutes(reader),
    MacAddress: reader.text("MacAddress"),
    Flags: reader.u32("Flags"),
  });
}
