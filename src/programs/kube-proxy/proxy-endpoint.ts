/** The documents of the endpoints that kube-proxy itself makes in HNS, with what is known of them then. */
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { keepJson } from "#contracts/hcn/description/json.ts";
import { deriveMac } from "./load-balancers/derived-mac.ts";
import type { EndpointRecord } from "./load-balancers/queried-endpoints.ts";

export interface NewEndpoint {
  readonly ip: string;
  readonly mac: string;
  /** Empty: no policy. */
  readonly providerAddress: string;
  readonly isLocal: boolean;
}

/** What HNS is asked for, and what is known of it then. Frozen: all nodes that need the same have one. */
export interface ProxyEndpoint {
  readonly document: HostComputeEndpoint;
  readonly record: EndpointRecord;
}

/** The document has no prefix length and no name (kube-proxy.md §3.5, wire shapes). */
export function proxyEndpoint({ ip, mac, providerAddress, isLocal }: NewEndpoint): ProxyEndpoint {
  const policy = { Type: "ProviderAddress", Settings: { ProviderAddress: providerAddress } };
  const document = Object.freeze({
    IpConfigurations: keepJson([{ IpAddress: ip }]),
    MacAddress: mac,
    ...(providerAddress === "" ? {} : { Policies: [policy] }),
    ...(isLocal ? {} : { Flags: ENDPOINT_FLAGS.RemoteEndpoint }),
  });
  const record: EndpointRecord = {
    isLocal,
    addresses: Object.freeze([ip]),
    ...(providerAddress === "" ? {} : { providerAddress }),
  };
  return Object.freeze({ document, record: Object.freeze(record) });
}

/** What stands for `ip` on every node whose network is no overlay. */
export function remoteEndpointFor(ip: string): ProxyEndpoint {
  return proxyEndpoint({ ip, mac: deriveMac(ip), providerAddress: "", isLocal: false });
}
