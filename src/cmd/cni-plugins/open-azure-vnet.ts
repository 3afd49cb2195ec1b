/** azure-vnet and azure-vnet-ipam with the files, interfaces and clock of this machine. */
import { networkInterfaces } from "node:os";
import type { Compat } from "../../cni/parameters.ts";
import { parseInterfaceAddress } from "../../net/prefix.ts";
import { FileStateStore } from "../../plugins/azure-vnet/file-state-store.node.ts";
import type { AzureHost, AzureTimer, HostInterface } from "../../plugins/azure-vnet/host.ts";
import { AzureVnet } from "../../plugins/azure-vnet/plugin.ts";
import { AzureVnetIpam } from "../../plugins/azure-vnet-ipam/plugin.ts";
import type { AddressSources } from "../../plugins/azure-vnet-ipam/source.ts";
import { openWindowsPlugin } from "./open-windows-plugin.ts";
import type { OpenPlugin } from "./plugin-process.ts";
import { TEXT_FILES } from "./text-files.ts";

/** Overrides the folder of the state. */
const FOLDER_VARIABLE = "MULLION_AZURE_STATE";
/** Where provisioning expects the state (cni.md §5.8). */
const WINDOWS_FOLDER = "C:\\k";
const LINUX_FOLDER = "/var/run/azure-vnet";
/** What the wire server is asked (cni.md §5.9). */
const WIRE_SERVER = "http://168.63.129.16/machine/plugins?comp=nmagent&type=getinterfaceinfov1";
const WIRE_SERVER_TIMEOUT_MS = 10_000;
const INTERFACES_WINDOWS = "C:\\k\\interfaces.json";
const INTERFACES_LINUX = "/etc/kubernetes/interfaces.json";
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

function openStore(name: string, compat: Compat): FileStateStore {
  return new FileStateStore({
    folder: stateFolder(compat),
    name,
    waitMs: LOCK_WAIT_MS,
    flockProgram: process.platform === "linux" ? "flock" : "",
  });
}

function now(): string {
  return new Date().toISOString();
}

export function openAzureVnet(compat: Compat): OpenPlugin {
  const store = openStore("azure-vnet", compat);
  const host: AzureHost = { interfaces: readInterfaces, now, startTimer };
  return openWindowsPlugin((options) => new AzureVnet({ ...options, store, host }), compat);
}

async function queryWireServer(): Promise<string> {
  const response = await fetch(WIRE_SERVER, { signal: AbortSignal.timeout(WIRE_SERVER_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${WIRE_SERVER} answers ${response.status}`);
  return response.text();
}

export function openAzureVnetIpam(compat: Compat): OpenPlugin {
  const sources: AddressSources = {
    interfaces: readInterfaces,
    queryWireServer,
    readInterfaces: () =>
      TEXT_FILES.readText(process.platform === "win32" ? INTERFACES_WINDOWS : INTERFACES_LINUX),
    now,
  };
  const store = openStore("azure-vnet-ipam", compat);
  return { plugin: new AzureVnetIpam({ store, sources, compat }), close: () => Promise.resolve() };
}
