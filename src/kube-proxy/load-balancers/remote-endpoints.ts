/** The endpoints that kube-proxy itself makes in HNS: they stand for pods elsewhere and for ClusterIPs. */
import type { Guid } from "../../hcn/client.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "../../hcn/endpoint.ts";
import { keepJson } from "../../hcn/json-value.ts";
import { createEndpointOnly, deleteEndpoint } from "../../hcn/operations.ts";
import { conjureMac } from "./conjured-mac.ts";
import { type Attempt, attempt } from "./hns-failure.ts";
import type { EndpointRecord } from "./hns-records.ts";
import type { ProxierConfiguration, ProxierState } from "../sync/proxier-state.ts";
import type { HnsEndpoint } from "./queried-endpoints.ts";

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
  return proxyEndpoint({ ip, mac: conjureMac(ip), providerAddress: "", isLocal: false });
}

/** Creates an endpoint and adds it to what is known of HNS. */
export async function createProxyEndpoint(
  { client }: ProxierConfiguration,
  { network, records }: ProxierState,
  { document, record }: ProxyEndpoint,
): Promise<Attempt<HnsEndpoint>> {
  const created = await attempt(() => records.make(() => createEndpointOnly(client, network.id, document)));
  if (!created.ok) return created;
  records.endpointMade(created.value, record);
  return { ok: true, value: { id: created.value, isLocal: record.isLocal } };
}

/** @returns true when it is gone. */
export async function deleteProxyEndpoint(
  { client }: ProxierConfiguration,
  { records }: ProxierState,
  id: Guid,
): Promise<boolean> {
  const deleted = await attempt(() => records.make(() => deleteEndpoint(client, id)));
  if (deleted.ok) records.endpointDeleted(id);
  return deleted.ok;
}
