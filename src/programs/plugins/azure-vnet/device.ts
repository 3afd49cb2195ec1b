/**
 * A device that a pod gets whole: Windows is told to let go of it, in the very lines of upstream
 * (network/endpoint_windows.go). HNS has no endpoint for it.
 */
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { HostShell } from "./host.ts";

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

/** The characters that PowerShell takes out of a text in double quotes must not be there. @throws CniError */
function requirePlain(id: string): void {
  if (!/["`$\r\n]/.test(id)) return;
  const message = `failed to create endpoint: ${JSON.stringify(id)} is not a device ID`;
  throw new CniError(CNI_CODES.internal, message, { knowledge: "azure-cns-answer-wrong" });
}

async function locationOf(shell: HostShell, id: string): Promise<string> {
  return step("Failed to get VF locationPath", () =>
    shell.powershell(
      `(Get-PnpDeviceProperty -KeyName DEVPKEY_Device_LocationPaths –InstanceId "${id}").Data[0]`,
    ),
  );
}

async function stateOf(shell: HostShell, id: string): Promise<{ isPresent: string; problem: string }> {
  const property = (key: string): string =>
    `(Get-PnpDeviceProperty -InstanceId "${id}" | Where-Object KeyName -eq ${key})`;
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
  requirePlain(id);
  const { isPresent, problem } = await stateOf(shell, id);
  const isMounted = isPresent === "True" && (problem === NO_PROBLEM || problem === DISABLED);
  if (!isMounted && isPresent !== "False") {
    const message = `failed to create endpoint: unexpected error with devicePresence ${isPresent} and problemCode ${problem}`;
    throw new CniError(CNI_CODES.internal, message);
  }
  if (isMounted && problem === NO_PROBLEM) {
    await step("failed to disable VF device", () =>
      shell.powershell(`Disable-PnpDevice -InstanceId "${id}" -confirm:$false`),
    );
  }
  if (isMounted) {
    const location = await locationOf(shell, id);
    await step("failed to dismount VF device", () =>
      shell.powershell(`Dismount-VMHostAssignableDevice -Force -LocationPath "${location}" -confirm:$false`),
    );
  }
  const location = await locationOf(shell, id);
  return step("Failed to get PnP device ID", () =>
    shell.powershell(`(Get-VMHostAssignableDevice | Where-Object LocationPath -eq "${location}").InstanceID`),
  );
}
