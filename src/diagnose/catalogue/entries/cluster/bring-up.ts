/** What stops, or spoils, the start scripts that people run on a new Windows node with flannel. */
import { prose } from "../../prose.ts";
import { ALL, COMMON_PROBLEMS, type EntryTable, reference, thread } from "../entry-text.ts";

type BringUpCode =
  | "flannel-router-mac-missing"
  | "flannel-adapter-is-switch"
  | "start-script-adapter-missing"
  | "start-script-adapter-wrong"
  | "start-script-external-network-refused"
  | "start-script-configuration-old"
  | "start-script-configuration-unwritten"
  | "start-script-network-never-made"
  | "start-script-node-unregistered"
  | "start-script-node-ip-wrong"
  | "start-script-source-vip-refused"
  | "start-script-range-differs"
  | "start-script-kubeconfig-missing"
  | "start-script-kubelet-flag-removed"
  | "proxy-takes-api-requests"
  | "hns-service-not-running";

const SCRIPTS = {
  text: "microsoft/SDN: start scripts for flannel",
  url: "https://github.com/microsoft/SDN/tree/master/Kubernetes/flannel",
};
const CLUSTER_SCRIPTS = {
  text: "microsoft/SDN: KubeCluster.ps1 and helper.v2.psm1",
  url: "https://github.com/microsoft/SDN/tree/master/Kubernetes/windows/kubeadm",
};
const BEHIND_PROXY = {
  text: "golang.org/x/net/http/httpproxy: how Go programs choose a proxy",
  url: "https://pkg.go.dev/golang.org/x/net/http/httpproxy",
};

const ADAPTERS = prose`
  Adapters, their addresses, and which of them carries a switch:

      Get-NetAdapter | Select-Object Name, Status, InterfaceDescription
      Get-NetIPAddress -AddressFamily IPv4 | Select-Object InterfaceAlias, IPAddress
      Get-HnsNetwork | Select-Object Name, Type, ManagementIP, NetworkAdapterName`;

export const BRING_UP_ENTRIES: EntryTable<BringUpCode> = {
  "flannel-router-mac-missing": {
    title: "flanneld finds no overlay network whose router it could name to the others",
    cause: prose`
      flanneld 0.11 publishes the MAC of the distributed router before it makes its own network. It takes it from an
      overlay network that has the node's address already, and ends when there is none: the scripts' network External
      was not made, or it is on another adapter.`,
    onNode: ADAPTERS,
    remedy: prose`
      Make External on the adapter with the node's address (New-HNSNetwork … -AdapterName), or use flanneld 0.12 or
      newer, which needs no other network.`,
    sources: [thread("flannel-io/flannel", 1111), thread("flannel-io/flannel", 1109), SCRIPTS],
    profiles: ALL,
  },

  "flannel-adapter-is-switch": {
    title: "flanneld names the vNIC of a switch to HNS, which refuses it",
    cause: prose`
      From 0.24.1 on flanneld's vxlan names the adapter of its interface in the request for the network. When a switch
      is on the adapter already, because the scripts made External first or flanneld ran before, the interface with
      the node's address is "vEthernet (Ethernet)", and HNS answers "The parameter is incorrect" (0x57). Older releases
      name no adapter, and HNS puts the network onto the switch that is there.`,
    onNode: ADAPTERS,
    remedy: prose`
      Remove the other networks of the adapter (Get-HnsNetwork | ? Name -eq External | Remove-HnsNetwork), so that the
      address goes back to the adapter, and start flanneld again. It needs no External since 0.12.`,
    sources: [
      thread("flannel-io/flannel", 1966),
      thread("flannel-io/flannel", 1852),
      thread("antrea-io/antrea", 2213),
      reference("hcn.md §3.1"),
    ],
    profiles: ALL,
  },

  "start-script-adapter-missing": {
    title: "The start script finds no adapter of the name that it was given",
    cause: prose`
      The scripts look for "vEthernet (InterfaceName…" (start.ps1) or for an adapter InterfaceName (KubeCluster.ps1), and
      take Ethernet by default. The card has another name, or the vSwitch was not made. start.ps1 then
      leaves cni.conf and net-conf.json as they were fetched, and continues all the same.`,
    onNode: ADAPTERS,
    remedy: prose`
      Give the adapter's name, without "vEthernet (…)":

          C:\k\start.ps1 -ManagementIP <node's address> -InterfaceName "Ethernet 2" -NetworkMode overlay`,
    sources: [
      COMMON_PROBLEMS,
      thread("microsoft/SDN", 300),
      reference("control-planes.md §2.1; users.md G11"),
    ],
    profiles: ALL,
  },

  "start-script-adapter-wrong": {
    title: "The pod network is on another adapter than the node's address",
    cause: prose`
      start.ps1 asks HNS for External without naming an adapter, and HNS takes any that it can use: on a node with two
      cards perhaps the other one. Its address becomes ManagementIP, tunnels and routes leave through it, and the other
      nodes look for this one elsewhere.`,
    onNode: ADAPTERS,
    remedy: prose`
      Remove the networks (Get-HnsNetwork | Remove-HnsNetwork), make External on the right card
      (New-HNSNetwork … -Name External -AdapterName "Ethernet 2"), and start again: scripts keep an External that is
      there. KubeCluster.ps1 names the adapter itself.`,
    sources: [
      thread("kubernetes-sigs/sig-windows-tools", 103),
      thread("flannel-io/flannel", 1109),
      reference("control-planes.md §2.1; users.md G11"),
    ],
    profiles: ALL,
  },

  "start-script-external-network-refused": {
    title: "HNS refused the network External that the start scripts make first",
    cause: prose`
      External is there to make the vSwitch: building it cuts the node off for a moment, which should not happen while
      flanneld works. HNS found no adapter for it: all of them carry other networks, it is a Wi-Fi card or a vNIC, or
      there is none of that name. PowerShell writes the error and continues.`,
    onNode: ADAPTERS,
    remedy: prose`
      Remove the network that holds the adapter, or name another one. Then start the script again.`,
    sources: [
      thread("microsoft/SDN", 269),
      thread("microsoft/SDN", 194),
      reference("control-planes.md §1.10, §2.1; users.md G11"),
    ],
    profiles: ALL,
  },

  "start-script-configuration-old": {
    title: "flanneld reads a net-conf.json from before it was edited",
    cause: prose`
      The scripts copy net-conf.json to C:\etc\kube-flannel first and write the cluster's range into C:\k\net-conf.json
      afterwards. In the first run flanneld therefore reads the file as it was fetched: 192.168.0.0/16 for overlay. The
      second run copies the right one. flanneld before 0.18 runs all the same, with a wrong FLANNEL_NETWORK in
      subnet.env; later ones end because the node's range is outside.`,
    onNode: prose`
      What flanneld reads, and what it made of it:

          Get-Content C:\etc\kube-flannel\net-conf.json, C:\run\flannel\subnet.env`,
    remedy: prose`
      Copy C:\k\net-conf.json to C:\etc\kube-flannel yourself and start flanneld again, or run the script twice.`,
    sources: [SCRIPTS, reference("control-planes.md §2.1, S2")],
    profiles: ALL,
  },

  "start-script-configuration-unwritten": {
    title: "A configuration file of the node is still as it was fetched",
    cause: prose`
      The script ended before it wrote the file, so ranges and addresses in it are those of another cluster.`,
    onNode: prose`
      The ranges in both files against those of the cluster:

          Get-Content C:\k\cni\config\cni.conf, C:\k\net-conf.json`,
    remedy: prose`Mend what the step before has said, and start the script again.`,
    sources: [SCRIPTS, reference("control-planes.md §2.1")],
    profiles: ALL,
  },

  "start-script-network-never-made": {
    title: "The script waits for a network that is never made",
    cause: prose`
      "Waiting for the Network to be created": the script looks for the HNS network until it is there; start.ps1 for
      ever, KubeCluster.ps1 for 60 s. flanneld makes it, and flanneld has ended or cannot continue.`,
    onNode: prose`
      flanneld runs in the same window, and its last lines say why. By hand:

          [Environment]::SetEnvironmentVariable("NODE_NAME", (hostname).ToLower())
          cd C:\flannel
          .\flanneld.exe --kubeconfig-file=C:\k\config --iface=<address> --ip-masq=1 --kube-subnet-mgr=1`,
    remedy: prose`
      Act on what flanneld says. Where it only met HNS too early (before 0.12), run start.ps1 again.`,
    sources: [COMMON_PROBLEMS, thread("flannel-io/flannel", 1109), reference("control-planes.md §1.10, S3")],
    profiles: ALL,
  },

  "start-script-node-unregistered": {
    title: "The Node object never comes, and the script waits for it",
    cause: prose`
      The script starts kubelet to register the node and asks kubectl once a second: start.ps1 forever, KubeCluster.ps1
      for 10 s. kubelet has no right to make the Node, cannot reach the API server, or ends at a flag.`,
    onNode: prose`
      What kubectl sees from the node, and what kubelet says:

          C:\k\kubectl.exe --kubeconfig=C:\k\config get nodes
          Get-Content C:\k\kubelet*.ERROR -Tail 20`,
    remedy: prose`
      Try C:\k\config from the node with kubectl. Read kubelet's log: it names the flag, the right or the connection.`,
    sources: [COMMON_PROBLEMS, SCRIPTS, reference("control-planes.md §2.1")],
    profiles: ALL,
  },

  "start-script-node-ip-wrong": {
    title: "kubelet is started with a --node-ip that is not the node's address",
    cause: prose`
      start.ps1 builds kubelet's --node-ip from every adapter whose name begins with "vEthernet (Ethernet", whatever
      -InterfaceName says. Where the card is called otherwise it is empty; where two names begin so it holds two
      addresses, which kubelet refuses.`,
    onNode: prose`
      The addresses that the script finds, and the one that the Node has:

          Get-NetIPAddress -InterfaceAlias "vEthernet (Ethernet*" -AddressFamily IPv4
          kubectl get nodes -o wide`,
    remedy: prose`
      Write the address into start-kubelet.ps1 (--node-ip), or name the card Ethernet before the first switch is made.`,
    sources: [thread("microsoft/SDN", 254), SCRIPTS, reference("users.md G11")],
    profiles: ALL,
  },

  "start-script-source-vip-refused": {
    title: "host-local refused the source VIP, and the script wrote its error into sourceVip.json",
    cause: prose`
      KubeCluster.ps1 asks host-local for kube-proxy's address in each run. The reservation of the run before is still
      there under the same name, "duplicate allocation is not allowed", and what is in sourceVip.json then is the
      error: kube-proxy gets no --source-vip. start.ps1 does not ask while the file is there.`,
    onNode: prose`
      The file holds a code and a message instead of an address:

          Get-Content C:\k\sourceVip.json
          Get-ChildItem C:\var\lib\cni\networks\vxlan0`,
    remedy: prose`
      Remove the reservation of "dummy" below C:\var\lib\cni\networks\vxlan0 and both sourceVip files, and run it again.`,
    sources: [CLUSTER_SCRIPTS, reference("control-planes.md §1.11, F48")],
    profiles: ALL,
  },

  "start-script-range-differs": {
    title: "The script was given other ranges than the cluster has",
    cause: prose`
      -ClusterCIDR, -ServiceCIDR and -KubeDnsServiceIP go into net-conf.json, cni.conf and kube-proxy's --cluster-cidr as
      they were typed, or as their defaults. They are not compared with the cluster: pods' packets are translated, or are
      not, for the wrong destinations, and flanneld ends where the node's range is outside.`,
    onNode: prose`
      The cluster's ranges, and those of the node's files:

          kubectl get nodes -o custom-columns=NAME:.metadata.name,RANGE:.spec.podCIDR
          kubectl -n kube-system get service kube-dns
          Get-Content C:\k\cni\config\cni.conf`,
    remedy: prose`Run the script again with the ranges of the cluster.`,
    sources: [SCRIPTS, reference("control-planes.md §2.1; users.md G5, G7")],
    profiles: ALL,
  },

  "start-script-kubeconfig-missing": {
    title: "C:\\k\\config is not on the node",
    cause: prose`
      kubelet, kubectl, flanneld and kube-proxy find the cluster through this file. start.ps1 does not fetch it: the
      person who runs it copies it before.`,
    onNode: prose`
      The file must be there:

          Get-ChildItem C:\k\config`,
    remedy: prose`Copy the cluster's kubeconfig to C:\k\config, and start again.`,
    sources: [SCRIPTS, reference("control-planes.md §2.1")],
    profiles: ALL,
  },

  "start-script-kubelet-flag-removed": {
    title: "The start script gives kubelet a flag that this kubelet does not have",
    cause: prose`
      The scripts were written for kubelets with Docker. Kubernetes 1.24 took out --network-plugin, --cni-bin-dir,
      --cni-conf-dir and --image-pull-progress-deadline together with dockershim, 1.26 --log-dir and --logtostderr, 1.27
      --container-runtime. kubelet ends at the first flag that it does not know: the Node stays NotReady.`,
    onNode: prose`
      kubelet's last lines name the flag:

          C:\k\kubelet.exe --version
          Get-Content C:\k\kubelet*.ERROR -Tail 20`,
    remedy: prose`
      Use the scripts with Kubernetes 1.23 or older. For newer ones install containerd, start kubelet with kubeadm's
      flags (PrepareNode.ps1 of sig-windows-tools), and run flanneld as a HostProcess container.`,
    sources: [thread("kubernetes-sigs/sig-windows-tools", 218), SCRIPTS],
    profiles: ALL,
  },

  "proxy-takes-api-requests": {
    title: "Requests to the API server go to the HTTP proxy",
    cause: prose`
      HTTPS_PROXY (HTTP_PROXY for an http URL) is set for the machine and NO_PROXY does not name the API server. kubectl,
      kubelet, flanneld and kube-proxy are Go programs and obey it: they ask the proxy, which does not lead into the
      cluster. Microsoft's page names the two variables and not the third.`,
    onNode: prose`
      The variables of the machine, and where kubectl connects to:

          [Environment]::GetEnvironmentVariables("Machine")
          C:\k\kubectl.exe --kubeconfig=C:\k\config get nodes -v=6`,
    remedy: prose`
      Set NO_PROXY for the machine: the API server, the nodes' subnet, the ranges of pods and Services, .svc and
      .cluster.local. Then open a new window and start again.

          $own = "10.0.0.0/24,10.244.0.0/16,10.96.0.0/12,.svc,.cluster.local"
          [Environment]::SetEnvironmentVariable("NO_PROXY", $own, "Machine")`,
    sources: [COMMON_PROBLEMS, BEHIND_PROXY, thread("containerd/containerd", 8846)],
    profiles: ALL,
  },

  "hns-service-not-running": {
    title: "The Host Networking Service does not run",
    cause: prose`
      The service hns is stopped or disabled, or the feature Containers is not installed, so there is no vmcompute.dll to
      ask. PowerShell writes an error for each call and continues, and so do the scripts.`,
    onNode: prose`
      The service, and the feature that brings it:

          Get-Service hns
          Get-WindowsFeature Containers`,
    remedy: prose`
      Install-WindowsFeature Containers and restart the node, or Set-Service hns -StartupType Manual; Start-Service hns.`,
    sources: [COMMON_PROBLEMS, reference("users.md G10")],
    profiles: ALL,
  },
};
