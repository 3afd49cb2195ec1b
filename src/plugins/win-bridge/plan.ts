/** What win-bridge wants an endpoint to be: addresses of IPAM, gateway at network + 2, policies in order (cni.md §2.2). */
import type { Compat } from "../../cni/parameters.ts";
import { annotate } from "../../cni/error.ts";
import type { PluginRequest } from "../../cni/plugin.ts";
import type { HnsCaller } from "../windows-endpoint/failure.ts";
import { hasFeature } from "../../hcn/features.ts";
import { getHnsVersion } from "../../hcn/v1-operations.ts";
import { gatewayPlusTwo, selectAddresses } from "../windows-endpoint/addresses.ts";
import type { ConfiguredPolicy } from "../windows-endpoint/conf.ts";
import type { EndpointPlan } from "../windows-endpoint/endpoint-plan.ts";
import { addOutboundNatException, addPortMappings } from "../windows-endpoint/policies.ts";
import type { WinBridgeConfiguration } from "./conf.ts";
import type { BridgeCall } from "./bridge.ts";

/** The policies in the reference's order: configured, `ipMasqNetwork`, port mappings. */
export function bridgePolicies(
  configuration: WinBridgeConfiguration,
  request: PluginRequest,
  compat: Compat,
): readonly ConfiguredPolicy[] {
  const { api, policies, ipMasqNetwork, portMappings } = configuration;
  const withException = addOutboundNatException(policies, ipMasqNetwork, api, compat);
  const warn = (text: string): void => request.warn(`win-bridge: ${text}`);
  return addPortMappings(withException, portMappings, api, { compat, warn });
}

/** Loopback DSR is wanted and HNS has it; where it has not, better says so (row 57). */
export async function hasLoopbackDsr(call: BridgeCall, caller: HnsCaller, compat: Compat): Promise<boolean> {
  if (!call.configuration.hasLoopbackDsr) return false;
  const version = await caller.hns(getHnsVersion);
  if (hasFeature(version, "DSR")) return true;
  if (compat === "better") {
    call.request.warn(
      `win-bridge: loopbackDSR is left out: HNS ${version.Major}.${version.Minor} has no DSR`,
    );
  }
  return false;
}

/** Gets addresses and makes the plan. @throws CniError */
export async function planBridgeEndpoint(
  call: BridgeCall,
  caller: HnsCaller,
  compat: Compat,
): Promise<EndpointPlan> {
  const { configuration, ipam, request } = call;
  try {
    const ips = compat === "better" ? await ipam.addBesideGateway(gatewayPlusTwo) : await ipam.add();
    const addresses = selectAddresses(ips, compat).map((address) => ({
      address,
      gateway: gatewayPlusTwo(address),
    }));
    return {
      addresses,
      policies: bridgePolicies(configuration, request, compat),
      dns: configuration.dns,
      hasLoopbackDsr: await hasLoopbackDsr(call, caller, compat),
    };
  } catch (error) {
    throw annotate(error, "error while processing endpoint args");
  }
}
