/** Examples of the rules of `flannel.ts` and `subnet-env.ts`. */
import { type ExampleInput, type ExampleTable, oneFile } from "./example-input.ts";

function vxlan(backend: string, network = '"10.244.0.0/16"', more = ""): string {
  return `{
  "Network": ${network},${more}
  "Backend": { "Type": "vxlan", ${backend} }
}
`;
}

function netConf(text: string): ExampleInput {
  return oneFile("net-conf.json", text, { isWindows: true });
}

const GOOD = netConf(vxlan('"VNI": 4096, "Port": 4789'));

const NODE = `apiVersion: v1
kind: Node
metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
spec: { podCIDR: 10.244.3.0/24 }
status:
  addresses: [{ type: InternalIP, address: 10.0.0.7 }]
`;

function withNode(text: string): ExampleInput {
  return {
    files: [
      { name: "net-conf.json", text },
      { name: "nodes.yaml", text: NODE },
    ],
  };
}

const KUBEADM = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking: { serviceSubnet: 10.96.0.0/12 }
`;

function withKubeadm(text: string): ExampleInput {
  return {
    files: [
      { name: "net-conf.json", text },
      { name: "kubeadm.yaml", text: KUBEADM },
    ],
  };
}

const ENVIRONMENT = `FLANNEL_NETWORK=10.244.0.0/16
FLANNEL_SUBNET=10.244.3.1/24
FLANNEL_MTU=1450
FLANNEL_IPMASQ=true
`;

export const FLANNEL_EXAMPLES: ExampleTable = {
  "flannel-vni-below-4096": {
    bad: netConf(vxlan('"VNI": «1, "Port": 4789')),
    good: GOOD,
  },
  "flannel-vni-other-than-4096": {
    bad: netConf(vxlan('"VNI": «5000, "Port": 4789')),
    good: GOOD,
  },
  "flannel-vxlan-port-not-4789": {
    bad: netConf(vxlan('"VNI": 4096, "Port": «8472')),
    good: GOOD,
  },
  "flannel-vxlan-defaults-differ": {
    bad: netConf(vxlan('"Name": "vxlan0"').replace('"Backend"', '«"Backend"')),
    good: oneFile("net-conf.json", vxlan('"MTU": 1400')),
  },
  "flannel-backend-not-for-windows": {
    bad: netConf(`{ "Network": "10.244.0.0/16", "Backend": { "Type": «"wireguard" } }\n`),
    good: netConf(`{ "Network": "10.244.0.0/16", "Backend": { "Type": "Host-GW" } }\n`),
  },
  "flannel-option-not-for-windows": {
    bad: netConf(vxlan('"VNI": 4096, "Port": 4789, «"DirectRouting": true, "MacPrefix": «"0E2A"')),
    good: GOOD,
  },
  "flannel-network-invalid": {
    bad: netConf(vxlan('"VNI": 4096, "Port": 4789', '«"10.244.0.0"')),
    good: GOOD,
  },
  "flannel-network-overlaps": {
    bad: withKubeadm(vxlan('"VNI": 4096, "Port": 4789', '«"10.0.0.0/8"')),
    good: withKubeadm(vxlan('"VNI": 4096, "Port": 4789')),
  },
  "flannel-network-without-node-range": {
    bad: withNode(vxlan('"VNI": 4096, "Port": 4789', '«"10.10.0.0/16"')),
    good: withNode(vxlan('"VNI": 4096, "Port": 4789')),
  },
  "flannel-subnet-length-invalid": {
    bad: netConf(vxlan('"VNI": 4096, "Port": 4789', undefined, '\n  "SubnetLen": «16,')),
    good: GOOD,
  },
  "subnet-env-incomplete": {
    bad: oneFile("subnet.env", `«${ENVIRONMENT.replace("FLANNEL_MTU=1450\n", "")}`),
    good: oneFile("subnet.env", ENVIRONMENT),
  },
  "subnet-env-subnet-outside-network": {
    bad: oneFile("subnet.env", ENVIRONMENT.replace("FLANNEL_SUBNET=10.244", "«FLANNEL_SUBNET=10.10")),
    good: oneFile("subnet.env", ENVIRONMENT),
  },
  "subnet-env-ipmasq-not-true": {
    bad: oneFile("subnet.env", ENVIRONMENT.replace("FLANNEL_IPMASQ=true", "«FLANNEL_IPMASQ=True")),
    good: oneFile("subnet.env", ENVIRONMENT),
  },
};
