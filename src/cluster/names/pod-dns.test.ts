import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { PodSpec as KubePodSpec } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { ip } from "#test/support/dataplane/stack-world.ts";
import type { FilePodSpec } from "../file/cluster-file.ts";
import { parseClusterFile } from "../file/parse-cluster-file.ts";
import { type PodDns, type PodDnsOptions, podDns, podHosts } from "./pod-dns.ts";
import { raiseMachines } from "../machines/raise-machines.ts";

const NODE: DnsSettings = {
  domain: "",
  search: ["corp.example"],
  servers: [ip("10.0.0.53")],
  options: ["edns0"],
};

function dnsOf(
  spec: Pick<KubePodSpec, "dnsPolicy" | "dnsConfig" | "hostNetwork">,
  os: OperatingSystem = "linux",
  parts: Partial<PodDnsOptions> = {},
): PodDns {
  return podDns({
    spec,
    os,
    namespace: "shop",
    clusterDns: [ip("10.96.0.10")],
    clusterDomain: "cluster.local",
    nodeDns: NODE,
    ...parts,
  });
}

/** `servers | search | options`. */
function text({ settings }: PodDns): string {
  const { servers, search, options } = settings;
  return [servers.map(formatIp), search, options ?? []].map((part) => part.join(" ")).join(" | ");
}

const CLUSTER = "10.96.0.10 | shop.svc.cluster.local svc.cluster.local cluster.local corp.example | ndots:5";
const OF_NODE = "10.0.0.53 | corp.example | edns0";

describe("podDns", () => {
  // Kubernetes documentation, DNS for Services and Pods; pkg/kubelet/network/dns/dns.go.
  it.each<[string, OperatingSystem, Pick<KubePodSpec, "dnsPolicy" | "dnsConfig" | "hostNetwork">, string]>([
    ["nothing said", "linux", {}, CLUSTER],
    ["nothing said", "windows", {}, CLUSTER],
    ["ClusterFirst", "windows", { dnsPolicy: "ClusterFirst" }, CLUSTER],
    [
      "ClusterFirst in the node's network",
      "linux",
      { dnsPolicy: "ClusterFirst", hostNetwork: true },
      OF_NODE,
    ],
    [
      "ClusterFirstWithHostNet",
      "linux",
      { dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true },
      CLUSTER,
    ],
    [
      "ClusterFirstWithHostNet of a HostProcess pod",
      "windows",
      { dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true },
      OF_NODE,
    ],
    ["Default", "linux", { dnsPolicy: "Default" }, OF_NODE],
    ["Default", "windows", { dnsPolicy: "Default" }, OF_NODE],
    ["None without a configuration", "linux", { dnsPolicy: "None" }, " |  | "],
    [
      "None with one",
      "windows",
      { dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.1", "nonsense"], searches: ["a.b"] } },
      "192.0.2.1 | a.b | ",
    ],
    [
      "a configuration that adds and replaces",
      "linux",
      {
        dnsConfig: {
          nameservers: ["192.0.2.1", "10.96.0.10"],
          searches: ["cluster.local", "more.example"],
          options: [{ name: "ndots", value: "2" }, { name: "rotate" }],
        },
      },
      "10.96.0.10 192.0.2.1 | shop.svc.cluster.local svc.cluster.local cluster.local corp.example more.example | ndots:2 rotate",
    ],
  ])("%s on %s", (_title, os, spec, expected) => {
    expect(text(dnsOf(spec, os))).toBe(expected);
  });

  it("names the policy that Windows does not have", () => {
    const spec = { dnsPolicy: "ClusterFirstWithHostNet" };
    expect(dnsOf(spec, "windows").code).toBe("dns-host-network-policy-unsupported");
    expect(dnsOf(spec, "linux").code).toBeUndefined();
    expect(dnsOf({}, "windows").code).toBeUndefined();
  });

  it("takes the node's settings when the cluster has no server", () => {
    expect(text(dnsOf({}, "linux", { clusterDns: [] }))).toBe(OF_NODE);
  });

  it("has no suffixes of its own without a domain", () => {
    expect(text(dnsOf({}, "linux", { clusterDomain: "" }))).toBe("10.96.0.10 | corp.example | ndots:5");
  });

  it("keeps three servers, 32 suffixes and 2048 letters of suffixes", () => {
    const nameservers = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
    const searches = Array.from({ length: 40 }, (_each, index) => `s${index}`);
    const { settings } = dnsOf({ dnsPolicy: "None", dnsConfig: { nameservers, searches } });
    expect(settings.servers).toHaveLength(3);
    expect(settings.search).toHaveLength(32);
    const long = Array.from({ length: 12 }, (_each, index) => `${"x".repeat(199)}${index % 10}.example`);
    const kept = dnsOf({ dnsPolicy: "None", dnsConfig: { searches: [...new Set(long)] } }).settings.search;
    expect(kept.join(" ").length).toBeLessThanOrEqual(2_048);
    expect(kept).toHaveLength(9);
  });
});

function clusterText(network: string): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: names}
underlay: {subnet: 10.0.0.0/24, router: 10.0.0.1}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.2.0/24}
network: ${network}
`;
}

/** The settings of a pod's own resolver, after everything that lies between the kubelet and it. */
async function settingsOn(node: string, network: string): Promise<DnsSettings> {
  const parsed = parseClusterFile(clusterText(network), "names.yaml");
  if (!("cluster" in parsed)) throw new Error(JSON.stringify(parsed));
  const { kubelets } = await raiseMachines(parsed.cluster);
  const { settings } = dnsOf({}, node.startsWith("win") ? "windows" : "linux");
  const spec: FilePodSpec = {
    namespace: "shop",
    name: "web",
    node,
    labels: {},
    ports: [],
    address: undefined,
    policies: [],
    network: "pod",
    podNetwork: "cbr0",
  };
  const pod = await defined(kubelets.get(node), "the node is in the file").addPod(spec, {
    dns: settings,
    containers: [],
  });
  return pod.compartment.dns;
}

/** A configuration whose plugin is not told what the runtime knows (cni.md §2.9): its own `dns` is all there is. */
const WITHOUT_CAPABILITY = JSON.stringify({
  plugin: "win-bridge",
  cni: {
    conflist: {
      cniVersion: "1.0.0",
      name: "cbr0",
      plugins: [
        {
          type: "win-bridge",
          apiVersion: 2,
          dns: { nameservers: ["10.96.0.10"], search: ["svc.cluster.local"] },
          ipam: { type: "host-local", subnet: "10.244.1.0/24", rangeStart: "10.244.1.3" },
        },
      ],
    },
  },
});

describe("the way to the pod's resolver", () => {
  it.each(["{plugin: win-bridge}", "{plugin: hns}"])(
    "leads through %s and HNS on Windows",
    async (network) => {
      const settings = await settingsOn("win-1", network);
      expect(settings.servers).toEqual([ip("10.96.0.10")]);
      expect(settings.search).toEqual(dnsOf({}).settings.search);
    },
  );

  it("ends at a plugin that does not declare the capability", async () => {
    const settings = await settingsOn("win-1", WITHOUT_CAPABILITY);
    expect(settings).toMatchObject({ servers: [ip("10.96.0.10")], search: ["svc.cluster.local"] });
  });

  it("is a file on Linux", async () => {
    expect(await settingsOn("lin-1", "{plugin: win-bridge}")).toEqual(dnsOf({}).settings);
  });
});

it("a pod's hosts file has its own name and the aliases of its manifest (DT-167)", () => {
  const metadata = { name: "web-0", namespace: "default", uid: "u", resourceVersion: "1" };
  const hostAliases = [{ ip: "10.9.9.9", hostnames: ["db", "db.corp.example"] }, { ip: "10.9.9.8" }];
  const hosts = podHosts(
    { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], hostAliases } },
    0x0af4_010a as Ipv4,
  );
  expect([...hosts].map(([name, ips]) => `${name} ${ips.map(formatIp).join(" ")}`)).toEqual([
    "web-0 10.244.1.10",
    "db 10.9.9.9",
    "db.corp.example 10.9.9.9",
  ]);
  const named = podHosts(
    { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], hostname: "www" } },
    0x0af4_010a as Ipv4,
  );
  expect([...named.keys()]).toEqual(["www"]);
});
