// Windows nodes of Azure Container Service in 2017, before CNI (control-planes.md §9, rows CP-K;
// windows-networking-documentation.md §10): two endpoints a container, routes in it, kube-proxy in its mode userspace.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { validateVerification } from "#test/support/cluster/report-schemas.ts";
import {
  type SessionWorld,
  apply,
  ask,
  askMany,
  askName,
  openSessionWorld,
  remove,
} from "#test/support/cluster/session-world.ts";
import { walk } from "#test/support/cluster/walk.ts";
import { forkCluster } from "./cluster.ts";
import { readInput } from "./input/read-input.ts";
import { tracePacket } from "./trace/trace.ts";
import { readModel } from "./verify/model-of-cluster.ts";
import { verifyCluster } from "./verify/verify.ts";
import { viewDockerNetworks } from "./views/docker-views.ts";

const CLUSTER = readFileSync("examples/acs-2017/cluster.yaml", "utf8").replace(
  "manifests: [manifests.yaml]",
  "",
);
const MANIFESTS = readFileSync("examples/acs-2017/manifests.yaml", "utf8");

/** The example's cluster; `replaced`: texts of its file and what takes their place. */
function clusterText(...replaced: readonly (readonly [from: string, to: string])[]): string {
  return replaced.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replaceAll(from, to);
  }, CLUSTER);
}

function pod(name: string, node: string, more = "", containers = "{ name: c, image: c }"): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} }${more} }
spec:
  nodeName: ${node}
  nodeSelector: { kubernetes.io/os: windows }
  containers: [${containers}]
`;
}

let world: SessionWorld;
beforeAll(async () => {
  world = await openSessionWorld(CLUSTER, MANIFESTS);
});

function stackOf(name: string, { session }: SessionWorld = world) {
  return session.cluster.pods.find(({ spec }) => spec.name === name)!.compartment;
}

/** Steps of a packet as `machine: what it did`, and the code of a drop. */
function steps(from: string, to: string, opened: SessionWorld = world): readonly string[] {
  const { report } = tracePacket(opened.session.cluster, { from, to, protocol: "tcp", port: 80 });
  return report.forward.steps.map(({ node, text, code }) => `${node}: ${code ?? text}`);
}

describe("a container", () => {
  it("has an endpoint in the transparent network of its node's range and one in Docker's NAT", () => {
    const networks = viewDockerNetworks(world.session.cluster, "win-1");
    expect(networks.map(({ Name, Driver, IPAM }) => [Name, Driver, IPAM.Config[0]?.Subnet])).toEqual([
      ["nat", "nat", expect.stringMatching(/^172\.\d+\.\d+\.0\/20$/)],
      ["transparentNet", "transparent", "10.244.1.0/24"],
    ]);
    for (const { Containers } of networks)
      expect(Object.values(Containers).map((each) => (each as { Name: string }).Name)).toEqual([
        "client",
        "web-1",
      ]);
  });

  it("CP-K3 has its default route by the NAT alone, and 10.0.0.0/8 by the node", () => {
    const gateways = stackOf("client")
      .listRoutes()
      .flatMap(({ prefix, nextHop }) =>
        nextHop === undefined ? [] : `${formatPrefix(prefix)} ${formatIp(nextHop)}`,
      );
    expect(gateways).toEqual(["10.0.0.0/8 10.244.1.1", expect.stringMatching(/^0\.0\.0\.0\/0 172\./)]);
  });

  it("CP-K4 is known by its address in the transparent network", () => {
    const { status } = world.session.cluster.objects.Pod.find(({ metadata }) => metadata.name === "client")!;
    expect(status?.podIP).toMatch(/^10\.244\.1\./);
  });

  it("asks for names on that side alone", () => {
    expect(stackOf("client").dns.servers.map(formatIp)).toEqual(["10.0.0.10"]);
  });

  it("is a pod, and no other container is in it", async () => {
    const two = "{ name: a, image: a }, { name: b, image: b }";
    const opened = await openSessionWorld(CLUSTER, pod("pair", "win-1", "", two));
    expect(opened.session.notes().map(({ code }) => code)).toContain("docker-address-per-container");
    expect(opened.session.cluster.pods.map(({ spec }) => spec.name)).not.toContain("pair");
    expect(viewDockerNetworks(opened.session.cluster, "win-1").map(({ Containers }) => Containers)).toEqual([
      {},
      {},
    ]);
  });

  it("a port of the node leads nowhere, and that is told", async () => {
    const published = "{ name: c, image: c, ports: [{ containerPort: 80, hostPort: 8080 }] }";
    const opened = await openSessionWorld(CLUSTER, pod("shop", "win-1", "", published));
    expect(opened.session.troubles().map(({ reference, code }) => [reference, code])).toEqual([
      ["pod/default/shop", "host-port-ignored"],
    ]);
    expect(ask(opened, "external", "10.240.0.5", { port: 8080 })).not.toMatch(/saw/);
  });

  it("leaves nothing of either endpoint behind", async () => {
    const opened = await openSessionWorld(CLUSTER, MANIFESTS);
    await remove(opened, "pod/client", "pod/web-1");
    const [, node] = opened.session.cluster.nodes;
    expect(node!.hns!.enumerate("Endpoint")).toEqual([]);
    expect(viewDockerNetworks(opened.session.cluster, "win-1").map(({ Containers }) => Containers)).toEqual([
      {},
      {},
    ]);
  });
});

describe("packets of a container", () => {
  it("CP-K1 leave for the Internet by the NAT, with the node's address", () => {
    expect(ask(world, "pod/client", "external")).toBe("external saw 10.240.0.5");
    expect(steps("pod/client", "external")[0]).toMatch(/^win-1: sent by route 0\.0\.0\.0\/0 via 172\./);
  });

  it("CP-K2 go to a pod of another node by the node and the cloud's route, and keep their address", () => {
    expect(ask(world, "pod/client", "pod/web-2")).toMatch(/^web-2 saw 10\.244\.1\./);
    const { forward } = walk(world.session.cluster, "pod/client", "pod/web-2", { port: 80 });
    expect(forward.map(({ at, ip, ttl, l4 }) => `${at} | ${ip} | ${ttl} | ${l4}`)).toEqual([
      "send CLIENT | CLIENT→WEB-2 | 128 | p→80",
      "forward W1 | CLIENT→WEB-2 | 127 | p→80",
      "wire | CLIENT→WEB-2 | 127 | p→80",
      "wire | CLIENT→WEB-2 | 127 | p→80",
      "forward W2 | CLIENT→WEB-2 | 126 | p→80",
      "deliver WEB-2 | CLIENT→WEB-2 | 126 | p→80",
    ]);
    expect(steps("pod/client", "pod/web-2")).toContain(
      "fabric: route 10.244.2.0/24 win-2 of subnet nodes (User): VirtualAppliance 10.240.0.6",
    );
  });

  it("go to a pod of the same node by the switch, and to Linux pods and back as they are", () => {
    expect(steps("pod/client", "pod/web-1").every((each) => each.startsWith("win-1: "))).toBe(true);
    expect(ask(world, "pod/client", "pod/web-1")).toMatch(/^web-1 saw 10\.244\.1\./);
    expect(ask(world, "pod/client", "pod/api", { port: 8080 })).toMatch(/^api saw 10\.244\.1\./);
    expect(ask(world, "pod/api", "pod/web-1")).toMatch(/^web-1 saw 10\.244\.0\./);
    expect(ask(world, "pod/api", "external")).toBe("external saw 10.240.0.4");
    // kubenet translates what leaves 10.0.0.0/8, and no packet to a node.
    expect(ask(world, "pod/api", "10.240.0.5", { port: 30080 })).toMatch(/^web-\d saw/);
  });

  it("CP-K5 without the cloud's route reach their own node's pods, and no other's", async () => {
    const opened = await openSessionWorld(
      clusterText(["plugin: acs-2017\n", "plugin: acs-2017\n  routes: none\n"]),
      MANIFESTS,
    );
    expect(ask(opened, "pod/client", "pod/web-1")).toMatch(/^web-1 saw/);
    expect(steps("pod/client", "pod/web-2", opened).at(-1)).toBe("router: no-route");
  });
});

describe("a Service", () => {
  const VIP = "10.0.7.7";

  it("has its address on each Windows node, which answers for it", () => {
    for (const { spec, forwarder } of world.session.cluster.nodes)
      expect(forwarder?.addresses.some(({ ip }) => formatIp(ip) === VIP) ?? spec.os === "linux").toBe(true);
    expect(ask(world, "pod/client", VIP, { protocol: "icmp" })).toBe("answered");
    expect(ask(world, "node/win-1", VIP)).toMatch(/^web-\d saw/);
  });

  it("is answered by one back end after the other, which see the node", () => {
    expect(askMany(world, "pod/client", VIP, 4)).toEqual(["web-1", "web-2"]);
    const copy = {
      ...world,
      session: { cluster: forkCluster(world.session.cluster) },
    } as unknown as SessionWorld;
    expect(ask(copy, "pod/client", VIP)).toMatch(/ saw (?:10\.244\.1\.1|10\.240\.0\.5)$/);
  });

  it("the trace goes on behind the program that leads the client on", () => {
    const told = steps("pod/client", "service/web");
    expect(told).toContain("win-1: taken by the listener on TCP port 80");
    expect(told.at(-1)).toBe("win-1: taken by the listener on TCP port 80");
    expect(told.filter((each) => each.includes("sent by route"))).toHaveLength(2);
  });

  it("has its node port on every address of a node", () => {
    for (const from of ["external", "node/win-2", "node/win-1", "pod/api"])
      expect(ask(world, from, "10.240.0.5", { port: 30080 })).toMatch(/^web-\d saw/);
  });

  it("without back ends takes the connection and closes it", async () => {
    const opened = await openSessionWorld(CLUSTER, MANIFESTS);
    await remove(opened, "pod/web-1", "pod/web-2");
    expect(ask(opened, "pod/client", VIP)).toBe("refused");
  });

  it("a back end that does not answer is passed over", async () => {
    const opened = await openSessionWorld(CLUSTER, MANIFESTS);
    opened.session.cluster.pods.find(({ spec }) => spec.name === "web-2")!.server.close();
    expect(askMany(opened, "pod/client", VIP, 4)).toEqual(["web-1"]);
  });

  it("with session affinity keeps a client at its back end until its time is over", async () => {
    const sticky = `
apiVersion: v1
kind: Service
metadata: { name: sticky }
spec:
  selector: { app: web }
  clusterIP: 10.0.9.9
  ports: [{ port: 80 }]
  sessionAffinity: ClientIP
  sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } }
`;
    const opened = await openSessionWorld(CLUSTER, MANIFESTS, sticky);
    expect(askMany(opened, "pod/client", "10.0.9.9", 5)).toHaveLength(1);
  });

  it("goes with its address, and comes back with it", async () => {
    const opened = await openSessionWorld(CLUSTER, MANIFESTS);
    await remove(opened, "service/web");
    expect(opened.session.cluster.nodes[1]!.forwarder!.addresses.map(({ ip }) => formatIp(ip))).not.toContain(
      VIP,
    );
    expect(ask(opened, "pod/client", VIP)).not.toMatch(/saw/);
    await apply(opened, MANIFESTS.slice(MANIFESTS.indexOf("apiVersion: v1\nkind: Service")));
    expect(ask(opened, "pod/client", VIP)).toMatch(/^web-\d saw/);
  });
});

describe("as the article of 2017 has it", () => {
  const year = (text: string): readonly [string, string] => [
    "network:\n",
    `asDocumented: "${text}"\nnetwork:\n`,
  ];

  it("a node stays with one back end of a Service, unless that one does not answer", async () => {
    const opened = await openSessionWorld(clusterText(year("2017")), MANIFESTS);
    const [only, ...others] = askMany(opened, "pod/client", "10.0.7.7", 6);
    expect(others).toEqual([]);
    opened.session.cluster.pods.find(({ spec }) => spec.name === only)!.server.close();
    const [next] = askMany(opened, "pod/client", "10.0.7.7", 1);
    expect(new Set([only, next])).toEqual(new Set(["web-1", "web-2"]));
  });

  it.each([
    ["the Kubernetes page of a later year", [year("2024")], /describes nodes with CNI/],
    [
      "another plugin",
      [year("2017"), ["plugin: acs-2017", "plugin: docker"], ['version: "1.6"', 'version: "1.34"']],
      /as plugin acs-2017 has them/,
    ],
    ["a year of nobody", [year("2018")], /describes nodes that are not carried out here/],
  ] as const)("refuses %s", (_, replaced, message) => {
    const read = readInput([{ name: "cluster.yaml", text: clusterText(...replaced) }]);
    const problems = "problems" in read ? read.problems : [];
    expect(problems.map((problem) => problem.message).join("\n")).toMatch(message);
  });
});

describe("names", () => {
  it("are completed by kube-proxy: short, with a namespace, whole, and outside", () => {
    for (const name of ["web", "web.default", "web.default.svc", "web.default.svc.cluster.local"])
      expect(askName(world, "pod/client", name)).toMatch(/^web-\d saw/);
    expect(askName(world, "pod/client", "www.example.com")).toBe("external saw 10.240.0.5");
    expect(askName(world, "pod/client", "nobody")).toMatch(/^no such name/);
  });

  it("a short one is that of namespace default, whatever the pod's own is", async () => {
    const other = `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
${pod("buyer", "win-1", ", namespace: shop")}
---
apiVersion: v1
kind: Service
metadata: { name: own, namespace: shop }
spec: { selector: { app: buyer }, ports: [{ port: 8080 }] }
`;
    const opened = await openSessionWorld(CLUSTER, MANIFESTS, other);
    expect(askName(opened, "pod/shop/buyer", "web")).toMatch(/^web-\d saw/);
    expect(askName(opened, "pod/shop/buyer", "own")).toMatch(/^no such name/);
    expect(askName(opened, "pod/shop/buyer", "own.shop", { port: 8080 })).toMatch(/^shop\/buyer saw/);
  });
});

describe("a cluster file", () => {
  it.each([
    ["a later Kubernetes", 'version: "1.6"', 'version: "1.9"', /is not a Kubernetes version known here/],
    [
      "Kubernetes with CNI",
      'version: "1.6"',
      'version: "1.34"',
      /kubelet of Kubernetes 1\.34 asks CNI plugins/,
    ],
    ["another plugin", "plugin: acs-2017", "plugin: hns", /kubelet of Kubernetes 1\.6 knows no CNI plugins/],
    [
      "HCN on Server 2016",
      "plugin: acs-2017",
      "plugin: win-bridge",
      /HNS of Windows Server 2016 has the calls of v1 alone/,
    ],
    [
      "another driver",
      "plugin: acs-2017",
      "plugin: acs-2017\n  driver: L2Bridge",
      /make a network of driver Transparent/,
    ],
    ["another shape", "plugin: acs-2017", "plugin: acs-2017\n  shape: node-subnet", /a range of its own/],
    [
      "CNI configuration",
      "plugin: acs-2017",
      "plugin: acs-2017\n  cni: {policies: [{name: a}]}",
      /reads no CNI/,
    ],
    [
      "a further network",
      "underlay:\n",
      "networks: [{name: other, driver: NAT, clusterCIDR: 172.30.0.0/16}]\nunderlay:\n",
      /to no other/,
    ],
    ["a policy engine", "underlay:\n", "policy: calico\nunderlay:\n", /nothing enforces NetworkPolicies/],
    [
      "Services elsewhere",
      "serviceCIDR: 10.0.0.0/16",
      "serviceCIDR: 172.30.0.0/16",
      /172\.30\.0\.0\/16 is not in it/,
    ],
    ["IPv6", "underlay:\n", "ipv6: {enabled: true}\nunderlay:\n", /IPv6/],
  ])("refuses %s", (_, from, to, message) => {
    const read = readInput([{ name: "cluster.yaml", text: clusterText([from, to]) }]);
    const problems = "problems" in read ? read.problems : [];
    expect(problems.map((problem) => problem.message).join("\n")).toMatch(message);
  });

  it("takes Windows Server, version 1709, too, and static routes without a cloud", async () => {
    const underlay = CLUSTER.slice(CLUSTER.indexOf("  azure:"));
    const opened = await openSessionWorld(
      clusterText(["build: ws2016", 'build: "1709"'], [underlay, ""]),
      MANIFESTS,
    );
    expect(opened.session.cluster.nodes[1]!.spec.build?.profile.title).toBe("Windows Server, version 1709");
    expect(ask(opened, "pod/client", "pod/web-2")).toMatch(/^web-2 saw 10\.244\.1\./);
  });
});

describe("examples/acs-2017", () => {
  async function verified(...replaced: readonly (readonly [string, string])[]) {
    const { session } = await openSessionWorld(clusterText(...replaced), MANIFESTS);
    return verifyCluster(session.cluster, readModel(session.cluster), { troubles: session.troubles() });
  }

  it.each([[], [["network:\n", 'asDocumented: "2017"\nnetwork:\n']]] as const)(
    "is green, in valid JSON: %j",
    async (...replaced) => {
      const report = await verified(...(replaced as readonly (readonly [string, string])[]));
      expect(report.findings).toEqual([]);
      expect(validateVerification(JSON.parse(JSON.stringify(report)))).toBe(true);
    },
  );

  it.each([
    [
      "a node that may not forward",
      "{ node: win-2, ipForwarding: true }",
      "{ node: win-2 }",
      "azure-ip-forwarding-off",
    ],
    [
      "a node whose range the controller does not know",
      "    podCIDR: 10.244.2.0/24\n",
      "    podCIDR: 10.244.2.0/24\n    podCIDRAllocated: false\n",
      "node-without-pod-cidr",
    ],
  ])("turns red with %s", async (_, from, to, code) => {
    const { findings } = await verified([from, to]);
    expect(findings.map((finding) => finding.code)).toContain(code);
  });
});
