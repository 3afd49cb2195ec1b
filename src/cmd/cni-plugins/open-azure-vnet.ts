/** azure-vnet with the files, interfaces and clock of this machine. */
import { networkInterfaces } from "node:os";
import type { Compat } from "../../cni/parameters.ts";
import { parseInterfaceAddress } from "../../net/prefix.ts";
import { FileStateStore } from "../../plugins/azure-vnet/file-state-store.node.ts";
import type { AzureHost, AzureTimer, HostInterface } from "../../plugins/azure-vnet/host.ts";
import { AzureVnet } from "../../plugins/azure-vnet/plugin.ts";
import { openWindowsPlugin } from "./open-windows-plugin.ts";
import type { OpenPlugin } from "./plugin-process.ts";

/** Overrides the folder of the state. */
const FOLDER_VARIABLE = "MULLION_AZURE_STATE";
/** Where provisioning expects the state (cni.md §5.8). */
const WINDOWS_FOLDER = "C:\\k";
const LINUX_FOLDER = "/var/run/azure-vnet";
/** How long the reference waits for the lock on Windows. */
const LOCK_WAIT_MS = 60_000;

/** The reference keeps its state in whatever folder it was started in. */
function stateFolder(compat: Compat): string {
  const chosen = process.env[FOLDER_VARIABLE] ?? "";
  if (chosen !== "") return chosen;
  if (compat === "reference") return process.cwd();
  return process.platform === "win32" ? WINDOWS_FOLDER : LINUX_FOLDER;
}

function readInterfaces(): readonly HostInterface[] {
  return Object.entries(networkInterfaces()).map(([name, entries = []]) => ({
    name,
    mac: (entries[0]?.mac ?? "").toUpperCase().replaceAll(":", "-"),
    addresses: entries.flatMap(({ cidr }) => parseInterfaceAddress(cidr ?? "") ?? []),
  }));
}

function startTimer(milliseconds: number): AzureTimer {
  let timer: NodeJS.Timeout | undefined;
  const done = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return { done, cancel: () => clearTimeout(timer) };
}

export function openAzureVnet(compat: Compat): OpenPlugin {
  const store = new FileStateStore({
    folder: stateFolder(compat),
    name: "azure-vnet",
    waitMs: LOCK_WAIT_MS,
    flockProgram: process.platform === "linux" ? "flock" : "",
  });
  const host: AzureHost = { interfaces: readInterfaces, now: () => new Date().toISOString(), startTimer };
  return openWindowsPlugin((options) => new AzureVnet({ ...options, store, host }), compat);
}
