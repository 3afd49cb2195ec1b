// A running cluster is broken, its node's files are collected, and doctor reads them as a user's.
import { describe, expect, it } from "vitest";
import { DIALECTS, type CollectedDialect, collectedFiles } from "#test/support/doctor/collected-files.ts";
import {
  type SessionWorld,
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  podsOf,
  service,
} from "#test/support/cluster/session-world.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  createEndpoint,
  createLoadBalancer,
  deleteEndpoint,
  deleteLoadBalancer,
  listEndpoints,
  listLoadBalancers,
  listNetworks,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { doctor } from "./doctor.ts";
import { runMullion } from "./program.ts";

const OVERLAY = "network: { plugin: flannel, driver: Overlay }\n";
const NODE = "win-1";
const WORKLOADS = `${deployment("web", "windows", 4)}${deployment("back", "linux", 2)}${service(
  "web",
  "selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]",
)}${service("back", "type: NodePort, selector: { app: back }, ports: [{ port: 80, targetPort: 8080, nodePort: 31080 }]")}`;

async function brokenWorld(fields: string): Promise<SessionWorld> {
  const world = await openSessionWorld(clusterText(fields));
  await apply(world, WORKLOADS);
  return world;
}

function clientOf({ session }: SessionWorld): HcnClient {
  return hcnClientOf(session.cluster.nodes.find(({ spec }) => spec.name === NODE)!);
}

async function run(
  files: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly terminal: MemoryTerminal }> {
  const terminal = new MemoryTerminal(files);
  const argv = ["doctor", ...(words.length === 0 ? ["collected"] : words)];
  const code = await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return { code, terminal };
}

async function reportOf(files: Readonly<Record<string, string>>): Promise<DoctorReport> {
  const { terminal } = await run(files, "collected", "-o", "json");
  return JSON.parse(terminal.output) as DoctorReport;
}

function without(files: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).filter(([each]) => each !== name));
}

function utf16(text: string): Uint8Array {
  return Uint8Array.from([0xff, 0xfe, ...Buffer.from(text, "utf16le")]);
}

const EVTX = Uint8Array.from([...Buffer.from("ElfFile\0"), 0, 0, 0, 0, 1, 0, 0, 0]);
const GERMAN = `
Windows-IP-Konfiguration

Ethernet-Adapter vEthernet (Ethernet):
   IPv4-Adresse  . . . . . . . . . . : 10.0.0.11
   Subnetzmaske  . . . . . . . . . . : 255.255.255.0
`;

function secondNode(): Record<string, unknown> {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "win-2", labels: { "kubernetes.io/os": "windows" } },
    spec: { podCIDR: "10.244.3.0/24", podCIDRs: ["10.244.3.0/24"] },
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.12" }],
      nodeInfo: { operatingSystem: "windows", kernelVersion: "10.0.20348.4171", kubeletVersion: "v1.34.2" },
    },
  };
}

async function loadBalancerAt(client: HcnClient, vip: string, port: number) {
  const all = await listLoadBalancers(client);
  return all.find(
    ({ FrontendVIPs = [], PortMappings = [] }) =>
      FrontendVIPs.includes(vip) && PortMappings.some((each) => each.ExternalPort === port),
  )!;
}

function vipOf({ session }: SessionWorld, name: string): string {
  return (
    session.cluster.objects.Service.find(({ metadata }) => metadata.name === name)?.spec?.clusterIP ?? ""
  );
}

interface Fault {
  readonly name: string;
  readonly code: string;
  readonly certainty: string;
  readonly isProved: boolean;
  readonly says: RegExp;
  readonly network?: string;
  readonly breakIt: (world: SessionWorld, client: HcnClient) => Promise<unknown>;
}

const FAULTS: readonly Fault[] = [
  {
    name: "HNS lost the load balancer of kube-dns",
    code: "load-balancer-missing",
    certainty: "likely",
    isProved: true,
    says: /no load balancer for \S+:53\/UDP of Service kube-system\/kube-dns/u,
    breakIt: async (world, client) =>
      deleteLoadBalancer(client, (await loadBalancerAt(client, vipOf(world, "kube-dns"), 53)).ID),
  },
  {
    name: "HNS lost all load balancers at its restart",
    code: "load-balancer-missing",
    certainty: "likely",
    isProved: true,
    says: /kube-dns/u,
    breakIt: async (_, client) => {
      // One stays: a list without any is not told from one that was not collected.
      const [, ...all] = await listLoadBalancers(client);
      for (const { ID } of all) await deleteLoadBalancer(client, ID);
    },
  },
  {
    name: "a load balancer kept the address of a pod that is gone",
    code: "load-balancer-back-ends-differ",
    certainty: "likely",
    isProved: true,
    says: /leads to 10\.244\.9\.9, which no slice of default\/web names/u,
    breakIt: async (world, client) => {
      const [network] = await listNetworks(client);
      const gone = await createEndpoint(client, network!.ID, {
        Name: "Ethernet",
        Flags: 1,
        MacAddress: "02-11-22-33-44-66",
        IpConfigurations: [{ IpAddress: "10.244.9.9", PrefixLength: 32 }],
      });
      const { ID, ...own } = await loadBalancerAt(client, vipOf(world, "web"), 80);
      await deleteLoadBalancer(client, ID);
      await createLoadBalancer(client, {
        ...own,
        HostComputeEndpoints: [...(own.HostComputeEndpoints ?? []).slice(1), gone.ID],
      });
    },
  },
  {
    name: "a load balancer of a Service that is gone",
    code: "load-balancer-without-service",
    certainty: "likely",
    isProved: false,
    says: /serves 10\.96\.77\.77, which is no Service's address/u,
    breakIt: async (_, client) => {
      const [first] = await listLoadBalancers(client);
      return createLoadBalancer(client, {
        HostComputeEndpoints: first!.HostComputeEndpoints!,
        FrontendVIPs: ["10.96.77.77"],
        PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 80 }],
      });
    },
  },
  {
    name: "an endpoint was deleted under its pod",
    code: "pod-without-endpoint",
    certainty: "likely",
    isProved: false,
    says: /and no endpoint of HNS does/u,
    breakIt: async (world, client) => {
      const pod = podsOf(world, "web-").find(({ spec }) => spec?.nodeName === NODE)!;
      const endpoints = await listEndpoints(client);
      const own = endpoints.find(
        ({ IpConfigurations = [] }) => IpConfigurations[0]?.IpAddress === pod.status?.podIP,
      );
      return deleteEndpoint(client, own!.ID);
    },
  },
  {
    name: "flanneld did not add the route to another node",
    code: "remote-subnet-route-missing",
    certainty: "certain",
    isProved: true,
    network: OVERLAY,
    says: /has no RemoteSubnetRoute to 10\.244\.2\.0\/24 of node linux-1/u,
    breakIt: async (_, client) => {
      const network = (await listNetworks(client)).find(({ Type }) => Type === "Overlay")!;
      const gone = (network.Policies ?? []).filter(
        ({ Type, Settings }) =>
          Type === "RemoteSubnetRoute" && Settings?.["DestinationPrefix"] === "10.244.2.0/24",
      );
      return modifyNetworkPolicies(client, network.ID, "Remove", gone);
    },
  },
];

describe.each(DIALECTS)("files in %s form", (dialect: CollectedDialect) => {
  it.each(FAULTS)("$name: that first", async ({ code, certainty, isProved, says, network = "", breakIt }) => {
    const world = await brokenWorld(network);
    await breakIt(world, clientOf(world));
    const { findings } = await reportOf(await collectedFiles(world, NODE, { dialect }));
    expect(findings[0]).toMatchObject({ code, certainty, node: NODE, proof: { isProved } });
    expect(findings[0]?.message).toMatch(says);
    expect(findings[0]?.evidence.every(({ file, line }) => file.startsWith("collected/") && line > 0)).toBe(
      true,
    );
  });

  it.each(["", OVERLAY, "network: { driver: Overlay }\n", "kubeProxy: { enableDSR: true }\n"])(
    "a healthy node, %j: nothing",
    async (fields) => {
      const files = await collectedFiles(await brokenWorld(fields), NODE, { dialect });
      const { code, terminal } = await run(files);
      expect(terminal.output).toMatch(/^Nothing wrong found; \d+ checks made; \d+ could not be made\./u);
      expect(code).toBe(0);
    },
  );
});

describe("what is no evidence, and half of it", () => {
  const node = filesOf(healthyNode());

  it.each<readonly [string, Readonly<Record<string, string | Uint8Array>>, RegExp]>([
    [
      "a folder without objects of the cluster",
      without(node, "node/objects.json"),
      /checks? without [^\n]*nodes/u,
    ],
    [
      "UTF-16, as PowerShell writes it",
      { ...node, "node/policy.txt": utf16(node["node/policy.txt"]!) },
      /^Nothing wrong found; 28 checks made/u,
    ],
    [
      "JSON that ends early",
      { ...node, "node/policy.txt": node["node/policy.txt"]!.slice(0, -40) },
      /Not read:\n {2}node\/policy\.txt:\d+: /u,
    ],
    [
      "an event log",
      { ...node, "node/System.evtx": EVTX },
      /node\/System\.evtx:1: it is a Windows event log/u,
    ],
    ["an empty file", { ...node, "node/hnsdiag.txt": "" }, /node\/hnsdiag\.txt:1: it is empty/u],
    ["a German ipconfig", { ...node, "node/ip.txt": GERMAN }, /^Nothing wrong found; 28 checks made/u],
  ])("%s: is said, and nothing is concluded from it", async (_, files, says) => {
    const { code, terminal } = await run(files as Readonly<Record<string, string>>, "node");
    expect(terminal.output).toMatch(says);
    expect(terminal.output).toContain("Nothing wrong found");
    expect(code).toBe(0);
  });

  it("files of two nodes in one folder are told", async () => {
    const documents = healthyNode();
    documents.kubernetes.push(secondNode());
    documents.networks.push({
      ...documents.networks[0]!,
      ID: "8e68213e-9443-4395-a50c-3977cb7bdbff",
      ManagementIP: "10.0.0.12",
    });
    const { terminal } = await run(filesOf(documents), "node");
    expect(terminal.output).toContain("the files of this folder are of several nodes: win-1, win-2");
  });

  it("each folder is a node of its own", async () => {
    const second = healthyNode();
    second.networks[0]!["ManagementIP"] = "10.0.0.12";
    second.kubernetes.splice(0, second.kubernetes.length, secondNode());
    const other = Object.fromEntries(
      Object.entries(filesOf(second)).map(([name, text]) => [`all/b/${name}`, text]),
    );
    const first = Object.fromEntries(Object.entries(node).map(([name, text]) => [`all/a/${name}`, text]));
    const { terminal } = await run({ ...first, ...other }, "all", "-o", "json");
    expect((JSON.parse(terminal.output) as DoctorReport).nodes).toEqual(["win-1", "win-2"]);
  });

  it("nothing that is read ends with 2 and says what to collect", async () => {
    const { code, terminal } = await run({ "a/picture.png": "\u0000\u0001" }, "a");
    expect(code).toBe(2);
    expect(terminal.errors).toContain("kubectl get nodes,pods,services,endpointslices -A -o yaml");
  });
});

describe("what must not be reported (false alarms seen in real dumps)", () => {
  const external = {
    ID: "5181626f-d805-4790-9e19-e0f62386c7a3",
    Name: "External",
    Type: "Overlay",
    ManagementIP: "10.0.0.11",
    CurrentEndpointCount: 0,
    Subnets: [{ AddressPrefix: "192.168.255.0/30", GatewayAddress: "192.168.255.1" }],
    Policies: [],
  };
  const nat = {
    ID: "5181626f-d805-4790-9e19-e0f62386c7a4",
    Name: "nat",
    Type: "NAT",
    Subnets: [{ AddressPrefix: "172.17.0.0/16", GatewayAddress: "172.17.0.1" }],
    Extensions: [
      {
        Id: "F74F241B-440F-4433-BB28-00F89EAD20D8",
        IsEnabled: false,
        Name: "Microsoft Azure VFP Switch Extension",
      },
    ],
  };

  it.each([
    ["the External network without policies and endpoints", external],
    ["VFP disabled on a nat network", nat],
  ])("%s", async (_, network) => {
    const documents = healthyNode();
    documents.networks.push(network);
    const { code, terminal } = await run(filesOf(documents), "node");
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
    expect(code).toBe(0);
  });

  it.each([
    "Pinging 10.96.0.10 with 32 bytes of data:\nRequest timed out.\n",
    "  UDP    0.0.0.0:5353           *:*\n",
    "   1450                1      105442       25432  vEthernet (Ethernet)\n",
  ])("the line %j", async (line) => {
    const { terminal } = await run({ ...filesOf(healthyNode()), "node/session.txt": line }, "node");
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
  });
});
