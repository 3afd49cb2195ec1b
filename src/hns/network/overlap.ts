/** Subnets that a host that translates cannot serve at once (hcn.md §4.1). */
import { HcnError } from "../../hcn/error.ts";
import type { HcnErrorCode } from "../../hcn/error-codes.ts";
import type { NetworkType } from "../../hcn/network.ts";
import { type Ip, formatIp } from "../../net/ip.ts";
import { formatPrefix, prefixesOverlap } from "../../net/prefix.ts";
import type { NetworkRecord, SubnetRecord } from "../network-record.ts";
import type { ServiceContext } from "../service-context.ts";
import { traitsOf } from "./type-traits.ts";

/** Networks whose gateway is the host. */
function hostedNetworks(context: ServiceContext, exceptId: string): readonly NetworkRecord[] {
  return [...context.state.networks.values()].filter(
    (network) => network.switchKind === "internal" && network.id !== exceptId,
  );
}

function codeOf(type: NetworkType): HcnErrorCode {
  return traitsOf(type).needsIcs ? "ERROR_DUP_NAME" : "ERROR_OBJECT_ALREADY_EXISTS";
}

/** Whoever has `ip` on the host; undefined: nobody. */
function ownerOnHost(context: ServiceContext, ip: Ip, exceptId: string): string | undefined {
  for (const adapter of context.adapters)
    if (context.datapath.addressesOf(adapter).some((address) => address.ip === ip)) return adapter.name;
  for (const network of hostedNetworks(context, exceptId))
    if (network.subnets.some((subnet) => subnet.gateway === ip)) return `vEthernet (${network.name})`;
  return undefined;
}

/**
 * Checks the subnets of a network whose gateway is the host: no other such network translates for the same addresses,
 * and nobody else on the host has the gateway's. Inferred: an Internal network may overlap others, since nothing is
 * translated; its gateway answers as that of NAT does.
 * @throws HcnError ERROR_OBJECT_ALREADY_EXISTS, for ICS ERROR_DUP_NAME.
 */
export function checkHostSubnets(
  context: ServiceContext,
  network: Pick<NetworkRecord, "id" | "type">,
  subnets: readonly SubnetRecord[],
): void {
  const traits = traitsOf(network.type);
  if (traits.switchKind !== "internal") return;
  for (const { prefix, gateway } of subnets) {
    const owner = gateway === undefined ? undefined : ownerOnHost(context, gateway, network.id);
    if (gateway !== undefined && owner !== undefined) {
      throw new HcnError(codeOf(network.type), {
        detail: `${owner} has the gateway's address ${formatIp(gateway)} already; choose another subnet`,
      });
    }
    if (!traits.hasChosenSubnet) continue;
    for (const other of hostedNetworks(context, network.id)) {
      if (!traitsOf(other.type).hasChosenSubnet) continue;
      const clash = other.subnets.find((candidate) => prefixesOverlap(candidate.prefix, prefix));
      if (clash === undefined) continue;
      throw new HcnError(codeOf(network.type), {
        detail: `${formatPrefix(prefix)} overlaps ${formatPrefix(clash.prefix)} of network ${other.name}; choose another subnet`,
      });
    }
  }
}
