/** Which adapter an external network takes (hcn.md §3.1, §4.1). */
import { HcnError } from "../hcn/error.ts";
import type { NetworkPolicy } from "../hcn/network-policy.ts";
import { parseIp } from "../net/ip.ts";
import type { PhysicalAdapter } from "./physical-adapter.ts";
import type { ServiceContext } from "./service-context.ts";

/** vNICs of a switch cannot be an uplink. */
const VIRTUAL_ADAPTER = /^vEthernet \(/i;

function namesOf(adapters: readonly PhysicalAdapter[]): string {
  return adapters.length === 0
    ? "the node has none"
    : `the node has ${adapters.map(({ name }) => name).join(", ")}`;
}

function adapterByName(adapters: readonly PhysicalAdapter[], name: string): PhysicalAdapter {
  if (VIRTUAL_ADAPTER.test(name)) {
    throw new HcnError("ERROR_INVALID_PARAMETER", {
      detail: `${name} is a switch's own vNIC; name the adapter behind it or leave NetAdapterName out`,
    });
  }
  const adapter = adapters.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
  if (adapter !== undefined) return adapter;
  throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
    detail: `There is no adapter ${JSON.stringify(name)}; ${namesOf(adapters)}`,
  });
}

/**
 * The adapter that the policies name, by friendly name or by the address it has; without either the first one, since
 * the service takes any suitable adapter.
 * @throws HcnError HCN_E_ADAPTER_NOT_FOUND, ERROR_INVALID_PARAMETER for the vNIC of a switch.
 */
export function selectAdapter(context: ServiceContext, policies: readonly NetworkPolicy[]): PhysicalAdapter {
  const { adapters } = context;
  for (const policy of policies) {
    if (policy.Type === "NetAdapterName") return adapterByName(adapters, policy.Settings.NetworkAdapterName);
    if (policy.Type === "InterfaceConstraint" && (policy.Settings.InterfaceAlias ?? "") !== "")
      return adapterByName(adapters, policy.Settings.InterfaceAlias ?? "");
  }
  for (const policy of policies) {
    if (policy.Type !== "ProviderAddress") continue;
    const wanted = parseIp(policy.Settings.ProviderAddress ?? "");
    const owner = adapters.find((adapter) =>
      context.datapath.addressesOf(adapter).some((address) => address.ip === wanted),
    );
    if (owner !== undefined) return owner;
    throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
      detail: `No adapter has the address ${policy.Settings.ProviderAddress ?? ""}; ${namesOf(adapters)}`,
    });
  }
  const [first] = adapters;
  if (first !== undefined) return first;
  throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
    detail: `An L2Bridge network needs an adapter; ${namesOf(adapters)}`,
  });
}
