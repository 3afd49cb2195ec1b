/** A Windows node for tests of win-bridge and win-overlay: HNS that notes calls, IPAM that is told what to give. */
import type { Compat } from "#core/base/compat.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import type { JsonObject } from "#core/base/json.ts";
import { AzureVnet } from "#programs/plugins/azure-vnet/plugin.ts";
import type { AzureHost } from "#programs/plugins/azure-vnet/host.ts";
import type { HttpRequest, HttpTransport } from "#programs/plugins/cns/client.ts";
import { MemoryStateStore } from "#programs/plugins/azure-vnet/memory.ts";
import type { SdnName } from "#programs/plugins/sdn/conf.ts";
import { SdnPlugin } from "#programs/plugins/sdn/plugin.ts";
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";
import { WinOverlay } from "#programs/plugins/win-overlay/plugin.ts";
import type { WindowsPluginOptions } from "#programs/plugins/windows-endpoint/windows-plugin.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import { type PluginRun, runWithTexts } from "./cni-process.ts";
import { FakeHcnClient } from "../hns/fake-hcn-client.ts";
import { ScriptedPlugin, resultWith } from "./scripted-plugin.ts";

export const NAMESPACE = "7cb720c0-ac4c-4266-92e1-dc277b2a9b94";
export const OTHER_NAMESPACE = "8cb720c0-ac4c-4266-92e1-dc277b2a9b95";

/** GUIDs of the networks by name. */
export const NETWORKS = {
  cbr0: "0fb28d70-306c-469d-9690-3245a82d8800",
  cbr1: "0fb28d70-306c-469d-9690-3245a82d8801",
  l2t: "0fb28d70-306c-469d-9690-3245a82d8802",
  nat: "0fb28d70-306c-469d-9690-3245a82d8803",
  winl2bridge: "0fb28d70-306c-469d-9690-3245a82d8804",
  bare: "0fb28d70-306c-469d-9690-3245a82d8805",
  vxlan0: "0fb28d70-306c-469d-9690-3245a82d8806",
  OVNKubernetesHybridOverlayNetwork: "0fb28d70-306c-469d-9690-3245a82d8807",
  bareOverlay: "0fb28d70-306c-469d-9690-3245a82d8808",
} as const;

function subnet(prefix: string, gateway: string): JsonObject {
  const destination = gateway.includes(":") ? "::/0" : "0.0.0.0/0";
  return { IpAddressPrefix: prefix, Routes: [{ NextHop: gateway, DestinationPrefix: destination }] };
}

function network(
  name: keyof typeof NETWORKS,
  type: string,
  ...subnets: readonly JsonObject[]
): JsonObject & { readonly ID: string } {
  const ipams = subnets.length === 0 ? [] : [{ Type: "Static", Subnets: subnets }];
  return { ID: NETWORKS[name], Name: name, ...(type !== "NAT" && { Type: type }), Ipams: ipams };
}

/** The networks of the worked examples (cni.md §7). */
const DOCUMENTS = [
  network("cbr0", "L2Bridge", subnet("10.244.3.0/24", "10.244.3.1")),
  network("cbr1", "L2Bridge", subnet("10.244.4.0/23", "10.244.4.1")),
  network("l2t", "L2Tunnel", subnet("10.240.0.0/12", "10.240.0.1")),
  network("nat", "NAT", subnet("172.24.32.0/20", "172.24.32.1")),
  network(
    "winl2bridge",
    "L2Bridge",
    subnet("192.168.1.0/24", "192.168.1.1"),
    subnet("fd00::100/120", "fd00::101"),
  ),
  network("bare", "L2Bridge"),
  { ...network("vxlan0", "Overlay", subnet("10.244.5.0/24", "10.244.5.1")), ManagementIP: "10.0.0.7" },
  {
    ...network("OVNKubernetesHybridOverlayNetwork", "Overlay", subnet("10.132.0.0/24", "10.132.0.1")),
    ManagementIP: "10.0.133.170",
  },
  { ...network("bareOverlay", "Overlay"), ManagementIP: "10.0.0.7" },
];

export interface PluginNode<T extends CniPlugin> {
  readonly client: FakeHcnClient;
  readonly ipam: ScriptedPlugin;
  readonly plugin: T;
  run(verb: string, stdin: unknown, env?: Readonly<Record<string, string>>): Promise<PluginRun>;
}

/** Makes a node; `ipams` stand beside the scripted one, which answers to `host-local` unless it is among them. */
function pluginNode<T extends CniPlugin>(
  make: (options: WindowsPluginOptions) => T,
  compat: Compat,
  ipams: readonly CniPlugin[],
): PluginNode<T> {
  const client = new FakeHcnClient();
  for (const document of DOCUMENTS) client.put("Network", document);
  for (const id of [NAMESPACE, OTHER_NAMESPACE]) client.put("Namespace", { ID: id, Type: "Host" });
  const ipam = new ScriptedPlugin("host-local", compat);
  ipam.result = resultWith("10.244.3.3/24");
  const plugins = new Map<string, CniPlugin>([["host-local", ipam]]);
  plugins.set("azure-vnet-ipam", ipam);
  for (const plugin of ipams) plugins.set(plugin.name, plugin);
  const delegate = new RunnerDelegate(new InProcessRunner(plugins, "win32"));
  const plugin = make({ client, delegate, compat });
  const run: PluginNode<T>["run"] = (verb, stdin, env = {}) =>
    runWithTexts(plugin, { env: { CNI_COMMAND: verb, CNI_NETNS: NAMESPACE, ...env }, stdin });
  return { client, ipam, plugin, run };
}

export function bridgeNode(
  compat: Compat = "upstream",
  ipams: readonly CniPlugin[] = [],
): PluginNode<WinBridge> {
  return pluginNode((options) => new WinBridge(options), compat, ipams);
}

export function overlayNode(
  compat: Compat = "upstream",
  ipams: readonly CniPlugin[] = [],
): PluginNode<WinOverlay> {
  return pluginNode((options) => new WinOverlay(options), compat, ipams);
}

export function sdnNode(
  name: SdnName,
  compat: Compat = "upstream",
  ipams: readonly CniPlugin[] = [],
): PluginNode<SdnPlugin> {
  return pluginNode((options) => new SdnPlugin({ ...options, name }), compat, ipams);
}

/** The adapter of azure-vnet's examples. */
export const AZURE_ADAPTER = "Ethernet";

export interface AzureNode extends PluginNode<AzureVnet> {
  readonly store: MemoryStateStore;
  /** What the plugin sees of the machine; a test may replace its members. */
  readonly host: AzureHost;
  /** Milliseconds of the timers that were started; they ring at once when `timersRing`. */
  readonly timers: number[];
  timersRing: boolean;
  /** Requests over HTTP in the order in which they came. */
  readonly requests: HttpRequest[];
  /** Lines for PowerShell and cmd. */
  readonly commands: string[];
  /** Releases that CNS has missed, by container. */
  readonly pending: Map<string, string>;
  /** Files of `%TEMP%`. */
  readonly temporary: Map<string, string>;
  /** How often IPAM's state was forgotten. */
  forgotten: number;
}

export interface AzureNodeOptions {
  readonly ipams?: readonly CniPlugin[];
  /** Who answers over HTTP; absent: nobody. */
  readonly http?: HttpTransport;
  readonly isStateless?: boolean;
}

/** The parts of a machine of Azure: one adapter in 10.240.0.0/16. */
function azureMachine(http: HttpTransport | undefined) {
  const timers: number[] = [];
  const requests: HttpRequest[] = [];
  const commands: string[] = [];
  const pending = new Map<string, string>();
  const temporary = new Map<string, string>();
  const noted = { timersRing: false, forgotten: 0 };
  const address = defined(parseInterfaceAddress("10.240.0.4/16"), "address");
  const execute = (line: string): Promise<string> => {
    commands.push(line);
    return Promise.resolve("");
  };
  const host: AzureHost = {
    interfaces: () => [{ name: AZURE_ADAPTER, mac: "00-0D-3A-01-02-03", addresses: [address] }],
    now: () => "2026-11-22T00:00:00Z",
    startTimer: (milliseconds: number) => {
      timers.push(milliseconds);
      return {
        done: noted.timersRing ? Promise.resolve() : new Promise<void>(() => undefined),
        cancel: () => undefined,
      };
    },
    http: (request) => {
      requests.push(request);
      return http === undefined ? Promise.reject(new Error("connection refused")) : http(request);
    },
    shell: { powershell: execute, run: execute },
    pendingReleases: {
      add: async (containerId, podInterfaceId) => {
        pending.set(containerId, podInterfaceId);
      },
    },
    temporaryFiles: {
      read: async (name) => temporary.get(name),
      write: async (name, text) => {
        temporary.set(name, text);
      },
    },
    forgetAddresses: async () => {
      noted.forgotten++;
    },
  };
  return { host, noted, timers, requests, commands, pending, temporary };
}

/** What azure-vnet sees of such a machine. */
export function azureHost(http: HttpTransport): AzureHost {
  return azureMachine(http).host;
}

/** A node of Azure, no network in HNS yet; the pod is default/web-0 (cni.md §7.E). */
export function azureNode(compat: Compat = "upstream", options: AzureNodeOptions = {}): AzureNode {
  const store = new MemoryStateStore();
  const { noted, ...machine } = azureMachine(options.http);
  const { host } = machine;
  const kept = options.isStateless === true ? undefined : store;
  const node = pluginNode((own) => new AzureVnet({ ...own, store: kept, host }), compat, options.ipams ?? []);
  const run: AzureNode["run"] = (verb, stdin, env = {}) =>
    node.run(verb, stdin, {
      CNI_CONTAINERID: "7c5e1f0a9b3d4e6f",
      CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0",
      ...env,
    });
  return Object.assign(noted, { ...node, ...machine, run, store });
}
