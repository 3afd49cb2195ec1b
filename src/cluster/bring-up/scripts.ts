/** The two generations of scripts as sequences of steps (control-planes.md §2.1, §2.2). */
import {
  CLEAN_UP,
  COPY_BY_HAND,
  PREPARE,
  UPDATE_CNI_CONFIG,
  UPDATE_CNI_CONFIG_BY_CLUSTER,
  copyNetConf,
  createExternal,
  download,
  updateNetConfig,
  wait,
} from "./install-steps.ts";
import {
  START_FLANNELD,
  START_FLANNELD_SERVICE,
  WAIT_FOR_NETWORK,
  WAIT_FOR_NETWORK_LIMITED,
  getSourceVip,
} from "./network-steps.ts";
import type { BringUpOptions } from "./options.ts";
import {
  REGISTER_NODE,
  START_AND_REGISTER,
  START_KUBELET,
  START_KUBE_PROXY,
  START_KUBE_PROXY_SERVICE,
  removePolicyLists,
} from "./program-steps.ts";
import { ScriptEnds, type Step } from "./step.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const INSTALL = "install.ps1";
const CLUSTER = "KubeCluster.ps1";

/** `LoadGlobals`: the card of that name, with or without a switch on it. */
const FIND_ADAPTER: Step = {
  script: CLUSTER,
  name: "Find the adapter",
  command: "InitHelper: Get-NetAdapter -InterfaceAlias $InterfaceName",
  perform(node) {
    const { interfaceName } = node.options.parameters;
    const found = node.findAdapter(`vEthernet (${interfaceName})`) ?? node.findAdapter(interfaceName);
    if (found === undefined) {
      node.print(`${interfaceName} doesn't exist`);
      const message = `the node has no adapter ${interfaceName}`;
      return Promise.reject(new ScriptEnds({ code: "start-script-adapter-missing", message }));
    }
    node.print(`ManagementIp : ${found.address}; ManagementSubnet : ${found.subnet}`);
    if (found.address !== node.address) {
      const message = `${interfaceName} has the address ${found.address}, and the node's address is ${node.address}`;
      node.find("start-script-adapter-wrong", message);
    }
    return Promise.resolve();
  },
};

/** `ReadKubeClusterInfo`. */
const REACH_MASTER: Step = {
  script: CLUSTER,
  name: "Reach the API server",
  command: "ReadKubeClusterInfo: kubectl.exe get services -n kube-system",
  perform(node) {
    const obstacle = node.apiObstacle();
    if (obstacle === undefined) return Promise.resolve();
    node.print(`Unable to connect to the master. Reason [${obstacle.message}]`);
    return Promise.reject(new ScriptEnds(obstacle));
  },
};

function startScript({ parameters, edits }: BringUpOptions): readonly Step[] {
  const isOverlay = parameters.networkMode === "overlay";
  return [
    PREPARE,
    download(INSTALL),
    copyNetConf(INSTALL),
    CLEAN_UP,
    ...(edits.has("no-external") ? [] : [createExternal(INSTALL, false), wait(INSTALL, 10)]),
    UPDATE_CNI_CONFIG,
    updateNetConfig(INSTALL),
    ...(edits.has("copy-net-conf") ? [COPY_BY_HAND] : []),
    REGISTER_NODE,
    START_FLANNELD,
    WAIT_FOR_NETWORK,
    ...(isOverlay ? [getSourceVip("start.ps1", false)] : []),
    START_KUBELET,
    wait("start.ps1", 10),
    removePolicyLists("start-kubeproxy.ps1"),
    START_KUBE_PROXY,
  ];
}

function clusterScript({ parameters, edits }: BringUpOptions): readonly Step[] {
  const isOverlay = parameters.networkMode === "overlay";
  return [
    PREPARE,
    FIND_ADAPTER,
    REACH_MASTER,
    download(CLUSTER),
    copyNetConf(CLUSTER),
    UPDATE_CNI_CONFIG_BY_CLUSTER,
    updateNetConfig(CLUSTER),
    ...(edits.has("copy-net-conf") ? [COPY_BY_HAND] : []),
    START_AND_REGISTER,
    ...(edits.has("no-external") ? [] : [createExternal(CLUSTER, true), wait(CLUSTER, 20)]),
    START_FLANNELD_SERVICE,
    WAIT_FOR_NETWORK_LIMITED,
    ...(isOverlay ? [getSourceVip(CLUSTER, true)] : []),
    START_KUBE_PROXY_SERVICE,
  ];
}

/** Between two runs: a person ends what runs. */
export const STOP: Step = {
  script: "stop.ps1",
  name: "Stop all programs",
  command: WORDS.stopCommand,
  perform(node) {
    for (const process of node.processes) process.stop();
    return Promise.resolve();
  },
};

export function stepsOf(options: BringUpOptions): readonly Step[] {
  return options.scripts === "start.ps1" ? startScript(options) : clusterScript(options);
}
