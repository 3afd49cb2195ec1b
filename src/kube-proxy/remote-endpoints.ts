/** The endpoints that kube-proxy itself makes in HNS: they stand for pods elsewhere and for ClusterIPs. */
import type { Guid, HcnClient } from "../hcn/client.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "../hcn/endpoint.ts";
import { createEndpoint, deleteEndpoint } from "../hcn/operations.ts";
import { type Attempt, attempt } from "./hns-failure.ts";
import type { HnsRecords } from "./hns-records.ts";
import type { ProxyNetwork } from "./proxy-network.ts";
import type { HnsEndpoint, QueriedEndpoints } from "./queried-endpoints.ts";

export interface NewEndpoint {
  readonly ip: string;
  readonly mac: string;
  /** Empty: no policy. */
  readonly providerAddress: string;
  readonly isLocal: boolean;
}

/** The document, without a prefix length and a name (kube-proxy.md §3.5, wire shapes). */
function endpointDocument({ ip, mac, providerAddress, isLocal }: NewEndpoint): HostComputeEndpoint {
  const policy = { Type: "ProviderAddress", Settings: { ProviderAddress: providerAddress } };
  return {
    IpConfigurations: [{ IpAddress: ip }],
    MacAddress: mac,
    ...(providerAddress === "" ? {} : { Policies: [policy] }),
    ...(isLocal ? {} : { Flags: ENDPOINT_FLAGS.RemoteEndpoint }),
  };
}

/** What is known of HNS's endpoints: for this sync, and from sync to sync. */
export interface KnownEndpoints {
  readonly queried: QueriedEndpoints;
  readonly records: HnsRecords;
}

/** Creates an endpoint and adds it to what is known of HNS. */
export async function createProxyEndpoint(
  client: HcnClient,
  network: ProxyNetwork,
  endpoint: NewEndpoint,
  known: KnownEndpoints,
): Promise<Attempt<HnsEndpoint>> {
  const created = await attempt(() => createEndpoint(client, network.id, endpointDocument(endpoint)));
  if (!created.ok) return created;
  const { ip, isLocal } = endpoint;
  const value: HnsEndpoint = { id: created.value.ID ?? "", isLocal };
  known.queried.add(value, [ip]);
  known.records.endpoints.set(value.id, { isLocal, addresses: [ip] });
  return { ok: true, value };
}

/** @returns true when it is gone. */
export async function deleteProxyEndpoint(client: HcnClient, id: Guid): Promise<boolean> {
  const deleted = await attempt(() => deleteEndpoint(client, id));
  return deleted.ok;
}
