/** What an endpoint shall be, before it is one of HCN or of HNS v1. */
import type { Compat } from "#core/base/compat.ts";
import { annotate } from "#contracts/cni/error.ts";
import { type CniIp, type CniDns } from "#contracts/cni/result.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { type InterfaceAddress, familyOf, formatIp } from "#core/net/ip.ts";
import type { ConfiguredPolicy, WindowsConfiguration } from "./conf.ts";
import type { AddLoopback, Allocation, NetworkView, PluginCall, PluginTraits } from "./plugin-traits.ts";
import { addLoopbackDsr, mapBothFamilies } from "./policies.ts";

/** The addresses to plan with: both families, at most one of each; upstream takes the first alone (row 48). */
export function selectAddresses(ips: readonly CniIp[], compat: Compat): readonly InterfaceAddress[] {
  const addresses = ips.map(({ address }) => address);
  if (compat === "upstream") return addresses.slice(0, 1);
  return addresses.filter(
    (address, index) => addresses.findIndex(({ ip }) => familyOf(ip) === familyOf(address.ip)) === index,
  );
}

export interface EndpointPlan extends Allocation {
  readonly policies: readonly ConfiguredPolicy[];
  readonly dns: CniDns;
  /** The pod's own addresses become destinations of OutBoundNAT once HNS has chosen them (row 58). */
  readonly hasLateLoopbackDsr: boolean;
}

/** Loopback DSR is wanted and HNS has it; where it has not, hardened says so (row 57). */
export async function hasLoopbackDsr<C extends WindowsConfiguration>(
  call: PluginCall<C>,
  pluginName: string,
): Promise<boolean> {
  if (!call.configuration.hasLoopbackDsr) return false;
  const version = await call.caller.hns(getHnsVersion);
  if (hasFeature(version, "DSR")) return true;
  if (call.compat === "hardened") {
    call.request.warn(
      `${pluginName}: loopbackDSR is left out: HNS ${version.Major}.${version.Minor} has no DSR`,
    );
  }
  return false;
}

/** Adds loopback DSR for addresses of the pod. */
export function loopbackFor<C extends WindowsConfiguration>(
  { configuration }: PluginCall<C>,
  addresses: readonly string[],
): AddLoopback {
  return (policies) =>
    addresses.reduce((list, address) => addLoopbackDsr(list, address, configuration.api), policies);
}

/** Gets addresses and makes the plan. @throws CniError */
export async function planEndpoint<C extends WindowsConfiguration>(
  call: PluginCall<C>,
  traits: PluginTraits<C>,
  view: NetworkView | undefined,
): Promise<EndpointPlan> {
  const { configuration, compat } = call;
  try {
    const allocation = await traits.allocate(call, view);
    const isLoopback = await hasLoopbackDsr(call, traits.name);
    const ips = allocation.addresses.map(({ address }) => formatIp(address.ip));
    // docs: cni.md §7.G: without an address upstream asks for the destination "<nil>".
    const own = ips.length === 0 && compat === "upstream" ? ["<nil>"] : ips;
    return {
      ...allocation,
      policies: mapBothFamilies(traits.policies(call, view, loopbackFor(call, isLoopback ? own : [])), ips, {
        api: configuration.api,
        compat,
      }),
      dns: configuration.dns,
      hasLateLoopbackDsr: isLoopback && own.length === 0,
    };
  } catch (error) {
    const around = traits.sentences[configuration.api].plan;
    throw around === "" ? error : annotate(error, around);
  }
}
