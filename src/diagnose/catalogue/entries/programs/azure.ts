/** What azure-vnet, its IPAM plugin and CNS refuse. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference, thread } from "../entry-text.ts";

type AzureCode =
  | "cni-azure-mode-missing"
  | "azure-cns-down"
  | "azure-cns-refused"
  | "azure-cns-answer-wrong"
  | "azure-cns-pool-exhausted"
  | "azure-state-unreadable"
  | "azure-wire-server-unreachable";

const UPSTREAM = {
  text: "Azure/azure-container-networking",
  url: "https://github.com/Azure/azure-container-networking",
};

export const AZURE_ENTRIES: EntryTable<AzureCode> = {
  "cni-azure-mode-missing": {
    title: "The azure-vnet of this project has no such mode",
    cause: prose`
      Azure's azure-vnet can leave everything to an agent of bare-metal machines ("executionMode": "baremetal"), which it
      calls over gRPC. Mullion's azure-vnet has no such agent. It refuses the configuration before it changes anything.`,
    onNode: prose`
      The configuration that the plugin was called with:

          Get-Content C:\\k\\azurecni\\netconf\\*.conflist`,
    remedy: prose`
      Leave the mode out, or write "v4swift" with addresses of CNS:

          "executionMode": "v4swift", "ipam": {"type": "azure-cns"}`,
    sources: [UPSTREAM, reference("cni.md §5.1")],
    profiles: ALL,
  },

  "azure-cns-down": {
    title: "CNS of the node does not answer",
    cause: prose`
      With "ipam": {"type": "azure-cns"} and with "multiTenancy" the addresses of pods come from CNS, a program on every
      node, over HTTP on the node's loopback. Nothing listens there, or no answer came in 15 seconds. A pod that is made fails
      and is tried again. One that is taken away leaves a file for CNS in \var\run\azure-vnet\deleteIDs, so its address comes
      back later; with "disableAsyncDelete" the DEL fails instead.`,
    onNode: prose`
      Whether it runs and listens, and what waits for it:

          kubectl -n kube-system get pods -o wide -l k8s-app=azure-cns-win
          Test-NetConnection 127.0.0.1 -Port 10090
          Get-ChildItem C:\\var\\run\\azure-vnet\\deleteIDs`,
    remedy: prose`
      Restart the pod of CNS. When it listens elsewhere, say where: "cnsurl": "http://127.0.0.1:10090".`,
    sources: [UPSTREAM, reference("cni.md §5.7")],
    profiles: ALL,
  },

  "azure-cns-refused": {
    title: "CNS answered that it cannot do this",
    cause: prose`
      CNS is there and says no: it does not know the container, the request lacks something, its own state cannot be written,
      or it fails inside (another HTTP status than 200). Its message is in the error.`,
    onNode: prose`
      The log of CNS on that node:

          kubectl -n kube-system logs <azure-cns-win pod> | Select-String returnCode`,
    remedy: prose`
      What CNS says decides. A request that names a pod which CNS has not heard of yet succeeds a moment later: the runtime
      tries again.`,
    sources: [UPSTREAM, thread("Azure/azure-container-networking", 4497), reference("cni.md §5.7")],
    profiles: ALL,
  },

  "azure-cns-answer-wrong": {
    title: "The answer of CNS is not usable for the pod",
    cause: prose`
      The answer is not JSON, or it holds something that no pod can have: an invalid address, no gateway outside of
      overlays, no interface or two with default routes, an invalid subnet of the host. Most often something else
      listens at the place of CNS, or CNS and azure-vnet are of versions that do not fit.`,
    onNode: prose`
      Ask CNS what it holds:

          $body = '{"IPConfigStateFilter":["Assigned","Available"]}'
          Invoke-RestMethod http://localhost:10090/debug/ipaddresses -Method Post -Body $body`,
    remedy: prose`
      Check "cnsurl", and that the versions of CNS and azure-vnet are from one release. With pod CIDRs write
      "ipam": {"type": "azure-cns", "mode": "overlay"}: only then may the gateway be absent.`,
    sources: [UPSTREAM, thread("Azure/azure-container-networking", 1849), reference("cni.md §5.7")],
    profiles: ALL,
  },

  "azure-cns-pool-exhausted": {
    title: "CNS has no free address for the pod",
    cause: prose`
      Every address of the node has an owner. CNS asks Azure for more in batches, so this comes and goes when many pods start
      at once; it stays when the subnet or the pod CIDR is used up, or when addresses of pods that are gone were never given
      back.`,
    onNode: prose`
      What the node has and what it asked for:

          kubectl get nodenetworkconfig -A
          kubectl get pods -A -o wide --field-selector spec.nodeName=<node>`,
    remedy: prose`
      Wait a minute. When it stays: enlarge the subnet of the pods, lower max-pods, or restart CNS, which compares its
      addresses with the pods of the node.`,
    sources: [UPSTREAM, thread("Azure/azure-container-networking", 4497), reference("cni.md §5.7")],
    profiles: ALL,
  },

  "azure-state-unreadable": {
    title: "The state file of azure-vnet cannot be read",
    cause: prose`
      azure-vnet keeps networks and endpoints in azure-vnet.json. The file is not JSON any more, holds something else, or the
      user of the plugin may not read it. An empty file counts as no state.`,
    onNode: prose`
      The file, and what HNS has:

          Get-Content C:\\k\\azure-vnet.json
          Get-HnsNetwork | ? Name -eq azure; Get-HnsEndpoint | ft Name, IPAddress`,
    remedy: prose`
      Drain the node, remove azure-vnet.json, azure-vnet-ipam.json and the network azure of HNS, and restart the node. When
      only the rights are wrong, put them right: nothing was changed.`,
    sources: [UPSTREAM, thread("Azure/azure-container-networking", 2817), reference("cni.md §5.8")],
    profiles: ALL,
  },

  "azure-wire-server-unreachable": {
    title: "Azure's wire server does not answer",
    cause: prose`
      With "multiTenancy" azure-vnet asks the node's agent at 168.63.129.16 which calls it knows; from that follows whether
      pods need source NAT on the host. No answer came, or none with status 200.`,
    onNode: prose`
      The same question by hand:

          Invoke-WebRequest "http://168.63.129.16/machine/plugins/?comp=nmagent&type=GetSupportedApis"`,
    remedy: prose`
      The address exists on machines of Azure alone, and a firewall on the node must let it through. In a test setup write
      "env": "test": then 127.0.0.1:11281 is asked.`,
    sources: [UPSTREAM, reference("cni.md §5.1, §5.7")],
    profiles: ALL,
  },
};
