/** flanneld, its network, and the address for kube-proxy (control-planes.md §1.11, §2.1). */
import { CniError, describeError } from "#contracts/cni/error.ts";
import { parseJson } from "#contracts/cni/json.ts";
import { mappingOf } from "#core/base/json.ts";
import { InProcessRunner, runForOutput } from "#contracts/cni/plugin-runner.ts";
import { parseNetworkConfig } from "#programs/flannel/network-config.ts";
import type { SubnetFiles } from "#programs/flannel/node/subnet-file.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import { formatPrefix, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { HostLocal } from "#programs/plugins/host-local/plugin.ts";
import { FlanneldProcess } from "./flanneld-process.ts";
import { cleanUpNetwork, lookForNetwork } from "./install-steps.ts";
import type { BringUpFinding } from "./report.ts";
import { ScriptEnds, WaitsForEver, type Step } from "./step.ts";
import {
  FLANNEL_NET_CONF,
  NET_CONF,
  SOURCE_VIP,
  SOURCE_VIP_REQUEST,
  sourceVipRequest,
} from "./script-files.ts";
import type { ScriptNode } from "./script-node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Of `FLANNEL_NET_CONF` and `NET_CONF`; undefined: it cannot be read. */
function networkIn(text: string | undefined): string | undefined {
  try {
    const { network } = parseNetworkConfig(text ?? "");
    return network === undefined ? undefined : formatPrefix(network);
  } catch {
    // flanneld says what is wrong with it.
    return undefined;
  }
}

async function checkNetConf(node: ScriptNode): Promise<void> {
  const read = networkIn(await node.files.read(FLANNEL_NET_CONF));
  const written = networkIn(await node.files.read(NET_CONF));
  if (read !== written)
    node.find(
      "start-script-configuration-old",
      `flanneld reads Network ${read ?? "nothing"} from ${FLANNEL_NET_CONF}, and ${NET_CONF} says ${written ?? "nothing"} since`,
    );
  const { backend, vni } = node.file.network;
  if (backend === "vxlan" && vni !== SCRIPT_VNI)
    node.find("flannel-vni-other-than-4096", WORDS.scriptVniMismatch({ scriptVni: SCRIPT_VNI, vni }));
}

/** What flanneld on Windows takes when none is named. */
const SCRIPT_VNI = 4_096;

/** The disk, or one that takes no `subnet.env`. */
function filesFor(node: ScriptNode): SubnetFiles {
  if (!node.hasFault("subnet-env-unwritable")) return node.files;
  return {
    read: (path) => node.files.read(path),
    write: (path) => Promise.reject(new Error(`open ${path}: Access is denied.`)),
  };
}

async function startProcess(node: ScriptNode): Promise<void> {
  const { options, source, clock, host, client, files } = node;
  const process = new FlanneldProcess({
    nodeName: node.hostname,
    release: options.flanneld,
    compat: "upstream",
    managementIP: options.parameters.managementIP,
    netConf: await files.read(FLANNEL_NET_CONF),
    source,
    clock,
    host,
    client,
    files: filesFor(node),
  });
  node.start(process);
}

export const START_FLANNELD: Step = {
  script: "start.ps1",
  name: "Start flanneld",
  command: "StartFlanneld -ipaddress $ManagementIP -NetworkName $NetworkName",
  async perform(node) {
    await checkNetConf(node);
    await cleanUpNetwork(node);
    await startProcess(node);
    await node.work();
  },
};

const SERVICE_SECONDS = 30;

export const START_FLANNELD_SERVICE: Step = {
  script: "KubeCluster.ps1",
  name: "Start flanneld",
  command: `StartFlanneld; WaitForServiceRunningState -ServiceName FlannelD -TimeoutSeconds ${SERVICE_SECONDS}`,
  async perform(node) {
    await checkNetConf(node);
    await startProcess(node);
    await node.work();
  },
};

/** The node's flanneld, which may have ended. */
function flanneldOf(node: ScriptNode): FlanneldProcess | undefined {
  return node.processes.findLast((each): each is FlanneldProcess => each instanceof FlanneldProcess);
}

/** Why there is no network, in flanneld's words. */
function missingNetwork(node: ScriptNode, waited: string): BringUpFinding {
  const obstacle = flanneldOf(node)?.obstacle;
  if (obstacle !== undefined) node.find(obstacle.code, obstacle.message);
  return {
    code: "start-script-network-never-made",
    message: `the HNS network ${node.networkName} does not come${waited}`,
  };
}

function checkNetwork(node: ScriptNode, { Name = "", ManagementIP = "" }: HnsNetwork): void {
  if (ManagementIP === "" || ManagementIP === node.address) return;
  node.find(
    "start-script-adapter-wrong",
    WORDS.managementAddressMismatch({
      network: Name,
      managementAddress: ManagementIP,
      address: node.address,
    }),
  );
}

const LIMIT_SECONDS = 60;

/** `limitSeconds` undefined: start.ps1 waits for ever. */
function waitForNetwork(script: string, everySeconds: number, limitSeconds: number | undefined): Step {
  return {
    script,
    name: "Wait for the network",
    command: "WaitForNetwork $NetworkName",
    async perform(node) {
      const line =
        limitSeconds === undefined
          ? "Waiting for the Network to be created"
          : `Waiting for the Network (${node.networkName}) to be created by flanneld`;
      const beganMs = node.clock.nowMs;
      const patienceMs = limitSeconds === undefined ? node.options.patienceMs : limitSeconds * 1_000;
      for (;;) {
        const isOver = node.clock.nowMs - beganMs >= patienceMs;
        if (isOver) break;
        const network = await lookForNetwork(node, node.networkName);
        if (network !== undefined) {
          checkNetwork(node, network);
          return;
        }
        node.print(line);
        await node.sleep(everySeconds * 1_000);
      }
      if (limitSeconds === undefined)
        throw new WaitsForEver(missingNetwork(node, ", and nothing ends the wait for it"));
      node.print(`Fail to create the network[(${node.networkName})] in ${limitSeconds} seconds`);
      throw new ScriptEnds(missingNetwork(node, ` in ${limitSeconds} seconds`));
    },
  };
}

export const WAIT_FOR_NETWORK: Step = waitForNetwork("start.ps1", 1, undefined);
export const WAIT_FOR_NETWORK_LIMITED: Step = waitForNetwork("KubeCluster.ps1", 5, LIMIT_SECONDS);

/** host-local as `GetSourceVip` runs it: what it prints, result or error. */
async function askHostLocal(node: ScriptNode, request: string): Promise<string> {
  const plugins = new Map([["host-local", new HostLocal({ store: node.leases, compat: "upstream" })]]);
  const env = {
    CNI_COMMAND: "ADD",
    CNI_CONTAINERID: "dummy",
    CNI_NETNS: "dummy",
    CNI_IFNAME: "dummy",
    CNI_PATH: String.raw`c:\k\cni`,
  };
  try {
    const runner = new InProcessRunner(plugins, "win32");
    return (await runForOutput(runner, { type: "host-local", env, stdin: request })).trim();
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    node.find("start-script-source-vip-refused", `host-local refused: ${describeError(error)}`);
    return JSON.stringify({ code: error.code, msg: error.message });
  }
}

/** The IP part of `ip4.ip` in the file; empty when there is none. */
export async function readSourceVip(node: ScriptNode): Promise<string> {
  const text = await node.files.read(SOURCE_VIP);
  if (text === undefined) return "";
  try {
    const value = parseJson(text);
    const ip4 = mappingOf(value)["ip4"];
    const ip = mappingOf(ip4)["ip"];
    if (typeof ip === "string") return ip.split("/")[0] ?? "";
    node.print("You cannot call a method on a null-valued expression.");
  } catch {
    node.print("ConvertFrom-Json : Invalid JSON primitive.");
  }
  return "";
}

/** Of another range than the network's: the file is from before the node joined again. */
export async function checkSourceVip(node: ScriptNode): Promise<void> {
  const vip = await readSourceVip(node);
  const subnet = parsePrefix((await node.podSubnet()) ?? "");
  const ip = parseIp(vip);
  if (subnet === undefined || ip === undefined || prefixContains(subnet, ip)) return;
  node.find(
    "kube-proxy-source-vip-invalid",
    `${SOURCE_VIP} says ${vip}, which is outside the node's range ${formatPrefix(subnet)}`,
  );
}

/** `asksAlways`: helper.v2.psm1 asks although the file is there. */
export function getSourceVip(script: string, asksAlways: boolean): Step {
  return {
    script,
    name: "Reserve the source VIP",
    command: "GetSourceVip -NetworkName $NetworkName",
    async perform(node) {
      await node.sleep(1_000);
      const subnet = (await lookForNetwork(node, node.networkName))?.Subnets?.[0]?.AddressPrefix ?? "";
      const request = sourceVipRequest(subnet);
      await node.files.write(SOURCE_VIP_REQUEST, `${request}\r\n`);
      if (asksAlways || !node.files.has(SOURCE_VIP))
        await node.files.write(SOURCE_VIP, `${await askHostLocal(node, request)}\r\n`);
      else await checkSourceVip(node);
    },
  };
}
