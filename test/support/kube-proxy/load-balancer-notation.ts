/**
 * Load balancers and endpoints in the notation of the decision table (kube-proxy.md §8.1):
 * `C:80→8080 [R1,EP-L1] L0 P0 D0`, with `S=…` when there is a source VIP, and the protocol in front unless it is TCP.
 */
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";

/** Names for addresses and identifiers; what has none shows as it is. */
export type SymbolNames = ReadonlyMap<string, string>;

const PROTOCOLS: Readonly<Record<number, string>> = { 6: "", 17: "udp ", 132: "sctp " };

function nameOf(names: SymbolNames, text: string): string {
  return names.get(text) ?? text;
}

/** What a back end is called: by its own name, else by that of its address. HNS lists them in upper case. */
function backEndName(
  text: string,
  endpoints: ReadonlyMap<string, HostComputeEndpoint>,
  names: SymbolNames,
): string {
  const id = text.toLowerCase();
  const address = endpoints.get(id)?.IpConfigurations?.[0]?.IpAddress;
  return names.get(id) ?? nameOf(names, address ?? id);
}

export function formatLoadBalancer(
  loadBalancer: HostComputeLoadBalancer,
  endpoints: ReadonlyMap<string, HostComputeEndpoint>,
  names: SymbolNames,
): string {
  const mapping = loadBalancer.PortMappings?.[0] ?? {};
  const [vip] = loadBalancer.FrontendVIPs ?? [];
  const backEnds = (loadBalancer.HostComputeEndpoints ?? []).map((id) => backEndName(id, endpoints, names));
  const source = loadBalancer.SourceVIP ?? "";
  const protocol = PROTOCOLS[mapping.Protocol ?? 0] ?? `protocol ${mapping.Protocol} `;
  return [
    `${protocol}${vip === undefined ? "∅" : nameOf(names, vip)}:${mapping.ExternalPort}→${mapping.InternalPort}`,
    `[${backEnds.join(",")}]`,
    `L${loadBalancer.Flags ?? 0}`,
    `P${mapping.Flags ?? 0}`,
    `D${mapping.DistributionType ?? 0}`,
    ...(source === "" ? [] : [`S=${nameOf(names, source)}`]),
  ].join(" ");
}

/** `R1(10.0.0.3) ×1`: address, provider address if any, count. */
export function formatRemoteEndpoint(
  endpoint: HostComputeEndpoint,
  count: number,
  names: SymbolNames,
): string {
  const address = endpoint.IpConfigurations?.[0]?.IpAddress ?? "";
  const policy = endpoint.Policies?.find(({ Type }) => Type === "ProviderAddress");
  const provider = policy?.Settings?.["ProviderAddress"];
  return `${nameOf(names, address)}${typeof provider === "string" ? `(${provider})` : ""} ×${count}`;
}
