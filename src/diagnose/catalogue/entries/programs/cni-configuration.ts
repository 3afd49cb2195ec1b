/** What is wrong with CNI configurations: files, names, plugins, capabilities, name servers, host ports. */
import { prose } from "../../prose.ts";
import {
  ALL,
  CNI_SPEC,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  WIN_BRIDGE_PAGE,
  reference,
  thread,
} from "../entry-text.ts";

type CniConfigurationCode =
  | "cni-conf-folder-order"
  | "cni-file-ending-mismatch"
  | "cni-name-invalid"
  | "cni-version-not-supported"
  | "cni-plugin-name-outdated"
  | "cni-linux-plugin-on-windows"
  | "cni-capability-unknown"
  | "cni-field-ignored"
  | "cni-endpoint-mac-prefix-invalid"
  | "cni-dns-missing"
  | "cni-dns-capability-missing"
  | "cni-dns-invalid"
  | "cni-port-mappings-ignored"
  | "cni-port-mappings-missing"
  | "cni-flannel-field-misplaced"
  | "cni-flannel-delegate-field-forbidden"
  | "cni-network-name-mismatch";

const WCN = {
  text: "microsoft/windows-container-networking",
  url: "https://github.com/microsoft/windows-container-networking",
};
const FLANNEL_PLUGIN = {
  text: "flannel-io/cni-plugin",
  url: "https://github.com/flannel-io/cni-plugin",
};
const CNI_CONVENTIONS = {
  text: "CNI conventions: capabilities",
  url: "https://www.cni.dev/docs/conventions/",
};
const WIN_OVERLAY_PAGE = {
  text: "CNI plugins: win-overlay",
  url: "https://www.cni.dev/plugins/current/main/win-overlay/",
};

/** How a pod shows that the configuration was refused. */
const POD_EVENTS = prose`
  The pod stays in ContainerCreating, and its events have the plugin's words:

      kubectl describe pod <pod>`;

export const CNI_CONFIGURATION_ENTRIES: EntryTable<CniConfigurationCode> = {
  "cni-conf-folder-order": {
    title: "Another file of the CNI folder is read instead of this one",
    cause: prose`
      containerd reads one file of its folder of CNI configurations, the first by name, and overlooks the others
      silently. An installer that leaves 0-containerd-nat.conf behind wins over 10-flannel.conf: pods get
      addresses of the network nat, or fail with "The object already exists".`,
    onNode: prose`
      The first of this list is the one that counts; endpoints on the wrong network end in its name:

          Get-ChildItem 'C:\Program Files\containerd\cni\conf' | Sort-Object Name
          Get-HnsEndpoint | Select-Object Name, VirtualNetworkName, IPAddress`,
    remedy: prose`
      Remove the files that are not meant, restart containerd, and delete the pods that got a wrong address.`,
    sources: [
      thread("kubernetes-sigs/sig-windows-tools", 245),
      thread("kubernetes-sigs/sig-windows-tools", 215),
      reference("cni.md, fact 10"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-file-ending-mismatch": {
    title: "The file's extension does not match its content",
    cause: prose`
      Runtimes go by the ending: a .conflist holds a list, with "plugins"; a .conf holds one plugin, with "type".
      In a file with the wrong ending the runtime finds no type, or no plugins, and refuses it.`,
    onNode: prose`
      containerd keeps saying that the network is not ready:

          crictl info
          Get-Content C:\containerd\containerd.log | Select-String 'cni config load failed'`,
    remedy: prose`
      Rename the file, or put a single plugin into a list.`,
    sources: [CNI_SPEC, reference("cni.md §1.1")],
    profiles: ALL,
    severity: "error",
  },

  "cni-name-invalid": {
    title: "The network of a CNI configuration has no name, or one that CNI refuses",
    cause: prose`
      Every configuration needs a name of letters, digits, underscores, dots and hyphens that begins with a letter
      or digit. It becomes part of file names. For the Windows plugins it is also the name of the HNS network.`,
    onNode: prose`
      The names that HNS knows, to compare:

          Get-HnsNetwork | Select-Object Name, Type
          kubectl describe pod <pod>`,
    remedy: prose`
      Give it the exact name of the HNS network on which the pods are to be.`,
    sources: [CNI_SPEC, reference("cni.md §1.1, §1.3")],
    profiles: ALL,
    severity: "error",
  },

  "cni-version-not-supported": {
    title: "The plugin does not know the cniVersion of its configuration",
    cause: prose`
      A plugin has a list of versions and compares the text of cniVersion with it; there are no ranges. The plugins
      nat, sdnbridge and sdnoverlay know 0.2.0, 0.3.0, 0.4.0 and 1.0.0, azure-vnet knows no 1.1.0. A configuration
      without the field counts as 0.1.0. Anything else ends in "incompatible CNI versions".`,
    onNode: prose`
      Asks the program itself:

          $env:CNI_COMMAND = 'VERSION'; '{}' | & 'C:\opt\cni\bin\sdnbridge.exe'
          kubectl describe pod <pod>`,
    remedy: prose`
      Write a version that all plugins of the file know; 1.0.0 is known by all that are current.`,
    sources: [CNI_SPEC, WCN, reference("cni.md §1.4")],
    profiles: ALL,
    severity: "error",
  },

  "cni-plugin-name-outdated": {
    title: "No current CNI plugin has this name",
    cause: prose`
      Old guides and example files name programs that are no longer built: wincni.exe is from the days of Docker, and
      l2bridge and l2tunnel were types of a program that is called sdnbridge today.`,
    onNode: prose`
      The type is the name of a program in the folder of binaries:

          Get-ChildItem C:\opt\cni\bin, 'C:\Program Files\containerd\cni\bin' -ErrorAction Ignore`,
    remedy: prose`
      Use win-bridge or sdnbridge for an L2Bridge network, win-overlay or sdnoverlay for an overlay, azure-vnet in
      Azure, and write the policies as that program reads them.`,
    sources: [WCN, WIN_BRIDGE_PAGE, reference("cni.md §2.4, §2.5")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-linux-plugin-on-windows": {
    title: "A plugin that exists for Linux only is in a list for Windows",
    cause: prose`
      Most reference plugins work on Linux interfaces and are not built for Windows: portmap, bandwidth, bridge,
      firewall and others. The runtime calls every plugin of the list, does not find this one, and the pod fails
      although the plugin before it did its work.`,
    onNode: prose`
      The events say "failed to find plugin":

          kubectl describe pod <pod>
          Get-ChildItem C:\opt\cni\bin`,
    remedy: prose`
      Remove it from the Windows nodes' list. Host ports are mapped by the Windows plugins themselves when they
      declare the capability portMappings.`,
    sources: [
      CNI_SPEC,
      { text: "CNI plugins: releases", url: "https://github.com/containernetworking/plugins/releases" },
      reference("cni.md §1.9"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "cni-capability-unknown": {
    title: "A capability has a name that no runtime knows",
    cause: prose`
      With "capabilities" a plugin says what the runtime may pass it: portMappings, dns, bandwidth and so on. Names
      are compared exactly, and an unknown one is skipped silently. Example files of Microsoft's plugins say
      "dnsCapabilities"; the runtime then never passes the pod's name servers.`,
    onNode: prose`
      In the pod the suffix and servers are those of the file, or none:

          kubectl exec <pod> -- ipconfig /all`,
    remedy: prose`
      Write the name as CNI has it: "capabilities": {"portMappings": true, "dns": true}.`,
    sources: [CNI_CONVENTIONS, WCN, thread("containernetworking/plugins", 229), reference("cni.md §1.9")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-field-ignored": {
    title: "The plugin does not read this field",
    cause: prose`
      The plugins for Windows come from several houses and have other names for the same thing: win-bridge and
      win-overlay take policies from "policies", Microsoft's and Azure's from "AdditionalArgs"; flags of one are
      unknown to the other. What a plugin does not know it skips, and says nothing.`,
    onNode: prose`
      What arrived in HNS; a policy that is missing here was not read:

          Get-HnsEndpoint | ConvertTo-Json -Depth 9 | Select-String Type`,
    remedy: prose`
      Write the field that this plugin reads; the message names it.`,
    sources: [
      WIN_BRIDGE_PAGE,
      WCN,
      thread("kubernetes/kubernetes", 65016),
      reference("cni.md §2.1, §2.2, §2.4"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-endpoint-mac-prefix-invalid": {
    title: "endpointMacPrefix is not two bytes with a hyphen",
    cause: prose`
      win-overlay makes each pod's MAC address from this prefix and the four bytes of its address. It wants five
      characters with a hyphen in the middle, for example 0E-2A; other values end every ADD, or are refused by HNS.
      The value has to agree with MacPrefix of flannel's net-conf.`,
    onNode: prose`
      MAC addresses of the pods on the node, and the events of one that failed:

          Get-HnsEndpoint | Select-Object IPAddress, MacAddress
          kubectl describe pod <pod>`,
    remedy: prose`
      Write "0E-2A", or leave the field out: that is the default on both sides.`,
    sources: [WIN_OVERLAY_PAGE, reference("cni.md §2.3, row B4")],
    profiles: ALL,
    severity: "error",
  },

  "cni-dns-missing": {
    title: "Pods on this network get no name server",
    cause: prose`
      A pod on Windows has the name servers that the CNI plugin writes into its endpoint. The plugin has them from
      the field "dns", or from the runtime when the capability dns is declared. Here neither is the case, so names
      do not resolve in any pod.`,
    onNode: prose`
      No server is listed:

          kubectl exec <pod> -- ipconfig /all
          Get-HnsEndpoint | Select-Object IPAddress, DNSServerList, DNSSuffix`,
    remedy: prose`
      Declare the capability, so that each pod gets what its dnsPolicy asks for:

          "capabilities": {"dns": true}`,
    sources: [CNI_CONVENTIONS, KUBERNETES_ON_WINDOWS, reference("cni.md §2.9, §9.H")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-dns-capability-missing": {
    title: "All pods get the same name servers and suffixes",
    cause: prose`
      Without the capability dns the runtime does not pass the name servers and suffixes of the pod, and the plugin
      takes those of its file for all pods. A suffix such as svc.cluster.local completes no name of the pod's own
      namespace, and dnsPolicy and dnsConfig have no effect.`,
    onNode: prose`
      The suffix is the same in every namespace:

          kubectl exec <pod> -- ipconfig /all`,
    remedy: prose`
      Declare the capability at the plugin that the runtime calls; for flannel that is flannel itself:

          "capabilities": {"dns": true}`,
    sources: [
      CNI_CONVENTIONS,
      thread("kubernetes-sigs/sig-windows-tools", 20),
      thread("containernetworking/plugins", 229),
      reference("cni.md §2.9, §9.H"),
    ],
    profiles: ALL,
    severity: "info",
  },

  "cni-dns-invalid": {
    title: "The field dns of a CNI configuration is not valid",
    cause: prose`
      "dns" has nameservers, domain, search and options. The names that runtimes use when they pass a pod's settings
      (servers, searches) are not read there, and a name server is an address, never a name: a pod would need a name
      server to find it.`,
    onNode: prose`
      What HNS got:

          Get-HnsEndpoint | Select-Object IPAddress, DNSServerList, DNSSuffix`,
    remedy: prose`
      Write "dns": {"nameservers": ["10.96.0.10"], "search": ["svc.cluster.local"]} with your cluster's values.`,
    sources: [CNI_SPEC, reference("cni.md §1.2, §1.9")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-port-mappings-ignored": {
    title: "win-overlay maps no host ports",
    cause: prose`
      The capability portMappings makes the runtime pass the host ports of a pod. win-overlay takes them and does
      nothing with them: a hostPort on such a network has no effect, and no error reports it.`,
    onNode: prose`
      No endpoint has a policy of type NAT or PortMapping:

          Get-HnsEndpoint | ConvertTo-Json -Depth 9 | Select-String 'ExternalPort'`,
    remedy: prose`
      Use a Service of type NodePort instead of the hostPort.`,
    sources: [
      thread("containernetworking/plugins", 530),
      thread("kubernetes/kubernetes", 90116),
      reference("cni.md, fact 6"),
    ],
    profiles: ALL,
    severity: "info",
  },

  "cni-port-mappings-missing": {
    title: "A pod asks for a host port, and the CNI configuration does not declare portMappings",
    cause: prose`
      The runtime passes host ports only to plugins that declare the capability portMappings. Without it the hostPort
      of a pod has no effect, and no error reports it.`,
    onNode: prose`
      No endpoint has a policy of type NAT or PortMapping:

          Get-HnsEndpoint | ConvertTo-Json -Depth 9 | Select-String 'ExternalPort'`,
    remedy: prose`
      Declare it at the plugin that the runtime calls; for flannel that is flannel itself:

          "capabilities": {"portMappings": true, "dns": true}`,
    sources: [
      CNI_CONVENTIONS,
      thread("containerd/nerdctl", 5157),
      thread("microsoft/SDN", 428),
      reference("users.md §1 G15"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-flannel-field-misplaced": {
    title: "A field belongs to flannel's delegate, or the other way round",
    cause: prose`
      flannel's plugin builds a new configuration for the plugin that it calls: the fields below "delegate", and the
      range of subnet.env. Nothing else of its own object goes along, neither dns nor policies. Capabilities are the
      exception: the runtime looks for them at flannel, and does not see what is below "delegate".`,
    onNode: prose`
      flannel keeps what it handed over, one file for each pod:

          Get-ChildItem C:\var\lib\cni\flannel | Select-Object -First 1 | Get-Content`,
    remedy: prose`
      Move the field to the place that the message names.`,
    sources: [FLANNEL_PLUGIN, reference("cni.md §3.1, §3.3")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-flannel-delegate-field-forbidden": {
    title: "flannel's delegate holds name or ipam",
    cause: prose`
      flannel writes both itself: the name of its own network, and host-local with the node's range from subnet.env.
      When the delegate brings one of them along, flannel ends with "'delegate' dictionary must not have …".`,
    onNode: POD_EVENTS,
    remedy: prose`
      Remove the field from "delegate". Options of host-local cannot be set with flannel on Windows.`,
    sources: [FLANNEL_PLUGIN, reference("cni.md §3.1")],
    profiles: ALL,
    severity: "error",
  },

  "cni-network-name-mismatch": {
    title: "The CNI configuration names another network than flanneld makes",
    cause: prose`
      On Windows the name in the CNI configuration is the name of the HNS network. flanneld makes it under the Name
      of its back end, or else as flannel.4096 (vxlan) and cbr0 (host-gw). win-bridge and win-overlay find no
      network when the names differ; sdnbridge and sdnoverlay make a second one.`,
    onNode: prose`
      Compare the two names; upper and lower case count:

          Get-HnsNetwork | Select-Object Name, Type
          Select-String name C:\etc\cni\net.d\*.conf*, C:\etc\kube-flannel\net-conf.json`,
    remedy: prose`
      Give both the same name, and kube-proxy's --network-name as well.`,
    sources: [
      thread("flannel-io/flannel", 833),
      thread("kubernetes-sigs/sig-windows-tools", 103),
      reference("cni.md §9.J"),
    ],
    profiles: ALL,
    severity: "error",
  },
};
