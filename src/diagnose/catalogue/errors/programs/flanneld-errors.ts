/** flanneld on Windows, and the scripts that start it. */
import { prose } from "../../prose.ts";
import { FLANNEL_TROUBLE, reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_NET_CONF = [
  "Get-Content C:\\etc\\kube-flannel\\net-conf.json",
  "kubectl -n kube-flannel get configmap kube-flannel-cfg -o yaml",
];
const SEE_ADAPTERS = [
  "Get-NetAdapter | Select-Object Name, Status",
  "Get-NetIPAddress -AddressFamily IPv4 | Select-Object InterfaceAlias, IPAddress",
];

export const FLANNELD_ERRORS: PrintedErrors = {
  "flanneld-vni-too-small": {
    standing: "root",
    texts: [
      "VNI … must be greater than or equal to 4096 on Windows",
      "required to be greater than or equal to 4096 on Windows",
    ],
    cause: prose`
      Windows takes VXLAN network ids from 4096 on. flannel on Linux defaults to 1, so a cluster that began with Linux
      nodes has it. When another node's lease has a small id, this node leaves that node out.`,
    next: [
      ...SEE_NET_CONF,
      "kubectl get nodes -o custom-columns=NAME:.metadata.name,DATA:.metadata.annotations.flannel\\.alpha\\.coreos\\.com/backend-data",
    ],
    remedy: prose`Set "VNI": 4096 and "Port": 4789 for all nodes, delete flannel.1 on the Linux nodes, restart flannel everywhere.`,
    sources: [
      thread("k3s-io/k3s", 9295),
      thread("rancher/rke2", 5995),
      reference("users.md G4; control-planes.md §1.8"),
    ],
  },
  "flanneld-port-unsupported": {
    standing: "root",
    texts: ["is not supported on Windows. Omit the setting to default to port"],
    cause: prose`The overlay network of Windows uses UDP 4789; flannel on Linux defaults to 8472.`,
    next: SEE_NET_CONF,
    remedy: prose`Set "Port": 4789 for all nodes, and recreate the interface on the Linux nodes.`,
    sources: [reference("users.md G4; control-planes.md §1.8")],
  },
  "flanneld-option-unsupported": {
    standing: "root",
    texts: ["DirectRouting is not supported on Windows", "GBP is not supported on Windows"],
    cause: prose`The backend has an option that exists on Linux only.`,
    next: SEE_NET_CONF,
    remedy: prose`Take the option out.`,
    sources: [reference("control-planes.md §1.8")],
  },
  "flanneld-mac-prefix": {
    standing: "root",
    texts: ["MacPrefix … is invalid, prefix must be of the format xx-xx"],
    cause: prose`MacPrefix must be two bytes with a hyphen.`,
    next: SEE_NET_CONF,
    remedy: prose`Write "0E-2A", and the same in the CNI plugin's endpointMacPrefix.`,
    sources: [reference("control-planes.md §10.1 F6")],
  },
  "flanneld-no-interface": {
    standing: "root",
    texts: [
      "Failed to find any valid interface to use",
      "Failed to find interface to use that matches the interfaces and/or regexes provided",
      "Could not find valid interface",
      "no interface with given IP found",
    ],
    cause: prose`flanneld finds no adapter with the given name or address: its name is not the one in --iface, the address moved to "vEthernet (…)", or the node has no default route.`,
    next: SEE_ADAPTERS,
    remedy: prose`Pass the node's address in --iface, or a pattern in --iface-regex.`,
    sources: [
      FLANNEL_TROUBLE,
      thread("microsoft/SDN", 377),
      reference("users.md G11; control-planes.md §1.1"),
    ],
  },
  "flanneld-no-default-interface": {
    standing: "root",
    texts: ["failed to get default interface", "unable to find default gateway interface index"],
    cause: prose`The node has no default route, so flanneld cannot choose an adapter by itself.`,
    next: ["Get-NetRoute -DestinationPrefix 0.0.0.0/0", ...SEE_ADAPTERS],
    remedy: prose`Add a default route, or pass --iface.`,
    sources: [FLANNEL_TROUBLE, reference("control-planes.md §1.1")],
  },
  "flanneld-network-config-missing": {
    standing: "root",
    texts: [
      "Couldn't fetch network config",
      "Couldn't find network config",
      "failed to read net conf",
      "error parsing subnet config",
    ],
    cause: prose`flanneld cannot read net-conf.json, or it is not JSON. It tries again each second, forever.`,
    next: SEE_NET_CONF,
    remedy: prose`Put the file where --net-config-path points to, and check it with ConvertFrom-Json.`,
    sources: [reference("control-planes.md §1.1, §1.3")],
  },
  "flanneld-no-pod-cidr": {
    standing: "root",
    texts: ["pod cidr not assigned"],
    cause: prose`The Node object has no podCIDR: the controller manager does not give ranges, its cluster range is used up, or the node is not registered yet.`,
    next: ["kubectl get nodes -o custom-columns=NAME:.metadata.name,CIDR:.spec.podCIDR"],
    remedy: prose`Start the controller manager with --allocate-node-cidrs and --cluster-cidr, or kubeadm with --pod-network-cidr.`,
    related: "node-range-exhausted",
    sources: [FLANNEL_TROUBLE, reference("control-planes.md §1.4")],
  },
  "flanneld-pod-cidr-outside": {
    standing: "root",
    texts: ["specified in the flannel net config doesn't contain … PodCIDR of the … node"],
    cause: prose`The node's podCIDR is outside Network of net-conf.json: the cluster was made with another range than flannel's file has, or the script's default file was read.`,
    next: [...SEE_NET_CONF, "kubectl get nodes -o custom-columns=NAME:.metadata.name,CIDR:.spec.podCIDR"],
    remedy: prose`Make Network equal to the cluster's pod range and restart flanneld.`,
    sources: [reference("control-planes.md §1.4, §2.1")],
  },
  "flanneld-lease-failed": {
    standing: "wrapper",
    texts: ["failed to acquire lease", "Error registering network"],
    cause: prose`flanneld got no subnet, or could not make its network; the reason follows.`,
    next: ["kubectl describe node <node>", "Get-HnsNetwork | Select-Object Name, Type"],
    remedy: prose`Act on the reason behind it.`,
    sources: [reference("control-planes.md §1.1")],
  },
  "flanneld-node-not-found": {
    standing: "root",
    texts: [
      "error retrieving pod spec for",
      "env variables POD_NAME and POD_NAMESPACE must be set",
      "error waiting for nodeController to sync state",
    ],
    cause: prose`flanneld does not know which node it is on, or cannot list nodes. On Windows the start script sets NODE_NAME.`,
    next: ["Get-ChildItem Env:NODE_NAME", "kubectl get nodes"],
    remedy: prose`Set NODE_NAME to the node's name in lower case, and check the kubeconfig and its rights.`,
    sources: [reference("control-planes.md §1.4, §2.1")],
  },
  "flanneld-network-create-failed": {
    standing: "wrapper",
    texts: ["failed to create VXLAN network", "failed to get HNS network"],
    cause: prose`HNS did not make flannel's network; the reason follows.`,
    next: ["Get-HnsNetwork | Select-Object Name, Type, NetworkAdapterName", ...SEE_ADAPTERS],
    remedy: prose`Act on the reason behind it. Remove another network from the adapter.`,
    sources: [reference("control-planes.md §1.8; users.md G6")],
  },
  "flanneld-network-not-ready": {
    standing: "root",
    texts: [
      "took too long to get ready. Please check your network host configuration",
      "timeout, failed to get management IP from HNSNetwork",
      "timeout, failed to get net interface for HNSNetwork",
    ],
    cause: prose`The network was made, and the node's address did not come back on it in time: HNS moves the address to a new vNIC, and DHCP or a team was slow.`,
    next: ["Get-HnsNetwork | Select-Object Name, ManagementIP", ...SEE_ADAPTERS],
    remedy: prose`Start flanneld again: the network is there now. Use a fixed address when it stays.`,
    sources: [reference("control-planes.md §1.8, §1.10; windows-networking-documentation.md §9.6")],
  },
  "flanneld-dr-mac": {
    standing: "root",
    texts: ["cannot parse DR MAC"],
    cause: prose`The overlay network has no MAC address of its distributed router, so other nodes could not send to this one.`,
    next: ["Get-HnsNetwork | ConvertTo-Json -Depth 6 | Select-String DrMacAddress"],
    remedy: prose`Delete the network and restart flanneld; update Windows (Server 2019 needs KB4489899).`,
    sources: [reference("control-planes.md §1.8; windows-networking-documentation.md §2")],
  },
  "flanneld-public-ip-nat": {
    standing: "root",
    texts: [
      "your PublicIP differs from interface IP, meaning that probably you're on a NAT, which is not supported by host-gw backend",
    ],
    cause: prose`host-gw makes routes to the nodes' own addresses, and --public-ip is another one.`,
    next: SEE_ADAPTERS,
    remedy: prose`Leave --public-ip out, or use vxlan.`,
    sources: [reference("control-planes.md §1.9")],
  },
  "flanneld-peer-ignored": {
    standing: "root",
    texts: ["ignoring non-vxlan subnet", "Ignoring non-… subnet", "error decoding subnet lease JSON"],
    cause: prose`Another node's lease has another backend or cannot be read, so this node makes no way to it.`,
    next: ["kubectl get nodes -o yaml | Select-String flannel.alpha.coreos.com"],
    remedy: prose`Use one backend on all nodes; restart flannel on the node whose annotation is wrong.`,
    sources: [reference("control-planes.md §1.6, §1.8")],
  },
  "flanneld-peer-lost": {
    standing: "root",
    texts: ["Unable to find network … error"],
    cause: prose`flanneld heard of another node while its own HNS network was gone. The event is lost and not tried again, so there is no way to that node.`,
    next: ["Get-HnsNetwork | ForEach-Object { $_.Policies } | Where-Object Type -eq RemoteSubnetRoute"],
    remedy: prose`Restart flanneld.`,
    sources: [reference("control-planes.md §1.8")],
  },
  "flanneld-route-failed": {
    standing: "root",
    texts: ["Error creating route:", "Error enumerating routes:", "Error recovering route to"],
    cause: prose`host-gw could not make a route to another node's pods.`,
    next: ["Get-NetRoute -AddressFamily IPv4", ...SEE_ADAPTERS],
    remedy: prose`Remove a route to the same prefix with another next hop, and restart flanneld.`,
    related: "no-route",
    sources: [reference("control-planes.md §1.9")],
  },
  "flanneld-api-timeout": {
    standing: "root",
    texts: ["timeout contacting kube-api, failed to patch node"],
    cause: prose`flanneld does not reach the API server, or may not patch the node's status. Making the first switch cuts the node off for seconds.`,
    next: [
      "Test-NetConnection <api server> -Port 6443",
      "kubectl auth can-i patch nodes/status --as=system:serviceaccount:kube-flannel:flannel",
    ],
    remedy: prose`Check the kubeconfig, the way to the API server and the rights.`,
    sources: [reference("control-planes.md §1.4")],
  },
  "start-script-waits-for-network": {
    standing: "root",
    texts: ["Waiting for the Network to be created"],
    cause: prose`
      The start script looks each second for an HNS network of the given name, without end. flanneld has ended or waits:
      before 0.12 it died when HNS had not yet filled the management address.`,
    next: ["Get-Process flanneld", "Get-HnsNetwork | Select-Object Name, Type, ManagementIP"],
    remedy: prose`
      Start the script again, or flanneld by hand with NODE_NAME set: --kubeconfig-file, --iface=<node IP>, --ip-masq=1,
      --kube-subnet-mgr=1. Use flannel 0.12 or later.`,
    sources: [reference("control-planes.md §1.10; windows-networking-documentation.md §9.6")],
  },
};
