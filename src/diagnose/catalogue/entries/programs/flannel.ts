/** What is wrong with flannel's net-conf and subnet.env for Windows nodes. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  reference,
  thread,
} from "../entry-text.ts";

type FlannelCode =
  | "flannel-vni-below-4096"
  | "flannel-vni-other-than-4096"
  | "flannel-vxlan-port-not-4789"
  | "flannel-vxlan-defaults-differ"
  | "flannel-backend-not-for-windows"
  | "flannel-option-not-for-windows"
  | "flannel-network-invalid"
  | "flannel-network-overlaps"
  | "flannel-network-without-node-range"
  | "flannel-subnet-length-invalid"
  | "subnet-env-missing"
  | "subnet-env-incomplete"
  | "subnet-env-subnet-outside-network"
  | "subnet-env-ipmasq-not-true";

const BACKENDS = {
  text: "flannel documentation: Backends",
  url: "https://github.com/flannel-io/flannel/blob/master/Documentation/backends.md",
};
const CONFIGURATION = {
  text: "flannel documentation: Configuration",
  url: "https://github.com/flannel-io/flannel/blob/master/Documentation/configuration.md",
};

/** What each node publishes about its end of the tunnel. */
const BACKEND_DATA = prose`
  Nodes publish what they use; all must agree:

      kubectl get nodes -o yaml | Select-String backend-data
      Get-HnsNetwork | ? Type -eq overlay | ConvertTo-Json -Depth 9`;

const FLANNELD_LOG = prose`
  flanneld's last lines name what it refuses:

      kubectl logs -n kube-flannel <pod of flanneld>
      Get-Content C:\k\flanneld.log -Tail 20`;

export const FLANNEL_ENTRIES: EntryTable<FlannelCode> = {
  "flannel-vni-below-4096": {
    title: "flannel's VNI is below 4096, which Windows does not take",
    cause: prose`
      Windows takes VXLAN network identifiers from 4096 on. flanneld on Windows refuses smaller ones, and flanneld on
      Linux uses 1 when nothing is said. The VNI is one for the whole cluster, so it must be one that Windows
      takes; the documentation names 4096.`,
    onNode: BACKEND_DATA,
    remedy: prose`
      Write "VNI": 4096 and "Port": 4789 into net-conf.json for all nodes, restart flanneld everywhere, and remove
      the interface flannel.1 of the Linux nodes, which keeps its old VNI.`,
    sources: [
      BACKENDS,
      KUBERNETES_ON_WINDOWS,
      thread("k3s-io/k3s", 9295),
      thread("rancher/rke2", 5952),
      reference("users.md §1 G4"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "flannel-vni-other-than-4096": {
    title: "flannel's VNI is not 4096, the only one that the documentation names",
    cause: prose`
      The documentation of Kubernetes says that flannel on Windows works with VNI 4096 and UDP port 4789 only.
      flanneld itself takes 4096 to 65535, and the HNS network is then called flannel.<VNI> unless it has a name:
      CNI configuration and kube-proxy must use the same name. Above 65535 the number does not fit into what nodes
      publish about themselves, and other nodes drop the lease.`,
    onNode: BACKEND_DATA,
    remedy: prose`
      Use 4096 unless another overlay on the same underlay has it. With another VNI compare the network's name on
      all Windows nodes.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      BACKENDS,
      thread("flannel-io/flannel", 1128),
      reference("control-planes.md §1.3, §1.8"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "flannel-vxlan-port-not-4789": {
    title: "flannel's VXLAN port is not 4789, which Windows needs",
    cause: prose`
      The virtual switch of Windows takes VXLAN packets on UDP port 4789. flanneld on Windows refuses any other port
      and ends; flanneld on Linux takes 8472 when nothing is said.`,
    onNode: BACKEND_DATA,
    remedy: prose`
      Write "Port": 4789 for all nodes, and let UDP 4789 through between them. On vSphere that port may be taken by
      VMware's own overlay.`,
    sources: [
      BACKENDS,
      KUBERNETES_ON_WINDOWS,
      reference("users.md §1 G4"),
      reference("control-planes.md §1.3"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "flannel-vxlan-defaults-differ": {
    title: "flannel's VNI or port is left to defaults, which differ between Linux and Windows",
    cause: prose`
      Without VNI and Port flanneld takes VNI 1 and port 8472 on Linux, and VNI 4096 and port 4789 on Windows. Both
      sides run without an error, and no packet of one is understood by the other. Pods on Windows get addresses and
      reach nothing on Linux nodes, not even the cluster's name server.`,
    onNode: BACKEND_DATA,
    remedy: prose`
      Write both for all nodes:

          "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789}`,
    sources: [
      BACKENDS,
      thread("rancher/rke2", 5952),
      thread("k3s-io/k3s", 9295),
      thread("kubernetes-sigs/sig-windows-tools", 306),
      reference("users.md §1 G4"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "flannel-backend-not-for-windows": {
    title: "flannel's back end does not exist on Windows",
    cause: prose`
      flanneld on Windows has two back ends, vxlan and host-gw. With another one it ends, no HNS network is made, and
      subnet.env is never written. Without a type flanneld takes udp, although its documentation names vxlan.`,
    onNode: FLANNELD_LOG,
    remedy: prose`
      Use vxlan, or host-gw when all nodes are in one subnet or the fabric has routes to the pods of each node.`,
    sources: [BACKENDS, KUBERNETES_ON_WINDOWS, reference("control-planes.md §1.3")],
    profiles: ALL,
    severity: "error",
  },

  "flannel-option-not-for-windows": {
    title: "An option of flannel's back end is refused or unknown on Windows",
    cause: prose`
      DirectRouting and GBP are features of Linux: flanneld on Windows ends when one is true. MacPrefix must be two
      bytes with a hyphen. IPv6 is not known there at all: with EnableIPv6 the Windows nodes continue with IPv4 alone.`,
    onNode: FLANNELD_LOG,
    remedy: prose`
      Take the option out for the whole cluster, or give Windows nodes a net-conf.json without it. VNI, port and
      network must stay the same on all nodes.`,
    sources: [BACKENDS, reference("control-planes.md §1.3")],
    profiles: ALL,
    severity: "error",
  },

  "flannel-network-invalid": {
    title: "flannel's Network is not a range of addresses",
    cause: prose`
      flanneld reads Network as a prefix, an address with a length. When it cannot, it logs an error and tries again each
      second, forever: no network is made.`,
    onNode: FLANNELD_LOG,
    remedy: prose`
      Write the range of all pods of the cluster, for example 10.244.0.0/16.`,
    sources: [CONFIGURATION, reference("control-planes.md §1.1, §1.3")],
    profiles: ALL,
    severity: "error",
  },

  "flannel-network-overlaps": {
    title: "flannel's Network overlaps the Services or the nodes",
    cause: prose`
      Pods, Services and nodes need ranges of their own. Where two overlap, a route or a load balancer takes packets
      that were meant for the other: some nodes or Services cannot be reached from pods, depending on the address.`,
    onNode: prose`
      The ranges that the cluster was set up with:

          kubectl get configmap -n kube-system kubeadm-config -o yaml
          kubectl get nodes -o wide`,
    remedy: prose`
      Choose another range for pods before the cluster has any; afterwards every node must be joined again.`,
    sources: [CONFIGURATION, COMMON_PROBLEMS, reference("users.md §1 G7")],
    profiles: ALL,
    severity: "error",
  },

  "flannel-network-without-node-range": {
    title: "A Node's podCIDR is outside flannel's Network",
    cause: prose`
      With --kube-subnet-mgr flanneld takes the range of a node from the Node object, and Network from its own file.
      When the two were set to different values (a guide's 10.244.0.0/16, and another podSubnet in kubeadm),
      flanneld refuses the lease, or traffic to that node's pods is translated as if it left the cluster.`,
    onNode: prose`
      Compare the two:

          kubectl get nodes -o custom-columns=NAME:.metadata.name,RANGE:.spec.podCIDR
          Get-Content C:\etc\kube-flannel\net-conf.json`,
    remedy: prose`
      Write the podSubnet of the cluster as Network, and restart flanneld on all nodes.`,
    sources: [CONFIGURATION, reference("control-planes.md §1.4"), reference("users.md §1 G5")],
    profiles: ALL,
    severity: "error",
  },

  "flannel-subnet-length-invalid": {
    title: "SubnetLen of flannel does not fit its Network",
    cause: prose`
      SubnetLen is the prefix length of the range that each node gets. It has to leave room for several nodes and be
      at most 30. flanneld checks it when it keeps its leases in etcd; with --kube-subnet-mgr the ranges come from
      the Node objects, and the field says something else than what is done.`,
    onNode: prose`
      The ranges that nodes have:

          kubectl get nodes -o custom-columns=NAME:.metadata.name,RANGE:.spec.podCIDR`,
    remedy: prose`
      Write a length of at least two more than that of Network, 24 in most clusters, or leave the field out.`,
    sources: [CONFIGURATION, reference("control-planes.md §1.3")],
    profiles: ALL,
    severity: "warning",
  },

  "subnet-env-missing": {
    title: "flannel's CNI plugin finds no subnet.env",
    cause: prose`
      flanneld writes the file once it holds a lease for the node and its HNS network stands. Until then, or when
      flanneld cannot reach the API server, the plugin has no range to hand out, and every pod of the node fails. On
      Windows the default /run/flannel/subnet.env is on the current drive of the runtime, normally C:.`,
    onNode: prose`
      See whether the file is there, and what flanneld waits for:

          Get-Content C:\run\flannel\subnet.env
          kubectl logs -n kube-flannel -l app=flannel --tail 50`,
    remedy: prose`
      Bring flanneld up: it needs the API server (or etcd), a podCIDR for the node, and an adapter. When it says
      "Waiting for the Network to be created", look at its HNS network. If the file lies elsewhere, name it with
      "subnetFile".`,
    sources: [COMMON_PROBLEMS, reference("cni.md §3.2, §7.C8")],
    profiles: ALL,
  },

  "subnet-env-incomplete": {
    title: "subnet.env lacks a value that flannel's CNI plugin needs",
    cause: prose`
      The plugin needs the network, the node's subnet, the MTU and the choice about masquerading, and refuses the
      file when one is missing. flanneld on Windows writes the file in place, so a plugin that runs at that moment
      can also see the first half of it.`,
    onNode: prose`
      The four lines, and the events of a pod:

          Get-Content C:\run\flannel\subnet.env
          kubectl describe pod <pod>`,
    remedy: prose`
      Restart flanneld, which writes the file. By hand it needs all four:

          FLANNEL_NETWORK=10.244.0.0/16
          FLANNEL_SUBNET=10.244.3.1/24
          FLANNEL_MTU=1450
          FLANNEL_IPMASQ=true`,
    sources: [COMMON_PROBLEMS, reference("cni.md §3.2"), reference("control-planes.md §1.7")],
    profiles: ALL,
    severity: "error",
  },

  "subnet-env-subnet-outside-network": {
    title: "The node's range in subnet.env is wrong or is outside the network",
    cause: prose`
      FLANNEL_SUBNET is the range of this node inside FLANNEL_NETWORK. A file that was copied from another cluster,
      or was left over from before the node joined again, gives pods addresses that no other node knows.`,
    onNode: prose`
      Compare with the Node object and with the HNS network:

          Get-Content C:\run\flannel\subnet.env
          kubectl get node <node> -o jsonpath="{.spec.podCIDR}"
          Get-HnsNetwork | Select-Object Name, Subnets`,
    remedy: prose`
      Delete the file, and restart flanneld. After a new podCIDR remove C:\k\SourceVip.json and
      C:\k\SourceVipRequest.json as well.`,
    sources: [COMMON_PROBLEMS, reference("control-planes.md §1.7, §1.10"), reference("users.md §1 G5")],
    profiles: ALL,
    severity: "error",
  },

  "subnet-env-ipmasq-not-true": {
    title: "FLANNEL_IPMASQ is neither true nor false",
    cause: prose`
      The plugin takes exactly the word true, in small letters, for yes. True, 1 or yes count as no: pods on an
      overlay then get no policy that translates their addresses on the way out.`,
    onNode: prose`
      Look at the line, and for OutBoundNAT among the policies of an endpoint:

          Get-Content C:\run\flannel\subnet.env
          Get-HnsEndpoint | ConvertTo-Json -Depth 9 | Select-String OutBoundNAT`,
    remedy: prose`
      Write FLANNEL_IPMASQ=true, or start flanneld with --ip-masq, which writes it.`,
    sources: [reference("cni.md §3.2, §3.3")],
    profiles: ALL,
    severity: "warning",
  },
};
