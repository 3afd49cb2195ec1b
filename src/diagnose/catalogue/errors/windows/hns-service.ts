/** HNS as a service, and the part of it that sets a container's network up from inside. */
import { prose } from "../../prose.ts";
import { HCN_HRESULTS, reference } from "../error-sources.ts";
import type { HcnExplanations } from "../hcn-explanation.ts";

type ServiceCode =
  | "HCN_E_REGKEY_FAILURE"
  | "HCN_E_MANAGER_STOPPED"
  | "HCN_E_ICS_DISABLED"
  | "HCN_E_VFP_NOT_ALLOWED"
  | "GCN_E_MODULE_NOT_FOUND"
  | "GCN_E_NO_REQUEST_HANDLERS"
  | "GCN_E_REQUEST_UNSUPPORTED"
  | "GCN_E_RUNTIMEKEYS_FAILED"
  | "GCN_E_NETADAPTER_TIMEOUT"
  | "GCN_E_NETADAPTER_NOT_FOUND"
  | "GCN_E_NETCOMPARTMENT_NOT_FOUND"
  | "GCN_E_NETINTERFACE_NOT_FOUND"
  | "GCN_E_DEFAULTNAMESPACE_EXISTS";

const SOURCES = [HCN_HRESULTS, reference("hcn.md §2.11, §6.1")];
const SEE_COMPARTMENTS = ["ipconfig /allcompartments /all", "hnsdiag list namespaces"];
const DELETE_POD = prose`
  Delete the pod, so that its network is made again. When several pods of the node show it, drain the node and restart
  it.`;

export const HNS_SERVICE_ERRORS: HcnExplanations<ServiceCode> = {
  HCN_E_REGKEY_FAILURE: {
    standing: "root",
    cause: prose`
      HNS cannot read or write its registry keys. Rights were changed, or left-overs of an earlier installation are in
      the way.`,
    next: ["reg query HKLM\\SYSTEM\\CurrentControlSet\\Services\\hns\\State"],
    remedy: prose`Restore the rights of the key and restart HNS.`,
    sources: SOURCES,
    isInferred: true,
  },
  HCN_E_MANAGER_STOPPED: {
    standing: "root",
    cause: prose`HNS is being stopped, and takes no calls any more.`,
    next: [
      "Get-Service hns",
      "Get-WinEvent System -MaxEvents 50 | Where-Object Message -match 'Host Network Service'",
    ],
    remedy: prose`
      Wait until HNS runs again, then restart kube-proxy: load balancers that vanished are not looked for.`,
    related: "hns-unreachable",
    sources: SOURCES,
    isInferred: true,
  },
  HCN_E_ICS_DISABLED: {
    standing: "root",
    cause: prose`
      A network of type ICS, or the default network of WSL and Docker Desktop, needs the service for Internet Connection
      Sharing, and that service is disabled, often by a group policy.`,
    next: ["Get-Service SharedAccess", "sc qc SharedAccess"],
    remedy: prose`Set SharedAccess to start by hand: Set-Service SharedAccess -StartupType Manual.`,
    sources: SOURCES,
  },
  HCN_E_VFP_NOT_ALLOWED: {
    standing: "root",
    cause: prose`
      Networks of type L2Bridge, L2Tunnel and Overlay need VFP, the filter platform of the switch. This edition of
      Windows does not have it, or it is not installed.`,
    next: ["Get-Service vfpext", "Get-ComputerInfo WindowsProductName, OsBuildNumber"],
    remedy: prose`Use Windows Server with the feature Containers, or a NAT or transparent network.`,
    sources: SOURCES,
  },
  GCN_E_MODULE_NOT_FOUND: {
    standing: "refusal",
    cause: prose`The guest's part of HNS misses a module: image and host do not fit each other, or the guest is going down.`,
    next: ["crictl inspecti <image>", "[System.Environment]::OSVersion.Version"],
    remedy: prose`Use an image of the node's build.`,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_NO_REQUEST_HANDLERS: {
    standing: "refusal",
    cause: prose`The guest's part of HNS got a request for which it has no handler: image and host are of different builds.`,
    next: ["crictl inspecti <image>", "[System.Environment]::OSVersion.Version"],
    remedy: prose`Use an image of the node's build.`,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_REQUEST_UNSUPPORTED: {
    standing: "refusal",
    cause: prose`The guest's part of HNS does not do what was asked; the host's part has the same text with 0x803b0015.`,
    next: ["crictl inspecti <image>", "[System.Environment]::OSVersion.Version"],
    remedy: prose`Use an image of the node's build.`,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_RUNTIMEKEYS_FAILED: {
    standing: "refusal",
    cause: prose`The settings of the network could not be put into the registry of the container.`,
    next: SEE_COMPARTMENTS,
    remedy: DELETE_POD,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_NETADAPTER_TIMEOUT: {
    standing: "refusal",
    cause: prose`The container's network adapter did not appear in time. A node under load, or a driver that hangs.`,
    next: [
      "Get-NetAdapter -IncludeHidden | Select-Object Name, Status",
      "Get-Counter '\\Processor(_Total)\\% Processor Time'",
    ],
    remedy: DELETE_POD,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_NETADAPTER_NOT_FOUND: {
    standing: "refusal",
    cause: prose`The container's network adapter is not there when it is to be set up.`,
    next: ["Get-NetAdapter -IncludeHidden | Select-Object Name, Status", ...SEE_COMPARTMENTS],
    remedy: DELETE_POD,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_NETCOMPARTMENT_NOT_FOUND: {
    standing: "refusal",
    cause: prose`
      The network compartment of the container is gone or was never made: endpoint and namespace disagree about its
      number.`,
    next: SEE_COMPARTMENTS,
    remedy: DELETE_POD,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_NETINTERFACE_NOT_FOUND: {
    standing: "refusal",
    cause: prose`The interface in the container's compartment is not there when its addresses are to be set.`,
    next: SEE_COMPARTMENTS,
    remedy: DELETE_POD,
    sources: SOURCES,
    isInferred: true,
  },
  GCN_E_DEFAULTNAMESPACE_EXISTS: {
    standing: "refusal",
    cause: prose`A guest has one default namespace, and a second one was asked for.`,
    next: ["hnsdiag list namespaces"],
    remedy: prose`Use the default namespace that there is; a namespace of another kind needs another type.`,
    sources: SOURCES,
  },
};
