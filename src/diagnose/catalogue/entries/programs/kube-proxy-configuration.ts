/** What is wrong with kube-proxy's configuration and flags on Windows nodes. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, KUBERNETES_ON_WINDOWS, reference, thread } from "../entry-text.ts";

type KubeProxyConfigurationCode =
  | "kube-proxy-mode-not-for-windows"
  | "kube-proxy-without-network-name"
  | "kube-proxy-network-name-mismatch"
  | "kube-proxy-without-source-vip"
  | "kube-proxy-source-vip-invalid"
  | "kube-proxy-hostname-override-missing"
  | "kube-proxy-address-invalid"
  | "kube-proxy-dsr-without-gate"
  | "kube-proxy-dsr-without-support"
  | "kube-proxy-feature-gate-refused"
  | "kube-proxy-flags-beside-config"
  | "kube-proxy-flag-refused"
  | "kube-proxy-field-unknown"
  | "kube-proxy-option-ignored"
  | "kube-proxy-configuration-invalid"
  | "kube-proxy-port-unavailable";

const COMMAND_LINE = {
  text: "Kubernetes documentation: kube-proxy",
  url: "https://kubernetes.io/docs/reference/command-line-tools-reference/kube-proxy/",
};
const CONFIGURATION = {
  text: "Kubernetes documentation: kube-proxy Configuration (v1alpha1)",
  url: "https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/",
};
const FEATURE_GATES = {
  text: "Kubernetes documentation: Feature Gates",
  url: "https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/",
};
const FEATURE_GATES_REMOVED = {
  text: "Kubernetes documentation: Feature Gates (removed)",
  url: "https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates-removed/",
};

/** kube-proxy ends, and its last lines say why. */
const LAST_LINES = prose`
  The last lines of kube-proxy's log name it, and the service starts again and again:

      Get-Content C:\k\kubeproxy.log -Tail 20
      Get-Service kubeproxy
      Get-HnsPolicyList`;

export const KUBE_PROXY_CONFIGURATION_ENTRIES: EntryTable<KubeProxyConfigurationCode> = {
  "kube-proxy-mode-not-for-windows": {
    title: "kube-proxy has a mode that its operating system does not support",
    cause: prose`
      On Windows kube-proxy has one mode, kernelspace, which is also what it takes when nothing is said. The modes
      iptables, ipvs and nftables are those of Linux and are refused as invalid. userspace was removed in
      Kubernetes 1.26. One ConfigMap for all nodes, as kubeadm makes it, can therefore not name a mode of Linux.`,
    onNode: LAST_LINES,
    remedy: prose`
      Leave the mode empty, or give Windows nodes a configuration of their own with mode kernelspace.`,
    sources: [CONFIGURATION, COMMAND_LINE, reference("kube-proxy.md §1.1")],
    profiles: ALL,
    severity: "error",
  },

  "kube-proxy-without-network-name": {
    title: "kube-proxy has no name of its HNS network",
    cause: prose`
      kube-proxy on Windows programs Services on one HNS network. It has the name from --network-name, from
      winkernel.networkName, or from the variable KUBE_NETWORK; when all are empty it ends at its start.`,
    onNode: prose`
      The log speaks of KUBE_NETWORK; the names that there are:

          Get-Content C:\k\kubeproxy.log | Select-String KUBE_NETWORK
          Get-HnsNetwork | Select-Object Name, Type`,
    remedy: prose`
      Add --network-name with the exact name of the CNI network, for example cbr0, vxlan0, flannel.4096 or Calico.`,
    sources: [COMMAND_LINE, thread("projectcalico/calico", 5539), reference("kube-proxy.md §1.1")],
    profiles: ALL,
    severity: "warning",
  },

  "kube-proxy-network-name-mismatch": {
    title: "kube-proxy waits for another network than the CNI plugin uses",
    cause: prose`
      kube-proxy looks for its HNS network by the exact name, upper and lower case included, and waits without an
      end when there is none. The node is Ready all the while, pods reach each other, and no Service works.`,
    onNode: prose`
      The line in the log, and the names that there are:

          Get-Content C:\k\kubeproxy.log | Select-String 'Unable to find HNS Network'
          Get-HnsNetwork | Select-Object Name, Type`,
    remedy: prose`
      Use one name in the CNI configuration, in flannel's net-conf and for kube-proxy.`,
    sources: [COMMAND_LINE, reference("users.md §1 G3"), reference("kube-proxy.md §1.1")],
    profiles: ALL,
    severity: "warning",
  },

  "kube-proxy-without-source-vip": {
    title: "kube-proxy on an overlay network has no source VIP",
    cause: prose`
      On an overlay network packets that a load balancer sends to other nodes need a source address that finds its
      way back to this node: an address of the node's own range of pods that no pod has. kube-proxy ends with
      "source-vip flag not set" when it is not given.`,
    onNode: LAST_LINES,
    remedy: prose`
      Reserve an address with host-local under the name of the CNI network, and pass it as --source-vip. The scripts
      of SIG Windows do this; Calico's take the address of its endpoint Calico_ep.`,
    sources: [
      thread("kubernetes/kubernetes", 78338),
      thread("kubernetes/kubernetes", 123014),
      reference("users.md §1 G5"),
      reference("kube-proxy.md §1.1"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "kube-proxy-source-vip-invalid": {
    title: "kube-proxy's source VIP is not an address that HNS can give it",
    cause: prose`
      The source VIP becomes an endpoint on the overlay network. It must be in the node's own range of pods, must
      not be the range's first, second or last address (network, gateway, broadcast), and is written without a
      prefix length. A file sourceVip.json that was left from before the node joined again is the usual reason.
      Nothing is programmed then: pods reach each other, and no Service works.`,
    onNode: prose`
      HNS answers 0x803b001e (not in the subnet) or 0x803b002f (reserved):

          Get-Content C:\k\kubeproxy.log | Select-String 'Source Vip endpoint creation failed'
          Get-HnsNetwork | Select-Object Name, Subnets`,
    remedy: prose`
      Remove C:\k\SourceVip.json and C:\k\SourceVipRequest.json, and start the node's script again.`,
    sources: [
      thread("kubernetes/kubernetes", 100962),
      thread("kubernetes-sigs/sig-windows-tools", 250),
      reference("users.md §1 G5"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "kube-proxy-hostname-override-missing": {
    title: "kube-proxy is started without --hostname-override",
    cause: prose`
      kube-proxy knows which pods are its own by comparing the node's name with that in the EndpointSlices. Without
      the option it takes the computer's name. When the Node object is called otherwise, all pods count as remote.

      The documentation names deleted endpoints of containers as the symptom. No version from 1.20 on deletes them: HNS
      says that the endpoint is local. A Service with both traffic policies Local has no back end on the node; its node
      port with externalTrafficPolicy Local leads to the pods, while the health check answers 503; on overlay networks
      load balancers take the node's address for the source VIP.`,
    onNode: prose`
      Compare the two names:

          hostname
          kubectl get nodes`,
    remedy: prose`
      Add --hostname-override with the name of the Node object, as kubelet has it.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 71851),
      thread("aws/containers-roadmap", 273),
      reference("windows-networking-documentation.md §9 row 4; kube-proxy.md §8.10 L1–L3"),
    ],
    profiles: ALL,
    severity: "info",
  },

  "kube-proxy-address-invalid": {
    title: "An address or range of kube-proxy's configuration cannot be read",
    cause: prose`
      kube-proxy checks its configuration before it starts: clusterCIDR is one range, or one for each family;
      addresses to listen on are an address with a port from 1 to 65535. With anything else it ends.`,
    onNode: LAST_LINES,
    remedy: prose`
      Write the value in the form that the message shows.`,
    sources: [CONFIGURATION, COMMAND_LINE, reference("kube-proxy.md §1.1")],
    profiles: ALL,
    severity: "error",
  },

  "kube-proxy-dsr-without-gate": {
    title: "Direct Server Return is requested, but its feature gate is off",
    cause: prose`
      --enable-dsr needs the feature gate WinDSR, which is off up to Kubernetes 1.32. kube-proxy ends with "WinDSR
      feature gate not enabled". From 1.33 on the gate is on, and from 1.34 on it cannot be turned off.`,
    onNode: LAST_LINES,
    remedy: prose`
      Add the gate beside the option:

          --enable-dsr=true --feature-gates=WinDSR=true`,
    sources: [KUBERNETES_ON_WINDOWS, FEATURE_GATES, reference("kube-proxy.md §1.1, §1.2")],
    profiles: ALL,
    severity: "error",
  },

  "kube-proxy-dsr-without-support": {
    title: "Direct Server Return is requested, but this build of Windows does not have it",
    cause: prose`
      DSR is a matter of the virtual switch: HNS has it from version 9.3 on within 9, and from 10.2 on. Windows
      Server 2019 got it with an update (KB4571748). kube-proxy with --enable-dsr ends where HNS lacks it.`,
    onNode: prose`
      The version of HNS, and the installed updates:

          Invoke-HnsRequest -Type globals -Path version -Method GET
          Get-HotFix | Sort-Object InstalledOn | Select-Object -Last 5`,
    remedy: prose`
      Install the current cumulative update of Windows, or leave the option out on these nodes.`,
    sources: [KUBERNETES_ON_WINDOWS, reference("kube-proxy.md §1.3"), reference("hcn.md §7.1")],
    profiles: ["ws2019", "1903"],
    severity: "error",
  },

  "kube-proxy-feature-gate-refused": {
    title: "A feature gate is refused by this version of kube-proxy",
    cause: prose`
      kube-proxy ends when it is given a gate that it does not know, or when a gate is turned off whose feature is
      locked on. Gates go some versions after their feature is done: IPv6DualStack and WindowsEndpointSliceProxying
      are gone from 1.25 on, ProxyTerminatingEndpoints from 1.30 on. A start script that still passes one stops all
      Services of a node after an upgrade.`,
    onNode: LAST_LINES,
    remedy: prose`
      Take the gate out of the flags or the configuration. Names of gates are exact: WinDSR, WinOverlay.`,
    sources: [
      FEATURE_GATES,
      FEATURE_GATES_REMOVED,
      thread("projectcalico/calico", 5539),
      reference("users.md §1 G3"),
      reference("kube-proxy.md §1.2"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "kube-proxy-flags-beside-config": {
    title: "A flag has no effect together with --config",
    cause: prose`
      With --config kube-proxy takes everything from the file; of the flags only --hostname-override and those about
      logging count. A network name, a source VIP or a feature gate on the command line is not read, and nothing
      says so.`,
    onNode: prose`
      What kube-proxy works with:

          curl.exe http://127.0.0.1:10249/configz`,
    remedy: prose`
      Write the value into the file, or drop --config and pass flags only.`,
    sources: [COMMAND_LINE, reference("kube-proxy.md §1.1")],
    profiles: ALL,
    severity: "warning",
  },

  "kube-proxy-flag-refused": {
    title: "kube-proxy does not know, or does not implement, a flag",
    cause: prose`
      An unknown flag ends kube-proxy at once. Flags of the old logging library (--log-dir, --logtostderr and others)
      were removed in Kubernetes 1.26, --proxy-port-range in 1.31. --cleanup and --init-only exist, and are not
      implemented on Windows.`,
    onNode: LAST_LINES,
    remedy: prose`
      Remove the flag. For log files redirect the output, or let the service wrapper write them (kube-log-runner).`,
    sources: [
      COMMAND_LINE,
      {
        text: "Kubernetes documentation: System Logs",
        url: "https://kubernetes.io/docs/concepts/cluster-administration/system-logs/",
      },
      reference("kube-proxy.md §1.1"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "kube-proxy-field-unknown": {
    title: "A field for Windows is misspelt or misplaced in kube-proxy's configuration",
    cause: prose`
      What Windows needs is below winkernel: networkName, sourceVip, enableDSR, rootHnsEndpointName and
      forwardHealthCheckVip. Names are exact here. A field that kube-proxy does not know is reported in its log and
      then skipped, so the network or the source VIP counts as not given.`,
    onNode: prose`
      A warning about the configuration at the beginning of the log:

          Get-Content C:\k\kubeproxy.log | Select-String 'unknown field|strict decoding'`,
    remedy: prose`
      Write the field as the message spells it, below winkernel.`,
    sources: [CONFIGURATION, reference("kube-proxy.md §1.1")],
    profiles: ALL,
    severity: "warning",
  },

  "kube-proxy-option-ignored": {
    title: "kube-proxy on Windows takes this option and does nothing with it",
    cause: prose`
      Some options belong to Linux' modes only. nodePortAddresses does not narrow where NodePorts answer on Windows:
      their load balancers have no address and take the port on every address of the node. masqueradeAll is not read
      either.`,
    onNode: prose`
      Load balancers of NodePorts have no VIP:

          Get-HnsPolicyList | ConvertTo-Json -Depth 9`,
    remedy: prose`
      Close ports that must not be reached with Windows' firewall, or in front of the node.`,
    sources: [CONFIGURATION, reference("kube-proxy.md §1.1")],
    profiles: ALL,
    severity: "info",
  },

  "kube-proxy-configuration-invalid": {
    title: "kube-proxy's configuration cannot be used",
    cause: prose`
      The file given with --config is not YAML or JSON, is empty, is of another kind, or a field has a value of the wrong
      type or outside its range; or a flag has. kube-proxy ends before it has looked at HNS, and its service starts
      again and again. Durations are texts with a unit (30s, 1m), and most other values are texts or truth values
      without quotes.`,
    onNode: LAST_LINES,
    remedy: prose`
      Correct the field that the message names. A file with every field and its default:

          kube-proxy --write-config-to kube-proxy.yaml`,
    sources: [CONFIGURATION, COMMAND_LINE, reference("kube-proxy.md §1.1")],
    profiles: ALL,
  },

  "kube-proxy-port-unavailable": {
    title: "kube-proxy cannot listen for health checks or metrics",
    cause: prose`
      The port of the health server (10256), of the metrics server (10249) or of a Service's health checks
      (healthCheckNodePort) is taken by another program, often by an older kube-proxy that still runs, or is in a
      range that Windows has excluded. kube-proxy tries again every five seconds, or ends, with
      bindAddressHardFail. Meanwhile cloud load balancers take the node for broken.`,
    onNode: prose`
      Who has the port, and what is excluded:

          Get-NetTCPConnection -LocalPort 10256 | Select-Object State, OwningProcess
          netsh int ipv4 show excludedportrange tcp`,
    remedy: prose`
      End the other program, or give kube-proxy other ports: --healthz-bind-address, --metrics-bind-address.`,
    sources: [COMMAND_LINE, reference("kube-proxy.md §5.1"), reference("kube-proxy.md §6")],
    profiles: ALL,
  },
};
