// NodeLocal DNSCache in the forms in which its manifest is kept: the addon of Kubernetes, rendered or not, and those of clouds.
import { describe, expect, it } from "vitest";
import type { ControlClient } from "#cluster/api/client.ts";
import { opened } from "#test/support/policy/policy-cluster.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
  - { name: linux-2, os: linux, address: 10.0.0.22 }
`;

function pod(name: string, os: string, node = ""): string {
  return `---
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  ${node === "" ? "" : `nodeName: ${node}`}
  nodeSelector: { kubernetes.io/os: ${os} }
  dnsPolicy: None
  dnsConfig: { nameservers: [169.254.20.10], searches: [default.svc.cluster.local] }
  containers: [{ name: c, image: example.invalid/c }]
`;
}

const PODS = pod("win", "windows") + pod("tux", "linux", "linux-1") + pod("second", "linux", "linux-2");

/** The addon has no selector of nodes: its pods land on Windows nodes, too, where the image does not run. */
function agents(args: string, selector = ""): string {
  return `---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: node-local-dns, namespace: kube-system }
spec:
  selector: { matchLabels: { k8s-app: node-local-dns } }
  template:
    metadata: { labels: { k8s-app: node-local-dns } }
    spec:
      hostNetwork: true
      dnsPolicy: Default
      ${selector}
      containers:
        - name: node-cache
          image: registry.k8s.io/dns/k8s-dns-node-cache:1.23.0
          args: ${args}
          ports: [{ containerPort: 53, protocol: UDP }, { containerPort: 53, protocol: TCP }]
`;
}

const ADDON = agents(
  '["-localip", "169.254.20.10,10.96.0.10", "-conf", "/etc/Corefile", "-upstreamsvc", "kube-dns-upstream"]',
);

/** Who answered, or why nobody did. */
async function asked(client: ControlClient, from: string, name = "kubernetes"): Promise<string> {
  const { lookups } = await client.resolve({ from: [`pod/${from}`], name });
  const [lookup] = lookups;
  if (lookup?.outcome !== "resolved") return lookup?.code ?? "";
  return `${lookup.addresses.join()} by ${lookup.questions[0]?.server ?? ""}`;
}

describe("NodeLocal DNSCache", () => {
  it("answers pods of its Linux nodes at its own address, and none on Windows", async () => {
    const client = await opened(CLUSTER, PODS + ADDON);
    expect(await asked(client, "tux")).toBe("10.96.0.1 by 169.254.20.10");
    expect(await asked(client, "second")).toBe("10.96.0.1 by 169.254.20.10");
    expect(await asked(client, "win")).toBe("dns-server-unreachable");
    const { stdout } = await client.exec({ from: "node/linux-1", command: ["ip addr"] });
    expect(stdout).toMatch(/nodelocaldns: [^]*inet 169\.254\.20\.10\/32 scope global nodelocaldns/);
    const dig = "dig @169.254.20.10 kubernetes.default.svc.cluster.local +short";
    expect((await client.exec({ from: "pod/tux", command: [dig] })).stdout).toBe("10.96.0.1\n");
  });

  it.each([
    ["one word", '["-localip=169.254.20.10"]', "10.96.0.1 by 169.254.20.10"],
    ["two dashes", '["--localip", "169.254.20.10"]', "10.96.0.1 by 169.254.20.10"],
    ["another address", '["-localip", "169.254.25.10"]', "dns-server-unreachable"],
    [
      "a template",
      '["-localip", "__PILLAR__LOCAL__DNS__,__PILLAR__DNS__SERVER__"]',
      "dns-server-unreachable",
    ],
    ["nothing behind it", '["-localip"]', "dns-server-unreachable"],
    ["the Service's address alone", '["-localip", "10.96.0.10"]', "dns-server-unreachable"],
  ])("its addresses are what its arguments say: %s", async (_, args, expected) => {
    expect(await asked(await opened(CLUSTER, PODS + agents(args)), "tux")).toBe(expected);
  });

  it("is on the nodes that have its pod, comes with it and goes with it", async () => {
    const inputs = [
      {
        name: "n.yaml",
        text: agents('["-localip", "169.254.20.10"]', "nodeSelector: { kubernetes.io/hostname: linux-2 }"),
      },
    ];
    const client = await opened(CLUSTER, PODS);
    expect(await asked(client, "second")).toBe("dns-server-unreachable");
    await client.apply({ inputs });
    expect(await asked(client, "second")).toBe("10.96.0.1 by 169.254.20.10");
    expect(await asked(client, "tux")).toBe("dns-server-unreachable");
    await client.delete({ inputs });
    expect(await asked(client, "second")).toBe("dns-server-unreachable");
  });

  it("asks the cluster's DNS, and knows no name without it", async () => {
    const service = `---
apiVersion: v1
kind: Service
metadata: { name: kube-dns, namespace: kube-system, labels: { k8s-app: kube-dns } }
spec: { clusterIP: 10.96.0.10, selector: { k8s-app: kube-dns }, ports: [{ port: 53, protocol: UDP }] }
`;
    const client = await opened(`${CLUSTER}dns: { enabled: false }\n`, PODS + ADDON + service);
    expect(await asked(client, "tux")).toMatch(/^dns-(?:server-failure|timeout)$/);
  });

  it("leaves the rest of the cluster as it was", async () => {
    const client = await opened(CLUSTER, pod("tux", "linux").replace(/ {2}dns.*\n/g, "") + ADDON);
    const { findings } = await client.verify();
    expect(findings.filter(({ cell }) => cell !== undefined)).toEqual([]);
  });
});
