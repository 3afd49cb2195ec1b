/** azure-vnet and its IPAM plugins with the files, interfaces and clock of this machine. */
import { STDOUT, writeOutputAtOnce } from "../output.ts";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { ByMode } from "#core/base/compat.ts";
import { readStruct } from "#contracts/cni/json.ts";
import { type JsonValue } from "#core/base/json.ts";
import { FileStateStore } from "#programs/plugins/azure-vnet/file-state-store.node.ts";
import { AzureVnet } from "#programs/plugins/azure-vnet/plugin.ts";
import type { NodeFacts, AddressSources } from "#programs/plugins/azure-vnet-ipam/source.ts";
import { type AzureIpamName, AzureVnetIpam } from "#programs/plugins/azure-vnet-ipam/plugin.ts";
import { SOCKET_TRANSPORT } from "#programs/plugins/cns/http-transport.node.ts";
import type { WindowsPluginOptions } from "#programs/plugins/windows-endpoint/windows-plugin.ts";
import { azureHost, now, readInterfaces } from "./azure-host.ts";
import { openWindowsPlugin } from "./own-plugin-runner.ts";
import { type OpenPlugin, type PluginOpener, type PluginPlace, runPluginProcess } from "./plugin-process.ts";
import { TEXT_FILES } from "./open-host-local.ts";

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
const KUBECONFIG_WINDOWS = "C:\\k\\config";
const KUBECONFIG_LINUX = "/var/lib/kubelet/kubeconfig";
/** How long upstream waits for the lock on Windows. */
const LOCK_WAIT_MS = 60_000;

/** Where the state is, and where both plugins look for each other's. */
interface Folders {
  readonly own: string;
  readonly shared: string;
}

/**
 * As published, the state is in whatever folder the plugin was started in; on Windows the other's is looked for in one
 * place, wherever it is.
 */
const FOLDERS: ByMode<(isWindows: boolean, chosen: string, current: string) => Folders> = {
  upstream: (isWindows, chosen, current) => {
    const own = chosen === "" ? current : chosen;
    return { own, shared: isWindows ? WINDOWS_FOLDER : own };
  },
  hardened: (isWindows, chosen) => {
    const usual = isWindows ? WINDOWS_FOLDER : LINUX_FOLDER;
    const own = chosen === "" ? usual : chosen;
    return { own, shared: own };
  },
};

function openStore(name: string, { own }: Folders): FileStateStore {
  return new FileStateStore({
    folder: own,
    name,
    waitMs: LOCK_WAIT_MS,
    flockProgram: process.platform === "linux" ? "flock" : "",
  });
}

function chooseFolders({ compat, env, folder }: PluginPlace): Folders {
  const chosen = env[FOLDER_VARIABLE] ?? "";
  return FOLDERS[compat](process.platform === "win32", chosen === "" ? "" : resolve(folder, chosen), folder);
}

export const openAzureVnet: PluginOpener = (place) => {
  const folders = chooseFolders(place);
  const store = openStore("azure-vnet", folders);
  const host = azureHost(folders.shared, place);
  const make = (options: WindowsPluginOptions): AzureVnet => new AzureVnet({ ...options, store, host });
  return openWindowsPlugin(make, place, (name) =>
    name === "azure-vnet-ipam" ? openAzureIpam(name)(place) : undefined,
  );
};

/** The plugin that keeps nothing: CNS does. */
export const openAzureVnetStateless: PluginOpener = (place) => {
  const host = azureHost(chooseFolders(place).shared, place);
  return openWindowsPlugin((options) => new AzureVnet({ ...options, store: undefined, host }), place);
};

async function queryWireServer(): Promise<string> {
  const { status, text } = await SOCKET_TRANSPORT({
    method: "GET",
    url: WIRE_SERVER,
    timeoutMs: WIRE_SERVER_TIMEOUT_MS,
  });
  if (status !== 200) throw new Error(`${WIRE_SERVER} answers ${status}`);
  return text;
}

/** The node by the name of this machine, with the kubeconfig of its kubelet (cni.md §5.9). */
async function queryNode(): Promise<NodeFacts> {
  const { ApiConnection } = await import("#contracts/kubernetes/server/api-connection.node.ts");
  const kubeconfig = process.platform === "win32" ? KUBECONFIG_WINDOWS : KUBECONFIG_LINUX;
  const connection = await ApiConnection.open({ kubeconfig }, "azure-vnet-ipamv6");
  try {
    const version = (await connection.call({ method: "GET", path: "/version" })) as JsonValue;
    const path = `/api/v1/nodes/${encodeURIComponent(hostname().toLowerCase())}`;
    const node = (await connection.call({ method: "GET", path })) as JsonValue;
    const facts = readStruct(version, "");
    const spec = readStruct(node, "").struct("spec");
    return {
      major: facts.text("major"),
      minor: facts.text("minor"),
      podCIDRs: spec?.texts("podCIDRs") ?? [],
    };
  } finally {
    connection.close();
  }
}

/** `azure-vnet-ipamv6`: addresses of IPv6 from the node's own range. */
export function openAzureIpam(name: AzureIpamName): (place: PluginPlace) => OpenPlugin {
  return (place) => {
    const sources: AddressSources = {
      interfaces: readInterfaces,
      queryWireServer,
      readInterfaces: () =>
        TEXT_FILES.readText(process.platform === "win32" ? INTERFACES_WINDOWS : INTERFACES_LINUX),
      queryNode,
      now,
    };
    const store = openStore(name, chooseFolders(place));
    const plugin = new AzureVnetIpam({ name, store, sources, compat: place.compat });
    return { plugin, close: () => Promise.resolve() };
  };
}

/** Azure's plugins have `-v` and `--version` beside the contract (cni.md §5.2); else the plugin runs once. */
async function start(open: PluginOpener): Promise<void> {
  const isAsked = process.argv.slice(2).some((word) => word === "-v" || word === "--version");
  if (!isAsked) return runPluginProcess(open);
  const { packageVersion } = await import("../installation.ts");
  writeOutputAtOnce(STDOUT, `Azure CNI Version mullion-${packageVersion()}\n`);
}

/** The executable `azure-vnet`. */
export function startAzureVnet(): Promise<void> {
  return start(openAzureVnet);
}

/** The executable `azure-vnet-stateless`: azure-vnet without a file of its own. */
export function startAzureVnetStateless(): Promise<void> {
  return start(openAzureVnetStateless);
}

/** The executable `azure-vnet-ipam`. */
export function startAzureVnetIpam(): Promise<void> {
  return start(openAzureIpam("azure-vnet-ipam"));
}

/** The executable `azure-vnet-ipamv6`. */
export function startAzureVnetIpamV6(): Promise<void> {
  return start(openAzureIpam("azure-vnet-ipamv6"));
}
