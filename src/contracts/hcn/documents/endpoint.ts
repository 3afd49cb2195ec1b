/** `HostComputeEndpoint` (hcn.md §2.3). */
import { BASE, DNS, POLICY, ROUTE } from "./base-document.ts";
import type { JsonValue } from "#core/base/json.ts";
import { type ObjectOf } from "../description/description.ts";
import { JsonReader } from "../description/json.ts";
import { ENDPOINT_POLICY_TYPES } from "./policy-type.ts";
import { type ObjectReader, type Stored, storedOf, readerOf } from "../description/object-json.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

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

/** The one place that names the fields of an endpoint; `description.ts` says what comes from it. */
export const ENDPOINT = {
  text: "An endpoint.",
  name: "HostComputeEndpoint",
  base: (): typeof BASE => BASE,
  fields: {
    HostComputeNetwork: {
      is: "guid",
      text: "The network. In a call that names one, that counts.",
      v1: "VirtualNetwork",
    },
    HostComputeNamespace: {
      is: "guid",
      text: (): string => WORDS.endpointHostComputeNamespace,
      absent: "none",
      by: "service",
      v1: "Namespace.ID",
    },
    Policies: {
      is: "policies",
      owner: "endpoint",
      of: (): typeof POLICY => POLICY,
      types: (): typeof ENDPOINT_POLICY_TYPES => ENDPOINT_POLICY_TYPES,
      text: "What its port does ([policies](policies.md)).",
      absent: "none",
      v1: "Policies",
    },
    IpConfigurations: {
      is: "list",
      of: {
        text: "An address.",
        fields: {
          IpAddress: {
            is: "text",
            text: "The address.",
            absent: "one of the block",
            v1: ["IPAddress", "IPv6Address"],
          },
          PrefixLength: {
            is: "prefixLength",
            text: "The length of its subnet's prefix.",
            absent: "that of the subnet",
            unit: "bits",
            v1: ["PrefixLength", "IPv6PrefixLength"],
          },
          IpSubnetId: {
            is: "guid",
            text: "The block that the address is of.",
            absent: "the one it is in",
            since: "2.3",
            v1: [{ answer: "IPSubnetId" }, { dump: "IPv6SubnetId" }],
          },
        },
      },
      text: "Its addresses: at most one of each family.",
      absent: "one out of each family's subnets",
      v1: { perFamilyOf: "IpAddress" },
    },
    Dns: { is: "object", of: (): typeof DNS => DNS, text: "Name resolution.", absent: "the network's" },
    Routes: {
      is: "list",
      of: (): typeof ROUTE => ROUTE,
      text: "Its routes.",
      absent: "a default route through the gateway of each subnet",
      v1: { defaultRoutes: ["GatewayAddress", "GatewayAddressV6"] },
    },
    MacAddress: {
      is: "text",
      text: "`XX-XX-XX-XX-XX-XX`, also written with colons.",
      absent: "one of the network's pool",
      v1: "MacAddress",
    },
    Flags: {
      is: "flags",
      bits: {
        RemoteEndpoint: 1,
        DisableInterComputeCommunication: 2,
        EnableMirroring: 4,
        EnableLowInterfaceMetric: 8,
        OverrideDNSServerOrder: 16,
        EnableDhcp: 32,
      },
      text: "What kind of endpoint it is.",
      absent: "0",
      v1: {
        IsRemoteEndpoint: "RemoteEndpoint",
        DisableICC: "DisableInterComputeCommunication",
        EnableLowMetric: "EnableLowInterfaceMetric",
        EnableInternalDNS: "OverrideDNSServerOrder",
      },
    },
  },
  always: ["ID", "HostComputeNetwork", "SchemaVersion"],
  v1Only: {
    VirtualNetworkName: {
      is: "text",
      text: "The network's name.",
      by: "service",
      nameFor: "HostComputeNetwork",
    },
    EncapOverhead: {
      is: "u16",
      text: "The setting `Overhead` of the policy EncapOverhead.",
      unit: "bytes",
      policy: { type: "EncapOverhead", setting: "Overhead", isShownTwice: true },
    },
    SharedContainers: {
      is: "texts",
      text: "The containers that use it: `SharedContainers` in `Health.Extra`.",
      by: "service",
      isExtra: true,
    },
  },
} as const;

/** The body of v1's attach and detach. */
export const ATTACH_REQUEST = {
  text: "What an endpoint is attached to, or detached from.",
  fields: {
    SystemType: {
      is: "enumeration",
      names: ["Container", "VirtualMachine", "Host"],
      text: "What it is.",
      absent: "Container",
    },
    ContainerId: { is: "text", text: "Of a container: its HCS id." },
    CompartmentId: { is: "u16", text: "Of the host: its compartment, 1." },
    VirtualNicName: { is: "text", text: "Of a virtual machine: `<virtual machine>--<endpoint>`." },
  },
} as const;

/** Bits of an endpoint's `Flags`. */
export const ENDPOINT_FLAGS: (typeof ENDPOINT)["fields"]["Flags"]["bits"] = ENDPOINT.fields.Flags.bits;

/** An endpoint as a request has it. */
export type HostComputeEndpoint = ObjectOf<typeof ENDPOINT>;
/** An endpoint as a service answers it. */
export type StoredEndpoint = Stored<HostComputeEndpoint>;
export type IpConfig = NonNullable<HostComputeEndpoint["IpConfigurations"]>[number];

export const ENDPOINT_READER: ObjectReader<HostComputeEndpoint> = readerOf(ENDPOINT);

/**
 * Checks the shape of a v2 endpoint document. Addresses and policies keep their text: the service judges them.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseEndpoint(document: JsonValue): HostComputeEndpoint {
  return ENDPOINT_READER.read(JsonReader.of(document, "endpoint", "HCN_E_INVALID_JSON"));
}

/** An endpoint in the answer of a service. @throws HcnError HCN_E_INVALID_JSON, also for one without an id. */
export function parseStoredEndpoint(document: JsonValue): StoredEndpoint {
  return storedOf(parseEndpoint(document), "endpoint");
}
