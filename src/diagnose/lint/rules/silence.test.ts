/** What looks like a fault and is none: the rules say nothing about it. */
import { describe, expect, it } from "vitest";
import { lint } from "../lint.ts";
import { SourceText } from "#core/base/source-text.ts";

type File = readonly [name: string, text: string];

function findingsIn(...files: readonly File[]): readonly string[] {
  const sources = files.map(([name, text]) => new SourceText(name, text));
  return lint({ sources }).findings.map(({ code, line }) => `${code}:${line}`);
}

const KUBEADM_CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata: { name: kube-proxy, namespace: kube-system }
data:
  config.conf: |
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    bindAddress: 0.0.0.0
    clusterCIDR: 10.244.0.0/16
    healthzBindAddress: ""
    mode: ipvs
    nodePortAddresses: null
    winkernel:
      enableDSR: false
      forwardHealthCheckVip: false
      networkName: ""
      rootHnsEndpointName: ""
      sourceVip: ""
`;

const LINUX_FLANNEL = `apiVersion: v1
kind: ConfigMap
metadata: { name: kube-flannel-cfg }
data:
  cni-conf.json: |
    {
      "name": "cbr0",
      "cniVersion": "0.3.1",
      "plugins": [
        { "type": "flannel", "delegate": { "hairpinMode": true, "isDefaultGateway": true } },
        { "type": "portmap", "capabilities": { "portMappings": true } }
      ]
    }
  net-conf.json: |
    { "Network": "10.244.0.0/16", "EnableNFTables": false, "Backend": { "Type": "vxlan" } }
`;

const AZURE_LINUX = `{
  "cniVersion": "0.3.0",
  "name": "azure",
  "plugins": [
    { "type": "azure-vnet", "mode": "transparent", "ipam": { "type": "azure-cns" }, "windowsSettings": {} },
    { "type": "portmap", "capabilities": { "portMappings": true }, "snat": true }
  ]
}
`;

const ANTREA = `{
  "cniVersion": "0.3.0",
  "name": "antrea",
  "plugins": [{ "type": "antrea", "ipam": { "type": "host-local" }, "capabilities": { "dns": true } }]
}
`;

const FILLED_IN_BY_INSTALLER = `apiVersion: v1
kind: ConfigMap
metadata: { name: kube-flannel-windows-cfg }
data:
  cni-conf-containerd.json: |
    {
      "name": "flannel.4096",
      "cniVersion": "0.2.0",
      "type": "flannel",
      "capabilities": { "portMappings": true, "dns": true },
      "delegate": {
        "type": "sdnoverlay",
        "AdditionalArgs": [
          { "Name": "EndpointPolicy",
            "Value": { "Type": "OutBoundNAT", "Settings": { "Exceptions": [] } } },
          { "Name": "EndpointPolicy",
            "Value": { "Type": "SDNROUTE", "Settings": { "DestinationPrefix": "", "NeedEncap": true } } },
          { "Name": "EndpointPolicy",
            "Value": { "Type": "ProviderAddress", "Settings": { "ProviderAddress": "" } } }
        ]
      }
    }
`;

const EXTERNAL_NETWORK = `{
  "Name": "External",
  "Type": "Overlay",
  "State": 1,
  "CurrentEndpointCount": 0,
  "Policies": [],
  "Subnets": [{ "AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1", "Policies": [] }]
}
`;

const SOURCE_VIP = '{"cniVersion":"0.2.0","ip4":{"ip":"10.244.1.2/24","gateway":"10.244.1.1"},"dns":{}}\n';

const EXTENSION = `{
  "Network": "10.244.0.0/16",
  "Backend": { "Type": "extension", "SubnetAddCommand": "ip route add $SUBNET via $PUBLIC_IP" }
}
`;

const UNRENDERED = `{
  "cniVersion": "0.3.0",
  "name": "antrea",
  "plugins": [
    { "type": "antrea" }
    {{- if .Values.portmap }}
    ,{ "type": "portmap" }
    {{- end }}
  ]
}
`;

const TWO_PROGRAMS = `C:\\k\\kube-proxy.exe --v=4 --proxy-mode=kernelspace --hostname-override=$(hostname) --network-name=cbr0
# kube-proxy also knows --log-dir and --cleanup
C:\\k\\antrea-agent.exe --config=C:\\k\\agent.conf --logtostderr=false
C:\\k\\kubelet.exe --config=C:\\k\\kubelet.yaml --feature-gates=IPv6DualStack=true
`;

/** Inside a text of PowerShell a backtick stands before a quote (about_Quoting_Rules). */
const QUOTED_IN_TEXT = [
  'nssm set kubelet AppParameters "--pod-infra-container-image=`"$PauseImage`" --cni-bin-dir=`"c:\\k\\cni`""',
  'nssm set kube-proxy AppParameters "kube-proxy.exe --v=4 --hostname-override=`"$Node`" --network-name=`"cbr0`""',
].join("\n");

const AZURE_DSR = `{
  "cniVersion": "0.3.0",
  "name": "azure",
  "plugins": [
    {
      "type": "azure-vnet",
      "capabilities": { "portMappings": true, "dns": true },
      "ipam": { "type": "azure-vnet-ipam" },
      "AdditionalArgs": [
        { "Name": "EndpointPolicy", "Value": { "Type": "LoopbackDSR", "IPAddress": "10.240.0.4" } }
      ]
    }
  ]
}
`;

describe("nothing is said about", () => {
  it.each<readonly [what: string, file: string, text: string]>([
    ["the empty winkernel that kubeadm writes for Linux nodes", "kube-proxy.yaml", KUBEADM_CONFIG_MAP],
    ["flannel's manifest for Linux nodes alone", "kube-flannel.yml", LINUX_FLANNEL],
    ["azure-vnet for Linux with empty windowsSettings", "10-azure.conflist", AZURE_LINUX],
    ["host-local without a range under a plugin that fills it in", "10-antrea.conflist", ANTREA],
    ["a ConfigMap that its installer fills in", "flannel-overlay.yml", FILLED_IN_BY_INSTALLER],
    ["the empty Policies of the network External", "networks.json", EXTERNAL_NETWORK],
    ["a CNI result that is kept in a file", "sourceVip.json", SOURCE_VIP],
    ["variables in commands of flannel's extension back end", "net-conf.json", EXTENSION],
    ["a template that is not rendered", "antrea-cni.conflist", UNRENDERED],
    ["flags of other programs, and flags in comments", "start.ps1", TWO_PROGRAMS],
    ["values in quotes within a text of PowerShell", "start.ps1", QUOTED_IN_TEXT],
    ["LoopbackDSR, which azure-vnet makes a policy of", "10-azure.conflist", AZURE_DSR],
  ])("%s", (_, file, text) => {
    expect(findingsIn([file, text])).toEqual([]);
  });

  it("ranges of files that belong to different clusters", () => {
    const netConf = (network: string): string =>
      `{ "Network": "${network}", "Backend": { "Type": "vxlan", "VNI": 4096, "Port": 4789 } }\n`;
    const overlay = `{
      "cniVersion": "0.3.1", "name": "flannel.4096", "type": "flannel", "capabilities": { "dns": true },
      "delegate": { "type": "win-overlay", "apiVersion": 2, "policies": [
        { "name": "EndpointPolicy", "value": {
          "Type": "OutBoundNAT", "Settings": { "Exceptions": ["10.1.0.0/16"] } } }] }
    }`;
    const found = findingsIn(
      ["a/net-conf.json", netConf("10.244.0.0/16")],
      ["b/net-conf.json", netConf("192.168.0.0/16")],
      ["c/10-flannel.conf", overlay],
    );
    expect(found).toEqual([]);
  });
});

describe("a template that is not rendered", () => {
  it("is passed by with its place", () => {
    const { passedBy } = lint({ sources: [new SourceText("antrea-cni.conflist", UNRENDERED)] });
    expect(passedBy).toEqual([
      { file: "antrea-cni.conflist", line: 6, reason: "a template that is not rendered" },
    ]);
  });
});
