/**
 * What azure-vnet has Windows do for IPv6 beside HNS: routes and a neighbour, in the very lines of upstream (cni.md
 * §5.4 steps 5 and 6; network/network_windows.go, network/endpoint_windows.go).
 */
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import { familyOf, formatIp } from "#core/net/ip.ts";
import type { HostShell } from "./host.ts";
import { type AzurePlan, formatNetwork } from "./plan.ts";
import type { AzureSubnet } from "./state.ts";

const DEFAULT_ROUTE = "::/0";
const NEXT_HOP = "fe80::1234:5678:9abc";
const GATEWAY_MAC = "12-34-56-78-9a-bc";
const ON_LINK = "::";
const SWITCH_ADAPTER = "vEthernet";

async function addDefaultRoute(shell: HostShell): Promise<void> {
  const answer = await shell.powershell(
    '((Get-NetIPInterface | where InterfaceAlias -Like "vEthernet*").IfIndex)[0]',
  );
  const index = answer.trim();
  try {
    await shell.powershell(`Get-NetRoute -DestinationPrefix ${DEFAULT_ROUTE} -PolicyStore Persistentstore`);
  } catch {
    const route = `-DestinationPrefix ${DEFAULT_ROUTE} -InterfaceIndex ${index} -NextHop ${NEXT_HOP} -confirm:$false`;
    await shell.powershell(`Remove-NetRoute ${route};New-NetRoute ${route}`);
  }
}

/** The node's own default route of IPv6. @returns why it could not be made; the pod is made all the same. */
export async function ensureDefaultRoute(
  shell: HostShell,
  { subnets }: AzurePlan,
): Promise<string | undefined> {
  if (!subnets.some(({ prefix }) => familyOf(prefix.ip) === 6)) return undefined;
  try {
    await addDefaultRoute(shell);
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}

/** IPv6 over NAT: the pods' range leads over the host's own interface. @throws CniError */
export async function addPodRange(
  shell: HostShell,
  { master, subnets }: AzurePlan,
  ipv6Mode: string,
): Promise<void> {
  if (ipv6Mode !== "ipv6nat") return;
  const prefix = requireSecond(subnets, "Ipv6 subnet not found in network state").prefix;
  const name = master.includes(SWITCH_ADAPTER) ? master : `${SWITCH_ADAPTER} (${master})`;
  const line = (verb: string): string =>
    `netsh interface ipv6 ${verb} route "${formatNetwork(prefix)}" "${name}" "${ON_LINK}" store=persistent`;
  try {
    await shell.run(line("delete"));
  } catch {
    // There was none.
  }
  try {
    await shell.run(line("add"));
  } catch (error) {
    throw failed("the route to the pods' range of IPv6", error);
  }
}

/** IPv6 over NAT: the gateway's MAC address, which nobody would answer for. @throws CniError */
export async function addGatewayNeighbor(
  shell: HostShell,
  subnets: readonly AzureSubnet[],
  endpointName: string,
  ipv6Mode: string,
): Promise<void> {
  if (ipv6Mode !== "ipv6nat") return;
  const { gateway } = requireSecond(subnets, "Ipv6 subnet not found in network state");
  const address = gateway === undefined ? "<nil>" : formatIp(gateway);
  try {
    await shell.powershell(
      `New-NetNeighbor -IPAddress ${address} -InterfaceAlias "${SWITCH_ADAPTER} (${endpointName})" -LinkLayerAddress "${GATEWAY_MAC}"`,
    );
  } catch (error) {
    throw failed("the neighbour entry of the gateway of IPv6", error);
  }
}

function requireSecond(subnets: readonly AzureSubnet[], message: string): AzureSubnet {
  const [, second] = subnets;
  if (second === undefined) throw new CniError(CNI_CODES.internal, message);
  return second;
}

function failed(what: string, error: unknown): CniError {
  const message = `failed to create endpoint: ${what} could not be set: ${describeError(error)}`;
  return new CniError(CNI_CODES.internal, message, { cause: error });
}
