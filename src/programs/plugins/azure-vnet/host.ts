/**
 * What azure-vnet asks of the machine beside HNS: interfaces, time, HTTP, files, and the programs of Windows that set routes
 * and a neighbour for IPv6 and take devices, in the very lines of upstream (cni.md §5.4 steps 5 and 6;
 * network/network_windows.go, network/endpoint_windows.go).
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { quoteDouble } from "#core/base/shell-quoting.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import { type InterfaceAddress, familyOf, formatIp } from "#core/net/ip.ts";
import type { HttpTransport } from "../cns/client.ts";
import { formatNetwork } from "./address-source.ts";
import type { AzureSubnet } from "./state.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

export interface AzureHostInterface {
  readonly name: string;
  readonly mac: string;
  readonly addresses: readonly InterfaceAddress[];
}

export interface AzureTimer {
  /** Resolves when the time is over; never after `cancel`. */
  readonly done: Promise<void>;
  cancel(): void;
}

/** Programs of Windows that do what HNS does not; they reject when they are not there or fail. */
export interface HostShell {
  powershell(script: string): Promise<string>;
  /** One line for `cmd.exe`. */
  run(line: string): Promise<string>;
}

/** Releases that CNS is to make when it is there again: it works the folder off (cni.md §5.7). */
export interface PendingReleases {
  /** `createsFolder`: also when CNS has not been there yet. */
  add(containerId: string, podInterfaceId: string, createsFolder: boolean): Promise<void>;
}

export interface TemporaryFiles {
  /** Undefined when there is none. */
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
}

export interface AzureHost {
  readonly http: HttpTransport;
  readonly shell: HostShell;
  readonly pendingReleases: PendingReleases;
  /** The folder that `%TEMP%` names. */
  readonly temporaryFiles: TemporaryFiles;
  /** Removes the state of azure-vnet-ipam, unless that of azure-vnet is there (cni.md §5.4 step 2). */
  forgetAddresses(): Promise<void>;
  interfaces(): readonly AzureHostInterface[];
  /** The time, as the state file has it (RFC 3339). */
  now(): string;
  startTimer(milliseconds: number): AzureTimer;
}

const DEFAULT_ROUTE = "::/0";
const NEXT_HOP = "fe80::1234:5678:9abc";
const GATEWAY_MAC = '"12-34-56-78-9a-bc"';
const ON_LINK = '"::"';
const SWITCH_ADAPTER = "vEthernet";

async function addDefaultRoute(shell: HostShell): Promise<void> {
  const answer = await shell.powershell(
    '((Get-NetIPInterface | where InterfaceAlias -Like "vEthernet*").IfIndex)[0]',
  );
  const index = answer.trim();
  try {
    await shell.powershell(`Get-NetRoute -DestinationPrefix ${DEFAULT_ROUTE} -PolicyStore Persistentstore`);
  } catch {
    if (!/^\d+$/.test(index)) throw new Error(`Get-NetIPInterface printed ${JSON.stringify(index)}`);
    const route = `-DestinationPrefix ${DEFAULT_ROUTE} -InterfaceIndex ${index} -NextHop ${NEXT_HOP} -confirm:$false`;
    await shell.powershell(`Remove-NetRoute ${route};New-NetRoute ${route}`);
  }
}

/** The node's own default route of IPv6. @returns why it could not be made; the pod is made all the same. */
export async function ensureDefaultRoute(
  shell: HostShell,
  subnets: readonly AzureSubnet[],
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
  { master, subnets }: { readonly master: string; readonly subnets: readonly AzureSubnet[] },
  ipv6Mode: string,
): Promise<void> {
  if (ipv6Mode !== "ipv6nat") return;
  const prefix = requireSecond(subnets, "Ipv6 subnet not found in network state").prefix;
  const name = master.includes(SWITCH_ADAPTER) ? master : `${SWITCH_ADAPTER} (${master})`;
  const range = quoted(formatNetwork(prefix), "cmd", "a range");
  const alias = quoted(name, "cmd", "the name of an interface");
  const line = (verb: string): string =>
    `netsh interface ipv6 ${verb} route ${range} ${alias} ${ON_LINK} store=persistent`;
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

/** IPv6 over NAT: the gateway's MAC address, which no machine answers for. @throws CniError */
export async function addGatewayNeighbor(
  shell: HostShell,
  subnets: readonly AzureSubnet[],
  endpointName: string,
  ipv6Mode: string,
): Promise<void> {
  if (ipv6Mode !== "ipv6nat") return;
  const { gateway } = requireSecond(subnets, "Ipv6 subnet not found in network state");
  const address = gateway === undefined ? "<nil>" : formatIp(gateway);
  const alias = quoted(`${SWITCH_ADAPTER} (${endpointName})`, "powershell", "the name of an interface");
  try {
    await shell.powershell(
      `New-NetNeighbor -IPAddress ${address} -InterfaceAlias ${alias} -LinkLayerAddress ${GATEWAY_MAC}`,
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

const NO_PROBLEM = "0";
const DISABLED = "22";

async function step(what: string, run: () => Promise<string>): Promise<string> {
  try {
    return (await run()).trim();
  } catch (error) {
    const message = `failed to create endpoint: ${what}: ${describeError(error)}`;
    throw new CniError(CNI_CODES.internal, message, { cause: error });
  }
}

/** A text in a line of upstream's. @throws CniError for one that the shell would read as more. */
function quoted(text: string, shell: "powershell" | "cmd", what: string, knowledge?: KnowledgeCode): string {
  try {
    return quoteDouble(text, shell);
  } catch (cause) {
    const message = `failed to create endpoint: ${JSON.stringify(text)} is not ${what}`;
    throw new CniError(CNI_CODES.internal, message, { cause, ...(knowledge !== undefined && { knowledge }) });
  }
}

/** A device, or where it is plugged in. */
function device(id: string): string {
  return quoted(id, "powershell", "a device ID", "azure-cns-answer-wrong");
}

async function locationOf(shell: HostShell, id: string): Promise<string> {
  return step("Failed to get VF locationPath", () =>
    shell.powershell(
      `(Get-PnpDeviceProperty -KeyName DEVPKEY_Device_LocationPaths –InstanceId ${device(id)}).Data[0]`,
    ),
  );
}

async function stateOf(shell: HostShell, id: string): Promise<{ isPresent: string; problem: string }> {
  const property = (key: string): string =>
    `(Get-PnpDeviceProperty -InstanceId ${device(id)} | Where-Object KeyName -eq ${key})`;
  const what = "failed to get VF device state";
  const isPresent = await step(what, () =>
    shell.powershell(`${property("DEVPKEY_Device_IsPresent")}.Data[0]`),
  );
  const problems = await step(what, () => shell.powershell(property("DEVPKEY_Device_ProblemCode")));
  if (problems === "") return { isPresent, problem: "" };
  const problem = await step(what, () =>
    shell.powershell(`${property("DEVPKEY_Device_ProblemCode")}.Data[0]`),
  );
  return { isPresent, problem };
}

/** Takes the device from Windows. @returns the ID that it has afterwards, for the runtime. @throws CniError */
export async function takeDevice(shell: HostShell, id: string): Promise<string> {
  const { isPresent, problem } = await stateOf(shell, id);
  const isMounted = isPresent === "True" && (problem === NO_PROBLEM || problem === DISABLED);
  if (!isMounted && isPresent !== "False") {
    const message = WORDS.nicStateUnexpected({ isPresent, problem });
    throw new CniError(CNI_CODES.internal, message);
  }
  if (isMounted && problem === NO_PROBLEM) {
    await step("failed to disable VF device", () =>
      shell.powershell(`Disable-PnpDevice -InstanceId ${device(id)} -confirm:$false`),
    );
  }
  if (isMounted) {
    const location = await locationOf(shell, id);
    await step("failed to dismount VF device", () =>
      shell.powershell(
        `Dismount-VMHostAssignableDevice -Force -LocationPath ${device(location)} -confirm:$false`,
      ),
    );
  }
  const location = await locationOf(shell, id);
  return step("Failed to get PnP device ID", () =>
    shell.powershell(
      `(Get-VMHostAssignableDevice | Where-Object LocationPath -eq ${device(location)}).InstanceID`,
    ),
  );
}
