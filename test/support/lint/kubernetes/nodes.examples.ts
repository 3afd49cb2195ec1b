/** Examples of the rules of `nodes.ts`. */
import { type ExampleFile, type ExampleInput, type ExampleTable, oneFile } from "../example-input.ts";

interface NodeLines {
  readonly name?: string;
  readonly os?: "windows" | "linux";
  readonly kernel?: string;
  readonly address?: string;
  readonly podCIDRs?: string;
  readonly annotations?: string;
}

function node({
  name = "win-1",
  os = "windows",
  kernel = "kernelVersion: 10.0.20348.2762",
  address = "address: 192.0.2.11",
  podCIDRs = "[10.244.1.0/24]",
  annotations,
}: NodeLines): string {
  const notes = annotations === undefined ? "" : `\n  annotations:\n    ${annotations}`;
  return `apiVersion: v1
kind: Node
metadata:
  name: ${name}${notes}
spec:
  podCIDRs: ${podCIDRs}
status:
  addresses:
    - type: InternalIP
      ${address}
  nodeInfo:
    operatingSystem: ${os}
    ${kernel}
    kubeletVersion: v1.34.1
    kubeProxyVersion: v1.34.1
`;
}

function nodes(...each: readonly NodeLines[]): ExampleInput {
  return oneFile("nodes.yaml", each.map(node).join("---\n"));
}

function withFiles(example: ExampleInput, ...files: readonly ExampleFile[]): ExampleInput {
  return { ...example, files: [...example.files, ...files] };
}

const OVERLAY: ExampleFile = {
  name: "10-vxlan0.conf",
  text: '{"cniVersion":"0.3.0","name":"vxlan0","type":"win-overlay","apiVersion":2,"capabilities":{"dns":true}}',
};
const BRIDGE: ExampleFile = {
  name: "10-cbr0.conf",
  text: '{"cniVersion":"0.3.0","name":"cbr0","type":"win-bridge","apiVersion":2,"capabilities":{"dns":true}}',
};
const DSR: ExampleFile = {
  name: "start.ps1",
  text: "C:\\k\\kube-proxy.exe --hostname-override=win-1 --network-name=cbr0 --enable-dsr=true\n",
};

const CLUSTER: ExampleFile = {
  name: "kubeadm.yaml",
  text: `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking: { podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12 }
`,
};

const LINUX: NodeLines = {
  name: "linux-1",
  os: "linux",
  kernel: "kernelVersion: 6.1.0",
  address: "address: 192.0.2.21",
  podCIDRs: "[10.244.0.0/24]",
};

function backend(vni: number): string {
  return `flannel.alpha.coreos.com/backend-data: '{"VNI":${vni},"VtepMAC":"0e:2a:14:00:00:01"}'`;
}

export const NODE_EXAMPLES: ExampleTable = {
  "windows-build-unsupported": {
    bad: nodes({ kernel: "«kernelVersion: 10.0.14393.4000" }),
    good: nodes({}),
  },
  "windows-update-denies-sockets": {
    bad: nodes({ kernel: "«kernelVersion: 10.0.20348.2582" }),
    good: nodes({ kernel: "kernelVersion: 10.0.20348.2762" }),
  },
  "windows-update-drops-overlay-rules": {
    bad: withFiles(nodes({ kernel: "«kernelVersion: 10.0.17763.1457" }), OVERLAY),
    good: withFiles(nodes({ kernel: "kernelVersion: 10.0.17763.1518" }), OVERLAY),
  },
  "overlay-needs-windows-update": {
    bad: withFiles(nodes({ kernel: "«kernelVersion: 10.0.17763.316" }), OVERLAY),
    good: withFiles(nodes({ kernel: "kernelVersion: 10.0.17763.379" }), OVERLAY),
  },
  "l2bridge-broken-with-dsr": {
    bad: withFiles(nodes({ kernel: "«kernelVersion: 10.0.20348.261" }), BRIDGE, DSR),
    good: withFiles(nodes({ kernel: "kernelVersion: 10.0.20348.230" }), BRIDGE, DSR),
  },
  "node-address-link-local": {
    bad: nodes({ address: "«address: 169.254.23.4" }),
    good: nodes({}),
  },
  "node-ranges-overlap": {
    bad: nodes({}, { name: "win-2", address: "address: 192.0.2.12", podCIDRs: "[«10.244.1.0/24]" }),
    good: nodes({}, { name: "win-2", address: "address: 192.0.2.12", podCIDRs: "[10.244.2.0/24]" }),
  },
  "service-range-holds-node": {
    bad: withFiles(nodes({ address: "«address: 10.105.1.4" }), CLUSTER),
    good: withFiles(nodes({}), CLUSTER),
  },
  "pod-range-holds-node": {
    bad: withFiles(nodes({ address: "«address: 10.244.7.4" }), CLUSTER),
    good: withFiles(nodes({}), CLUSTER),
  },
  "node-ipv6-only": {
    bad: nodes({ podCIDRs: '[«"fd00:10:244:1::/64"]' }),
    good: nodes({ podCIDRs: '[10.244.1.0/24, "fd00:10:244:1::/64"]' }),
  },
  "overlay-without-ipv6": {
    bad: withFiles(nodes({ podCIDRs: '[10.244.1.0/24, «"fd00:10:244:1::/64"]' }), OVERLAY),
    good: withFiles(nodes({ podCIDRs: '[10.244.1.0/24, "fd00:10:244:1::/64"]' }), BRIDGE),
  },
  "vxlan-identifiers-differ": {
    bad: nodes({ annotations: backend(4_096) }, { ...LINUX, annotations: `«${backend(1)}` }),
    good: nodes({ annotations: backend(4_096) }, { ...LINUX, annotations: backend(4_096) }),
  },
  "flannel-address-differs": {
    bad: nodes({ annotations: '«flannel.alpha.coreos.com/public-ip: "10.0.2.15"' }),
    good: nodes({ annotations: 'flannel.alpha.coreos.com/public-ip: "192.0.2.11"' }),
  },
};
