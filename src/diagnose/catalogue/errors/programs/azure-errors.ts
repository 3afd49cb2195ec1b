/** Azure CNI, its IPAM plugin, and CNS. */
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_STATE = ["Get-Content C:\\k\\azure-vnet.json", "Get-Content C:\\k\\azure-vnet.log -Tail 40"];
const SEE_CNS = [
  "kubectl -n kube-system get pods -o wide -l k8s-app=azure-cns-win",
  "Test-NetConnection 127.0.0.1 -Port 10090",
];

export const AZURE_ERRORS: PrintedErrors = {
  "azure-lock-timeout": {
    standing: "root",
    texts: ["timed out locking store", "Failed to initialize key-value store of network plugin"],
    cause: prose`
      Azure CNI keeps its state in one file under one lock, and waited 60 s for it. Another call hangs in HNS, or a lock
      was left behind.`,
    next: [...SEE_STATE, "Get-Process azure-vnet*", "Get-Service hns"],
    remedy: prose`End calls that hang, look at HNS, delete the .lock file when no azure-vnet runs. The stateless plugin has no such file.`,
    sources: [thread("Azure/azure-container-networking", 1359), reference("cni.md §5.2, §9 F")],
  },
  "azure-state-empty": {
    standing: "root",
    texts: ["unexpected end of JSON input"],
    cause: prose`A JSON file or answer is empty. For Azure CNI it is azure-vnet.json after a crash of the node; as a policy it is an OutBoundNAT in the shape of another version.`,
    next: SEE_STATE,
    remedy: prose`Drain the node, delete azure-vnet.json and azure-vnet-ipam.json, remove the network azure from HNS, restart the node.`,
    sources: [thread("Azure/azure-container-networking", 2817), reference("cni.md §5.5, §9 F")],
  },
  "azure-no-addresses": {
    standing: "root",
    texts: ["No available addresses", "no available address pools"],
    cause: prose`The node's addresses all have an owner in azure-vnet-ipam.json. Pods that failed half-way keep theirs.`,
    next: [
      "Get-Content C:\\k\\azure-vnet-ipam.json",
      "kubectl get pods -A --field-selector spec.nodeName=<node>",
    ],
    remedy: prose`Drain the node and delete the state files; raise max-pods and the addresses of the network card together.`,
    related: "ipam-range-exhausted",
    sources: [thread("Azure/azure-container-networking", 145), reference("users.md G20; cni.md §5.9")],
  },
  "azure-cns-not-enough": {
    standing: "root",
    texts: ["not enough IPs available", "waiting on Azure CNS to allocate more", "AddressUnavailable"],
    cause: prose`CNS has no free address for the pod yet and asks for more. It comes and goes when pods start fast; it stays when the subnet is full.`,
    next: [...SEE_CNS, "kubectl get nodenetworkconfig -A"],
    remedy: prose`Wait a minute; then look at the subnet's free addresses in Azure.`,
    related: "azure-cns-pool-exhausted",
    sources: [reference("cni.md §5.7")],
  },
  "azure-cns-unreachable": {
    standing: "root",
    texts: ["couldn't connect to CNS", "failed to create cns client"],
    cause: prose`The CNS of the node does not answer, so no pod gets an address. Releases are kept in files until it is back.`,
    next: SEE_CNS,
    remedy: prose`Restart the CNS pod of the node.`,
    related: "azure-cns-down",
    sources: [reference("cni.md §5.7")],
  },
  "azure-hcn-create-failed": {
    standing: "wrapper",
    texts: [
      "Failed to create hcn network",
      "Failed to create endpoint: … due to error",
      "Failed to add endpoint: … to hcn namespace",
    ],
    cause: prose`HNS refused the network or the endpoint; the reason follows.`,
    next: [
      "Get-HnsNetwork | Select-Object Name, Type, ID",
      "Get-HnsEndpoint | Select-Object Name, IPAddress, State",
    ],
    remedy: prose`Act on the reason behind it.`,
    sources: [reference("cni.md §5.4")],
  },
  "azure-master-interface": {
    standing: "root",
    texts: ["Failed to find the master interface"],
    cause: prose`No interface of the node has the subnet that IPAM named: the address moved with the switch, or the card has another subnet.`,
    next: ["Get-NetIPAddress -AddressFamily IPv4 | Select-Object InterfaceAlias, IPAddress, PrefixLength"],
    remedy: prose`Remove HNS networks of an earlier set-up and restart the node.`,
    sources: [reference("cni.md §5.4")],
  },
  "azure-policy-failed": {
    standing: "root",
    texts: ["Failed to set Policy: Type", "OutBoundNAT policy not set"],
    cause: prose`Azure CNI takes few shapes of policies in AdditionalArgs: OutBoundNAT with ExceptionList, ROUTE with DestinationPrefix and NeedEncap, ACL with an Action. Anything else, and an empty OutBoundNAT, fails.`,
    next: ["Get-Content C:\\k\\azurecni\\netconf\\10-azure.conflist"],
    remedy: prose`Write the policy in that shape, or remove it.`,
    sources: [reference("cni.md §5.5")],
  },
  "azure-dns-wrong": {
    standing: "root",
    texts: ["Wrong DNS configuration"],
    cause: prose`The configuration's dns has servers without search domains, or the other way round.`,
    next: ["Get-Content C:\\k\\azurecni\\netconf\\10-azure.conflist"],
    remedy: prose`Give both or none.`,
    sources: [reference("cni.md §5.5")],
  },
  "azure-pod-name-missing": {
    standing: "root",
    texts: ["Pod Namespace not specified in CNI Args", "Pod Name not specified in CNI Args"],
    cause: prose`Azure CNI wants the pod's name and namespace, which the kubelet gives and other callers do not.`,
    next: ["Get-ChildItem Env:CNI_ARGS"],
    remedy: prose`Set CNI_ARGS to K8S_POD_NAMESPACE=…;K8S_POD_NAME=….`,
    sources: [reference("cni.md §5.2")],
  },
  "azure-hns-timeout": {
    standing: "root",
    texts: ["timed out calling hns"],
    cause: prose`A call of HNS took longer than the plugin allows: HNS hangs.`,
    next: [
      "Get-Service hns",
      "(Get-Process -Id (Get-CimInstance Win32_Service -Filter \"Name='hns'\").ProcessId).Threads.Count",
    ],
    remedy: prose`Restart HNS, then kube-proxy. Update Windows.`,
    related: "hns-unreachable",
    sources: [reference("users.md G10, §3")],
  },
  "azure-default-routes": {
    standing: "root",
    texts: ["add result requires exactly one interface with default routes"],
    cause: prose`CNS answered with no interface, or several, that carry the default route.`,
    next: SEE_CNS,
    remedy: prose`Look at the pod's networks in Azure; one of them must be the default.`,
    sources: [reference("cni.md §5.7")],
  },
  "azure-route-not-created": {
    standing: "root",
    names: ["FailedToCreateRoute"],
    texts: ["RouteController failed to create a route", "Could not create route … for node"],
    cause: prose`The cloud's route controller could not make the route to a node's pod range: rights, a full route table, or a range that overlaps.`,
    next: [
      "kubectl describe node <node>",
      "az network route-table route list -g <group> --route-table-name <table> -o table",
    ],
    remedy: prose`Give the cluster's identity rights on the route table, or remove the route in the way.`,
    related: "no-route",
    sources: [reference("control-planes.md §6.6")],
  },
};
