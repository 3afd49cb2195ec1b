/** Problems of a cluster file, with what corresponds to them on a real cluster. */
import { prose } from "../../prose.ts";
import {
  ALL,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  NETWORK_DRIVERS,
  reference,
  thread,
} from "../entry-text.ts";

type ClusterFileCode =
  | "cluster-file-unreadable"
  | "cluster-file-invalid-yaml"
  | "cluster-file-unknown-field"
  | "cluster-file-missing-field"
  | "cluster-file-invalid-value"
  | "cluster-file-overlapping-ranges"
  | "cluster-file-duplicate-name"
  | "cluster-file-duplicate-address"
  | "cluster-file-driver-mismatch"
  | "cluster-file-duplicate-vni"
  | "cluster-file-vni-too-large"
  | "cluster-file-too-large";

const YAML_SPECIFICATION = { text: "YAML 1.2.2", url: "https://yaml.org/spec/1.2.2/" };
const FIELDS = reference("docs/reference/cluster-file.md");

export const CLUSTER_FILE_ENTRIES: EntryTable<ClusterFileCode> = {
  "cluster-file-unreadable": {
    title: "A file that -f names cannot be read",
    cause: prose`
      The path that follows -f names neither a file nor a folder, or one that this user may not read. Nothing was
      started and nothing was changed.`,
    onNode: prose`
      A cluster file exists only in Mullion. On a real cluster the same facts are spread over the nodes; these
      commands print most of them:

          kubectl get nodes -o wide
          kubectl cluster-info dump | findstr /i "cluster-cidr service-cluster-ip-range"
          Get-Content C:\etc\cni\net.d\*.conf*`,
    remedy: prose`
      Check the path; it is relative to the folder in which the command runs. A file to begin with:

          examples/two-windows-nodes/cluster.yaml`,
    sources: [FIELDS],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-invalid-yaml": {
    title: "The cluster file is not valid YAML",
    cause: prose`
      The text breaks a rule of YAML at the line and column that the message names: a tab used for indentation,
      a list item that is indented differently from its siblings, a key given twice, a quote that is never
      closed, an alias without its anchor, or a second document after a line of three dashes. Where YAML is
      broken nothing can be said about the fields, so this comes before every other check.`,
    onNode: prose`
      A cluster file exists only in Mullion. The same slips in a Kubernetes manifest are found without applying
      it:

          kubectl apply --dry-run=client -f <file>`,
    remedy: prose`
      Go to the line, and look at the one before it too: an open quote or bracket is noticed only later. Indent
      with spaces. An editor with YAML support marks such places while you type.`,
    sources: [YAML_SPECIFICATION, FIELDS],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-unknown-field": {
    title: "The cluster file has a field that does not exist",
    cause: prose`
      A field of this name is not known at this place. Most often it is a spelling (podCidr for podCIDR), or a
      field that belongs one level higher or lower. Unknown fields are refused and not ignored: a setting that
      silently does nothing costs hours. Fields whose name is kept for a later version are refused too, and the
      message says so.`,
    onNode: prose`
      A cluster file exists only in Mullion. Mind that real components are less strict: CNI plugins ignore
      unknown fields of their configuration silently, for example ipMasq in win-bridge. Whether a policy
      arrived is seen only in HNS:

          Get-HnsEndpoint | ConvertTo-Json -Depth 20`,
    remedy: prose`
      Use the name that the message suggests, or look the field up in docs/reference/cluster-file.md. An editor
      that reads the schema completes the names:

          # yaml-language-server: $schema=../../schemas/cluster.v1alpha1.json`,
    sources: [FIELDS, reference("cni.md §2.1, §2.2")],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-missing-field": {
    title: "The cluster file lacks a required field",
    cause: prose`
      Everything that can have a sensible default has one. The rest must be said: the kind of the document, the
      cluster's name, at least one node, each node's name, operating system and address, each pod's name and
      node. A field that is there but holds nothing counts as missing.`,
    onNode: prose`
      A cluster file exists only in Mullion. To copy a real cluster, take the values from:

          kubectl get nodes -o wide
          kubectl get pods -A -o wide`,
    remedy: prose`
      Add the field at the place that the message names. The smallest cluster file is in
      docs/reference/cluster-file.md.`,
    sources: [FIELDS],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-invalid-value": {
    title: "A field of the cluster file has an invalid value",
    cause: prose`
      The value has the wrong form (text for a number, an IPv6 address where IPv4 is needed, a range with host
      bits such as 10.244.1.7/24), is outside its bounds (port 70000), is not one of the allowed words, or
      contradicts another field (a pod's address outside the range of its node). The message says which, and
      what to write.`,
    onNode: prose`
      HNS refuses such values as well, but later and in fewer words: HCN_E_INVALID_NETWORK (0x803b000a) for a
      range with host bits, HCN_E_INVALID_POLICY (0x803b000d) for a policy, HCN_E_INVALID_IP (0x803b001e) for an
      address outside every subnet of the network. They show in the log of the program that called it:

          Get-Content C:\k\kubelet.err.log | Select-String 0x803b`,
    remedy: prose`
      Correct the value as the message says. For ranges, write the first address: 10.244.1.0/24.`,
    sources: [FIELDS, reference("hcn.md §6.1")],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-overlapping-ranges": {
    title: "Two address ranges of the cluster overlap",
    cause: prose`
      Pods, services and nodes must have ranges of their own, and so must the pods of each node. If two ranges
      share addresses, a packet to such an address has two meanings. A real cluster starts with overlapping
      ranges and then loses some of its traffic: a LAN at 10.105.x.x inside the service range 10.96.0.0/12 is a
      well-known case, where everything to that LAN is taken for a service.`,
    onNode: prose`
      The ranges of a real cluster:

          kubectl cluster-info dump | findstr /i "cluster-cidr service-cluster-ip-range"
          kubectl get nodes -o custom-columns=NAME:.metadata.name,PODS:.spec.podCIDR
          Get-HnsNetwork | % { $_.Name; $_.Subnets }`,
    remedy: prose`
      Change the smaller one. The defaults fit together: pods 10.244.0.0/16, services 10.96.0.0/12 (10.96.0.0 to
      10.111.255.255), nodes 10.0.0.0/24. Only on a network of the shape "node-subnet" do pod addresses come
      from the nodes' subnet, and then they must keep clear of the nodes' own addresses.`,
    sources: [FIELDS, KUBERNETES_ON_WINDOWS, thread("flannel-io/flannel", 1405), reference("users.md G7")],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-duplicate-name": {
    title: "Two things of one kind have the same name",
    cause: prose`
      Nodes, outside hosts and the pods of one namespace are told apart by name alone, and so are the ports of
      one pod by number and protocol. The second one would hide the first.`,
    onNode: prose`
      Kubernetes refuses a second object of one name. Two machines that register under one node name are the
      dangerous case: they overwrite each other's status. Compare:

          kubectl get nodes -o wide
          hostname

      kube-proxy with a wrong --hostname-override treats the pods of its own node as foreign.`,
    remedy: prose`Rename one of the two. Pods of the same name can live in different namespaces.`,
    sources: [FIELDS, reference("windows-networking-documentation.md §9")],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-duplicate-address": {
    title: "Two machines or pods have the same address",
    cause: prose`
      An address belongs to one machine. With two owners the one that answers ARP first gets the packets, and
      that can change at any time. Among pods of one node HNS refuses the second endpoint with "The object
      already exists" (0x80071392).`,
    onNode: prose`
      Two owners of one address, seen from a third machine (the MAC address changes), and in HNS:

          arp -a | findstr <address>
          Get-HnsEndpoint | group IPAddress | ? Count -gt 1`,
    remedy: prose`
      Give one of them another address, or leave a pod's address out so that the IPAM plugin chooses. Keep away
      from the first two addresses of a node's pod range: the gateway of HNS and the bridge endpoint.`,
    sources: [
      FIELDS,
      thread("kubernetes/kubernetes", 74766),
      thread("microsoft/Windows-Containers", 631),
      reference("hcn.md §4.2"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-driver-mismatch": {
    title: "A network driver does not support a setting of the cluster file",
    cause: prose`
      Each driver has its own form. Networks of one driver share the virtual switch of a node's adapter, and networks
      of two drivers do not; a NAT network has an internal switch and stands beside any of them, once on a node.
      Overlay alone has virtual networks and a VXLAN port, Transparent alone a VLAN for its pods. VFP does not run on
      ports of Transparent and NAT networks, so they have no OutBoundNAT. Pods of L2Tunnel and Transparent networks
      have addresses of the nodes' subnet, those of Overlay and NAT never have.`,
    onNode: prose`
      What a node has, and on which switch:

          Get-HnsNetwork | select Name, Type, NetworkAdapterName, VSwitchId
          Get-VMSwitch`,
    remedy: prose`
      Follow the message. To see two drivers side by side give them to two clusters, or put NAT beside one of the
      others.`,
    sources: [
      FIELDS,
      NETWORK_DRIVERS,
      reference("windows-networking-documentation.md §2"),
      reference("hcn.md §4.1"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-duplicate-vni": {
    title: "Two overlay networks of one node have the same VNI",
    cause: prose`
      The VXLAN network identifier is all that tells two overlay networks apart: on the wire, at the switch and at the
      ports. With one identifier the two are one network, and addresses that both hold have two owners.`,
    onNode: prose`
      The subnets of the node's overlay networks carry the identifier in their policies:

          Get-HnsNetwork | ? Type -eq overlay | % { $_.Name; $_.Subnets.Policies }`,
    remedy: prose`Give each network a VNI of its own, from 4096 to 65535.`,
    sources: [FIELDS, reference("windows-networking-documentation.md §2"), reference("dataplane.md §6.1")],
    profiles: ALL,
    severity: "error",
  },

  "cluster-file-vni-too-large": {
    title: "The VNI differs between Windows nodes",
    cause: prose`
      VXLAN has 24 bits for its identifier, and HNS takes them for a subnet of its own. The policy RemoteSubnetRoute,
      with which a node learns of the others' subnets, has 16 bits for it in hcsshim, and flannel writes it into its
      annotations with as many: a VNI above 65535 loses its upper bits there, and the nodes send into another network.`,
    onNode: prose`
      What the node knows of the others:

          Get-HnsNetwork | % { $_.Policies } | ? Type -eq RemoteSubnetRoute`,
    remedy: prose`Choose a VNI from 4096 (flannel takes none below) to 65535.`,
    sources: [reference("dataplane.md §2.14, DT-048, DT-049"), reference("control-planes.md §1.3")],
    profiles: ALL,
  },

  "cluster-file-too-large": {
    title: "The files that -f names exceed a limit",
    cause: prose`
      A cluster file has more bytes, nested levels, nodes or expanded aliases than Mullion reads, or the files of
      the command line are more than 10000 or larger than 256 MiB together. The
      limits protect against files that are small on disk and huge in memory, and they lie far above what a
      cluster of 5000 nodes needs.`,
    onNode: prose`
      A cluster file exists only in Mullion. For comparison, Kubernetes itself is tested up to 5000 nodes, 110
      pods per node and 150000 pods:

          kubectl get nodes --no-headers | find /c /v ""`,
    remedy: prose`
      Write repeated parts out instead of nesting aliases of aliases. If the cluster is really that large, take
      the part of it that the question is about.`,
    sources: [
      FIELDS,
      {
        text: "Kubernetes: Considerations for large clusters",
        url: "https://kubernetes.io/docs/setup/best-practices/cluster-large/",
      },
    ],
    profiles: ALL,
    severity: "error",
  },
};
