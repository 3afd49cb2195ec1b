/** From nothing to files and a vSwitch: what `install.ps1` does, and `KubeCluster.ps1` in its own order. */
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import { type StoredHnsNetwork, createHnsNetwork, deleteHnsNetwork } from "#contracts/hcn/v1-operations.ts";
import { formatPrefix } from "#core/net/ip.ts";
import { dnsAddressIn } from "../names/dns-service.ts";
import { proxyFor } from "./proxy-environment.ts";
import type { ScriptNode } from "./script-node.ts";
import {
  CNI_CONF,
  FLANNEL_NET_CONF,
  KUBECONFIG,
  type Management,
  NET_CONF,
  fetchedCniConf,
  fetchedNetConf,
  writtenCniConf,
  writtenContainerdConf,
  writtenNetConf,
} from "./script-files.ts";
import type { BringUpFinding } from "./report.ts";
import { ScriptEnds, type Step } from "./step.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Where the scripts fetch everything from, unless GITHUB_SDN_REPOSITORY says otherwise. */
const DOWNLOAD_SOURCE = "https://github.com/Microsoft/SDN";
const EXTERNAL = "External";
/** So that nobody can need it (control-planes.md §2.1). */
const EXTERNAL_SUBNET = { AddressPrefix: "192.168.255.0/30", GatewayAddress: "192.168.255.1" } as const;
const EXTERNAL_VSID = 9_999;

/** `Invoke-HNSRequest` writes the answer as an error that ends nothing. */
export function reportRefusal(node: ScriptNode, error: unknown): HcnError {
  if (!(error instanceof HcnError)) throw error;
  const { Error: text, ErrorCode } = error.toRecord();
  node.print(`Invoke-HnsRequest : @{Error=${text}; ErrorCode=${ErrorCode}; Success=False}`);
  if (error.explanation === "hns-service-not-running" && node.found.length === 0)
    node.find("hns-service-not-running", text.trim().replace(/\.$/, ""));
  return error;
}

/** Get-HnsNetwork, which writes an error and answers nothing where HNS does not run. */
export async function lookForNetwork(node: ScriptNode, name: string): Promise<StoredHnsNetwork | undefined> {
  try {
    return await node.findNetwork(name);
  } catch (error) {
    reportRefusal(node, error);
    return undefined;
  }
}

function write(node: ScriptNode, path: string, text: string): Promise<void> {
  return node.files.write(path, text);
}

/** What a person puts onto the node before any script runs. */
export const PREPARE: Step = {
  script: "by hand",
  name: "Prepare C:\\k",
  command: String.raw`copy kubelet.exe, kubectl.exe, kube-proxy.exe and the cluster's kubeconfig to C:\k`,
  async perform(node) {
    if (node.hasFault("kubeconfig-missing")) {
      node.find("start-script-kubeconfig-missing", `${KUBECONFIG} was not copied`);
      return;
    }
    await write(node, KUBECONFIG, `server: ${node.options.apiServer}\n`);
  },
};

/**
 * Why a download fails; undefined: it works. `DownloadFile` is .NET Framework's WebClient, which goes by the Internet Options
 * or by a proxy that the session sets, and reads no variable
 * (https://learn.microsoft.com/en-us/dotnet/api/system.net.webrequest.defaultwebproxy).
 */
function downloadObstacle(node: ScriptNode): BringUpFinding | undefined {
  if (!node.hasFault("internet-behind-proxy")) return undefined;
  const proxy = proxyFor(DOWNLOAD_SOURCE, node.options.environment);
  if (proxy !== undefined && node.hasEdit("download-proxy")) return undefined;
  const why = proxy === undefined ? WORDS.downloadWithoutProxy : WORDS.downloadProxyUnread({ proxy });
  return { code: "download-needs-proxy", message: `Failed to download ${DOWNLOAD_SOURCE}: ${why}` };
}

/** Existing files are kept: what a person put there stays. */
export function download(script: string): Step {
  return {
    script,
    name: "Download files",
    command: "DownloadFlannelBinaries; DownloadCniBinaries; DownloadWindowsKubernetesScripts",
    async perform(node) {
      const { networkMode } = node.options.parameters;
      const fetched = [
        [NET_CONF, fetchedNetConf(networkMode)],
        [CNI_CONF, fetchedCniConf(networkMode, node.options.runtime)],
      ] as const;
      for (const [path, text] of fetched) {
        if (node.files.has(path)) {
          node.print(`File ${path} already exists.`);
          continue;
        }
        const obstacle = downloadObstacle(node);
        if (obstacle !== undefined) {
          node.print(`DownloadFile : Failed to download ${DOWNLOAD_SOURCE}`);
          throw new ScriptEnds(obstacle);
        }
        await write(node, path, text);
      }
    },
  };
}

/** Before the ranges are written: see Update-NetConfig. */
export function copyNetConf(script: string): Step {
  return {
    script,
    name: "Copy net-conf.json",
    command: `cp ${NET_CONF} ${FLANNEL_NET_CONF}`,
    async perform(node) {
      node.print("Copying Flannel setup files");
      await write(node, FLANNEL_NET_CONF, (await node.files.read(NET_CONF)) ?? "");
    },
  };
}

/** The repair of the order: a person copies once more. */
export const COPY_BY_HAND: Step = {
  ...copyNetConf("by hand"),
  name: "Copy net-conf.json again",
};

export async function cleanUpNetwork(node: ScriptNode): Promise<void> {
  const network = await lookForNetwork(node, node.networkName);
  if (network === undefined) return;
  node.print("Cleaning up old HNS network found");
  try {
    await deleteHnsNetwork(node.client, network.ID);
  } catch (error) {
    reportRefusal(node, error);
  }
}

export const CLEAN_UP: Step = {
  script: "install.ps1",
  name: "Remove the old network",
  command: "CleanupOldNetwork $NetworkName",
  perform: cleanUpNetwork,
};

/** `adapterName`: undefined leaves the choice to HNS. */
function externalDocument(node: ScriptNode, adapterName: string | undefined): HnsNetwork {
  const { networkMode } = node.options.parameters;
  const policies = networkMode === "overlay" ? { Policies: [{ Type: "VSID", VSID: EXTERNAL_VSID }] } : {};
  return {
    Type: networkMode,
    Name: EXTERNAL,
    Subnets: [{ ...EXTERNAL_SUBNET, ...policies }],
    ...(adapterName !== undefined && { NetworkAdapterName: adapterName }),
  };
}

/** HNS took a card without the node's address. */
function checkManagement(node: ScriptNode, network: HnsNetwork): void {
  const { ManagementIP = "", NetworkAdapterName = "" } = network;
  if (ManagementIP === "" || ManagementIP === node.address) return;
  node.find(
    "start-script-adapter-wrong",
    WORDS.externalNetworkOnOtherAdapter({
      external: EXTERNAL,
      adapter: NetworkAdapterName,
      managementAddress: ManagementIP,
      address: node.address,
    }),
  );
}

/** To have the vSwitch, whose making cuts the node off for a moment, before flanneld works. */
export function createExternal(script: string, namesAdapter: boolean): Step {
  return {
    script,
    name: "Make the network External",
    command: `CreateExternalNetwork $NetworkMode${namesAdapter ? " $InterfaceName" : ""}`,
    async perform(node) {
      const { networkMode, interfaceName } = node.options.parameters;
      if (networkMode === "overlay") node.firewallRules.add("OverlayTraffic4789UDP");
      const known = await lookForNetwork(node, EXTERNAL);
      if (known !== undefined) {
        checkManagement(node, known);
        return;
      }
      const isNamed = namesAdapter || node.hasEdit("external-adapter");
      try {
        const document = externalDocument(node, isNamed ? interfaceName : undefined);
        await createHnsNetwork(node.client, document);
      } catch (error) {
        const { message, explanation } = reportRefusal(node, error);
        if (explanation !== "hns-service-not-running")
          node.find(
            "start-script-external-network-refused",
            `HNS refused the network ${EXTERNAL}: ${message}`,
          );
        return;
      }
      const made = await lookForNetwork(node, EXTERNAL);
      if (made !== undefined) checkManagement(node, made);
    },
  };
}

export function wait(script: string, seconds: number): Step {
  return {
    script,
    name: "Wait",
    command: `Start-Sleep ${seconds}`,
    perform: (node) => node.sleep(seconds * 1_000),
  };
}

function compareRanges(node: ScriptNode, names: readonly string[]): void {
  const { parameters } = node.options;
  const { clusterCIDR, serviceCIDR } = node.file.network;
  const rows = [
    ["ClusterCIDR", parameters.clusterCIDR, formatPrefix(clusterCIDR)],
    ["ServiceCIDR", parameters.serviceCIDR, formatPrefix(serviceCIDR)],
    ["KubeDnsServiceIP", parameters.kubeDnsServiceIP, dnsAddressIn(serviceCIDR)],
  ] as const;
  for (const [name, given, actual] of rows)
    if (names.includes(name) && given !== actual)
      node.find("start-script-range-differs", `-${name} is ${given}, and the cluster has ${actual}`);
}

function noVirtualAdapter(node: ScriptNode): BringUpFinding {
  const { interfaceName } = node.options.parameters;
  const names = node.node.host.root.listInterfaces().map(({ name }) => name);
  return {
    code: "start-script-adapter-missing",
    message: `no adapter is called "vEthernet (${interfaceName}…"; the node has ${names.join(", ")}`,
  };
}

/** What is wrong with -InterfaceName; undefined: it names an adapter. Without External the card has its own name. */
function adapterMissing(node: ScriptNode): BringUpFinding | undefined {
  const { interfaceName } = node.options.parameters;
  if (node.findVirtualAdapters(interfaceName).length > 0) return undefined;
  return node.findAdapter(interfaceName) === undefined ? noVirtualAdapter(node) : undefined;
}

/** `Get-MgmtSubnet` and `Get-MgmtIpAddress`. @throws ScriptEnds. */
function managementOf(node: ScriptNode): Management {
  const [found] = node.findVirtualAdapters(node.options.parameters.interfaceName);
  if (found !== undefined) return found;
  node.print("Failed to find a suitable network adapter, check your network settings.");
  throw new ScriptEnds(noVirtualAdapter(node));
}

export const UPDATE_CNI_CONFIG: Step = {
  script: "install.ps1",
  name: "Write cni.conf",
  command: "Update-CNIConfig $CNIConfig $clusterCIDR $KubeDnsServiceIP $serviceCIDR $InterfaceName …",
  async perform(node) {
    const { parameters } = node.options;
    const management = parameters.networkMode === "l2bridge" ? managementOf(node) : undefined;
    // On overlay nothing of the script reads the name, so that it does not notice; a person should.
    const missing = management === undefined ? adapterMissing(node) : undefined;
    if (missing !== undefined) node.find(missing.code, missing.message);
    await write(node, CNI_CONF, writtenCniConf(parameters, management));
    compareRanges(node, ["ServiceCIDR", "KubeDnsServiceIP"]);
  },
};

/** KubeCluster.ps1 takes the address that it has found at its start. */
export const UPDATE_CNI_CONFIG_BY_CLUSTER: Step = {
  script: "KubeCluster.ps1",
  name: "Write cni.conf",
  command: "Update-CNIConfig / Update-ContainerdCNIConfig -CNIConfig (GetCniConfig) …",
  async perform(node) {
    const { parameters, runtime } = node.options;
    const { interfaceName } = parameters;
    const management = node.findAdapter(`vEthernet (${interfaceName})`) ?? node.findAdapter(interfaceName);
    const isMended = node.hasEdit("cni-conf");
    const text =
      runtime === "containerd"
        ? writtenContainerdConf(parameters, management, isMended)
        : writtenCniConf(parameters, management);
    await write(node, CNI_CONF, text);
    compareRanges(node, ["ServiceCIDR", "KubeDnsServiceIP"]);
    if (!text.includes("<ClusterCIDR>")) return;
    node.print("Cannot index into a null array.");
    node.find("placeholder-left", `${CNI_CONF} still has its placeholders, such as <ClusterCIDR>`);
  },
};

export function updateNetConfig(script: string): Step {
  return {
    script,
    name: "Write net-conf.json",
    command: `Update-NetConfig ${NET_CONF} $clusterCIDR $NetworkName $NetworkMode`,
    async perform(node) {
      await write(node, NET_CONF, writtenNetConf(node.options.parameters));
      compareRanges(node, ["ClusterCIDR"]);
    },
  };
}
