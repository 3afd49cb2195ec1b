/** Examples of the rules of `kube-proxy.ts` and `kube-proxy-options.ts`. */
import { type ExampleInput, type ExampleTable, oneFile } from "./example-input.ts";

function script(
  flags: string,
  options: { readonly kubernetes?: string; readonly profile?: string } = {},
): ExampleInput {
  return oneFile("start-kubeproxy.ps1", `C:\\k\\kube-proxy.exe ${flags}\n`, options);
}

const FLAGS = "--hostname-override=win-1 --proxy-mode=kernelspace --network-name=vxlan0";
const GOOD = script(`${FLAGS} --source-vip=10.244.3.2`);

function configuration(
  fields: string,
  options: { readonly kubernetes?: string; readonly profile?: string } = {},
): ExampleInput {
  return oneFile(
    "kube-proxy.yaml",
    `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: kernelspace
${fields}`,
    options,
  );
}

const NETWORK = "winkernel:\n  networkName: cbr0\n";

const CNI = `{
  "cniVersion": "0.3.1",
  "name": "vxlan0",
  "type": "flannel",
  "capabilities": { "dns": true },
  "delegate": { "type": "win-overlay", "apiVersion": 2 }
}
`;

function withCni(flags: string): ExampleInput {
  return {
    files: [
      { name: "start-kubeproxy.ps1", text: `C:\\k\\kube-proxy.exe ${flags}\n` },
      { name: "10-flannel.conf", text: CNI },
    ],
  };
}

const NODE = `apiVersion: v1
kind: Node
metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
spec: { podCIDR: 10.244.3.0/24 }
`;

function withNode(flags: string): ExampleInput {
  return {
    files: [
      { name: "start-kubeproxy.ps1", text: `C:\\k\\kube-proxy.exe ${flags}\n` },
      { name: "node.yaml", text: NODE },
    ],
  };
}

export const KUBE_PROXY_EXAMPLES: ExampleTable = {
  "kube-proxy-mode-not-for-windows": {
    bad: script("--hostname-override=win-1 «--proxy-mode=ipvs --network-name=cbr0"),
    good: GOOD,
  },
  "kube-proxy-without-network-name": {
    bad: script("--hostname-override=win-1 «--proxy-mode=kernelspace"),
    good: oneFile(
      "start-kubeproxy.ps1",
      `$env:KUBE_NETWORK = "cbr0"
C:\\k\\kube-proxy.exe --hostname-override=win-1 --proxy-mode=kernelspace
`,
    ),
  },
  "kube-proxy-network-name-mismatch": {
    bad: withCni("--hostname-override=win-1 «--network-name=VXLAN0 --source-vip=10.244.3.2"),
    good: withCni("--hostname-override=win-1 --network-name=vxlan0 --source-vip=10.244.3.2"),
  },
  "kube-proxy-without-source-vip": {
    bad: withCni("--hostname-override=win-1 «--network-name=vxlan0"),
    good: withCni("--hostname-override=win-1 --network-name=vxlan0 --source-vip=$vip"),
  },
  "kube-proxy-source-vip-invalid": {
    bad: withNode(`${FLAGS} «--source-vip=10.244.3.1`),
    good: withNode(`${FLAGS} --source-vip=10.244.3.2`),
  },
  "kube-proxy-hostname-override-missing": {
    bad: script("--proxy-mode=kernelspace «--network-name=cbr0"),
    good: GOOD,
  },
  "kube-proxy-address-invalid": {
    bad: configuration(
      `clusterCIDR: «10.244.0.0\nhealthzBindAddress: «0.0.0.0:99999\n${NETWORK}hostnameOverride: win-1\n`,
    ),
    good: configuration(
      `clusterCIDR: 10.244.0.0/16\nhealthzBindAddress: 0.0.0.0:10256\n${NETWORK}hostnameOverride: win-1\n`,
    ),
  },
  "kube-proxy-dsr-without-gate": {
    bad: script(`${FLAGS} --source-vip=10.244.3.2 «--enable-dsr=true`, { kubernetes: "1.30" }),
    good: script(`${FLAGS} --source-vip=10.244.3.2 --enable-dsr=true --feature-gates=WinDSR=true`, {
      kubernetes: "1.30",
    }),
  },
  "kube-proxy-dsr-without-support": {
    bad: script(`${FLAGS} --source-vip=10.244.3.2 «--enable-dsr=true`, { profile: "ws2019.500" }),
    good: script(`${FLAGS} --source-vip=10.244.3.2 --enable-dsr=true`, { profile: "ws2019.1432" }),
  },
  "kube-proxy-feature-gate-refused": {
    bad: script(`${FLAGS} --source-vip=10.244.3.2 «--feature-gates=IPv6DualStack=false`, {
      kubernetes: "1.30",
    }),
    good: script(`${FLAGS} --source-vip=10.244.3.2 --feature-gates=WinDSR=true,WinOverlay=true`, {
      kubernetes: "1.34",
    }),
  },
  "kube-proxy-flags-beside-config": {
    bad: script("--config=C:\\k\\proxy.yaml --hostname-override=win-1 «--network-name=cbr0"),
    good: script("--config=C:\\k\\proxy.yaml --hostname-override=win-1 --v=4"),
  },
  "kube-proxy-flag-refused": {
    bad: script(`${FLAGS} --source-vip=10.244.3.2 «--log-dir=C:\\k\\logs`, { kubernetes: "1.30" }),
    good: script(`${FLAGS} --source-vip=10.244.3.2 --v=4`, { kubernetes: "1.30" }),
  },
  "kube-proxy-field-unknown": {
    bad: configuration("winkernel:\n  networkName: vxlan0\n  «sourceVIP: 10.244.3.2\n"),
    good: configuration("winkernel:\n  networkName: vxlan0\n  sourceVip: 10.244.3.2\n"),
  },
  "kube-proxy-option-ignored": {
    bad: configuration(`nodePortAddresses: «[10.0.0.0/24]\n${NETWORK}`),
    good: configuration(NETWORK),
  },
};
