/** Calico's plugin and agent on Windows. */
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_NETWORKS = [
  "Get-HnsNetwork | Select-Object Name, Type, ManagementIP, Subnets | ConvertTo-Json -Depth 5",
];
const SEE_ADAPTERS = ["Get-NetIPAddress -AddressFamily IPv4 | Select-Object InterfaceAlias, IPAddress"];

export const CALICO_ERRORS: PrintedErrors = {
  "calico-vni-too-small": {
    standing: "root",
    texts: ["Windows does not support VXLANVNI < 4096"],
    cause: prose`Windows takes VXLAN network ids from 4096 on.`,
    next: ["kubectl get felixconfiguration default -o yaml", "Get-Content C:\\CalicoWindows\\cni\\cni.conf"],
    remedy: prose`Set vxlanVNI to 4096 for all nodes.`,
    sources: [reference("users.md G4")],
  },
  "calico-network-failed": {
    standing: "wrapper",
    texts: ["Unable to create hns network", "failed to create HNSNetwork"],
    cause: prose`Calico could not make its HNS network; the reason is on the lines around it.`,
    next: [...SEE_NETWORKS, "Get-NetAdapter | Select-Object Name, Status"],
    remedy: prose`Act on the reason; often another network holds the adapter.`,
    sources: [thread("projectcalico/calico", 4533), reference("users.md G11")],
  },
  "calico-vxlan0-missing": {
    standing: "root",
    texts: ["Could not find vxlan0 in V2"],
    cause: prose`The network that Calico found through the old interface of HNS is not there in the new one: HNS has two views of it, or it was remade in between.`,
    next: ["Get-HnsNetwork | Select-Object Name, ID", "hnsdiag list networks"],
    remedy: prose`Delete the network Calico and restart calico-node; then the pods.`,
    sources: [thread("projectcalico/calico", 9120)],
  },
  "calico-management-ip": {
    standing: "root",
    texts: [
      "timed out waiting for interface matching the management IP",
      "Waiting for interface matching management IP",
    ],
    cause: prose`No interface of the node carries the address that HNS holds for the network's management address: it changed, or DHCP has not given it back.`,
    next: [...SEE_NETWORKS, ...SEE_ADAPTERS],
    remedy: prose`Delete the network and restart calico-node. Use a fixed address for the node.`,
    sources: [reference("users.md G11")],
  },
  "calico-bridge-endpoint-failed": {
    standing: "wrapper",
    texts: [
      "Unable to create bridge endpoint",
      "Unable to hot attach bridge endpoint",
      "failed to create remote HNSEndpoint",
    ],
    cause: prose`Calico could not make the node's own endpoint (Calico_ep, or the bridge's); the reason follows.`,
    next: ["Get-HnsEndpoint | Select-Object Name, IPAddress, State"],
    remedy: prose`Delete a left-over Calico_ep and restart calico-node. kube-proxy takes its source VIP from it.`,
    sources: [thread("projectcalico/calico", 8219), thread("projectcalico/calico", 9142)],
  },
  "calico-container-endpoint-failed": {
    standing: "wrapper",
    texts: ["Unable to create container hns endpoint", "Error applying ACL policy DenyAll"],
    cause: prose`Calico's plugin could not make the pod's endpoint or its first policy; the reason is on the lines around it.`,
    next: ["Get-HnsEndpoint | Select-Object Name, IPAddress, State, Health | ConvertTo-Json -Depth 5"],
    remedy: prose`Act on the reason around it.`,
    sources: [thread("projectcalico/calico", 8465)],
  },
  "calico-lock": {
    standing: "refusal",
    texts: ["Unable to acquire lock", "timeout acquiring mutex"],
    cause: prose`Many pods start at once and wait for one lock, while each call of HNS takes long.`,
    next: [
      "Get-Service hns",
      "(Get-Process -Id (Get-CimInstance Win32_Service -Filter \"Name='hns'\").ProcessId).Threads.Count",
    ],
    remedy: prose`The kubelet tries again. When it stays, HNS hangs: restart it, then calico-node and kube-proxy.`,
    sources: [reference("users.md G10")],
  },
  "calico-ipam-pools": {
    standing: "root",
    texts: ["Failed to look up IPAM pools", "error getting ClusterInformation"],
    cause: prose`Calico's plugin does not reach its datastore: its kubeconfig is old, its token has expired, or the way to the API server is cut.`,
    next: [
      "Get-Content C:\\CalicoWindows\\calico-kube-config",
      "Get-Service CalicoNode, CalicoFelix -ErrorAction SilentlyContinue",
    ],
    remedy: prose`Restart calico-node, which writes a new token; check the way to the API server.`,
    sources: [reference("users.md G12")],
  },
  "calico-affinity-limit": {
    standing: "root",
    texts: ["No more free affine blocks and strict affinity enabled", "no more free affine blocks"],
    cause: prose`
      Windows nodes need strict affinity: they take addresses from their own blocks only. This node's block is full, and
      the pool has no further block for it.`,
    next: ["calicoctl ipam show --show-blocks", "calicoctl ipam show --show-configuration"],
    remedy: prose`Make the pool larger, or its blocks; free addresses that no pod has (calicoctl ipam check).`,
    related: "ipam-range-exhausted",
    sources: [reference("users.md G20")],
  },
};
