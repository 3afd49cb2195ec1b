/** kubelet and kube-proxy with the flags of the scripts, and how kubelet registers the node. */
import { formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { requestHns } from "#contracts/hcn/v1-operations.ts";
import { type JsonValue, mappingOf } from "#core/base/json.ts";
import { DEFAULT_OPTIONS } from "#programs/flannel/flanneld-options.ts";
import { reportRefusal } from "./install-steps.ts";
import { KubeProxyProcess, isLogFlag } from "./kube-proxy-process.ts";
import { registrationFlags, serviceFlags, startFlags, unknownFlag } from "./kubelet-flags.ts";
import { readSourceVip } from "./network-steps.ts";
import { KubeletProcess } from "./node-process.ts";
import { windowsPath } from "./changes.ts";
import { CNI_CONF, KUBECONFIG, fetchedCniConf } from "./script-files.ts";
import type { ScriptNode } from "./script-node.ts";
import { ScriptEnds, type Step, WaitsForEver } from "./step.ts";
import { clusterLife } from "#data/words.js";
import { defined } from "#core/base/assert.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import { nodeManifest } from "../session/node-object.ts";
import type { BringUpFinding } from "./report.ts";

const WORDS = clusterLife();

/** `Get-MgmtIpAddress` without a name takes Ethernet, whatever the script was given. */
const DEFAULT_INTERFACE = "Ethernet";

/** As PowerShell joins an array in a text. */
function nodeIpOf(node: ScriptNode): string {
  const { interfaceName } = node.options.parameters;
  const name = node.hasEdit("node-ip") ? interfaceName : DEFAULT_INTERFACE;
  return node
    .findVirtualAdapters(name)
    .map(({ address }) => address)
    .join(" ");
}

function checkNodeIp(node: ScriptNode, nodeIp: string): void {
  if (nodeIp === node.address) return;
  const is = nodeIp === "" ? "empty" : `"${nodeIp}"`;
  node.find("start-script-node-ip-wrong", `--node-ip is ${is}, and the node's address is ${node.address}`);
}

/** What the node's pods would be set up with. */
export async function checkPodFiles(node: ScriptNode): Promise<void> {
  const { subnetFile } = DEFAULT_OPTIONS;
  if (!node.files.has(subnetFile))
    node.find(
      "subnet-env-missing",
      WORDS.subnetFileMissing({ windowsPath: windowsPath(subnetFile), subnetFile }),
    );
  const { runtime, parameters } = node.options;
  if ((await node.files.read(CNI_CONF)) === fetchedCniConf(parameters.networkMode, runtime))
    node.find("start-script-configuration-unwritten", `${CNI_CONF} is as it was fetched`);
}

/** Starts kubelet; a flag that its version does not have ends it. @returns that flag. */
function startKubelet(node: ScriptNode, written: readonly string[], nodeIp?: string): string | undefined {
  const { version } = node.file.kubernetes;
  const flags = node.hasEdit("kubelet-flags")
    ? written.filter((flag) => unknownFlag([flag], version) === undefined)
    : written;
  const unknown = unknownFlag(flags, version);
  const refusal = unknown && `E failed to parse kubelet flag: unknown flag: --${unknown}`;
  node.start(new KubeletProcess(flags, refusal, nodeIp));
  return unknown;
}

export const START_KUBELET: Step = {
  script: "start-kubelet.ps1",
  name: "Start kubelet",
  command: String.raw`& c:\k\kubelet.exe $(Kubelet-Options $KubeDnsServiceIp $LogDir).Options`,
  async perform(node) {
    const nodeIp = nodeIpOf(node);
    const unknown = startKubelet(node, startFlags(node.hostname, node.options.parameters, nodeIp), nodeIp);
    if (unknown !== undefined)
      node.find(
        "start-script-kubelet-flag-removed",
        `kubelet of Kubernetes 1.${node.file.kubernetes.version.minor} does not have --${unknown}, and has ended`,
      );
    checkNodeIp(node, nodeIp);
    await checkPodFiles(node);
    await node.work();
  },
};

/** Everybody's policy lists: Services, and SDN routes. */
export function removePolicyLists(script: string): Step {
  return {
    script,
    name: "Remove all policy lists",
    command: "Get-HnsPolicyList | Remove-HnsPolicyList",
    async perform(node) {
      try {
        const lists = await requestHns(node.client, "GET", "/policylists/");
        const all = Array.isArray(lists) ? (lists as readonly JsonValue[]) : [];
        for (const each of all) {
          const id: unknown = mappingOf(each)["ID"];
          if (typeof id === "string") await requestHns(node.client, "DELETE", `/policylists/${id}`);
        }
      } catch (error) {
        reportRefusal(node, error);
      }
    },
  };
}

function interfacesOf(node: ScriptNode): { mac: string; addresses: readonly string[] }[] {
  return node.node.host.root.listInterfaces().map(({ mac, addresses }) => ({
    mac: formatMac(mac),
    addresses: addresses.map(({ ip }) => formatIp(ip)),
  }));
}

function commonFlags(node: ScriptNode): readonly string[] {
  return [
    "--v=4",
    "--proxy-mode=kernelspace",
    `--hostname-override=${node.hostname}`,
    `--kubeconfig=${KUBECONFIG}`,
    `--cluster-cidr=${node.options.parameters.clusterCIDR}`,
    String.raw`--log-dir=C:\k`,
    "--logtostderr=false",
  ];
}

async function startProxy(node: ScriptNode, own: readonly string[], isNamed: boolean): Promise<void> {
  const written = [...commonFlags(node), ...own];
  const { version } = node.file.kubernetes;
  const process = new KubeProxyProcess({
    // A person who mends kubelet's flags mends the same ones here.
    flags: node.hasEdit("kubelet-flags") ? written.filter((flag) => !isLogFlag(flag)) : written,
    kubeNetwork: isNamed ? undefined : node.networkName,
    kubernetes: version,
    compat: "upstream",
    nodeIp: node.address,
    client: node.client,
    source: node.source,
    hostInterfaces: interfacesOf(node),
  });
  node.start(process);
  // On an overlay network it looks a second time after ten seconds (kube-proxy.md §2.2).
  await node.sleep(PROXY_SETTLES_MS);
  for (const { code, message } of process.troubles) node.find(code, message);
}

const PROXY_SETTLES_MS = 15_000;

export const START_KUBE_PROXY: Step = {
  script: "start-kubeproxy.ps1",
  name: "Start kube-proxy",
  command: String.raw`c:\k\kube-proxy.exe --proxy-mode=kernelspace …`,
  async perform(node) {
    if (node.options.parameters.networkMode === "l2bridge") return startProxy(node, [], false);
    const vip = await readSourceVip(node);
    const own = [
      "--feature-gates=WinOverlay=true",
      `--network-name=${node.networkName}`,
      `--source-vip=${vip}`,
      "--enable-dsr=false",
    ];
    return startProxy(node, own, true);
  },
};

/** helper.v2.psm1 leaves the flag out when it has no address. */
export const START_KUBE_PROXY_SERVICE: Step = {
  script: "KubeCluster.ps1",
  name: "Start kube-proxy",
  command: "InstallKubeProxy …; StartKubeproxy",
  async perform(node) {
    await checkPodFiles(node);
    const isOverlay = node.options.parameters.networkMode === "overlay";
    const vip = isOverlay ? await readSourceVip(node) : "";
    const own = [
      `--network-name=${node.networkName}`,
      ...(isOverlay ? ["--feature-gates=WinOverlay=true"] : []),
      ...(vip === "" ? [] : [`--source-vip=${vip}`]),
    ];
    await startProxy(node, own, true);
  },
};

// From a machine to a Node object.

/** What `kubectl get nodes/NAME` says and whether it found one. */
async function isRegistered(node: ScriptNode): Promise<boolean> {
  const obstacle = node.apiObstacle();
  if (obstacle === undefined && (await node.readNode()) !== undefined) return true;
  node.print(obstacle?.message ?? `Error from server (NotFound): nodes "${node.hostname}" not found`);
  return false;
}

/** The object that kubelet makes, with the range that the controller manager gives it. */
async function createNode(node: ScriptNode): Promise<void> {
  const manifest = nodeManifest(node.file, node.node.spec);
  const { objects } = loadManifests([{ name: "Node", text: JSON.stringify(manifest) }]);
  const loaded = defined(objects[0], "a manifest of our own is good").object as Node;
  const { podCIDR: _range, podCIDRs: _ranges, ...spec } = loaded.spec ?? {};
  const object = node.hasFault("node-without-range") ? { ...loaded, spec } : loaded;
  await node.source.create("Node", object);
}

function unregistered(node: ScriptNode): BringUpFinding {
  return (
    node.apiObstacle() ?? {
      code: "start-script-node-unregistered",
      message: `kubelet does not make the Node ${node.hostname}`,
    }
  );
}

/** True once. Inferred (control-planes.md §2.1): kubelet makes the object within a second of its start. */
async function registerByKubelet(node: ScriptNode): Promise<boolean> {
  if (node.apiObstacle() !== undefined || node.hasFault("kubelet-cannot-register")) return false;
  if (node.running("kubelet") === undefined) return false;
  if ((await node.readNode()) === undefined) await createNode(node);
  return true;
}

/** `RegisterNode` of helper.psm1: kubelet makes the Node and is stopped again. */
export const REGISTER_NODE: Step = {
  script: "start-kubelet.ps1",
  name: "Register the node",
  command: "RegisterNode: kubelet.exe …; kubectl get nodes/$(hostname)",
  async perform(node) {
    if (await isRegistered(node)) {
      node.print(`Node ${node.hostname} already registered`);
      return;
    }
    const kubelet = new KubeletProcess(registrationFlags(node.hostname), undefined);
    node.start(kubelet);
    const endMs = node.clock.nowMs + node.options.patienceMs;
    while (node.clock.nowMs < endMs) {
      node.print("waiting to discover node registration status");
      await node.sleep(1_000);
      if (!(await registerByKubelet(node))) continue;
      kubelet.stop();
      return;
    }
    throw new WaitsForEver(unregistered(node));
  },
};

const REGISTRATION_SECONDS = 10;
const RUNNING_SECONDS = 5;

/** `InstallKubelet; StartKubelet; WaitForNodeRegistration` of helper.v2.psm1. */
export const START_AND_REGISTER: Step = {
  script: "KubeCluster.ps1",
  name: "Start kubelet and register the node",
  command: `InstallKubelet; StartKubelet; WaitForNodeRegistration -TimeoutSeconds ${REGISTRATION_SECONDS}`,
  async perform(node) {
    const { parameters, runtime } = node.options;
    const written = serviceFlags(node.hostname, parameters, runtime === "containerd");
    const unknown = startKubelet(node, written);
    if (unknown !== undefined) {
      await node.sleep(RUNNING_SECONDS * 1_000);
      throw new ScriptEnds({
        code: "start-script-kubelet-flag-removed",
        message: WORDS.kubeletUnknownFlag({ runningSeconds: RUNNING_SECONDS, unknown }),
      });
    }
    for (let seconds = 0; seconds < REGISTRATION_SECONDS; seconds++) {
      if (await registerByKubelet(node)) return;
      node.print(`Waiting for the node [${node.hostname}] to be registered with ${node.options.apiServer}`);
      await node.sleep(1_000);
    }
    node.print(`Fail to register node with master] in ${REGISTRATION_SECONDS} seconds`);
    throw new ScriptEnds(unregistered(node));
  },
};
