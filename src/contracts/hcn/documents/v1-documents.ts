/** HNS v1: documents as requests send them and results hold them (hcn.md §2.12, §3.6). */
import type { HnsPolicy, V1Of } from "../description/description.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { ENDPOINT } from "./endpoint.ts";
import { JsonReader, present } from "../description/json.ts";
import { type V1FormOf, readCommaList, readHnsPolicies, v1FormOf } from "./v1-form.ts";

export interface HnsMacPool {
  readonly StartMacAddress?: string;
  readonly EndMacAddress?: string;
}

export interface HnsIpSubnet {
  readonly ID?: Guid;
  readonly IpAddressPrefix?: string;
  readonly Flags?: number;
}

export interface HnsSubnet {
  readonly ID?: Guid;
  readonly AddressPrefix?: string;
  readonly GatewayAddress?: string;
  readonly Policies?: readonly HnsPolicy[];
  readonly IpSubnets?: readonly HnsIpSubnet[];
  readonly Flags?: number;
}

/** An extension of the network's switch, on or off. */
export interface HnsExtension {
  readonly Id?: Guid;
  readonly IsEnabled?: boolean;
}

export interface HnsNetwork {
  readonly ID?: Guid;
  readonly Name?: string;
  readonly Type?: string;
  readonly NetworkAdapterName?: string;
  readonly SourceMac?: string;
  readonly Policies?: readonly HnsPolicy[];
  readonly MacPools?: readonly HnsMacPool[];
  readonly Subnets?: readonly HnsSubnet[];
  readonly DNSDomain?: string;
  /** Comma list. */
  readonly DNSSuffix?: string;
  /** Comma list. */
  readonly DNSServerList?: string;
  readonly DNSServerCompartment?: number;
  readonly ManagementIP?: string;
  readonly DrMacAddress?: string;
  readonly AutomaticDNS?: boolean;
  readonly AdditionalParams?: JsonValue;
  readonly Extensions?: readonly HnsExtension[];
  readonly IsolateSwitch?: boolean;
  readonly Flags?: number;
}

export type HnsEndpoint = V1Of<typeof ENDPOINT>;

/** The body of attach and detach. */
export interface EndpointAttachDetachRequest {
  readonly SystemType?: "Container" | "VirtualMachine" | "Host";
  readonly ContainerId?: string;
  /** 1 is the host's. */
  readonly CompartmentId?: number;
  readonly VirtualNicName?: string;
}

const INVALID_JSON = "HCN_E_INVALID_JSON";

/** Checks the shape of a v1 network. @throws HcnError HCN_E_INVALID_JSON. */
export function parseHnsNetwork(document: JsonValue): HnsNetwork {
  const reader = JsonReader.of(document, "network", INVALID_JSON);
  return present<HnsNetwork>({
    ID: reader.guid("ID"),
    Name: reader.text("Name"),
    Type: reader.text("Type"),
    NetworkAdapterName: reader.text("NetworkAdapterName"),
    SourceMac: reader.text("SourceMac"),
    Policies: readHnsPolicies(reader),
    MacPools: reader.list("MacPools", (pool) =>
      present<HnsMacPool>({
        StartMacAddress: pool.text("StartMacAddress"),
        EndMacAddress: pool.text("EndMacAddress"),
      }),
    ),
    Subnets: reader.list("Subnets", (subnet) =>
      present<HnsSubnet>({
        ID: subnet.guid("ID"),
        AddressPrefix: subnet.text("AddressPrefix"),
        GatewayAddress: subnet.text("GatewayAddress"),
        Policies: readHnsPolicies(subnet),
        IpSubnets: subnet.list("IpSubnets", (block) =>
          present<HnsIpSubnet>({
            ID: block.guid("ID"),
            IpAddressPrefix: block.text("IpAddressPrefix"),
            Flags: block.u32("Flags"),
          }),
        ),
        Flags: subnet.u32("Flags"),
      }),
    ),
    DNSDomain: reader.text("DNSDomain"),
    DNSSuffix: readCommaList(reader, "DNSSuffix"),
    DNSServerList: readCommaList(reader, "DNSServerList"),
    DNSServerCompartment: reader.u16("DNSServerCompartment"),
    ManagementIP: reader.text("ManagementIP"),
    DrMacAddress: reader.text("DrMacAddress"),
    AutomaticDNS: reader.boolean("AutomaticDNS"),
    AdditionalParams: reader.raw("AdditionalParams"),
    Extensions: reader.list("Extensions", (extension) =>
      present<HnsExtension>({ Id: extension.guid("Id"), IsEnabled: extension.boolean("IsEnabled") }),
    ),
    IsolateSwitch: reader.boolean("IsolateSwitch"),
    Flags: reader.u32("Flags"),
  });
}

/** The two forms of an endpoint. */
export const ENDPOINT_FORM: V1FormOf<typeof ENDPOINT> = v1FormOf(ENDPOINT);

/** Checks the shape of a v1 endpoint. @throws HcnError HCN_E_INVALID_JSON. */
export function parseHnsEndpoint(document: JsonValue): HnsEndpoint {
  return ENDPOINT_FORM.read(JsonReader.of(document, "endpoint", INVALID_JSON));
}

const SYSTEM_TYPES = ["Container", "VirtualMachine", "Host"] as const;

/** Checks the body of attach and detach. @throws HcnError HCN_E_INVALID_JSON. */
export function parseAttachRequest(document: JsonValue): EndpointAttachDetachRequest {
  const reader = JsonReader.of(document, "request", INVALID_JSON);
  return present<EndpointAttachDetachRequest>({
    SystemType: reader.enumeration("SystemType", SYSTEM_TYPES),
    ContainerId: reader.text("ContainerId"),
    CompartmentId: reader.u16("CompartmentId"),
    VirtualNicName: reader.text("VirtualNicName"),
  });
}
