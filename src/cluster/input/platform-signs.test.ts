// Where a cluster runs shows its network also without Nodes: documents that clusters are made from, labels that selectors
// name, kinds of OpenShift. The labels and fields are those of each product's documentation.
import { describe, expect, it } from "vitest";
import { readInput } from "./read-input.ts";

const POD = "kind: Pod\nmetadata: { name: a }";

function pod(spec: string): string {
  return `apiVersion: v1\n${POD}\nspec: { ${spec}, containers: [{ name: c, image: c }] }\n`;
}

function affinity(expression: string): string {
  return pod(
    `affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [${expression}] }] } } }`,
  );
}

function document(kind: string, rest: string): string {
  const [group = "", name = ""] = kind.split(" ");
  return `apiVersion: ${group}\nkind: ${name}\nmetadata: { name: made }\n${rest}\n`;
}

function read(text: string): { readonly shown: string; readonly version: string; readonly limits: number } {
  const result = readInput([
    { name: "a.yaml", text: `${pod("nodeSelector: {}").replace("a }", "z }")}---\n${text}` },
  ]);
  if (!("input" in result)) throw new Error(JSON.stringify(result.problems));
  const { facts, limits } = result.input;
  const of = (wanted: string): string => {
    const found = facts.find(({ name }) => name === wanted);
    return found === undefined ? "" : `${found.value} | ${found.source}`;
  };
  return { shown: of("network plugin"), version: of("Kubernetes version"), limits: limits.length };
}

const NOTHING = "win-bridge | assumed";

describe("labels that pods ask their nodes for", () => {
  it.each<readonly [what: string, text: string, shown: string, limits: number]>([
    ["EKS", pod("nodeSelector: { eks.amazonaws.com/nodegroup: win }"), "vpc-bridge | pod/default/a", 1],
    ["eksctl", pod("nodeSelector: { alpha.eksctl.io/nodegroup-name: win }"), "vpc-bridge | pod/default/a", 1],
    [
      "Karpenter on EKS",
      affinity("{ key: karpenter.k8s.aws/instance-family, operator: In, values: [m5] }"),
      "vpc-bridge | pod/default/a",
      1,
    ],
    [
      "AKS",
      pod("nodeSelector: { kubernetes.azure.com/os-sku: Windows2022 }"),
      "azure-vnet | pod/default/a",
      0,
    ],
    ["GKE", pod("nodeSelector: { cloud.google.com/gke-nodepool: win }"), "win-bridge | pod/default/a", 0],
    [
      "OpenShift",
      pod("nodeSelector: { node.openshift.io/os_id: Windows }"),
      "win-overlay (OVN-Kubernetes hybrid overlay) | pod/default/a",
      1,
    ],
    ["nobody's", pod("nodeSelector: { agentpool: win }"), NOTHING, 0],
    [
      "what a pod keeps away from",
      affinity("{ key: eks.amazonaws.com/compute-type, operator: NotIn, values: [fargate] }"),
      NOTHING,
      0,
    ],
    [
      "what a pod only tolerates",
      pod("tolerations: [{ key: eks.amazonaws.com/compute-type, operator: Exists }]"),
      NOTHING,
      0,
    ],
  ])("%s", (_, text, shown, limits) => {
    expect(read(text)).toMatchObject({ shown, limits });
  });

  it("those of a RuntimeClass as well", () => {
    const runtimeClass = document(
      "node.k8s.io/v1 RuntimeClass",
      "handler: h\nscheduling: { nodeSelector: { eks.amazonaws.com/nodegroup: win } }",
    );
    expect(read(runtimeClass).shown).toBe("vpc-bridge | runtimeclass/made");
  });

  it("Nodes say it themselves", () => {
    const node =
      "apiVersion: v1\nkind: Node\nmetadata: { name: node-1, labels: { kubernetes.io/os: windows } }\nstatus: { addresses: [{ type: InternalIP, address: 10.0.0.4 }] }\n";
    expect(read(`${node}---\n${pod("nodeSelector: { eks.amazonaws.com/nodegroup: win }")}`).shown).toBe(
      NOTHING,
    );
  });

  it("of two clouds contradict", () => {
    const both = `${pod("nodeSelector: { eks.amazonaws.com/nodegroup: win }")}---\n${pod("nodeSelector: { kubernetes.azure.com/mode: user }").replace("a }", "b }")}`;
    expect(read(both).limits).toBeGreaterThan(0);
  });
});

// https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html,
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/service/nlb/,
// https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity
describe("annotations that are one cloud's", () => {
  const annotated = (kind: string, annotation: string, rest: string): string =>
    `apiVersion: v1\nkind: ${kind}\nmetadata: { name: b, annotations: { ${annotation} } }\n${rest}`;

  it.each<readonly [what: string, text: string, shown: string]>([
    [
      "a role of EKS",
      annotated("ServiceAccount", "eks.amazonaws.com/role-arn: arn:aws:iam::1:role/r", ""),
      "vpc-bridge | a.yaml",
    ],
    [
      "a load balancer that sends to pods",
      annotated(
        "Service",
        "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip",
        "spec: { ports: [{ port: 80 }] }\n",
      ),
      "vpc-bridge | service/default/b",
    ],
    [
      "one that sends to nodes",
      annotated(
        "Service",
        "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance",
        "spec: { ports: [{ port: 80 }] }\n",
      ),
      NOTHING,
    ],
    [
      "an identity of GKE",
      annotated("ServiceAccount", "iam.gke.io/gcp-service-account: a@b.iam.gserviceaccount.com", ""),
      "win-bridge | a.yaml",
    ],
  ])("%s", (_, text, shown) => {
    expect(read(text).shown).toBe(shown);
  });

  it("of somebody who has moved count less than Nodes", () => {
    const node =
      "apiVersion: v1\nkind: Node\nmetadata: { name: node-1, labels: { kubernetes.io/os: windows } }\nstatus: { addresses: [{ type: InternalIP, address: 10.0.0.4 }] }\n";
    const account = annotated("ServiceAccount", "eks.amazonaws.com/role-arn: arn:aws:iam::1:role/r", "");
    expect(read(`${node}---\n${account}`).shown).toBe(NOTHING);
  });
});

describe("documents that clusters are made from", () => {
  it.each<readonly [what: string, text: string, shown: string, limits: number]>([
    [
      "eksctl",
      document(
        "eksctl.io/v1alpha5 ClusterConfig",
        "nodeGroups: [{ name: w, amiFamily: WindowsServer2022FullContainer }]",
      ),
      "vpc-bridge | a.yaml",
      1,
    ],
    [
      "Cluster API, EKS",
      document("controlplane.cluster.x-k8s.io/v1beta2 AWSManagedControlPlane", "spec: {}"),
      "vpc-bridge | a.yaml",
      1,
    ],
    [
      "EKS without its plugin",
      document(
        "controlplane.cluster.x-k8s.io/v1beta2 AWSManagedControlPlane",
        "spec: { vpcCni: { disable: true } }",
      ),
      NOTHING,
      0,
    ],
    [
      "AWS Controllers for Kubernetes",
      document("eks.services.k8s.aws/v1alpha1 Cluster", "spec: {}"),
      "vpc-bridge | a.yaml",
      1,
    ],
    [
      "Cluster API, AKS",
      document("infrastructure.cluster.x-k8s.io/v1beta1 AzureManagedControlPlane", "spec: {}"),
      "azure-vnet | a.yaml",
      0,
    ],
    [
      "AKS with kubenet",
      document(
        "infrastructure.cluster.x-k8s.io/v1beta1 AzureManagedControlPlane",
        "spec: { networkPlugin: kubenet }",
      ),
      "kubenet | a.yaml",
      0,
    ],
    [
      "AKS with a plugin of one's own",
      document(
        "infrastructure.cluster.x-k8s.io/v1beta1 AzureManagedControlPlane",
        "spec: { networkPlugin: none }",
      ),
      NOTHING,
      0,
    ],
    [
      "Azure Service Operator",
      document(
        "containerservice.azure.com/v1api20240901 ManagedCluster",
        "spec: { networkProfile: { networkPlugin: azure, networkPluginMode: overlay } }",
      ),
      "azure-vnet | a.yaml",
      0,
    ],
    [
      "GKE",
      document("container.cnrm.cloud.google.com/v1beta1 ContainerCluster", "spec: {}"),
      "win-bridge | a.yaml",
      0,
    ],
    [
      "Rancher, Calico",
      document(
        "provisioning.cattle.io/v1 Cluster",
        "spec: { rkeConfig: { machineGlobalConfig: { cni: calico } } }",
      ),
      "calico | a.yaml",
      1,
    ],
    [
      "Rancher, flannel",
      document(
        "provisioning.cattle.io/v1 Cluster",
        "spec: { rkeConfig: { machineGlobalConfig: { cni: flannel } } }",
      ),
      "flannel (delegates to win-overlay) | a.yaml",
      0,
    ],
    [
      "Rancher, Canal",
      document(
        "provisioning.cattle.io/v1 Cluster",
        "spec: { rkeConfig: { machineGlobalConfig: { cni: canal } } }",
      ),
      "Canal | a.yaml",
      1,
    ],
    [
      "Rancher, nothing said",
      document("provisioning.cattle.io/v1 Cluster", "spec: { rkeConfig: {} }"),
      NOTHING,
      0,
    ],
    [
      "RKE2 by Cluster API",
      document(
        "controlplane.cluster.x-k8s.io/v1beta1 RKE2ControlPlane",
        "spec: { serverConfig: { cni: cilium } }",
      ),
      "cilium | a.yaml",
      1,
    ],
    [
      "k0s",
      document(
        "k0s.k0sproject.io/v1beta1 ClusterConfig",
        "spec: { network: { provider: calico, calico: { mode: bird } } }",
      ),
      "calico | a.yaml",
      1,
    ],
    [
      "k0s as it comes",
      document("k0s.k0sproject.io/v1beta1 ClusterConfig", "spec: {}"),
      "kube-router | a.yaml",
      1,
    ],
    [
      "k0sctl",
      document(
        "k0sctl.k0sproject.io/v1beta1 Cluster",
        "spec: { k0s: { config: { spec: { network: { provider: calico } } } } }",
      ),
      "calico | a.yaml",
      1,
    ],
    [
      "OpenShift by its kinds",
      document("route.openshift.io/v1 Route", "spec: {}"),
      "win-overlay (OVN-Kubernetes hybrid overlay) | a.yaml",
      1,
    ],
    ["somebody else's of that name", document("example.org/v1 ClusterConfig", "spec: {}"), NOTHING, 0],
  ])("%s", (_, text, shown, limits) => {
    expect(read(text)).toMatchObject({ shown, limits });
  });

  it.each([
    [
      "eksctl",
      "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: a, version: '1.31' }\n",
      "1.31",
    ],
    [
      "Rancher",
      document("provisioning.cattle.io/v1 Cluster", "spec: { kubernetesVersion: v1.30.4+rke2r1 }"),
      "1.30.4",
    ],
    [
      "Cluster API",
      document("controlplane.cluster.x-k8s.io/v1beta2 AWSManagedControlPlane", "spec: { version: v1.32.0 }"),
      "1.32.0",
    ],
  ])("the version of %s", (_, text, version) => {
    expect(read(text).version).toBe(`${version} | a.yaml`);
  });

  // https://docs.aws.amazon.com/eks/latest/eksctl/windows-worker-nodes.html
  it("eksctl's node groups say which builds there are", () => {
    const text =
      "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: a }\nmanagedNodeGroups: [{ name: l }, { name: w, amiFamily: WindowsServer2019CoreContainer }]\n";
    const result = readInput([
      { name: "a.yaml", text: `${pod("nodeSelector: { kubernetes.io/os: windows }")}---\n${text}` },
    ]);
    if (!("input" in result)) throw new Error(JSON.stringify(result.problems));
    const builds = result.input.file.nodes.flatMap((node) =>
      node.os === "windows" ? node.build?.profile.name : [],
    );
    expect(builds).toEqual(["ws2019", "ws2019"]);
  });

  it("kinds that show where a cluster runs make none by themselves", () => {
    const result = readInput([{ name: "a.yaml", text: document("route.openshift.io/v1 Route", "spec: {}") }]);
    expect(result).toMatchObject({ problems: [{ code: "input-without-documents" }] });
  });

  it("beside a cluster file they are no configuration that is ignored", () => {
    const cluster =
      "apiVersion: mullion/v1alpha1\nkind: Cluster\nmetadata: { name: a }\nnodes: [{ name: win-1, os: windows, address: 10.0.0.11 }]\n";
    const result = readInput([
      { name: "cluster.yaml", text: cluster },
      { name: "a.yaml", text: document("route.openshift.io/v1 Route", "spec: {}") },
    ]);
    if (!("input" in result)) throw new Error(JSON.stringify(result.problems));
    expect(result.input.notes.map(({ code }) => code)).not.toContain("cluster-assumed");
  });
});
