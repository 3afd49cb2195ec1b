/** The Host Compute Service: containers that do not start, seen from the network. */
import { prose } from "../../prose.ts";
import { HCS_HRESULTS, reference, thread } from "../error-sources.ts";
import type { HcnExplanations } from "../hcn-explanation.ts";
import type { PrintedErrors } from "../known-error.ts";

type HcsCode =
  | "HCS_E_SYSTEM_ALREADY_EXISTS"
  | "HCS_E_SYSTEM_INVALID_CONFIGURATION"
  | "HCS_E_SYSTEM_NOT_FOUND";

const LIST = ["hcsdiag list", "crictl ps -a"];

/** Those that HNS's own table holds. */
export const HCS_HNS_ERRORS: HcnExplanations<HcsCode> = {
  HCS_E_SYSTEM_INVALID_CONFIGURATION: {
    standing: "root",
    moreHresults: [0xc037010d],
    moreNames: ["HCS_E_INVALID_JSON"],
    cause: prose`
      HCS does not accept the description of the container, or a part of it is unknown to this build. With an attached
      network it may be the endpoint's part.`,
    next: [...LIST, "[System.Environment]::OSVersion.Version"],
    remedy: prose`Match containerd and hcsshim to the build of Windows.`,
    sources: [HCS_HRESULTS, reference("hcn.md §6.2")],
  },
  HCS_E_SYSTEM_ALREADY_EXISTS: {
    standing: "refusal",
    moreHresults: [0xc037010f],
    cause: prose`A container of that id is there: an earlier start failed half-way and was not cleaned up.`,
    next: LIST,
    remedy: prose`hcsdiag kill <id>, then let the kubelet try again.`,
    sources: [HCS_HRESULTS],
  },
  HCS_E_SYSTEM_NOT_FOUND: {
    standing: "refusal",
    moreHresults: [0x8037010e],
    cause: prose`The container is gone: it ended, or was removed, while its network was set up or taken down.`,
    next: LIST,
    remedy: prose`In a DEL nothing. In an ADD look for why the container ended.`,
    sources: [HCS_HRESULTS, reference("hcn.md §6.2")],
  },
};

/** Both forms in which the number of an HCS error is printed. */
function both(code: number): readonly number[] {
  return [(0x80370000 | code) >>> 0, (0xc0370000 | code) >>> 0];
}

export const HCS_ERRORS: PrintedErrors = {
  "hcs-e-terminated-during-start": {
    standing: "root",
    hresults: both(0x100),
    names: ["HCS_E_TERMINATED_DURING_START"],
    texts: ["The virtual machine or container exited unexpectedly while starting"],
    cause: prose`The container ended before it was up: image and host do not fit, or memory is short.`,
    next: [...LIST, "Get-Counter '\\Memory\\Available MBytes'"],
    remedy: prose`Use an image of the node's build; raise the memory limit.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-image-mismatch": {
    standing: "root",
    hresults: both(0x101),
    names: ["HCS_E_IMAGE_MISMATCH"],
    texts: ["The container operating system does not match the host operating system"],
    cause: prose`With process isolation the image's build of Windows must be the node's. The network is not at fault.`,
    next: ["[System.Environment]::OSVersion.Version", "crictl inspecti <image>"],
    remedy: prose`
      Take the image tag of the node's build, for example ltsc2022, and select nodes by
      node.kubernetes.io/windows-build.`,
    related: "pod-os-mismatch",
    sources: [HCS_HRESULTS],
  },
  "hcs-e-hyperv-not-installed": {
    standing: "root",
    hresults: both(0x102),
    names: ["HCS_E_HYPERV_NOT_INSTALLED"],
    texts: ["The virtual machine could not be started because a required feature is not installed"],
    cause: prose`A Hyper-V container is asked for, and Hyper-V is not installed, or the machine is a virtual one without nesting.`,
    next: ["Get-WindowsFeature Hyper-V, Containers"],
    remedy: prose`Use process isolation, or install Hyper-V.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-invalid-state": {
    standing: "refusal",
    hresults: both(0x105),
    names: ["HCS_E_INVALID_STATE"],
    texts: ["The requested virtual machine or container operation is not valid in the current state"],
    cause: prose`The container is not in the state that the call needs: paused, ended, or still starting.`,
    next: LIST,
    remedy: prose`Nothing on its own; look for the first fault of the same container.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-unexpected-exit": {
    standing: "wrapper",
    hresults: both(0x106),
    names: ["HCS_E_UNEXPECTED_EXIT"],
    texts: ["The virtual machine or container exited unexpectedly"],
    cause: prose`The container ended by itself.`,
    next: ["crictl logs <container>", ...LIST],
    remedy: prose`Read the container's own log.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-terminated": {
    standing: "wrapper",
    hresults: both(0x107),
    names: ["HCS_E_TERMINATED"],
    texts: ["The virtual machine or container was forcefully exited"],
    cause: prose`The container was killed: the kubelet after its grace period, or an administrator.`,
    next: ["kubectl describe pod <pod>"],
    remedy: prose`Nothing, when the pod was to end.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-connect-failed": {
    standing: "refusal",
    hresults: both(0x108),
    names: ["HCS_E_CONNECT_FAILED"],
    texts: ["A connection could not be established with the container or virtual machine"],
    cause: prose`HCS does not reach its counterpart in the container. Seen on nodes that are short of memory or processor.`,
    next: [...LIST, "Get-Counter '\\Memory\\Available MBytes'"],
    remedy: prose`Fewer pods at once on the node; update Windows.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-connection-timeout": {
    standing: "refusal",
    hresults: both(0x109),
    names: ["HCS_E_CONNECTION_TIMEOUT"],
    texts: [
      "The operation timed out because a response was not received from the virtual machine or container",
    ],
    cause: prose`The container did not answer in time, mostly since the node is overloaded while many pods start.`,
    next: ["Get-Counter '\\Processor(_Total)\\% Processor Time'", ...LIST],
    remedy: prose`Fewer pods at once; more processors and memory for the node.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-connection-closed": {
    standing: "wrapper",
    hresults: both(0x10a),
    names: ["HCS_E_CONNECTION_CLOSED"],
    texts: ["The connection with the virtual machine or container was closed"],
    cause: prose`The container, or the service in it, ended during a call.`,
    next: LIST,
    remedy: prose`Look for the first fault of the same container.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-unknown-message": {
    standing: "root",
    hresults: both(0x10b),
    names: ["HCS_E_UNKNOWN_MESSAGE"],
    texts: ["An unknown internal message was received by the virtual machine or container"],
    cause: prose`Container and host speak different versions: the image is of another build.`,
    next: ["crictl inspecti <image>", "[System.Environment]::OSVersion.Version"],
    remedy: prose`Use an image of the node's build.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-system-already-stopped": {
    standing: "wrapper",
    hresults: both(0x110),
    names: ["HCS_E_SYSTEM_ALREADY_STOPPED"],
    texts: ["The virtual machine or container with the specified identifier is not running"],
    cause: prose`The container has ended already. When taking down it is harmless.`,
    next: LIST,
    remedy: prose`Nothing, when the pod was to end.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-e-service-not-available": {
    standing: "root",
    hresults: both(0x114),
    names: ["HCS_E_SERVICE_NOT_AVAILABLE"],
    texts: ["The operation could not be started because a required feature is not installed"],
    cause: prose`The Windows feature that runs containers is missing or switched off.`,
    next: ["Get-WindowsFeature Containers, Hyper-V", "Get-Service vmcompute"],
    remedy: prose`Install the feature Containers and restart the node.`,
    sources: [HCS_HRESULTS],
  },
  "hcs-network-attach-failed": {
    standing: "wrapper",
    texts: ["hcsshim::CreateComputeSystem", "hcs::CreateComputeSystem"],
    cause: prose`
      A container could not be made. What follows on the same line is the reason; a text about "attach namespace" or an
      endpoint says that it is its network.`,
    next: ["crictl inspectp <sandbox>", "Get-HnsEndpoint | Select-Object ID, IPAddress, State"],
    remedy: prose`Act on the reason behind it.`,
    sources: [thread("containerd/containerd", 5729), reference("cni.md §9 A")],
  },
  "hcs-lost-communication": {
    standing: "root",
    texts: ["lost communication with compute service"],
    cause: prose`The Host Compute Service (vmcompute) ended or was restarted.`,
    next: [
      "Get-Service vmcompute",
      "Get-WinEvent System -MaxEvents 100 | Where-Object ProviderName -eq 'Service Control Manager'",
    ],
    remedy: prose`Start it; pods of the node are made again.`,
    sources: [HCS_HRESULTS],
  },
};
