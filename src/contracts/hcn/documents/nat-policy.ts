/** The policies that translate and steer: OutBoundNAT, PortMapping, SDNRoute (hcn.md §3.3). */
import { parseIp } from "#core/net/ip.ts";
import { parseAddressOrPrefix } from "./address-list.ts";
import { HcnError } from "../error.ts";
import { type JsonReader, present } from "../description/json-reader.ts";

/** Bits of the `Flags` of OutBoundNAT and PortMapping. Inferred (hcn.md §11.12): v2 takes ExternalPortReserved, which v1 has. */
export const NAT_FLAGS = { LocalRoutedVip: 1, IPv6: 2, ExternalPortReserved: 4 } as const;

export interface OutBoundNatPolicySetting {
  /** The address that replaces the node's. */
  readonly VirtualIP?: string;
  /** Destinations that keep the endpoint's source address. */
  readonly Exceptions?: readonly string[];
  /** When given, only these destinations are translated. */
  readonly Destinations?: readonly string[];
  readonly Flags?: number;
  readonly MaxPortPoolUsage?: number;
}

export interface PortMappingPolicySetting {
  /** 6 or 17; absent or 0 for both. */
  readonly Protocol?: number;
  readonly InternalPort: number;
  /** 0: the service chooses. */
  readonly ExternalPort?: number;
  /** The node's address that listens; empty: all. */
  readonly VIP?: string;
  readonly Flags?: number;
}

export interface SdnRoutePolicySetting {
  readonly DestinationPrefix: string;
  readonly NextHop?: string;
  readonly NeedEncap?: boolean;
  readonly AutomaticEndpointMonitor?: boolean;
}

/** Names of protocols that HNS documents write in place of numbers. */
const PROTOCOL_NUMBERS: Readonly<Record<string, number>> = {
  icmpv4: 1,
  igmp: 2,
  tcp: 6,
  udp: 17,
  icmpv6: 58,
  sctp: 132,
};

/** Reads an IP protocol, as number, as number in text, or as name. */
export function readProtocol(reader: JsonReader, field: string): number | undefined {
  const value = reader.raw(field);
  const named = typeof value === "string" ? PROTOCOL_NUMBERS[value.toLowerCase()] : undefined;
  if (value === "") return undefined;
  return named ?? reader.number(field, 256);
}

/** Reads a list of addresses and CIDRs, which keep their text. */
export function readAddressList(reader: JsonReader, field: string): readonly string[] | undefined {
  const items = reader.texts(field);
  if (items?.every((item) => parseAddressOrPrefix(item) !== undefined) === false)
    throw reader.fail(field, "a list of addresses and CIDRs");
  return items;
}

/** Reads an address that may be empty. */
export function readOptionalIp(reader: JsonReader, field: string): string | undefined {
  const text = reader.text(field);
  if (text !== undefined && text !== "" && parseIp(text) === undefined)
    throw reader.fail(field, "an IP address");
  return text;
}

export function readOutBoundNat(reader: JsonReader): OutBoundNatPolicySetting {
  return present<OutBoundNatPolicySetting>({
    VirtualIP: readOptionalIp(reader, "VirtualIP"),
    Exceptions: readAddressList(reader, "Exceptions"),
    Destinations: readAddressList(reader, "Destinations"),
    Flags: reader.u32("Flags"),
    MaxPortPoolUsage: reader.u16("MaxPortPoolUsage"),
  });
}

/** What has ports to map; 0 and absence are for both (hcn.md §3.3). */
const MAPPED_PROTOCOLS: readonly number[] = [0, 6, 17];

function readMappedProtocol(reader: JsonReader): number | undefined {
  const protocol = readProtocol(reader, "Protocol");
  if (protocol === undefined || MAPPED_PROTOCOLS.includes(protocol)) return protocol;
  throw reader.fail("Protocol", "6 (TCP) or 17 (UDP)");
}

export function readPortMapping(reader: JsonReader): PortMappingPolicySetting {
  const internalPort = reader.u16("InternalPort") ?? 0;
  if (internalPort === 0) {
    throw new HcnError("HCN_E_INVALID_INTERNAL_PORT", {
      detail: `${reader.at("InternalPort")} must be the container's port, 1 to 65535`,
    });
  }
  return present<PortMappingPolicySetting>({
    Protocol: readMappedProtocol(reader),
    InternalPort: internalPort,
    ExternalPort: reader.u16("ExternalPort"),
    VIP: readOptionalIp(reader, "VIP"),
    Flags: reader.u32("Flags"),
  });
}

export function readSdnRoute(reader: JsonReader): SdnRoutePolicySetting {
  const prefix = reader.text("DestinationPrefix");
  if (prefix === undefined || parseAddressOrPrefix(prefix) === undefined)
    throw reader.fail("DestinationPrefix", "a CIDR such as 10.96.0.0/12");
  return present<SdnRoutePolicySetting>({
    DestinationPrefix: prefix,
    NextHop: readOptionalIp(reader, "NextHop"),
    NeedEncap: reader.boolean("NeedEncap"),
    AutomaticEndpointMonitor: reader.boolean("AutomaticEndpointMonitor"),
  });
}
