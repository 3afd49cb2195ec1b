/** The network that a document asks for from which a whole cluster is made (control-plane/load/cluster-definitions.ts). */
import { type Fields, isFields, mappingOf } from "#core/base/json.ts";
import { cloudOfAnnotations } from "#control-plane/load/cluster-definitions.ts";
import { type Evidence, textAt } from "./evidence.ts";
import { NETWORK_OF_CLOUD, type Sign } from "./network-signs.ts";

type Asked = Pick<Sign, "network" | "mode" | "title" | "isHint">;

/** What a cloud gives its clusters unless another network is installed. */
function ofCloud(network: Sign["network"], mode?: string): Asked {
  return { network, mode, isHint: true };
}

function chosen(network: Sign["network"], mode?: string, title?: string): Asked {
  return { network, mode, isHint: false, ...(title !== undefined && { title }) };
}

/** RKE2's `cni`; a list stands for several, of which Multus makes no network (https://docs.rke2.io/networking/basic_network_options). */
function ofRke2(cni: string): Asked | undefined {
  const [first = ""] = cni.split(",").filter((each) => each !== "multus");
  if (first === "calico" || first === "flannel" || first === "cilium") return chosen(first);
  return first === "canal" ? chosen("linux-only", undefined, "Canal") : undefined;
}

/** `networkPlugin` of AKS with its mode; `none` leaves the network to whoever installs one. */
function ofAzure(plugin: string, mode: string): Asked | undefined {
  if (plugin === "none") return undefined;
  if (plugin === "kubenet") return ofCloud("azure-vnet", "kubenet");
  return ofCloud("azure-vnet", mode === "overlay" ? "overlay" : undefined);
}

const K0S_CALICO_MODES: Readonly<Record<string, string>> = { bird: "BGP", ipip: "IPIP", vxlan: "VXLAN" };

/** k0s has kube-router unless it is told otherwise, and Calico with VXLAN (https://docs.k0sproject.io/stable/networking/). */
function ofK0s({ spec }: Fields): Asked | undefined {
  const provider = textAt(spec, "network", "provider");
  const mode = textAt(spec, "network", "calico", "mode") || "vxlan";
  if (provider === "calico") return chosen("calico", K0S_CALICO_MODES[mode]);
  return provider === "custom" ? undefined : chosen("linux-only", undefined, "kube-router");
}

const EKS: Asked = ofCloud(NETWORK_OF_CLOUD.eks);

/** By group and kind, from the fields of the document. */
const READERS: Readonly<Record<string, (fields: Fields) => Asked | undefined>> = {
  // Windows nodes of EKS need the VPC CNI (https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html).
  "eksctl.io/ClusterConfig": () => EKS,
  "eks.services.k8s.aws/Cluster": () => EKS,
  "controlplane.cluster.x-k8s.io/AWSManagedControlPlane": ({ spec }) => {
    const plugin = mappingOf(spec)["vpcCni"];
    return isFields(plugin) && plugin["disable"] === true ? undefined : EKS;
  },
  "controlplane.cluster.x-k8s.io/RKE2ControlPlane": ({ spec }) => ofRke2(textAt(spec, "serverConfig", "cni")),
  "provisioning.cattle.io/Cluster": ({ spec }) =>
    ofRke2(textAt(spec, "rkeConfig", "machineGlobalConfig", "cni")),
  "infrastructure.cluster.x-k8s.io/AzureManagedControlPlane": ({ spec }) =>
    ofAzure(textAt(spec, "networkPlugin"), textAt(spec, "networkPluginMode")),
  "containerservice.azure.com/ManagedCluster": ({ spec }) =>
    ofAzure(
      textAt(spec, "networkProfile", "networkPlugin"),
      textAt(spec, "networkProfile", "networkPluginMode"),
    ),
  "infrastructure.cluster.x-k8s.io/GCPManagedControlPlane": () => ofCloud(NETWORK_OF_CLOUD.gke),
  "container.cnrm.cloud.google.com/ContainerCluster": () => ofCloud(NETWORK_OF_CLOUD.gke),
  "k0s.k0sproject.io/ClusterConfig": ofK0s,
  "k0sctl.k0sproject.io/Cluster": ({ spec }) => {
    const config = isFields(spec) && isFields(spec["k0s"]) ? spec["k0s"]["config"] : undefined;
    return ofK0s(mappingOf(config));
  },
};

/** What shows by itself where a cluster runs, though it asks for nothing. */
function ofPlatform(fields: Fields): Asked {
  const cloud = cloudOfAnnotations(fields);
  if (cloud !== undefined) return ofCloud(NETWORK_OF_CLOUD[cloud]);
  // Windows nodes of OpenShift have the hybrid overlay (https://docs.openshift.com/container-platform/latest/windows_containers/).
  return ofCloud("ovn-hybrid-overlay");
}

/** What the definitions of an input ask for, and where it runs as kinds and annotations show. Nodes show that better. */
export function signsOfDefinitions({ definitions, nodes }: Evidence): readonly Sign[] {
  return definitions.flatMap(({ source, where, group, kind, fields, isSign }) => {
    if (isSign) return nodes.length > 0 ? [] : [{ ...ofPlatform(fields), source, where }];
    const asked = READERS[`${group}/${kind}`]?.(fields);
    return asked === undefined ? [] : [{ ...asked, source, where }];
  });
}
