/** Examples of the rules of `providers.ts`. */
import { type ExampleInput, type ExampleTable, oneFile } from "../example-input.ts";

const WINDOWS_POD = `---
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: web, image: registry.example/web:1 }]
`;

function installation(lines: string): ExampleInput {
  return oneFile(
    "installation.yaml",
    `apiVersion: operator.tigera.io/v1
kind: Installation
metadata: { name: default }
spec:
${lines}`,
  );
}

function hybridNode(annotation: string): ExampleInput {
  return oneFile(
    "node.yaml",
    `apiVersion: v1
kind: Node
metadata:
  name: win-1
  annotations:
    k8s.ovn.org/hybrid-overlay-node-subnet: 10.132.0.0/24
    ${annotation}
  labels: { kubernetes.io/os: windows }
`,
  );
}

function hybrid(lines: string, profile: string): ExampleInput {
  return oneFile(
    "network.yaml",
    `apiVersion: operator.openshift.io/v1
kind: Network
metadata: { name: cluster }
spec:
  clusterNetwork: [{ cidr: 10.128.0.0/14, hostPrefix: 23 }]
  serviceNetwork: [172.30.0.0/16]
  defaultNetwork:
    type: OVNKubernetes
    ovnKubernetesConfig:
      hybridOverlayConfig:
${lines}`,
    { profile },
  );
}

const ROUTER_MAC = "k8s.ovn.org/hybrid-overlay-distributed-router-gateway-mac: 00-15-5D-7B-E7-D2";

/** A migration of the MTU, of pods and of machines. */
function mtu(pods: string, machines: string): ExampleInput {
  return oneFile(
    "network.yaml",
    `apiVersion: operator.openshift.io/v1
kind: Network
metadata: { name: cluster }
spec:
  migration:
    mtu: { network: { from: 1400, ${pods} }, machine: { ${machines} } }
`,
  );
}

/** A Windows node of OpenShift as a dump has it, with the Network of its cluster. */
function registered(name: string, range: string, mac: string, mark = ""): ExampleInput {
  return oneFile(
    "dump.yaml",
    `apiVersion: operator.openshift.io/v1
kind: Network
metadata: { name: cluster }
spec:
  clusterNetwork: [{ cidr: 10.128.0.0/14, hostPrefix: 23 }]
  defaultNetwork:
    type: OVNKubernetes
    ovnKubernetesConfig:
      hybridOverlayConfig: { hybridClusterNetwork: [{ cidr: 10.132.0.0/14, hostPrefix: 23 }] }
---
apiVersion: v1
kind: Node
metadata:
  ${name}
  annotations:
    ${mark}k8s.ovn.org/hybrid-overlay-node-subnet: ${range}
    ${mac}
  labels: { kubernetes.io/os: windows }
status: { nodeInfo: { machineID: 5f0e, operatingSystem: windows } }
`,
  );
}

function calicoObject(kind: string, spec: string): ExampleInput {
  return oneFile(
    "calico.yaml",
    `apiVersion: crd.projectcalico.org/v1
kind: ${kind}
metadata: { name: default }
spec: { ${spec} }
${WINDOWS_POD}`,
  );
}

function eks(value: string, mark: string): ExampleInput {
  return oneFile(
    "vpc-cni.yaml",
    `apiVersion: v1
kind: ConfigMap
metadata: { name: amazon-vpc-cni, namespace: kube-system }
data: { ${mark}enable-windows-ipam: "${value}" }
${WINDOWS_POD}`,
  );
}

export const PROVIDER_EXAMPLES: ExampleTable = {
  "calico-encapsulation-unsupported": {
    bad: installation(
      "  serviceCIDRs: [10.96.0.0/12]\n  calicoNetwork:\n    windowsDataplane: HNS\n    ipPools: [{ cidr: 10.244.0.0/16, «encapsulation: IPIP }]\n",
    ),
    good: installation(
      "  serviceCIDRs: [10.96.0.0/12]\n  calicoNetwork:\n    windowsDataplane: HNS\n    ipPools: [{ cidr: 10.244.0.0/16, encapsulation: VXLAN }]\n",
    ),
  },
  "calico-service-ranges-missing": {
    bad: installation("  calicoNetwork:\n    «windowsDataplane: HNS\n"),
    good: installation("  serviceCIDRs: [10.96.0.0/12]\n  calicoNetwork:\n    windowsDataplane: HNS\n"),
  },
  "calico-strict-affinity-off": {
    bad: calicoObject("IPAMConfig", "«strictAffinity: false"),
    good: calicoObject("IPAMConfig", "strictAffinity: true"),
  },
  "calico-vxlan-identifier-too-low": {
    bad: calicoObject("FelixConfiguration", "«vxlanVNI: 1"),
    good: calicoObject("FelixConfiguration", "vxlanVNI: 4096"),
  },
  "hybrid-overlay-port-unsupported": {
    bad: hybrid(
      "        hybridClusterNetwork: [{ cidr: 10.132.0.0/14, hostPrefix: 23 }]\n        «hybridOverlayVXLANPort: 9898\n",
      "ws2019",
    ),
    good: hybrid(
      "        hybridClusterNetwork: [{ cidr: 10.132.0.0/14, hostPrefix: 23 }]\n        hybridOverlayVXLANPort: 9898\n",
      "ws2022",
    ),
  },
  "hybrid-overlay-range-overlaps": {
    bad: hybrid("        hybridClusterNetwork: [{ «cidr: 10.130.0.0/16, hostPrefix: 23 }]\n", "ws2022"),
    good: hybrid("        hybridClusterNetwork: [{ cidr: 10.132.0.0/14, hostPrefix: 23 }]\n", "ws2022"),
  },
  "hybrid-overlay-annotation-invalid": {
    bad: hybridNode('«k8s.ovn.org/hybrid-overlay-distributed-router-gateway-mac: "00-15-5D-9D-E0"'),
    good: hybridNode('k8s.ovn.org/hybrid-overlay-distributed-router-gateway-mac: "00-15-5D-9D-E0-C2"'),
  },
  "hybrid-overlay-annotation-missing": {
    bad: registered("«name: win-1", "10.132.0.0/23", ""),
    good: registered("name: win-1", "10.132.0.0/23", ROUTER_MAC),
  },
  "cluster-ranges-contradict": {
    bad: registered("name: win-1", "10.144.0.0/23", ROUTER_MAC, "«"),
    good: registered("name: win-1", "10.132.0.0/23", ROUTER_MAC),
  },
  "ovn-mtu-too-large": { bad: mtu("«to: 1500", "to: 1500"), good: mtu("to: 1400", "to: 1500") },
  "ovn-mtu-invalid": { bad: mtu("«to: 500", "to: 1500"), good: mtu("to: 1400", "to: 1500") },
  "eks-windows-addresses-off": { bad: eks("false", "«"), good: eks("true", "") },
};
