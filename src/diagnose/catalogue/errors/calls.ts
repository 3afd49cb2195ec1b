/**
 * Calls of the components of a node, as their logs name them. A code of Windows means something in a call: "the object
 * already exists" is another fault for a route than for an endpoint. A record is judged by its call and its code
 * together (`judge.ts`).
 */

export const CALL_IDS = [
  "network-create",
  "network-open",
  "network-change",
  "network-delete",
  "endpoint-create",
  "endpoint-attach",
  "endpoint-change",
  "endpoint-open",
  "endpoint-delete",
  "load-balancer-create",
  "load-balancer-change",
  "load-balancer-open",
  "load-balancer-delete",
  "namespace-create",
  "namespace-change",
  "namespace-open",
  "namespace-delete",
  "hns",
  "route",
  "neighbor",
  "address",
  "nat",
  "switch",
  "container",
  "container-process",
  "layer",
  "socket-listen",
  "socket-connect",
  "pipe",
  "file",
  "service",
] as const;

export type CallId = (typeof CALL_IDS)[number];

/** A call and how logs name it. */
export interface Call {
  /** Completes "a call that …". */
  readonly does: string;
  /** Function names, or words that a component prints around the call. */
  readonly marks: readonly string[];
  /** What decides about the cause when the code alone does not. */
  readonly decide: readonly string[];
}

const SEE_NETWORKS = ["Get-HnsNetwork | Select-Object Name, Type, ID, State"];
const SEE_ENDPOINTS = [
  "Get-HnsEndpoint | Select-Object ID, Name, IPAddress, IsRemoteEndpoint, State | Format-Table",
];
const SEE_LOAD_BALANCERS = ["hnsdiag list loadbalancers", ...SEE_ENDPOINTS];
const SEE_NAMESPACES = ["hnsdiag list namespaces", "crictl pods"];
const SEE_COMPUTE_SYSTEMS = [
  "hcsdiag list",
  "Get-WinEvent Microsoft-Windows-Hyper-V-Compute-Admin -MaxEvents 20",
];
const SEE_HNS_EVENTS = [
  "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
];

export const CALLS: Readonly<Record<CallId, Call>> = {
  "network-create": {
    does: "makes a network of HNS",
    marks: [
      "hcnCreateNetwork",
      "New-HnsNetwork",
      "failed to create HNSNetwork",
      "Failed to create hcn network",
      "Unable to create hns network",
      "Unable to create network",
      "unable to create the overlay network",
      "unable to create the base overlay network",
      "failed to create VXLAN network",
      "error creating default nat network",
      "Error creating default network",
      "Error starting daemon: Error initializing network controller",
      "error creating HNSNetwork",
      "POST /networks",
    ],
    decide: [...SEE_NETWORKS, "Get-NetAdapter | Select-Object Name, Status", ...SEE_HNS_EVENTS],
  },
  "network-open": {
    does: "looks a network of HNS up",
    marks: [
      "hcnOpenNetwork",
      "hcnQueryNetworkProperties",
      "hcnEnumerateNetworks",
      "Get-HnsNetwork",
      "failed to get HNS network",
      "error while getting network",
      "GETHNSNewtorkByName",
      "Unable to find HNS Network",
      "GET /networks",
    ],
    decide: SEE_NETWORKS,
  },
  "network-change": {
    does: "changes a network of HNS",
    marks: [
      "hcnModifyNetwork",
      "unable to add host route policy",
      "Failed to remove remote subnet policy",
      "Failed to clear the existing remote subnet policies",
      "failed to add remote subnet",
      "adding remote subnet policy",
    ],
    decide: SEE_NETWORKS,
  },
  "network-delete": {
    does: "deletes a network of HNS",
    marks: ["hcnDeleteNetwork", "Remove-HnsNetwork", "DELETE /networks", "Unable to delete existing network"],
    decide: [...SEE_NETWORKS, ...SEE_ENDPOINTS],
  },
  "endpoint-create": {
    does: "makes an endpoint of HNS",
    marks: [
      "hcnCreateEndpoint",
      "New-HnsEndpoint",
      "failed to create the new HNSEndpoint",
      "failed to create the new HostComputeEndpoint",
      "ProvisionEndpoint(",
      "AddHcnEndpoint(",
      "Remote endpoint creation failed",
      "Source Vip endpoint creation failed",
      "Failed to create endpoint",
      "Unable to create bridge endpoint",
      "failed to create bridge HNSEndpoint",
      "failed to create remote HNSEndpoint",
      "Unable to create container hns endpoint",
      "failed to create HNSEndpoint",
      "error creating HNSEndpoint",
      "POST /endpoints",
    ],
    decide: [...SEE_ENDPOINTS, ...SEE_NETWORKS],
  },
  "endpoint-attach": {
    does: "attaches an endpoint to a container or to the host",
    marks: [
      "failed to hot attach",
      "Unable to hot attach",
      "HotAttachEndpoint",
      "hcnAttachEndpoint",
      "Attach-HnsEndpoint",
      "Attach-HNSHostEndpoint",
      "failed to attach endpoint",
      "HotAddEndpoint",
    ],
    decide: SEE_ENDPOINTS,
  },
  "endpoint-change": {
    does: "changes an endpoint or its policies",
    marks: [
      "hcnModifyEndpoint",
      "ApplyACLPolicy",
      "Error applying ACL policy",
      "Failed to apply policy",
      "failed to apply ACL",
      "Failed to set Policy",
    ],
    decide: [
      "Get-HnsEndpoint | Select-Object ID, IPAddress, State, Health | ConvertTo-Json -Depth 6",
      ...SEE_HNS_EVENTS,
    ],
  },
  "endpoint-open": {
    does: "looks an endpoint up",
    marks: [
      "hcnOpenEndpoint",
      "hcnQueryEndpointProperties",
      "hcnEnumerateEndpoints",
      "failed to find HNSEndpoint",
      "Querying HNS for endpoints",
      "GET /endpoints",
    ],
    decide: SEE_ENDPOINTS,
  },
  "endpoint-delete": {
    does: "deletes an endpoint",
    marks: [
      "hcnDeleteEndpoint",
      "Remove-HnsEndpoint",
      "Endpoint deletion failed",
      "Failed to delete endpoint",
      "DeprovisionEndpoint",
      "DELETE /endpoints",
    ],
    decide: SEE_ENDPOINTS,
  },
  "load-balancer-create": {
    does: "makes a load balancer",
    marks: [
      "hcnCreateLoadBalancer",
      "New-HnsLoadBalancer",
      "olicy creation failed",
      "Failed to create HNS load balancer",
      "POST /policylists",
    ],
    decide: SEE_LOAD_BALANCERS,
  },
  "load-balancer-change": {
    does: "changes a load balancer",
    marks: ["hcnModifyLoadBalancer", "Update loadbalancer policy failed"],
    decide: SEE_LOAD_BALANCERS,
  },
  "load-balancer-open": {
    does: "looks load balancers up",
    marks: ["hcnOpenLoadBalancer", "hcnEnumerateLoadBalancers", "Querying HNS for load balancers"],
    decide: SEE_LOAD_BALANCERS,
  },
  "load-balancer-delete": {
    does: "deletes a load balancer",
    marks: [
      "hcnDeleteLoadBalancer",
      "Error deleting Hns loadbalancer",
      "Error deleting Hns Policy",
      "Remove-HnsPolicyList",
    ],
    decide: SEE_LOAD_BALANCERS,
  },
  "namespace-create": {
    does: "makes a network namespace",
    marks: ["hcnCreateNamespace"],
    decide: SEE_NAMESPACES,
  },
  "namespace-change": {
    does: "adds an endpoint to a network namespace, or takes it out",
    marks: [
      "hcnModifyNamespace",
      "to HostComputeNamespace",
      "to hcn namespace",
      "AddNamespaceEndpoint",
      "RemoveNamespaceEndpoint",
    ],
    decide: [...SEE_NAMESPACES, ...SEE_ENDPOINTS],
  },
  "namespace-open": {
    does: "looks a network namespace up",
    marks: ["hcnOpenNamespace", "hcnEnumerateNamespaces", "Failed to get hcn namespace"],
    decide: SEE_NAMESPACES,
  },
  "namespace-delete": {
    does: "deletes a network namespace",
    marks: ["hcnDeleteNamespace", "failed to delete network namespace"],
    decide: SEE_NAMESPACES,
  },
  hns: {
    does: "goes to HNS (the log does not say which)",
    marks: ["hnsCall failed", "HNS failed with error", "Invoke-HnsRequest", "hnsCallRawResponse"],
    decide: [
      ...SEE_HNS_EVENTS,
      "Get-HnsNetwork | Select-Object Name, Type, ID",
      "hnsdiag list endpoints",
      "Get-NetNat",
    ],
  },
  route: {
    does: "makes, reads or deletes a route of the host",
    marks: [
      "IpForwardEntry",
      "New-NetRoute",
      "Remove-NetRoute",
      "Error creating route",
      "failed to create route",
      "Error adding route",
      "Failed to add route",
    ],
    decide: [
      "Get-NetRoute -AddressFamily IPv4 | Format-Table ifIndex, DestinationPrefix, NextHop, RouteMetric",
    ],
  },
  neighbor: {
    does: "makes or deletes an entry of the neighbour table",
    marks: ["IpNetEntry", "New-NetNeighbor", "Remove-NetNeighbor"],
    decide: ["Get-NetNeighbor | Format-Table ifIndex, IPAddress, LinkLayerAddress, State"],
  },
  address: {
    does: "makes or deletes an address of the host",
    marks: ["New-NetIPAddress", "Remove-NetIPAddress", "UnicastIpAddressEntry"],
    decide: ["Get-NetIPAddress | Format-Table InterfaceAlias, IPAddress, PrefixLength"],
  },
  nat: {
    does: "makes or deletes a translation of WinNAT",
    marks: ["New-NetNat", "Add-NetNatStaticMapping", "Remove-NetNat"],
    decide: ["Get-NetNat", "Get-NetNatStaticMapping"],
  },
  switch: {
    does: "makes, changes or deletes a virtual switch",
    marks: ["New-VMSwitch", "Remove-VMSwitch", "Set-VMSwitch", "Enable-VMSwitchExtension", "Get-VMSwitch"],
    decide: ["Get-VMSwitch | Format-List Name, SwitchType, NetAdapterInterfaceDescription", ...SEE_NETWORKS],
  },
  container: {
    does: "makes, starts or stops a container of HCS",
    marks: [
      "hcsshim::CreateComputeSystem",
      "hcs::CreateComputeSystem",
      "hcs::System::",
      "hcsshim::ComputeSystem::",
      "hcsshim::OpenComputeSystem",
      "HcsCreateComputeSystem",
      "failed to create containerd task",
      "failed to create shim task",
      "encountered an error during",
    ],
    decide: SEE_COMPUTE_SYSTEMS,
  },
  // The container is there, and its layers and mounts were found (hcsshim `internal/hcs/system.go`).
  "container-process": {
    does: "runs a program in a container",
    marks: [
      "hcs::System::CreateProcess",
      "hcsshim::System::CreateProcess",
      "hcsshim::ComputeSystem::CreateProcess",
      "error during CreateProcess",
      "HcsCreateProcess",
    ],
    decide: SEE_COMPUTE_SYSTEMS,
  },
  layer: {
    does: "works on the layers of an image",
    marks: [
      "hcsshim::PrepareLayer",
      "hcsshim::ActivateLayer",
      "hcsshim::ImportLayer",
      "hcsshim::UnprepareLayer",
      "ProcessBaseLayer",
      "failed to extract layer",
    ],
    decide: ["crictl images", "Get-Volume"],
  },
  "socket-listen": {
    does: "listens on a port",
    marks: ["listen tcp", "listen udp", "bind:"],
    decide: ["Get-NetTCPConnection -LocalPort <port>", "netsh int ipv4 show excludedportrange tcp"],
  },
  "socket-connect": {
    does: "connects to an address",
    marks: ["dial tcp", "dial udp", "dial unix", "connectex:", "wsasend", "wsarecv"],
    decide: ["Test-NetConnection <address> -Port <port>", "ipconfig /all"],
  },
  pipe: {
    does: "opens a named pipe",
    marks: ["open //./pipe/", "open \\\\.\\pipe\\", "dial npipe", "npipe:////./pipe/"],
    decide: [
      "Get-ChildItem \\\\.\\pipe\\ | Select-String 'containerd|docker|csi'",
      "Get-Service containerd, docker, csi-proxy -ErrorAction SilentlyContinue",
    ],
  },
  file: {
    does: "opens or writes a file",
    marks: [
      "open C:\\",
      "open /",
      "stat C:\\",
      "mkdir C:\\",
      "CreateFile",
      "GetFileAttributesEx",
      "FindFirstFile",
      "remove C:\\",
      "rename C:\\",
      "fork/exec",
    ],
    decide: ["Get-Item <path> | Format-List FullName, Length, LastWriteTime", "Get-Acl <path> | Format-List"],
  },
  service: {
    does: "starts or asks for a service of Windows",
    marks: [
      "Start-Service",
      "Restart-Service",
      "Stop-Service",
      "StartService FAILED",
      "OpenService",
      "sc.exe start",
    ],
    decide: [
      "Get-Service hns, vmcompute, containerd, kubelet, kube-proxy, flanneld -ErrorAction SilentlyContinue",
    ],
  },
};

/** Names the service and not the object; any other call in the record says more. */
export const UNNAMED_CALL: CallId = "hns";
