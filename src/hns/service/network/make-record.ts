/** The record of a new network, and the switch that a record asks for. */
import type { Guid } from "#contracts/hcn/guid.ts";
import { type HostComputeNetwork, NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import type { InterfaceAddress } from "#core/net/ip.ts";
import type { SwitchDefinition } from "../../ports/datapath.ts";
import { chooseMac, chooseMacRange } from "../address-pool.ts";
import type { NetworkRecord } from "../records.ts";
import { readMacRanges } from "./network-validation.ts";
import type { PhysicalAdapter } from "../../ports/adapter-description.ts";
import type { ServiceContext } from "../service-context.ts";
import { readAddressing, checkHostSubnets } from "./addressing.ts";
import { type ExtensionChange, changesOfPolicies, withExtensions } from "./extensions.ts";
import { hasHostPort } from "./network-facts.ts";
import type { SwitchPlacement } from "./switch-placement.ts";
import { traitsOf } from "./type-traits.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";

/** A request to make a network: a v2 document, and what v1 says besides. */
export interface NetworkRequest extends HostComputeNetwork {
  /** v1's `IsolateSwitch`. */
  readonly isIsolated?: boolean;
  /** v1's `Extensions`. */
  readonly extensions?: readonly ExtensionChange[];
}

/** The service enters the adapter in use when the request names none (hcn.md §2.2). Inferred (hcn.md §11.20): at once. */
function withAdapterName(
  policies: readonly NetworkPolicy[],
  adapter: PhysicalAdapter | undefined,
): readonly NetworkPolicy[] {
  if (adapter === undefined || policies.some((policy) => policy.Type === "NetAdapterName")) return policies;
  const named: NetworkPolicy = {
    Type: "NetAdapterName",
    Settings: Object.freeze({ NetworkAdapterName: adapter.name }),
  };
  return Object.freeze([...policies, Object.freeze(named)]);
}

/** The router's MAC that a request names. */
function wantedRouterMac(policies: readonly NetworkPolicy[]): Mac | undefined {
  for (const policy of policies) if (policy.Type === "DrMacAddress") return parseMac(policy.Settings.Address);
  return undefined;
}

/** Inferred: a switch that is there already has its addresses, or gets them when its first network does. */
function addressedAt(context: ServiceContext, { owner }: SwitchPlacement): number {
  return owner?.addressedAtMs ?? context.nowMs + context.networking.addressDelayMs;
}

/**
 * The record of a new network.
 * @throws HcnError for addresses, MAC ranges and extensions that cannot be.
 */
export function makeNetworkRecord(
  context: ServiceContext,
  request: NetworkRequest,
  id: Guid,
  placement: SwitchPlacement,
  policies: readonly NetworkPolicy[],
): NetworkRecord {
  const type = request.Type ?? "NAT";
  const { switchKind } = traitsOf(type);
  const { adapter, owner, switchId, layerId } = placement;
  const addressing = readAddressing(context, request, type);
  checkHostSubnets(context, { id, type }, addressing.subnets);
  const taken = [...context.state.networks.values()].flatMap((network) => network.macRanges);
  const macRanges = readMacRanges(request) ?? Object.freeze([chooseMacRange(taken, context.prng)]);
  const changes = [...changesOfPolicies(policies), ...(request.extensions ?? [])];
  const flags = request.Flags ?? 0;
  return Object.freeze({
    ...context.baseOf(id, request),
    type,
    switchKind,
    adapterName: adapter?.name,
    switchId,
    layerId,
    policies: withAdapterName(policies, adapter),
    macRanges,
    dns: request.Dns,
    ...addressing,
    flags,
    isIsolated: request.isIsolated === true || (flags & NETWORK_FLAGS.IsolateVSwitch) !== 0,
    extensions: withExtensions(context, type, owner?.extensions, changes),
    // Inferred: one router for all networks of a switch; flanneld 0.11 publishes the MAC of another network's as its own.
    drMac: wantedRouterMac(policies) ?? owner?.drMac ?? chooseMac(context.prng),
    hostMac: switchKind === "internal" ? chooseMac(context.prng) : undefined,
    addressedAtMs: addressedAt(context, placement),
  });
}

/** The addresses of the host on an internal switch: the gateways. */
export function hostAddressesOf({ subnets }: Pick<NetworkRecord, "subnets">): readonly InterfaceAddress[] {
  return subnets.flatMap(({ gateway, prefix }) =>
    gateway === undefined ? [] : [{ ip: gateway, length: prefix.length }],
  );
}

/** The switch that a network's record asks for; undefined: the node has no such adapter. */
export function switchDefinitionOf(
  context: ServiceContext,
  network: NetworkRecord,
): SwitchDefinition | undefined {
  const { switchKind, switchId: id, name, hostMac } = network;
  const hasHost = hasHostPort(context, network);
  if (switchKind === "external") {
    const adapter = context.adapterOf(network);
    return (
      adapter && {
        kind: "external",
        id,
        adapter,
        hasHostPort: hasHost,
        isPlain: traitsOf(network.type).isPlain,
        isBridge: network.type === "L2Bridge",
        losesMetadataRoute: context.hasQuirk("metadata-route-lost"),
      }
    );
  }
  if (switchKind === "private" || hostMac === undefined || !hasHost) return { kind: "private", id, name };
  return { kind: "internal", id, name, hostMac, hostAddresses: hostAddressesOf(network) };
}
