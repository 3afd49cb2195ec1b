/** The hybrid overlay of ovn-kubernetes, as OpenShift uses it. */
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_NODE = [
  "oc adm node-logs <node> --path=hybrid-overlay/",
  "Get-HnsNetwork | Select-Object Name, Type",
];
const SEE_OPERATOR = ["oc get network.operator cluster -o yaml"];

export const OVN_ERRORS: PrintedErrors = {
  "ovn-hybrid-network-missing": {
    standing: "root",
    texts: [
      "OVNKubernetesHybridOverlayNetwork not found",
      "unable to find OVNKubernetesHybridOverlayNetwork",
    ],
    cause: prose`The HNS network of the hybrid overlay is not there: hybrid-overlay-node has not run, waits for its subnet's annotation, or failed.`,
    next: [...SEE_NODE, "oc get node <node> -o yaml | Select-String hybrid-overlay"],
    remedy: prose`Find in the log of hybrid-overlay-node why it waits; check hybridOverlayConfig of the network operator.`,
    sources: [thread("openshift/windows-machine-config-operator", 451), reference("users.md G26")],
  },
  "ovn-vxlan-port-unsupported": {
    standing: "root",
    texts: [
      "this version of Windows does not support setting the VXLAN",
      "the hybrid overlay VXLAN port cannot be greater than 65535",
    ],
    cause: prose`hybridOverlayVXLANPort is set, and Server 2019 cannot change the port; or the number is not a port.`,
    next: SEE_OPERATOR,
    remedy: prose`Use Server 2022, or take the option out. On vSphere, where 4789 is taken, Server 2022 is the way.`,
    sources: [thread("openshift/windows-machine-config-operator", 340), reference("users.md G26")],
  },
  "ovn-host-route-unsupported": {
    standing: "root",
    texts: ["this version of Windows does not support HostRoute"],
    cause: prose`The build is too old for the policy with which the node reaches its overlay.`,
    next: ["[System.Environment]::OSVersion.Version"],
    remedy: prose`Windows Server 2019 with current updates, or a newer release; policies of this kind came to 2019 with an update.`,
    sources: [reference("control-planes.md §4.1")],
  },
  "ovn-overlay-create-failed": {
    standing: "wrapper",
    texts: [
      "unable to create the base overlay network",
      "unable to create the overlay network",
      "unable to add host route policy",
      "failed to initialize node",
    ],
    cause: prose`hybrid-overlay-node could not set its network up; the reason follows.`,
    next: [...SEE_NODE, "Get-NetAdapter | Select-Object Name, Status"],
    remedy: prose`Act on the reason behind it.`,
    sources: [reference("control-planes.md §4.1")],
  },
  "ovn-no-drmac": {
    standing: "root",
    texts: ["error creating the network: no DRMAC address", "Failed to set DRMAC annotation on node"],
    cause: prose`The overlay network has no MAC address of its distributed router, or the node's annotation could not be written, so the Linux side does not know where to send.`,
    next: [...SEE_NODE, "oc get node <node> -o yaml | Select-String drmac"],
    remedy: prose`Delete the network and restart hybrid-overlay-node; check its rights on nodes.`,
    sources: [reference("control-planes.md §4.1")],
  },
  "ovn-no-host-subnet": {
    standing: "root",
    texts: ["can't retrieve the host subnet from the … node's annotations"],
    cause: prose`The node has no subnet of the hybrid cluster network: the ranges overlap or are used up, or the label that names it a hybrid node is missing.`,
    next: [...SEE_OPERATOR, "oc get node <node> -o yaml | Select-String hybrid-overlay-node-subnet"],
    remedy: prose`Correct hybridClusterNetwork: a range of its own that overlaps nothing.`,
    sources: [reference("control-planes.md §4.1; users.md G26")],
  },
  "ovn-remote-subnet-policy": {
    standing: "root",
    texts: ["Failed to clear the existing remote subnet policies", "Failed to remove remote subnet policy"],
    cause: prose`Ways to other nodes of an earlier run stay in HNS, and may lead to nodes that are gone.`,
    next: ["Get-HnsNetwork | ForEach-Object { $_.Policies } | Where-Object Type -eq RemoteSubnetRoute"],
    remedy: prose`Remove the network and restart hybrid-overlay-node.`,
    sources: [reference("control-planes.md §4.1")],
  },
};
