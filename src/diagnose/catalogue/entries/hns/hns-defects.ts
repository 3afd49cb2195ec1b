/** Defects of HNS that users have met (`quirks.ts` lists them by name), and faults that somebody injects here. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference, thread } from "../entry-text.ts";

type HnsDefectCode =
  | "hns-fault-injected"
  | "hns-fault-invalid"
  | "hns-duplicate-local-address"
  | "hns-endpoint-attached-once"
  | "hns-networks-lost-at-reboot"
  | "hns-load-balancers-lost"
  | "hns-endpoints-lost"
  | "hns-service-hangs"
  | "hns-attach-fails"
  | "hns-stored-object-incompatible"
  | "hns-namespace-stuck"
  | "hns-address-refused"
  | "hns-switch-port-missing"
  | "hns-object-degraded"
  | "hns-nat-denies-outbound"
  | "hns-rules-differ";

const RESTART = prose`
  Restart HNS and then kube-proxy; pods whose endpoint is gone must be made again:

      Restart-Service hns
      Restart-Service kubeproxy`;

export const HNS_DEFECT_ENTRIES: EntryTable<HnsDefectCode> = {
  "hns-fault-injected": {
    title: "An injected fault, not HNS",
    cause: prose`
      Mullion's HNS fails, waits or forgets on demand, so that programs can be tested with it. The message names the
      fault; everything else about it is as Windows would answer.`,
    onNode: prose`
      Windows has no such thing. Here the faults in force are listed, with how often each one struck:

          mullion hns fault list`,
    remedy: prose`
      Take the fault away with mullion hns fault remove ID, or mullion hns fault clear.`,
    sources: [reference("users.md §2 row 8")],
    profiles: ALL,
  },

  "hns-fault-invalid": {
    title: "A fault to inject is not valid",
    cause: prose`
      A fault has an effect, and the fields of that effect; numbers have bounds. The message names the field and what it
      may hold. Nothing of a plan is in force when one of its faults is refused.`,
    onNode: prose`
      Nothing to see on a node: Windows has no such thing. The schema of plans is schemas/hns-fault-plan.v1alpha1.json.`,
    remedy: prose`
      Write the field as the message says. docs/reference/hns-faults.md lists all effects with examples.`,
    sources: [{ text: "docs/reference/hns-faults.md" }],
    profiles: ALL,
  },

  "hns-duplicate-local-address": {
    title: "Two local endpoints have the same address",
    cause: prose`
      HNS refuses a second local endpoint with an address of the network (0x80071392). Windows Server 2019 took it.
      Packets to the address then reach one of the two pods, and a proxy that looks endpoints up by address may take
      the wrong one.`,
    onNode: prose`
      An address that is there twice, without IsRemoteEndpoint:

          Get-HnsEndpoint | Group-Object IPAddress | Where-Object Count -gt 1`,
    remedy: prose`
      Remove the endpoint that no pod has, and find out why its address was given away twice: the state of the IPAM
      plugin was lost, or an endpoint was left behind.`,
    sources: [thread("kubernetes/kubernetes", 130963), reference("hcn.md §4.2")],
    profiles: ["ws2019"],
  },

  "hns-endpoint-attached-once": {
    title: "An endpoint that was attached before cannot be attached again",
    cause: prose`
      On Windows Server 2019 an endpoint, or a namespace with endpoints, serves one container: once it was detached, the
      next container that is to get it does not start, with "The requested operation for attach namespace failed"
      (0x803b002e). Later versions attach it again. Pools of prepared namespaces, as BuildKit keeps them, do not work
      there.`,
    onNode: prose`
      The error is in the container's start:

          ctr run --rm mcr.microsoft.com/windows/nanoserver:1809 test cmd
          Get-WinEvent -LogName Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20`,
    remedy: prose`
      Make a new endpoint and a new namespace for each container. BuildKit: --containerd-cni-pool-size=-1.`,
    sources: [thread("moby/buildkit", 5668), thread("moby/buildkit", 5686), reference("hcn.md §4.5")],
    profiles: ["ws2019"],
  },

  "hns-networks-lost-at-reboot": {
    title: "HNS networks are gone after the node was restarted",
    cause: prose`
      NAT networks and those with the flag EnableNonPersistent live until the machine restarts. Others should come back;
      before KB4482887 (17763.348) Windows Server 2019 lost them as well. Files of CNI plugins then name networks that are
      not there.`,
    onNode: prose`
      Compare with a node that works:

          Get-HnsNetwork | Select-Object Name, Type, ID, Flags`,
    remedy: prose`
      Let the CNI agent make the network again, or make it in a script at start. Install KB4482887 or any later update.`,
    sources: [
      thread("Azure/aks-engine", 168),
      thread("moby/moby", 38358),
      reference("hcn.md §4.6"),
      reference("users.md G9"),
    ],
    profiles: ["ws2019"],
  },

  "hns-load-balancers-lost": {
    title: "HNS restarted, and its load balancers are not those that kube-proxy thinks it has",
    cause: prose`
      HNS restarts two minutes after a crash. It was seen to come back without load balancers: of 577 one was left, and it
      took kube-proxy days to make them again, because it remembers what it has made and does not look. It was also seen
      to bring them back a moment later, while kube-proxy had made up its mind that they were gone: then its own attempt
      fails with "Cannot create a file when that file already exists" (0x800700b7).`,
    onNode: prose`
      The number of load balancers, minute by minute, and when the service started:

          (hnsdiag list loadbalancers | Measure-Object -Line).Lines
          Get-WinEvent -FilterHashtable @{LogName='System'; ProviderName='Service Control Manager'} |
            Where-Object Message -match 'Host Network Service'`,
    remedy: prose`
      Restart kube-proxy: at its start it removes what is there and makes everything. Kubernetes 1.37 treats an HNS that
      does not answer as away, and not as empty.`,
    sources: [
      thread("kubernetes/kubernetes", 110849),
      thread("kubernetes/kubernetes", 110674),
      thread("kubernetes/kubernetes", 139519),
      reference("hcn.md §4.6"),
      reference("users.md G1"),
    ],
    profiles: ALL,
  },

  "hns-endpoints-lost": {
    title: "HNS restarted, and endpoints of running containers are gone",
    cause: prose`
      After a restart of the service endpoints were missing whose containers continued running, with an address that no one
      delivers to any more. Policy agents look for the endpoint in vain.`,
    onNode: prose`
      Compare the endpoints with the pods of the node:

          hnsdiag list endpoints
          kubectl get pods -A -o wide --field-selector spec.nodeName=<node>`,
    remedy: prose`Delete the pods of the node, so that their endpoints are made again.`,
    sources: [thread("projectcalico/calico", 5164), reference("dataplane.md §9 (F-40)")],
    profiles: ["ws2022"],
  },

  "hns-service-hangs": {
    title: "HNS does not answer",
    cause: prose`
      The service has locked itself up: calls never return, and each leaves a thread behind. Microsoft's health checks
      take 100 or 200 threads for a sign of it. On Windows Server 2019 several load balancers for one endpoint could do
      it; an update of February 2021 has a switch that makes this an error instead.`,
    onNode: prose`
      The number of threads of the service:

          $id = (Get-CimInstance Win32_Service -Filter "Name='hns'").ProcessId
          (Get-Process -Id $id).Threads.Count`,
    remedy: RESTART,
    sources: [
      thread("Azure/aks-engine", 4315),
      thread("kubernetes-sigs/image-builder", 566),
      thread("microsoft/Windows-Containers", 278),
      reference("users.md §4"),
    ],
    profiles: ALL,
  },

  "hns-attach-fails": {
    title: "Attaching endpoints fails now and then when there are many at once",
    cause: prose`
      When several containers are connected at the same time, one of them may get "Element not found" (0x80070490)
      although its endpoint is there. The next attempt succeeds.`,
    onNode: prose`
      The pod's events have it once, and the pod starts later:

          kubectl describe pod <pod>`,
    remedy: prose`Try again; kubelet does so by itself. Start fewer pods at a time.`,
    sources: [
      thread("microsoft/hcsshim", 151),
      thread("kubernetes/kubernetes", 75421),
      reference("cni.md §11"),
    ],
    profiles: ALL,
  },

  "hns-stored-object-incompatible": {
    title: "An object was stored by another version of HNS: The wrong diskette is in the drive",
    cause: prose`
      After an update of Windows HNS reads objects that its predecessor stored. Where it cannot, attaching them fails with
      "The wrong diskette is in the drive" (0x80070022).`,
    onNode: prose`
      The version that wrote each object; that of HNS itself is in the first line:

          (Get-HnsNetwork)[0].Version -shr 32
          Get-HnsEndpoint | Select-Object Name, ID, Version`,
    remedy: prose`
      Delete the object and let its owner make it again; if nothing helps, stop HNS, remove
      C:\ProgramData\Microsoft\Windows\HNS\HNS.data and restart the node.`,
    sources: [
      thread("flannel-io/flannel", 1112),
      thread("flannel-io/flannel", 1423),
      reference("hcn.md §4.4"),
    ],
    profiles: ALL,
  },

  "hns-namespace-stuck": {
    title: "A namespace cannot be deleted and stays behind",
    cause: prose`
      A namespace with containers is not deleted (0x803b0015). One whose container is gone for containerd and not for HNS
      stays, in State 4, and with it the sandbox of the pod, which is Terminating forever.`,
    onNode: prose`
      Namespaces with their state and what is in them:

          hnsdiag list namespaces -d`,
    remedy: prose`
      End the container that is left (hcsdiag list, hcsdiag kill <id>), then delete the namespace; else restart the node.`,
    sources: [
      thread("microsoft/Windows-Containers", 485),
      thread("microsoft/hcsshim", 2155),
      reference("hcn.md §4.5"),
    ],
    profiles: ALL,
  },

  "hns-address-refused": {
    title: "HNS refuses an address that is free (0x803b002f)",
    cause: prose`
      On version 2004 creating the endpoint for kube-proxy's source address failed with "An address provided is invalid or
      reserved", and no Service was programmed. On other versions the same error is right: the address is the gateway,
      the first or the last of the subnet, or is outside it.`,
    onNode: prose`
      kube-proxy's log has the error. The subnets of the network:

          Get-HnsNetwork | ForEach-Object { $_.Subnets }`,
    remedy: prose`
      Take a source address that is in the network's subnet and nothing has (--source-vip), or another version of
      Windows.`,
    sources: [thread("kubernetes/kubernetes", 100962), reference("dataplane.md §9 (F-48)")],
    profiles: ["2004"],
  },

  "hns-switch-port-missing": {
    title: "HNS refuses a load balancer because the switch port of a back end is missing (0x803b0007)",
    cause: prose`
      A load balancer is programmed into ports of the switch. If the port of a back end is gone, because its pod is being
      taken down, HNS refuses the load balancer as a whole. It was seen for back ends that were there, too; then DNS
      failed for all pods of a node.`,
    onNode: prose`
      kube-proxy's log has "The switch-port was not found". The ports of the switch:

          vfpctrl /list-vmswitch-port`,
    remedy: prose`Restart kube-proxy. If it comes back, restart HNS before it.`,
    sources: [thread("microsoft/hcsshim", 1043), reference("hcn.md §4.7")],
    profiles: ALL,
  },

  "hns-object-degraded": {
    title: "An object of HNS is degraded",
    cause: prose`
      State 5 of an endpoint and State 4 of a load balancer mean that HNS could not do all that the object asks for: a back
      end is gone, or a port could not be programmed. Further requests for it may fail with 0x803b0017, and such a load
      balancer may resist its deletion.`,
    onNode: prose`
      States of endpoints and load balancers:

          Get-HnsEndpoint | Select-Object Name, State
          Get-HnsPolicyList | Select-Object ID, State, References`,
    remedy: RESTART,
    sources: [
      thread("projectcalico/felix", 2893),
      { text: "microsoft/wcnscripts: findDegradedPolicies", url: "https://github.com/microsoft/wcnscripts" },
      reference("hcn.md §2.10, §4.5"),
    ],
    profiles: ALL,
  },

  "hns-nat-denies-outbound": {
    title: "Containers on NAT networks of Windows Server 2019 may open no connections by default",
    cause: prose`
      By documentation everything that a container sends is allowed unless an ACL denies it. On NAT networks of Windows
      Server 2019 it was the other way round, and some rely on it; from 2022 on it is as documented.`,
    onNode: prose`
      The ACLs of the container's endpoint:

          Get-HnsEndpoint | Where-Object VirtualNetworkName -eq nat | ForEach-Object { $_.Policies }`,
    remedy: prose`Add ACLs for what is to be allowed, and from 2022 on for what is to be denied.`,
    sources: [thread("microsoft/Windows-Containers", 617), reference("hcn.md §3.5")],
    profiles: ["ws2019"],
  },

  "hns-rules-differ": {
    title: "The rules in VFP are not those that HNS shows",
    cause: prose`
      HNS keeps objects and programs rules from them. Users have met nodes on which the two differ: rules of a load balancer
      that was deleted, rules that stand there twice, rules that are missing on the port of one pod, policies that are
      taken and not applied. What HNS shows is then no explanation of what packets do.`,
    onNode: prose`
      The objects, and the rules of the port in question:

          hnsdiag list all -d
          vfpctrl /port <port> /list-rule`,
    remedy: RESTART,
    sources: [
      thread("kubernetes/kubernetes", 113524),
      thread("projectcalico/calico", 12862),
      { text: "microsoft/wcnscripts", url: "https://github.com/microsoft/wcnscripts" },
      reference("dataplane.md §9"),
      reference("users.md §4"),
    ],
    profiles: ALL,
  },
};
