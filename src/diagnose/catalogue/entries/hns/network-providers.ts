/** What the settings of network providers mean for Windows nodes: Calico, OVN-Kubernetes, EKS. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference, thread } from "../entry-text.ts";

type ProviderCode =
  | "calico-encapsulation-unsupported"
  | "calico-strict-affinity-off"
  | "calico-vxlan-identifier-too-low"
  | "calico-service-ranges-missing"
  | "hybrid-overlay-port-unsupported"
  | "hybrid-overlay-range-overlaps"
  | "eks-windows-addresses-off";

const CALICO_REQUIREMENTS = Object.freeze({
  text: "Calico documentation: Requirements for Windows nodes",
  url: "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/requirements",
});

const HYBRID_NETWORKING = Object.freeze({
  text: "OpenShift documentation: Configuring hybrid networking",
  url: "https://docs.openshift.com/container-platform/4.14/networking/ovn_kubernetes_network_provider/configuring-hybrid-networking.html",
});

const EKS_WINDOWS = Object.freeze({
  text: "Amazon EKS: Deploy Windows nodes",
  url: "https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html",
});

export const PROVIDER_ENTRIES: EntryTable<ProviderCode> = {
  "calico-encapsulation-unsupported": {
    title: "Calico on Windows knows VXLAN and plain BGP, and no IP-in-IP",
    cause: prose`
      An IP pool with IP-in-IP makes Linux nodes wrap packets in a way that Windows cannot unwrap. Pods on Windows nodes
      get addresses of the pool and cannot reach Linux nodes.`,
    onNode: prose`
      The network of the node, and the pools:

          Get-HnsNetwork | Select-Object Name, Type, Subnets
          kubectl get ippools.crd.projectcalico.org -o yaml`,
    remedy: prose`Use encapsulation VXLAN, or none with BGP on one subnet, for pools that Windows nodes use.`,
    sources: [CALICO_REQUIREMENTS],
    profiles: ALL,
    severity: "error",
  },

  "calico-strict-affinity-off": {
    title: "Calico on Windows needs strict affinity of address blocks",
    cause: prose`
      Without strict affinity a Linux node may borrow single addresses of a block that belongs to a Windows node. Windows
      has one subnet per node in HNS and cannot route a single address of it elsewhere.`,
    onNode: prose`
      The setting, and the blocks:

          kubectl get ipamconfigs.crd.projectcalico.org default -o yaml
          Get-HnsNetwork | Select-Object Name, Subnets`,
    remedy: prose`Write strictAffinity: true, or run: calicoctl ipam configure --strictaffinity=true.`,
    sources: [CALICO_REQUIREMENTS],
    profiles: ALL,
    severity: "error",
  },

  "calico-vxlan-identifier-too-low": {
    title: "Calico's VXLAN identifier is one that Windows cannot use",
    cause: prose`
      HNS takes identifiers (VNI) from 4096 on. Calico's default is 4096; a lower one in FelixConfiguration works among
      Linux nodes only.`,
    onNode: prose`
      The identifier of the overlay network:

          Get-HnsNetwork | ? Type -eq Overlay | ConvertTo-Json -Depth 10`,
    remedy: prose`Leave vxlanVNI out, or write 4096 or more.`,
    sources: [CALICO_REQUIREMENTS, reference("users.md G4")],
    profiles: ALL,
    severity: "error",
  },

  "calico-service-ranges-missing": {
    title: "The operator is set to install Calico on Windows, but the ranges of Services are missing",
    cause: prose`
      Linux nodes need no range of Services for Calico. On Windows it goes into the CNI configuration, so that packets to
      Services are not translated on their way out. With windowsDataplane: HNS the operator asks for serviceCIDRs, and
      installs nothing on Windows nodes without it.`,
    onNode: prose`
      There are no pods of calico-node-windows:

          kubectl get pods -n calico-system -o wide
          kubectl get tigerastatus calico -o yaml`,
    remedy: prose`Write serviceCIDRs beside windowsDataplane in the Installation.`,
    sources: [
      {
        text: "Calico documentation: Operator installation of Calico for Windows",
        url: "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/operator",
      },
    ],
    profiles: ALL,
    severity: "error",
  },

  "hybrid-overlay-port-unsupported": {
    title: "The hybrid overlay has a VXLAN port of its own, which Windows Server 2019 cannot use",
    cause: prose`
      Windows Server 2019 sends VXLAN to UDP port 4789 only. A port of its own (hybridOverlayVXLANPort), which vSphere
      needs because it keeps 4789 for itself, works from Windows Server 2022 on. The machine never becomes a node.`,
    onNode: prose`
      The network of the hybrid overlay is missing:

          Get-HnsNetwork | ? Name -eq OVNKubernetesHybridOverlayNetwork`,
    remedy: prose`Use Windows Server 2022, or leave hybridOverlayVXLANPort out.`,
    sources: [
      HYBRID_NETWORKING,
      thread("openshift/windows-machine-config-operator", 451),
      reference("users.md G26"),
      reference("control-planes.md §4.1"),
    ],
    profiles: ["ws2019"],
    severity: "error",
  },

  "hybrid-overlay-range-overlaps": {
    title: "The range of the hybrid overlay overlaps with another one of the cluster",
    cause: prose`
      Windows nodes take their pod ranges from hybridClusterNetwork. OVN-Kubernetes distinguishes nodes with OVN and nodes without
      apart by range; an overlap with the cluster network or with that of Services makes the installation fail, or leads
      packets to the wrong side.`,
    onNode: prose`
      The ranges of the cluster:

          oc get network.operator cluster -o yaml`,
    remedy: prose`Give hybridClusterNetwork a range of its own.`,
    sources: [HYBRID_NETWORKING, reference("users.md G26")],
    profiles: ALL,
    severity: "error",
  },

  "eks-windows-addresses-off": {
    title: "Amazon's VPC resource controller is set not to give addresses to Windows pods",
    cause: prose`
      On EKS a controller outside the cluster gives Windows pods their addresses, when enable-windows-ipam is "true" in
      the ConfigMap amazon-vpc-cni. Otherwise the nodes offer none, and pods wait for the resource
      vpc.amazonaws.com/PrivateIPv4Address forever.`,
    onNode: prose`
      The node offers no addresses:

          kubectl describe node <node> | findstr PrivateIPv4Address`,
    remedy: prose`Write enable-windows-ipam: "true" in the ConfigMap amazon-vpc-cni of kube-system.`,
    sources: [EKS_WINDOWS, thread("aws/containers-roadmap", 463), reference("users.md G21")],
    profiles: ALL,
    severity: "error",
  },
};
