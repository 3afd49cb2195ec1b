// Dumps of clusters, in the style of `kubectl get nodes,pods,services,endpointslices -A -o yaml`: what they say is taken
// as it is, and what they leave open is filled in and told.
import { beforeAll, describe, expect, it } from "vitest";
import { inventoryLoadBalancers } from "../views/inventory.ts";
import {
  type SessionWorld,
  ask,
  askMany,
  askName,
  dumpText,
  openSessionWorld,
  podsOf,
} from "#test/support/cluster/session-world.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";

/** What was made of the nodes. */
function machinesOf({ session }: SessionWorld): readonly string[] {
  return session.cluster.file.nodes.map(({ name, os, build, address, podCIDR }) =>
    [name, os, build?.profile.name, build?.revision, formatIp(address), formatPrefix(podCIDR)]
      .filter((each) => each !== undefined)
      .join(" "),
  );
}

function networkOf({ session }: SessionWorld): unknown {
  const { network, underlay } = session.cluster.file;
  return {
    pods: formatPrefix(network.clusterCIDR),
    services: formatPrefix(network.serviceCIDR),
    underlay: formatPrefix(underlay.subnet),
    router: formatIp(underlay.router),
  };
}

/** Everything that was said, without advice. */
function notesOf({ read, begun }: SessionWorld): readonly string[] {
  return [...read, ...begun.problems, ...begun.notes].map(
    ({ file, line, code, message }) => `${file === "" ? "" : `${file}:${line}: `}${message} [${code}]`,
  );
}

/** Pods that run, with their addresses. */
function runningOf({ session }: SessionWorld): readonly string[] {
  return session.cluster.pods
    .map(({ spec, node, address }) => `${spec.name} ${node.spec.name} ${formatIp(address)}`)
    .toSorted();
}

describe("flannel in mode host-gw", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(dumpText("flannel"));
  });

  it("takes nodes, builds, addresses and ranges as they are", () => {
    expect(machinesOf(world)).toEqual([
      "cp-0 linux 192.168.50.10 10.42.0.0/24",
      "win-a windows ws2022 2582 192.168.50.21 10.42.1.0/24",
      "win-b windows ws2019 5576 192.168.50.22 10.42.2.0/24",
    ]);
    expect(networkOf(world)).toEqual({
      pods: "10.42.0.0/16",
      services: "10.43.0.0/16",
      underlay: "192.168.50.0/24",
      router: "192.168.50.1",
    });
    expect(world.session.cluster.file.kubernetes.version).toEqual({ major: 1, minor: 30, patch: 8 });
  });

  it("runs the pods at their addresses, but those that have ended, and makes none besides", () => {
    expect(runningOf(world)).toEqual([
      "cart-7c9b6d5f4-8zk2p win-a 10.42.1.15",
      "cart-7c9b6d5f4-lm4tq win-b 10.42.2.9",
      "coredns-5d4c8b7f9c-q7x2m cp-0 10.42.0.7",
      "stock-6f7d8c9b5-w2x9r cp-0 10.42.0.12",
    ]);
  });

  it("takes cluster IPs and slices as they are", () => {
    const { Service, EndpointSlice } = world.session.cluster.objects;
    expect(Service.map(({ metadata, spec }) => `${metadata.name} ${spec?.clusterIP}`)).toEqual([
      "kubernetes 10.43.0.1",
      "kube-dns 10.43.0.10",
      "cart 10.43.17.200",
      "stock 10.43.99.4",
    ]);
    // The dump has no slice of its Service kubernetes: the API server of a control-plane node writes it.
    expect(EndpointSlice.map(({ metadata }) => metadata.name)).toEqual([
      "kubernetes",
      "kube-dns-hs2kq",
      "cart-9xk4w",
      "stock-p4m2z",
    ]);
  });

  it("has nothing to say about it", () => {
    expect(notesOf(world)).toEqual([]);
  });

  it("its Services and names work, with its own DNS", () => {
    const from = "pod/shop/cart-7c9b6d5f4-8zk2p";
    expect(ask(world, from, "service/shop/stock")).toBe("shop/stock saw 192.168.50.21");
    expect(askMany(world, "pod/shop/stock-6f7d8c9b5-w2x9r", "service/shop/cart", 30)).toEqual(
      podsOf(world, "cart-").map(({ metadata }) => `shop/${metadata.name}`),
    );
    expect(askName(world, from, "stock")).toBe("shop/stock saw 192.168.50.21");
    expect(askName(world, from, "stock.shop.svc.cluster.local")).toBe("shop/stock saw 192.168.50.21");
  });
});

describe("Calico", () => {
  it("the ranges in which pods stand are taken in place of spec.podCIDR", async () => {
    const world = await openSessionWorld(dumpText("calico"));
    expect(machinesOf(world)).toEqual([
      "lin-0 linux 172.16.4.10 192.168.12.0/24",
      "win-0 windows ws2025 1742 172.16.4.20 192.168.201.0/24",
    ]);
    expect(runningOf(world)).toContain("web-0 win-0 192.168.201.133");
    expect(notesOf(world)).toEqual([
      "pods of lin-0, win-0 have addresses outside spec.podCIDR of their node: their ranges are used [cluster-assumed]",
    ]);
    expect(ask(world, "pod/shop/web-0", "service/shop/api")).toBe("shop/api-0 saw 172.16.4.20");
    expect(ask(world, "pod/shop/api-0", "service/shop/web")).toBe("shop/web-0 saw 192.168.12.71");
  });
});

/** Two pods that the dump of Azure CNI does not know yet. */
const MORE = `
apiVersion: v1
kind: Pod
metadata: { name: new, namespace: shop }
spec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: x, ports: [{ containerPort: 8080 }] }] }
---
apiVersion: v1
kind: Pod
metadata: { name: new-l, namespace: shop }
spec: { nodeSelector: { kubernetes.io/os: linux }, containers: [{ name: c, image: x, ports: [{ containerPort: 8080 }] }] }
`;

describe("Azure CNI", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(dumpText("azure-cni"), MORE);
  });

  it("pods have the addresses of the dump, and new ones free addresses behind their node's", () => {
    expect(runningOf(world)).toEqual([
      "coredns-789789675-x4kzn aks-sys-0 10.224.0.12",
      "new akswin0 10.224.0.36",
      "new-l aks-sys-0 10.224.0.5",
      "web-5b6c7d8f9-abcde akswin0 10.224.0.40",
      "web-5b6c7d8f9-fghij akswin0 10.224.0.51",
    ]);
    expect(ask(world, "pod/shop/new", "pod/shop/new-l", { port: 8080 })).toBe("shop/new-l saw 10.224.0.36");
  });

  it("the subnet of the nodes is as wide as Azure's default, where nothing stands in the way", () => {
    expect(networkOf(world)).toEqual({
      pods: "10.224.0.0/16",
      services: "10.0.0.0/16",
      underlay: "10.224.0.0/16",
      router: "10.224.0.1",
    });
    expect(notesOf(world)).toEqual([
      "pods have single addresses of the subnet of the nodes, as the dump gives them: 10.224.0.0/16 is taken for it [cluster-assumed]",
    ]);
  });
});

/** Nodes and pods as `name address`, pods with their node. */
function dump(nodes: readonly string[], pods: readonly string[], more = ""): string {
  const documents = [
    ...nodes.map((line) => {
      const [name = "", address = "", podCIDR = ""] = line.split(" ");
      const os = name.startsWith("win") ? "windows" : "linux";
      const kernel = os === "windows" ? "10.0.20348.2700" : "6.1.0";
      return `apiVersion: v1
kind: Node
metadata: { name: ${name}, uid: n-${name}, labels: { kubernetes.io/os: ${os} } }
spec: { ${podCIDR === "" ? "" : `podCIDR: ${podCIDR}`} }
status:
  addresses: [{ type: InternalIP, address: ${address} }]
  nodeInfo: { operatingSystem: ${os}, kernelVersion: ${kernel} }`;
    }),
    ...pods.map((line) => {
      const [name = "", node = "", ip = ""] = line.split(" ");
      return `apiVersion: v1
kind: Pod
metadata: { name: ${name}, uid: p-${name}, labels: { app: ${name} } }
spec: { nodeName: ${node}, containers: [{ name: c, image: i, ports: [{ containerPort: 80 }] }] }
status: { phase: Running, podIP: ${ip}, podIPs: [{ ip: ${ip} }], conditions: [{ type: Ready, status: "True" }] }`;
    }),
    more,
  ];
  return documents.join("\n---\n");
}

describe("pods of a cloud", () => {
  it("have secondary addresses in the subnets of their nodes' zones (EKS)", async () => {
    const nodes = ["lin-a 192.168.12.57", "win-a 192.168.23.118", "win-b 192.168.70.4"];
    const pods = ["web win-a 192.168.19.201", "api lin-a 192.168.11.9", "log win-b 192.168.93.77"];
    const world = await openSessionWorld(dump(nodes, pods));
    expect(runningOf(world).filter((line) => !line.startsWith("coredns"))).toEqual([
      "api lin-a 192.168.11.9",
      "log win-b 192.168.93.77",
      "web win-a 192.168.19.201",
    ]);
    expect(ask(world, "pod/web", "pod/api")).toBe("api saw 192.168.19.201");
    expect(ask(world, "pod/api", "pod/log")).toBe("log saw 192.168.11.9");
  });

  it("have addresses of a subnet for pods, in batches that go from node to node (AKS dynamic pod subnet)", async () => {
    const nodes = ["lin-0 10.240.0.4", "win-0 10.240.0.5", "win-1 10.240.0.6"];
    const pods = ["a win-0 10.241.0.20", "b win-1 10.241.0.36", "c win-0 10.241.0.53", "d lin-0 10.241.0.9"];
    const world = await openSessionWorld(dump(nodes, pods));
    expect(runningOf(world)).toEqual(
      expect.arrayContaining([
        "a win-0 10.241.0.20",
        "b win-1 10.241.0.36",
        "c win-0 10.241.0.53",
        "d lin-0 10.241.0.9",
      ]),
    );
    expect(networkOf(world)).toMatchObject({ pods: "10.241.0.0/16", underlay: "10.240.0.0/24" });
    expect(ask(world, "pod/c", "pod/b")).toBe("b saw 10.241.0.53");
    expect(ask(world, "node/win-1", "pod/a")).toBe("a saw 10.240.0.6");
    expect(ask(world, "pod/d", "pod/a")).toBe("a saw 10.241.0.9");
  });

  it("have addresses of several blocks, which nodes hold in between (Calico, outside podCIDR)", async () => {
    const nodes = ["lin 10.0.0.4 10.244.0.0/24", "win 10.0.0.5 10.244.1.0/24"];
    const pods = ["a lin 192.168.10.5", "b lin 192.168.77.70", "c win 192.168.20.133", "d win 192.168.77.5"];
    const world = await openSessionWorld(dump(nodes, pods));
    expect(runningOf(world)).toEqual(expect.arrayContaining(pods.toSorted()));
    expect(ask(world, "pod/d", "pod/b")).toBe("b saw 192.168.77.5");
    expect(ask(world, "pod/a", "pod/c")).toBe("c saw 192.168.10.5");
    expect(world.session.troubles()).toEqual([]);
  });

  it("have ranges that the fabric leads to, from the second address on (Azure CNI Overlay)", async () => {
    const label = "labels: { kubernetes.azure.com/podnetwork-type: overlay, ";
    const nodes = ["lin 10.224.0.4", "win-0 10.224.0.5", "win-1 10.224.0.6"];
    const pods = ["a win-0 10.244.1.2", "b win-1 10.244.2.251", "c lin 10.244.0.90"];
    const text = dump(nodes, pods).replaceAll("labels: { kubernetes.io/os", `${label}kubernetes.io/os`);
    const world = await openSessionWorld(text);
    const { network } = world.session.cluster.file;
    expect(network).toMatchObject({ plugin: "azure-vnet", shape: "own-subnet", routes: "fabric" });
    expect(runningOf(world)).toEqual(
      expect.arrayContaining(["a win-0 10.244.1.2", "b win-1 10.244.2.251", "c lin 10.244.0.90"]),
    );
    expect(ask(world, "pod/a", "pod/b")).toBe("b saw 10.244.1.2");
    expect(ask(world, "pod/c", "pod/a")).toBe("a saw 10.244.0.90");
    expect(ask(world, "external", "pod/a")).toBe("unreachable");
  });

  it("leave the address of an internal load balancer to it", async () => {
    const service = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { type: LoadBalancer, selector: { app: web }, ports: [{ port: 80 }] }
status: { loadBalancer: { ingress: [{ ip: 10.224.0.36 }] } }`;
    const nodes = ["lin 10.224.0.4", "win 10.224.0.35"];
    const pods = ["web win 10.224.0.41", "api lin 10.224.0.9"];
    const fresh =
      "apiVersion: v1\nkind: Pod\nmetadata: { name: new }\nspec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: i }] }";
    const world = await openSessionWorld(dump(nodes, pods, service), fresh);
    expect(runningOf(world)).toEqual(expect.arrayContaining(["new win 10.224.0.37"]));
    expect(ask(world, "external", "10.224.0.36")).toMatch(/^web saw /);
    expect(ask(world, "pod/api", "10.224.0.36")).toMatch(/^web saw /);
  });

  it("stay in the ranges of their nodes where one of them stands elsewhere", async () => {
    const nodes = ["lin 10.0.0.4 10.244.0.0/24", "win 10.0.0.5 10.244.1.0/24"];
    const pods = ["a win 10.244.1.5", "b win 10.244.1.6", "stray win 10.0.0.77", "c lin 10.244.0.7"];
    const world = await openSessionWorld(dump(nodes, pods));
    expect(machinesOf(world)).toEqual([
      "lin linux 10.0.0.4 10.244.0.0/24",
      "win windows ws2022 2700 10.0.0.5 10.244.1.0/24",
    ]);
    expect(notesOf(world)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/node win: pod default\/stray has no network, .* does not hold 10\.0\.0\.77/),
      ]),
    );
  });

  it("are the first node's where pods of two nodes show the same", async () => {
    const pods = ["first win-0 10.100.1.89", "moved win-1 10.100.1.89"];
    const world = await openSessionWorld(dump(["win-0 10.100.0.4", "win-1 10.100.0.5"], pods));
    expect(runningOf(world)).toEqual(["first win-0 10.100.1.89"]);
    expect(notesOf(world)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /node win-1: pod default\/moved has no network, because another node of its subnet has 10\.100\.1\.89/,
        ),
      ]),
    );
  });

  it("have a range whose host bits Kubernetes masks", async () => {
    const world = await openSessionWorld(dump(["win 10.0.0.5 10.244.1.7/24"], ["a win 10.244.1.5"]));
    expect(machinesOf(world)).toEqual(["win windows ws2022 2700 10.0.0.5 10.244.1.0/24"]);
  });
});

describe("pods with addresses that a host outside has around it", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    const text = dumpText("azure-cni").replaceAll(/10\.224\.0\.(12|40|51)\b/g, "203.0.113.$1");
    world = await openSessionWorld(text, MORE);
  });

  it("says once for each node that its pods do not run", () => {
    expect(notesOf(world)).toEqual([
      "1.yaml:5: node aks-sys-0: pod kube-system/coredns-789789675-x4kzn has no network, because its pod range 10.244.0.0/24 does not hold 203.0.113.12 [pod-address-outside-range]",
      "1.yaml:45: node akswin0: 2 pods have no network, because its pod range 10.244.1.0/24 does not hold 203.0.113.40, 203.0.113.51 [pod-address-outside-range]",
    ]);
  });

  it("the rest runs", () => {
    expect(runningOf(world)).toEqual(["new akswin0 10.244.1.3", "new-l aks-sys-0 10.244.0.2"]);
    expect(ask(world, "pod/shop/new", "pod/shop/new-l", { port: 8080 })).toBe("shop/new-l saw 10.244.1.3");
    expect(networkOf(world)).toMatchObject({ services: "10.0.0.0/16", underlay: "10.224.0.0/24" });
  });
});

describe("a dump with gaps", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(dumpText("gaps"));
  });

  it("fills in what can be assumed, leaves out what cannot, and says so", () => {
    expect(machinesOf(world)).toEqual([
      "lin-0 linux 10.10.0.5 10.244.3.0/24",
      "win-0 windows ws2022 10.10.0.6 10.244.6.0/24",
    ]);
    expect(notesOf(world)).toEqual([
      "Kubernetes v1.99.0 is taken for 1.37, the nearest that Mullion knows [cluster-assumed]",
      "1.yaml:45: node win-0 does not name its build of Windows: Server 2022 is taken [cluster-assumed]",
      "1.yaml:89: node win-1 has no machine: 1 pod on it does not run [node-without-machine]",
      "1.yaml:276: node win-9 is not described: 1 pod on it does not run [node-without-machine]",
      "1.yaml:45: node win-0: pod shop/web-1 has no network, because its pod range 10.244.6.0/24 does not hold 10.99.1.4 [pod-address-outside-range]",
      "1.yaml:397: EndpointSlice shop/web-t6y7u points at pod web-9, which is not there [slice-target-unknown]",
    ]);
  });

  it("the rest runs: pods, Services by their slices, a DNS that it did not bring", async () => {
    expect(runningOf(world).filter((pod) => !pod.startsWith("coredns"))).toEqual([
      "ask-0 lin-0 10.244.3.3",
      "web-0 win-0 10.244.6.20",
    ]);
    expect(askMany(world, "pod/shop/ask-0", "service/shop/web", 20)).toEqual(["shop/web-0", "unreachable"]);
    expect(askName(world, "pod/shop/ask-0", "web.shop.svc.cluster.local")).toMatch(
      /^(shop\/web-0 saw|unreachable)/,
    );
    const balancers = await inventoryLoadBalancers(world.session.cluster, "win-0");
    expect(balancers.map(({ object }) => object.FrontendVIPs?.[0])).toContain("10.96.4.4");
  });
});

describe("nodes alone", () => {
  it.each([
    ["no address at all", "", "10.0.0.11"],
    ["one address", "status: { addresses: [{ type: InternalIP, address: 10.1.2.3 }] }", "10.1.2.3"],
    [
      "the subnet's first address",
      "status: { addresses: [{ type: InternalIP, address: 10.1.2.1 }] }",
      "10.1.2.1",
    ],
    ["its last", "status: { addresses: [{ type: InternalIP, address: 10.1.2.255 }] }", "10.1.2.255"],
  ])("%s", async (_, status, address) => {
    const world = await openSessionWorld(`{apiVersion: v1, kind: Node, metadata: {name: node-1}, ${status}}`);
    expect(machinesOf(world)[0]).toContain(`node-1 linux ${address} `);
  });
});
