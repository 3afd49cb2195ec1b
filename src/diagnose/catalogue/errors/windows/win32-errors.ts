/** Codes of Windows at large that HNS, HCS and PowerShell pass on. */
import { prose } from "../../prose.ts";
import { WIN32_CODES, reference, thread } from "../error-sources.ts";
import type { HcnExplanations } from "../hcn-explanation.ts";
import type { PrintedErrors } from "../known-error.ts";

type Win32Code =
  | "E_ACCESSDENIED"
  | "E_NOTIMPL"
  | "ERROR_WRITE_FAULT"
  | "ERROR_DISK_FULL"
  | "ERROR_SHARING_VIOLATION"
  | "ERROR_WRONG_DISK"
  | "ERROR_DUP_NAME"
  | "ERROR_INVALID_PARAMETER"
  | "ERROR_ALREADY_EXISTS"
  | "ERROR_NOT_FOUND"
  | "RPC_S_UNKNOWN_IF"
  | "RPC_S_SERVER_UNAVAILABLE"
  | "EPT_S_NOT_REGISTERED"
  | "ERROR_OBJECT_ALREADY_EXISTS";

/** Those that HNS is known to answer with. */
export const WIN32_HNS_ERRORS: HcnExplanations<Win32Code> = {
  E_ACCESSDENIED: {
    standing: "refusal",
    cause: prose`
      The caller may not do that. HNS wants an administrator; a pod that is not a HostProcess container cannot call it.`,
    next: ["whoami /groups", "whoami /priv"],
    remedy: prose`Run as administrator or as a HostProcess container with NT AUTHORITY\SYSTEM.`,
    moreNames: ["ERROR_ACCESS_DENIED"],
    sources: [WIN32_CODES, reference("hcn.md §6.2")],
  },
  E_NOTIMPL: {
    standing: "refusal",
    cause: prose`
      This build does not have the call. kube-proxy meets it when it wants to change a load balancer in place: older
      HNS cannot, and kube-proxy continues by deleting and making it again.`,
    next: ["[System.Environment]::OSVersion.Version"],
    remedy: prose`Nothing for kube-proxy: it remembers and takes the other way. Connections break with each change of back ends; newer builds keep them.`,
    moreTexts: ["Update loadbalancer policies is not implemented"],
    sources: [WIN32_CODES, reference("hcn.md §6.2; kube-proxy.md §3.7")],
  },
  ERROR_WRITE_FAULT: {
    standing: "root",
    cause: prose`
      The disk or the file system took a write and did not carry it out. A service that keeps its objects on disk refuses
      the change with it, and its objects are as before.`,
    next: ["Get-PhysicalDisk | Select-Object FriendlyName, HealthStatus", "Get-Volume"],
    remedy: prose`Look into the disk's health and the file system's rights, then call again.`,
    sources: [WIN32_CODES],
  },
  ERROR_DISK_FULL: {
    standing: "root",
    cause: prose`
      The disk is full. A service that keeps its objects on disk cannot keep another one: the call is refused, and the
      objects are as before.`,
    next: ["Get-Volume", "Get-Item C:\\ProgramData\\Microsoft\\Windows\\HNS\\HNS.data"],
    remedy: prose`Make room on the disk of the service's state, then call again.`,
    sources: [WIN32_CODES],
  },
  ERROR_SHARING_VIOLATION: {
    standing: "refusal",
    cause: prose`
      From the file system: another process has the file open. From HNS with a port mapping: the host's port is mapped
      already.`,
    next: ["netsh int ipv4 show excludedportrange tcp", "Get-NetNatStaticMapping"],
    remedy: prose`Choose another port of the host, or remove the container that has it.`,
    sources: [WIN32_CODES, reference("hcn.md §6.2")],
  },
  ERROR_WRONG_DISK: {
    standing: "root",
    cause: prose`
      HNS keeps its objects in a file, and these were written by a version of HNS that this one does not understand:
      after an update of Windows, or after going back from one. It has nothing to do with disks.`,
    next: [
      "Get-Item C:\\ProgramData\\Microsoft\\Windows\\HNS\\HNS.data",
      "Get-HotFix | Sort-Object InstalledOn | Select-Object -Last 5",
    ],
    remedy: prose`
      Drain the node, stop HNS, delete C:\ProgramData\Microsoft\Windows\HNS\HNS.data, start HNS, and let the CNI agent
      and kube-proxy make everything again.`,
    sources: [WIN32_CODES, reference("users.md G10; control-planes.md §1.10")],
  },
  ERROR_DUP_NAME: {
    standing: "root",
    cause: prose`From HNS: a network of type ICS is to get an address that the host already has.`,
    next: [
      "Get-NetIPAddress | Select-Object InterfaceAlias, IPAddress",
      "Get-HnsNetwork | Select-Object Name, Type, ID",
    ],
    remedy: prose`Choose another subnet, or remove the network that has it.`,
    sources: [WIN32_CODES, reference("hcn.md §6.2")],
  },
  ERROR_INVALID_PARAMETER: {
    standing: "refusal",
    cause: prose`
      The code says least of all. Known reasons from HNS: an adapter that cannot carry a switch (virtual, in use, in a
      team); a left-over network after a restart; a v1 document with an impossible combination; a load balancer with
      more back ends than the build takes (64 on older ones).`,
    next: [
      "Get-HnsNetwork | Select-Object Name, Type, NetworkAdapterName",
      "Get-NetNat",
      "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
    ],
    remedy: prose`
      Remove left-over networks and NATs, name the adapter exactly. For a Service with very many endpoints, see
      too-many-back-ends.`,
    related: "too-many-back-ends",
    moreNames: ["E_INVALIDARG"],
    sources: [
      WIN32_CODES,
      thread("microsoft/SDN", 177),
      thread("kubernetes/kubernetes", 98680),
      reference("hcn.md §6.2"),
    ],
  },
  ERROR_ALREADY_EXISTS: {
    standing: "refusal",
    cause: prose`
      An object with that id is there already. From kube-proxy after a restart of HNS: HNS brings its load balancers back
      from its own store, while kube-proxy makes them again.`,
    next: ["hnsdiag list loadbalancers", "Get-HnsNetwork | Select-Object Name, ID"],
    remedy: prose`Restart kube-proxy: it deletes all load balancers at its start. Versions from 1.37 on solve it themselves.`,
    related: "kube-proxy-network-missing",
    sources: [
      WIN32_CODES,
      thread("kubernetes/kubernetes", 139519),
      reference("kube-proxy.md §3.7, §7 row 14"),
    ],
  },
  ERROR_NOT_FOUND: {
    standing: "root",
    cause: prose`
      HNS does not have what was asked for: the network was lost in a restart while a state file still names it, a
      namespace is gone, an adapter is missing, or many endpoints were attached at once. On a host whose IPv6 is switched
      off in the registry, containers on NAT networks end with it.`,
    next: [
      "Get-HnsNetwork | Select-Object Name, Type, ID",
      "Get-Content C:\\k\\azure-vnet.json",
      "reg query HKLM\\SYSTEM\\CurrentControlSet\\Services\\Tcpip6\\Parameters /v DisabledComponents",
    ],
    remedy: prose`
      After a restart: delete the state of the CNI plugin, so that it makes its network again. With
      DisabledComponents: delete the value and restart the node.`,
    moreTexts: ["network host not found", "The object was not found"],
    sources: [
      WIN32_CODES,
      thread("Azure/azure-container-networking", 283),
      thread("microsoft/hcsshim", 151),
      reference("users.md G9; control-planes.md §8.1"),
    ],
  },
  RPC_S_UNKNOWN_IF: {
    standing: "root",
    cause: prose`
      The service is there and does not know the interface, or its version, that the program speaks: a program or DLL
      of another version. Mullion's DLLs get it from a service of another version of Mullion.`,
    next: [
      "Get-Service hns, vmcompute",
      "Get-Item C:\\Windows\\System32\\computenetwork.dll | Format-List VersionInfo",
    ],
    remedy: prose`Take program, DLLs and service from one version: on a node restart after updates, with Mullion use its own DLLs.`,
    related: "hns-unreachable",
    sources: [WIN32_CODES],
  },
  RPC_S_SERVER_UNAVAILABLE: {
    standing: "root",
    cause: prose`The service that should answer, HNS or HCS, does not run or died during the call.`,
    next: [
      "Get-Service hns, vmcompute",
      "Get-WinEvent System -MaxEvents 100 | Where-Object ProviderName -eq 'Service Control Manager'",
    ],
    remedy: prose`Start the service. After a crash of HNS restart kube-proxy, and look whether pods kept their endpoints.`,
    related: "hns-unreachable",
    sources: [WIN32_CODES, reference("hcn.md §6.2; users.md G10")],
  },
  EPT_S_NOT_REGISTERED: {
    standing: "root",
    cause: prose`HNS is not reachable: its service does not run, or the Windows feature Containers is not installed.`,
    next: ["Get-Service hns", "Get-WindowsFeature Containers"],
    remedy: prose`Install the feature Containers and restart the node, or start HNS.`,
    related: "hns-unreachable",
    sources: [WIN32_CODES, reference("hcn.md §6.2")],
  },
  ERROR_OBJECT_ALREADY_EXISTS: {
    standing: "root",
    cause: prose`
      HNS has an endpoint with this address, or a NAT with this prefix, already. On the first pod of a flannel host-gw
      node, host-local hands out the .2 that the host's own endpoint has; else an earlier pod left its endpoint behind,
      or a stray NAT network of docker or containerd is there.`,
    next: [
      "Get-HnsEndpoint | Where-Object IPAddress -eq <address> | Select-Object ID, Name, IsRemoteEndpoint",
      "Get-HnsNetwork | Select-Object Name, Type",
      "Get-NetNat",
    ],
    remedy: prose`
      Delete the endpoint that holds the address, or the stray network. For host-gw let the IPAM range begin at .3.`,
    related: "cni-gateway-is-network-plus-two",
    sources: [
      WIN32_CODES,
      thread("kubernetes/kubernetes", 74766),
      thread("kubernetes-sigs/sig-windows-tools", 245),
      reference("cni.md §9 C"),
    ],
  },
};

const SEE_SOCKETS = ["netsh int ipv4 show excludedportrange tcp", "netsh int ipv4 show dynamicportrange tcp"];

/** Those met in logs of programs on the node. */
export const WIN32_ERRORS: PrintedErrors = {
  "error-file-not-found": {
    standing: "refusal",
    hresults: [0x80070002],
    names: ["ERROR_FILE_NOT_FOUND"],
    texts: ["The system cannot find the file specified"],
    cause: prose`
      A file is missing. In a CNI log it is the plugin's program or its configuration; on Windows relative paths count
      from the drive of the process, which for services is C:\Windows\System32.`,
    next: ["Get-ChildItem C:\\k\\cni, C:\\etc\\cni\\net.d, C:\\opt\\cni\\bin -ErrorAction SilentlyContinue"],
    remedy: prose`Put the file where the message looks for it, or correct the path in the runtime's configuration.`,
    sources: [WIN32_CODES, thread("containerd/containerd", 6300)],
  },
  "error-path-not-found": {
    standing: "refusal",
    hresults: [0x80070003],
    names: ["ERROR_PATH_NOT_FOUND"],
    texts: ["The system cannot find the path specified"],
    cause: prose`A folder on the way to a file is missing. The commonest is C:\run\flannel, which flanneld makes when it is ready.`,
    next: [
      "Get-ChildItem C:\\run\\flannel, C:\\etc\\cni\\net.d -ErrorAction SilentlyContinue",
      "Get-Service flanneld",
    ],
    remedy: prose`Start the program that makes the folder. Do not make it by hand, unless the documentation says so.`,
    sources: [WIN32_CODES, reference("windows-networking-documentation.md §9.7")],
  },
  "error-not-supported": {
    standing: "refusal",
    hresults: [0x80070032],
    names: ["ERROR_NOT_SUPPORTED"],
    texts: ["The request is not supported"],
    cause: prose`Windows does not do this here: the build is too old, or the feature is not installed.`,
    next: ["[System.Environment]::OSVersion.Version", "Get-WindowsFeature Containers, Hyper-V"],
    remedy: prose`Compare the build with what the program needs.`,
    sources: [WIN32_CODES],
  },
  "error-invalid-data": {
    standing: "refusal",
    hresults: [0x8007000d],
    names: ["ERROR_INVALID_DATA"],
    texts: ["The data is invalid"],
    cause: prose`The service cannot use the document that it got. From HCS: a request that this build does not know.`,
    next: ["[System.Environment]::OSVersion.Version"],
    remedy: prose`Update Windows, or take an older version of the program.`,
    sources: [WIN32_CODES],
  },
  "error-invalid-handle": {
    standing: "refusal",
    hresults: [0x80070006],
    names: ["ERROR_INVALID_HANDLE"],
    texts: ["The handle is invalid"],
    cause: prose`A program uses an object that is closed. From HCS: the container ended in the meantime.`,
    next: ["hcsdiag list"],
    remedy: prose`Nothing, when the container was to end. Else look for why it ended.`,
    sources: [WIN32_CODES],
  },
  "error-timeout": {
    standing: "refusal",
    hresults: [0x800705b4],
    names: ["ERROR_TIMEOUT"],
    texts: ["This operation returned because the timeout period expired"],
    cause: prose`A service did not answer in time. HNS that hangs shows so: more than 200 threads, calls of minutes.`,
    next: [
      "(Get-Process -Id (Get-CimInstance Win32_Service -Filter \"Name='hns'\").ProcessId).Threads.Count",
    ],
    remedy: prose`Restart HNS, then kube-proxy; with Calico make the pods again. Update Windows.`,
    sources: [WIN32_CODES, reference("users.md G10")],
  },
  "error-no-system-resources": {
    standing: "root",
    hresults: [0x800705aa],
    names: ["ERROR_NO_SYSTEM_RESOURCES"],
    texts: ["Insufficient system resources exist to complete the requested service"],
    cause: prose`Windows has run out of a resource of the kernel: memory, handles, or ports.`,
    next: ["Get-Counter '\\Memory\\Available MBytes'", ...SEE_SOCKETS],
    remedy: prose`Fewer pods on the node, or more memory. Look for a process whose handles grow.`,
    sources: [WIN32_CODES],
  },
  "error-retry": {
    standing: "refusal",
    hresults: [0x800704d5],
    names: ["ERROR_RETRY"],
    texts: ["The operation could not be completed. A retry should be performed"],
    cause: prose`A transient fault, which programs answer with another try.`,
    next: ["Get-Service hns, vmcompute"],
    remedy: prose`Nothing, unless it stays.`,
    sources: [WIN32_CODES],
  },
  "error-not-ready": {
    standing: "refusal",
    hresults: [0x80070015],
    names: ["ERROR_NOT_READY"],
    texts: ["The device is not ready"],
    cause: prose`A driver or service is not up yet, as met right after the start of a node.`,
    next: ["Get-Service hns, vmcompute, vfpext"],
    remedy: prose`Start the programs of the node after HNS; try again.`,
    sources: [WIN32_CODES],
  },
  "error-service-not-active": {
    standing: "root",
    hresults: [0x80070426],
    names: ["ERROR_SERVICE_NOT_ACTIVE"],
    texts: ["The service has not been started"],
    cause: prose`A service that is needed does not run: hns, vmcompute, or SharedAccess.`,
    next: ["Get-Service hns, vmcompute, SharedAccess"],
    remedy: prose`Start it, and set its start to automatic. When it ends again, read the System log.`,
    related: "hns-unreachable",
    sources: [WIN32_CODES],
  },
  "error-service-does-not-exist": {
    standing: "root",
    hresults: [0x80070424],
    names: ["ERROR_SERVICE_DOES_NOT_EXIST"],
    texts: ["The specified service does not exist as an installed service"],
    cause: prose`The service is not installed: for hns and vmcompute the Windows feature Containers, for kubelet and flanneld their set-up.`,
    next: ["Get-WindowsFeature Containers", "sc query hns"],
    remedy: prose`Install what brings the service.`,
    sources: [WIN32_CODES],
  },
  "rpc-s-call-failed": {
    standing: "root",
    hresults: [0x800706be],
    names: ["RPC_S_CALL_FAILED"],
    texts: ["The remote procedure call failed"],
    cause: prose`The service that was called, HNS or HCS, ended during the call: mostly a crash.`,
    next: ["Get-WinEvent System -MaxEvents 100 | Where-Object Message -match 'terminated unexpectedly'"],
    remedy: prose`Restart kube-proxy after HNS is back. Update Windows when it comes again; keep the dump.`,
    related: "hns-unreachable",
    sources: [WIN32_CODES, reference("users.md G10")],
  },
  "e-fail": {
    standing: "wrapper",
    hresults: [0x80004005],
    names: ["E_FAIL"],
    texts: ["Unspecified error"],
    cause: prose`Something failed, and the code says nothing more.`,
    next: [
      "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
    ],
    remedy: prose`Read the lines before it, and the event log.`,
    sources: [WIN32_CODES],
  },
  "class-not-registered": {
    standing: "root",
    hresults: [0x80040154],
    names: ["REGDB_E_CLASSNOTREG"],
    texts: ["Class not registered"],
    cause: prose`A component of Windows is not installed, for PowerShell's network commands mostly a management module.`,
    next: ["Get-WindowsFeature Containers, Hyper-V-PowerShell"],
    remedy: prose`Install the feature, and restart the node.`,
    sources: [WIN32_CODES],
  },
  "error-object-name-exists": {
    standing: "root",
    hresults: [0x800702ba],
    names: ["ERROR_OBJECT_NAME_EXISTS"],
    texts: ["An attempt was made to create an object and the object name already exists"],
    cause: prose`
      HNS makes a switch or adapter whose name is taken: the registry still lists one that a former network left behind
      (lists of switches and NICs of the service vmsmp).`,
    next: ["Get-VMSwitch", "Get-NetAdapter -IncludeHidden | Select-Object Name, Status"],
    remedy: prose`Remove left-over switches and restart the node; when it stays, clean HNS with its clean-up script.`,
    sources: [WIN32_CODES, reference("users.md G10, §2 row 6")],
  },
};
