// Docker's network model on Windows hosts (control-planes.md §8, rows CP-W): one address per container, HNS as the address
// manager, WinNAT, published ports and names.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formatIp } from "#core/net/ip.ts";
import { validateVerification } from "#test/support/cluster/report-schemas.ts";
import { type SessionWorld, ask, askName, openSessionWorld } from "#test/support/cluster/session-world.ts";
import { walk } from "#test/support/cluster/walk.ts";
import { planComparisons } from "./classes/node-classes.ts";
import { execute } from "./exec/exec.ts";
import { readInput } from "./input/read-input.ts";
import { tracePacket } from "./trace/trace.ts";
import { verifyCluster } from "./verify/verify.ts";
import { readModel } from "./verify/model-of-cluster.ts";
import { type DockerNetworkView, viewDockerNetworks } from "./views/docker-views.ts";

const EXAMPLE = readFileSync("examples/docker-nat/cluster.yaml", "utf8");

/** Parts of the hosts' subnet. */
const BRIDGED = "10.0.0.N/28";
/** One subnet of a NAT network for each host. */
const ROUTED = "172.20.N.0/24";

interface Given {
  readonly network?: string;
  readonly more?: string;
  readonly build?: string;
  readonly range?: string;
  readonly nodeMore?: string;
  readonly pods?: readonly string[];
}

function text({ network = "", more = "", build = "ws2022", range, nodeMore = "", pods }: Given = {}): string {
  const part = range === BRIDGED ? 64 : 1;
  const cidr = (index: number): string =>
    range === undefined ? "" : `, podCIDR: ${range.replace("N", `${index * part}`)}`;
  const listed = pods ?? [
    "name: web, node: host-1, ports: [{port: 80, hostPort: 8080}]",
    "name: client, node: host-1",
  ];
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: docker}
nodes:
  - {name: host-1, os: windows, build: ${build}, address: 10.0.0.11${cidr(1)}${nodeMore}}
  - {name: host-2, os: windows, build: ${build}, address: 10.0.0.12${cidr(2)}}
network: {plugin: docker${network === "" ? "" : `, ${network}`}${range === ROUTED ? ", clusterCIDR: 172.20.0.0/16" : ""}}
${more}
pods:
${[...listed, "name: api, node: host-2"].map((pod) => `  - {${pod}}`).join("\n")}
`;
}

function troubles({ session }: SessionWorld): readonly string[] {
  return session.notes().map(({ code, message }) => `${code}: ${message}`);
}

function inspect(world: SessionWorld, node = "host-1"): DockerNetworkView {
  return viewDockerNetworks(world.session.cluster, node)[0]!;
}

/** What Docker says of a container. */
function containerOf(network: DockerNetworkView, name: string): Readonly<Record<string, string>> {
  const all = Object.values(network.Containers) as readonly Readonly<Record<string, string>>[];
  return all.find(({ Name }) => Name === name)!;
}

function codeOf(
  world: SessionWorld,
  from: string,
  to: string,
  protocol: "tcp" | "icmp" = "tcp",
): string | undefined {
  const port = protocol === "tcp" ? 80 : undefined;
  const { report } = tracePacket(world.session.cluster, { from, to, protocol, port });
  if (report.verdict === "answered") return undefined;
  const steps = [...report.forward.steps, ...(report.reply?.steps ?? [])];
  return steps.find(({ kind }) => kind === "drop")?.code ?? report.verdict;
}

describe("docker network inspect", () => {
  it("is what a person on the host sees, who lists networks and asks for one, and a host without Docker has no such command", async () => {
    const { cluster } = (await openSessionWorld(text({ range: ROUTED }))).session;
    const type = (line: string, from = "node/host-1") => {
      const { stdout, stderr, exitCode } = execute(cluster, { from, command: line.split(" ") });
      return { out: stdout.replaceAll("\r", ""), err: stderr.replaceAll("\r", ""), exitCode };
    };
    expect(type("docker network ls").out).toMatch(
      /^NETWORK ID {5}NAME {6}DRIVER {4}SCOPE\n[0-9a-f]{12} {3}nat {7}nat {7}local\n/,
    );
    const [network] = JSON.parse(type("docker network inspect nat").out) as readonly object[];
    expect({ node: "host-1", ...network }).toEqual(viewDockerNetworks(cluster, "host-1")[0]);
    expect(type("docker network inspect x")).toEqual({
      out: "[]\n",
      err: "Error response from daemon: network x not found\n",
      exitCode: 1,
    });
    expect(() => type("docker network create x")).toThrow("is not one of the commands");
    expect(type("docker network ls", "pod/web").err).toContain("'docker' is not recognized");
  });

  // Form and fields: moby/moby#29451, #30342 and #27529; the length of a chosen address is that of its class.
  it("has the subnet that HNS holds, its id there, and an address of HNS' choice for each container", async () => {
    const world = await openSessionWorld(text({ range: ROUTED }));
    const network = inspect(world);
    expect(network).toMatchObject({
      node: "host-1",
      Name: "nat",
      Driver: "nat",
      Scope: "local",
      EnableIPv6: false,
      IPAM: { Driver: "windows", Config: [{ Subnet: "172.20.1.0/24", Gateway: "172.20.1.1" }] },
    });
    expect(network.Id).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(network.Containers)).toHaveLength(2);
    const web = containerOf(network, "web");
    expect(web["IPv4Address"]).toMatch(/^172\.20\.1\.\d+\/16$/);
    expect(web["MacAddress"]).toMatch(/^00:15:5d(?::[0-9a-f]{2}){3}$/);
    const hns = world.session.cluster.nodes[0]!.hns!;
    expect(hns.enumerate("Network")).toContain(network.Options["com.docker.network.windowsshim.hnsid"]);
  });

  it("--ip has the subnet's length", async () => {
    const world = await openSessionWorld(
      text({ range: ROUTED, pods: ["name: web, node: host-1, address: 172.20.1.77"] }),
    );
    expect(containerOf(inspect(world), "web")["IPv4Address"]).toBe("172.20.1.77/24");
  });

  it("a transparent network without a subnet is 0.0.0.0/0, and its containers' addresses are the DHCP server's", async () => {
    const world = await openSessionWorld(
      text({
        network: "driver: Transparent, name: out, ipam: dhcp",
        more: "underlay: {subnet: 10.0.0.0/16, dhcp: {range: 10.0.8.0/24}}",
        pods: ["name: web, node: host-1, ports: [{port: 80}]"],
      }),
    );
    const network = inspect(world);
    expect(network.IPAM.Config).toEqual([{ Subnet: "0.0.0.0/0", Gateway: "0.0.0.0" }]);
    expect(containerOf(network, "web")["IPv4Address"]).toBe("");
    expect(ask(world, "pod/api", "pod/web", { port: 80 })).toMatch(/^web saw 10\.0\.8\.\d+$/);
  });

  it("an l2bridge network is in the hosts' subnet, and --ip keeps the hosts apart", async () => {
    const world = await openSessionWorld(text({ network: "driver: L2Bridge, name: bridge", range: BRIDGED }));
    expect(inspect(world).Options).toMatchObject({ "com.docker.network.windowsshim.interface": "Ethernet" });
    expect(containerOf(inspect(world), "web")["IPv4Address"]).toBe("10.0.0.67/24");
    expect(ask(world, "pod/client", "pod/api", { port: 8080 })).toBe("api saw 10.0.0.68");
  });

  it("a cluster without Docker has none", async () => {
    const { session } = await openSessionWorld(text().replace("plugin: docker", "driver: NAT"));
    expect(() => viewDockerNetworks(session.cluster)).toThrow("the cluster has no networks of Docker");
  });
});

describe("networks of driver nat", () => {
  const range = ROUTED;

  it("containers of a network find each other by name, on the gateway; others by the host's servers", async () => {
    const world = await openSessionWorld(text({ range }));
    expect(askName(world, "pod/client", "web")).toMatch(/^web saw 172\.20\.1\.\d+$/);
    expect(askName(world, "pod/client", "www.example.com", { port: 443 })).toMatch(/saw 10\.0\.0\.11$/);
    expect(askName(world, "pod/client", "api")).toBe("no such name: dns-name-unknown");
  });

  it("other hosts reach published ports, and no container by its address", async () => {
    const world = await openSessionWorld(text({ range }));
    expect(ask(world, "pod/api", "10.0.0.11", { port: 8080 })).toBe("web saw 10.0.0.12");
    expect(ask(world, "external", "10.0.0.11", { port: 8080 })).toBe("web saw 203.0.113.10");
    expect(codeOf(world, "pod/api", "pod/web")).toBe("no-route");
    // Not by the host itself, as on builds before localhost publishing came.
    expect(ask(world, "node/host-1", "127.0.0.1", { port: 8080 })).toBe("refused");
  });

  it("has the name servers and the suffix that the network was made with, behind the gateway or without it", async () => {
    const given = async (docker: string): Promise<SessionWorld> =>
      openSessionWorld(text({ range, network: `docker: {${docker}}` }));
    const settings = ({ session }: SessionWorld): unknown => {
      const { dns } = session.cluster.pods.find(({ spec }) => spec.name === "client")!.compartment;
      return [dns.servers.map(formatIp), dns.search];
    };
    const both = await given("dnsServers: [203.0.113.10], dnsSuffix: corp.example");
    expect(settings(both)).toEqual([["172.20.1.1", "203.0.113.10"], ["corp.example"]]);
    expect(inspect(both).Options).toMatchObject({
      "com.docker.network.windowsshim.dnsservers": "203.0.113.10",
      "com.docker.network.windowsshim.dnssuffix": "corp.example",
    });
    const without = await given("dnsServers: [203.0.113.10], gatewayDns: false");
    expect(settings(without)).toEqual([["203.0.113.10"], []]);
    expect(askName(without, "pod/client", "web")).toMatch(/^no such name: /);
    expect(askName(without, "pod/client", "www.example.com", { port: 443 })).toMatch(/saw 10\.0\.0\.11$/);
  });

  it("HNS, which gives addresses, refuses the container for which the subnet has none left", async () => {
    const pods = ["a", "b", "c", "d", "e", "f"].map((name) => `name: ${name}, node: host-1`);
    const world = await openSessionWorld(
      text({ range, pods }).replace("podCIDR: 172.20.1.0/24", "podCIDR: 172.20.1.0/29"),
    );
    expect(Object.keys(inspect(world).Containers)).toHaveLength(5);
    expect(troubles(world)).toEqual([expect.stringMatching(/pod default\/f on host-1/)]);
  });

  it("a pod of several containers has no counterpart: Docker gives each an address", async () => {
    const world = await openSessionWorld(
      text({ range }),
      `
apiVersion: v1
kind: Pod
metadata: { name: pair }
spec:
  nodeName: host-1
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: a, image: a }, { name: b, image: b }]
`,
    );
    expect(troubles(world)).toEqual([
      expect.stringMatching(
        /^docker-address-per-container: pod default\/pair .*the containers a, b cannot make one pod/,
      ),
    ]);
  });

  it.each([
    ["driver: Overlay", "cluster-file-driver-mismatch", /overlay network of Docker is Swarm's/],
    [
      "driver: L2Bridge, shape: own-subnet",
      "cluster-file-driver-mismatch",
      /Docker makes no leg of the host/,
    ],
    ["driver: L2Bridge, name: b", "cluster-file-driver-mismatch", /IPv4 alone on Windows/],
    ["driver: NAT, cni: {policies: [{name: a}]}", "cluster-file-invalid-value", /plugin docker reads no CNI/],
  ])("refuses %s", (network, code, message) => {
    const more = network.endsWith("name: b") ? "ipv6: {enabled: true}" : "";
    const read = readInput([{ name: "cluster.yaml", text: text({ network, more, range: BRIDGED }) }]);
    const problems = "problems" in read ? read.problems : [];
    expect(problems.map((problem) => problem.code)).toContain(code);
    expect(problems.map((problem) => problem.message).join("\n")).toMatch(message);
  });
});

it("many hosts are no machines of one class that differ: their engines have ids of their own", async () => {
  const hosts = Array.from({ length: 34 }, (_, index) => index);
  const { session } = await openSessionWorld(`apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: many}
nodes:
${hosts.map((index) => `  - {name: h-${index}, os: windows, address: 10.0.0.${index + 10}}`).join("\n")}
network: {plugin: docker, clusterCIDR: 172.20.0.0/16}
pods:
${hosts.map((index) => `  - {name: p-${index}, node: h-${index}}`).join("\n")}
`);
  const options = { troubles: session.troubles() };
  const { findings } = verifyCluster(session.cluster, readModel(session.cluster), options);
  expect(findings).toEqual([]);
  expect(planComparisons(session.cluster, "1").chosen).toEqual([]);
});

describe("rows of WinNAT and Docker", () => {
  const range = ROUTED;
  const TWO = "networks: [{name: second, clusterCIDR: 172.24.0.0/16, nodes: [host-1]}]";

  it("CP-W1 two nat networks with disjoint prefixes: later builds make both, Server 2016 refuses the second", async () => {
    const given = { range, more: TWO, pods: ["name: web, node: host-1, network: second"] };
    const world = await openSessionWorld(text(given));
    const [first, second] = viewDockerNetworks(world.session.cluster, "host-1");
    expect([first?.Name, second?.Name]).toEqual(["nat", "second"]);
    expect(containerOf(second!, "web")["IPv4Address"]).toMatch(/^172\.24\.0\.\d+\/16$/);
    const old = { ...given, nodeMore: ", quirks: {single-nat-prefix: on}" };
    await expect(openSessionWorld(text(old))).rejects.toMatchObject({ code: "ERROR_OBJECT_ALREADY_EXISTS" });
  });

  it("CP-W2 the same published port twice: HNS refuses the second container", async () => {
    const pod = (name: string): string => `
---
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeName: host-1
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: a, image: a, ports: [{ containerPort: 80, hostPort: 9090 }] }]
`;
    const world = await openSessionWorld(text({ range }), pod("one") + pod("two"));
    expect(troubles(world)).toEqual([expect.stringMatching(/pod default\/two on host-1/)]);
    expect(ask(world, "external", "10.0.0.11", { port: 9090 })).toMatch(/^one saw/);
    expect(containerOf(inspect(world), "two")).toBeUndefined();
  });

  it("CP-W3 ping to the outside: WinNAT translates it, OutBoundNAT of VFP does not; TCP works by both", async () => {
    const nat = await openSessionWorld(text({ range }));
    expect(codeOf(nat, "pod/client", "external", "icmp")).toBeUndefined();
    expect(codeOf(nat, "pod/client", "external")).toBeUndefined();
    const network = "driver: L2Bridge, name: bridge, outboundNAT: {enabled: true}";
    const bridged = await openSessionWorld(text({ network, range: BRIDGED }));
    expect(ask(bridged, "pod/client", "external", { port: 443 })).toMatch(/saw 10\.0\.0\.11$/);
    const { report } = tracePacket(bridged.session.cluster, {
      from: "pod/client",
      to: "external",
      protocol: "icmp",
      port: undefined,
    });
    expect(report.forward.steps.map(({ code }) => code)).toContain("icmp-outbound-not-translated");
    expect(report.forward.steps.at(-1)?.frame).toMatch(/^ICMP 10\.0\.0\.68 → /);
  });

  it("CP-W4 IPv6 switched off on the host: no container starts, Element not found", async () => {
    const world = await openSessionWorld(text({ range, nodeMore: ", quirks: {ipv6-stack-off: on}" }));
    expect(troubles(world)).toHaveLength(2);
    for (const trouble of troubles(world)) {
      expect(trouble).toMatch(/^windows-ipv6-switched-off: pod default\/(?:web|client) on host-1/);
      expect(trouble).toContain("Element not found");
    }
    expect(ask(world, "pod/api", "external", { port: 443 })).toMatch(/saw 10\.0\.0\.12$/);
  });

  it("CP-W5 a nat network is gone after a reboot, and Docker makes it anew with another id in HNS", async () => {
    const world = await openSessionWorld(text({ range }));
    const before = inspect(world);
    await world.session.changeNode("host-1", { do: "reboot" });
    const after = inspect(world);
    const id = "com.docker.network.windowsshim.hnsid";
    expect(after.Id).toBe(before.Id);
    expect(after.Options[id]).not.toBe(before.Options[id]);
    expect(world.session.cluster.nodes[0]!.hns!.enumerate("Network")).toEqual([after.Options[id]]);
    expect(troubles(world)).toEqual([]);
    expect(Object.keys(after.Containers)).toHaveLength(2);
    expect(ask(world, "external", "10.0.0.11", { port: 8080 })).toMatch(/^web saw/);
    expect(askName(world, "pod/client", "web")).toMatch(/^web saw/);
  });

  it.each([
    [
      "driver: L2Bridge, name: bridge",
      "web, node: host-1, address: 10.0.0.70, ports: [{port: 80, hostPort: 8080}]",
    ],
    ["driver: Transparent, name: out", "web, node: host-1, address: 10.0.0.70, mac: 00-15-5D-10-00-01"],
  ])(
    "other networks stay, and their endpoints of before make room for those of the containers: %s",
    async (network, pod) => {
      const world = await openSessionWorld(
        text({ network, range: BRIDGED, pods: [`name: ${pod}`, "name: client, node: host-1"] }),
      );
      const before = inspect(world);
      await world.session.changeNode("host-1", { do: "reboot" });
      expect(troubles(world)).toEqual([]);
      const after = inspect(world);
      expect(after.Options).toEqual(before.Options);
      expect(containerOf(after, "web")["IPv4Address"]).toBe("10.0.0.70/24");
      expect(world.session.cluster.nodes[0]!.hns!.enumerate("Endpoint")).toHaveLength(2);
      const port = pod.includes("ports") ? 80 : 8080;
      expect(ask(world, "pod/api", "pod/web", { port })).toMatch(/^web saw/);
    },
  );

  it("CP-W6 l2bridge: containers keep their addresses unless the network has OutBoundNAT, and to its exceptions", async () => {
    const seen = async (nat: string): Promise<string> => {
      const network = `driver: L2Bridge, name: bridge${nat}`;
      return ask(await openSessionWorld(text({ network, range: BRIDGED })), "pod/client", "external", {
        port: 443,
      });
    };
    expect(await seen("")).toMatch(/saw 10\.0\.0\.68$/);
    expect(await seen(", outboundNAT: {enabled: true}")).toMatch(/saw 10\.0\.0\.11$/);
    expect(await seen(", outboundNAT: {enabled: true, exceptions: [203.0.113.0/24]}")).toMatch(
      /saw 10\.0\.0\.68$/,
    );
    // In a subnet that nobody outside knows, that is no way back.
    const own = "plugin: win-bridge, outboundNAT: {enabled: false}";
    const apart = await openSessionWorld(text().replace("plugin: docker", own));
    expect(codeOf(apart, "pod/client", "external")).toBe("no-route");
  });
});

// dataplane.md §2.7, on networks that Docker made: every hop of a packet's way through the whole cluster.
describe("walks", () => {
  const told = (stages: ReturnType<typeof walk>["forward"]): readonly string[] =>
    stages.map(({ at, eth, ip, l4, ttl }) => `${at} | ${eth} | ${ip} | ${l4 ?? ""} | ${ttl}`);

  const X = "52-54-00-00-02-01";

  it("WALK-N-1 a container asks the outside, with the node's address and a port of it", async () => {
    const { session } = await openSessionWorld(text({ range: ROUTED }));
    const { forward, reply, report } = walk(session.cluster, "pod/client", "external", { port: 443 });
    // BR1: the gateway of the network, on the node.
    expect(told(forward)).toEqual([
      "send CLIENT | CLIENTm→BR1m | CLIENT→X | p→443 | 128",
      "forward W1 | W1m→Rm | W1→X | q→443 | 127",
      "wire | W1m→Rm | W1→X | q→443 | 127",
      `forward R | Rm→${X} | W1→X | q→443 | 126`,
      `wire | Rm→${X} | W1→X | q→443 | 126`,
      `deliver X | Rm→${X} | W1→X | q→443 | 126`,
    ]);
    expect(told(reply)).toEqual([
      `send X | ${X}→Rm | X→W1 | 443→q | 64`,
      `wire | ${X}→Rm | X→W1 | 443→q | 64`,
      "forward R | Rm→W1m | X→W1 | 443→q | 63",
      "wire | Rm→W1m | X→W1 | 443→q | 63",
      "forward W1 | BR1m→CLIENTm | X→CLIENT | 443→p | 62",
      "deliver CLIENT | BR1m→CLIENTm | X→CLIENT | 443→p | 62",
    ]);
    expect(report.answer).toMatch(/ saw 10\.0\.0\.11:/);
  });

  it("WALK-N-2 the outside asks a published port, and is seen with its own address", async () => {
    const { session } = await openSessionWorld(text({ range: ROUTED }));
    const { forward, reply, report } = walk(session.cluster, "external", "10.0.0.11", { port: 8080 });
    expect(told(forward)).toEqual([
      `send X | ${X}→Rm | X→W1 | p→8080 | 64`,
      `wire | ${X}→Rm | X→W1 | p→8080 | 64`,
      "forward R | Rm→W1m | X→W1 | p→8080 | 63",
      "wire | Rm→W1m | X→W1 | p→8080 | 63",
      "forward W1 | BR1m→WEBm | X→WEB | p→80 | 62",
      "deliver WEB | BR1m→WEBm | X→WEB | p→80 | 62",
    ]);
    expect(told(reply)).toEqual([
      "send WEB | WEBm→BR1m | WEB→X | 80→p | 128",
      "forward W1 | W1m→Rm | W1→X | 8080→p | 127",
      "wire | W1m→Rm | W1→X | 8080→p | 127",
      `forward R | Rm→${X} | W1→X | 8080→p | 126`,
      `wire | Rm→${X} | W1→X | 8080→p | 126`,
      `deliver X | Rm→${X} | W1→X | 8080→p | 126`,
    ]);
    expect(report.answer).toMatch(/^web saw 203\.0\.113\.10:/);
  });

  it("a container asks its node as itself, the node a container as the gateway, and nobody serves a ClusterIP", async () => {
    const world = await openSessionWorld(text({ range: ROUTED }));
    const { forward } = walk(world.session.cluster, "pod/client", "node/host-1", { port: 10_250 });
    expect(told(forward)[0]).toBe("send CLIENT | CLIENTm→BR1m | CLIENT→W1 | p→10250 | 128");
    expect(ask(world, "node/host-1", "pod/web")).toBe("web saw 172.20.1.1");
    expect(ask(world, "pod/client", "10.96.0.1", { port: 443 })).not.toMatch(/saw/);
  });
});

describe("examples/docker-nat", () => {
  async function verified(from: string, to: string) {
    expect(EXAMPLE).toContain(from);
    const whole = EXAMPLE.replace(from, to);
    // Who has no network can be asked for no expectation.
    const asked = to.includes("ipv6-stack-off") ? whole.slice(0, whole.indexOf("expectations:")) : whole;
    const world = await openSessionWorld(asked);
    const { cluster } = world.session;
    return verifyCluster(cluster, readModel(cluster), { troubles: world.session.troubles() });
  }

  it("is green, in valid JSON", async () => {
    const report = await verified("", "");
    expect(report.findings).toEqual([]);
    expect(validateVerification(JSON.parse(JSON.stringify(report)))).toBe(true);
  });

  it.each([
    ["a port that is not published", "        hostPort: 8080\n", "", "port-not-listening"],
    ["a container of another host expected", "    expect: denied\n", "    expect: works\n", "no-route"],
    [
      "IPv6 switched off",
      "    address: 10.0.0.11\n",
      "    address: 10.0.0.11\n    quirks: {ipv6-stack-off: on}\n",
      "windows-ipv6-switched-off",
    ],
  ])("turns red with %s", async (_, from, to, code) => {
    const { findings } = await verified(from, to);
    expect(findings.map((finding) => finding.code)).toContain(code);
  });
});
