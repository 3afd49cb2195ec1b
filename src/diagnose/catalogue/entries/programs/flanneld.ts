/** What keeps flanneld from its work: on the node, with its store, and with the leases of others. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  reference,
  thread,
} from "../entry-text.ts";

type FlanneldCode =
  | "flanneld-cannot-start"
  | "flanneld-configuration-invalid"
  | "flannel-interface-missing"
  | "flannel-node-without-range"
  | "flannel-node-without-annotations"
  | "flannel-network-not-made"
  | "flannel-network-not-ready"
  | "flannel-route-not-programmed"
  | "flannel-peer-lease-unusable"
  | "flannel-lease-conflict"
  | "flannel-lease-lost"
  | "flannel-subnets-exhausted"
  | "flannel-store-unreachable"
  | "flannel-store-refused"
  | "flannel-node-to-pod-limited";

const CONFIGURATION = {
  text: "flannel documentation: Configuration",
  url: "https://github.com/flannel-io/flannel/blob/master/Documentation/configuration.md",
};
const RESERVATIONS = {
  text: "flannel documentation: Leases and Reservations",
  url: "https://github.com/flannel-io/flannel/blob/master/Documentation/reservations.md",
};
const TROUBLE = {
  text: "flannel documentation: Troubleshooting",
  url: "https://github.com/flannel-io/flannel/blob/master/Documentation/troubleshooting.md",
};

const LAST_LINES = prose`
  flanneld's last lines say what it met:

      kubectl logs -n kube-flannel <pod of flanneld> --previous
      Get-Content C:\k\flanneld.log -Tail 20`;

const PUBLISHED = prose`
  What each node has published, and its range:

      kubectl get nodes -o custom-columns=NAME:.metadata.name,RANGE:.spec.podCIDR
      kubectl get nodes -o yaml | Select-String flannel.alpha.coreos.com`;

export const FLANNELD_ENTRIES: EntryTable<FlanneldCode> = {
  "flanneld-cannot-start": {
    title: "flanneld cannot run with its configuration",
    cause: prose`
      A flag, a variable of the environment or the place of the node does not allow flanneld to run: a margin for
      renewals outside 1 to 1439 minutes, a prefix of annotations that Kubernetes does not take, host-gw behind an
      address translation, or no name of the node. flanneld logs which one and exits; the service manager starts it
      again, and it ends again.`,
    onNode: LAST_LINES,
    remedy: prose`
      Correct the flag or the variable that the message names. flanneld needs NODE_NAME, or POD_NAME together with
      POD_NAMESPACE, when it keeps its lease in Kubernetes.`,
    sources: [CONFIGURATION, reference("control-planes.md §1.1, §1.2")],
    profiles: ALL,
  },

  "flanneld-configuration-invalid": {
    title: "flannel's configuration is missing, or cannot be read",
    cause: prose`
      The configuration is not JSON, or a field has another type than flanneld wants: a number in quotes, a word in
      place of true. With --kube-subnet-mgr flanneld ends then. With etcd it logs an error and tries again each second, for
      ever, because the key may still be written.`,
    onNode: LAST_LINES,
    remedy: prose`
      Correct the field that the message names. Check the text as JSON first:

          Get-Content C:\etc\kube-flannel\net-conf.json | ConvertFrom-Json`,
    sources: [CONFIGURATION, reference("control-planes.md §1.1, §1.3")],
    profiles: ALL,
  },

  "flannel-interface-missing": {
    title: "flanneld finds no interface that leads to the other nodes",
    cause: prose`
      flanneld takes the interface that --iface or --iface-regex names, or that of the default route. None fits: the
      adapter has another name, its address moved to vEthernet (…) when HNS made a switch, or the node has no default
      route. --iface-can-reach does not exist on Windows.`,
    onNode: prose`
      Names, addresses and the default route:

          Get-NetIPAddress -AddressFamily IPv4 | Select-Object InterfaceAlias, IPAddress
          Get-NetRoute -DestinationPrefix 0.0.0.0/0`,
    remedy: prose`
      Give the node's address in --iface: it stays the same when the adapter gets another name.`,
    sources: [TROUBLE, thread("microsoft/SDN", 377), reference("control-planes.md §1.1; users.md G11")],
    profiles: ALL,
  },

  "flannel-node-without-range": {
    title: "The Node has no range for pods, so flanneld has no subnet to take",
    cause: prose`
      With --kube-subnet-mgr the subnet of a node is spec.podCIDR of its Node object. The controller manager writes it
      when it was started with --allocate-node-cidrs and its range is not used up. Without it flanneld ends.`,
    onNode: PUBLISHED,
    remedy: prose`
      Start the controller manager with --allocate-node-cidrs=true and a --cluster-cidr that has room for the node, or
      kubeadm with --pod-network-cidr.`,
    sources: [TROUBLE, reference("control-planes.md §1.4")],
    profiles: ALL,
  },

  "flannel-node-without-annotations": {
    title: "flanneld panics at a Node without any annotation",
    cause: prose`
      flanneld writes what others need to know into the annotations of its copy of the Node, and does not look whether
      there are any: with none it ends with "panic: assignment to entry in nil map" and a stack trace that begins in
      pkg/subnet/kube/kube.go. A kubelet always gives its Node one (volumes.kubernetes.io/controller-managed-attach-detach),
      so only Nodes that were made manually, or by a program other than a kubelet, are affected.`,
    onNode: PUBLISHED,
    remedy: prose`
      Give the Node an annotation, whichever, and start flanneld again:

          kubectl annotate node <node> node.alpha.kubernetes.io/ttl=0`,
    sources: [
      {
        text: "flannel: pkg/subnet/kube/kube.go, AcquireLease (0.28)",
        url: "https://github.com/flannel-io/flannel/blob/master/pkg/subnet/kube/kube.go",
      },
    ],
    profiles: ALL,
  },

  "flannel-network-not-made": {
    title: "flanneld could not make its network on the node",
    cause: prose`
      On Windows HNS refused the network, the endpoint or its attachment; on Linux the kernel refused the VXLAN device
      or its address. Often another network holds the adapter, or something is left over from before.`,
    onNode: prose`
      The networks and the adapters that they hold:

          Get-HnsNetwork | Select-Object Name, Type, ManagementIP, NetworkAdapterName
          Get-HnsEndpoint | Select-Object Name, IPAddress, VirtualNetworkName`,
    remedy: prose`
      Act on the reason that the message names. Remove a network of another name from the adapter, and an endpoint
      <name>_ep that is left over.`,
    sources: [COMMON_PROBLEMS, reference("control-planes.md §1.8, §1.9; users.md G6, G9")],
    profiles: ALL,
  },

  "flannel-network-not-ready": {
    title: "The node's address did not come back on flannel's network in time",
    cause: prose`
      When HNS makes a network on an adapter, the adapter's address moves to a virtual one. flanneld waits 5 seconds
      until HNS knows the address, and then until Windows has an interface with it: 45 seconds for vxlan, 5 for
      host-gw. DHCP or a team of adapters can be slower. flanneld ends, and the start script prints "Waiting for the
      Network to be created" without end. Before version 0.12 flanneld did not wait at all.`,
    onNode: prose`
      What HNS and Windows know:

          Get-HnsNetwork | Select-Object Name, ManagementIP
          Get-NetIPAddress -AddressFamily IPv4 | Select-Object InterfaceAlias, IPAddress`,
    remedy: prose`
      Start flanneld again: the network is there now. If it happens at each start, give the node a fixed address.`,
    sources: [COMMON_PROBLEMS, reference("control-planes.md §1.8, §1.9, §1.10")],
    profiles: ALL,
  },

  "flannel-route-not-programmed": {
    title: "The way to another node's pods is not on this node",
    cause: prose`
      HNS refused a RemoteSubnetRoute, or the system a route. flanneld of the project does not look at HNS's answer
      and does not try again: pods of this node do not reach those of the other one until flanneld starts again, while
      the other way round packets arrive. Mullion's flanneld tries again, and compares what is there with what is
      wanted each minute.`,
    onNode: prose`
      One entry for each other node is expected:

          (Get-HnsNetwork | ? Type -eq Overlay).Policies | ? Type -eq RemoteSubnetRoute
          Get-NetRoute -AddressFamily IPv4 | ? NextHop -ne 0.0.0.0`,
    remedy: prose`
      Restart flanneld on this node. Remove a route to the same prefix that another program made.`,
    sources: [thread("flannel-io/flannel", 1944), reference("control-planes.md §1.8, §1.9; users.md G6")],
    profiles: ALL,
  },

  "flannel-peer-lease-unusable": {
    title: "Another node's lease cannot be used, so there is no way to its pods",
    cause: prose`
      What the other node has published is not JSON, has no MAC yet, another back end, a VNI that this node's system
      does not take, or an invalid address. flanneld names it and leaves it out. flanneld on Windows publishes an
      empty MAC for a moment while it starts: that one is followed by a whole one.

      Mullion's flanneld also leaves out leases that would lead packets astray: outside of flannel's network, over
      this node's own pods, or to this node itself.`,
    onNode: PUBLISHED,
    remedy: prose`
      Use one back end, VNI and port on all nodes, and restart flanneld on the node whose lease is wrong: it publishes
      it again.`,
    sources: [reference("control-planes.md §1.4, §1.6, §1.8; users.md G4")],
    profiles: ALL,
  },

  "flannel-lease-conflict": {
    title: "Two nodes claim one subnet",
    cause: prose`
      Two nodes have the same podCIDR (a Node object that was copied, or a range set manually), or register in etcd the
      same public address and so share one lease. Pods of both have the same addresses, and others reach one of the
      nodes only. Or another node was faster with a free subnet: flanneld of the project ends then instead of taking
      the next one.`,
    onNode: PUBLISHED,
    remedy: prose`
      Take one of the nodes out of the cluster and join it again, so that it gets a range of its own. With etcd give
      each node its own --public-ip.`,
    sources: [RESERVATIONS, reference("control-planes.md §1.5, §11")],
    profiles: ALL,
  },

  "flannel-lease-lost": {
    title: "The node's lease was revoked, and flanneld exits",
    cause: prose`
      The key in etcd was deleted, or ran out because it was not renewed for a day. Another node may get the subnet
      now. With Kubernetes a Node that was deleted and has come back can have another range. Pods that run keep their
      old addresses, to which no way leads any more.`,
    onNode: LAST_LINES,
    remedy: prose`
      Let flanneld start again: it takes a lease and makes its network again. Then remove C:\k\SourceVip.json and
      C:\k\SourceVipRequest.json, and start the pods of the node again.`,
    sources: [RESERVATIONS, COMMON_PROBLEMS, reference("control-planes.md §1.5, §1.10")],
    profiles: ALL,
  },

  "flannel-subnets-exhausted": {
    title: "No subnet is left for this node",
    cause: prose`
      All subnets between SubnetMin and SubnetMax are leased. A lease stays for a day after its node has gone, and one
      without an end stays forever.`,
    onNode: prose`
      The leases, each with its key:

          etcdctl get --prefix /coreos.com/network/subnets`,
    remedy: prose`
      Delete the keys of nodes that are gone, or write a larger Network or a larger SubnetLen into the configuration
      before more nodes join.`,
    sources: [CONFIGURATION, RESERVATIONS, reference("control-planes.md §1.5")],
    profiles: ALL,
  },

  "flannel-store-unreachable": {
    title: "flanneld does not reach the place where leases are kept",
    cause: prose`
      The API server or etcd does not answer. A flanneld that runs keeps what it has programmed, and hears nothing of
      nodes that come and go meanwhile. One that starts waits for half a minute and ends. Making the first switch of a
      node cuts it off for some seconds, which is such a time, too.`,
    onNode: prose`
      Try the way:

          Test-NetConnection <API server> -Port 6443
          Test-NetConnection <etcd> -Port 2379`,
    remedy: prose`
      Bring the API server or etcd back; flanneld continues by itself. Check the kubeconfig, or --etcd-endpoints and the
      certificates.`,
    sources: [TROUBLE, reference("control-planes.md §1.4, §1.5")],
    profiles: ALL,
  },

  "flannel-store-refused": {
    title: "The store refuses what flanneld asks for",
    cause: prose`
      The API server or etcd answers with a refusal: flanneld may not read nodes or write their status, the user or the
      password for etcd is wrong, or etcd's JSON gateway is switched off.`,
    onNode: prose`
      Ask what flanneld may:

          kubectl auth can-i patch nodes/status --as=system:serviceaccount:kube-flannel:flannel
          etcdctl get --prefix /coreos.com/network`,
    remedy: prose`
      Give flanneld the rights of its manifest: nodes get, list and watch, nodes/status patch, pods get. For etcd check
      --etcd-username and the role's keys, and start etcd with --enable-grpc-gateway.`,
    sources: [reference("control-planes.md §1.4, §1.5")],
    profiles: ALL,
  },

  "flannel-node-to-pod-limited": {
    title: "With flannel's vxlan a Windows node reaches its own pods only, and those from version 0.12 on",
    cause: prose`
      The documentation says that a Windows node does not reach pods on flannel's overlay, by design. From flannel
      0.12.0 on flanneld asks HNS for a HostRoute policy, and the node then reaches its own pods. Windows takes the
      policy from build 18321 on, and on Server 2019 with KB4489899. Pods of other nodes stay out of the node's reach
      where the policy is missing, because the node itself is not part of the overlay. A trace of such a packet ends with
      overlay-without-host-route.`,
    onNode: prose`
      Look for HostRoute, and try one of the node's own pods and one of another node:

          (Get-HnsNetwork | ? Type -eq Overlay).Policies | ? Type -eq HostRoute
          Test-NetConnection <pod address> -Port <port>`,
    remedy: prose`
      Use flannel 0.12 or later on a build that has the policy. What has to reach all pods from a node belongs into a
      pod, or on host-gw.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      reference("windows-networking-documentation.md §8; control-planes.md §1.8"),
    ],
    profiles: ALL,
  },
};
