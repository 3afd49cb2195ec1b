/** ovn-kubernetes' part on a Windows node: the plugin, its server, and the ports that it has made. */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { type PodNetworks, PodNetworkRefused } from "#programs/ovn/kube/pod-networks.ts";
import { answerCniRequest, ovnPluginFields } from "#programs/ovn/node/cni-requests.ts";
import { OvnK8sCniOverlay } from "#programs/ovn/node/cni-plugin.ts";
import { type AnnotatedPod, type BridgePort, OvnCniServer } from "#programs/ovn/node/cni-server.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { ClusterNode } from "../cluster.ts";
import type { FilePodSpec } from "../file/cluster-file.ts";

/** The UUID that a pod's interface is bound with: names are what pods of the simulation have before their objects. */
export function versionOf({ namespace, name }: Pick<FilePodSpec, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** The default of ovn-kubernetes (go-controller, pkg/config): room for GENEVE's headers on a wire of 1500 bytes. */
const POD_MTU_BYTES = 1_400;

export class OvnNodeParts {
  readonly plugin: OvnK8sCniOverlay;
  private readonly server: OvnCniServer;
  private readonly pods = new Map<string, AnnotatedPod>();
  private readonly node: ClusterNode;
  private readonly networks: PodNetworks;

  constructor(client: HcnClient, network: string, node: ClusterNode, networks: PodNetworks) {
    this.node = node;
    this.networks = networks;
    this.server = new OvnCniServer(client, { name: network }, (namespace, name) =>
      this.pods.get(`${namespace}/${name}`),
    );
    this.plugin = new OvnK8sCniOverlay((body) => answerCniRequest(this.server, body), node.spec);
  }

  /** The controller writes the pod's annotation when the pod has a node. @throws CniError when no address is left */
  annotate(pod: FilePodSpec): void {
    try {
      const networks = this.networks.annotate(versionOf(pod), this.node.spec.podCIDR, pod.address);
      this.pods.set(versionOf(pod), { uid: versionOf(pod), networks: JSON.stringify(networks) });
    } catch (error) {
      if (!(error instanceof PodNetworkRefused)) throw error;
      const knowledge = error.isExhausted ? "ipam-range-exhausted" : "pod-address-outside-range";
      throw new CniError(CNI_CODES.internal, error.message, { knowledge });
    }
  }

  /** What the plugin does in the sandbox at last: Set-NetIPInterface with NlMtuBytes (go-controller, pkg/cni, helper_windows.go). */
  limitMtu(compartment: Compartment): void {
    for (const each of compartment.listInterfaces()) each.mtuBytes = Math.min(each.mtuBytes, POD_MTU_BYTES);
  }

  release(pod: FilePodSpec): void {
    this.networks.release(versionOf(pod));
    this.pods.delete(versionOf(pod));
  }

  listPorts(): readonly BridgePort[] {
    return this.server.listPorts();
  }
}

/** As ovn-kubernetes writes `10-ovn-kubernetes.conf`. */
export function ovnConfigurationList(): JsonObject {
  return { cniVersion: "0.4.0", name: "ovn-kubernetes", plugins: [ovnPluginFields("ovn-k8s-cni-overlay")] };
}
