/** PowerShell's network modules, netsh, docker, and the event log. */
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

export const POWERSHELL_ERRORS: PrintedErrors = {
  "hns-crashed": {
    standing: "root",
    texts: [
      "The Host Network Service terminated unexpectedly",
      "The Host Network Service service terminated unexpectedly",
      "Host Networking Service exits unexpectedly",
    ],
    cause: prose`
      HNS died. When it comes back it may have lost load balancers, or bring them back while kube-proxy makes them again;
      kube-proxy does not look for what vanished.`,
    next: [
      "Get-WinEvent System -MaxEvents 200 | Where-Object Message -match 'Host Network Service'",
      "hnsdiag list loadbalancers",
    ],
    remedy: prose`Restart kube-proxy; with Calico make the pods again. Update Windows when it repeats.`,
    related: "hns-unreachable",
    sources: [reference("users.md G1, G10, §4")],
  },
  "get-hns-command-missing": {
    standing: "root",
    texts: [
      "The term 'Get-HnsNetwork' is not recognized",
      "The term 'Get-HnsEndpoint' is not recognized",
      "The term 'New-HnsNetwork' is not recognized",
      "The term 'Get-HnsPolicyList' is not recognized",
      "The term 'Invoke-HnsRequest' is not recognized",
    ],
    cause: prose`The commands of HNS come with the module HostNetworkingService, or with the script hns.psm1; neither is loaded. Only the former is part of Windows.`,
    next: ["Get-Module -ListAvailable HostNetworkingService, HNS"],
    remedy: prose`Install the feature Containers, or load hns.v2.psm1 of microsoft/SDN. hnsdiag is there without either.`,
    sources: [reference("users.md §4")],
  },
  "hnsdiag-missing": {
    standing: "root",
    texts: [
      "The term 'hnsdiag' is not recognized",
      "'hnsdiag' is not recognized as an internal or external command",
    ],
    cause: prose`hnsdiag.exe comes with the feature Containers.`,
    next: ["Get-WindowsFeature Containers"],
    remedy: prose`Install the feature and restart the node.`,
    sources: [reference("users.md §4")],
  },
  "net-adapter-not-found": {
    standing: "root",
    texts: [
      "No MSFT_NetAdapter objects found with property",
      "No matching MSFT_NetIPAddress objects found by CIM query",
      "No matching MSFT_NetRoute objects found by CIM query",
      "No MSFT_NetIPInterface objects found with property",
    ],
    cause: prose`A script looks for an adapter, address or route that the node does not have under that name: "Ethernet" where the card is called otherwise, or "vEthernet (Ethernet)" where no switch was made.`,
    next: ["Get-NetAdapter | Select-Object Name, InterfaceDescription, Status"],
    remedy: prose`Pass the adapter's name to the script (-InterfaceName).`,
    sources: [reference("users.md G11; windows-networking-documentation.md §9.9")],
  },
  "nat-exists": {
    standing: "wrapper",
    texts: ["Error creating default network"],
    cause: prose`docker makes its NAT network at its start, and HNS refused. A host has one WinNAT; an earlier docker, containerd or script left one. The code behind it explains it.`,
    next: ["Get-NetNat", "Get-HnsNetwork | Select-Object Name, Type"],
    remedy: prose`Get-NetNat | Remove-NetNat, remove the stray NAT network, then start again.`,
    sources: [thread("docker/for-win", 598), reference("users.md G23")],
  },
  "hns-failed": {
    standing: "wrapper",
    texts: ["hns failed with error", "failed during hnsCallRawResponse"],
    cause: prose`The words of the Go library for a refused call through the old interface of HNS; the reason follows.`,
    next: [
      "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
    ],
    remedy: prose`Act on the reason behind it.`,
    sources: [reference("hcn.md §1.7, §6.3")],
  },
  "excluded-port-range": {
    standing: "root",
    texts: ["Running out of ephemeral ports"],
    cause: prose`The collection script could not reserve ten blocks of 64 ports: the node's dynamic range is nearly used up by load balancers without DSR.`,
    next: ["netsh int ipv4 show excludedportrange tcp", "netsh int ipv4 show dynamicportrange tcp"],
    remedy: prose`Switch DSR on in kube-proxy, or widen the dynamic range.`,
    related: "nat-port-pool-exhausted",
    sources: [reference("users.md §4; kube-proxy.md §3.13")],
  },
  "ping-general-failure": {
    standing: "root",
    texts: ["PING: transmit failed. General failure", "General failure."],
    cause: prose`Windows could not even send: the adapter is down, has no address, the update KB5040437 refuses sockets, or a policy blocks.`,
    next: ["ipconfig /all", "Get-HotFix | Select-Object -Last 5"],
    remedy: prose`With KB5040437 (20348.2582) install KB5044281 or later.`,
    sources: [thread("microsoft/Windows-Containers", 516), reference("users.md G19")],
  },
  "hns-service-not-found": {
    standing: "root",
    texts: [
      "Cannot find any service with service name 'hns'",
      "Cannot find any service with service name 'vmcompute'",
    ],
    cause: prose`HNS or HCS is not installed; both come with the feature Containers.`,
    next: ["Get-WindowsFeature Containers"],
    remedy: prose`Install-WindowsFeature Containers, then restart the node.`,
    related: "hns-unreachable",
    sources: [reference("hcn.md §6.2")],
  },
};
