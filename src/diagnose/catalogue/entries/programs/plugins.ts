/** What CNI plugins, IPAM and HNS clients refuse. */
import { prose } from "../../prose.ts";
import {
  ALL,
  CNI_SPEC,
  type EntryTable,
  HOST_LOCAL_PAGE,
  KUBERNETES_ON_WINDOWS,
  WIN_BRIDGE_PAGE,
  reference,
  thread,
} from "../entry-text.ts";

type PluginCode =
  | "cni-api-version-missing"
  | "cni-gateway-is-network-plus-two"
  | "cni-namespace-not-guid"
  | "cni-network-not-found"
  | "ipam-range-exhausted"
  | "ipam-range-invalid"
  | "hns-unreachable";

export const PLUGIN_ENTRIES: EntryTable<PluginCode> = {
  "cni-api-version-missing": {
    title: 'The plugin configuration lacks "apiVersion": 2, which containerd needs',
    cause: prose`
      win-bridge and win-overlay know two ways to HNS. Only with "apiVersion": 2 do they make HCN endpoints and
      put them into the pod's namespace. Without it they take the way of the Docker days: they expect that the
      sandbox's endpoint exists already and only join it. containerd passes the GUID of a namespace, for
      which no endpoint exists yet, so every ADD fails with "failed to find HNSEndpoint …".`,
    onNode: prose`
      The pod stays in ContainerCreating, and its events name the plugin:

          kubectl describe pod <pod>
          Select-String apiVersion C:\etc\cni\net.d\*.conf*`,
    remedy: prose`
      Add "apiVersion": 2 to the plugin's own object (below "delegate" when flannel calls it), and write the
      policies in their v2 form, {"Type": …, "Settings": {…}}. Then delete the pods that failed.`,
    sources: [
      WIN_BRIDGE_PAGE,
      thread("containernetworking/plugins", 713),
      thread("kubernetes/kubernetes", 94924),
      thread("kubernetes-sigs/sig-windows-tools", 102),
      reference("cni.md §2.1, §9.A"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-gateway-is-network-plus-two": {
    title: "win-bridge gives pods the gateway .2, whatever the IPAM plugin says",
    cause: prose`
      On an L2Bridge network with its own subnet, address .1 is the gateway of the HNS network and no adapter
      owns it. The real gateway of the pods is the bridge endpoint in the host, address .2. win-bridge therefore
      computes the gateway as network address plus two and ignores the one from IPAM. host-local knows nothing
      of this: without a rangeStart it hands out .2 to the first pod, which HNS refuses with "The object already
      exists" (0x80071392), because the bridge endpoint has it.`,
    onNode: prose`
      The first pod of a node fails, later ones work, since the address is then taken. See who owns .2:

          Get-HnsEndpoint | ft Name, IPAddress, GatewayAddress
          Get-Content C:\var\lib\cni\networks\*\last_reserved_ip.0`,
    remedy: prose`
      Let the range of host-local begin at .3: "rangeStart": "10.244.1.3" for 10.244.1.0/24. A gateway in the
      IPAM configuration can stay; it has no effect.`,
    sources: [
      thread("kubernetes/kubernetes", 74766),
      thread("microsoft/SDN", 333),
      reference("cni.md §2.2, §2.8, §9.C"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-namespace-not-guid": {
    title: "CNI_NETNS is not the GUID of an HCN namespace",
    cause: prose`
      On Windows a pod's network namespace is an HCN namespace, and the runtime passes its GUID in CNI_NETNS. A
      path as on Linux (/var/run/netns/…), a container's name, or "none" from the Docker days names no such
      namespace, so there is nothing that the endpoint could be attached to.`,
    onNode: prose`
      The namespaces that exist, and the one of a sandbox:

          hnsdiag list namespaces
          crictl inspectp <pod id> | findstr /i namespace`,
    remedy: prose`
      When you call a plugin by hand, make a namespace first and pass its GUID. When a runtime calls it, use a
      version that speaks CNI on Windows (containerd 1.6 or later) together with "apiVersion": 2. Under a runtime
      on Linux put mullion-netns in front: it has HNS make a namespace for the path.`,
    sources: [
      thread("containerd/containerd", 6305),
      CNI_SPEC,
      reference("cni.md §2.1, §9.A"),
      reference("hcn.md §4.5"),
    ],
    profiles: ALL,
  },

  "cni-network-not-found": {
    title: "HNS has no network of the name in the CNI configuration",
    cause: prose`
      win-bridge makes endpoints, never networks. The field "name" of its configuration is the name of the HNS
      network, letter for letter, and that network must exist beforehand: flanneld makes it, or a start script.
      It is missing when flanneld did not come up, when a reboot or an HNS restart removed it, or when the names
      differ (cbr0 and vxlan0 mixed up).`,
    onNode: prose`
      Compare the two names:

          Get-HnsNetwork | ft Name, Type, ID
          Select-String '"name"' C:\etc\cni\net.d\*.conf*

      If the network is missing, the log of flanneld says why.`,
    remedy: prose`
      Start what makes the network (flanneld, or start.ps1) and look at its log. If it waits for an adapter,
      check the interface name it was given. If only the names differ, correct the CNI configuration. Mind the
      order of the files: the first one in the folder wins, so remove left-overs of other plugins.`,
    sources: [
      WIN_BRIDGE_PAGE,
      thread("flannel-io/flannel", 833),
      thread("kubernetes-sigs/sig-windows-tools", 245),
      reference("cni.md §2.2"),
      reference("windows-networking-documentation.md §9"),
    ],
    profiles: ALL,
  },

  "ipam-range-exhausted": {
    title: "The node has no free pod address left",
    cause: prose`
      host-local has handed out every address of the node's range. Either the node really runs that many pods (a
      /24 holds 254 addresses, less the gateway, the bridge endpoint and the ones kept free), or addresses
      leaked: host-local keeps one file per address and deletes it on DEL only. Files of pods that died with the
      node stay forever, because no call releases them.`,
    onNode: prose`
      Count the files and compare them with the endpoints; each file holds the sandbox that took the address:

          (Get-ChildItem C:\var\lib\cni\networks\<network>).Count
          hnsdiag list endpoints
          Get-Content C:\var\lib\cni\networks\<network>\<address>`,
    remedy: prose`
      Delete the files whose sandbox no longer exists (crictl pods -q lists those that do); leave "lock" and
      "last_reserved_ip.0". If the range is too small, give the nodes larger ones when the cluster is made: the
      pod range of a node cannot grow later.`,
    sources: [
      HOST_LOCAL_PAGE,
      thread("containernetworking/plugins", 332),
      thread("kubernetes/kubernetes", 57280),
      reference("cni.md §4.2, §4.3, §9.C"),
    ],
    profiles: ALL,
  },

  "ipam-range-invalid": {
    title: "The IPAM configuration describes no usable range",
    cause: prose`
      host-local checks its ranges before it hands out anything: the subnet must have no host bits and leave
      room for at least two addresses, rangeStart and rangeEnd must be inside it and in this order, and ranges
      must not overlap. With a range that fails, every ADD fails, and so does DEL: addresses that were handed
      out earlier stay taken until the configuration is right again.`,
    onNode: prose`
      The message is in the events of the pod, for example "RangeStart 10.244.2.3 not in network 10.244.1.0/24":

          kubectl describe pod <pod>
          Select-String subnet,range C:\etc\cni\net.d\*.conf*`,
    remedy: prose`
      Compare the subnet with the node's pod range; the usual cause is a file copied from another node:

          kubectl get node <node> -o jsonpath="{.spec.podCIDR}"`,
    sources: [HOST_LOCAL_PAGE, reference("cni.md §4.1, §4.4")],
    profiles: ALL,
    severity: "error",
  },

  "hns-unreachable": {
    title: "The Host Networking Service does not answer",
    cause: prose`
      The program did not find HNS: the socket named in MULLION_HNS does not exist or refuses,
      nothing listens on the node's default socket, and on Windows computenetwork.dll is missing or the service
      is stopped. HNS that hangs looks the same after the time allowed for a call. Nothing was changed.`,
    onNode: prose`
      The service, its crashes, and whether it still answers:

          Get-Service hns
          Get-WinEvent -LogName System -MaxEvents 200 | ? Message -match "Host Network Service"
          hnsdiag list networks

      The errors that go with it are 0x800706ba and 0x800706d9.`,
    remedy: prose`
      Under Mullion, start a cluster or an HNS and pass its socket in MULLION_HNS. On Windows restart the
      service (Restart-Service hns), then kube-proxy, which does not notice by itself that its load balancers
      are gone. If the service is not there at all, install the Containers feature.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 110849),
      reference("hcn.md §6.2"),
      reference("users.md G10"),
    ],
    profiles: ALL,
  },
};
