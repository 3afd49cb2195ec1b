/** The documents that benchmarks of HNS ask for. */
import type { JsonObject } from "#core/base/json.ts";
import type { SchemaVersion } from "#contracts/hcn/description/description.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";

export const V2: SchemaVersion = { Major: 2, Minor: 0 };
const FIRST_IP = 0x0a0a_0105;
const FIRST_MAC = 0x0211_0000_0001;

/** A network of a node, whose router is at `gateway`. */
export function networkDocument(prefix: string, gateway: string): JsonObject {
  return {
    Name: "cbr0",
    Type: "L2Bridge",
    Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          { IpAddressPrefix: prefix, Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }] },
        ],
      },
    ],
    SchemaVersion: V2,
  };
}

/** One with room for many pods. */
export const NETWORK: JsonObject = networkDocument("10.10.0.0/16", "10.10.0.1");

/** What a CNI plugin asks for. */
export function endpointDocument(index: number): JsonObject {
  return {
    Name: `pod-${index}`,
    IpConfigurations: [{ IpAddress: formatIp((FIRST_IP + index) as Ipv4), PrefixLength: 16 }],
    MacAddress: formatMac((FIRST_MAC + index) as Mac),
    Policies: [
      { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/8", "10.96.0.0/12"] } },
      { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } },
    ],
    SchemaVersion: V2,
  };
}
