/** The endpoints that kube-proxy itself makes in HNS: they stand for pods elsewhere and for ClusterIPs. */
import type { Guid } from "../hcn/client.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "../hcn/endpoint.ts";
import { keepJson } from "../hcn/json-value.ts";
import { createEndpointOnly, deleteEndpoint } from "../hcn/operations.ts";
import { conjureMac } from "./conjured-mac.ts";
import { type Attempt, attempt } from "./hns-failure.ts";
import type { ProxierConfiguration, ProxierState } from "./proxier-state.ts";
import type { HnsEndpoint, QueriedEndpoints } from "./queried-endpoints.ts";

export interface NewEndpoint {
  readonly ip: string;
  readonly mac: string;
  /** Empty: no policy. */
  readonly providerAddress: string;
  readonly isLocal: boolean;
}

/** What every node that is no overlay's asks for where it needs an endpoint for `ip`: made once for all of them. */
export function remoteEndpointDocument(ip: string): HostComputeEndpoint {
  const { IpConfigurations = [], ...rest } = endpointDocument({
    ip,
    mac: conjureMac(ip),
    providerAddress: "",
    isLocal: false,
  });
  return Object.freeze({ ...rest, IpConfigurations: keepJson(IpConfigurations) });
}

/** The document, without a prefix length and a name (kube-proxy.md §3.5, wire shapes). */
export function endpointDocument({ ip, mac, providerAddress, isLocal }: NewEndpoint): HostComputeEndpoint {
  const policy = { Type: "ProviderAddress", Settings: { ProviderAddress: providerAddress } };
  return {
    IpConfigurations: [{ IpAddress: ip }],
    MacAddress: mac,
    ...(providerAddress === "" ? {} : { Policies: [policy] }),
    ...(isLocal ? {} : { Flags: ENDPOINT_FLAGS.RemoteEndpoint }),
  };
}

/** Creates an endpoint and adds it to what is known of HNS. */
export async function createProxyEndpoint(
  { client }: ProxierConfiguration,
  { network, own }: ProxierState,
  document: HostComputeEndpoint,
  queried: QueriedEndpoints,
): Promise<Attempt<HnsEndpoint>> {
  const created = await attempt(() => own.make(() => createEndpointOnly(client, network.id, document)));
  if (!created.ok) return created;
  const isLocal = ((document.Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) === 0;
  const value: HnsEndpoint = { id: created.value, isLocal };
  queried.add(
    value,
    (document.IpConfigurations ?? []).flatMap(({ IpAddress }) => IpAddress ?? []),
  );
  return { ok: true, value };
}

/** `ip` is its address, where the caller knows it. @returns true when it is gone. */
export async function deleteProxyEndpoint(
  { client }: ProxierConfiguration,
  { own, queried }: ProxierState,
  id: Guid,
  ip: string | undefined,
): Promise<boolean> {
  const deleted = await attempt(() => own.make(() => deleteEndpoint(client, id)));
  if (deleted.ok) queried?.remove(ip);
  return deleted.ok;
}
