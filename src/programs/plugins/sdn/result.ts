/** The result as upstream prints it (cni.md §2.4). */
import { decodeUtf8 } from "#core/base/encodings.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { type CniIp, type CniResult, EMPTY_DNS } from "#contracts/cni/result.ts";
import type { HostComputeEndpoint, IpConfig } from "#contracts/hcn/documents/endpoint.ts";
import { type HostComputeNetwork, subnetsOf } from "#contracts/hcn/documents/network.ts";
import { type Ip, type IpFamily, familyOf, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { applyForeignMask } from "../windows-endpoint/hcn-endpoint.ts";

const MAC_BYTES = 6;
const BYTE = 256;

/** The six bytes taken for a text: what is no character is lost (row 106). */
function garbledMac(text: string): string {
  const mac = parseMac(text);
  if (mac === undefined) return "";
  const bytes = Array.from(
    { length: MAC_BYTES },
    (_, index) => Math.floor(mac / BYTE ** (MAC_BYTES - 1 - index)) % BYTE,
  );
  return decodeUtf8(Uint8Array.from(bytes));
}

function invalid(): CniError {
  return new CniError(CNI_CODES.internal, "invalid CIDR address: <nil>");
}

function withGateway(ip: CniIp, gateway: Ip | undefined): CniIp {
  return gateway === undefined ? ip : { ...ip, gateway };
}

/** The first address, with the mask of the network's first subnet and the first route's next hop. */
function singleAddress(network: HostComputeNetwork, endpoint: HostComputeEndpoint): CniIp {
  const prefix = parseInterfaceAddress(subnetsOf(network)[0]?.IpAddressPrefix ?? "");
  const ip = parseIp(endpoint.IpConfigurations?.[0]?.IpAddress ?? "");
  if (prefix === undefined || ip === undefined) throw invalid();
  const gateway = parseIp(endpoint.Routes?.[0]?.NextHop ?? "");
  return withGateway({ address: applyForeignMask(ip, prefix), interface: 0 }, gateway);
}

function addressOf(config: IpConfig): CniIp {
  const ip = parseIp(config.IpAddress ?? "");
  if (ip === undefined) throw invalid();
  return { address: { ip, length: config.PrefixLength ?? 0 }, interface: 0 };
}

/** The first address and next hop of each family, with the lengths that HNS says. */
function dualAddresses(endpoint: HostComputeEndpoint): readonly CniIp[] {
  const ips = (endpoint.IpConfigurations ?? []).map(addressOf);
  const hops = (endpoint.Routes ?? []).flatMap(({ NextHop }) => parseIp(NextHop ?? "") ?? []);
  const first = (family: IpFamily): readonly CniIp[] => {
    const ip = ips.find(({ address }) => familyOf(address.ip) === family);
    return ip === undefined
      ? []
      : [
          withGateway(
            ip,
            hops.find((hop) => familyOf(hop) === family),
          ),
        ];
  };
  return [...first(4), ...first(6)];
}

/** Neither sandbox, routes nor name resolution. @throws CniError */
export function upstreamSdnResult(
  network: HostComputeNetwork,
  endpoint: HostComputeEndpoint,
  options: { readonly ifName: string; readonly isDualStack: boolean },
): CniResult {
  const mac = garbledMac(endpoint.MacAddress ?? "");
  return {
    interfaces: [{ name: options.ifName, ...(mac !== "" && { mac }) }],
    ips: options.isDualStack ? dualAddresses(endpoint) : [singleAddress(network, endpoint)],
    routes: [],
    dns: EMPTY_DNS,
  };
}
