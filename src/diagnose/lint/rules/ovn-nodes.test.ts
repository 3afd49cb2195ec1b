// Annotations of Nodes on OVN-Kubernetes beside each other: forms of the annotations as OpenShift's and ovn-kubernetes' own files have them.
import { describe, expect, it } from "vitest";
import { lintExample, oneFile } from "#test/support/lint/example-input.ts";

function node(name: string, os: string, ...annotations: readonly string[]): string {
  const lines = annotations.map((each) => `    k8s.ovn.org/${each}\n`).join("");
  return `apiVersion: v1
kind: Node
metadata:
  name: ${name}
  labels: { kubernetes.io/os: ${os} }
  annotations:
${lines}`;
}

function network(fields: string): string {
  return `apiVersion: operator.openshift.io/v1
kind: Network
metadata: { name: cluster }
spec:
  clusterNetwork: [{ cidr: 10.128.0.0/14, hostPrefix: 23 }]
  defaultNetwork: { ovnKubernetesConfig: { ${fields} } }
`;
}

/** Of pods and of machines, as `oc patch Network.operator.openshift.io` writes it. */
function migration(pods: number, machines: number): string {
  return `${network("")}  migration: { mtu: { network: { from: 1400, to: ${pods} }, machine: { to: ${machines} } } }\n`;
}

const HYBRID = "hybridClusterNetwork: [{ cidr: 10.132.0.0/14, hostPrefix: 23 }]";
const MAC = "hybrid-overlay-distributed-router-gateway-mac: 00-15-5D-7B-E7-D2";
const ONE = node("a", "linux", `node-subnets: '{"default":["10.130.0.0/23","fd01:0:0:2::/64"]}'`);

describe("what lint says of", () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ["a list of both families", [ONE], []],
    [
      "the older form with the same range at another node",
      [ONE, node("b", "linux", `node-subnets: '{"default":"10.130.0.0/23"}'`)],
      ["node-ranges-overlap: 10.130.0.0/23 overlaps with 10.130.0.0/23 of Node a"],
    ],
    [
      "a hybrid range inside one of OVN",
      [ONE, node("win-1", "windows", "hybrid-overlay-node-subnet: 10.130.1.0/24", MAC)],
      ["node-ranges-overlap: 10.130.1.0/24 overlaps with 10.130.0.0/23 of Node a"],
    ],
    [
      "both ranges of one node, which may be equal",
      [
        node(
          "a",
          "linux",
          `node-subnets: '{"default":"10.130.0.0/23"}'`,
          "hybrid-overlay-node-subnet: 10.130.0.0/23",
        ),
      ],
      [],
    ],
    // While OpenShift SDN was moved to OVN: an address with its length.
    [
      "an address in place of a prefix",
      [node("a", "linux", "hybrid-overlay-node-subnet: 192.168.111.20/24", MAC)],
      [],
    ],
    [
      "a range that the Network has not",
      [
        network(`hybridOverlayConfig: { ${HYBRID} }`),
        node("a", "linux", `node-subnets: '{"default":["10.144.0.0/23"]}'`),
      ],
      ["cluster-ranges-contradict: 10.144.0.0/23 is outside of clusterNetwork 10.128.0.0/14"],
    ],
    [
      "port 9898, as OpenShift has it on vSphere",
      [network(`hybridOverlayConfig: { ${HYBRID}, hybridOverlayVXLANPort: 9898 }`)],
      [],
    ],
    ["no port at all", [network(`hybridOverlayConfig: { ${HYBRID}, hybridOverlayVXLANPort: null }`)], []],
    [
      "GENEVE's own port, by default and by name",
      [network(`hybridOverlayConfig: { ${HYBRID}, hybridOverlayVXLANPort: 6081 }`)],
      ["hybrid-overlay-port-unsupported: port 6081 is that of GENEVE on the Linux nodes"],
    ],
    // The numbers of the operator's own tests (openshift/cluster-network-operator#1276).
    ["a migration as OpenShift's documentation has it", [migration(9_000, 9_100)], []],
    [
      "one that leaves too little for outer headers",
      [migration(1_500, 1_500)],
      ["ovn-mtu-too-large: 1500 bytes for pods leave 0 of 1500 for outer headers"],
    ],
    [
      "one byte too many",
      [migration(1_401, 1_500)],
      ["ovn-mtu-too-large: 1401 bytes for pods leave 99 of 1500 for outer headers"],
    ],
    [
      "an MTU that is none",
      [network("mtu: 100")],
      ["ovn-mtu-invalid: an MTU is 576 to 65536 bytes here, and not 100"],
    ],
    [
      "one that IPv6 cannot have",
      [
        network("mtu: 1200").replace(
          "hostPrefix: 23 }]",
          "hostPrefix: 23 }, { cidr: fd01::/48, hostPrefix: 64 }]",
        ),
      ],
      ["ovn-mtu-invalid: an MTU is 1280 to 65536 bytes here, and not 1200"],
    ],
    ["none written, or 0", [network("mtu: 0"), network("mtu: null").replace("cluster }", "other }")], []],
    [
      "a port that GENEVE has left",
      [network(`genevePort: 9000, hybridOverlayConfig: { ${HYBRID}, hybridOverlayVXLANPort: 6081 }`)],
      [],
    ],
  ])("%s", (_title, documents, expected) => {
    const { findings } = lintExample(oneFile("dump.yaml", documents.join("---\n")));
    expect(findings.map(({ code, message }) => `${code}: ${message}`)).toEqual(expected);
  });

  it("ranges that other files contradict each other about, under the same code as before", () => {
    const kubeadm =
      "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nnetworking: { podSubnet: 10.244.0.0/16 }\n";
    const proxy =
      "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nclusterCIDR: 10.50.0.0/16\n";
    const nodes =
      "apiVersion: v1\nkind: Node\nmetadata: { name: win-1, labels: { kubernetes.io/os: windows } }\nspec: { podCIDR: 10.244.1.0/24 }\nstatus: { addresses: [{ type: InternalIP, address: 10.0.0.11 }] }\n";
    const files = Object.entries({ "kubeadm.yaml": kubeadm, "kube-proxy.yaml": proxy, "nodes.yaml": nodes });
    const { findings } = lintExample({ files: files.map(([name, text]) => ({ name, text })) });
    expect(findings.map(({ code }) => code)).toContain("cluster-ranges-contradict");
  });
});
