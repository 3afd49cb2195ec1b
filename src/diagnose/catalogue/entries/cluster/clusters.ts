/** What Mullion assumes about a cluster that nobody described, and what its pods cannot have. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, NETWORK_DRIVERS, reference } from "../entry-text.ts";

type ClusterCode =
  | "cluster-assumed"
  | "network-not-emulated"
  | "network-signs-contradict"
  | "node-without-machine"
  | "pod-sandbox-failed"
  | "pod-waits-in-input"
  | "dhcp-no-lease"
  | "pod-port-in-use";

export const CLUSTER_ENTRIES: EntryTable<ClusterCode> = {
  "cluster-assumed": {
    title: "Something about the cluster was assumed",
    cause: prose`
      Manifests say what runs, not on which machines. Without a cluster file and without Node objects Mullion takes
      two Windows Server 2022 nodes and a Linux node. A dump of a cluster brings its nodes, and what they leave open
      is filled in: a missing build of Windows, a version of Kubernetes that has no rules of its own, the range of a
      node's pods.`,
    onNode: prose`
      What a dump must hold, so that nothing needs to be assumed:

          kubectl get nodes,pods,services,endpointslices -A -o yaml`,
    remedy: prose`
      If the assumption does not fit, write a cluster file, and name your manifests in it or beside it:

          mullion verify -f cluster.yaml -f manifests/`,
    sources: [
      {
        text: "Kubernetes documentation: Nodes",
        url: "https://kubernetes.io/docs/concepts/architecture/nodes/",
      },
    ],
    profiles: ALL,
  },

  "network-not-emulated": {
    title: "The network of the cluster is recognised and not carried out",
    cause: prose`
      The objects show which network the pods have, and Mullion has no such network: Calico, the VPC CNI of EKS,
      Antrea, Cilium, OVN-Kubernetes with its hybrid overlay, a backend of flannel that Windows does not have. The
      machines run on the nearest network that there is. Whether a flow of pods works there would show what that network
      does, not yours, so such flows are not judged.`,
    onNode: prose`
      Who made the network of a node, and of what type it is:

          Get-HnsNetwork | Select Name, Type
          Get-ChildItem C:\etc\cni\net.d
          kubectl get daemonsets -A`,
    remedy: prose`
      Take the answers about what is judged: flows between machines, and inside one Linux node. To see how the same
      workloads behave on another network, write a cluster file that says which, and name the dump beside it:

          mullion verify -f cluster.yaml -f dump.yaml`,
    sources: [
      {
        text: "Calico: requirements for Windows",
        url: "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/requirements",
      },
      {
        text: "AWS: Windows support of EKS",
        url: "https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html",
      },
      {
        text: "Antrea: design on Windows",
        url: "https://github.com/antrea-io/antrea/blob/main/docs/design/windows-design.md",
      },
      {
        text: "OVN-Kubernetes: hybrid overlay",
        url: "https://github.com/ovn-kubernetes/ovn-kubernetes/pull/889",
      },
    ],
    profiles: ALL,
  },

  "network-signs-contradict": {
    title: "The objects of the cluster show different networks",
    cause: prose`
      Two parts of the input speak of the network of the pods, and say different things: two CNI plugins are installed, or
      the configuration of one says vxlan and what its agents wrote into the Nodes says host-gw. On a real cluster that is
      left by a change of plugin or mode that not all nodes have taken over, or by two installers. Then pods
      that were made before and after it are in different networks, and do not reach each other.`,
    onNode: prose`
      What each node has, and what is configured:

          kubectl get nodes -o yaml | Select-String backend-type, projectcalico.org
          kubectl get daemonsets,configmaps -A
          Get-ChildItem C:\etc\cni\net.d
          Get-HnsNetwork | Select Name, Type`,
    remedy: prose`
      Remove what is left of the network that is not wanted: its DaemonSet and ConfigMap, its file in the CNI
      configuration folder, its HNS network, its annotations of Nodes. Then make the pods again. Where the input is only a
      part of a cluster, say in a cluster file which network holds.`,
    sources: [
      {
        text: "flannel: annotations of Nodes, in its documentation of Kubernetes",
        url: "https://github.com/flannel-io/flannel/blob/master/Documentation/kubernetes.md",
      },
      {
        text: "Kubernetes documentation: the network model and its implementations",
        url: "https://kubernetes.io/docs/concepts/cluster-administration/networking/",
      },
    ],
    profiles: ALL,
  },

  "node-without-machine": {
    title: "Pods are on a node that is not simulated",
    cause: prose`
      Pods name a node (spec.nodeName) that the cluster has no machine for: a dump of pods without their nodes, a Node
      without an address of IPv4, a Node that was applied after the cluster had come up, or a name that is written
      wrongly. Nothing runs there: such pods do not answer, and traffic that a Service sends to them is lost.`,
    onNode: prose`
      The nodes that there are, and where the pods are:

          kubectl get nodes -o wide
          kubectl get pods -A -o wide`,
    remedy: prose`
      Give Mullion the nodes together with the pods, with their status, or describe them in a cluster file:

          kubectl get nodes,pods,services,endpointslices -A -o yaml > dump.yaml`,
    sources: [
      {
        text: "Kubernetes documentation: Assigning Pods to Nodes, nodeName",
        url: "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
      },
    ],
    profiles: ALL,
  },

  "pod-sandbox-failed": {
    title: "A pod's sandbox cannot be set up or removed",
    cause: prose`
      The kubelet asks the container runtime for a sandbox, the runtime asks the CNI plugins of the node for its
      network, and one of them, or HNS, refused. The pod stays Pending (kubectl shows ContainerCreating, with the event
      FailedCreatePodSandBox); the kubelet tries again. A configuration list with a plugin that is not installed, with
      a wrong network name or with a broken policy fails for every pod of the node.`,
    onNode: prose`
      The event names the plugin and what it said; on the node the sandboxes that are there:

          kubectl describe pod <pod>
          crictl pods`,
    remedy: prose`
      Read the plugin's own words in the message. Then compare the configuration list with the networks that HNS has:

          Get-HnsNetwork | Select Name, Type
          Get-ChildItem C:\etc\cni\net.d`,
    sources: [
      {
        text: "Kubernetes documentation: Windows debugging tips",
        url: "https://kubernetes.io/docs/tasks/debug/debug-cluster/windows/",
      },
    ],
    profiles: ALL,
  },

  "pod-waits-in-input": {
    title: "The input shows the pod without a network, so it has none",
    cause: prose`
      A dump of a cluster shows the pod Pending, with a status and without an address: it waits for a node, or its
      kubelet waits for the network (kubectl shows ContainerCreating). Mullion starts pods of manifests, and those that a
      dump shows with an address. It invents no network for a pod that has none in its own cluster: flows from and to
      it are not tried.`,
    onNode: prose`
      What the pod waits for:

          kubectl describe pod <pod>
          kubectl get events --field-selector involvedObject.name=<pod>`,
    remedy: prose`
      Bring a dump in which the pod runs. To see how it would do, bring its workload (Deployment, DaemonSet …) and leave
      the pod out, or take status and metadata.uid out of the pod.`,
    sources: [
      {
        text: "Kubernetes documentation: Pod Lifecycle, pod phase",
        url: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase",
      },
    ],
    profiles: ALL,
  },

  "dhcp-no-lease": {
    title: "No DHCP server gave a pod of a transparent network an address",
    cause: prose`
      A Transparent network without a subnet leaves addresses to a DHCP server outside. The pod's stack broadcasts a
      DISCOVER with the pod's own MAC address, four times in a minute. Without an answer it takes an address of
      169.254.0.0/16, which is not routed, and asks again every five minutes.

      Usual reasons: no server is in the pods' VLAN; the hypervisor of a node that is a virtual machine drops
      frames with other MAC addresses than the adapter's; the server's range is used up, also by pods that are gone
      and whose leases last on.`,
    onNode: prose`
      The pod's address, and its questions on the wire:

          ipconfig /all
          pktmon start --capture --comp nics`,
    remedy: prose`
      Give the pods' VLAN a server or a relay, with a range that is large enough for pods that come and go, or short
      leases. Switch MAC address spoofing on for the adapter of the virtual machine:

          Set-VMNetworkAdapter -VMName <node> -MacAddressSpoofing On

      In a cluster file, underlay.dhcp.range is what the server gives out.`,
    sources: [
      NETWORK_DRIVERS,
      {
        text: "Microsoft: How to use automatic TCP/IP addressing without a DHCP server",
        url: "https://learn.microsoft.com/en-us/troubleshoot/windows-server/networking/how-to-use-automatic-tcpip-addressing-without-a-dh",
      },
      {
        text: "RFC 2131: Dynamic Host Configuration Protocol",
        url: "https://www.rfc-editor.org/rfc/rfc2131",
      },
      reference("dataplane.md §2.6, §2.12, DT-066, DT-071, DT-073"),
    ],
    profiles: ALL,
  },

  "pod-port-in-use": {
    title: "A pod's port is taken in the network that it shares",
    cause: prose`
      Pods in the node's own network (hostNetwork on Linux, HostProcess on Windows) share its ports. Two of them, or a
      pod and a program of the node, want the same one. The second cannot open it: a real container ends with an
      error of its own and is started again and again.`,
    onNode: prose`
      Who has the port, on Windows and on Linux:

          Get-NetTCPConnection -State Listen -LocalPort <port>
          ss -lntup`,
    remedy: prose`
      Give the pods different ports, let them run on different nodes (declare the ports as hostPort, then the scheduler
      keeps them apart), or leave the node's network.`,
    sources: [
      {
        text: "Kubernetes documentation: Create a Windows HostProcess Pod",
        url: "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/",
      },
    ],
    profiles: ALL,
  },
};
