/** From a machine to a Node object. */
import { defined } from "#core/base/assert.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import { nodeManifest } from "../session/node-object.ts";
import { registrationFlags, serviceFlags, unknownFlag } from "./kubelet-flags.ts";
import { KubeletProcess } from "./node-process.ts";
import type { BringUpFinding } from "./report.ts";
import { ScriptEnds, WaitsForEver, type Step } from "./step.ts";
import type { ScriptNode } from "./script-node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

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
    const version = node.file.kubernetes.version;
    const written = serviceFlags(node.hostname, parameters, runtime === "containerd");
    const flags = node.hasEdit("kubelet-flags")
      ? written.filter((flag) => unknownFlag([flag], version) === undefined)
      : written;
    const unknown = unknownFlag(flags, version);
    node.start(
      new KubeletProcess(flags, unknown && `E failed to parse kubelet flag: unknown flag: --${unknown}`),
    );
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
