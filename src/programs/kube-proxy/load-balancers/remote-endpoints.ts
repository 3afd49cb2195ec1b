/** The endpoints that kube-proxy itself makes in HNS: they stand for pods elsewhere and for ClusterIPs. */
import type { Guid } from "#contracts/hcn/guid.ts";
import { createEndpointOnly, deleteEndpoint } from "#contracts/hcn/operations.ts";
import { type Attempt, attempt } from "./hns-failure.ts";
import type { ProxierConfiguration, ProxierState } from "../sync/proxier-state.ts";
import type { HnsEndpoint } from "./queried-endpoints.ts";
import type { ProxyEndpoint } from "../proxy-endpoint.ts";

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
